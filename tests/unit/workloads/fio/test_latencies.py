"""fio's histograms of latencies over time: what a log says is what strace saw, and a log that can't be
right says nothing.
"""

import json
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from oracle.latencies import logged
from perjoule.model import ClientResult, Series
from perjoule.workloads.fio import latencies
from perjoule.workloads.fio.raw import Raw
from places import TRANSCRIPTS, transcript

LATE = TRANSCRIPTS / "fio" / "late"
LOG = transcript("fio", "late", "late_clat_hist.1.log")
MOVED = ClientResult("late", "write", 1795714676.3, 1795714681.3, 500 * 65536, 500)
MOVED_EARLY = ClientResult("client-1", "write", 1000.0, 1003.0, 500 * 65536, 500)
BINS_COUNT = 928


def parsed(log: str = LOG, moved: ClientResult = MOVED) -> tuple[Series, ...]:
    found = latencies.latencies(log, (moved,), 0.0)
    assert found is not None
    return found


def line(ms: int, direction: int, **counts: int) -> str:
    """A line of a log, with the counts of some bins."""
    return (
        ", ".join(map(str, [ms, direction, 65536, *(counts.get(f"bin_{n}", 0) for n in range(BINS_COUNT))]))
        + "\n"
    )


def test_a_log_counts_what_strace_saw_of_the_same_fio() -> None:
    """Calls 150 to 180 were held for 60 ms each.

    What passes between a call and fio's look at its clock, strace does not see.
    """
    ends_s, took_s = np.loadtxt(LATE / "late.strace").T
    latency, calls = parsed()
    windows_s = np.unique(latency.t_s)
    assert len(windows_s) == len(LOG.splitlines())
    for from_s, to_s in pairwise(windows_s):
        own = latency.t_s == to_s
        seen_s = np.sort(took_s[(ends_s > from_s) & (ends_s <= to_s)])
        assert calls.value[own].sum() == pytest.approx(len(seen_s), abs=1)  # a log has whole milliseconds
        logged_s = np.repeat(latency.value[own], calls.value[own].astype(int))
        assert (logged_s > 0.05).sum() == pytest.approx((seen_s > 0.05).sum(), abs=1)
        assert np.quantile(logged_s, 0.5) == pytest.approx(np.quantile(seen_s, 0.5), rel=0.1, abs=2e-4)
    late = calls.value[latency.value > 0.05]
    assert 20 < late.sum() <= (took_s > 0.05).sum() == 31


def test_bins_are_those_of_fio_s_own_percentiles() -> None:
    """fio makes its percentiles of the same counts, with two bins for each of ours."""
    middle_s = latencies.bins_s()
    assert len(middle_s) == BINS_COUNT
    assert (middle_s[10], middle_s[158]) == (21e-9, 1000e-9)  # [20, 22) ns; [992, 1008) ns
    assert middle_s[-2:].tolist() == [125 * 2**27 / 1e9, np.inf]  # 16.8 s; and all from 16.9 s on
    found = json.loads((LATE / "late.json").read_text())["jobs"][0]["write"]["clat_ns"]["percentile"]
    for ns in found.values():
        assert np.abs(middle_s[:-1] / (ns / 1e9) - 1).min() <= 1 / 64


def test_series_have_the_load_s_direction_and_windows_from_its_start_on() -> None:
    log = (
        line(1_000_500, 1, bin_158=3, bin_200=1)
        + line(1_000_500, 0, bin_10=2)
        + line(1_002_500, 1, bin_927=1)
    )
    moved = [ClientResult("client-1", way, 1000.1, 1003.0, 65536, 6) for way in ("write", "read")]
    found = latencies.latencies(log, moved, 5.0 - 0.1)
    assert found is not None
    assert [(s.channel.component, s.channel.quantity, s.channel.unit) for s in found] == [
        (way, *what) for way in ("write", "read") for what in (("latency", "s"), ("calls", "1"))
    ]
    latency, calls = found[:2]
    assert latency.t_s.tolist() == calls.t_s.tolist() == pytest.approx([1005.4, 1005.4, 1007.4])
    assert latency.duration_s.tolist() == pytest.approx([5.3, 5.3, 2.0])
    assert calls.value.tolist() == [3, 1, 1]
    assert latency.value[[0, 2]].tolist() == [1000e-9, np.inf]


def test_a_log_that_cannot_be_right_is_none() -> None:
    few = ClientResult("late", "write", MOVED.began_s, MOVED.ended_s, 400 * 65536, 400)
    assert latencies.latencies(LOG, (few,), 0.0) is None
    assert latencies.latencies(LOG.replace(", 0\n", "\n", 1), (MOVED,), 0.0) is None
    assert latencies.latencies("", (MOVED,), 0.0) == ()
    for odd in ("nan", "-1", "inf"):
        assert (
            latencies.latencies(line(1_000_500, 1, bin_158=3).replace(" 3,", f" {odd},"), (MOVED_EARLY,), 0.0)
            is None
        )
    assert (
        latencies.latencies(
            line(1_000_500, 1, bin_158=3) + line(1_000_400, 1, bin_158=1), (MOVED_EARLY,), 0.0
        )
        is None
    )
    assert latencies.latencies(line(999_900, 1, bin_158=3), (MOVED_EARLY,), 0.0) is None


def raw(folder: Path) -> Path:
    """A raw folder of the same fio, whose clock is 1000 s behind ours."""
    shutil.copytree(LATE, folder, ignore=shutil.ignore_patterns("*.strace"))
    clocks = [{"monotonic_s": 676.0, "utc_s": 1795714676.0}] * 2
    (folder / "run.json").write_text(
        json.dumps({"clients": ["late"], "clocks": clocks, "ahead_s": {"late": [-1000.0, -1000.0]}})
    )
    (folder / "prepared.json").write_text(json.dumps({"doubts": []}))
    return folder


def test_an_outcome_has_the_latencies_on_the_clock_of_its_results(tmp_path: Path) -> None:
    folder = raw(tmp_path / "raw")
    outcome = Raw(folder).whole()
    assert outcome.doubts == ()
    goodput, latency, calls = outcome.series
    assert [one.channel.quantity for one in outcome.series] == ["goodput", "latency", "calls"]
    (moved,) = outcome.results
    assert moved.began_s < latency.t_s.min() and calls.t_s.max() <= moved.ended_s == goodput.t_s[-1]
    assert moved.ended_s - latency.t_s.max() < 0.7
    again = logged(folder / "late_clat_hist.1.log", "late", "write")  # a second calculation
    assert np.array_equal(again["calls"], calls.value)
    for name, one in (("t_s", latency.t_s), ("latency_s", latency.value)):
        assert again[name].to_numpy(np.float64) == pytest.approx(one, rel=1e-12)
    path = folder / "late_clat_hist.1.log"
    path.write_text(path.read_text() * 2)
    again = Raw(folder).whole()
    assert [one.channel.quantity for one in again.series] == ["goodput"]
    assert again.doubts == ("late: fio's log of latencies contradicts its report",)
    path.unlink()  # as in older folders
    assert Raw(folder).whole().doubts == ()


def test_loads_that_events_can_hit_log_their_latencies_and_hold_few_lines_in_memory() -> None:
    assert latencies.asked("client-1", 60.0)[:2] == ("write_hist_log=client-1", "log_hist_msec=500")
    assert "log_hist_msec=3600" in latencies.asked("client-1", 3600.0)
