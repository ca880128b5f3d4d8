"""Counters in a window, by hand: a record loads from 10 to 20 s, its baseline is from 9 to 10 s."""

from dataclasses import replace

import numpy as np
import pytest

from perjoule.model import Phase
from perjoule.trial.counters import disk_gaps_s, edges_error, total, window
from typed import present

STORAGE = frozenset({"storage-1", "storage-2"})


def counted(made, host, t_s, value, quantity="disk_read"):
    return made.series(made.channel(host, "all", quantity, "counter", "counter", "system"), t_s, value)


def test_a_load_is_counted_from_four_tenths_of_a_second_before_it_until_the_tail(made):
    record = made.record(write_back_s=2.0, tail_s=3.0)
    assert window(record, 10.0, 20.0) == (9.6, 25.0)
    assert window(record, 10.0, 19.9) == (9.6, 19.9)
    assert window(record, 10.1, 20.0) == (10.1, 25.0)


def test_no_baseline_no_tail_and_no_more_than_the_baseline(made):
    record = made.record(tail_s=3.0)
    short = tuple(
        replace(phase, began_s=9.8) if phase.name == "baseline" else phase for phase in record.phases
    )
    assert window(replace(record, phases=short), 10.0, 20.0) == (9.8, 23.0)
    assert window(replace(record, phases=(Phase("measure", 10.0, 20.0),)), 10.0, 20.0) == (10.0, 20.0)


def test_beside_a_part_of_a_longer_load_is_load(made):
    record = made.record(tail_s=3.0)
    sustained = replace(record, outcome=replace(record.outcome, sustained=True))
    assert window(sustained, 10.0, 20.0) == (10.0, 20.0)
    assert window(made.record(status="failed"), 10.0, 20.0) == (10.0, 20.0)


def test_a_total_is_of_all_hosts_or_of_none(made):
    both = [made.counter("storage-1", "disk_read", 3.0), made.counter("storage-2", "disk_read", 4.0)]
    beside = [made.counter("client-1", "disk_read", 50.0), made.counter("storage-1", "disk_written", 50.0)]
    assert total([*both, *beside], "disk_read", STORAGE, 10.0, 20.0).value == pytest.approx(70.0)
    assert total([both[0], *beside], "disk_read", STORAGE, 10.0, 20.0) == total([], "cpu", STORAGE, 1.0, 2.0)
    assert total(both, "disk_read", frozenset(), 10.0, 20.0).value is None
    short = made.counter("storage-2", "disk_read", 4.0, ended_s=12.0)
    refused = total([both[0], short], "disk_read", STORAGE, 10.0, 20.0)
    assert refused.value is None
    assert refused.doubts


def test_the_step_that_an_edge_cuts_may_be_of_the_load_or_not(made):
    """Readings at 0, 4, 8, 12 s; a window from 3 to 9 s. Evenly 0 to 4 s: 40 B, 10 within; 8 to 12: 8 B, 2
    within. Up to 30 + 6 more, or 10 + 2 less.
    """
    one = counted(made, "storage-1", [0, 4, 8, 12], [5, 45, 65, 73])
    assert edges_error([one], "disk_read", STORAGE, 3.0, 9.0) == pytest.approx(36.0)
    # 1 to 11 s: 10 + 2 more, 30 + 6 less
    assert edges_error([one], "disk_read", STORAGE, 1.0, 11.0) == pytest.approx(36.0)
    assert edges_error([one], "disk_read", STORAGE, 4.0, 8.0) == 0.0
    assert edges_error([one], "disk_read", STORAGE, 2.0, 8.0) == pytest.approx(20.0)
    assert edges_error([one], "disk_read", STORAGE, 4.0, 11.0) == pytest.approx(6.0)
    # 5 to 7 s, between two readings: 5 B before, 5 B after, and 10 B within
    assert edges_error([one], "disk_read", STORAGE, 5.0, 7.0) == pytest.approx(10.0)
    assert edges_error([one], "disk_read", STORAGE, 4.4, 7.6) == pytest.approx(16.0)
    # no reading is before 0 s
    assert edges_error([one], "disk_read", STORAGE, 0.0, 12.0) == 0.0
    both = [one, counted(made, "storage-2", [0, 4, 8, 12], [5, 45, 65, 73])]
    assert edges_error(both, "disk_read", STORAGE, 3.0, 9.0) == pytest.approx(72.0)
    assert edges_error(both, "disk_read", frozenset({"storage-1"}), 3.0, 9.0) == pytest.approx(36.0)
    assert edges_error(both, "disk_written", STORAGE, 3.0, 9.0) == 0.0


def test_gaps_are_between_accesses_to_a_hosts_disks(made):
    """Read from 2 to 4 s, written from 7 to 8 s, of 0 to 12 s: nothing for 2, 3 and 4 s."""
    t_s = np.arange(13.0)
    read = counted(made, "storage-1", t_s, np.clip(t_s, 2, 4))
    written = counted(made, "storage-1", t_s, np.clip(t_s, 7, 8), "disk_written")
    gaps_s, longest_s = present(disk_gaps_s([read, written], "storage-1", 0.0, 12.0))
    assert (list(gaps_s), longest_s) == ([2.0, 3.0, 4.0], 1.0)
    gaps_s, longest_s = present(disk_gaps_s([read, written], "storage-1", 1.5, 10.2))
    assert (list(gaps_s), longest_s) == ([0.5, 3.0, pytest.approx(2.2)], 1.0)


def test_gaps_of_meters_that_read_at_times_of_their_own(made):
    """Read in the step from 3 to 6 s, written in that from 4 to 8 s: quiet until 3, and after 8 s."""
    read = counted(made, "storage-1", [0, 3, 6, 9, 12], [1, 1, 2, 2, 2])
    written = counted(made, "storage-1", [0, 4, 8, 12], [1, 1, 2, 2], "disk_written")
    gaps_s, longest_s = present(disk_gaps_s([read, written], "storage-1", 0.0, 12.0))
    assert (list(gaps_s), longest_s) == ([3.0, 4.0], 3.0)


def test_disks_without_counters_or_access_or_samples_of_the_window_have_no_gaps(made):
    t_s = np.arange(13.0)
    read = counted(made, "storage-1", t_s, np.clip(t_s, 2, 4))
    never = counted(made, "storage-1", t_s, 0 * t_s, "disk_written")
    assert disk_gaps_s([read], "storage-1", 0.0, 12.0) is None
    assert disk_gaps_s([read, never], "storage-2", 0.0, 12.0) is None
    assert disk_gaps_s([read, never], "storage-1", 0.0, 12.0) is not None
    assert disk_gaps_s([read, never], "storage-1", -0.1, 12.0) is None
    assert disk_gaps_s([read, never], "storage-1", 0.0, 12.1) is None
    unread = counted(made, "storage-1", t_s, 0 * t_s)
    assert disk_gaps_s([unread, never], "storage-1", 0.0, 12.0) is None
