"""The output of a muon analysis as an outcome: who read what, where the data lay, and the physics."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perjoule.machine.untrusted import from_json, json_from, json_of, read_as, text_of
from perjoule.model import Channel, ClientResult, Json, Outcome, Series
from perjoule.model.doubts import TIMES, UNLIKE, WORK, Doubt
from perjoule.model.metrics import EVENTS, LOCALITY, NETWORK_LOCALITY, TASKS
from perjoule.workloads._muons import fit as fits
from perjoule.workloads._raw import RunClocks

SHORTEST_S = 0.1
MOST_BINS = 1_000_000
PLACED_RATIO, REMOTE_RATIO = 0.9, 0.1  # this local by placement, yet this much over the network: a doubt
# errors between a peak and its truth, above which it is doubted; chance alone gives one in 16 000
MOST_PULL = 4.0
EV = 1e9  # electronvolts in a GeV


@dataclass(frozen=True)
class Spectrum:
    """The di-muon histogram: N bins with edges in GeV, shape (N + 1,), and counts, shape (N,)."""

    edges_gev: NDArray[np.float64]
    counts: NDArray[np.int64]


def spectrum(folder: Path) -> Spectrum:
    """Read the histogram of a raw folder. Raises OSError, ValueError, LookupError."""
    bins = json_of(folder / "histogram.json")
    if not 0 < bins["bins_count"] <= MOST_BINS or not 0 < bins["low_gev"] < bins["high_gev"]:
        raise ValueError(
            f"a histogram of {bins['bins_count']} bins from {bins['low_gev']} to {bins['high_gev']} GeV is "
            "not valid"
        )
    edges_gev = np.exp(
        np.linspace(math.log(bins["low_gev"]), math.log(bins["high_gev"]), bins["bins_count"] + 1)
    )
    counts = np.asarray(bins["counts"], dtype=np.int64)
    if counts.shape != (bins["bins_count"],):
        raise ValueError(f"the histogram has {len(counts)} bins, not {bins['bins_count']}")
    return Spectrum(edges_gev, counts)


def outcome(folder: Path) -> Outcome:
    """Parse a raw folder. Raises OSError or one of UNEXPECTED."""
    prepared = json_of(folder / "prepared.json")
    tasks: list[dict[str, Any]] = [json_from(line) for line in text_of(folder / "tasks.jsonl").splitlines()]
    each = prepared.get("tasks_per_file", 1)  # folders of version 0.1.0 have one task per file
    files = sorted(prepared["holders"])
    if len(tasks) != each * len(files) or sorted((task["file"], task.get("part", 0)) for task in tasks) != [
        (file, part) for file in files for part in range(each)
    ]:
        raise ValueError(f"{len(tasks)} tasks, not {each} for each of {len(files)} files")
    tasks_of = {
        name: [task for task in tasks if task["worker"] == name]
        for name in sorted({task["worker"] for task in tasks})
    }
    ran, received_bytes = _ran(folder, list(tasks_of))
    own_s = {name: ran.offset_of_s(name) for name in tasks_of}
    results = tuple(result(name, worker_tasks, own_s[name]) for name, worker_tasks in tasks_of.items())
    local = localities(tasks, prepared["holders"], received_bytes)
    measured, doubts = physics(spectrum(folder))
    if local.get(LOCALITY, 0.0) > PLACED_RATIO and local.get(NETWORK_LOCALITY, 1.0) < 1 - REMOTE_RATIO:
        doubts += (UNLIKE.mostly_remote(placed_ratio=local[LOCALITY], local_ratio=local[NETWORK_LOCALITY]),)
    if any(result.ended_s - result.began_s < SHORTEST_S for result in results):
        doubts += (TIMES.short_worker(least_s=SHORTEST_S),)
    return Outcome(
        engine=str(json_of(folder / "histogram.json")["engine"]),
        results=results,
        doubts=(*map(Doubt.read, prepared["doubts"]), *ran.doubts({}), *doubts),
        series=tuple(goodput(name, worker_tasks, own_s[name]) for name, worker_tasks in tasks_of.items()),
        measured={
            TASKS: len(tasks),
            EVENTS: sum(task["events"] for task in tasks),
            **local,
            **measured,
        },
    )


def _ran(folder: Path, workers: list[str]) -> tuple[RunClocks, Mapping[str, int]]:
    """Return the clocks and the received bytes; older folders keep these in run.json, and hosts' clocks
    only before the run.
    """
    run = json_of(folder / "run.json")
    if "received_bytes" not in run:
        return read_as(RunClocks, folder / "run.json"), json_of(folder / "received.json")
    ahead_s: dict[str, Json] = {
        name: [before_s, before_s] for name, before_s in run.get("ahead_s", {}).items()
    }
    return from_json(
        RunClocks, {"clients": list[Json](workers), "clocks": run["clocks"], "ahead_s": ahead_s}
    ), run["received_bytes"]


def result(worker: str, tasks: Sequence[Mapping[str, Any]], offset_s: float) -> ClientResult:
    """Return the result of one worker, from its first task's start to its last one's end; an operation is
    a task.
    """
    began_s, ended_s = min(task["began_utc_s"] for task in tasks), max(task["ended_utc_s"] for task in tasks)
    moved_bytes = sum(task["bytes"] for task in tasks)
    return ClientResult(worker, "read", began_s + offset_s, ended_s + offset_s, moved_bytes, len(tasks))


def goodput(worker: str, tasks: Sequence[Mapping[str, Any]], offset_s: float) -> Series:
    """Return one worker's bytes per second over each window, up to each task's end, like fio's; their sum
    is exact.
    """
    ordered = sorted(tasks, key=lambda task: task["ended_utc_s"])
    ends_s = np.array([task["ended_utc_s"] for task in ordered]) + offset_s
    duration_s = np.diff(ends_s, prepend=min(task["began_utc_s"] for task in tasks) + offset_s)
    channel = Channel("hep", worker, "all", "goodput", "B/s", "window mean", "counter")
    return Series(
        channel, ends_s, duration_s, np.array([float(task["bytes"]) for task in ordered]) / duration_s
    )


def localities(
    tasks: Sequence[Mapping[str, Any]],
    holders: Mapping[str, Sequence[str]],
    received_bytes: Mapping[str, int],
) -> dict[str, float]:
    """Return the share of bytes that were read where they lie, by placement and by network traffic.

    By placement a file is local on every host that holds a part of it, which overstates striped files. By
    network all bytes that the workers' hosts received count as data, including Dask's own messages, which
    understates it. No share by placement if the place of a file is not known.
    """
    read_bytes = sum(task["bytes"] for task in tasks)
    local_bytes = sum(task["bytes"] for task in tasks if task["worker"] in holders[task["file"]])
    ratios = {LOCALITY: local_bytes / read_bytes} if all(holders.values()) else {}
    if {task["worker"] for task in tasks} <= received_bytes.keys():
        ratios[NETWORK_LOCALITY] = max(0.0, 1 - sum(received_bytes.values()) / read_bytes)
    return ratios


def physics(spectrum: Spectrum) -> tuple[dict[str, float], tuple[Doubt, ...]]:
    """Fit the peaks: masses and widths with their standard errors in eV, in whole keV; and their doubts."""
    measured: dict[str, float] = {}
    doubts: list[Doubt] = []
    for name, peak in fits.PEAKS.items():
        try:
            fitted = fits.fit(name, spectrum.edges_gev, spectrum.counts)
        except ValueError as error:
            doubts.append(WORK.no_fit(peak=name, error=str(error)))
            continue
        values = {
            f"{name}_mass_ev": fitted.mass_gev,
            f"{name}_mass_error_ev": fitted.mass_error_gev,
            f"{name}_width_ev": fitted.width_gev,
            f"{name}_width_error_ev": fitted.width_error_gev,
        }
        # another numpy gives other last digits
        measured |= {key: round(value * EV, -3) for key, value in values.items()}
        pull = (fitted.mass_gev - peak.mass_gev) / fitted.mass_error_gev
        if abs(pull) > MOST_PULL:
            doubts.append(WORK.wrong_mass(peak=name, pull=float(pull)))
    return measured, tuple(doubts)
