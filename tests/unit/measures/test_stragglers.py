"""Data hosts slower than the others, by the definition in docs/explanations/how-numbers-are-made.md,
recomputed by hand.

Three storage hosts, a window from 10 s to 20 s, readings every 0.5 s.
"""

from dataclasses import replace
from statistics import median

import numpy as np
import pytest

from perjoule.measures.plausibility import doubts
from perjoule.measures.stragglers import medians_of_others, work
from perjoule.model import HostFact
from perjoule.trial.reading import Reading

STORAGE = ("storage-1", "storage-2", "storage-3")
SLOW = "storage-2"
CHECK = "): check its disks, CPU and network"


def grown(made, host, quantity, *pieces):
    """A counter that grows by (from, until, amount), evenly, between which it stands still."""
    t_s = np.arange(0, 40.5, 0.5)
    value = 7.0 + sum(
        amount * np.clip((t_s - began_s) / (ended_s - began_s), 0, 1) for began_s, ended_s, amount in pieces
    )
    return made.series(made.channel(host, "all", quantity, "counter", "counter", "system"), t_s, value)


def trial(made, direction="read", *, ended_s=20.0, moved_bytes=1000, **changes):
    """Two clients from 10 s on, on three storage hosts with a core each."""
    hosts = tuple(HostFact(name, "storage", "", cpu_capacity_cores=1.0) for name in STORAGE)
    clients = tuple(h for h in made.record().hosts if h.role == "client")
    moved = made.results((10.0, ended_s), (10.0, ended_s), direction=direction, moved_bytes=moved_bytes)
    return replace(
        made.record(moved=moved), **({"hosts": (*hosts, *clients), "data_hosts": STORAGE} | changes)
    )


def named(record, series):
    return [doubt for doubt in doubts(Reading(record, series)) if "slower than the other" in doubt]


def reads(made, own, other, quantity="disk_read"):
    """What a slow host moved, and two others."""
    return [grown(made, name, quantity, *(own if name == SLOW else other)) for name in STORAGE]


def test_the_work_of_a_host_is_the_least_time_for_nine_tenths_of_its_bytes(made):
    """100 B in 1 s, nothing for 4 s, 50 B in 5 s: 135 B take 1 s and 35 B at 10 B/s. More before and after."""
    pieces = (0, 10, 900), (10, 11, 100), (15, 20, 50), (20, 40, 9000)
    found = work(grown(made, SLOW, "disk_read", *pieces), 10.0, 20.0)
    assert found is not None
    assert (found.moved_bytes, found.took_s) == pytest.approx((150, 1 + 3.5))


def test_work_is_that_of_the_window_and_unknown_where_samples_lack(made):
    counter = grown(made, SLOW, "disk_read", (0, 40, 400))
    found = work(counter, 10.1, 12.1)  # cuts two steps of the counter
    assert found is not None
    assert (found.moved_bytes, found.took_s) == pytest.approx((20, 1.8))
    assert work(counter, 30.0, 45.0) is None
    assert work(grown(made, SLOW, "disk_read", (0, 5, 9)), 10.0, 20.0) is None


@pytest.mark.parametrize(
    ("until_s", "other_s", "told"),
    [(16.1, 3.0, True), (15.9, 3.0, False), (15.6, 2.0, True), (15.5, 2.0, False)],
)
def test_a_host_that_takes_twice_as_long_as_the_others_and_half_of_the_window_is_named(
    made, until_s, other_s, told
):
    """0.9 of 6.1, 5.9, 5.6 or 5.5 s, against 0.9 of the others', who pause between two equal pieces."""
    pieces = [(10, 10 + other_s / 2, 400), (20 - other_s / 2, 20, 400)]
    series = reads(made, [(10, until_s, 800)], pieces)
    own, other = f"{0.9 * (until_s - 10):.2g} s", f"{0.9 * other_s:.2g} s"
    expected = (
        f"storage-2 was slower than the other data hosts (reading from its disks took it {own}, the others "
        f"{other}{CHECK}"
    )
    assert named(trial(made), series) == ([expected] if told else [])


def test_the_others_are_their_median_without_the_host_itself(made):
    """Two of three are slow: each is compared with the mean of one that takes 5.4 s and one of 0.9 s."""
    series = reads(made, [(10, 16, 800)], [(10, 16, 800)])
    series[2] = grown(made, "storage-3", "disk_read", (19, 20, 800))
    assert named(trial(made), series) == []
    series[0] = grown(made, "storage-1", "disk_read", (10, 13, 800))
    (one,) = named(trial(made), series)
    assert "took it 5.4 s, the others 1.8 s" in one


@pytest.mark.parametrize(("until_s", "told"), [(11.5, False), (11.54, False), (11.6, True)])
def test_longer_by_less_than_a_second_is_nothing(made, until_s, told):
    """Of a window of 2 s, 1.35 s, 1.386 s or 1.44 s, and the rest."""
    t_s = np.arange(0, 40, 0.02)
    series = []
    for name in STORAGE:
        began_s, ended_s = (10.0, until_s) if name == SLOW else (until_s, 12.0)
        value = 7 + 800 * np.clip((t_s - began_s) / (ended_s - began_s), 0, 1)
        of = made.channel(name, "all", "disk_read", "counter", "counter", "system")
        series.append(made.series(of, t_s, value))
    assert bool(named(trial(made, ended_s=12.0), series)) == told


@pytest.mark.parametrize(("own_bytes", "told"), [(1000, True), (2400, False)])
def test_a_host_with_more_bytes_may_take_as_much_longer(made, own_bytes, told):
    """6.3 s where the others take 2.7 s, but for 2.4 times as much."""
    series = reads(made, [(10, 17, own_bytes)], [(10, 11.5, 500), (18.5, 20, 500)])
    assert bool(named(trial(made), series)) == told


def test_hosts_that_serve_one_after_the_other_are_not_slow(made):
    series = [grown(made, name, "disk_read", (10 + 3 * n, 13 + 3 * n, 800)) for n, name in enumerate(STORAGE)]
    assert named(trial(made), series) == []


def test_a_disk_that_alone_is_busy_is_named_though_all_move_their_bytes_together(made):
    series = reads(made, [(10, 20, 800)], [(10, 20, 800)])
    busy = [grown(made, name, "disk_busy", (10, 20, 9.5 if name == SLOW else 1.0)) for name in STORAGE]
    sign = f"its disks were busy for 9.5 s, 9.5 times as long per byte as the others'{CHECK}"
    assert named(trial(made), [*series, *busy]) == [f"storage-2 was slower than the other data hosts ({sign}"]
    assert named(trial(made), [*series, *busy[:2]]) == []  # of one it is not known
    idle = [grown(made, name, "disk_busy", (10, 20, 8.9 if name == SLOW else 1.0)) for name in STORAGE]
    equal = [grown(made, name, "disk_busy", (10, 20, 9.5 if name == SLOW else 3.2)) for name in STORAGE]
    none = [grown(made, name, "disk_busy", (10, 20, 9.5 if name == SLOW else 0.0)) for name in STORAGE]
    assert named(trial(made), [*series, *idle]) == named(trial(made), [*series, *equal]) == []
    costly = [grown(made, name, "disk_busy", (10, 20, 9.5 if name == SLOW else 3.1)) for name in STORAGE]
    assert len(named(trial(made), [*series, *costly])) == 1  # 3.06 times as long
    assert named(trial(made), [*series, *none])[0].endswith(f"9.5 s, those of the others never{CHECK}")


@pytest.mark.parametrize(("cores", "told"), [(0.5, True), (1.0, False), (4.0, False), (None, False)])
def test_a_cpu_that_alone_is_busy_is_named_by_its_capacity_or_one_core(made, cores, told):
    """4.6 s of 10 s: busy with half a core. Its disks' bytes are not compared with it."""
    series = reads(made, [(10, 20, 800)], [(10, 20, 800)], "network_sent")
    cpu = [grown(made, name, "cpu", (10, 20, 4.6 if name == SLOW else 1.0)) for name in STORAGE]
    record = trial(made)
    record = replace(record, hosts=tuple(replace(h, cpu_capacity_cores=cores) for h in record.hosts))
    sign = f"its CPUs were busy for 4.6 s, 4.6 times as long per byte as the others'{CHECK}"
    assert named(record, [*series, *cpu]) == (
        [f"storage-2 was slower than the other data hosts ({sign}"] if told else []
    )


def test_a_write_is_compared_up_to_the_end_of_its_write_back_by_what_hosts_received_and_wrote(made):
    record = made.record(moved=made.results((10.0, 14.0), (10.0, 14.0)), write_back_s=6.0)
    record = replace(trial(made), outcome=record.outcome, phases=record.phases)
    written = reads(made, [(10, 20, 800)], [(10, 14, 800)], "disk_written")
    sign = f"writing to its disks took it 9 s, the others 3.6 s{CHECK}"
    assert named(record, written) == [f"storage-2 was slower than the other data hosts ({sign}"]
    received = reads(made, [(10, 20, 800)], [(10, 14, 800)], "network_received")
    assert named(record, received) == [
        one.replace("writing to its disks", "receiving") for one in named(record, written)
    ]
    # what disks read is nothing of a write
    assert named(record, reads(made, [(10, 20, 800)], [(10, 14, 800)])) == []


def test_what_says_nothing_of_the_load_names_no_host(made):
    slow = reads(made, [(10, 20, 800)], [(10, 14, 800)])
    assert named(trial(made), slow)
    assert named(trial(made), slow[:2]) == []  # the counter of one host is missing
    assert named(trial(made, moved_bytes=2410), slow) == []  # a cache had more than half
    assert named(trial(made, moved_bytes=2390), slow)
    assert named(trial(made, data_hosts=(SLOW,)), slow) == []
    users = trial(made)
    outcome = replace(users.outcome, results=tuple(replace(r, user="a") for r in users.outcome.results))
    assert named(replace(users, outcome=outcome), slow) == []
    some = replace(outcome, results=(users.outcome.results[0], *outcome.results[1:]))
    assert named(replace(users, outcome=some), slow) == []
    little = reads(made, [(10, 20, 79)], [(10, 14, 800)])  # a tenth of the others' would be something
    assert named(trial(made, moved_bytes=500), little) == []
    assert named(trial(made, moved_bytes=500), reads(made, [(10, 20, 81)], [(10, 14, 800)]))


def test_clients_that_hold_their_own_data_are_not_compared(made):
    own = trial(made, data_hosts=("client-1", "client-2"))
    series = [
        grown(made, "client-1", "disk_read", (10, 20, 800)),
        grown(made, "client-2", "disk_read", (10, 14, 800)),
    ]
    assert named(own, series) == []


@pytest.mark.parametrize("values", [(1, 2), (3, 1, 2), (5, 1, 4, 2), (2, 2, 7, 1, 7), (9, 4, 4, 1, 6, 3)])
def test_each_host_is_compared_with_the_median_of_all_others(values):
    by_host = {f"host-{n}": float(value) for n, value in enumerate(values)}
    others = {host: median(value for name, value in by_host.items() if name != host) for host in by_host}
    assert medians_of_others(by_host) == others
