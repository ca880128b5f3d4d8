"""Where the limits lie that docs/explanations state: a little on this side nothing is reported, a little
on the other it is.
"""

from dataclasses import replace

import numpy as np
import pytest

from perjoule import catalogue
from perjoule.energy.amount import amount
from perjoule.energy.behaviour import behaviour, powers, step
from perjoule.energy.quantities import one_quantity, wrong_ratio
from perjoule.measures import interference, overlap, plausibility
from perjoule.measures.points import points
from perjoule.model import Specification
from perjoule.statistics.outliers import outliers
from perjoule.trial.load import Load
from perjoule.trial.reading import Reading
from perjoule.trial.timeline import means
from perjoule.trial.windows import windows

SERVERS = ("storage-1", "storage-2", "metadata-1")


def ends(t_s, hole_s, at_s=10.0):
    """Times with a distance of `hole_s` after `at_s`."""
    return np.concatenate((t_s[t_s <= at_s + 1e-9], t_s[t_s > at_s + 1e-9] + hole_s - (t_s[1] - t_s[0])))


def kept_of(series, began_s, ended_s):
    by_channel = {one.channel: one for one in series}
    return one_quantity([*by_channel], lambda channel: wrong_ratio(by_channel[channel], began_s, ended_s))


def said(series, began_s=5.0, ended_s=25.0):
    return " ".join(amount(series, began_s, ended_s).doubts)


@pytest.mark.parametrize(("usual_s", "limit_s"), [(0.1, 2 / 3), (0.2, 2 / 3), (0.3, 0.9), (0.5, 1.5)])
@pytest.mark.parametrize("semantics", ["instantaneous", "average"])
def test_a_distance_of_three_usual_ones_and_two_thirds_of_a_second_is_a_gap(
    made, semantics, usual_s, limit_s
):
    for ratio, lacks in ((0.97, False), (1.03, True)):
        t_s = ends(np.arange(0, 40, usual_s), ratio * limit_s)
        found = made.stating(semantics, t_s, 50 + np.sin(t_s))
        assert (amount(found, 5, 25).coverage_ratio < 0.99) == lacks


@pytest.mark.parametrize(("hole_s", "told"), [(2.95, False), (3.05, True)])
def test_a_counter_that_was_not_read_for_three_usual_times_counts_evenly_and_says_so(made, hole_s, told):
    t_s = ends(np.arange(0, 40.0), hole_s)
    found = made.stating("counter", t_s, 50 * t_s + np.sin(t_s))
    assert ("was not read for" in said(found)) == told
    assert amount(found, 5, 25).coverage_ratio == 1


@pytest.mark.parametrize("semantics", ["window mean", "instantaneous"])
@pytest.mark.parametrize(("missing_s", "refused"), [(0.97, False), (1.03, True)])
def test_a_window_of_which_five_percent_are_missing_is_refused(made, semantics, missing_s, refused):
    hole_s = missing_s + 0.1 * (semantics == "window mean")
    t_s = ends(np.arange(0, 40.0, 0.1), hole_s)
    found = amount(
        made.stating(semantics, t_s, 50 + np.sin(t_s), 0.1 if semantics == "window mean" else 0.0), 5, 25
    )
    assert (found.value is None) == refused
    assert found.coverage_ratio == pytest.approx(1 - missing_s / 20)
    assert ("its amount is refused" in " ".join(found.doubts)) == refused


@pytest.mark.parametrize(("range_w", "refused"), [(9.7, False), (10.3, True)])
def test_averages_are_steady_within_a_fifth_of_their_mean(made, range_w, refused):
    t_s = np.arange(0, 40, 0.5)
    value = np.where(np.arange(80) % 2, 50 - range_w / 2, 50 + range_w / 2)
    assert (amount(made.stating("average", t_s, value), 5, 25).value is None) == refused


@pytest.mark.parametrize(("period_s", "slow"), [(0.65, False), (0.68, True)])
def test_samples_two_thirds_of_a_second_apart_miss_bursts(made, period_s, slow):
    t_s = np.arange(0, 60, period_s)
    moments, averages = (
        amount(made.stating(kind, t_s, 50 + np.sin(t_s)), 5, 45) for kind in ("instantaneous", "average")
    )
    assert (moments.value is None) == slow
    assert averages.value is not None
    for found in (moments, averages):
        assert (
            f"one sample in {period_s:.2g} s misses bursts shorter than {3 * period_s:.2g} s"
            in " ".join(found.doubts)
        ) == slow


@pytest.mark.parametrize(("fast", "believed"), [(2.9, True), (3.1, False)])
def test_a_wrap_is_believed_up_to_three_times_the_highest_other_rate(made, fast, believed):
    t_s = np.arange(0, 41.0)
    value = np.cumsum(np.where(t_s == 20, fast * 10, np.where(t_s == 7, 10.0, 8.0)))
    wrapping = np.where(t_s < 20, value, value - 1000.0) + 900
    found = amount(made.stating("counter", t_s, wrapping, range_value=1000.0), 5, 35)
    assert ("neither a wrap nor a possible rate" in " ".join(found.doubts)) == (not believed)
    if believed:
        assert found.value == pytest.approx(np.interp(35, t_s, value) - np.interp(5, t_s, value))


@pytest.mark.parametrize(
    ("period_s", "resolution", "ratio"),
    [(0.0, 0.0, 1.0), (0.5, 0.0, 1.5), (0.0, 25.0, 1.5), (0.5, 25.0, 2.0)],
)
def test_a_counter_steps_by_what_flowed_since_it_was_updated_and_one_of_its_steps(
    made, period_s, resolution, ratio
):
    """At most 50 W, read once a second."""
    t_s = np.arange(0, 41.0)
    for factor, possible in ((0.97, True), (1.03, False)):
        value = np.cumsum(np.where(t_s == 20, factor * ratio * 50, 30.0))
        found = made.stating("counter", t_s, value, most_w=50.0, period_s=period_s, resolution=resolution)
        assert ("nor a possible rate" in said(found)) == (not possible)
        asked = replace(found, asked_s=t_s - 0.1 * (t_s == 20), arrived_s=t_s + 0.1 * (t_s == 20))
        assert ("nor a possible rate" in said(asked)) == (1.03 * ratio > ratio + 0.1 and not possible)
        slow = replace(found, asked_s=t_s - 0.1, arrived_s=t_s + 0.1)  # every request takes 0.2 s
        assert "nor a possible rate" not in said(slow)


@pytest.mark.parametrize(("range_value", "told"), [(51.0, True), (49.0, False)])
def test_a_counter_that_may_wrap_unseen_between_two_readings_is_not_believed(made, range_value, told):
    """At most 50 W, read once a second: a range of 49 J may have been passed twice."""
    t_s = np.arange(0, 41.0)
    found = amount(
        made.stating("counter", t_s, 20 * t_s % range_value, range_value=range_value, most_w=50.0), 5, 35
    )
    assert (found.value is not None) == told
    assert ("too rarely to tell how often it wrapped" in " ".join(found.doubts)) == (not told)


@pytest.mark.parametrize(("ahead_s", "told"), [(0.0097, False), (0.0103, True)])
def test_a_sample_dated_ten_milliseconds_after_its_arrival_proves_a_clock_ahead(made, ahead_s, told):
    t_s = np.arange(0, 30.05, 0.1)
    early = replace(
        made.stating("instantaneous", t_s, 50 + np.sin(t_s)), asked_s=None, arrived_s=t_s - ahead_s
    )
    assert ("after they arrived" in said(early)) == told


@pytest.mark.parametrize(("ratio", "counted"), [(1.07, True), (1.13, False)])
def test_a_tenth_more_than_a_meter_can_show_is_not_a_sample(made, ratio, counted):
    t_s = np.arange(0, 30.05, 0.1)
    value = np.where(np.arange(len(t_s)) == 100, ratio * 60, 50 + np.sin(t_s))
    found = amount(made.stating("window mean", t_s, value, 0.1, most_w=60.0), 5, 25)
    assert (found.coverage_ratio == pytest.approx(1)) == counted
    assert ("1 samples exceed the 60 W that it can show" in " ".join(found.doubts)) == (not counted)


@pytest.mark.parametrize(
    ("shown", "failed"), [(9.85e37, False), (9.9e37, True), (np.inf, True), (-9.9e37, True)]
)
def test_an_instruments_words_for_no_number_are_none(made, shown, failed):
    t_s = np.arange(0, 30.05, 0.1)
    value = np.where(np.arange(len(t_s)) == 100, shown, 50 + np.sin(t_s))
    found = amount(made.stating("window mean", t_s, value, 0.1), 5, 25)
    assert (found.coverage_ratio < 0.999) == failed


@pytest.mark.parametrize(
    ("steps", "word"), [(2, "refused"), (3, "only 3 times"), (4, "only 4 times"), (5, "")]
)
def test_a_counter_with_fewer_than_three_steps_is_refused_and_with_fewer_than_five_doubted(made, steps, word):
    t_s = np.arange(0, 60, 0.5)
    value = 100 * np.floor((t_s - 4.9) / (20 / steps))  # steps right before the window and every 20 / steps s
    found = amount(made.stating("counter", t_s, value), 5, 25)
    assert (found.value is None) == (steps < 3)
    told = " ".join(found.doubts)
    assert (word in told) if word else "stepped" not in told


def read(made, ratio, **words):
    """Two clients that read 10 000 B each, of which disks and networks saw so much from 0.4 s before the
    baseline's end.
    """
    moved = made.results((10.0, 20.0), (10.0, 20.0), direction="read", moved_bytes=10_000)
    series = [
        made.counter(c, "network_received", words.get("network", 1.0) * ratio * 20_000 / 2 / 10.4)
        for c in ("client-1", "client-2")
    ]
    series += [
        made.counter(h, "disk_read", words.get("disk", 1.0) * ratio * 20_000 / 3 / 10.4) for h in SERVERS
    ]
    return plausibility.doubts(Reading(made.record(moved=moved), series))


@pytest.mark.parametrize(
    ("words", "told"),
    [({"network": 2.0}, "the servers' page cache"), ({"disk": 2.0}, "the clients' page cache")],
)
def test_reads_of_which_a_tenth_was_not_seen_came_from_a_cache(made, words, told):
    assert read(made, 0.93, **words) == ()
    (doubt,) = read(made, 0.87, **words)
    assert doubt.startswith(told)


@pytest.mark.parametrize(("ratio", "told"), [(0.94, False), (0.96, True), (1.04, True)])
def test_hosts_that_use_95_percent_of_a_machine_are_its_end(made, ratio, told):
    hosts = [h.name for h in made.record().hosts]
    series = [made.counter(h, "cpu", 2 * ratio / len(hosts)) for h in hosts]
    found = plausibility.doubts(
        Reading(made.record(cluster="odroid-hc4", environment={"cores_count": 2}), series)
    )
    shown = min(ratio, 1.0)  # no more than there is, whatever the counters add up to
    assert (
        any(f"the hosts used {100 * shown:.0f} % of this machine's CPUs" in doubt for doubt in found) == told
    )


@pytest.mark.parametrize(("spread_s", "told"), [(0.47, False), (0.49, True)])
def test_clients_that_start_a_twentieth_apart_are_reported(made, spread_s, told):
    found = list(
        overlap.doubts(Reading(made.record(moved=made.results((10.0, 20.0), (10.0 + spread_s, 20.0))), []))
    )
    assert bool(found) == told


@pytest.mark.parametrize(("last_s", "told"), [(24.9, False), (25.1, True)])
def test_clients_that_overlap_for_less_than_two_thirds_of_the_time_are_reported(made, last_s, told):
    found = " ".join(
        overlap.doubts(Reading(made.record(moved=made.results((10.0, 20.0), (10.0, last_s))), []))
    )
    assert (f"client-2 ended {last_s - 20:.3g} s after client-1" in found) == told


@pytest.mark.parametrize(("last_s", "rate"), [(108.0, True), (112.0, False)])
def test_clients_that_overlap_for_less_than_a_tenth_have_no_rate_together(made, last_s, rate):
    moved = made.results((10.0, 20.0), (10.0, last_s))
    (point,) = points(made.record(moved=moved, write_back_s=None), [])
    assert ("throughput_bytes_per_s" in point.metrics) == rate
    assert ("no aggregate rate is given" in " ".join(point.doubts)) == (not rate)


def log(made, host, rate):
    t_s = np.arange(10.5, 20.25, 0.5)
    return made.series(made.channel(host, "all", "goodput", "window mean", "counter", "fio"), t_s, rate, 0.5)


@pytest.mark.parametrize(("ratio", "given"), [(0.952, True), (0.948, False), (1.048, True), (1.052, False)])
def test_a_log_may_differ_from_a_clients_bytes_by_a_twentieth(made, ratio, given):
    record = made.record(moved=made.results((10.0, 20.0), (10.0, 20.0)), scale=0.5)
    series = [log(made, "client-1", 100.0), log(made, "client-2", 100.0 * ratio)]
    found = overlap.common_rate(Load(Reading(record, series), "write"))
    assert (found == pytest.approx((1 + ratio) * 100 / 0.5)) if given else found is None


@pytest.mark.parametrize(("ratio", "told"), [(1.01, False), (1.03, True)])
def test_two_percent_above_the_peak_or_a_network_is_too_fast(made, ratio, told):
    tpp = catalogue.tpp_bytes_per_s(catalogue.cluster("odroid-hc4"))
    moved = made.results((10.0, 20.0), moved_bytes=int(tpp * 10 * ratio))
    found = plausibility.doubts(Reading(made.record(moved=moved, cluster="odroid-hc4"), []))
    assert any(f"{ratio:.2f} times the theoretical peak" in doubt for doubt in found) == told
    series = [log(made, "client-1", tpp * ratio)]
    record = made.record(moved=moved, cluster="odroid-hc4")
    assert (overlap.common_rate(Load(Reading(record, series), "write")) is None) == told


@pytest.mark.parametrize(("ratio", "told"), [(1.01, False), (1.03, True)])
@pytest.mark.parametrize("direction", ["write", "read"])
def test_two_percent_above_its_own_disks_is_too_fast_for_a_client(made, direction, ratio, told):
    cluster = catalogue.cluster("odroid-hc4")
    node = next(n for n in cluster.nodes if n.disks)
    most = sum(
        (d.write_bytes_per_s if direction == "write" else d.read_bytes_per_s).value for d in node.disks
    )
    moved = made.results((10.0, 20.0), moved_bytes=int(most * 10 * ratio), direction=direction)
    record = made.record(moved=moved, cluster="odroid-hc4")
    hosts = tuple(replace(h, node=node.name) for h in record.hosts)
    found = plausibility.doubts(Reading(replace(record, hosts=hosts, data_hosts=("client-1",)), []))
    assert (
        any("1 % more than its disks" in doubt or "3 % more than its disks" in doubt for doubt in found)
        == told
    )


@pytest.mark.parametrize(("later_s", "durable"), [(0.48, True), (0.52, False)])
def test_other_loads_may_end_a_twentieth_of_a_burst_later(made, later_s, durable):
    moved = made.results((10.0, 20.0)) + made.results((12.0, 20.0 + later_s), direction="read")
    record = made.record(moved=moved, write_back_s=1.0)
    found = windows(record, [r for r in moved if r.direction == "write"])
    assert (found.durable, found.ended_s) == ((True, 21.0 + later_s) if durable else (False, 20.0))
    assert bool(found.doubts) == (not durable)


@pytest.mark.parametrize(("ratio", "told"), [(0.097, False), (0.103, True)])
def test_a_tenth_of_a_machine_for_strangers_is_too_much(made, ratio, told):
    def cpu(part, rate):
        t_s = np.arange(0, 30.25, 0.5)
        return made.series(made.channel("", part, "cpu", "counter", "counter", "system"), t_s, rate * t_s)

    record = replace(made.record(environment={"cores_count": 2}, tail_s=2.0))
    series = [made.counter(h.name, "cpu", 0.1) for h in record.hosts]
    series += [
        cpu("machine", 0.1 * len(record.hosts) + 0.2 + 2 * ratio),
        cpu("perjoule", 0.2),
        cpu("kernel", 0.0),
    ]
    assert interference.cpu_ratio(Reading(record, series)) == pytest.approx(ratio)
    assert bool(list(interference.doubts(Reading(record, series)))) == told


@pytest.mark.parametrize(("count", "told"), [(4, True), (5, False)])
def test_a_window_with_fewer_than_five_samples_of_power_is_short(made, count, told):
    moved = made.results((10.0, 10.0 + count * 0.5 + 0.2))
    (point,) = points(made.record(moved=moved, write_back_s=None), [made.steady(h, 10.0) for h in SERVERS])
    assert any(f"the window holds only {count} power samples" in doubt for doubt in point.doubts) == told


@pytest.mark.parametrize(("worse", "kept"), [(0.97, "energy"), (1.03, "power")])
def test_power_is_preferred_to_a_counter_twice_as_uncertain_and_by_more_than_a_percent(made, worse, kept):
    """Both have steps alone: of the counter q / sqrt(6), of power, which stands on one of them, q T /
    sqrt(12).
    """
    t_s = np.arange(0, 60.5, 0.5)
    # both edges at readings: s = 2, k = 1.96 for the counter's normal, 0.95 sqrt(3) for the rectangular power
    both = 1.0
    power_half = 0.95 * 1.0 / 2 * 20
    resolution_j = 2 * worse * power_half / 1.959964 * np.sqrt(6) * both
    counter = made.stating("counter", t_s, 50 * t_s, resolution=resolution_j)
    of = replace(
        counter.channel,
        quantity="power",
        semantics="window mean",
        specification=Specification(resolution=1.0),
    )
    power = made.series(of, t_s, 50.0, 0.5)
    (found,) = kept_of([counter, power], 20, 40)
    assert found.quantity == kept


@pytest.mark.parametrize(("stated", "kept"), [({}, "energy"), ({"latency_s": 0.0}, "power")])
def test_power_of_an_unknown_latency_may_be_as_old_as_its_last_sample(made, stated, kept):
    """Power rises by 40 W in the window: a second late is 2.4 % of the energy, and the counter has steps
    of 3 %.
    """
    t_s = np.arange(0, 61.0)
    counter = made.stating("counter", t_s, 20 * t_s + t_s**2, resolution=60.0)
    of = replace(
        counter.channel, quantity="power", semantics="window mean", specification=Specification(**stated)
    )
    (found,) = kept_of([counter, made.series(of, t_s, 19 + 2 * t_s, 1.0)], 20, 40)
    assert found.quantity == kept


@pytest.mark.parametrize("watts", [50.0, 0.005])
@pytest.mark.parametrize(("ratio", "kept"), [(0.0097, "energy"), (0.0103, "power")])
def test_a_counter_to_one_percent_is_good_enough_whatever_is_beside_it(made, ratio, kept, watts):
    t_s = np.arange(0, 60.5, 0.5)
    counter = made.stating("counter", t_s, watts * t_s, resolution=ratio * 20 * watts / 1.959964 * np.sqrt(6))
    stated = Specification(resolution=2e-5 * watts)
    of = replace(counter.channel, quantity="power", semantics="window mean", specification=stated)
    (found,) = kept_of([counter, made.series(of, t_s, watts, 0.5)], 20, 40)
    assert found.quantity == kept


def test_less_than_a_joule_is_an_energy(made):
    (point,) = points(
        made.record(write_back_s=None), [made.steady(h, 0.001, grade="modelled") for h in SERVERS]
    )
    assert point.metrics["energy_j"] == pytest.approx(3 * 0.001 * 10)


@pytest.mark.parametrize(("ratio", "seen"), [(0.98, False), (1.02, True)])
def test_an_outlier_is_three_and_a_half_deviations_from_the_median_of_logarithms(ratio, seen):
    logs = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, ratio * 3.5 * 0.75 / 0.6745])
    logs[-1] = ratio * 3.5 * np.median(np.abs(logs - np.median(logs))) / 0.6745 + np.median(logs)
    assert (outliers(tuple(np.exp(logs))) == (5,)) == seen
    assert outliers((100.0, 101.0, 99.0, 1000.0)) == ()  # four are too few


@pytest.mark.parametrize(("covered_s", "told"), [(0.97, False), (1.03, True)])
def test_a_mean_in_a_timeline_needs_half_of_its_time(made, covered_s, told):
    steady = made.stating("window mean", np.array([10.0]), 50.0, covered_s)
    assert np.isfinite(means(steady, np.array([8.0, 10.0])))[0] == told


@pytest.mark.parametrize(("off", "seen"), [(0.008, True), (0.012, False)])
def test_a_step_is_one_of_which_all_differences_are_multiples_to_a_percent(off, seen):
    value = np.cumsum([0.0, 1.0, -1.0, 2.0, 2.0 * (1 + off), -3.0])
    assert step(value) == (1.0 if seen else 0.0)
    assert step(np.array([1.0, 1.0])) == step(np.array([1.0, 2.0, 1.0])) == 0.0


@pytest.mark.parametrize(("count", "told"), [(4, False), (5, True)])
def test_of_fewer_than_five_samples_no_behaviour_is_stated(made, count, told):
    found = behaviour(made.stating("instantaneous", np.arange(float(count)), 50 + np.arange(count) % 2))
    assert np.isfinite(found.mean) == told
    assert (found.samples_count, found.failed_ratio) == (count, 0)


def test_the_noise_of_a_meter_is_that_of_a_single_sample_whatever_drifts(made):
    t_s = np.arange(20_000.0)
    value = 50 + 1e-4 * t_s + np.random.default_rng(1).normal(0, 0.5, len(t_s))
    assert behaviour(made.stating("instantaneous", t_s, value)).noise == pytest.approx(0.5, rel=0.03)


def test_of_several_powers_beside_a_counter_the_one_that_is_known_best_is_held_against_it(made):
    t_s = np.arange(0, 60.5, 0.5)
    counter = made.stating("counter", t_s, 50 * t_s, resolution=100.0)
    of = replace(
        counter.channel,
        quantity="power",
        semantics="window mean",
        specification=Specification(resolution=1e-3),
    )
    # which is refused
    slow = made.series(replace(of, semantics="instantaneous"), np.arange(0, 61.0, 3), 50.0)
    for beside in ([made.series(of, t_s, 50.0, 0.5), slow], [slow, made.series(of, t_s, 50.0, 0.5)]):
        assert {one.quantity for one in kept_of([counter, *beside], 20, 40)} == {"power"}
    assert {one.quantity for one in kept_of([counter, slow], 20, 40)} == {"energy"}


@pytest.mark.parametrize(
    ("value", "watts"),
    [([], []), ([5.0], []), ([5.0, 25.0], [10.0]), ([5.0, np.nan, 25.0], [5.0]), ([5.0, 1.0, 21.0], [10.0])],
)
def test_the_powers_of_a_counter_are_between_two_readings_and_a_fall_is_none(made, value, watts):
    t_s, found = powers(made.stating("counter", np.arange(len(value)) * 2.0, value))
    assert found.tolist() == watts
    assert len(t_s) == len(watts)
    assert powers(made.stating("instantaneous", np.arange(len(value)) * 2.0, value))[1].tolist() == [
        v for v in value if v == v
    ]


@pytest.mark.parametrize(("stated", "kept"), [({}, "power"), ({"period_s": 1.0}, "energy")])
def test_the_age_of_power_is_its_period_or_the_distance_of_its_samples_if_that_is_longer(made, stated, kept):
    """The power rises by 20 W: a latency of 0.1 s is an error of 0.2 %, one of 1 s of 2 %.

    The counter's resolution is 1.7 %.
    """
    t_s = np.arange(0, 30.05, 0.1)
    power = made.stating("instantaneous", t_s, 30 + 2 * np.clip(t_s - 10, 0, 10), **stated)
    counted_j = 30 * t_s + np.clip(t_s - 10, 0, 10) ** 2 + 20 * np.clip(t_s - 20, 0, None)
    counter = made.stating("counter", t_s[::5], counted_j[::5], resolution=30.0)
    assert [one.quantity for one in kept_of([counter, power], 10, 20)] == [kept]
