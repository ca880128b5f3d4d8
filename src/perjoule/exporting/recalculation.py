"""Watts that were modelled, modelled again with the coefficients that the catalogue has today.

What was measured stays: counters, loads, times. The work of a sample's window is read from the counters;
where no reading was kept at both its ends, it is that from which the watts were modelled, which rise with
it. Only watts may have changed: hosts were emulated at the speeds in the record, and would have
done other work at others.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose

import numpy as np
from numpy.typing import NDArray

from perjoule import catalogue
from perjoule.catalogue import watts
from perjoule.catalogue.coefficients import coefficients
from perjoule.catalogue.watts import Component
from perjoule.model import HostFact, Record, Series
from perjoule.model.errors import CampaignError
from perjoule.model.hardware import Cluster, Node, Value
from perjoule.results.modelled_watts import COUNTERS, component, modelled, work_ends
from perjoule.trial.reading import Reading

Floats = NDArray[np.float64]
MOST_RATIO = 0.5  # of samples whose work is not between two readings: more would not be watts of counters
MEASURE = "measure it again: `perjoule run` with its campaign.toml"


@dataclass(frozen=True)
class Recalculated:
    """All series of an attempt, its modelled ones anew, and how many of these samples there are."""

    series: tuple[Series, ...]
    hardware: Cluster  # the catalogue's of today
    changed: bool  # whether it is another than that of the record, in value or uncertainty
    samples_count: int
    between_count: int  # samples whose work the counters only bound


def recalculated(record: Record, series: Sequence[Series], place: str) -> Recalculated | None:
    """Model the watts of an attempt again; None if it has no modelled watts.

    Args:
        record: with the hardware of which its watts were modelled.
        series: all of the attempt.
        place: of the attempt, for errors.

    Raises:
        CampaignError: the catalogue has another machine by that name or none, or counters are missing.
    """
    powers = modelled(series)
    if not powers:
        return None
    former = record.hardware
    if former is None or former.name not in catalogue.choices():
        name = former.name if former else record.cluster
        raise CampaignError(
            f'the catalogue has no cluster "{name}" of which these watts could be modelled', where=place
        )
    today = replace(catalogue.cluster(former.name), notes=())  # as records have it
    if differences := tuple(_other_machine(former, today)):
        message = f"{former.name} is another machine in the catalogue today: {'; '.join(differences)}"
        raise CampaignError(f"{message}. Its hosts worked at the former speed", where=place, next=MEASURE)
    hosts = {host.name: host for host in record.hosts}
    counters = {(s.channel.host, s.channel.quantity): s for s in series if s.channel.meter == COUNTERS}
    scale = Reading(record).dilation.emulated(1.0)
    anew: dict[int, Series] = {}
    between_count = 0
    for name in dict.fromkeys(power.channel.host for power in powers):
        parts: dict[Component, Series] = {
            component(power): power for power in powers if power.channel.host == name
        }
        values_w: Mapping[Component, Floats]
        if name:
            values_w, between = _host_w(hosts.get(name), parts, counters, former, today, scale, place)
            between_count += int(between.sum()) * len(parts)
        else:
            values_w = {
                part: np.full(len(power.value), today.switch_w.value) for part, power in parts.items()
            }
        anew |= {id(power): replace(power, value=values_w[part]) for part, power in parts.items()}
    samples_count = sum(len(power.value) for power in powers)
    if between_count > MOST_RATIO * samples_count:
        message = (
            f"{between_count} of {samples_count} modelled samples lie between readings of counters, more "
            "than half"
        )
        raise CampaignError(message, where=place, next=MEASURE)
    return Recalculated(
        tuple(anew.get(id(s), s) for s in series),
        today,
        _otherwise(former, today),
        samples_count,
        between_count,
    )


def _otherwise(former: Cluster, today: Cluster) -> bool:
    """Whether any coefficient has another value or uncertainty, beyond what writing it down may change; what
    only one of them states, as older records no ends beside a sigma, moves nothing.
    """
    before, after = (
        {name: _numbers(value) for name, value in coefficients(of).items()} for of in (former, today)
    )
    return before.keys() != after.keys() or any(
        not isclose(before[name][key], after[name][key])
        for name in before
        for key in before[name].keys() & after[name].keys()
    )


def _numbers(value: Value) -> Mapping[str, float]:
    numbers = {
        "value": value.value,
        "sigma": value.sigma,
        "low": value.low,
        "high": value.high,
        **value.follows,
    }
    return {key: number for key, number in numbers.items() if number is not None}


def _host_w(
    host: HostFact | None,
    parts: Mapping[Component, Series],
    counters: Mapping[tuple[str, str], Series],
    former: Cluster,
    today: Cluster,
    scale: float,
    place: str,
) -> tuple[Mapping[Component, Floats], NDArray[np.bool_]]:
    """Return a host's watts of today by component, and which of its samples lie between readings."""
    board = parts["board"]
    name = board.channel.host
    cpu = counters.get((name, "cpu"))
    node = next((node for node in former.nodes if host and node.name == host.node), None)
    if host is None or node is None or not host.cpu_capacity_cores or cpu is None:
        message = (
            f"counters or the CPU capacity of {name} were not kept, so its watts can't be modelled again"
        )
        raise CampaignError(message, where=place, next=MEASURE)
    if any(not np.array_equal(power.t_s, board.t_s) for power in parts.values()):
        raise CampaignError(
            f"the parts of {name} were not modelled at the same moments", where=place, next=MEASURE
        )
    least, most = work_ends(board, cpu, counters, host)
    between = ~np.all([low == high for low, high in zip(least, most, strict=True)], axis=0)
    used: Mapping[Component, Floats] = watts.use_ratios(
        node, *least, board.duration_s, capacity_cores=host.cpu_capacity_cores, scale=scale
    )
    if between.any():
        former_use: dict[Component, Floats] = {
            part: _use_ratio(node, part, parts[part].value, place) for part in used
        }
        used = {part: np.where(between, former_use[part], ratio) for part, ratio in used.items()}
    node_today = next(node_of for node_of in today.nodes if node_of.name == node.name)
    return watts.host_w(node_today, today, used, supplied="supply" in parts), between


def _use_ratio(node: Node, part: Component, value_w: Floats, place: str) -> Floats:
    """Return the use of which watts were modelled."""
    nothing, all_of_it = np.zeros(1), np.ones(1)
    idle_w, full_w = (
        watts.board_w(node.board, use) if part == "board" else watts.disks_w(node.disks, use)
        for use in (nothing, all_of_it)
    )
    if not full_w[0] > idle_w[0]:
        raise CampaignError(
            f"the {part} of {node.name} had the same watts at any load", where=place, next=MEASURE
        )
    if part == "board":
        return watts.board_use_ratio(node.board, value_w)
    return watts.disks_use_ratio(node.disks, value_w)


def _other_machine(former: Cluster, today: Cluster) -> Iterator[str]:
    """Say in what else than watts two clusters differ."""
    former_speeds, speeds = _speeds(former), _speeds(today)
    for name in dict.fromkeys((*former_speeds, *speeds)):
        before, after = former_speeds.get(name, "absent"), speeds.get(name, "absent")
        alike = (
            isclose(before, after)
            if isinstance(before, float) and isinstance(after, float)
            else before == after
        )
        if not alike:
            yield f"{name} {before}, now {after}"


def _speeds(cluster: Cluster) -> Mapping[str, float | str]:
    """Return what hosts are emulated by, by name."""
    values: dict[str, float | str] = {}
    for node in cluster.nodes:
        board = node.board
        values |= {
            f"role of {node.name}": node.role,
            f"count of {node.name}": node.count,
            f"board of {node.name}": board.name,
        }
        values |= {f"cores of {board.name}": board.cores_count, f"rating of {board.name}": board.mips.value}
        values |= {f"network of {board.name} in B/s": board.nic_bytes_per_s.value}
        values |= {f"disks of {node.name}": ", ".join(disk.name for disk in node.disks)}
        for disk in node.disks:
            values[f"reads of {disk.name} behind {board.name} in B/s"] = disk.read_bytes_per_s.value
            values[f"writes of {disk.name} behind {board.name} in B/s"] = disk.write_bytes_per_s.value
    return values
