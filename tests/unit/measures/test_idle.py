"""Trials without a load whose truth is known."""

from dataclasses import replace

import numpy as np
import pytest

from perjoule import catalogue
from perjoule.measures.idle import capacities_bytes
from perjoule.measures.points import points
from perjoule.model import Outcome, Redundancy, Specification
from perjoule.results.table import cell_text
from perjoule.statistics.cells import cells
from perjoule.trial.counters import disk_gaps_s

SERVERS = ("storage-1", "storage-2", "metadata-1")
HC4 = catalogue.cluster("odroid-hc4")
DAY_S = 86400


def idle_record(made, *, scale=1.0, least_gap_s=2.0, redundancy=None, real=False):
    """Idle from 10 s to 20 s; by default on nodes of the catalogue with two disks of 1 TB each."""
    record = made.record(
        moved=made.results((10.0, 20.0), (10.0, 20.0), direction="idle", moved_bytes=0), scale=scale
    )
    still = tuple(replace(r, operations_count=0, latency_s={}) for r in record.outcome.results)
    node = {"storage": "A", "metadata": "C", "client": "G"}
    hosts = record.hosts if real else tuple(replace(host, node=node[host.role]) for host in record.hosts)
    outcome = Outcome("no load", still, measured={"least_gap_s": least_gap_s})
    return replace(
        record, outcome=outcome, hosts=hosts, hardware=None if real else HC4, redundancy=redundancy
    )


def watts(made, power_w=10.0):
    return [made.steady(host, power_w) for host in SERVERS]


def stepping(made, host, quantity, *rises_s, ended_s=30.0):
    """A counter that is read every half second and rises by 1 before each of these moments."""
    t_s = np.arange(0.0, ended_s + 0.25, 0.5)
    value = 7.0 + sum((t_s >= moment).astype(float) for moment in rises_s)
    return made.series(made.channel(host, "all", quantity, "counter", "counter", "system"), t_s, value)


def test_the_capacity_that_a_watt_keeps_is_known_from_the_catalogue_and_the_redundancy(made):
    kept = Redundancy(copies_count=2)
    (point,) = points(idle_record(made, redundancy=kept), watts(made))
    assert point.direction == "idle"
    assert point.metrics["energy_j"] == pytest.approx(300)
    assert point.metrics["idle_w"] == pytest.approx(30)
    assert point.metrics["raw_w_per_byte"] == pytest.approx(30 / 4e12)  # two hosts with two disks each
    assert point.metrics["usable_w_per_byte"] == pytest.approx(30 / 2e12)
    assert point.metrics["usable_bytes_per_w"] == pytest.approx(2e12 / 30)
    # joules of a day for a TB
    assert point.metrics["raw_w_per_byte"] * 1e12 * DAY_S == pytest.approx(30 * DAY_S / 4)


def test_what_keeps_a_terabyte_for_a_day_is_printed_in_kilojoules(made):
    """30 W keep 4 TB, and 2 TB of user data: 30 J/s x 86,400 s by each TB."""
    record = idle_record(made, redundancy=Redundancy(copies_count=2))
    (cell,) = cells((record,), points(record, watts(made)))
    printed = [cell_text(cell, key).split()[0] for key in ("raw_w_per_byte", "usable_w_per_byte")]
    assert [float(number) for number in printed] == pytest.approx([648, 1296], rel=1e-3)


def test_hosts_of_unequal_size_hold_as_much_as_the_smallest(made):
    """A brick of 1.024 TB (two SSDs) beside two of 2 TB: a code over all three fills 1.024 TB of each."""
    record = replace(
        idle_record(made, redundancy=Redundancy(data_count=2, parity_count=1)), data_hosts=SERVERS
    )
    (point,) = points(record, watts(made))
    assert point.metrics["raw_w_per_byte"] == pytest.approx(30 / 5.024e12)
    assert point.metrics["usable_w_per_byte"] == pytest.approx(30 / (3 * 1.024e12 * 2 / 3))


def test_hosts_without_a_disk_in_the_catalogue_have_none_that_could_sleep(made):
    """The metadata host is node B here, a board alone; on its virtual host is a disk nevertheless."""
    record = idle_record(made)
    bare = replace(
        record, hosts=tuple(replace(h, node="B") if h.role == "metadata" else h for h in record.hosts)
    )
    series = [
        *watts(made),
        *(stepping(made, "metadata-1", way, 15.0) for way in ("disk_read", "disk_written")),
    ]
    assert "longest_gap_metadata_s" in points(record, series)[0].metrics
    assert "longest_gap_metadata_s" not in points(bare, series)[0].metrics


@pytest.mark.parametrize(
    ("kept", "ratio"),
    [
        (Redundancy(), 1.0),
        (Redundancy(copies_count=3), 1 / 3),
        (Redundancy(data_count=4, parity_count=1), 0.8),
        (Redundancy(copies_count=2, beneath_count=2), 0.25),
    ],
)
def test_redundancy_leaves_a_share_of_the_capacity(kept, ratio):
    assert kept.usable_ratio == pytest.approx(ratio)


def test_nothing_was_moved_so_no_number_is_by_byte_or_by_delay(made):
    (point,) = points(idle_record(made, redundancy=Redundancy()), watts(made))
    assert not {
        name for name in point.metrics if "throughput" in name or "efficiency" in name or "edp" in name
    }
    assert not {name for name in point.metrics if name.startswith(("burst_", "dynamic_"))}
    assert "dynamic" not in point.omitted


def test_without_hardware_of_the_catalogue_power_is_known_and_capacity_is_not(made):
    record = idle_record(made, real=True, redundancy=Redundancy())
    (point,) = points(record, watts(made))
    assert capacities_bytes(record) == ()
    assert point.metrics["idle_w"] == pytest.approx(30)
    assert not {"raw_w_per_byte", "usable_w_per_byte", "usable_bytes_per_w"} & point.metrics.keys()


@pytest.mark.parametrize("node", ["", "B"])  # unknown, or a board alone
def test_one_host_with_data_of_unknown_capacity_leaves_all_unknown(made, node):
    record = idle_record(made)
    assert capacities_bytes(record) == (2e12, 2e12)
    hosts = tuple(replace(h, node=node) if h.name == "storage-2" else h for h in record.hosts)
    assert capacities_bytes(replace(record, hosts=hosts)) == ()


def test_uncertainties_of_capacity_follow_the_energys(made):
    stated = Specification(gain_ratio=0.01)
    metered = [replace(one, channel=replace(one.channel, specification=stated)) for one in watts(made)]
    metrics = points(idle_record(made, redundancy=Redundancy()), metered)[0].metrics
    relative = metrics["energy_uncertainty_j"] / metrics["energy_j"]
    assert relative > 0.001
    assert metrics["idle_uncertainty_w"] / metrics["idle_w"] == pytest.approx(relative)
    assert metrics["usable_uncertainty_w_per_byte"] / metrics["usable_w_per_byte"] == pytest.approx(relative)
    assert metrics["usable_uncertainty_bytes_per_w"] / metrics["usable_bytes_per_w"] == pytest.approx(
        relative
    )


def test_what_each_role_draws_and_does_is_by_second(made):
    counted = [made.counter(host, "switches", 50.0) for host in SERVERS]
    counted += [made.counter(host, "cpu", 0.01) for host in SERVERS]
    counted += [
        made.counter("storage-1", "network_sent", 300.0),
        made.counter("storage-2", "network_sent", 100.0),
    ]
    metrics = points(idle_record(made), [*watts(made), *counted])[0].metrics
    assert metrics["idle_storage_w"] == pytest.approx(20)
    assert metrics["idle_metadata_w"] == pytest.approx(10)
    assert metrics["idle_switches_servers_hz"] == pytest.approx(150)
    assert metrics["idle_cpu_storage_ratio"] == pytest.approx(0.02)
    assert metrics["idle_network_sent_storage_bytes_per_s"] == pytest.approx(400)
    assert "idle_network_sent_metadata_bytes_per_s" not in metrics  # it has no such counter


def test_what_hosts_do_while_idle_is_each_by_its_own_counter(made):
    names = {
        "cpu": "idle_cpu_servers_ratio",
        "switches": "idle_switches_servers_hz",
        "network_received": "idle_network_received_servers_bytes_per_s",
        "network_sent": "idle_network_sent_servers_bytes_per_s",
        "disk_read": "idle_disk_read_servers_bytes_per_s",
        "disk_written": "idle_disk_written_servers_bytes_per_s",
    }
    rates = dict(zip(names, (0.01, 20.0, 3.0, 5.0, 7.0, 11.0), strict=True))
    counted = [made.counter(host, quantity, rate) for host in SERVERS for quantity, rate in rates.items()]
    (point,) = points(idle_record(made), [*watts(made), *counted])
    assert {quantity: point.metrics[name] for quantity, name in names.items()} == pytest.approx(
        {quantity: 3 * rate for quantity, rate in rates.items()}
    )


def test_seconds_are_emulated_and_watts_are_not_and_a_doubt_says_what_is_not_dilated(made):
    counted = [made.counter(host, "switches", 50.0) for host in SERVERS]
    (real,) = points(idle_record(made), [*watts(made), *counted])
    (point,) = points(idle_record(made, scale=0.2), [*map(simulated, watts(made)), *counted])
    assert point.metrics["idle_w"] == pytest.approx(real.metrics["idle_w"])
    assert point.metrics["idle_switches_servers_hz"] == pytest.approx(
        5 * real.metrics["idle_switches_servers_hz"]
    )
    assert any("keep their own time" in doubt and "5 times" in doubt for doubt in point.doubts)
    assert not any("keep their own time" in doubt for doubt in real.doubts)


def simulated(series):
    return replace(series, channel=replace(series.channel, grade="simulated"))


def test_a_gap_lies_between_samples_in_which_neither_counter_rose(made):
    """Accesses in (11.5, 12], (14.5, 15] and (17, 17.5]."""
    own = [
        stepping(made, "storage-1", "disk_read", 12.0, 17.5),
        stepping(made, "storage-1", "disk_written", 15.0),
    ]
    found = disk_gaps_s(own, "storage-1", 10.0, 20.0)
    assert found is not None
    gaps_s, period_s = found
    assert gaps_s.tolist() == pytest.approx([1.5, 2.5, 2.0, 2.5])
    assert period_s == pytest.approx(0.5)


def test_only_gaps_of_the_least_length_let_a_disk_sleep(made):
    own = [
        stepping(made, "storage-1", "disk_read", 12.0, 17.5),
        stepping(made, "storage-1", "disk_written", 15.0),
    ]
    own += [stepping(made, "storage-2", "disk_read"), stepping(made, "storage-2", "disk_written")]
    metrics = points(idle_record(made, least_gap_s=2.2), own)[0].metrics
    assert metrics["longest_gap_storage_s"] == pytest.approx(10)  # all of the second host
    assert metrics["sleepable_storage_ratio"] == pytest.approx((2.5 + 2.5 + 10) / 20)


def test_a_disk_that_is_never_quiet_never_sleeps(made):
    own = [made.counter("storage-1", quantity, 10.0) for quantity in ("disk_read", "disk_written")]
    metrics = points(idle_record(made), own)[0].metrics
    assert metrics["longest_gap_storage_s"] == 0
    assert metrics["sleepable_storage_ratio"] == 0


def test_gaps_are_not_told_from_counters_that_do_not_cover_the_window(made):
    own = [
        stepping(made, "storage-1", "disk_read"),
        stepping(made, "storage-1", "disk_written", ended_s=15.0),
    ]
    assert disk_gaps_s(own, "storage-1", 10.0, 20.0) is None
    assert disk_gaps_s(own[:1], "storage-1", 10.0, 14.0) is None


@pytest.mark.parametrize(("least_gap_s", "told"), [(1.0, True), (1.95, True), (2.05, False)])
def test_four_samples_in_the_least_gap_show_it_and_fewer_are_a_doubt(made, least_gap_s, told):
    own = [stepping(made, "storage-1", "disk_read", 15.0), stepping(made, "storage-1", "disk_written")]
    (point,) = points(idle_record(made, least_gap_s=least_gap_s), own)
    assert any("disks are seen every 0.5 s" in doubt for doubt in point.doubts) == told


@pytest.mark.parametrize(("ended_s", "known"), [(30.0, True), (15.0, False)])
def test_a_count_that_is_refused_is_missing_with_its_doubt(made, ended_s, known):
    counted = [made.counter(host, "switches", 50.0, ended_s=ended_s) for host in SERVERS]
    (point,) = points(idle_record(made), counted)
    assert ("idle_switches_servers_hz" in point.metrics) == known
    assert any("switches" in doubt for doubt in point.doubts) != known
