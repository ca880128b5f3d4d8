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
from perjoule.model.errors import MachineError, PerjouleError, TransientError
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
    def connect(self, where: Boundary) -> Generator[Read]:
        """Find this machine's drives. Raises MachineError: no drive, or none that answers."""
        found = self._described(self._asked, self.root, f"meter {self.label}")
        sensors, command = self._sampled(found, where)
        pattern = re.compile(command.pattern, re.DOTALL)

        def read() -> Iterable[MeterReading]:
            said = self._asked(command.argv)
            match = pattern.search(said)
            if match is None:
                raise TransientError(f"nvme-cli printed {said.strip()!r}", where=f"meter {self.label}")
            numbers = [float(number) for number in match.groups()]
            if all(number != number for number in numbers):
                raise TransientError("no drive answered", where=f"meter {self.label}")
            for sensor, number in zip(sensors, numbers, strict=True):
                yield MeterReading(
                    sensor.channel,
                    number if number != number else sensor.value(number),
                    None,
                    sensor.duration_s,
                )

        yield read

    def begin(self, host: Host, where: Boundary, folder: Path) -> tuple[Sampled, Iterable[Doubt]]:
        """Have a host ask its own drives. Raises MachineError: it has none, or they don't answer."""

        def ask(argv: Sequence[str]) -> str:
            return host.run(argv, timeout_s=SHORT_S, check=False).stdout

        found = self._described(ask, copied(host, self.root, ("transport",), folder), host.name)
        sensors, command = self._sampled(found, where)
        return Sampled(host, sensors, self.rate_hz, folder, command), self._doubts(found)

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
        found = [
            Check(
                "nvme-cli",
                ok=tool is not None,
                detail=tool or "nvme-cli is missing",
                fix="" if tool else _FIX,
            )
        ]
        try:
            found.append(Check("NVMe drive", ok=True, detail=", ".join(self._names(self.root, ""))))
        except MachineError as error:
            found.append(
                Check("NVMe drive", ok=False, detail=error.what, fix=error.next or "remove this meter")
            )
        return tuple(found)

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find this machine's drives."""
        return ({"kind": "nvme"},) if shutil.which(_TOOL) and _there(ROOT) else ()

    def _names(self, root: Path, where: str) -> list[str]:
        wanted = [name.removeprefix("/dev/") for name in self.drives]
        there = _there(root)
        if missing := [name for name in wanted if name not in there]:
            known = ", ".join(there) or "none"
            raise MachineError(f"no NVMe drive is called {missing[0]}", where=where, next=f"known: {known}")
        # A drive of another machine (NVMe over Fabrics) draws its power there.
        found = wanted or [name for name, transport in there.items() if transport == "pcie"]
        if not found:
            raise MachineError(
                "no NVMe drive", where=where, next="remove this meter there, or name its drives"
            )
        if self.component and len(found) > 1:
            what = f"{len(found)} drives can't be the one component {self.component}"
            raise MachineError(what, where=where, next="remove component, or name one of the drives")
        return found

    def _described(self, ask: Ask, root: Path, where: str) -> list[NvmeDrive]:
        names = self._names(root, where)
        said = ask([*_BASH, answers.DESCRIBE, "perjoule-nvme", self.tool, f"{self.timeout_s:g}", *names])
        found = [answers.drive(name, said) for name in names]
        for one in found:
            if not one.answers:
                raise MachineError(
                    f"/dev/{one.name} does not answer nvme-cli",
                    where=where,
                    next=f"there, as root: {_FIX.removeprefix('sudo ')}; nvme smart-log /dev/{one.name}",
                )
            if not one.measures and not any(one.most_w):
                what = f"/dev/{one.name} reports neither its power nor the highest power of its states"
                raise MachineError(what, where=where, next="name other drives")
        return found

    def _sampled(self, found: Sequence[NvmeDrive], where: Boundary) -> tuple[list[Sensor], SensorCommand]:
        """Return the sensors and the command that prints their numbers, in this order."""
        sensors: list[Sensor] = []
        lines: list[str] = []
        for one in found:
            part = self.component or DRIVE + one.name
            if one.measures:
                stated = Specification(gain_ratio=one.error_ratio, resolution=one.step_w, latency_s=_WINDOW_S)
                channel = where.channel("power", "window mean", "component", stated, component=part)
                sensors.append(_Power(channel, Path(), 1.0, duration_s=_WINDOW_S))
            else:
                channel = where.channel("power", "state", "nameplate", component=part)
                sensors.append(_Bound(channel, Path(), 1.0, most_w=one.most_w))
            if one.counts:
                stated = Specification(gain_ratio=one.error_ratio, resolution=_STEP_J)
                channel = where.channel("energy", "counter", "component", stated, component=part)
                sensors.append(Sensor(channel, Path(), _STEP_J))
            lines.append(rf"{one.name} ([0-9]+|nan) {'([0-9]+|nan)' if one.counts else '[^ ]+'} ;")
        asked = [f"{'log' if one.measures else 'state'}:{one.name}" for one in found]
        argv = (*_BASH, answers.SAMPLE, "perjoule-nvme", self.tool, f"{self.timeout_s:g}", *asked)
        return sensors, SensorCommand(argv, ".*".join(lines))

    def _doubts(self, found: Iterable[NvmeDrive]) -> list[Doubt]:
        doubts: list[Doubt] = []
        for one in found:
            if not one.measures:
                doubts.append(METERS.states_only(meter=self.label, drive=one.name))
            elif one.estimates:
                doubts.append(METERS.estimates(meter=self.label, drive=one.name))
        return doubts

    def _asked(self, argv: Sequence[str]) -> str:
        return printed(argv, timeout_s=SHORT_S, where=f"meter {self.label}").stdout.decode("ascii", "replace")


def _there(root: Path) -> dict[str, str]:
    """Return the transport of each drive below a folder."""
    found = (
        sorted(root.glob("nvme*"), key=lambda folder: (len(folder.name), folder.name))
        if root.is_dir()
        else []
    )
    return {
        folder.name: _sysfs.word(folder / "transport") for folder in found if _NAME.fullmatch(folder.name)
    }
