"""The power of a benchmark in all, against sums by hand: pools are made from 5 s on, the load runs from 10 s to
20 s, and the last pool is gone at 25 s.
"""

from dataclasses import replace

import numpy as np
import pytest

from perjoule.measures.points import points
from perjoule.model import Phase
from perjoule.model.metrics import POOLS

SERVERS = ("storage-1", "storage-2", "metadata-1")
KEYS = [
    f"{boundary}whole{which}_w"
    for boundary in ("", "controller_", "device_")
    for which in ("", "_lowest", "_highest")
]


def stepped(made, host, component, grade, *, idle_w, loaded_w, peak_w=None):
    """Window means of half a second: idle, loaded from 10 s to 20 s, and a peak in the half second to 7 s."""
    t_s = np.arange(0.5, 30.25, 0.5)
    watts = np.where((t_s > 10.0) & (t_s <= 20.0), loaded_w, idle_w)
    if peak_w is not None:
        watts = np.where(t_s == 7.0, peak_w, watts)
    return made.series(made.channel(host, component, semantics="window mean", grade=grade), t_s, watts, 0.5)


def benchmark(made, **record):
    """A record whose load is a part of its measured window; with pools, if the workload says so."""
    record = made.record(**record)
    phases = tuple(Phase("measure", 5.0, 25.0) if p.name == "measure" else p for p in record.phases)
    outcome = replace(record.outcome, measured={POOLS: 2.0})
    return replace(record, phases=phases, outcome=outcome)


def watts(made, grade="wall"):
    boards = [stepped(made, host, "board", grade, idle_w=2.0, loaded_w=3.0, peak_w=4.0) for host in SERVERS]
    disks = [stepped(made, host, "disks", grade, idle_w=8.0, loaded_w=10.0) for host in SERVERS]
    return [*boards, *disks]


def test_all_of_a_benchmark_counts_in_all_and_in_parts(made):
    (point,) = points(benchmark(made), watts(made))
    boards_w = 3 * (2.0 * 9.5 + 4.0 * 0.5 + 3.0 * 10.0) / 20.0
    disks_w = 3 * (8.0 * 10.0 + 10.0 * 10.0) / 20.0
    expected = {
        "whole_w": boards_w + disks_w,
        "whole_lowest_w": 30.0,
        "whole_highest_w": 39.0,
        "controller_whole_w": boards_w,
        "controller_whole_lowest_w": 6.0,
        "controller_whole_highest_w": 12.0,
        "device_whole_w": disks_w,
        "device_whole_lowest_w": 24.0,
        "device_whole_highest_w": 30.0,
    }
    found = {key: point.metrics[key] for key in KEYS}
    assert found == pytest.approx(expected)
    assert point.metrics["mean_w"] == pytest.approx(39.0)  # of the load alone


def test_power_of_an_emulated_cluster_is_not_scaled(made):
    (point,) = points(benchmark(made, scale=0.1), watts(made, "modelled"))
    (full,) = points(benchmark(made), watts(made, "modelled"))
    assert {key: point.metrics[key] for key in KEYS} == {key: full.metrics[key] for key in KEYS}


def test_a_load_alone_has_none_and_one_of_two_loads_has_all(made):
    (alone,) = points(made.record(), watts(made))
    assert not [key for key in alone.metrics if "whole" in key]
    write = made.results((10.0, 14.0), (10.0, 14.0))
    read = made.results((16.0, 20.0), (16.0, 20.0), direction="read")
    both = points(benchmark(made, moved=(*write, *read)), watts(made))
    assert {point.direction: "whole_w" in point.metrics for point in both} == {"write": True, "read": False}


def test_what_a_cut_sample_beside_idle_time_has_beyond_idle_power_was_inside(made):
    """Means of 2 s: that up to 6 s has 1 s of 10 W before the benchmark and 1 s of 40 W in it, the last one 1 s
    of 20 W and 1 s of 10 W.
    """
    t_s = np.arange(-8.0, 40.5, 2.0)
    mean_w = np.select([t_s == 6.0, t_s == 26.0, (t_s > 6.0) & (t_s < 26.0)], [25.0, 15.0, 20.0], 10.0)
    power = [made.series(made.channel(host, semantics="window mean"), t_s, mean_w, 2.0) for host in SERVERS]
    record = benchmark(made)
    idle_before = tuple(Phase("baseline", -3.0, 5.0) if p.name == "baseline" else p for p in record.phases)
    (point,) = points(replace(record, phases=idle_before), power)
    assert point.metrics["whole_w"] == pytest.approx(3 * (40.0 * 1 + 20.0 * 19) / 20)
