"""Laws of growth, trends and contrasts, held against the same made another way."""

from dataclasses import replace
from math import exp, inf, log, log1p, sqrt

import numpy as np
import pytest
from scipy import optimize, stats

from perjoule.model import Cell, Ran
from perjoule.statistics.contrast import Estimate, Sample, contrast
from perjoule.statistics.distributions import student_p, student_quantile
from perjoule.statistics.drift import TimedValue, Trend, inflation, trend
from perjoule.statistics.intervals import interval
from perjoule.statistics.ranks import kendall
from perjoule.statistics.scaling import ScalingLaw, power_law, scalability_law, scaling
from typed import present


def grown(law, counts, noise=0.02, repetitions_count=3, seed=1):
    dice = np.random.default_rng(seed)
    return {n: tuple(law(n) * (1 + dice.normal(0, noise, repetitions_count))) for n in counts}


def ends(found):
    return found.low, found.mean, found.high


def flat(values):
    return np.array([(n, v) for n, own in values.items() for v in own]).T


@pytest.mark.parametrize("seed", range(3))
def test_a_power_law_is_a_line_through_logarithms(seed):
    values = grown(lambda n: 100 * n**0.7, (2, 3, 5, 8), seed=seed)
    n, y = flat(values)
    line = stats.linregress(np.log(n), np.log(y))
    half = stats.t.ppf(0.975, len(y) - 2) * line.stderr
    found = power_law(values)
    assert (found.kind, found.scale) == ("power law", pytest.approx(exp(line.intercept)))
    assert ends(found.parameters["exponent"]) == pytest.approx(
        (line.slope - half, line.slope, line.slope + half)
    )
    assert found.at(6) == pytest.approx(exp(line.intercept) * 6**line.slope)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("serial", "crosstalk", "kind"), [(0.05, 0.02, "USL"), (0.1, 0.0, "Amdahl"), (0.3, -0.01, "USL")]
)
def test_the_scalability_law_is_fitted_to_relative_errors_with_intervals_of_the_delta_method(
    serial, crosstalk, kind, seed
):
    """The errors of value / law, to first order; their covariance at the parameters themselves."""
    values = grown(
        lambda n: 100 * n / (1 + serial * (n - 1) + crosstalk * n * (n - 1)), (1, 2, 4, 8), 0.01, seed=seed
    )
    n, y = flat(values)
    found = scalability_law(values)
    assert found.kind == kind
    names = ["serial", "crosstalk"][: 2 if kind == "USL" else 1]

    def off(p):
        return (1 + p[1] * (n - 1) + (p[2] * n * (n - 1) if len(p) > 2 else 0)) * y / n / p[0] - 1

    start = [found.scale, *(found.parameters[name].mean for name in names)]
    best = optimize.least_squares(off, start, x_scale=np.abs(start), xtol=1e-15, ftol=1e-15, gtol=1e-15)
    freedom = len(y) - len(start)
    slopes = np.asarray(best.jac)
    covariance = np.linalg.inv(slopes.T @ slopes) * 2 * best.cost / freedom
    assert found.scale == pytest.approx(best.x[0], rel=1e-6)
    for index, name in enumerate(names, start=1):
        half = stats.t.ppf(0.975, freedom) * sqrt(covariance[index, index])
        expected = (best.x[index] - half, best.x[index], best.x[index] + half)
        assert ends(found.parameters[name]) == pytest.approx(expected, rel=0.05, abs=1e-5)
    crosstalk_part = found.parameters["crosstalk"].mean * 6 * 5 if kind == "USL" else 0.0
    assert found.at(6) == pytest.approx(
        found.scale * 6 / (1 + found.parameters["serial"].mean * 5 + crosstalk_part)
    )


@pytest.mark.parametrize(
    ("crosstalk", "kind"), [(0.97e-3 / 56, "Amdahl"), (1.03e-3 / 56, "USL"), (-1.03e-3 / 56, "USL")]
)
def test_crosstalk_below_a_thousandth_of_the_ideal_is_none(crosstalk, kind):
    values = {n: (100 * n / (1 + 0.1 * (n - 1) + crosstalk * n * (n - 1)),) * 2 for n in (1, 2, 4, 8)}
    assert scalability_law(values).kind == kind


def cell(servers_count, values, metric="throughput_bytes_per_s"):
    plural = "s" * (servers_count > 1)
    return Cell(
        f"grows, {servers_count} server{plural}",
        "fio",
        "write",
        2,
        {metric: interval(values)},
        servers_count=servers_count,
    )


@pytest.mark.parametrize("bend", np.linspace(0.0, 0.1, 21))
def test_values_leave_the_power_law_by_an_f_test_at_five_percent(bend):
    values = grown(lambda n: 100 * n**0.8 * (1 + bend * (n == 2)), (1, 2, 4, 8), 0.02)
    n, y = flat(values)
    line = np.polyfit(np.log(n), np.log(y), 1)
    left = np.sum((np.log(y) - np.polyval(line, np.log(n))) ** 2)
    within = sum(np.sum((np.log(own) - np.mean(np.log(own))) ** 2) for own in values.values())
    p = stats.f.sf((left - within) / 2 / (within / (len(y) - 4)), 2, len(y) - 4)
    (found,) = scaling([cell(count, own) for count, own in values.items()])
    assert bool(found.doubts) == (p < 0.05)


def test_one_repetition_can_t_tell_that_values_leave_a_law_and_two_alike_can():
    bent = {n: 100.0 * min(n, 4) for n in (1, 2, 4, 8)}
    (once,) = scaling([cell(n, [v]) for n, v in bent.items()])
    assert once.doubts == ()
    (twice,) = scaling([cell(n, [v, v]) for n, v in bent.items()])
    assert len(twice.doubts) == 1


def test_what_is_ideal_grows_with_hosts_and_joules_do_not():
    rates = [cell(n, [100.0 * n * f, 102.0 * n * f]) for n, f in ((1, 1.0), (3, 0.9))]
    (found,) = scaling(rates)
    assert (found.filesystem, list(found.values), found.laws) == ("grows", [1, 3], ())
    assert (found.ideal(3), found.ideal(1)) == (pytest.approx(303), pytest.approx(101))
    assert found.of_ideal[3].mean == pytest.approx(0.9)
    assert found.of_ideal[3].values == pytest.approx([0.9])
    plain = contrast([(1, Sample((270.0, 275.4))), (-1, Sample((100.0, 102.0)))]).ratio
    assert (found.of_ideal[3].low, found.of_ideal[3].high) == pytest.approx((plain.low / 3, plain.high / 3))
    assert ScalingLaw("Amdahl", 10.0, {"serial": interval([0.5])}).at(3) == pytest.approx(15)
    assert scaling([cell(0, [1.0]), cell(2, [1.0])]) == ()
    assert scaling([cell(1, [0.0, 1.0]), cell(2, [1.0])]) == ()


def campaign(drift=0.0, correlation=0.0, count=24, cells=3, seed=0):
    dice = np.random.default_rng(seed)
    noise = dice.normal(0, 1, count)
    for t in range(1, count):
        noise[t] += correlation * noise[t - 1]
    scatter = 0.01 * (1 + np.arange(count) % cells)
    return [
        TimedValue(
            t % cells, 10.0 * t, 100 * (1 + t % cells) * exp(drift * t / (count - 1) + scatter[t] * noise[t])
        )
        for t in range(count)
    ]


def weighed(timed):
    """Residuals over their scatter, and times likewise: slope, its standard error, and residuals without
    it.
    """
    of = np.array([one.cell for one in timed])
    values, t_s = np.log([one.value for one in timed]), np.array([one.t_s for one in timed])
    for cell_of in set(of):
        values[of == cell_of] -= values[of == cell_of].mean()
        t_s[of == cell_of] -= t_s[of == cell_of].mean()
    counts = np.array([np.sum(of == one) for one in of])
    about = values - t_s * np.sum(t_s * values) / np.sum(t_s**2)
    variances = np.array([np.var(about[of == one], ddof=1) for one in of])
    quarter = sorted(np.var(about[of == one], ddof=1) for one in set(of))[len(set(of)) // 4]
    weight = 1 / np.sqrt((2 * quarter + (counts - 1) * variances) / (2 + counts - 1))
    freedom = len(timed) - len(set(of)) - 1
    slope = np.sum(weight**2 * t_s * values) / np.sum(weight**2 * t_s**2)
    rest = weight * (values - slope * t_s)
    return slope, sqrt(np.sum(rest**2) / freedom / np.sum(weight**2 * t_s**2)), rest, freedom


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("cells", [1, 3, 8])
def test_a_drift_is_the_slope_of_weighted_residuals_with_students_interval(cells, seed):
    timed = campaign(drift=0.05, cells=cells, seed=seed, count=32)
    found = present(trend(timed))
    slope, error, _, freedom = weighed(timed)
    if found.correlated:
        error *= sqrt(inflation(found.correlation_ratio))
    span_s = 310.0
    half = stats.t.ppf(0.975, freedom) * error
    low, mean, high = np.expm1(span_s * np.array([slope - half, slope, slope + half]))
    assert (found.drift_low_ratio, found.drift_ratio, found.drift_high_ratio) == pytest.approx(
        (low, mean, high)
    )
    assert found.drift_p == pytest.approx(2 * stats.t.sf(abs(slope / error), freedom))
    assert (found.error, found.freedom, found.span_s) == (pytest.approx(span_s * error), freedom, span_s)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_a_correlation_is_that_of_lag_one_less_what_exchanged_values_have(correlation):
    timed = campaign(correlation=correlation, count=40, seed=3)
    found = present(trend(timed))
    *_, rest, _ = weighed(timed)
    dice, of = np.random.default_rng(5), np.arange(40) % 3
    exchanged = np.tile(rest, (4000, 1))
    for one in range(3):
        exchanged[:, of == one] = dice.permuted(exchanged[:, of == one], axis=1)
    products = np.sum(exchanged[:, 1:] * exchanged[:, :-1], axis=1)
    assert found.correlation_ratio == pytest.approx(
        (rest[1:] @ rest[:-1] - products.mean()) / (rest @ rest), abs=0.01
    )
    share = np.mean(np.sum(np.diff(exchanged, axis=1) ** 2, axis=1) <= np.sum(np.diff(rest) ** 2))
    assert found.correlation_p == pytest.approx(share, abs=0.04)


@pytest.mark.parametrize(
    ("counts", "told"),
    [((2, 2), False), ((2, 2, 2), False), ((3, 3), True), ((2, 2, 2, 2), True), ((6, 1), True)],
)
def test_a_trend_needs_three_residuals_beyond_the_means_and_the_slope(counts, told):
    dice = np.random.default_rng(1)
    timed = [
        TimedValue(c, 10.0 * n + c, 100 + dice.normal())
        for c, count in enumerate(counts)
        for n in range(count)
    ]
    assert (trend(timed) is not None) == told


def test_a_value_that_is_not_positive_has_no_trend():
    timed = campaign()
    assert trend([*timed[:5], TimedValue(1, 55.0, 0.0), *timed[5:]]) is None


def test_a_trend_is_the_same_in_any_unit():
    timed = campaign(drift=0.05)
    small = present(trend([TimedValue(one.cell, one.t_s, 1e-6 * one.value) for one in timed]))
    assert (small.drift_ratio, small.drift_p) == pytest.approx(
        (present(trend(timed)).drift_ratio, present(trend(timed)).drift_p)
    )


def test_exchanges_that_tie_with_what_was_measured_are_as_low_as_it():
    """Of two values six times each, by runs (A. Wald, J.

    Wolfowitz 1940): 162 of 924 orders have 5 or fewer, 62 fewer.
    """
    values = [1.01 if sign == "+" else 1 / 1.01 for sign in "++---++---++"]
    found = present(trend([TimedValue("one", float(n), value) for n, value in enumerate(values)]))
    assert found.correlation_p == pytest.approx(162 / 924, abs=0.04)


def told(correlation, p):
    return Trend(0.0, 0.0, 0.0, 1.0, correlation, p, error=0.0, freedom=9, span_s=1.0)


def test_what_trials_some_places_apart_have_in_common():
    assert told(0.5, 0.001).between(3) == 0.5**3
    assert told(0.5, 0.001).between(0.5) == 0.5
    assert told(0.5, 0.06).between(3) == told(0.5, 0.06).between(2) == 0  # none that is significant
    assert told(0.5, 0.06).between(1.9) == 0.5**1.9  # neighbours
    assert told(-0.5, 0.001).between(1) == told(-0.5, 0.06).between(3) == 0
    assert told(0.97, 0.001).between(1) == 0.9
    assert (
        not told(-0.5, 0.009).correlated and told(0.5, 0.009).correlated and not told(0.5, 0.011).correlated
    )
    found = Trend(0.0, 0.0, 0.0, 0.009, 0.0, 1.0, error=0.0, freedom=9, span_s=1.0)
    assert found.drifts and not replace(found, drift_p=0.011).drifts


@pytest.mark.parametrize(("freedom", "beyond"), [(1, 0.05), (3.5, 0.05), (8, 0.01), (inf, 0.05)])
def test_quantiles_and_probabilities_are_students(freedom, beyond):
    t = student_quantile(freedom, beyond)
    assert t == pytest.approx(
        stats.t.ppf(1 - beyond / 2, freedom) if freedom < inf else stats.norm.ppf(1 - beyond / 2)
    )
    assert student_p(t, freedom) == student_p(-t, freedom) == pytest.approx(beyond)
    assert student_quantile(freedom) == pytest.approx(student_quantile(freedom, 0.05))


@pytest.mark.parametrize("parts", [(0.0, 0.0), (0.01, 0.0), (0.0, 0.02), (0.01, 0.02)])
@pytest.mark.parametrize("beyond", [0.05, 0.05 / 6])
def test_half_widths_of_scatter_drift_and_what_is_shared_add_up_in_quadrature(parts, beyond):
    drift, shared = parts
    found = Estimate(0.1, 0.03**2, 4.0, drift**2, 7.0, shared**2)
    t, u, z = stats.t.ppf(1 - beyond / 2, 4), stats.t.ppf(1 - beyond / 2, 7), stats.norm.ppf(1 - beyond / 2)
    half = sqrt((t * 0.03) ** 2 + (u * drift) ** 2 + (z * shared) ** 2)
    assert found.half(beyond) == pytest.approx(half)
    assert ends(found.interval(round(0.05 / beyond))) == pytest.approx(
        (exp(0.1 - half), exp(0.1), exp(0.1 + half))
    )
    assert found.half(found.p) == pytest.approx(0.1)
    assert ends(found.ratio) == ends(found.interval(1))


@pytest.mark.parametrize("value", [1e-9, 1e-3, 0.1, 0.96, 3.0])
@pytest.mark.parametrize(("freedom", "drift_freedom"), [(1.0, 40.0), (7.0, 1.0), (2.0, inf), (60.0, 60.0)])
@pytest.mark.parametrize("part", [1e-9, 0.005, 1.0])
def test_a_p_is_the_share_outside_of_an_interval_that_ends_at_a_ratio_of_one(
    value, freedom, drift_freedom, part
):
    found = Estimate(value, 1.5e-4, freedom, part if drift_freedom < inf else 0.0, drift_freedom, part / 100)
    degrees = [(found.scatter, freedom), (found.drift, drift_freedom), (found.shared, inf)]
    quantiles = [
        (stats.t(degree) if degree < inf else stats.norm()).ppf(1 - found.p / 2) for _, degree in degrees
    ]
    half = sqrt(sum(t**2 * square for t, (square, _) in zip(quantiles, degrees, strict=True)))
    assert 0 < found.p < 1
    if found.p > 2e-15:  # 1 - p / 2 has no digit left
        assert half == pytest.approx(value, rel=1e-6)


def test_the_p_of_nothing_and_of_what_has_no_error():
    assert Estimate(0.0, 0.01, 4.0).p == Estimate(0.5, inf, 0.0).p == 1
    assert Estimate(0.5, 0.0, 4.0).p == 0
    assert Estimate(5.0, 1e-6, 40.0, shared=1e-6).p < 1e-14
    assert Estimate(0.5, 0.01, 0.0).error == Estimate(0.5, 0.01, 0.0).half(0.05) == inf


def test_a_ratio_that_is_not_a_float_any_more_is_infinite():
    found = Estimate(0.0, 100.0**2, 1.0).ratio
    assert (found.low, found.high) == (exp(-700), inf)
    assert Estimate(0.0, 54.5**2, 1.0).ratio.high == pytest.approx(exp(12.7062047 * 54.5), rel=1e-4)


def sampled(values, began_s, **words):
    ran = tuple(Ran(n, float(b), b + 2.0) for n, b in enumerate(began_s, start=1))
    return Sample(tuple(values), ran, **words)


def test_a_drift_counts_by_the_distance_of_mean_times_and_by_its_error():
    steep = Trend(0.1, 0.05, 0.15, 1e-6, 0.0, 1.0, error=0.03, freedom=9, span_s=100.0)
    one = sampled((100.0, 101.0, 102.0), (0, 10, 20), trend=steep)
    other = sampled((110.0, 112.0, 111.0), (40, 50, 60), trend=steep)
    found = contrast([(1, other), (-1, one)])
    assert found.drift == pytest.approx(0.4**2 * (log1p(0.1) ** 2 + 0.03**2))
    assert (found.drift_freedom, found.count) == (9, 3)


def test_neighbours_that_are_alike_count_as_fewer_values():
    alike = Trend(0.0, -0.1, 0.1, 1.0, 0.5, 0.001, error=0.0, freedom=9, span_s=100.0)
    one, other = (100.0, 103.0, 101.0, 99.0, 104.0, 102.0), (110.0, 113.0, 109.0, 111.0, 115.0, 108.0)
    began_s = range(0, 120, 10)
    terms = [
        (1, sampled(other, began_s[6:], trend=alike, gap=2.0)),
        (-1, sampled(one, began_s[:6], trend=alike, gap=2.0)),
    ]
    grown_by = (1 + 0.25) / (1 - 0.25)
    parts = [np.var(np.log(own), ddof=1) / 6 * grown_by for own in (one, other)]
    found = contrast(terms)
    assert found.scatter == pytest.approx(sum(parts))
    assert found.freedom == int(sum(parts) ** 2 / sum(p**2 for p in parts) * (6 / grown_by - 1))
    same = Sample((5.0, 5.0, 5.0))
    assert (contrast([(1, same), (-1, same)]).scatter, contrast([(1, same), (-1, same)]).freedom) == (0, 4)


@pytest.mark.parametrize("count", [2, 3, 8, 9, 12])
def test_tau_of_any_number_of_ranks_is_that_of_scipy(count):
    dice = np.random.default_rng(count)
    one, other = dice.permutation(count), dice.integers(0, max(2, count - 1), count)
    tau, p, least = kendall(one.tolist(), other.tolist())
    reference = stats.kendalltau(one, other)
    if len(set(other.tolist())) == 1:
        assert (tau, p, least) == (0, 1, 1)
        return
    assert tau == pytest.approx(reference.statistic)
    if count > 8:
        assert (p, least) == (pytest.approx(reference.pvalue), 0)


def test_the_logarithm_of_a_ratio_is_what_is_judged():
    found = contrast([(1, Sample((110.0,))), (-1, Sample((100.0,)))])
    assert (found.value, found.freedom, found.count) == (pytest.approx(log(1.1)), 0, 1)


@pytest.mark.parametrize("metric", ["efficiency_bytes_per_j", "operations_per_j"])
def test_work_per_joule_is_ideally_constant_and_has_a_power_law_but_no_law_of_speed_ups(metric):
    cells = [cell(n, [v, 1.01 * v], metric) for n, v in ((1, 10.0), (2, 9.0), (4, 8.0), (8, 7.0))]
    (found,) = scaling(cells)
    assert found.ideal(8) == pytest.approx(10.05)
    assert found.of_ideal[8].mean == pytest.approx(0.7)
    assert ([law.kind for law in found.laws], found.refused) == (["power law"], ())
    (few,) = scaling(cells[:2])
    assert few.refused == ("no power law: 2 numbers of storage hosts, but it needs 3",)


def of_ideal(two, one, wider=1.0, shared=0.0):
    """The ratio of geometric means to that of one host with its interval after Welch, by
    how-numbers-are-made.md, "The best".
    """
    logs = [np.log(two), np.log(one)]
    parts = [np.var(own, ddof=1) / len(own) for own in logs]
    freedom = int(
        sum(parts) ** 2 / sum(part**2 / (len(own) - 1) for part, own in zip(parts, logs, strict=True))
    )
    half = sqrt(
        stats.t.ppf(0.975, freedom) ** 2 * wider**2 * sum(parts) + stats.norm.ppf(0.975) ** 2 * shared**2
    )
    middle = np.mean(logs[0]) - np.mean(logs[1])
    return exp(middle - half), exp(middle), exp(middle + half)


def test_a_stop_rule_widens_what_is_reached_of_the_ideal():
    alone, grew = [100.0, 104.0, 97.0], [186.0, 180.0, 189.0]
    cells = [replace(cell(n, values), widening=1.2) for n, values in ((1, alone), (2, grew))]
    (found,) = scaling(cells)
    assert ends(found.of_ideal[2]) == pytest.approx(
        tuple(end / 2 for end in of_ideal(grew, alone, wider=1.2))
    )


def test_errors_that_all_repetitions_share_widen_what_is_reached_of_the_ideal_by_their_difference():
    metric, alone, grew = "efficiency_bytes_per_j", [10.0, 10.4, 9.7], [9.3, 9.0, 9.4]
    shared = {1: {metric: {"idle power": 0.05}}, 2: {metric: {"idle power": 0.02}}}
    cells = [
        replace(cell(n, values, metric), grade="modelled", shared=shared[n])
        for n, values in ((1, alone), (2, grew))
    ]
    (found,) = scaling(cells)
    assert ends(found.of_ideal[2]) == pytest.approx(of_ideal(grew, alone, shared=0.03))


def test_a_stop_rule_widens_the_intervals_of_laws():
    values = grown(lambda n: 100 * n / (1 + 0.05 * (n - 1) + 0.02 * n * (n - 1)), (1, 2, 4, 8), 0.01)
    laws = [
        {
            law.kind: law
            for law in scaling([replace(cell(n, v), widening=w) for n, v in values.items()])[0].laws
        }
        for w in (1, 1.15)
    ]
    plain, wide = laws
    assert plain.keys() == wide.keys() == {"power law", "USL"}
    n, y = flat(values)
    line = stats.linregress(np.log(n), np.log(y))
    half = 1.15 * stats.t.ppf(0.975, len(y) - 2) * line.stderr
    assert ends(wide["power law"].parameters["exponent"]) == pytest.approx(
        (line.slope - half, line.slope, line.slope + half)
    )
    for name, own in plain["USL"].parameters.items():
        low, high = (own.mean + 1.15 * (end - own.mean) for end in (own.low, own.high))
        assert ends(wide["USL"].parameters[name]) == pytest.approx((low, own.mean, high))


def graded(counts_of_grades, metric="efficiency_bytes_per_j"):
    return [
        replace(cell(n, [10.0 / n, 10.1 / n], metric), grade=grade)
        for grade, ns in counts_of_grades.items()
        for n in ns
    ]


def test_joules_of_different_grades_have_ideals_of_their_own():
    refused = "power is of different grades (modelled, wall)"
    wall, modelled = scaling(graded({"wall": (1,), "modelled": (2, 4)}))
    assert [(one.filesystem, list(one.values), list(one.of_ideal)) for one in (wall, modelled)] == [
        ("grows, wall", [1], []),
        ("grows, modelled", [2, 4], [4]),
    ]
    assert wall.refused[0] == modelled.refused[0] == refused
    assert modelled.of_ideal[4].mean == pytest.approx(0.5)
    rates = scaling(graded({"wall": (1,), "modelled": (2, 4)}, "throughput_bytes_per_s"))
    assert [(one.filesystem, list(one.values)) for one in rates] == [("grows", [1, 2, 4])]
    assert [one.filesystem for one in scaling(graded({"wall": (1, 2)}))] == ["grows"]
    assert scaling(graded({"wall": (2,)})) == ()
