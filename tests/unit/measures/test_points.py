import sys
from dataclasses import replace
from math import inf, nan
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perjoule import catalogue
from perjoule.measures.points import _of_another, composed, measures, points
from perjoule.model import Number, Numbers, Phase, Specification
from perjoule.model.doubts import METERS
from perjoule.model.families import Member
from perjoule.model.metrics import Metric, W
from perjoule.trial.load import Load
from perjoule.trial.reading import Reading

SERVERS = ("storage-1", "storage-2", "metadata-1")
CLIENTS = ("client-1", "client-2")


def watts(made, power_w=10.0, switch_w=5.0):
    parts = [made.steady(host, power_w, grade="modelled", meter="modelled") for host in SERVERS]
    return [*parts, made.steady("", switch_w, component="switch", grade="modelled", meter="modelled")]


def test_every_number_of_a_trial_whose_truth_is_known(made):
    counters = [made.counter(h, "cpu", 0.1) for h in SERVERS] + [made.counter(h, "cpu", 0.2) for h in CLIENTS]
    counters += [made.counter(h, "network_received", 100.0) for h in ("storage-1", "storage-2")]
    (point,) = points(made.record(), [*watts(made), *counters])
    assert point.direction == "write"
    expected = {
        "throughput_bytes_per_s": 200,
        "duration_s": 10,
        "energy_j": 300,
        "mean_w": 30,
        "efficiency_bytes_per_j": 2000 / 300,
        "gross_energy_j": 350,
        "gross_mean_w": 35,
        "gross_efficiency_bytes_per_j": 2000 / 350,
        "edp_js": 3000,
        "part_network_j": 50,
        "part_unsplit_j": 300,
        # all was on disk when the last client ended
        "burst_duration_s": 10,
        "burst_throughput_bytes_per_s": 200,
        "burst_energy_j": 300,
        "burst_mean_w": 30,
        "burst_efficiency_bytes_per_j": 2000 / 300,
        "burst_edp_js": 3000,
        "latency_p50_s": 0.1,
        "latency_p99_s": 0.5,
        "cpu_storage_s_per_byte": 2 / 2000,
        "cpu_metadata_s_per_byte": 1 / 2000,
        "cpu_client_s_per_byte": 4 / 2000,
        "cpu_servers_s_per_byte": 3 / 2000,
        # its readings lie on the ends of the window
        **{
            f"cpu_{role}_uncertainty_s_per_byte": 0.0 for role in ("storage", "metadata", "client", "servers")
        },
        # counted from 0.4 s before the window on: the idle time before it is the first bytes' too
        "network_received_storage_ratio": 1.04,
    }
    assert dict(point.metrics) == pytest.approx(expected)


def test_emulated_time_is_wall_time_by_the_scale_and_watts_stay(made):
    (real,) = points(made.record(), watts(made))
    (point,) = points(made.record(scale=0.2), watts(made))
    assert point.metrics["duration_s"] == pytest.approx(2)
    assert point.metrics["throughput_bytes_per_s"] == pytest.approx(1000)
    assert point.metrics["mean_w"] == pytest.approx(real.metrics["mean_w"])
    assert point.metrics["energy_j"] == pytest.approx(60)
    assert point.metrics["edp_js"] == pytest.approx(120)
    assert point.metrics["latency_p50_s"] == pytest.approx(0.02)
    assert point.metrics["efficiency_bytes_per_j"] == pytest.approx(2000 / 60)


def test_efficiency_is_throughput_over_mean_power_as_the_paper_computes_it(made):
    metrics = points(made.record(scale=0.3), watts(made))[0].metrics
    assert metrics["efficiency_bytes_per_j"] == pytest.approx(
        metrics["throughput_bytes_per_s"] / metrics["mean_w"]
    )


def test_throughput_relates_to_the_peak_of_the_catalogue(made):
    tpp = catalogue.tpp_bytes_per_s(catalogue.cluster("odroid-hc4"))
    (point,) = points(made.record(cluster="odroid-hc4"), [])
    assert point.metrics["tpp_ratio"] == pytest.approx(200 / tpp)
    assert "tpp_ratio" not in points(made.record(cluster="of-another-perjoule"), [])[0].metrics


def test_all_bytes_count_from_the_first_start_to_the_last_end(made):
    moved = made.results((10.0, 20.0), (12.0, 35.0))
    (point,) = points(made.record(moved=moved), [])
    assert point.metrics["throughput_bytes_per_s"] == pytest.approx(2000 / 25)


def test_the_common_window_is_what_all_clients_share(made):
    moved = made.results((10.0, 20.0), (12.0, 32.0))
    goodput = [
        made.steady("client-1", 100.0, quantity="goodput", began_s=10, ended_s=20),
        made.steady("client-2", 50.0, quantity="goodput", began_s=12, ended_s=32),
    ]
    (point,) = points(made.record(moved=moved, scale=0.5), goodput)
    assert point.metrics["common_throughput_bytes_per_s"] == pytest.approx(150 / 0.5)
    assert "common_throughput_bytes_per_s" not in points(made.record(moved=moved), goodput[:1])[0].metrics


def test_clients_that_share_no_moment_have_no_common_window(made):
    moved = made.results((10.0, 11.0), (12.0, 13.0))
    goodput = [made.steady(c, 100.0, quantity="goodput") for c in CLIENTS]
    assert "common_throughput_bytes_per_s" not in points(made.record(moved=moved), goodput)[0].metrics


def test_a_mixed_trial_has_a_point_for_each_direction(made):
    moved = made.results((10.0, 20.0)) + made.results((10.0, 20.0), direction="read", moved_bytes=3000)
    write, read = points(made.record(moved=moved), watts(made))
    assert (write.direction, read.direction) == ("write", "read")
    assert read.metrics["throughput_bytes_per_s"] == 3 * write.metrics["throughput_bytes_per_s"]
    assert any("together" in doubt for doubt in read.doubts)


def test_a_failed_trial_has_no_points(made):
    assert points(made.record(status="failed"), []) == ()


def test_a_meter_gap_leaves_the_energy_out_and_says_so(made):
    series = [made.steady(host, 10.0, ended_s=14.0) for host in SERVERS]
    (point,) = points(made.record(doubts=("of the run",)), series)
    assert not [name for name in point.metrics if name.endswith(("_j", "_w", "_js"))]
    assert point.doubts[0] == "of the run"
    assert any("cover only 40 %" in doubt for doubt in point.doubts)


def test_what_is_written_back_in_the_tail_counts_as_overhead(made):
    series = [made.counter(h, "disk_written", 100.0) for h in ("storage-1", "storage-2")]
    (point,) = points(made.record(tail_s=5.0), series)
    assert point.metrics["disk_written_storage_ratio"] == pytest.approx(2 * 100 * 15.4 / 2000)


def test_latencies_weigh_clients_by_their_operations(made):
    first, second = made.results((10.0, 20.0), (10.0, 20.0))
    slow = replace(second, operations_count=30, latency_s={"p50": 0.5})
    metrics = points(made.record(moved=(first, slow)), [])[0].metrics
    assert metrics["latency_p50_s"] == pytest.approx(0.4)
    assert "latency_p99_s" not in metrics


def test_a_role_of_which_a_host_lacks_the_counter_has_no_overhead(made):
    assert (
        "cpu_storage_s_per_byte"
        not in points(made.record(), [made.counter("storage-1", "cpu", 0.1)])[0].metrics
    )


def test_where_no_bytes_are_moved_operations_are_counted(made):
    moved = made.results((10.0, 20.0), (10.0, 20.0), moved_bytes=0)
    series = [*watts(made), *(made.counter(h, "disk_written", 100.0) for h in SERVERS)]
    (point,) = points(made.record(moved=moved, scale=0.5, cluster="odroid-hc4", tail_s=5.0), series)
    metrics = point.metrics
    assert metrics["operations_per_s"] == pytest.approx(20 / 5)
    assert metrics["operations_per_j"] == pytest.approx(20 / 150)
    assert metrics["gross_operations_per_j"] == pytest.approx(20 / 175)
    assert metrics["edp_js"] == pytest.approx(150 * 5)
    assert not [name for name in metrics if "per_byte" in name or "bytes_per" in name or name == "tpp_ratio"]


def test_a_burst_is_in_emulated_time_too(made):
    (point,) = points(made.record(scale=0.2, write_back_s=5.0), watts(made))
    assert (point.metrics["duration_s"], point.metrics["burst_duration_s"]) == pytest.approx((3.0, 2.0))
    assert point.metrics["burst_throughput_bytes_per_s"] == pytest.approx(1000)


def test_a_client_that_did_nothing_takes_no_direction_from_the_others(made):
    moved = made.results((10.0, 20.0), (10.0, 20.0))
    idle = replace(moved[1], moved_bytes=0, operations_count=0)
    (point,) = points(made.record(moved=(moved[0], idle)), [])
    assert point.metrics["throughput_bytes_per_s"] == pytest.approx(100)
    assert points(made.record(moved=(idle,)), []) == ()


def test_a_load_that_counts_events_has_their_rate_and_what_each_took(made):
    record = made.record(scale=0.5)
    record = replace(record, outcome=replace(record.outcome, measured={"events_count": 50.0}))
    (point,) = points(record, watts(made))
    assert point.metrics["events_per_s"] == pytest.approx(50 / 5)
    assert point.metrics["energy_per_event_j"] == pytest.approx(point.metrics["energy_j"] / 50)
    assert "events_per_s" not in points(made.record(), watts(made))[0].metrics


def test_the_energy_of_an_event_has_the_shared_errors_of_the_energy(made):
    """A gain that is uncertain by 1 % has the same relative effect on both; without events there are no
    joules per event.
    """
    record = made.record()
    metered = [made.steady(host, 10.0) for host in SERVERS]
    metered = [
        replace(s, channel=replace(s.channel, specification=Specification(gain_ratio=0.01))) for s in metered
    ]
    (without,) = points(record, metered)
    (point,) = points(
        replace(record, outcome=replace(record.outcome, measured={"events_count": 50.0})), metered
    )
    assert dict(point.shared["energy_per_event_j"]) == pytest.approx(dict(point.shared["energy_j"])) != {}
    assert point.shared.keys() - without.shared.keys() == {"energy_per_event_j"}


def test_a_tail_is_in_emulated_time_and_its_bytes_are_as_they_are(made):
    servers = ("storage-1", "storage-2", "metadata-1")
    series = [*watts(made), *(made.counter(host, "disk_read", 10.0) for host in servers)]
    (point,) = points(made.record(scale=0.2, tail_s=2.0), series)
    assert point.metrics["tail_s"] == pytest.approx(0.4)
    assert point.metrics["tail_energy_j"] == pytest.approx(0.4 * point.metrics["mean_w"])
    assert point.metrics["tail_disk_read_bytes"] == pytest.approx(3 * 10 * 2)
    assert "tail_s" not in points(made.record(), watts(made))[0].metrics


def test_a_burst_and_a_tail_have_no_watts_of_another_grade_than_their_row(made):
    """A plug that was not heard for a second covers a window of 24 s, and neither the burst of 10 s nor
    the tail of 4 s.
    """
    phases = (Phase("write-back", 20.0, 34.0), Phase("tail", 34.0, 38.0))
    record = replace(made.record(moved=made.results((10, 20), (10, 20))), phases=phases)
    heard_s = np.array([t_s for t_s in np.arange(0.5, 40.25, 0.5) if t_s not in (15.0, 15.5, 36.0, 36.5)])
    wall = [made.series(made.channel(host, semantics="window mean"), heard_s, 10.0, 0.5) for host in SERVERS]
    modelled = [made.steady(host, 5.0, ended_s=40.0, grade="modelled", meter="modelled") for host in SERVERS]
    (point,) = points(record, [*wall, *modelled])
    assert (point.grade, point.metrics["mean_w"]) == ("wall", pytest.approx(30.0))
    assert "burst_throughput_bytes_per_s" in point.metrics
    assert not {"burst_energy_j", "burst_mean_w", "burst_edp_js", "tail_energy_j"} & point.metrics.keys()
    assert any(
        doubt.startswith("until the clients' fsync: meter:storage-1/all/power: samples cover only 90 %")
        for doubt in point.doubts
    )
    (known,) = points(record, modelled)
    assert known.metrics["burst_mean_w"] == pytest.approx(15.0)
    assert known.metrics["tail_energy_j"] == pytest.approx(15.0 * 4)


@pytest.mark.parametrize("value", [-620.0, -1e-6])
def test_a_trial_whose_clamp_is_the_wrong_way_round_has_numbers_without_joules_and_says_why(made, value):
    (point,) = points(made.record(), [made.steady(host, value) for host in (*SERVERS, *CLIENTS)])
    assert not [key for key in point.metrics if key.endswith("_j")]
    assert point.metrics["throughput_bytes_per_s"] == pytest.approx(200)
    assert point.doubts


def test_a_client_whose_clamp_is_the_wrong_way_round_has_no_joules_and_the_servers_have_theirs(made):
    series = [*(made.steady(host, 10.0) for host in SERVERS), *(made.steady(host, -40.0) for host in CLIENTS)]
    (point,) = points(made.record(), series)
    assert point.metrics["energy_j"] == pytest.approx(300)
    assert not [key for key in point.metrics if key.startswith(("clients_energy", "all_energy"))]
    assert "wrong way round" in point.omitted["clients"]


def test_measures_say_the_same_in_any_order(made):
    series = [*watts(made), *(made.counter(host, "network_sent", 1.0) for host in (*SERVERS, *CLIENTS))]
    reading = Reading(
        replace(made.record(), outcome=replace(made.record().outcome, measured={"events_count": 5.0})), series
    )
    forward, backward = Load(reading, "write"), Load(reading, "write")
    numbers = composed([forward.numbers(measure) for measure in measures()])
    reverse = composed([backward.numbers(measure) for measure in reversed(measures())])
    assert {"energy_per_event_j", "network_sent_servers_ratio"} <= numbers.by_key.keys()
    assert numbers.by_key == reverse.by_key
    assert sorted(numbers.doubts) == sorted(reverse.doubts)


def test_a_number_that_two_measures_have_is_refused():
    with pytest.raises(ValueError, match="two measures have energy_j"):
        composed([Numbers.plain({"energy_j": 1.0}), Numbers.plain({"energy_j": 1.0, "duration_s": 1.0})])


def test_a_checkpoint_has_its_stall_until_the_last_rank_and_its_joules(made):
    """The stall ends with the last fsync, the joules when the disks hold the checkpoint."""
    moved = made.results((10.0, 14.0), (10.0, 18.0))
    record = made.record(None, moved, scale=0.5, write_back_s=2.0)
    for count in (1.0, 4.0):
        counted = replace(record, outcome=replace(record.outcome, measured={"checkpoints_count": count}))
        (point,) = points(counted, watts(made))
        assert point.metrics["stall_s"] == pytest.approx(8 * 0.5 / count)
        assert point.metrics["energy_per_checkpoint_j"] == pytest.approx(30 * 10 * 0.5 / count)
    assert "stall_s" not in points(made.record(), watts(made))[0].metrics


CACHE_LATENCIES = {"latency_p50_s", "latency_p99_s", "block_read_p95_s", "block_read_p99_s"}


def a_cache(made):
    """Blocks of 2 clients, one of which read thrice as many."""
    both = [
        replace(result, user=name, operations_count=count, latency_s={"p95": 0.1 * count, "p99": 0.2 * count})
        for name, direction, counts in (("prefill", "write", (9, 9)), ("decode", "read", (1, 3)))
        for result, count in zip(
            made.results((10.0, 20.0), (10.0, 20.0), direction=direction), counts, strict=True
        )
    ]
    record = made.record(None, tuple(both), scale=0.5)
    tokens = {"tokens_count": 300.0, "tokens_read_count": 4000.0}
    return replace(record, outcome=replace(record.outcome, measured=tokens))


def test_a_key_value_cache_has_its_tokens_and_their_joules(made):
    """10 s of wall time at 30 W are 5 s and 150 J at scale 0.5."""
    (point,) = points(a_cache(made), watts(made))
    assert point.direction == "mixed"
    assert point.metrics["tokens_per_s"] == pytest.approx(300 / 5)
    assert point.metrics["tokens_read_per_s"] == pytest.approx(4000 / 5)
    assert point.metrics["energy_per_token_j"] == pytest.approx(30 * 5 / 300)
    assert not CACHE_LATENCIES & point.metrics.keys()  # no call is logged
    assert all("does not log" in point.omitted[key] for key in CACHE_LATENCIES)
    assert "tokens_per_s" not in points(made.record(), watts(made))[0].metrics


def test_reads_and_writes_of_the_same_requests_are_users_between_whom_nothing_is_fair(made):
    record = a_cache(made)
    (cache,) = points(record, watts(made))
    (users,) = points(replace(record, outcome=replace(record.outcome, measured={})), watts(made))
    assert "user/decode/share_ratio" in cache.metrics
    assert users.metrics.keys() - cache.metrics.keys() == {"fairness_ratio"}


def a_training_job(made, scale, **options):
    """400 samples in two epochs, of accelerators that compute 0.3 s of wall time a batch."""
    record = made.record(made.trial(options={"preset": "unet3d_h100", **options}), scale=scale)
    measured = {"samples_count": 400.0, "epochs_count": 2.0, "compute_wall_s": 0.3}
    return replace(record, outcome=replace(record.outcome, measured=measured))


def test_a_training_job_has_its_samples_and_the_joules_of_an_epoch_in_emulated_time(made):
    """10 s of wall time at 30 W are 5 s and 150 J at scale 0.5."""
    (point,) = points(a_training_job(made, 0.5, compute="0.3 s"), watts(made))
    assert point.metrics["samples_per_s"] == pytest.approx(400 / 5)
    assert point.metrics["energy_per_epoch_j"] == pytest.approx(30 * 5 / 2)
    assert point.metrics["compute_s"] == pytest.approx(0.15)
    assert "samples_per_s" not in points(made.record(), watts(made))[0].metrics


def test_a_presets_accelerator_on_a_slower_cluster_is_a_doubt_that_says_what_to_write(made):
    """Emulated time runs at half the speed: 0.3 s of the hardware are 0.6 s of wall time."""
    (doubted,) = points(a_training_job(made, 0.5), watts(made))
    (doubt,) = [doubt for doubt in doubted.doubts if doubt.id == "undilated.compute"]
    assert str(doubt).endswith('write compute = "0.6 s"')
    for fine in (a_training_job(made, 0.5, compute="0.3 s"), a_training_job(made, 1.0)):
        assert "undilated.compute" not in {doubt.id for doubt in points(fine, watts(made))[0].doubts}


NO_NUMBER = "what it gives as widget_w is no finite Number"
DOUBT = METERS.outside()


def mistyped(value: object) -> Any:
    """What a type checker of the other package would refuse."""
    return value


@pytest.mark.parametrize(
    ("numbers", "reason"),
    [
        (Numbers(), ""),
        (Numbers.plain({"widget_w": 1.0}, (DOUBT, DOUBT)), ""),
        (Numbers({"widget_w": Number(why_not="no widget")}), ""),
        (Numbers({"widget_w": Number(2, inf, shared={"widget": 0.1})}), ""),  # whose error is unknown
        (None, "it gives 'None', and no Numbers"),
        ("w" * 61, f"it gives '{'w' * 60}', and no Numbers"),
        (Numbers.plain({"widget_w": 1.0, "other_w": 1.0}), "it gives other_w, which METRICS does not have"),
        (Numbers({"widget_w": mistyped(1.0)}), NO_NUMBER),
        *[(Numbers({"widget_w": Number(mistyped(value))}), NO_NUMBER) for value in (inf, nan, "1", True)],
        *[(Numbers({"widget_w": Number(1.0, mistyped(value))}), NO_NUMBER) for value in (nan, "1", True)],
        (Numbers({"widget_w": Number(1.0, shared_half=nan)}), NO_NUMBER),
        (Numbers({"widget_w": Number(1.0, shared={"widget": nan})}), NO_NUMBER),
        (Numbers({"widget_w": Number(1.0, shared=mistyped({1: 0.1}))}), NO_NUMBER),
        (Numbers({"widget_w": Number(1.0, grade=mistyped(1))}), NO_NUMBER),
        (Numbers({"widget_w": Number(1.0, why_not=mistyped(None))}), NO_NUMBER),
        (Numbers(doubts=mistyped((DOUBT, "it is a widget"))), "its doubts are no Doubts"),
    ],
)
def test_a_measure_of_another_package_gives_numbers_of_its_own_or_a_doubt(made, monkeypatch, numbers, reason):
    module = SimpleNamespace(measure=lambda load: numbers, __path__=[])
    monkeypatch.setitem(sys.modules, "widget", module)
    told: list[str] = []
    monkeypatch.setattr("perjoule.measures.points.leave_out", told.append)
    member = Member("measures", "widget", "widget", "widgets 1.2")
    measure = _of_another(member, [Metric("widget_w", "widgets", W, "of widgets", "lower")])
    (load,) = (Load(reading, d) for reading in [Reading(made.record(), [])] for d in reading.loads)
    given = measure(load)
    if reason:
        assert not given.by_key
        assert [reason in text for text in (*given.doubts, *told)] == [True, True]
    else:
        assert (given, told) == (numbers, [])


def logged(made, host, user, *rows):
    """What a user's calls took in a client: rows of a latency, and how many took as long."""
    latency_s, count = np.array(rows, dtype=float).T
    t_s = np.full(len(rows), 20.0)
    return [
        made.series(
            made.channel(host, f"user {user}", kind, "window mean", "counter", "ranks"), t_s, value, 10.0
        )
        for kind, value in (("latency", latency_s), ("calls", count))
    ]


def test_percentiles_of_users_are_of_all_their_calls_or_missing_with_the_reason(made):
    """Of 22 calls the 11th and the 22nd, of four reads the fourth: 0.95 x 4 and 0.99 x 4 are above 3."""
    logs = [
        *logged(made, "client-1", "prefill", (0.9, 1), (0.2, 8)),
        *logged(made, "client-1", "decode", (0.01, 1)),
        *logged(made, "client-2", "decode", (0.5, 1), (0.02, 2)),
    ]
    of_all = logged(made, "client-2", "prefill", (0.3, 9))
    (point,) = points(a_cache(made), [*watts(made), *logs, *of_all])
    assert point.metrics["latency_p50_s"] == pytest.approx(0.5 * 0.2)
    assert point.metrics["latency_p99_s"] == pytest.approx(0.5 * 0.9)
    assert point.metrics["block_read_p95_s"] == point.metrics["block_read_p99_s"] == pytest.approx(0.5 * 0.5)
    assert not CACHE_LATENCIES & point.omitted.keys()
    few = logged(made, "client-2", "prefill", (0.3, 8))
    for lacking in ([], few, few[:1]):
        (point,) = points(a_cache(made), [*watts(made), *logs, *lacking])
        assert CACHE_LATENCIES & point.omitted.keys() == {"latency_p50_s", "latency_p99_s"}
        assert not point.omitted.keys() & point.metrics.keys()
        assert point.metrics["block_read_p99_s"] == pytest.approx(0.5 * 0.5)
