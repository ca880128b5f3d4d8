"""Quarch power modules (PPM, PAM), which measure the supply of single drives: https://quarch.com

They are read through Quarch Instrument Server (QIS), which holds the modules and averages what they measure:
lines over TCP, as its help.txt describes them. The server of QIS 1.43 was tried without a module; a real
module never was.
"""

import math
import re
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check
from perjoule.meters._drives import AtDrives
from perjoule.meters._metered import MOMENTS_HZ, MeterReading, Read
from perjoule.meters.quarch import stripes
from perjoule.meters.quarch.server import PORT, QuarchServer, opened
from perjoule.meters.quarch.stripes import StripeLayout, StripeTimes
from perjoule.model import OPTIONS, Channel, Grade, Json, Specification
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.errors import MachineError, PerjouleError
from perjoule.model.units import Hertz, RelativeError, Seconds

EXAMPLE = """
[[meter]]
kind = "quarch"
drives = {"usb::QTL2312-01-101" = "storage-1/nvme0", "usb::QTL2312-01-102" = "storage-2/nvme0"}
"""

LEAST_PERIOD_S = 1e-3
_RUNNING = re.compile(r"running", re.IGNORECASE)


def _are_modules(drives: Mapping[str, str]) -> Mapping[str, str]:
    if not drives or not all(re.fullmatch(r"[\w.:%-]+", module) for module in drives):
        raise ValueError('name modules as QIS lists them ("usb::QTL2312-01-101")')
    return drives


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Quarch(AtDrives):
    """Quarch power modules, one channel each."""

    drives: Annotated[Mapping[str, str], AfterValidator(_are_modules)]
    """What each module feeds: a drive as "storage-1/nvme0", all disks of a host as "storage-1", "" for
    what `covers` says.
    """

    address: str = f"127.0.0.1:{PORT}"
    """Where QIS runs: host, or "HOST:PORT"."""

    period_s: Seconds = 0.1
    """The length of the windows that QIS averages over."""

    rate_hz: Hertz = MOMENTS_HZ
    """How often the finished windows are fetched; all of them are."""

    timeout_s: Seconds = 2.0
    """Time limit of an answer."""

    accuracy_ratio: RelativeError | None = None
    """The modules' error, as a share of the reading, from a calibration."""

    grade: Literal["component", "wall"] = "component"
    """Where the modules sit: "component" between supply and drive, "wall" for modules of the mains."""

    adds_up: ClassVar[bool] = False

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Start the modules' streams.

        Raises OSError, ValueError, MachineError: QIS doesn't know one, or it refuses.
        """
        with opened(self.address, self.timeout_s) as server, ExitStack() as stack:
            listed_modules = modules(server)
            streams: list[tuple[str, Channel, StripeLayout, StripeTimes]] = []
            for module, fed in self.drives.items():
                if module.lower() not in map(str.lower, listed_modules):
                    listed = ", ".join(listed_modules) or "none"
                    raise MachineError(
                        f"QIS has no module {module}", where=self.address, next=f"known: {listed}"
                    )
                stack.enter_context(self._started(server, module))
                layout = self._layout(server, module)
                streams.append(
                    (
                        module,
                        self._channel(extent, module, fed, layout.period_s),
                        layout,
                        StripeTimes(layout.period_s),
                    )
                )

            def read() -> Iterable[MeterReading]:
                for module, channel, layout, dated in streams:
                    text, came_s = server.ask(f"{module} stream text all"), time.monotonic()
                    windows = stripes.stripes(text, layout)
                    if not windows:
                        _still_running(server, module)
                    for (t_s, power_w), end_s in zip(
                        windows, dated.ends_s([t_s for t_s, _ in windows], came_s), strict=True
                    ):
                        if not math.isnan(t_s):
                            yield MeterReading(channel, power_w, end_s, layout.period_s)

            yield read

    @contextmanager
    def _started(self, server: QuarchServer, module: str) -> Generator[None]:
        """Stream from a module during the block; a stream that a lost connection left behind is ended
        first.
        """
        if _RUNNING.search(server.ask(f"{module} stream?")):
            server.ask(f"{module} rec stop")
        # old modules have no other, and refuse: the header decides
        server.ask(f"{module} stream mode header v3")
        server.ask(f"{module} stream mode power total enable")
        period_us = round(max(self.period_s, LEAST_PERIOD_S) * 1e6)
        for command in (f"stream mode resample {period_us}us", "rec stream"):
            answer = server.ask(f"{module} {command}")
            if "OK" not in answer:
                raise MachineError(
                    f"{module} refuses {command!r}: {answer[:200]}",
                    where=self.address,
                    next="check the module in QIS",
                )
        try:
            yield
        finally:
            with suppress(OSError, ValueError):
                server.ask(f"{module} rec stop")

    def _layout(self, server: QuarchServer, module: str) -> StripeLayout:
        """Wait for the header of a stream that has begun. Raises ValueError, OSError."""
        until_s = time.monotonic() + self.timeout_s
        while "not available" in (header := server.ask(f"{module} stream text header")).lower():
            if time.monotonic() > until_s:
                raise OSError(f"{module} sends no header of its stream within {self.timeout_s:g} s")
            time.sleep(0.02)
        return stripes.layout(header)

    def _channel(self, extent: Boundary, module: str, fed: str, period_s: float) -> Channel:
        grade: Grade = self.grade
        specification = Specification(gain_ratio=self.accuracy_ratio, period_s=period_s, latency_s=period_s)
        return self.fed(extent, fed, module.rpartition("::")[2]).channel(
            "power", "window mean", grade, specification
        )

    def caveats(self) -> Iterable[Doubt]:
        """A doubt about modules that send no power."""
        with suppress(OSError, ValueError, PerjouleError), opened(self.address, self.timeout_s) as server:
            for module in self.drives:
                if stripes.layout(server.ask(f"{module} stream text header")).multiplies:
                    yield METERS.module_multiplies(meter=self.label, module=module)

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: there are no requirements on this machine."""
        return ()

    def answers(self) -> tuple[Check, ...]:
        """Ask whether QIS answers, and knows the modules: reading them would start their streams."""
        try:
            with opened(self.address, self.timeout_s) as server:
                names = [module.lower() for module in modules(server)]
        except (OSError, ValueError) as error:
            fix = "start Quarch Instrument Server there (java -jar qis.jar), or set address"
            return (Check("QIS", ok=False, detail=f"no answer from {self.address} ({error})", fix=fix),)
        missing = [module for module in self.drives if module.lower() not in names]
        fix = "connect the module, or name one that QIS lists ($list)" if missing else ""
        return (
            Check(
                "QIS",
                ok=not missing,
                detail=f"no module {missing[0]}" if missing else f"{len(names)} modules",
                fix=fix,
            ),
        )

    @classmethod
    def discover(cls, addresses: Sequence[str]) -> tuple[Mapping[str, Json], ...]:
        """Find instrument servers with modules at these addresses."""
        tables: list[Mapping[str, Json]] = []
        for address in addresses:
            with suppress(OSError, ValueError, PerjouleError), opened(address, 0.5) as server:
                if listed := modules(server):
                    tables.append({"kind": "quarch", "address": address, "drives": dict.fromkeys(listed, "")})
        return tuple(tables)


def modules(server: QuarchServer) -> list[str]:
    """List the modules that QIS holds. Raises OSError, ValueError."""
    return re.findall(r"^[ \t]*\d+\)[ \t]*(\S+::\S+)", server.ask("$list"), re.MULTILINE)


def _still_running(server: QuarchServer, module: str) -> None:
    answer = server.ask(f"{module} stream?")
    if not _RUNNING.search(answer):
        raise OSError(f"{module} has stopped: {' '.join(answer.split())[:200]}")
