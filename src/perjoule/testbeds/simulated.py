"""Hosts that run nothing: a cluster of the catalogue in a temporary folder.

They start at once, keep files, answer every command with success and no output, and have counters that rise
at known, constant rates, so a whole campaign is fast and its numbers are known in advance. While a simulated
file system rebuilds on a host (for the time in its file `rebuild-s`), it uses half a core more.
"""

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass as plain
from dataclasses import field, replace
from pathlib import Path
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from perjoule import catalogue
from perjoule.catalogue import Node
from perjoule.drivers.protocols import (
    REBUILD,
    Ability,
    Check,
    Completed,
    Counters,
    HasEvents,
    Host,
    Hosts,
    LosesPackets,
    Process,
    SlowsDisks,
    TakesLinkDown,
    Testbed,
    planned,
)
from perjoule.machine import removal
from perjoule.model import OPTIONS, Disk, Reality
from perjoule.model.errors import CampaignError, MachineError, WorkloadError
from perjoule.model.options import HostsCount
from perjoule.model.units import MIB, BytesPerSecond, Hertz, Ratio, Seconds

EXAMPLE = """
[testbed]
kind = "simulated"
cluster = "odroid-hc4"
cpu = "2 %"
"""

REBUILD_CORES = 0.5


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class SimulatedTestbed(Testbed, HasEvents):
    """A cluster of the catalogue that exists only in files, with counters at constant rates."""

    reality: ClassVar[Reality] = "simulated"

    cluster: str = "odroid-hc4"
    """The cluster of the catalogue, or board of it, that provides the hosts."""

    servers_count: HostsCount | None = None
    """Number of storage hosts; the catalogue's by default."""

    cpu_ratio: Ratio = 0.02
    """Constant utilisation of every host's cores; all together should fit this machine, or each trial gets
    a doubt.
    """

    network_bytes_per_s: BytesPerSecond = 110 * MIB
    """Rate at which every host constantly receives and sends."""

    switches_hz: Hertz = 1000.0
    """Constant rate of every host's context switches."""

    disk_bytes_per_s: BytesPerSecond = 100 * MIB
    """Rate at which every host with disks constantly reads and writes; it keeps their disks busy half of
    the time.
    """

    scale_ratio: Ratio = 1.0
    """Speed of the hosts: emulated time is wall time times this."""

    write_back_s: Seconds | None = None
    """Time that every server takes to write back its memory; 0 by default."""

    failure: Literal["none", "hold", "sync"] = "none"
    """What fails on purpose: nothing, holding the hosts, or writing back."""

    @property
    def abilities(self) -> frozenset[type[Ability]]:
        """All that events ask for, without any effect on its hosts."""
        return frozenset({TakesLinkDown, LosesPackets, SlowsDisks})

    def planned(self, clients_count: int) -> Hosts:
        """The catalogue's, but for clients and storage hosts."""
        return replace(planned(node.role for node in self._nodes(clients_count)), reality=self.reality)

    def _nodes(self, clients_count: int) -> list[Node]:
        """Give each host's hardware. Raises CampaignError: the catalogue has no such cluster."""
        if self.cluster not in catalogue.choices():
            raise CampaignError(
                f'the catalogue has no cluster "{self.cluster}"',
                where="testbed",
                next=f"known: {', '.join(catalogue.choices())}",
            )
        counts = {"client": clients_count, "storage": self.servers_count}
        nodes = catalogue.cluster(self.cluster).nodes
        return [node for node in nodes for _ in range(counts.get(node.role) or node.count)]

    @contextmanager
    def hold(self, clients_count: int) -> Generator[Hosts]:
        """Make the hosts' folders, which are removed at the end.

        Raises:
            CampaignError: the catalogue has no such cluster.
            MachineError: it is configured to fail.
        """
        if self.failure == "hold":
            raise MachineError("the simulated testbed fails, as configured", next='set failure = "none"')
        nodes = self._nodes(clients_count)
        with removal.scratch("perjoule-simulated-") as folder:
            yield Hosts(
                all=self._hosts(nodes, folder, time.monotonic()),
                scale=self.scale_ratio,
                cluster=catalogue.cluster(self.cluster),
                facts={"simulated": True, "cpu_ratio": self.cpu_ratio},
                reality=self.reality,
            )

    def _hosts(self, kinds: Sequence[Node], folder: Path, began_s: float) -> tuple[Host, ...]:
        hosts: list[Host] = []
        for index, node in enumerate(kinds):
            number = 1 + sum(earlier.role == node.role for earlier in kinds[:index])
            name = f"{node.role}-{number}"
            (folder / name).mkdir()
            rates = _Rates(
                cpu_s_per_s=self.cpu_ratio * node.board.cores_count,
                network_bytes_per_s=self.network_bytes_per_s,
                disk_bytes_per_s=self.disk_bytes_per_s if node.disks else 0.0,
                switches_hz=self.switches_hz,
            )
            address = f"192.0.2.{index + 1}"  # of TEST-NET-1 (RFC 5737)
            cores = float(node.board.cores_count)
            syncing = _Syncing(self.write_back_s or 0.0, fails=self.failure == "sync")
            hosts.append(
                _SimulatedHost(name, node.role, address, folder / name, began_s, rates, node, cores, syncing)
            )
        return tuple(hosts)

    def checks(self) -> tuple[Check, ...]:
        """It needs nothing."""
        return (Check("simulated testbed", True, "needs nothing"),)


@plain(frozen=True)
class _Rates:
    cpu_s_per_s: float
    network_bytes_per_s: float
    disk_bytes_per_s: float
    switches_hz: float


@plain(frozen=True)
class _Syncing:
    duration_s: float
    fails: bool


@plain(frozen=True)
class _SimulatedHost(Host, LosesPackets, SlowsDisks, TakesLinkDown):
    name: str
    role: str
    address: str
    directory: Path
    began_s: float
    rates: _Rates
    node: Node | None
    cpu_capacity_cores: float | None
    syncing: _Syncing = _Syncing(0.0, fails=False)
    # From when, for how long:
    rebuilds: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]], compare=False)

    def run(
        self,
        argv: Sequence[str | Path],
        *,
        timeout_s: float,
        check: bool = True,
        text: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        if "sync" in argv:
            time.sleep(self.syncing.duration_s)
            if self.syncing.fails:
                raise WorkloadError("sync failed, as configured", where=self.name)
        return Completed(tuple(map(str, argv)), 0, "", "")

    def spawn(
        self,
        argv: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        text: str | None = None,
    ) -> Process:
        return _Ended()

    def put(self, content: str | bytes, path: Path, *, mode: int = 0o644, owner: str = "") -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        if path.name == REBUILD:
            self.rebuilds.append((time.monotonic(), float(content)))

    def read(self, path: Path) -> bytes:
        try:
            return path.read_bytes()
        except OSError as error:
            raise WorkloadError(f"can't read {path}: {error.strerror}", where=self.name) from error

    def tell(self, gate: Path, line: str) -> None:
        pass  # its programs have ended

    def counters(self) -> Counters:
        t_s = time.monotonic()
        since_s = t_s - self.began_s
        network_bytes, disk_bytes = (
            round(self.rates.network_bytes_per_s * since_s),
            round(self.rates.disk_bytes_per_s * since_s),
        )
        rebuilt_s = sum(min(max(0.0, t_s - began_s), duration_s) for began_s, duration_s in self.rebuilds)
        cpu_s = self.rates.cpu_s_per_s * since_s + REBUILD_CORES * rebuilt_s
        busy_s = 0.5 * since_s if self.rates.disk_bytes_per_s else 0.0
        switches_count = round(self.rates.switches_hz * since_s)
        return Counters(
            t_s, cpu_s, network_bytes, network_bytes, disk_bytes, disk_bytes, busy_s, switches_count
        )

    def disk(self, name: str, spec: Disk) -> Path:
        (self.directory / name).mkdir(exist_ok=True)
        return self.directory / name

    def drop_caches(self) -> None:
        pass

    def connect(self, *, up: bool) -> None:
        pass

    def slow_disks(self, factor: float) -> None:
        pass

    def lose_packets(self, loss_ratio: float) -> None:
        pass


class _Ended(Process):
    """A program that has ended successfully without doing anything."""

    @property
    def returncode(self) -> int | None:
        return 0

    def wait(self, *, timeout_s: float) -> int:
        return 0

    def stop(self, *, timeout_s: float = 2.0) -> None:
        pass

    def kill(self) -> None:
        pass

    def output(self) -> str:
        return ""
