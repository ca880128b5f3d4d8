"""The power of NVMe drives, as they report it themselves, by nvme-cli: https://github.com/linux-nvme/nvme-cli

A drive that measures (NVMe 2.3, TP4199) has the mean power of its last second in its SMART log, and the
watt-hours of its life. Others only have a power state, whose maximum bounds the power from above: a state
gives no energy. No real drive has been read.
"""

import re
import shutil
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check, Host
from perjoule.meters import _sysfs
from perjoule.meters._metered import MOMENTS_HZ, RATE, MeterReading, Read
from perjoule.meters._on_hosts import SHORT_S, Sampled, SensorCommand, copied
from perjoule.meters._placed import Placed
from perjoule.meters._sysfs import Sensor
from perjoule.meters._tool import printed
from perjoule.meters.nvme import answers
from perjoule.meters.nvme.answers import NvmeDrive
from perjoule.model import DRIVE, OPTIONS, Json, Specification, program_named
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.errors import MachineError, NoAnswer, PerjouleError
from perjoule.model.units import Hertz, Seconds

EXAMPLE = """
[[meter]]
kind = "nvme"
on = ["servers"]
"""

ROOT = Path("/sys/class", "nvme")
_TOOL = "nvme"
_FIX = "sudo apt install nvme-cli"
_NAME = re.compile(r"nvme\d+")
_WINDOW_S = 1.0  # the standard's "interval" of a measurement
_STEP_J = 3600.0  # the energy is in whole watt-hours
_BASH = ("bash", "--norc", "-c")

Ask = Callable[[Sequence[str]], str]  # run a command and return its output


@plain_dataclass(frozen=True)
class _Power(Sensor):
    """A power in the standard's form: a value and its scale in one number."""

    def value(self, number: float) -> float:
        return answers.power_w(int(number))


@plain_dataclass(frozen=True)
class _Bound(Sensor):
    """The number of a power state, which stands for the highest power in it."""

    most_w: tuple[float, ...] = ()

    def value(self, number: float) -> float:
        return answers.bound_w(self.most_w, int(number))


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Nvme(Placed):
    """The NVMe drives of this machine or of the hosts, each a separate channel."""

    covers: tuple[str, ...] = ("servers",)
    """The hosts that the drives belong to."""

    drives: tuple[str, ...] = ()
    """Only these ("nvme0"); all that are on the PCIe bus by default."""

    rate_hz: Annotated[Hertz, Field(description=RATE)] = MOMENTS_HZ

    timeout_s: Seconds = 2.0
    """Time limit of a drive's answer."""

    tool: Annotated[str, program_named(_TOOL)] = _TOOL
    """The program nvme; its path if it is not on the PATH."""

    root: Path = ROOT
    """Where the kernel lists its NVMe drives."""

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Find this machine's drives. Raises MachineError: no drive, or none that answers."""
        drives = self._described(self._asked, self.root, f"meter {self.label}")
        sensors, command = self._sampled(drives, extent)
        pattern = re.compile(command.pattern, re.DOTALL)

        def read() -> Iterable[MeterReading]:
            output = self._asked(command.argv)
            match = pattern.search(output)
            if match is None:
                raise NoAnswer(f"nvme-cli printed {output.strip()!r}", where=f"meter {self.label}")
            numbers = [float(number) for number in match.groups()]
            if all(number != number for number in numbers):
                raise NoAnswer("no drive answered", where=f"meter {self.label}")
            for sensor, number in zip(sensors, numbers, strict=True):
                yield MeterReading(
                    sensor.channel,
                    number if number != number else sensor.value(number),
                    None,
                    sensor.duration_s,
                )

        yield read

    def begin(self, host: Host, extent: Boundary, folder: Path) -> tuple[Sampled, Iterable[Doubt]]:
        """Have a host ask its own drives. Raises MachineError: it has none, or they don't answer."""

        def ask(argv: Sequence[str]) -> str:
            return host.run(argv, timeout_s=SHORT_S, check=False).stdout

        drives = self._described(ask, copied(host, self.root, ("transport",), folder), host.name)
        sensors, command = self._sampled(drives, extent)
        return Sampled(host, sensors, self.rate_hz, folder, command), self._doubts(drives)

    def caveats(self) -> Iterable[Doubt]:
        """Doubts about drives that measure nothing, or only estimate."""
        try:
            return self._doubts(self._described(self._asked, self.root, ""))
        except PerjouleError:
            return ()

    def checks(self) -> tuple[Check, ...]:
        """Check for nvme-cli and for a drive."""
        if self.on:  # on the hosts, when recording begins
            return ()
        tool = shutil.which(self.tool)
        checks = [
            Check(
                "nvme-cli",
                ok=tool is not None,
                detail=tool or "nvme-cli is missing",
                fix="" if tool else _FIX,
            )
        ]
        try:
            checks.append(Check("NVMe drive", ok=True, detail=", ".join(self._names(self.root, ""))))
        except MachineError as error:
            checks.append(
                Check("NVMe drive", ok=False, detail=error.what, fix=error.next or "remove this meter")
            )
        return tuple(checks)

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find this machine's drives."""
        return ({"kind": "nvme"},) if shutil.which(_TOOL) and _there(ROOT) else ()

    def _names(self, root: Path, place: str) -> list[str]:
        names = [name.removeprefix("/dev/") for name in self.drives]
        transports = _there(root)
        if missing := [name for name in names if name not in transports]:
            listed = ", ".join(transports) or "none"
            raise MachineError(f"no NVMe drive is called {missing[0]}", where=place, next=f"known: {listed}")
        # A drive of another machine (NVMe over Fabrics) draws its power there.
        metered = names or [name for name, transport in transports.items() if transport == "pcie"]
        if not metered:
            raise MachineError(
                "no NVMe drive", where=place, next="remove this meter there, or name its drives"
            )
        if self.component and len(metered) > 1:
            fault = f"{len(metered)} drives can't be the one component {self.component}"
            raise MachineError(fault, where=place, next="remove component, or name one of the drives")
        return metered

    def _described(self, ask: Ask, root: Path, place: str) -> list[NvmeDrive]:
        names = self._names(root, place)
        output = ask([*_BASH, answers.DESCRIBE, "perjoule-nvme", self.tool, f"{self.timeout_s:g}", *names])
        drives = [answers.drive(name, output) for name in names]
        for drive in drives:
            if not drive.answers:
                raise MachineError(
                    f"/dev/{drive.name} does not answer nvme-cli",
                    where=place,
                    next=f"there, as root: {_FIX.removeprefix('sudo ')}; nvme smart-log /dev/{drive.name}",
                )
            if not drive.measures and not any(drive.most_w):
                fault = f"/dev/{drive.name} reports neither its power nor the highest power of its states"
                raise MachineError(fault, where=place, next="name other drives")
        return drives

    def _sampled(self, drives: Sequence[NvmeDrive], extent: Boundary) -> tuple[list[Sensor], SensorCommand]:
        """Return the sensors and the command that prints their numbers, in this order."""
        sensors: list[Sensor] = []
        lines: list[str] = []
        for drive in drives:
            part = self.component or DRIVE + drive.name
            if drive.measures:
                specification = Specification(
                    gain_ratio=drive.error_ratio, resolution=drive.step_w, latency_s=_WINDOW_S
                )
                channel = extent.channel("power", "window mean", "component", specification, component=part)
                sensors.append(_Power(channel, Path(), 1.0, duration_s=_WINDOW_S))
            else:
                channel = extent.channel("power", "state", "nameplate", component=part)
                sensors.append(_Bound(channel, Path(), 1.0, most_w=drive.most_w))
            if drive.counts:
                specification = Specification(gain_ratio=drive.error_ratio, resolution=_STEP_J)
                channel = extent.channel("energy", "counter", "component", specification, component=part)
                sensors.append(Sensor(channel, Path(), _STEP_J))
            lines.append(rf"{drive.name} ([0-9]+|nan) {'([0-9]+|nan)' if drive.counts else '[^ ]+'} ;")
        queries = [f"{'log' if drive.measures else 'state'}:{drive.name}" for drive in drives]
        argv = (*_BASH, answers.SAMPLE, "perjoule-nvme", self.tool, f"{self.timeout_s:g}", *queries)
        return sensors, SensorCommand(argv, ".*".join(lines))

    def _doubts(self, drives: Iterable[NvmeDrive]) -> list[Doubt]:
        doubts: list[Doubt] = []
        for drive in drives:
            if not drive.measures:
                doubts.append(METERS.states_only(meter=self.label, drive=drive.name))
            elif drive.estimates:
                doubts.append(METERS.estimates(meter=self.label, drive=drive.name))
        return doubts

    def _asked(self, argv: Sequence[str]) -> str:
        return printed(argv, timeout_s=SHORT_S, place=f"meter {self.label}").stdout.decode("ascii", "replace")


def _there(root: Path) -> dict[str, str]:
    """Return the transport of each drive below a folder."""
    folders = (
        sorted(root.glob("nvme*"), key=lambda folder: (len(folder.name), folder.name))
        if root.is_dir()
        else []
    )
    return {
        folder.name: _sysfs.attribute(folder / "transport")
        for folder in folders
        if _NAME.fullmatch(folder.name)
    }
