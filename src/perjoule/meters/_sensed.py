"""Meters that the kernel shows as files below a folder, on this machine or on the hosts themselves."""

from abc import abstractmethod
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Host
from perjoule.meters import _sysfs
from perjoule.meters._metered import MeterReading, Read
from perjoule.meters._on_hosts import Sampled, copied
from perjoule.meters._placed import Placed
from perjoule.meters._sysfs import Sensor
from perjoule.model import OPTIONS
from perjoule.model.doubts import Doubt
from perjoule.model.errors import PerjouleError


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Sensed(Placed):
    """A meter that is read from files of the kernel."""

    patterns: ClassVar[tuple[str, ...]]  # of names of files that `sensors` looks at

    root: Path

    @abstractmethod
    def sensors(self, root: Path, extent: Boundary) -> Sequence[Sensor]:
        """Find the sensors below a folder. Raises PerjouleError."""

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
                number, asked_s, arrived_s = _sysfs.timed(sensor.path)
                yield MeterReading(sensor.channel, sensor.value(number), asked_s=asked_s, arrived_s=arrived_s)

        yield read

    def begin(self, host: Host, extent: Boundary, folder: Path) -> tuple[Sampled, Iterable[Doubt]]:
        """Find the host's sensors in a copy of their files, and sample them."""
        copy = copied(host, self.root, self.patterns, folder)
        try:
            sensors = self.sensors(copy, extent)
        except PerjouleError as error:
            raise type(error)(error.what, where=host.name, next=error.next) from None
        on_host = [replace(sensor, path=self.root / sensor.path.relative_to(copy)) for sensor in sensors]
        return Sampled(host, on_host, self.rate_hz, folder), self.doubts_of(copy)
