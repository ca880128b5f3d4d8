"""How many low-power machines replace one server at the same throughput, and their relative power, with
intervals.

Per workload, from unpaired repetitions: n = T_server / T_low machines, and their power over the server's, n
P_low / P_server = (T/P)_server / (T/P)_low, the ratio of both's bytes per joule. Both are ratios of geometric
means with an interval on logarithms by Welch, so throughput and power of one repetition, which vary together,
count together. The question is that of Pavan et al., Energy Consumption and Performance Analysis Between SSD
and HDD, section 4.

Whole machines beyond the needed fraction are taken to draw their power at full load: an upper bound. The number
of whole ones is uncertain, too: their power reaches from that of the fewest to that of the most which the
interval of machines allows. Power of different grades is not compared; the number of machines is known
nevertheless.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from statistics import fmean

from perjoule.model import Cell, Interval, Record, Replacement
from perjoule.model.metrics import PER_JOULE, POWER, RATES
from perjoule.statistics.better import refusal, sample
from perjoule.statistics.cells import filesystem_names
from perjoule.statistics.contrast import contrast

WORK = tuple(zip(RATES, PER_JOULE, strict=True))


def machine(record: Record) -> str:
    """Return the measured machine's name, if it is a single one: its node in the catalogue, or else its
    processor.

    "" for a storage cluster with servers of its own.
    """
    if not record.hosts or any(host.role != "client" for host in record.hosts):
        return ""
    nodes = sorted({host.node for host in record.hosts if host.node})
    return ", ".join(nodes) or str(
        record.environment.get("cpu_model") or record.environment.get("machine") or ""
    )


def machines(records: Sequence[Record], cells: Sequence[Cell]) -> tuple[tuple[str, Cell], ...]:
    """Add the machine to each cell that was measured on a single one."""
    machine_of = {name: machine(record) for record in records for name in filesystem_names(record.trial)}
    return tuple((name, cell) for cell in cells if (name := machine_of.get(cell.filesystem, "")))


def replacements(measured: Sequence[tuple[str, Cell]]) -> tuple[Replacement, ...]:
    """Compare every machine with each that draws less on average, for the workloads that both ran.

    Args:
        measured: machines by name, with their cells; those without throughput, power or energy are left out.
    """
    comparable = [(name, cell, keys) for name, cell in measured for keys in WORK if _tells(cell, keys)]
    watts: dict[str, list[float]] = {}
    for name, cell, _ in comparable:
        watts.setdefault(name, []).append(cell.metrics[POWER].mean)
    strongest_first = sorted(watts, key=lambda name: -fmean(watts[name]))
    comparisons: list[Replacement] = []
    for server, low_power in combinations(strongest_first, 2):
        sides = (
            [(cell, keys) for name, cell, keys in comparable if name == side] for side in (server, low_power)
        )
        for (server_cell, keys), (low_power_cell, same) in product(*sides):
            if keys == same and _load(server_cell) == _load(low_power_cell):
                comparisons.append(_replacement(server_cell, low_power_cell, keys))
    return tuple(sorted(comparisons, key=lambda r: (r.server, r.low_power, r.direction, r.workload)))


def _load(cell: Cell) -> tuple[str, str, int]:
    return cell.workload, cell.direction, cell.clients_count


def _tells(cell: Cell, keys: tuple[str, str]) -> bool:
    intervals = [cell.metrics.get(key) for key in (*keys, POWER)]
    return all(interval is not None and min(interval.values) > 0 for interval in intervals)


def _replacement(server: Cell, low_power: Cell, keys: tuple[str, str]) -> Replacement:
    work, per_j = keys

    def ratio(key: str, of: Cell, over: Cell) -> Interval:
        return contrast([(1, sample(of, key)), (-1, sample(over, key))]).ratio

    refused = refusal([server, low_power], per_j)
    replacement = Replacement(
        server=server.filesystem,
        low_power=low_power.filesystem,
        workload=server.workload,
        direction=server.direction,
        machines_ratio=ratio(work, server, low_power),
        power_ratio=None if refused else ratio(per_j, server, low_power),
        whole_power_ratio=None,
        refused=refused,
    )
    each = None if refused else ratio(POWER, low_power, server)
    return replace(replacement, whole_power_ratio=_of_whole(each, replacement)) if each else replacement


def _of_whole(each: Interval, replacement: Replacement) -> Interval:
    """Return the power of whole machines over the server's, from that of one."""
    fewest, most = replacement.machines_counts
    mean = each.mean * replacement.machines_count
    return Interval(mean, each.low * fewest, each.high * most, (mean,))
