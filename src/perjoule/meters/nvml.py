"""Energy counters of NVIDIA's GPUs by nvidia-ml-py: https://docs.nvidia.com/deploy/nvml-api/

On hosts (`on`), nvidia-smi is polled, which shows the same power, but no counter:
https://docs.nvidia.com/deploy/nvidia-smi/

The counter (Volta and later) is best. The power is an average over about a second on most GPUs. On A100 and
H100 its sensor samples only a quarter of the time (https://arxiv.org/abs/2312.02741), so a periodic load may
be misjudged by far.
"""

import importlib.util
import math
import re
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check, Host
from perjoule.machine.installing import installs
from perjoule.meters._metered import MeterReading, Read
from perjoule.meters._on_hosts import SHORT_S, Sampled, SensorCommand
from perjoule.meters._placed import Placed
from perjoule.meters._sysfs import Sensor
from perjoule.model import OPTIONS, Channel, Json, Specification, program_named
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.errors import MachineError, PerjouleError

EXAMPLE = """
[[meter]]
kind = "nvml"
covers = ["clients"]
"""

_FIX = installs("perjoule[meters]")
_HUNG = "see dmesg, or remove this meter"
_CALL_S = 5.0  # that a call may take
_STEP = 1e-3  # both are shown in thousandths
_POWER_WINDOW_S = 1.0
_QUERY = ("--query-gpu=uuid,name,power.draw", "--format=csv,noheader,nounits")
_QUERY_S = 5
_QUERY_STEP_W = 0.01  # as it prints
_GPU = re.compile(r"^(GPU-[0-9A-Fa-f-]+), ([^,\n]*), (.*)$", re.MULTILINE)
_PART_TIME = re.compile(r"\b[AH]100\b|\bGH200\b")


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Nvml(Placed):
    """The GPUs of this machine or of the hosts, each a separate channel."""

    covers: tuple[str, ...] = ("clients",)
    """The hosts whose work the GPUs do."""

    gpus: tuple[str, ...] = ()
    """Only these, by UUID as `nvidia-smi -L` shows it; all by default."""

    quantity: Literal["", "energy", "power"] = ""
    """By default the energy counter; the power on a GPU without one, and with `on`."""

    tool: Annotated[str, program_named("nvidia-smi")] = "nvidia-smi"
    """The program nvidia-smi on the hosts, with `on`; its path if it is not on their PATH."""

    @model_validator(mode="after")
    def _shown_there(self) -> Self:
        if self.on and self.quantity == "energy":
            raise ValueError("with on, nvidia-smi shows no energy counter (remove quantity)")
        return self

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Find the GPUs.

        Raises MachineError if the driver or such a GPU is missing, or it doesn't support the quantity.
        """
        with _library() as nvml:
            gpu_channels = [(gpu, self._channel(nvml, gpu, extent)) for gpu in self._chosen(nvml)]

            def read() -> Iterable[MeterReading]:
                for gpu, channel in gpu_channels:
                    yield MeterReading(channel, _value(nvml, gpu, channel))

            yield read

    def begin(self, host: Host, extent: Boundary, folder: Path) -> tuple[Sampled, Iterable[Doubt]]:
        """Have a host ask nvidia-smi. Raises MachineError: there is no driver, or no such GPU."""
        argv = ("timeout", str(_QUERY_S), self.tool, *_QUERY)
        completed = host.run(argv, timeout_s=SHORT_S, check=False)
        if completed.returncode:
            message = (completed.stderr or completed.stdout).strip().partition("\n")[
                0
            ] or f"exit code {completed.returncode}"
            raise MachineError(
                f"nvidia-smi failed ({message})", where=host.name, next="install NVIDIA's driver on it"
            )
        names_by_uuid = {uuid: name for uuid, name, _ in _GPU.findall(completed.stdout)}
        missing = [uuid for uuid in self.gpus if uuid not in names_by_uuid]
        if missing or not names_by_uuid:
            fault = f"no GPU is called {missing[0]}" if missing else "no GPU found"
            raise MachineError(fault, where=host.name, next=f"known: {', '.join(names_by_uuid) or 'none'}")
        uuids = [uuid for uuid in names_by_uuid if not self.gpus or uuid in self.gpus]
        sensors = [Sensor(_power(extent, uuid, _QUERY_STEP_W), Path(), 1.0) for uuid in uuids]
        pattern = ".*".join(f"{uuid}, [^,]*, ([^[:space:]]*)" for uuid in uuids)
        return Sampled(host, sensors, self.rate_hz, folder, SensorCommand(argv, pattern)), self._part_time(
            map(names_by_uuid.__getitem__, uuids)
        )

    def _part_time(self, names: Iterable[str]) -> Iterable[Doubt]:
        for name in names:
            if _PART_TIME.search(name):
                yield METERS.part_time(meter=self.label, gpu=name)

    def caveats(self) -> Iterable[Doubt]:
        """A doubt about GPUs whose power sensor samples only part of the time."""
        try:
            with _library() as nvml:
                for gpu in self._chosen(nvml):
                    if self.quantity == "power" or not _counts(nvml, gpu):
                        yield from self._part_time([_text(nvml.nvmlDeviceGetName(gpu))])
        except PerjouleError:
            return

    def checks(self) -> tuple[Check, ...]:
        """Check for the library, the driver, and a GPU."""
        if self.on:  # on the hosts, when recording begins
            return ()
        if importlib.util.find_spec("pynvml") is None:
            return (Check("nvidia-ml-py", ok=False, detail="missing", fix=_FIX),)
        try:
            with _library() as nvml:
                return (
                    Check("GPU", ok=True, detail=", ".join(_uuid(nvml, gpu) for gpu in self._chosen(nvml))),
                )
        except MachineError as error:
            return (Check("GPU", ok=False, detail=error.what, fix=error.next or "remove this meter"),)

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find this machine's GPUs."""
        return (
            ({"kind": "nvml"},)
            if importlib.util.find_spec("pynvml") and all(check.ok for check in cls().checks())
            else ()
        )

    def _chosen(self, nvml: Any) -> list[Any]:
        gpus = {
            _uuid(nvml, gpu): gpu
            for gpu in map(nvml.nvmlDeviceGetHandleByIndex, range(nvml.nvmlDeviceGetCount()))
        }
        missing = [uuid for uuid in self.gpus if uuid not in gpus]
        if missing or not gpus:
            fault = f"no GPU is called {missing[0]}" if missing else "no GPU found"
            raise MachineError(fault, where=f"meter {self.label}", next=f"known: {', '.join(gpus) or 'none'}")
        return [gpus[uuid] for uuid in self.gpus or gpus]

    def _channel(self, nvml: Any, gpu: Any, extent: Boundary) -> Channel:
        counts = _counts(nvml, gpu)
        if self.quantity == "energy" and not counts:
            name = _text(nvml.nvmlDeviceGetName(gpu))
            raise MachineError(
                f"{name} has no energy counter", where=f"meter {self.label}", next='set quantity = "power"'
            )
        if counts and self.quantity != "power":
            return extent.channel(
                "energy",
                "counter",
                "component",
                Specification(resolution=_STEP),
                component=_part(_uuid(nvml, gpu)),
            )
        return _power(extent, _uuid(nvml, gpu), _STEP)


def _power(extent: Boundary, uuid: str, step_w: float) -> Channel:
    specification = Specification(resolution=step_w, latency_s=_POWER_WINDOW_S)
    return extent.channel("power", "average", "component", specification, component=_part(uuid))


def _part(uuid: str) -> str:
    return "gpu-" + uuid.removeprefix("GPU-").partition("-")[0]


def _value(nvml: Any, gpu: Any, channel: Channel) -> float:
    ask = (
        nvml.nvmlDeviceGetTotalEnergyConsumption
        if channel.quantity == "energy"
        else nvml.nvmlDeviceGetPowerUsage
    )
    try:
        return ask(gpu) * _STEP
    except nvml.NVMLError as error:
        if error.value == nvml.NVML_ERROR_GPU_IS_LOST:
            raise MachineError("the GPU is lost", where=channel.name, next="see dmesg") from None
        return math.nan


def _counts(nvml: Any, gpu: Any) -> bool:
    try:
        nvml.nvmlDeviceGetTotalEnergyConsumption(gpu)
    except nvml.NVMLError as error:
        if error.value in (nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_FUNCTION_NOT_FOUND):
            return False
        raise  # it has one that fails: its power must not replace it when the connection is renewed
    return True


def _uuid(nvml: Any, gpu: Any) -> str:
    return _text(nvml.nvmlDeviceGetUUID(gpu))


def _text(text: str | bytes) -> str:
    return text.decode() if isinstance(text, bytes) else text


@contextmanager
def _library() -> Generator[Any]:
    """Return NVIDIA's library, initialised.

    Raises MachineError with its message, or because the driver doesn't answer.
    """
    try:
        import pynvml
    except ImportError:
        raise MachineError("nvidia-ml-py is missing", next=_FIX) from None
    nvml: Any = _Driver(pynvml)
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise MachineError(
            f"no NVIDIA driver answers ({error})", next="install NVIDIA's driver, or remove this meter"
        ) from None
    try:
        yield nvml
    except nvml.NVMLError as error:
        raise MachineError(f"the NVIDIA driver failed ({error})") from None
    finally:
        with suppress(MachineError):  # it is loaded again by the next one
            nvml.nvmlShutdown()


class _Driver:
    """NVIDIA's library, with a time limit: a call that hangs can't be interrupted, so each runs in a thread
    that may stay behind.

    While one has not returned there is no other.
    """

    _called: Future[Any] | None = None

    def __init__(self, library: Any) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._library, name)
        return partial(self._asked, member) if name.startswith("nvml") else member

    @classmethod
    def _asked(cls, call: Callable[..., Any], *arguments: Any) -> Any:
        if cls._called is not None and not cls._called.done():
            raise MachineError(f"the NVIDIA driver still doesn't answer {_CALL_S:g} s later", next=_HUNG)
        answer = cls._called = Future[Any]()

        def ask() -> None:
            try:
                answer.set_result(call(*arguments))
            except Exception as error:
                answer.set_exception(error)

        threading.Thread(target=ask, name="nvml", daemon=True).start()
        try:
            return answer.result(_CALL_S)
        except TimeoutError:
            raise MachineError(
                f"the NVIDIA driver does not answer within {_CALL_S:g} s", next=_HUNG
            ) from None
