"""Modelled watts computed again: from the counters that the meter `system` read, and the catalogue's values
in the record.

Both meters take the same readings where they read at the same rate. A modelled sample whose window does not
begin and end with a reading that was kept lies between two amounts of work, because counters only grow: at
least what was counted within, at most what was counted around it. Without any reading it is at least that of
a host that does nothing.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from perjoule.catalogue import watts
from perjoule.catalogue.watts import Component
from perjoule.model import HostFact, Record, Series
from perjoule.results.likeness import RATIO
from perjoule.trial.reading import Reading

Floats = NDArray[np.float64]
METER, COUNTERS = "modelled", "system"
SAME_S = 1e-7  # two moments are those of one reading: the begin of a window is a difference
MOST = 1e30  # of a counter's growth, instead of infinity, which times 0 W is not a number
MOST_RATIO = 1e-7  # of watts, by which they may differ: a window's length is known to 1e-9 s or so


def check(record: Record, series: Sequence[Series], place: str) -> Iterator[str]:
    """Yield "" for each modelled channel that follows from counters, a sentence for each that does not."""
    cluster = record.hardware
    if cluster is None:
        return
    nodes = {node.name: node for node in cluster.nodes}
    hosts = {host.name: host for host in record.hosts if host.node in nodes}
    counters = {(s.channel.host, s.channel.quantity): s for s in series if s.channel.meter == COUNTERS}
    a_second_s = Reading(record).dilation.emulated(1.0)
    alone = all(host.role == "client" for host in record.hosts)

    def bounds_w(power: Series, host: HostFact, cores: float) -> list[Mapping[Component, Floats]]:
        """Return the watts of a host at the least and the most work of each window."""
        node = nodes[host.node]
        used = (
            watts.use_ratios(node, *work, power.duration_s, capacity_cores=cores, scale=a_second_s)
            for work in work_ends(power, counters.get((host.name, "cpu")), counters, host)
        )
        supplied = alone or host.role != "client"
        return [watts.host_w(node, cluster, ratios, supplied=supplied) for ratios in used]

    # of a host's components, whose windows are mostly the same
    last: tuple[Series, list[Mapping[Component, Floats]]] | None = None
    for power in modelled(series):
        name = power.channel.host
        if power.channel.component == "switch":
            low_w = high_w = np.full(len(power.value), cluster.switch_w.value)
        elif name not in hosts or not (cores := hosts[name].cpu_capacity_cores):
            continue
        else:
            if last is None or not _same_windows(power, last[0]):
                last = power, bounds_w(power, hosts[name], cores)
            unknown = np.full(len(power.value), np.nan)
            low_w, high_w = (bound_w.get(component(power), unknown) for bound_w in last[1])
        yield _within(power, low_w, high_w, place)


def _same_windows(first: Series, second: Series) -> bool:
    """Return whether two series are of one host, and their samples of the same windows."""
    return (
        first.channel.host == second.channel.host
        and np.array_equal(first.t_s, second.t_s)
        and np.array_equal(first.duration_s, second.duration_s)
    )


def unchecked(record: Record, series: Sequence[Series]) -> frozenset[str]:
    """Name the hosts whose modelled watts can't be computed again."""
    counted = {s.channel.host for s in series if s.channel.meter == COUNTERS and s.channel.quantity == "cpu"}
    known_hosts = (
        {host.name for host in record.hosts if host.cpu_capacity_cores} if record.hardware else set[str]()
    )
    return frozenset(s.channel.host for s in modelled(series) if s.channel.host) - (counted & known_hosts)


def modelled(series: Sequence[Series]) -> list[Series]:
    """Return the series of the model."""
    return [s for s in series if s.channel.meter == METER and s.channel.grade == "modelled"]


def component(series: Series) -> Component:
    """Return the component of a series of the model."""
    return series.channel.component  # pyright: ignore[reportReturnType]  # the model's own channels have no others


def work_ends(
    of: Series, cpu: Series | None, counters: Mapping[tuple[str, str], Series], host: HostFact
) -> tuple[tuple[Floats, Floats, Floats], tuple[Floats, Floats, Floats]]:
    """Return the least and the most work of each window: CPU seconds, bytes read, bytes written."""
    began_s, ended_s = of.t_s - of.duration_s, of.t_s
    if cpu is None:
        least, most = np.zeros(len(ended_s)), np.full(len(ended_s), MOST)
        return (least, least, least), (most, most, most)
    growths = [_growth(cpu, began_s, ended_s)]
    for quantity in ("disk_read", "disk_written"):
        counter = counters.get((host.name, quantity))
        none = np.zeros(len(ended_s))
        growths.append((none, none) if counter is None else _growth(counter, began_s, ended_s))
    (a, b, c), (d, e, f) = zip(*growths, strict=True)
    return (a, b, c), (d, e, f)


def _growth(counter: Series, began_s: Floats, ended_s: Floats) -> tuple[Floats, Floats]:
    """Return by how much a counter grew in each window: at least, at most."""
    before, after = (_readings(counter, moments_s) for moments_s in (began_s, ended_s))
    if (np.diff(counter.value) < 0).any():  # its host restarted
        return np.zeros(len(ended_s)), np.full(len(ended_s), MOST)
    with np.errstate(invalid="ignore"):  # the least of a window before all readings is not known
        return np.fmax(after[0] - before[1], 0.0), np.fmin(after[1] - before[0], MOST)


def _readings(counter: Series, moments_s: Floats) -> tuple[Floats, Floats]:
    """Return the last reading up to each moment, and the first from it on; -inf and inf without one."""
    last = np.searchsorted(counter.t_s, moments_s + SAME_S, side="right")
    first = np.searchsorted(counter.t_s, moments_s - SAME_S, side="left")
    return np.concatenate(([-np.inf], counter.value))[last], np.concatenate((counter.value, [np.inf]))[first]


def _within(of: Series, low_w: Floats, high_w: Floats, place: str) -> str:
    room_w = MOST_RATIO * np.abs(of.value) + RATIO
    wrong = ~((of.value >= low_w - room_w) & (of.value <= high_w + room_w))
    if not wrong.any():
        return ""
    n = int(np.argmax(wrong))
    counted = " to ".join(dict.fromkeys(repr(float(ends[n])) for ends in (low_w, high_w)))
    return (
        f"{place}: {of.channel.name}, sample {n + 1} is {float(of.value[n])!r} W and recomputed from "
        f"counters {counted} W"
    )
