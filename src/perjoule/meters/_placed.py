"""Meters that are read on this machine, or on the hosts themselves, each for itself."""

from abc import abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary, names
from perjoule.drivers.protocols import Check, Host, Hosts, Outlet, Sink
from perjoule.machine import removal
from perjoule.meters._metered import Metered
from perjoule.meters._on_hosts import Sampled
from perjoule.model import OPTIONS
from perjoule.model.doubts import Doubt
from perjoule.model.errors import CampaignError

_ON = (
    'Hosts whose own sensors are read, each for itself: "servers", "clients", names. Without it, this '
    "machine's are read."
)


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Placed(Metered):
    """A meter of a machine that can be any of the hosts."""

    finds_parts: ClassVar[bool] = True  # whether only its sensors say of which part of a host each is

    on: Annotated[tuple[str, ...], Field(description=_ON)] = ()

    @model_validator(mode="after")
    def _each_for_itself(self) -> Self:
        default = next(field.default for field in fields(self) if field.name == "covers")
        if self.on and self.covers != default:
            raise ValueError("on already names the hosts whose sensors are read (remove covers)")
        return self

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        """The hosts whose sensors are read, or what this machine's sensors feed."""
        return {"on": self.on} if self.on else super().named

    def outlets(self, hosts: Hosts) -> Sequence[Outlet]:
        """Return that of each host, or of this machine."""
        if self.finds_parts:
            return ()
        if not self.on:
            return super().outlets(hosts)
        return [self._place(name).outlet("on") for name in names(self.label, self.on, hosts)]

    def answers(self) -> tuple[Check, ...]:
        """Ask this machine's; those of hosts are polled when recording begins."""
        return () if self.on else super().answers()

    @abstractmethod
    def begin(self, host: Host, extent: Boundary, folder: Path) -> tuple[Sampled, Iterable[Doubt]]:
        """Sample on a host, with `folder` for what comes from it; return also doubts.

        Raises PerjouleError.
        """

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[Doubt]]:
        """Stream this machine's readings, or sample on the hosts.

        Raises PerjouleError: a sensor can't be found or read.
        """
        if not self.on:
            with super().record(hosts, sink) as doubts:
                yield doubts
            return
        sensor_hosts = self._hosts(hosts)
        doubts: list[Doubt] = []
        begun: list[Sampled] = []
        with removal.scratch("perjoule-meter-") as folder, ThreadPoolExecutor(32) as pool:

            def begin(host: Host) -> None:
                sampled, host_doubts = self.begin(host, self._place(host.name), folder)
                begun.append(sampled)
                doubts.extend(doubt.about(host.name) for doubt in host_doubts)

            try:
                list(pool.map(begin, sensor_hosts))
                doubts += self.overdue()
                yield doubts
                for ended in pool.map(Sampled.end, begun):
                    doubts += ended.keep(self.label, sink)
            finally:
                list(pool.map(Sampled.stop, begun))

    def _place(self, host_name: str) -> Boundary:
        return Boundary(self.label, host_name, self.component or "all")

    def _hosts(self, hosts: Hosts) -> list[Host]:
        host_names = names(self.label, self.on, hosts)
        sensor_hosts = [host for host in hosts.all if host.name in host_names]
        if hosts.machine is not None and len(sensor_hosts) > 1:
            fault = f"{len(sensor_hosts)} hosts share this machine's sensors, which would be counted for each"
            raise CampaignError(fault, where=f"meter {self.label}", next="remove on")
        return sensor_hosts
