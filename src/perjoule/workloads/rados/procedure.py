"""A whole benchmark in one window, as in "Benchmark of a Cubieboard cluster": pools are made one by one, all
clients write and then read, and pools are deleted one by one.

    M. J. Schnepf et al., J. Phys.: Conf. Ser. 664 (2015) 052032, section 3.1

Its loads keep their raw output in folders of their own. Energies of the whole are `measures/whole.py`'s.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from perjoule.drivers.protocols import Host, MakesPools, Mounted, Workload, able
from perjoule.model import Outcome, Series
from perjoule.model.metrics import POOLS
from perjoule.workloads._raw import keep_doubts
from perjoule.workloads._running import cold


def prepare(clients: Sequence[Host], mounted: Mounted) -> None:
    """Delete the pools of all clients, also of those without a load. Raises WorkloadError."""
    pools = able(mounted, MakesPools)
    for name in mounted.pools:
        pools.delete_pool(name)


def run(
    loads: Mapping[str, Workload],
    clients: Sequence[Host],
    mounted: Mounted,
    folder: Path,
    *,
    made_apart_s: float,
    deleted_apart_s: float,
) -> None:
    """Make the pools, run the loads one after the other, each with cold caches, and delete the pools.

    Args:
        loads: by the name of their folder.
        clients: those that load.
        mounted: a store that makes pools.
        folder: for raw output.
        made_apart_s: from the start of a pool's creation to that of the next one's, at least.
        deleted_apart_s: the same of deletions.

    Raises:
        WorkloadError, TransientError: as the loads, or the store refused.
    """
    pools = able(mounted, MakesPools)
    _apart(pools.make_pool, clients, made_apart_s)
    for name, load in loads.items():
        room = folder / name
        room.mkdir()
        keep_doubts(room, cold(clients, mounted))
        load.run(clients, mounted, room)
    _apart(pools.delete_pool, clients, deleted_apart_s)


def _apart(each_pool: Callable[[str], None], clients: Sequence[Host], apart_s: float) -> None:
    next_s = time.monotonic()
    for client in clients:
        time.sleep(max(0.0, next_s - time.monotonic()))
        next_s = time.monotonic() + apart_s
        each_pool(client.name)


def outcome(loads: Mapping[str, Workload], folder: Path) -> Outcome:
    """Return what all loads moved. Raises WorkloadError."""
    parts = [load.outcome(folder / name) for name, load in loads.items()]
    results = tuple(result for part in parts for result in part.results)
    return Outcome(
        parts[0].engine,
        results,
        tuple(dict.fromkeys(doubt for part in parts for doubt in part.doubts)),
        Series.joined(series for part in parts for series in part.series),
        {POOLS: float(len({result.host for result in results}))},
    )
