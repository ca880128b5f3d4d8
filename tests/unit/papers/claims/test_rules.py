"""Each rule of claims at both sides of each verdict, with intervals computed again from their definition."""

from dataclasses import replace
from math import exp, log, sqrt
from statistics import fmean, stdev, variance

import pytest
from scipy import stats

from perjoule.model import Cell
from perjoule.papers import published
from perjoule.papers.audit import audit
from perjoule.papers.claims import judged
from perjoule.papers.facts import MeasuredMetric
from perjoule.statistics.intervals import interval
from perjoule.statistics.spread import Spreads, spread_ratio
from typed import present

SPREAD = (0.99, 1.0, 1.01, 1.0, 0.995)
RATE = "throughput_bytes_per_s"
PAPER = """
title = "Invented"
authors = "Nobody"
reference = "nowhere"

[configuration.a]
filesystem = "moosefs"
cluster = "{one}"

[configuration.b]
filesystem = "cephfs"
cluster = "{two}"

[[table]]
place = "Table I"
number = [
  {{ id = "three", quantity = "ratio", printed = "3 times", statistic = "nominal" }},
  {{ id = "few", quantity = "throughput", printed = "100 MiB/s", statistic = "nominal", what = "limit" }},
  {{ id = "many", quantity = "throughput", printed = "200 MiB/s", statistic = "nominal", what = "limit" }},
]

[[claim]]
place = "section 1"
text = "so it is"
{claim}
"""
BETWEEN = 'among = { quantity = "throughput" }\nwhich = { filesystem = "moosefs" }\nthan = { filesystem = "cephfs" }\n'


def rates(name, by_clients, *, cluster="", spread=SPREAD, grade="", metric=RATE, unit=2**20):
    found = []
    for clients, rate in by_clients.items():
        cell = Cell(
            name, "fio", "read", clients, {metric: interval([rate * unit * s for s in spread])}, grade=grade
        )
        facts = {"filesystem": name, "direction": "read", "clients": clients, "cluster": cluster}
        found.append(MeasuredMetric(metric, facts, cell))
    return found


def verdict(claim, measured, *, one="", two=""):
    (found,) = judged(published.read(PAPER.format(claim=claim, one=one, two=two), "invented"), measured)
    return found


def pair(moosefs, cephfs=100.0, **words):
    """Both, with as many clients as there are rates."""
    return [
        *rates("moosefs", dict(enumerate(moosefs, start=1)), **words),
        *rates("cephfs", dict.fromkeys(range(1, len(moosefs) + 1), cephfs), **words),
    ]


def welch(first, second, count):
    """The ratio of geometric means and its interval, by the definition of "The best"."""
    a, b = [log(v) for v in first], [log(v) for v in second]
    parts = [variance(values) / len(values) for values in (a, b)]
    freedom = sum(parts) ** 2 / sum(p**2 / (len(v) - 1) for p, v in zip(parts, (a, b), strict=True))
    half = stats.t.ppf(1 - 0.05 / count / 2, int(freedom + 1e-9)) * sqrt(sum(parts))
    mean = fmean(a) - fmean(b)
    return exp(mean), exp(mean - half), exp(mean + half)


@pytest.mark.parametrize(
    ("cases", "moosefs", "expected"),
    [
        ("all", (200, 200, 200, 200, 200), "holds here"),
        ("all", (90, 200, 200, 200, 200), "doesn't hold here"),
        ("nearly all", (90, 200, 200, 200, 200), "holds here"),
        ("nearly all", (90, 90, 200, 200, 200), "doesn't hold here"),
        ("nearly all", (90, 200, 200, 200), "doesn't hold here"),  # one of four is more than one of five
        ("nearly all", (100, 100, 100, 100, 100), "can't tell"),
        ("most", (90, 90, 200, 200, 200), "holds here"),
        ("most", (90, 90, 90, 500, 500), "doesn't hold here"),
        ("most", (90, 500, 500, 500), "holds here"),
        ("most", (90, 500), "doesn't hold here"),  # a half is not most
    ],
)
def test_some_cases_may_be_reversed_where_the_paper_says_so(cases, moosefs, expected):
    found = verdict(f'rule = "above"\ncases = "{cases}"\n{BETWEEN}', pair(moosefs))
    assert (found.verdict, found.cases_count) == (expected, len(moosefs))
    assert ("reversed" in found.why) == (min(moosefs) < 100)
    reversed_count = sum(rate < 100 for rate in moosefs)
    of_all = f" ({reversed_count} of {len(moosefs)} cases); over all cases the ratio is "
    assert (of_all in found.why) == (reversed_count > 0)


def test_what_is_reversed_most_is_what_a_reversed_claim_shows():
    found = verdict(f'rule = "above"\n{BETWEEN}', pair((90.0, 60.0, 80.0, 500.0)))
    assert (found.verdict, present(found.ratio).mean) == ("doesn't hold here", pytest.approx(0.6))


@pytest.mark.parametrize(
    ("moosefs", "spread", "expected"),
    [
        ((120.0, 95.0), SPREAD, "holds here"),
        ((120.0, 150.0), SPREAD, "doesn't hold here"),
        ((60.0, 100.0), SPREAD, "doesn't hold here"),
        ((125.0, 100.0), SPREAD, "can't tell"),
        ((80.0, 100.0), SPREAD, "can't tell"),
        ((120.0, 95.0), (0.7, 1.0, 1.4), "can't tell"),
        ((120.0, 95.0), (1.0,), "can't tell"),
    ],
)
def test_similar_is_within_a_factor_by_intervals(moosefs, spread, expected):
    """What decides is the ratio furthest from 1: of those outside, if there are any."""
    found = verdict(f'rule = "similar"\n{BETWEEN}', pair(moosefs, spread=spread))
    assert found.verdict == expected
    if len(spread) > 1:
        inconclusive = " of 2 cases are inconclusive"
        assert found.why.endswith(inconclusive) == (expected == "can't tell")
        own = [welch([rate * s for s in spread], [100 * s for s in spread], len(moosefs)) for rate in moosefs]
        inside = [low >= 0.8 and high <= 1.25 for _, low, high in own]
        outside = [low > 1.25 or high < 0.8 for _, low, high in own]
        assert (all(inside), any(outside)) == (expected == "holds here", expected == "doesn't hold here")
        candidates = [of for of, out in zip(own, outside, strict=True) if out or not any(outside)]
        assert (
            present(found.ratio).mean,
            present(found.ratio).low,
            present(found.ratio).high,
        ) == pytest.approx(max(candidates, key=lambda of: abs(log(of[0]))))


@pytest.mark.parametrize(
    ("moosefs", "expected"),
    [
        ((150.0, 310.0), "holds here"),
        ((150.0, 160.0), "doesn't hold here"),  # the largest is far below 3
        ((150.0, 450.0), "doesn't hold here"),  # and far above
        ((150.0, 375.0), "can't tell"),
        ((150.0, 240.0), "can't tell"),
    ],
)
def test_up_to_is_about_the_largest_ratio_alone(moosefs, expected):
    found = verdict(f'rule = "up to"\nfactor = "three"\n{BETWEEN}', pair(moosefs))
    assert found.verdict == expected
    assert found.why.startswith(f"the largest is {max(moosefs) / 100:.2f} (")
    assert "2 clients), claimed is 3.00" in found.why
    reaches = "; its interval reaches beyond a factor of 1.25 of that"
    assert found.why.endswith(reaches) == (expected == "can't tell")
    own = [welch([rate * s for s in SPREAD], [100 * s for s in SPREAD], len(moosefs)) for rate in moosefs]
    assert (present(found.ratio).mean, present(found.ratio).low, present(found.ratio).high) == pytest.approx(
        [max(ends) / 3 for ends in zip(*own, strict=True)]
    )


@pytest.mark.parametrize(
    ("moosefs", "expected"),
    [(400.0, "holds here"), (200.0, "doesn't hold here"), (300.0, "can't tell")],
)
def test_a_factor_is_what_the_first_must_exceed_the_second_by(moosefs, expected):
    found = verdict(f'rule = "above"\nfactor = "three"\n{BETWEEN}', pair((moosefs,)))
    assert found.verdict == expected
    assert "cases" not in found.why  # it is the only one
    assert present(found.ratio).mean == pytest.approx(moosefs / 300)


@pytest.mark.parametrize(
    ("rule", "of_each", "expected"),
    [
        # three over one and two over the other, as both are claimed to be
        ("above", (330.0, 220.0), "holds here"),
        ("above", (330.0, 180.0), "doesn't hold here"),  # reversed for the second alone
        ("above", (250.0, 270.0), "doesn't hold here"),
        ("up to", (180.0, 200.0), "holds here"),  # 0.6 of the one and all of the other
        ("up to", (300.0, 100.0), "holds here"),
        ("up to", (180.0, 100.0), "doesn't hold here"),
        ("up to", (300.0, 300.0), "doesn't hold here"),
    ],
)
def test_pairs_may_have_factors_of_their_own(rule, of_each, expected):
    claim = (
        f'rule = "{rule}"\namong = {{ quantity = "throughput" }}\n'
        'pairs = [[{ cluster = "a" }, { cluster = "unit" }], [{ cluster = "b" }, { cluster = "unit" }]]\n'
        'factors = ["three", "three - 1"]'
    )
    clusters_rates = dict(zip(("a", "b", "unit"), (*of_each, 100.0), strict=True))
    each = [
        measured
        for cluster, rate in clusters_rates.items()
        for measured in rates("moosefs", {1: rate}, cluster=cluster)
    ]
    found = verdict(claim, each)
    assert (found.verdict, found.cases_count) == (expected, 2)


MACHINES = ("pc-ssd", "mpsoc-ssd", "pc-hdd", "mpsoc-hdd")


def machines(*of_each, **words):
    return [
        one
        for name, rate in zip(MACHINES, of_each, strict=True)
        for one in rates("device", {1: rate}, cluster=name, **words)
    ]


def clusters(first, second):
    return f'[[{{ cluster = "{first}" }}, {{ cluster = "{second}" }}]]'


@pytest.mark.parametrize(
    ("of_each", "expected"),
    [
        ((800, 100, 150, 100), "holds here"),
        ((150, 100, 800, 100), "doesn't hold here"),
        ((150, 100, 300, 200), "can't tell"),
    ],
)
def test_a_ratio_of_ratios_is_judged_by_its_four_samples(of_each, expected):
    claim = (
        'rule = "wider"\namong = { quantity = "throughput" }\n'
        f"wider = {clusters('pc-ssd', 'mpsoc-ssd')}\nnarrower = {clusters('pc-hdd', 'mpsoc-hdd')}"
    )
    found = verdict(claim, machines(*of_each))
    a, b, c, d = of_each
    assert (found.verdict, found.cases_count) == (expected, 1)
    assert present(found.ratio).mean == pytest.approx(a / b / (c / d))
    scatter = 4 * variance([log(s) for s in SPREAD]) / 5
    half = stats.t.ppf(0.975, 16) * sqrt(scatter)  # four alike: 16 degrees of freedom
    assert log(present(found.ratio).high / present(found.ratio).mean) == pytest.approx(half)


CROSSING = BETWEEN + 'along = "clients"\nrule = "crossing"'


@pytest.mark.parametrize(
    ("moosefs", "expected"),
    [
        ((50.0, 70.0, 150.0), "holds here"),
        ((50.0, 150.0), "holds here"),
        ((50.0, 70.0, 90.0), "doesn't hold here"),  # still below at the end
        ((110.0, 70.0, 150.0), "doesn't hold here"),  # above at first
        ((50.0, 300.0, 100.0), "can't tell"),  # what lies between doesn't matter
        ((100.0, 100.0, 150.0), "can't tell"),
    ],
)
def test_curves_cross_if_both_ends_are_as_claimed(moosefs, expected):
    found = verdict(CROSSING, pair(moosefs))
    assert (found.verdict, found.cases_count) == (expected, 2)
    assert verdict(CROSSING, pair(moosefs[:1])).why == "nothing that the claim is about was measured"


@pytest.mark.parametrize(
    ("limits", "spread", "expected"),
    [
        ('most = "many"', SPREAD, "holds here"),
        ('least = "few"\nmost = "many"', SPREAD, "holds here"),
        ('most = "few"', SPREAD, "doesn't hold here"),
        ('least = "many"', SPREAD, "doesn't hold here"),
        ('most = "few * 3 / 2"', SPREAD, "can't tell"),
        ('most = "many"', (0.5, 1.0, 1.5), "can't tell"),
        ('most = "many"', (1.0,), "can't tell"),
        ('most = "many"', (0.99, 1.01), "holds here"),
    ],
)
def test_limits_are_kept_or_not_by_the_intervals_of_the_numbers(limits, spread, expected):
    claim = f'rule = "bounded"\namong = {{ quantity = "throughput" }}\n{limits}'
    found = verdict(claim, rates("moosefs", {1: 150.0}, spread=spread))
    assert (found.verdict, found.cases_count) == (expected, 1)


ABOVE = 'rule = "bounded"\namong = { quantity = "throughput" }\nmost = "few"'


def test_intervals_of_all_numbers_with_a_limit_hold_together():
    """Half a 95 % interval of the logarithm is 0.0092, and 0.0186 where it is one of ten; 101.4 is 0.0129 above."""
    halves = [
        stats.t.ppf(1 - 0.05 / count / 2, 4) * sqrt(variance(map(log, SPREAD)) / 5) for count in (1, 10)
    ]
    assert halves[0] < log(101.4 / 100) + fmean(map(log, SPREAD)) < halves[1]
    numbers = [verdict(ABOVE, rates("moosefs", dict.fromkeys(range(count), 101.4))) for count in (1, 10)]
    assert [number.verdict for number in numbers] == ["doesn't hold here", "can't tell"]


def test_a_number_with_a_limit_is_as_uncertain_as_what_all_its_repetitions_share():
    (alone,) = rates("moosefs", {1: 110.0})
    shared = {RATE: {"meter: gain": 0.1}}
    verdicts = [
        verdict(ABOVE, [replace(alone, cell=replace(alone.cell, shared=s))]).verdict for s in ({}, shared)
    ]
    assert verdicts == ["doesn't hold here", "can't tell"]


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ('least = "few"\nmost = "few * 3 / 2"', "intervals reach beyond 100 to 150 MiB/s"),
        ('most = "few"', "not within -inf to 100 MiB/s: moosefs, read, 1 client: 150 (1 of 1 cases)"),
        ('least = "many"', "not within 200 to inf MiB/s: moosefs, read, 1 client: 150 (1 of 1 cases)"),
    ],
)
def test_limits_that_are_not_kept_are_named_in_the_unit_of_the_metric(limits, why):
    claim = f'rule = "bounded"\namong = {{ quantity = "throughput" }}\n{limits}'
    assert verdict(claim, rates("moosefs", {1: 150.0}, spread=(0.99, 1.0, 1.01))).why == why


@pytest.mark.parametrize("rule", ["up to", "similar", "above", "crossing"])
def test_one_repetition_tells_nothing_whatever_the_rule(rule):
    claim = (
        f'rule = "{rule}"\n{BETWEEN}along = "clients"'
        if rule == "crossing"
        else f'rule = "{rule}"\n{BETWEEN}'
    )
    found = verdict(claim, pair((100.0, 120.0), spread=(1.0,)))
    assert (found.verdict, found.why) == ("can't tell", "one repetition is not enough to tell")


@pytest.mark.parametrize("rule", ["up to", "similar", "above", "crossing"])
@pytest.mark.parametrize("alone", [0, 1])
def test_one_repetition_of_one_case_tells_nothing_whatever_the_others_have(rule, alone):
    spreads: list[tuple[float, ...]] = [SPREAD, SPREAD]
    spreads[alone] = (1.0,)
    measured = [
        one
        for clients, spread in enumerate(spreads, start=1)
        for name, rate in (("moosefs", 300.0), ("cephfs", 100.0))
        for one in rates(name, {clients: rate}, spread=spread)
    ]
    found = verdict(f'rule = "{rule}"\n{BETWEEN}' + 'along = "clients"' * (rule == "crossing"), measured)
    assert (found.verdict, found.why) == ("can't tell", "one repetition is not enough to tell")


@pytest.mark.parametrize(
    ("beyond_count", "cases", "expected"),
    [
        (1, "nearly all", "holds here"),
        (2, "nearly all", "doesn't hold here"),
        (1, "all", "doesn't hold here"),
    ],
)
def test_of_five_numbers_one_may_be_beyond_a_limit_that_nearly_all_keep(beyond_count, cases, expected):
    numbers = rates("moosefs", {n: 50.0 if n > beyond_count else 150.0 for n in range(1, 6)})
    found = verdict(f'{ABOVE}\ncases = "{cases}"', numbers)
    assert (found.verdict, found.cases_count) == (expected, 5)
    assert found.why.endswith(f" ({beyond_count} of 5 cases)")


def test_limits_tell_nothing_where_one_number_was_measured_once():
    claim = 'rule = "bounded"\namong = { quantity = "throughput" }\nmost = "many"'
    both = [*rates("moosefs", {1: 150.0}), *rates("moosefs", {2: 150.0}, spread=(1.0,))]
    assert (verdict(claim, both[:1]).verdict, verdict(claim, both).verdict) == ("holds here", "can't tell")


@pytest.mark.parametrize(
    ("of_each", "expected"),
    [
        # ssd in the board for hdd in the pc is better, and hdd for hdd is not
        ((800, 300, 150, 100), "holds here"),
        ((800, 300, 150, 400), "doesn't hold here"),
        ((800, 100, 150, 100), "doesn't hold here"),
        ((800, 150, 150, 100), "can't tell"),
        ((800, 300, 150, 150), "holds here"),  # no relevant difference is not better
    ],
)
def test_only_if_is_so_for_some_and_not_for_the_others(of_each, expected):
    claim = (
        'rule = "only if"\namong = { quantity = "throughput" }\n'
        f"pairs = {clusters('mpsoc-ssd', 'pc-hdd')}\nothers = {clusters('mpsoc-hdd', 'pc-hdd')}"
    )
    found = verdict(claim, machines(*of_each))
    assert (found.verdict, found.cases_count) == (expected, 2)


def energies(times, powers):
    each = []
    for clients, factor in ((1, 1.0), (2, 3.0)):
        joules = [factor * t * p for t, p in zip(times, powers, strict=True)]
        edp = [j * t for j, t in zip(joules, times, strict=True)]
        numbers = {"energy_j": joules, "duration_s": times, "edp_js": edp}
        cell = Cell("m", "fio", "read", clients, {key: interval(values) for key, values in numbers.items()})
        each.append(MeasuredMetric("edp_js", {"filesystem": "moosefs", "clients": clients}, cell))
    return each


SCATTER = 'rule = "scatter"\namong = { quantity = "energy-delay product" }\nweights = [1, 2]'


@pytest.mark.parametrize(
    ("times", "powers", "expected"),
    [
        ((10.0, 11.0, 9.5, 10.4), (50.0, 50.5, 50.1, 49.9), "holds here"),
        ((10.0, 12.0, 9.0, 11.0), (50.5, 28.5, 69.0, 37.4), "doesn't hold here"),  # a slower run draws less
        ((10.0, 11.0, 9.0, 10.0), (65.0, 35.5, 58.5, 45.0), "can't tell"),
    ],
)
def test_scatter_grows_with_the_weight_by_the_test_of_two_dependent_variances(times, powers, expected):
    found = verdict(SCATTER, energies(times, powers)[:1])
    first = [log(t * t * p) for t, p in zip(times, powers, strict=True)]
    second = [x + log(t) for x, t in zip(first, times, strict=True)]
    # Pitman: variances are equal if sum and difference are uncorrelated
    sums = [b + a - fmean(second) - fmean(first) for a, b in zip(first, second, strict=True)]
    differences = [b - a - fmean(second) + fmean(first) for a, b in zip(first, second, strict=True)]
    r = sum(x * y for x, y in zip(sums, differences, strict=True)) / sqrt(
        sum(x * x for x in sums) * sum(y * y for y in differences)
    )
    freedom = 4 - 1 - 1
    p = 2 * stats.t.sf(abs(r) * sqrt(freedom / (1 - r * r)), freedom)
    assert found.p == pytest.approx(p)
    assert present(found.ratio).mean == pytest.approx(sqrt(variance(second) / variance(first)))
    assert found.verdict == expected
    assert (present(found.ratio).low > 1 or present(found.ratio).high < 1) == (p < 0.05)
    assert (
        found.why
        == {
            "holds here": "",
            "doesn't hold here": "the scatter falls",
            "can't tell": "the interval of the scatters' ratio includes 1",
        }[expected]
    )


@pytest.mark.parametrize(
    ("other_powers", "expected"),
    [((50.0, 51.0, 50.5, 49.5), "holds here"), ((65.0, 35.5, 58.5, 45.0), "can't tell")],
)
def test_scatter_of_several_rows_goes_by_the_logarithms_of_their_ratios(other_powers, expected):
    times, powers = (10.0, 11.0, 9.5, 10.4), (50.0, 50.5, 50.1, 49.9)
    found = verdict(SCATTER, [*energies(times, powers)[:1], *energies(times, other_powers)[1:]])
    logs = [
        log(stdev(log(t**3 * w) for t, w in zip(times, row, strict=True)))
        - log(stdev(log(t**2 * w) for t, w in zip(times, row, strict=True)))
        for row in (powers, other_powers)
    ]
    assert present(found.ratio).mean == pytest.approx(exp(fmean(logs)))
    assert found.p == pytest.approx(stats.ttest_1samp(logs, 0.0).pvalue)
    assert (found.verdict, found.cases_count) == (expected, 2)


def test_the_interval_of_two_scatters_holds_in_95_of_100():
    rng = __import__("random").Random(7)
    covered = 0
    for _ in range(1000):
        groups = []
        for _ in range(2):
            common = [rng.gauss(0, 1) for _ in range(4)]
            groups.append(Spreads([(c + rng.gauss(0, 0.5), 2 * c + rng.gauss(0, 1)) for c in common]))
        ratio, _p = spread_ratio(groups)
        covered += present(ratio).low <= 2 <= present(ratio).high  # the true ratio of standard deviations
    assert 0.93 < covered / 1000 < 0.97
    assert spread_ratio([Spreads([(1.0, 1.0), (1.0, 2.0)])]) == (None, None)


def test_watts_that_the_paper_contradicts_tell_nothing_unless_they_were_measured():
    claim = (
        'rule = "above"\namong = { quantity = "power" }\nwhich = { filesystem = "moosefs" }\n'
        'than = { filesystem = "cephfs" }\nunmodelled = "the paper implies others"'
    )
    both = {
        grade: pair((80.0,), 50.0, metric="mean_w", unit=1, grade=grade) for grade in ("modelled", "wall")
    }
    found = verdict(claim, both["modelled"])
    assert (found.verdict, found.why, found.cases_count) == ("can't tell", "the paper implies others", 1)
    assert present(found.ratio).mean == pytest.approx(1.6)
    assert verdict(claim, both["wall"]).verdict == "holds here"


def test_a_verdict_of_emulated_hosts_says_what_they_lack_and_one_of_real_hosts_does_not():
    claim = (
        'rule = "above"\namong = { quantity = "throughput" }\nwhich = { filesystem = "moosefs" }\n'
        'than = { filesystem = "cephfs" }\nemulated = "disks don\'t seek"'
    )
    real = pair((80.0,), 50.0)
    emulated = [replace(measurement, emulated=True) for measurement in real]
    assert (verdict(claim, real).verdict, verdict(claim, real).why) == ("holds here", "")
    found = verdict(claim, emulated)
    assert (found.verdict, found.why) == ("holds here", "emulated: disks don't seek")
    assert verdict(claim, emulated[:1]).why.count("disks") == 0  # nothing was judged


def written(name, burst, durable):
    numbers = {"burst_" + RATE: burst, RATE: durable}
    cell = Cell(
        name, "fio", "write", 1, {k: interval([v * 2**20 * s for s in SPREAD]) for k, v in numbers.items()}
    )
    facts = {"filesystem": name, "direction": "write", "clients": 1}
    return MeasuredMetric("burst_" + RATE, facts, cell, durable=RATE)


def test_a_write_is_judged_as_its_load_reports_it_and_the_durable_verdict_stands_beside():
    found = verdict(f'rule = "above"\n{BETWEEN}', [written("moosefs", 200, 80), written("cephfs", 100, 95)])
    assert (found.verdict, present(found.durable).verdict) == ("holds here", "doesn't hold here")
    assert (present(found.ratio).mean, present(present(found.durable).ratio).mean) == pytest.approx(
        (2, 80 / 95)
    )
    assert verdict(f'rule = "above"\n{BETWEEN}', pair((200,))).durable is None  # a read is not durable


def test_costs_by_the_byte_are_compared_within_a_cell():
    claim = (
        'rule = "similar"\nwhich = { quantity = "network received" }\nthan = { quantity = "disk written" }\n'
    )

    def costs(received, disk):
        values = {"network_received_servers_ratio": received, "disk_written_servers_ratio": disk}
        cell = Cell("c", "fio", "write", 1, {k: interval([v * s for s in SPREAD]) for k, v in values.items()})
        return [MeasuredMetric(key, {"filesystem": "cephfs", "clients": 1}, cell) for key in values]

    verdicts = [verdict(claim, costs(*both)).verdict for both in ((2.1, 2.0), (2.1, 1.2), (2.5, 2.0))]
    assert verdicts == ["holds here", "doesn't hold here", "can't tell"]
    assert verdict(claim, costs(2.5, 2.0)).why == "its interval has the limit inside"  # not "1 of 1 cases"


def test_a_part_is_compared_with_the_whole_where_a_side_of_a_claim_names_it():
    claim = 'rule = "similar"\nfactor = "3 / 4"\nwithin = 1.05\n'
    claim += 'among = { quantity = "power", window = "of all" }\n'
    claim += 'which = { part = "disks" }\nthan = { part = "boards + disks" }\n'

    def watts(disks_w):
        values = {"device_mean_w": disks_w, "mean_w": 100.0, "controller_mean_w": 40.0}
        parts = {"device_mean_w": "disks", "mean_w": "boards + disks", "controller_mean_w": "boards"}
        cell = Cell("c", "fio", "read", 1, {k: interval([w * s for s in SPREAD]) for k, w in values.items()})
        return [
            MeasuredMetric(key, {"clients": 1, "part": part, "window": "of all"}, cell)
            for key, part in parts.items()
        ]

    judged_parts = [verdict(claim, watts(disks_w)) for disks_w in (75.0, 60.0)]
    assert [of.verdict for of in judged_parts] == ["holds here", "doesn't hold here"]
    assert [of.cases_count for of in judged_parts] == [1, 1]
    # without a side that names one, power is that of the whole
    whole = 'rule = "bounded"\namong = { quantity = "power", window = "of all" }\nleast = "many"\n'
    bounded = verdict(whole, watts(75.0))
    assert bounded.verdict == "doesn't hold here"


def test_two_configurations_on_different_clusters_are_compared_only_where_both_were_measured():
    claim = (
        'rule = "above"\namong = { quantity = "throughput" }\nwhich = { configuration = "a" }\n'
        'than = { configuration = "b" }\nneeds = "both clusters"'
    )
    arm, x86 = rates("moosefs", {1: 200.0}, cluster="arm"), rates("cephfs", {1: 100.0}, cluster="x86")
    found = verdict(claim, [*arm, *rates("cephfs", {1: 100.0}, cluster="arm")], one="arm", two="x86")
    assert found.verdict == "can't tell"
    assert found.why.endswith("; it needs both clusters")
    assert verdict(claim, [*arm, *x86], one="arm", two="x86").verdict == "holds here"


@pytest.mark.parametrize(
    ("claim", "kind"),
    [
        ('rule = "bounded"\namong = { what = "limit" }\nmost = "many"', "agrees"),
        ('rule = "bounded"\namong = { what = "limit" }\nmost = "few"', "disagrees"),
        (
            'rule = "above"\namong = { quantity = "power" }\nholds = "between(few, many) / 2 > many"',
            "disagrees",
        ),
        (
            'rule = "above"\namong = { quantity = "power" }\nholds = "between(few, many) > few * 3 / 2"',
            "agrees",
        ),
        ('rule = "crossing"\namong = { quantity = "power" }', "unchecked"),
    ],
)
def test_the_audit_holds_claims_against_numbers_or_else_their_bounds(claim, kind):
    paper = published.read(PAPER.format(claim=claim, one="", two=""), "invented")
    (found,) = [v for v in audit(paper) if v.rule.startswith("stated in words")]
    assert found.kind == kind


OF_TWO = """
[[table]]
place = "Table II"
common = { quantity = "throughput", statistic = "mean" }
number = [
  { id = "of_a", printed = "2 MiB/s", configuration = "a" },
  { id = "of_b", printed = "1 MiB/s", configuration = "b" },
]
"""


@pytest.mark.parametrize(
    ("clusters", "expected"),
    [(("box", "tower"), "holds here"), (("mine", "mine"), "can't tell"), (("mine", "yours"), "holds here")],
)
def test_hosts_of_ones_own_stand_for_any_cluster_of_the_paper_but_not_for_two(clusters, expected):
    measured = [
        *rates("moosefs", {1: 200}, cluster=clusters[0]),
        *rates("cephfs", {1: 100}, cluster=clusters[1]),
    ]
    found = verdict('rule = "holds"\nholds = "of_a > of_b"\n' + OF_TWO, measured, one="box", two="tower")
    assert found.verdict == expected
    assert ("not measured: box and tower" in found.why) == (expected == "can't tell")


OF_ONE = """
[[table]]
place = "Table II"
common = {{ quantity = "throughput", statistic = "mean", configuration = "a", direction = "read" }}
number = [{numbers}]
"""


@pytest.mark.parametrize(("count", "cases_count"), [(0, 2), (1, 2), (2, 1), (3, 1)])
def test_a_claim_is_about_the_file_system_of_all_its_printed_numbers_where_there_are_several(
    count, cases_count
):
    numbers = ", ".join(f'{{ id = "n{n}", printed = "2 MiB/s", clients = {n} }}' for n in range(1, count + 1))
    claim = 'rule = "bounded"\namong = { quantity = "throughput", direction = "read" }\nmost = "many"\n'
    both = [*rates("moosefs", {1: 150.0}), *rates("cephfs", {1: 300.0})]
    found = verdict(claim + OF_ONE.format(numbers=numbers), both)
    assert found.cases_count == cases_count
    assert found.verdict == ("holds here" if cases_count == 1 else "doesn't hold here")


@pytest.mark.parametrize("lacking", [("energy_j",), ("duration_s",), ("energy_j", "duration_s")])
def test_the_scatter_of_a_row_without_energy_or_time_is_not_known(lacking):
    whole, other = energies((10.0, 11.0, 9.5, 10.4), (50.0, 50.5, 50.1, 49.9))
    metrics = {key: interval for key, interval in other.cell.metrics.items() if key not in lacking}
    without = replace(other, cell=replace(other.cell, metrics=metrics))
    found = verdict(SCATTER, [whole, without])
    assert (found.verdict, found.cases_count) == ("holds here", 1)
    found = verdict(SCATTER, [without])
    assert (found.verdict, found.why) == ("can't tell", "one repetition is not enough to tell")
