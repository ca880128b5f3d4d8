"""Power from a linear model with the catalogue's coefficients, driven by each host's counters: never a
measurement.

Per host: board = idle + dynamic x CPU use; disks = idle + (active - idle) x use of their throughput; each with a
step from idle to the least load, and the board with a bend by the cube of its use, if the catalogue states them;
supply = the power supply's losses, on both and without load. Clients of a cluster are at the wall, without
such losses: its supply is that of the servers. The switch is constant. The form is that of
X. Fan, W.-D. Weber, L. A. Barroso, Power Provisioning for a Warehouse-sized Computer, ISCA 2007:
https://doi.org/10.1145/1250662.1250665
"""

import time
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache

from pydantic.dataclasses import dataclass

from perjoule.catalogue import Cluster, Node, watts
from perjoule.catalogue.watts import Component, host_w
from perjoule.drivers.protocols import Check, Counters, Host, Hosts, Meter, Outlet, Sink
from perjoule.meters._counting import counting
from perjoule.model import OPTIONS, Channel
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.errors import CampaignError
from perjoule.model.units import Hertz

EXAMPLE = """
[[meter]]
kind = "modelled"
rate = "5 Hz"
"""

COUNTERS = {  # what drives the model, and the consequence for hosts without it
    "cpu_s": METERS.no_cpu_time,
    "disk_read_bytes": METERS.no_disk_reads,
    "disk_written_bytes": METERS.no_disk_writes,
}
# emulated; bursts of counters are shorter, hardware that is faster than its rating is soon ahead by more
AHEAD_S = 1.0


@cache
def channel(host: str, component: Component) -> Channel:
    """Return the channel of one component of a host ("" for the switch, which belongs to no host)."""
    return Channel("modelled", host, component, "power", "W", "window mean", "modelled")


def use_ratios(
    node: Node, before: Counters, after: Counters, *, capacity_cores: float, scale: float
) -> Mapping[Component, float]:
    """Return the work of a host's board and disks between two readings, over what they can do in that time.

    None if CPU time is missing or a counter fell. Unknown disk bytes count as zero: a lower bound. `scale`
    slows disks, but does not change their watts. Counters grow in bursts, so a short time can have more than
    1; energy follows the work, so nothing is cut off.
    """
    duration_s = after.t_s - before.t_s
    grown = {counter: _grown(getattr(before, counter), getattr(after, counter)) for counter in COUNTERS}
    cpu_s = grown["cpu_s"]
    if cpu_s is None or any(growth is not None and growth < 0 for growth in grown.values()):
        return {}
    read_bytes, written_bytes = (grown[name] or 0.0 for name in ("disk_read_bytes", "disk_written_bytes"))
    return watts.use_ratios(
        node, cpu_s, read_bytes, written_bytes, duration_s, capacity_cores=capacity_cores, scale=scale
    )


def _grown(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Modelled(Meter):
    """Watts of the servers, the switch and clients of known hardware, modelled from the catalogue and the
    hosts' counters.
    """

    rate_hz: Hertz = 5.0
    """How often the counters are read, on average; each sample is the mean over the time since the one
    before.
    """

    def outlets(self, hosts: Hosts) -> Sequence[Outlet]:
        """Return all hosts."""
        return (
            Outlet(
                "kind", "modelled:", "all hosts", clash="meter modelled is there twice", advice="remove one"
            ),
        )

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[Doubt]]:
        """Stream modelled watts per host and component, and the switch. Clients of unknown hardware or
        capacity are left out.

        Raises:
            CampaignError: the testbed, or a server, has no hardware in the catalogue, a server states no CPU
                capacity, or power states of a host were set.
        """
        cluster, nodes = _hardware(hosts)
        capacity_cores = _capacity_cores(hosts)
        beside = _beside(hosts)
        nodes |= {host.name: host.node for host in beside if host.node}
        capacity_cores |= {host.name: host.cpu_capacity_cores for host in beside if host.cpu_capacity_cores}
        model = _Model(hosts, cluster, nodes, capacity_cores, sink)
        with counting("modelled", self.rate_hz, (*_metered(hosts), *beside), model.take) as doubts:
            yield doubts
        doubts.extend(model.doubts())

    @property
    def sampled_hz(self) -> float:
        """How often it is read."""
        return self.rate_hz

    def checks(self) -> tuple[Check, ...]:
        """Check nothing: only a testbed with a cluster of the catalogue is needed."""
        return ()


def _metered(hosts: Hosts) -> tuple[Host, ...]:
    """Return the servers or, if there are none, the clients, each with disks of its own."""
    return hosts.servers or hosts.clients


def _beside(hosts: Hosts) -> tuple[Host, ...]:
    """Return the clients beside servers whose hardware the catalogue knows."""
    return (
        tuple(host for host in hosts.clients if host.node and host.cpu_capacity_cores)
        if hosts.servers
        else ()
    )


def _hardware(hosts: Hosts) -> tuple[Cluster, dict[str, Node]]:
    place, remedy = (
        'meter "modelled"',
        'give the testbed a cluster (cluster = "odroid-hc4"), or remove this meter',
    )
    if hosts.cluster is None:
        raise CampaignError(
            "power is modelled from the catalogue, but this testbed has no cluster in it",
            where=place,
            next=remedy,
        )
    nodes = {host.name: host.node for host in _metered(hosts)}
    bare = [name for name, node in nodes.items() if node is None]
    if bare:
        raise CampaignError(
            f"{', '.join(bare)} stands for no hardware in the catalogue", where=place, next=remedy
        )
    if changed := [host.name for host in (*_metered(hosts), *_beside(hosts)) if host.check_power]:
        fault = (
            f"the catalogue does not know the watts of {', '.join(changed)} in the power states of this "
            "campaign"
        )
        raise CampaignError(fault, where=place, next="use a power meter, or remove power from the testbed")
    return hosts.cluster, {name: node for name, node in nodes.items() if node is not None}


def _capacity_cores(hosts: Hosts) -> dict[str, float]:
    """Return each host's CPU capacity.

    This machine's cores are not those of an emulated board, so there is no fallback.
    """
    capacities_cores = {host.name: host.cpu_capacity_cores for host in _metered(hosts)}
    if unknown := [name for name, cores in capacities_cores.items() if not cores]:
        raise CampaignError(
            f"{', '.join(unknown)} state no CPU capacity, so the share of it that a load uses is unknown",
            where='meter "modelled"',
            next="cap CPUs (cpu_cap = true), or remove this meter",
        )
    return {name: cores for name, cores in capacities_cores.items() if cores}


class _Model:
    """The model's state from one round of readings to the next."""

    def __init__(
        self,
        hosts: Hosts,
        cluster: Cluster,
        nodes: Mapping[str, Node],
        capacity_cores: Mapping[str, float],
        sink: Sink,
    ) -> None:
        self._cluster, self._nodes, self._sink, self._scale = cluster, nodes, sink, hosts.scale
        self._capacity_cores = capacity_cores
        self._supplied = frozenset(host.name for host in _metered(hosts))
        self._before: dict[str, Counters] = {}
        self._untold: dict[str, set[str]] = {counter: set() for counter in COUNTERS}
        self._ahead_s = defaultdict[tuple[str, Component], float](float)
        self._most_ahead_s = defaultdict[tuple[str, Component], float](float)
        self._switch_s: float | None = None

    def take(self, readings: Mapping[str, Counters]) -> None:
        """Turn a round of readings into samples; a host's first one only begins its first window."""
        for name, after in readings.items():
            before = self._before.get(name)
            if before is None or after.t_s > before.t_s:
                self._before[name] = after
                if before is not None:
                    self._host(name, before, after)
        now_s = time.monotonic()
        if self._switch_s is not None:
            self._sink.append(
                channel("", "switch"), now_s, self._cluster.switch_w.value, now_s - self._switch_s
            )
        self._switch_s = now_s

    def doubts(self) -> Iterator[Doubt]:
        """Return doubts about missing counters, and about hosts that did more than the catalogue's
        hardware can.
        """
        for counter, hosts in self._untold.items():
            if hosts:
                yield COUNTERS[counter](hosts=", ".join(sorted(hosts)))
        for disk in dict.fromkeys(disk for node in self._nodes.values() for disk in node.disks):
            if disk.sustained_w is not None:
                yield METERS.fresh_ssd(
                    disks=disk.name, sustained_w=disk.sustained_w.value, active_w=disk.active_w.value
                )
        for component in ("board", "disks"):
            fast = sorted(
                name
                for (name, part), s in self._most_ahead_s.items()
                if part == component and s * self._scale > AHEAD_S
            )
            if fast:
                yield METERS.ratings_too_low(component=component, hosts=", ".join(fast))

    def _host(self, name: str, before: Counters, after: Counters) -> None:
        node, cores = self._nodes[name], self._capacity_cores[name]
        supplied = name in self._supplied
        used = use_ratios(node, before, after, capacity_cores=cores, scale=self._scale)
        duration_s = after.t_s - before.t_s
        for component, value in host_w(node, self._cluster, used, supplied=supplied).items():
            self._sink.append(channel(name, component), after.t_s, value, duration_s)
        for component, ratio in used.items():
            key = (name, component)
            self._ahead_s[key] = max(0.0, self._ahead_s[key] + (ratio - 1) * duration_s)
            self._most_ahead_s[key] = max(self._most_ahead_s[key], self._ahead_s[key])
        for counter, hosts in self._untold.items():
            if getattr(after, counter) is None and (node.disks or counter == "cpu_s"):
                hosts.add(name)
