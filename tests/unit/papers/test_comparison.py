"""Own results beside a paper's: Kendall's tau with its exact p, ratios of maxima and means."""

from dataclasses import replace
from math import exp, inf, log, sqrt

import pytest
from scipy import stats

from perjoule.model import Cell, Spec
from perjoule.model.units import MIB
from perjoule.papers import published
from perjoule.papers.comparison import held, rankings
from perjoule.papers.facts import MeasuredMetric, beside
from perjoule.statistics.intervals import interval
from perjoule.statistics.ranks import kendall

PAPER = published.paper("green-storage")
VALUES = {"cephfs": (80.0, 90.0, 100.0), "moosefs": (300.0, 310.0, 320.0), "glusterfs": (330.0, 340.0, 350.0)}


def measured(kind, values, metric="throughput_bytes_per_s", **facts):
    cell = Cell(kind, "fio write", "write", 4, {metric: interval([v * MIB for v in values])}, servers_count=4)
    return MeasuredMetric(
        metric,
        {"filesystem": kind, "cluster": "odroid-hc4", "direction": "write", "clients": 4} | facts,
        cell,
    )


@pytest.mark.parametrize("other", [(1, 2, 3, 4, 5), (5, 4, 3, 2, 1), (2, 1, 4, 3, 5), (3, 1, 5, 2, 4)])
def test_tau_and_its_exact_p_are_those_of_scipy(other: tuple[int, ...]) -> None:
    reference = stats.kendalltau((1, 2, 3, 4, 5), other, method="exact")
    tau, p, least_p = kendall((1, 2, 3, 4, 5), other)
    assert (tau, p) == pytest.approx((reference.statistic, reference.pvalue))
    assert least_p == pytest.approx(2 / 120)


def test_ties_are_taken_as_tau_b_does_and_three_can_never_be_significant() -> None:
    assert kendall((1, 2, 2, 3), (1, 2, 3, 4))[0] == pytest.approx(
        stats.kendalltau((1, 2, 2, 3), (1, 2, 3, 4)).statistic
    )
    assert kendall((1, 2, 3), (1, 2, 3))[1:] == pytest.approx((1 / 3, 1 / 3))
    assert kendall((1, 1), (1, 2)) == (0.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="two or more"):
        kendall((1,), (1,))


def test_maxima_are_held_against_maxima_and_have_no_interval_but_of_their_digits() -> None:
    found = held(PAPER, beside(PAPER, [measured("moosefs", VALUES["moosefs"])]), ())
    assert [one.kind for one in found] == ["maximum of 3"]
    assert found[0].ratio.mean == pytest.approx(320 / 365.57)
    assert found[0].ratio.high / found[0].ratio.low == pytest.approx(1, abs=1e-4)
    assert "clients: not stated there, 4 here" in found[0].differs
    assert "version: 3.0.115 there, not stated here" in found[0].differs


@pytest.mark.parametrize("high_ratio", [1.0, inf])
def test_a_number_whose_digits_bound_nothing_adds_no_rounding(high_ratio):
    """A count is exact; a bound on one side has no end."""
    (pair,) = beside(PAPER, [measured("moosefs", VALUES["moosefs"])])
    number = replace(pair.number, high=high_ratio * pair.number.value)
    (found,) = held(PAPER, [replace(pair, number=number)], ())
    assert found.ratio.low == found.ratio.mean == found.ratio.high


def test_means_are_held_against_means_with_what_is_printed_behind_the_plus_minus() -> None:
    paper = published.paper("cubieboard")
    own = measured(
        "rados",
        (80.0, 81.0, 82.0),
        cluster="cubieboard2",
        direction="read",
        clients=1,
        workload="rados bench",
    )
    pairs = [pair for pair in beside(paper, [own]) if pair.number.statistic == "mean"]
    assert pairs
    found = held(paper, pairs, ())[0]
    assert found.kind == "mean of 3"
    assert found.ratio.low < found.ratio.mean < found.ratio.high
    assert found.ratio.mean == pytest.approx(81 * MIB / pairs[0].number.value, rel=1e-3)


def test_the_ranking_of_file_systems_is_held_against_the_papers() -> None:
    found = rankings(
        held(PAPER, beside(PAPER, [measured(kind, values) for kind, values in VALUES.items()]), ())
    )
    assert [one.published for one in found] == [("moosefs", "glusterfs", "cephfs")]
    assert found[0].own == ("glusterfs", "moosefs", "cephfs")
    assert found[0].tau == pytest.approx(1 / 3)


def rados(*values, **words):
    cell = Cell(
        "rados",
        "rados bench",
        "read",
        1,
        {"throughput_bytes_per_s": interval([v * MIB for v in values])},
        **words,
    )
    facts = {
        "filesystem": "rados",
        "cluster": "cubieboard2",
        "direction": "read",
        "clients": 1,
        "workload": "rados bench",
    }
    return MeasuredMetric("throughput_bytes_per_s", facts, cell)


def test_a_ratio_of_means_has_its_own_interval_and_the_printed_uncertainty_in_quadrature_and_rounding_on_top() -> (
    None
):
    paper = published.paper("cubieboard")
    (pair, *_) = [
        pair for pair in beside(paper, [rados(80.0, 81.0, 82.0)]) if pair.number.statistic == "mean"
    ]
    logs = [log(80), log(81), log(82)]
    half = 4.302653 * stats.tstd(logs) / sqrt(3)
    for uncertainties in ((0.01, 0.02), ()):
        behind = tuple(
            replace(pair.number.uncertainties[0], value=ratio * pair.number.value) for ratio in uncertainties
        )
        number = replace(pair.number, high=1.003 * pair.number.value, uncertainties=behind)
        (found,) = held(paper, [replace(pair, number=number)], ())
        printed = 1.96 * sqrt(sum(one**2 for one in uncertainties))
        assert found.ratio.high / found.ratio.mean == pytest.approx(
            exp(sqrt(half**2 + printed**2) + log(1.003)), rel=1e-6
        )
        assert found.ratio.mean / found.ratio.low == pytest.approx(found.ratio.high / found.ratio.mean)
        assert found.ratio.values == pytest.approx([v * MIB / number.value for v in (80, 81, 82)])
        assert found.ratio.mean == pytest.approx(exp(sum(logs) / 3) * MIB / number.value)
    (once, *_) = [pair for pair in beside(paper, [rados(80.0)]) if pair.number.statistic == "mean"]
    (alone,) = held(paper, [once], ())
    assert (alone.kind, alone.ratio.low, alone.ratio.high) == ("mean of 1", 0.0, inf)
    unbounded = replace(pair.number, high=inf, uncertainties=())
    assert held(paper, [replace(pair, number=unbounded)], ())[0].ratio.high < 10


def test_what_differs_there_and_here_is_reported(made) -> None:
    record = replace(made.record(made.trial("moosefs", "fio write"), cluster="odroid-hc4"), scale=0.2)
    own = measured("moosefs", VALUES["moosefs"])
    own = replace(own, cell=replace(own.cell, servers_count=3, grade="modelled"))
    (found,) = held(PAPER, beside(PAPER, [own]), [record])
    assert "scale: hardware there, emulated at 0.2 here" in found.differs
    assert "servers: 4 there, 3 storage hosts here" in found.differs
    assert not any(words.startswith("power:") for words in found.differs)
    same = replace(own, cell=replace(own.cell, servers_count=4))
    (alike,) = held(PAPER, beside(PAPER, [same]), [replace(record, scale=1.0)])
    assert not any(words.startswith(("servers:", "scale:")) for words in alike.differs)


def test_a_file_system_on_several_testbeds_is_identified_by_its_records_there(made):
    on = {label: made.trial("moosefs", "fio write", testbed=label) for label in ("boards", "racks")}
    half, whole = (
        replace(made.record(on[label]), scale=scale) for label, scale in (("boards", 0.5), ("racks", 1.0))
    )
    own = measured("moosefs", VALUES["moosefs"])
    own = replace(own, cell=replace(own.cell, filesystem="moosefs on boards"))
    (found,) = held(PAPER, beside(PAPER, [own]), [half, whole])
    assert "scale: hardware there, emulated at 0.5 here" in found.differs
    (failed,) = held(PAPER, beside(PAPER, [own]), [replace(half, status="failed"), whole])
    assert not any(words.startswith("scale:") for words in failed.differs)


def test_a_rank_is_apart_where_it_is_significantly_higher_than_the_next() -> None:
    three = [
        measured(kind, values) for kind, values in (VALUES | {"glusterfs": (310.0, 320.0, 330.0)}).items()
    ]
    (found,) = rankings(held(PAPER, beside(PAPER, three), (), [one.cell for one in three]))
    assert (found.own, found.apart) == (("glusterfs", "moosefs", "cephfs"), (False, True))
    assert (found.p, found.least_p) == (1.0, pytest.approx(1 / 3))
    clear = [*three[:2], measured("glusterfs", (430.0, 431.0, 432.0))]
    (found,) = rankings(held(PAPER, beside(PAPER, clear), (), [one.cell for one in clear]))
    assert (found.own, found.apart) == (("glusterfs", "moosefs", "cephfs"), (True, True))
    assert rankings(held(PAPER, beside(PAPER, three[:1]), ())) == ()


DIFFERENT = """
title = "Invented"
authors = "Nobody"
reference = "nowhere"

[configuration.one]
filesystem = "moosefs"
cluster = "box"
version = "3.0"
goal = "2"
kernel = "6.1"

[configuration.one.bounds]
servers = "nodes"

[[table]]
place = "Table I"
common = { configuration = "one" }
number = [
  { id = "nodes", quantity = "count", printed = "4", what = "nodes" },
  { id = "rate", quantity = "throughput", printed = "100 MiB/s", statistic = "mean", direction = "write", transfer = "4 MB" },
  { id = "power", quantity = "power", printed = "40 W", statistic = "mean", direction = "write", clients = 2 },
]
"""


def test_every_fact_that_is_another_there_is_reported_and_what_is_reported_counts_before_the_request(
    made,
) -> None:
    paper = published.read(DIFFERENT, "invented")
    metrics = {"throughput_bytes_per_s": interval([100 * MIB] * 2), "mean_w": interval([40.0] * 2)}
    cell = Cell("moosefs", "fio", "write", 2, metrics, servers_count=3, grade="modelled")
    facts = {
        "filesystem": "moosefs",
        "cluster": "elsewhere",
        "direction": "write",
        "clients": 2,
        "transfer": "4 MiB",
    }
    own = [MeasuredMetric(metric, facts, cell) for metric in ("throughput_bytes_per_s", "mean_w")]
    record = made.record(
        replace(made.trial(), filesystem=Spec("moosefs", {"goal": "2", "version": "2.9"}, "moosefs"))
    )
    record = replace(record, facts={"filesystem": {"version": "3.0", "goal": 3, "list": [1]}})
    shared = [
        "cluster: box there, elsewhere here",
        "goal: 2 there, 3 here",
        "kernel: 6.1 there, not stated here",
    ]
    servers = "servers: 4 there, 3 storage hosts here"
    differs = {one.pair.number.id: list(one.differs) for one in held(paper, beside(paper, own), [record])}
    assert differs == {
        "rate": [*shared, "clients: not stated there, 2 here", servers],
        "power": [*shared, servers, "power: metered there, modelled here"],
    }
    untold = [
        *shared[:1],
        "version: 3.0 there, not stated here",
        "goal: 2 there, not stated here",
        *shared[2:],
    ]
    four = replace(record, data_hosts=("storage-1", "storage-2", "storage-3", "metadata-1"))
    assert all(servers not in one.differs for one in held(paper, beside(paper, own), [four]))
    apart = published.read(DIFFERENT.replace('kernel = "6.1"', 'replication_network = "own"'), "invented")
    two = replace(record, facts={**record.facts, "testbed": {"cluster_network": {"storage-1": "10.98.0.1"}}})
    without, within = (
        [text for one in held(apart, beside(apart, own), [of]) for text in one.differs if "network" in text]
        for of in (record, two)
    )
    assert (set(without), within) == ({"replication_network: own there, not stated here"}, [])
    failed = replace(record, status="failed")
    assert {one.differs for one in held(paper, beside(paper, own[:1]), [failed])} == {
        (*untold, "clients: not stated there, 2 here", servers)
    }
    without = published.read(DIFFERENT.replace('servers = "nodes"\n', ""), "invented")
    assert {each.differs for each in held(without, beside(without, own[:1]), [failed])} == {
        (*untold, "clients: not stated there, 2 here")
    }


def test_two_file_systems_are_a_ranking_and_one_is_none() -> None:
    two = [measured(kind, VALUES[kind]) for kind in ("moosefs", "cephfs")]
    (found,) = rankings(held(PAPER, beside(PAPER, two), ()))
    assert (found.published, found.own, found.tau) == (("moosefs", "cephfs"), ("moosefs", "cephfs"), 1.0)


def test_a_mean_of_two_repetitions_has_an_interval_and_one_that_is_not_positive_has_none() -> None:
    paper = published.paper("cubieboard")
    halves = {}
    for values in ((80.0, 82.0), (80.0, 0.0)):
        (pair, *_) = [pair for pair in beside(paper, [rados(*values)]) if pair.number.statistic == "mean"]
        (found,) = held(paper, [pair], ())
        halves[values[1]] = found.ratio.high < inf
    assert halves == {82.0: True, 0.0: False}


def test_a_share_has_an_interval_as_a_rate_has() -> None:
    """Values below 1 are positive, too."""
    (pair, *_) = [
        pair
        for pair in beside(published.paper("cubieboard"), [rados(80.0, 82.0)])
        if pair.number.statistic == "mean"
    ]
    share = Cell("rados", "rados bench", "read", 1, {"tpp_ratio": interval([0.8, 0.82])})
    own = replace(pair.measured, metric="tpp_ratio", cell=share)
    number = replace(pair.number, value=0.8, low=0.8, high=0.8, uncertainties=())
    (found,) = held(published.paper("cubieboard"), [replace(pair, number=number, measured=own)], ())
    half = stats.t.ppf(0.975, 1) * stats.sem([log(0.8), log(0.82)])
    assert log(found.ratio.high / found.ratio.mean) == pytest.approx(half)
    assert found.ratio.mean == pytest.approx(sqrt(0.8 * 0.82) / 0.8)
