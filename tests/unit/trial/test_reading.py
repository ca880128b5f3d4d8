"""A trial as it is read: its loads, its channels, and emulated time."""

from dataclasses import replace

import numpy as np
import pytest

from perjoule.trial.reading import Dilation, Reading, emulated_scales

WINDOW = (10.0, 20.0)


def of_users(results, *users):
    return tuple(replace(result, user=user) for result, user in zip(results, users, strict=True))


def idle(results):
    """The same, of clients that did nothing."""
    return tuple(replace(result, moved_bytes=0, operations_count=0) for result in results)


def loads(made, *moved, **words):
    found = Reading(made.record(moved=sum(moved, ()), **words)).loads
    return [(direction, tuple(results)) for direction, results in found.items()]


def test_each_direction_is_a_load_and_reads_come_last(made):
    reads, writes = made.results(WINDOW, WINDOW, direction="read"), made.results(WINDOW, WINDOW)
    assert loads(made, reads, writes) == [("write", writes), ("read", reads)]
    assert loads(made, reads) == [("read", reads)]
    assert loads(made, reads, status="failed") == []


def test_a_direction_in_which_nobody_did_anything_is_no_load_unless_it_is_that_of_idle_clients(made):
    reads, writes = made.results(WINDOW, direction="read"), made.results(WINDOW, WINDOW)
    assert loads(made, writes, idle(reads)) == [("write", writes)]
    some = (*idle(writes[:1]), *writes[1:])
    assert loads(made, some) == [("write", some)]
    metadata = tuple(replace(result, moved_bytes=0) for result in writes)
    assert loads(made, metadata) == [("write", metadata)]
    still = idle(made.results(WINDOW, WINDOW, direction="idle"))
    assert loads(made, still) == [("idle", still)]


def test_several_users_are_one_load_together(made):
    writes, reads = made.results(WINDOW, WINDOW), made.results(WINDOW, WINDOW, direction="read")
    users = of_users(writes, "a", "a"), of_users(reads, "b", "b")
    assert loads(made, *users) == [("mixed", (*users[0], *users[1]))]
    assert loads(made, users[0]) == [("write", users[0])]
    assert loads(made, of_users(writes, "a", ""), reads)[0][0] == "mixed"
    # nor is one whose users did nothing
    assert loads(made, idle(users[0])) == []


def test_series_are_found_by_quantity_and_host(made):
    series = [
        made.steady("storage-1", 50.0),
        made.counter("storage-1", "cpu", 0.5),
        made.counter("storage-2", "cpu", 0.25),
        made.counter("storage-2", "disk_read", 8.0),
    ]
    reading = Reading(made.record(), series)
    assert reading.by_host("cpu") == {"storage-1": series[1], "storage-2": series[2]}
    assert reading.by_host("disk_written") == {}
    assert reading.powers == (series[0].channel,)
    assert reading.series_of(series[3].channel) is series[3]
    assert reading.total("cpu", frozenset({"storage-1", "storage-2"}), *WINDOW).value == pytest.approx(7.5)
    assert reading.total("cpu", frozenset({"storage-1", "client-1"}), *WINDOW).value is None
    assert reading.total("disk_written", frozenset({"storage-1"}), *WINDOW).value is None


def test_counters_of_energy_are_channels_of_power_too(made):
    t_s = np.arange(0.0, 30.25, 0.5)
    counted = made.series(made.channel("storage-1", "all", "energy", "counter"), t_s, 50.0 * t_s)
    reading = Reading(made.record(), [counted, made.counter("storage-1", "cpu", 0.5)])
    assert reading.powers == (counted.channel,)


def test_channels_are_added_and_subtracted_with_their_signs(made):
    whole, part = made.steady("storage-1", 50.0), made.steady("storage-1", 15.0, component="disks")
    reading = Reading(made.record(), [whole, part])
    signed = ((1, whole.channel), (-1, part.channel))
    assert reading.signed(signed) == ((1, whole), (-1, part))
    assert reading.drawn_j(signed, *WINDOW) == pytest.approx(350.0)
    assert reading.drawn_j((), *WINDOW) is None
    assert reading.drawn_j(signed, 10.0, 60.0) is None  # which no sample covers


def test_the_load_that_took_longest_chooses_the_channels(made):
    """In the window of the writes nobody metered the servers; of the longest load they are known."""
    writes, reads = made.results((10.0, 12.0)), made.results((12.0, 25.0), direction="read")
    hosts = ("storage-1", "storage-2", "metadata-1")
    of_reads = [made.steady(host, 50.0, began_s=11.5) for host in hosts]
    for moved, drawn_j in (((writes, reads), 150.0 * 13), ((writes,), None)):
        reading = Reading(made.record(moved=sum(moved, ())), of_reads)
        energy = reading.servers(12.0, 25.0)
        assert (energy.net_j and pytest.approx(energy.net_j)) == drawn_j


def test_emulated_time_is_wall_time_by_the_scale():
    fifth = Dilation(0.2)
    assert (fifth.emulated(10.0), fifth.wall(2.0), fifth.text) == (2.0, 10.0, "scale 0.2")
    assert (Dilation().emulated(10.0), Dilation().wall(10.0), Dilation().text) == (10.0, 10.0, "")
    assert fifth.emulated(np.array([5.0, 10.0])) == pytest.approx([1.0, 2.0])


def test_scales_are_those_of_emulated_clusters(made):
    records = [made.record(scale=scale) for scale in (0.5, 1.0, 0.2, 0.5)]
    assert emulated_scales(records) == (0.2, 0.5)
    assert emulated_scales([replace(record, hosts=()) for record in records]) == ()
