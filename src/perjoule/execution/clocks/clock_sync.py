"""Clock alignment: a load that all hosts switch on and off at known times, before and after the trials.

The load is `dd` from /dev/zero to /dev/null, one per core, which every host has; it writes nothing. The
campaign's meters are recorded meanwhile. A recorder elsewhere (`perjoule meters record`) sees the same load,
by which it is joined.
"""

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from perjoule.drivers import together
from perjoule.drivers.protocols import Host, Hosts, Meter, Process
from perjoule.energy.alignment import QUIET_S, Drift, drift, offset, pattern
from perjoule.model import Clock, Series
from perjoule.store import Results
from perjoule.store.patterns import LoadPattern, keep_pattern, new_pattern, read_patterns
from perjoule.store.recordings import ClockError

BURN = ("dd", "if=/dev/zero", "of=/dev/null", "bs=64K")


def align(
    hosts: Hosts, meters: Sequence[Meter], results: Results, duration_s: float, seed: int
) -> LoadPattern:
    """Run a load pattern on the servers (on all hosts if there are none), record the meters, and keep
    both.
    """
    loaded = hosts.servers or hosts.all
    with results.place() as place, new_pattern(place) as (folder, sink):
        with together.recording(meters, hosts, sink):
            time.sleep(QUIET_S)
            edges_s = drive(loaded, pattern(duration_s, seed), folder.through)
            time.sleep(QUIET_S)
        load_pattern = LoadPattern(
            Clock(time.monotonic(), time.time()), edges_s, tuple(host.name for host in loaded)
        )
        keep_pattern(folder, sink, load_pattern)
    return load_pattern


def drive(hosts: Sequence[Host], planned_s: Sequence[float], folder: Path) -> tuple[float, ...]:
    """Switch the load of hosts on and off; return the times, halfway between the first host and the last."""
    burning: list[Process] = []
    edges_s: list[float] = []
    began_s = time.monotonic()
    with ThreadPoolExecutor(16) as pool, ExitStack() as stack:
        stack.callback(lambda: list(pool.map(_stop, burning)))
        for number, planned in enumerate(planned_s):
            time.sleep(max(0.0, began_s + planned - time.monotonic()))
            before_s = time.monotonic()
            if number % 2 == 0:
                burning[:] = [
                    process for ones in pool.map(partial(_burn, folder=folder), hosts) for process in ones
                ]
            else:
                list(pool.map(_stop, burning))
            edges_s.append((before_s + time.monotonic()) / 2)
    return tuple(edges_s)


def _burn(host: Host, folder: Path) -> list[Process]:
    cores_count = max(1, round(host.cpu_capacity_cores or os.cpu_count() or 1))
    return [host.spawn(BURN, log=folder / f"{host.name}.log") for _ in range(cores_count)]


def _stop(process: Process) -> None:
    process.stop(timeout_s=1.0)


def clock_of(recording: Sequence[Series], results: Results) -> ClockError | None:
    """Find the offset of a recorder's clock from the patterns of a results folder; None if it shows none.

    Of several channels, the one with the least uncertain offset counts. A pattern at either end gives the
    drift.
    """
    patterns = [load for load, _ in read_patterns(results.folder)]
    drifts: list[Drift] = []
    for series in recording:
        offsets = [
            clock_offset
            for load in patterns
            if (clock_offset := offset(series, load.edges_utc_s)) is not None
        ]
        if offsets:
            drifts.append(drift(offsets[0], offsets[-1]))
    if not drifts:
        return None
    best = min(drifts, key=lambda estimate: estimate.uncertainty_s)
    return ClockError(best.offset_s, best.uncertainty_s, best.drift_ratio, best.at_s + best.offset_s)
