"""Meters that the kernel shows as files below a folder, on this machine or on the hosts themselves."""

from abc import abstractmethod
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary, names
from perjoule.drivers.protocols import Host, Hosts, Sink
from perjoule.machine import removal
from perjoule.meters import _sysfs
from perjoule.meters._metered import Metered, Read, Reading
from perjoule.meters._on_hosts import Sampled, copied
from perjoule.meters._sysfs import Sensor
from perjoule.model import OPTIONS
from perjoule.model.errors import CampaignError, PerjouleError

_ON = 'Hosts whose own sensors are read, each for itself: "servers", "clients", names. Without it, this machine\'s are read.'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Sensed(Metered):
    """A meter that is read from files of the kernel."""

    patterns: ClassVar[tuple[str, ...]]  # of names of files that `sensors` looks at

    on: Annotated[tuple[str, ...], Field(description=_ON)] = ()
    root: Path

    @model_validator(mode="after")
    def _each_for_itself(self) -> Self:
        default = next(field.default for field in fields(self) if field.name == "covers")
        if self.on and self.covers != default:
            raise ValueError("with on, each host's sensors are its own (remove covers)")
        return self

    @abstractmethod
    def sensors(self, root: Path, where: Boundary) -> Sequence[Sensor]:
        """Find the sensors below a folder. Raises PerjouleError."""

    def doubts_of(self, root: Path) -> Iterable[str]:
        """Doubts about the sensors below a folder, however well they are read."""
        return ()

    def caveats(self) -> Iterable[str]:
        """Doubts about this machine's sensors."""
        return self.doubts_of(self.root)

    @contextmanager
    def connect(self, where: Boundary) -> Generator[Read]:
        """Find this machine's sensors. Raises PerjouleError."""
        found = self.sensors(self.root, where)

        def read() -> Iterable[Reading]:
            for sensor in found:
                number, asked_s, arrived_s = _sysfs.timed(sensor.path)
                yield Reading(sensor.channel, sensor.value(number), asked_s=asked_s, arrived_s=arrived_s)

        yield read

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[str]]:
        """Stream this machine's readings, or sample on the hosts. Raises PerjouleError: a sensor can't be found or read."""
        if not self.on:
            with super().record(hosts, sink) as doubts:
                yield doubts
            return
        chosen = self._hosts(hosts)
        doubts: list[str] = []
        begun: list[Sampled] = []
        with removal.scratch("perjoule-meter-") as folder, ThreadPoolExecutor(32) as pool:

            def begin(host: Host) -> None:
                copy = copied(host, self.root, self.patterns, folder)
                try:
                    found = self.sensors(copy, Boundary(self.label, host.name, self.component or "all"))
                except PerjouleError as error:
                    raise type(error)(error.what, where=host.name, next=error.next) from None
                doubts.extend(f"{host.name}: {doubt}" for doubt in self.doubts_of(copy))
                there = [replace(sensor, path=self.root / sensor.path.relative_to(copy)) for sensor in found]
                begun.append(Sampled(host, there, self.rate_hz, folder))

            try:
                list(pool.map(begin, chosen))
                yield doubts
                for ended in pool.map(Sampled.end, begun):
                    doubts += ended.keep(self.label, sink)
            finally:
                list(pool.map(Sampled.stop, begun))

    def _hosts(self, hosts: Hosts) -> list[Host]:
        named = names(self.label, self.on, hosts)
        chosen = [host for host in hosts.all if host.name in named]
        if hosts.machine is not None and len(chosen) > 1:
            what = f"{len(chosen)} hosts share this machine's sensors, which would be counted for each"
            raise CampaignError(what, where=f"meter {self.label}", next="remove on")
        return chosen
