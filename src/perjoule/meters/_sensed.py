"""Meters that the kernel shows as files below a folder, on this machine or on the hosts themselves."""

from abc import abstractmethod
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary, boundary
from perjoule.drivers.protocols import Host, Hosts, Sink
from perjoule.meters._metered import MeterReading, Read
from perjoule.meters._on_hosts import Sampled, copied
from perjoule.meters._placed import Placed
from perjoule.meters._scans import ScanFiles, of_scans
from perjoule.meters._sysfs import Sensor
from perjoule.model import OPTIONS
from perjoule.model.doubts import Doubt
from perjoule.model.errors import CampaignError, PerjouleError


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Sensed(Placed):
    """A meter that is read from files of the kernel."""

    patterns: ClassVar[tuple[str, ...]]  # of names of files that `sensors` looks at
    of_machine: ClassVar[str] = ""  # a part of the machine that has them; "" if they can feed any host

    root: Path

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[Doubt]]:
        """Stream its readings. Raises CampaignError: it would stand for what other machines have."""
        covered = () if self.on or not self.of_machine else boundary(self.label, self.covers, hosts).covers
        if hosts.all and hosts.machine is None and len(covered) > 1:
            fault = f"it reads {self.of_machine} of the machine that runs perjoule, not those of {len(covered)} hosts"
            raise CampaignError(
                fault, where=f"meter {self.label}", next='write on = ["servers", "clients"] instead of covers'
            )
        with super().record(hosts, sink) as doubts:
            yield doubts

    @abstractmethod
    def sensors(self, root: Path, extent: Boundary) -> Sequence[Sensor]:
        """Find the sensors below a folder. Raises PerjouleError."""

    def scan_files(self, root: Path) -> ScanFiles | None:
        """Return the files that say of which scan the sensors are; None if each is read when it is asked."""
        return None

    def doubts_of(self, root: Path) -> Iterable[Doubt]:
        """Doubts about the sensors below a folder, however well they are read."""
        return ()

    def caveats(self) -> Iterable[Doubt]:
        """Doubts about this machine's sensors."""
        return self.doubts_of(self.root)

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Find this machine's sensors. Raises PerjouleError."""
        sensors = self.sensors(self.root, extent)

        def read() -> Iterable[MeterReading]:
            for sensor in sensors:
                value, asked_s, arrived_s = sensor.timed()
                yield MeterReading(sensor.channel, value, asked_s=asked_s, arrived_s=arrived_s)

        files = self.scan_files(self.root)
        yield of_scans(files, read) if files else read

    def begin(self, host: Host, extent: Boundary, folder: Path) -> tuple[Sampled, Iterable[Doubt]]:
        """Find the host's sensors in a copy of their files, and sample them."""
        copy = copied(host, self.root, self.patterns, folder)
        try:
            sensors = self.sensors(copy, extent)
        except PerjouleError as error:
            raise type(error)(error.what, where=host.name, next=error.next) from None
        on_host = [replace(sensor, path=self.root / sensor.path.relative_to(copy)) for sensor in sensors]
        scans = self.scan_files(self.root)
        return Sampled(host, on_host, self.rate_hz, folder, scans=scans), self.doubts_of(copy)
