from dataclasses import replace

import pytest

from perjoule.model import Cell, Spec, Trial
from perjoule.papers import published
from perjoule.papers.claims import ClaimCase, judged
from perjoule.papers.claims.cases import lacking
from perjoule.papers.facts import beside, measured
from perjoule.results.claims import claims_table, counts, lines
from perjoule.statistics.better import Judge, work
from perjoule.statistics.intervals import interval
from typed import present

KINDS = {"CephFS": "cephfs", "MooseFS": "moosefs", "GlusterFS": "glusterfs"}
SPREAD = (0.99, 1.0, 1.01, 1.0, 0.995)


def cell(name, direction, clients, mib_per_s, *, spread=SPREAD, grade="modelled", power_w=40.0):
    rates = [mib_per_s * 2**20 * one for one in spread]
    metrics = {"throughput_bytes_per_s": rates, "tpp_ratio": [rate / (445.36 * 2**20) for rate in rates]}
    metrics["mean_w"] = [power_w * one for one in spread]
    metrics["efficiency_bytes_per_j"] = [rate / power_w for rate in rates]
    return Cell(
        name,
        "fio",
        direction,
        clients,
        {key: interval(values) for key, values in metrics.items()},
        grade=grade,
    )


def trial(name):
    workload = Spec("fio", {"operation": "write", "transfer": "4 MiB", "size": "36 MiB"}, "fio")
    return Trial(Spec("virtual", {}, "virtual"), Spec(KINDS[name], {}, name), workload, (), 1, 1)


@pytest.fixture
def verdicts(made):
    def verdicts(cells):
        records = [made.record(trial(name), cluster="odroid-hc4") for name in KINDS]
        found = judged(published.paper("green-storage"), measured(records, cells))
        return {one.claim.text: one for one in found}

    return verdicts


def cells(moosefs, cephfs, **words):
    """What was measured with one and four clients, in both directions, of two file systems."""
    return [
        cell(name, direction, clients, rates[clients == 4], **words)
        for name, rates in (("MooseFS", moosefs), ("CephFS", cephfs))
        for direction in ("write", "read")
        for clients in (1, 4)
    ]


def test_a_case_is_among_all_of_the_same_work_or_else_among_those_of_its_claim(made) -> None:
    three = [*cells((110, 360), (60, 120)), cell("GlusterFS", "write", 4, 90)]
    found = measured([made.record(trial(name)) for name in KINDS], three)
    rates = {
        (one.cell.filesystem, *work(one.cell)[1:]): one
        for one in found
        if one.metric == "throughput_bytes_per_s"
    }
    write, other, read = (
        rates[key] for key in (("MooseFS", "write", 4), ("CephFS", "write", 4), ("MooseFS", "read", 4))
    )
    judge = Judge(three)
    alike = ClaimCase("", write, other).verdict(judge, 1000)
    # as wherever the pair is judged
    assert alike == judge.verdict(write.cell, other.cell, "throughput_bytes_per_s")
    assert alike.count < 1000
    assert ClaimCase("", write, read).verdict(judge, 7).count == 7


NEARLY_ALL = "OrangeFS performs better than CephFS on ARM in nearly all measurements"
BETTER = "MooseFS performs better than CephFS on the ARM cluster"


def test_a_claim_holds_when_it_is_significant_over_all_cases(verdicts) -> None:
    one = verdicts(cells((110, 360), (60, 120)))[BETTER]
    assert (one.verdict, one.cases_count) == ("holds here", 4)
    assert one.ratio.mean == pytest.approx((110 / 60 * 360 / 120) ** 0.5)
    assert one.p < 0.001


def of_clusters(made, cells, **clusters):
    """Verdicts on cells of file systems by label, each of a kind and on a cluster."""
    records = []
    for label, (kind, cluster) in clusters.items():
        asked = trial("CephFS")
        named = replace(asked, filesystem=Spec(kind, {}, label), testbed=Spec("virtual", {}, cluster))
        records.append(made.record(named, cluster=cluster))
    found = judged(published.paper("green-storage"), measured(records, cells))
    return {one.claim.text: one for one in found}


def test_a_configuration_is_that_on_its_own_cluster_where_several_of_the_papers_were_measured(made) -> None:
    falls = "with CephFS on the ARM cluster, performance drops with more clients (writes)"
    draws = "GlusterFS draws the most power (4 clients)"
    several = [
        *(cell("CephFS", "write", clients, rate) for clients, rate in ((1, 90), (4, 60))),
        *(cell("Big", "write", clients, rate, power_w=1000.0) for clients, rate in ((1, 60), (4, 90))),
        cell("GlusterFS", "write", 4, 70, power_w=50.0),
    ]
    kinds = {"CephFS": "cephfs", "Big": "cephfs", "GlusterFS": "glusterfs"}
    theirs = {"CephFS": "odroid-hc4", "Big": "reference-2", "GlusterFS": "odroid-hc4"}
    found = of_clusters(made, several, **{name: (kinds[name], theirs[name]) for name in kinds})
    assert [(found[text].verdict, found[text].cases_count) for text in (falls, draws)] == [
        ("holds here", 1)
    ] * 2
    ours = of_clusters(made, several, **{name: (kind, "my-lab") for name, kind in kinds.items()})
    assert [ours[text].verdict for text in (falls, draws)] == ["can't tell", "doesn't hold here"]


@pytest.mark.parametrize(
    ("beneath_other", "expected_count"), [("", 2), ("xfs", 2), ("btrfs", 0)], ids=["none", "same", "other"]
)
def test_what_one_side_alone_has_beneath_is_its_own(made, beneath_other: str, expected_count: int) -> None:
    rates = [("OrangeFS", (110, 360)), ("CephFS", (60, 120))]
    pair = [cell(name, "write", n, rate) for name, of in rates for n, rate in zip((1, 4), of, strict=True)]
    records = []
    for label, kind, beneath in (("OrangeFS", "orangefs", "xfs"), ("CephFS", "cephfs", beneath_other)):
        asked = replace(trial("CephFS"), filesystem=Spec(kind, {}, label))
        record = made.record(asked, cluster="odroid-hc4")
        records.append(replace(record, traits=replace(record.traits, beneath=beneath)))
    (claim,) = [
        judgement
        for judgement in judged(published.paper("green-storage"), measured(records, pair))
        if judgement.claim.text == NEARLY_ALL
    ]
    assert claim.cases_count == expected_count
    assert claim.verdict == ("holds here" if expected_count else "can't tell")


def test_a_mean_over_cases_is_one_of_all_claims_that_have_several(made, verdicts) -> None:
    found = verdicts(cells((70, 125), (60, 120)))
    several = sum(one.cases_count > 1 for one in found.values())
    records = [made.record(trial(name), cluster="odroid-hc4") for name in KINDS]
    rates = [
        one.cell
        for one in measured(records, cells((70, 125), (60, 120)))
        if one.metric == "throughput_bytes_per_s"
    ]
    pairs = list(zip(rates[:4], rates[4:], strict=True))
    assert several > 2
    assert found[BETTER].p == pytest.approx(
        Judge(rates).judged(pairs, "throughput_bytes_per_s", several).p, rel=1e-9
    )


def test_an_inconclusive_case_is_none_against_a_claim(verdicts) -> None:
    one = verdicts(cells((60.5, 360), (60, 120)))[BETTER]
    assert (one.verdict, one.why) == ("holds here", "")


def test_of_many_cases_that_are_reversed_three_are_named(verdicts) -> None:
    (why,) = (one.why for text, one in verdicts(cells((50, 100), (60, 120))).items() if text == BETTER)
    assert why.startswith("reversed: ")
    assert why.split("; over all cases")[0].endswith("; and 1 more (4 of 4 cases)")
    assert why.count("client") == 3


def test_a_claim_about_shares_is_judged_though_they_are_less_than_one(verdicts) -> None:
    one = verdicts(cells((110, 360), (60, 120)))[
        "MooseFS reaches the highest write throughput of all measurements, in percent of the TPP"
    ]
    assert not one.why.startswith("not measured")


def test_a_claim_does_not_hold_where_it_is_reversed_and_the_case_is_named(verdicts) -> None:
    one = verdicts(cells((50, 360), (60, 120)))[BETTER]
    assert one.verdict == "doesn't hold here"
    assert "1 client" in one.why
    assert "4 clients" not in one.why


def test_nothing_is_known_of_what_is_alike_or_measured_once_or_not_at_all(verdicts) -> None:
    assert verdicts(cells((60, 120), (60, 120)))[BETTER].why == "no significant difference of 2 % or more"
    assert (
        verdicts(cells((110, 360), (60, 120), spread=(1.0,)))[BETTER].why
        == "one repetition is not enough to tell"
    )
    found = verdicts(cells((110, 360), (60, 120)))
    assert found[NEARLY_ALL].why.startswith("not measured: orangefs; it needs OrangeFS")
    assert {one.verdict for text, one in found.items() if "GlusterFS" in text} == {"can't tell"}


def test_a_simulated_campaign_measures_none_of_the_file_systems_that_it_names(made) -> None:
    records = []
    for name in KINDS:
        asked = trial(name)
        kept = made.record(replace(asked, filesystem=replace(asked.filesystem, kind="simulated")))
        records.append(replace(kept, traits=replace(kept.traits, reality="simulated")))
    found = judged(published.paper("green-storage"), measured(records, cells((110, 360), (60, 120))))
    one = next(one for one in found if one.claim.text == BETTER)
    assert (one.verdict, one.why) == ("can't tell", "everything was simulated, so moosefs was not measured")
    assert not [one.why for one in found if one.why.startswith("not measured")]


def test_what_was_not_measured_beside_real_measurements_is_said_to_be_missing(made) -> None:
    real = measured([made.record(trial(name)) for name in KINDS], cells((110, 360), (60, 120)))
    simulated = [replace(measurement, simulated=True) for measurement in real]
    assert lacking("BeeGFS", simulated) == "everything was simulated, so BeeGFS was not measured"
    for some in (real, [*simulated, *real], []):
        assert lacking("BeeGFS", some) == "not measured: BeeGFS"


def test_growth_with_clients_is_judged_from_the_first_to_the_last(verdicts) -> None:
    found = verdicts(cells((110, 360), (60, 50)))
    assert (
        found["throughput scales well on all clusters as clients are added (writes of MooseFS)"].verdict
        == "holds here"
    )
    drop = found["with CephFS on the ARM cluster, performance drops with more clients (writes)"]
    assert drop.verdict == "holds here"
    assert drop.ratio.mean == pytest.approx(60 / 50)
    reads = found["throughput scales well on all clusters as clients are added (reads)"]
    assert reads.verdict == "doesn't hold here"
    assert reads.why.startswith("reversed: CephFS, read, clients 1 to 4")


def test_power_of_different_grades_is_not_judged_and_throughput_is(verdicts) -> None:
    mixed = [*cells((110, 360), (60, 120))[:4], *cells((110, 360), (60, 120), grade="wall")[4:]]
    found = verdicts(mixed)
    assert found[BETTER].verdict == "holds here"
    (efficiency,) = [one for text, one in found.items() if "MooseFS above CephFS" in text]
    assert "different grades (modelled, wall)" in efficiency.why
    laid = claims_table([efficiency])
    assert (laid.headers[-1], laid.rows[0][-1]) == ("why", efficiency.why), "the widest column of a page"
    assert any(efficiency.why in line for line in lines([efficiency]))


def test_a_verdict_says_how_its_numbers_came_about(verdicts) -> None:
    found = list(verdicts(cells((110, 360), (60, 120))).values())
    laid = claims_table(found, "emulated at scale 0.1")
    row = next(row for row in laid.rows if "MooseFS above CephFS" in row[1])
    assert row[laid.headers.index("grade")] == "emulated at scale 0.1, modelled watts"
    assert counts(found).startswith(f"Of {len(found)} claims")
    assert any(line.startswith("    ratio 2.3") for line in lines(found))


def test_a_maximum_of_a_paper_is_held_against_the_own_maximum(made) -> None:
    records = [made.record(trial(name), cluster="odroid-hc4") for name in KINDS]
    found = beside(published.paper("green-storage"), measured(records, cells((110, 360), (60, 120))))
    (pair,) = [one for one in found if one.number.id == "max_arm_moosefs_write"]
    assert pair.value == pytest.approx(360 * 1.01 * 2**20)
    assert pair.measured.words == "MooseFS, fio, 4 clients"


def beneath(kind, block, transfer, operation, mib_per_s):
    """A file system beneath Ceph, and what it did."""
    name, workload = f"CephFS beneath {kind} {block}", f"fio {operation} {transfer}"
    filesystem = Spec("cephfs", {"beneath": {"kind": kind, "block": block, "size": "16 GiB"}}, name)
    options = {"operation": operation, "transfer": transfer, "size": "6 GiB"}
    asked = Trial(Spec("virtual", {}, "virtual"), filesystem, Spec("fio", options, workload), (), 2, 1)
    rates = [mib_per_s * 2**20 * one for one in SPREAD]
    direction = "write" if operation.endswith("write") else "read"
    return asked, Cell(name, workload, direction, 2, {"throughput_bytes_per_s": interval(rates)})


def test_sizes_and_what_lies_beneath_are_those_of_the_paper(made) -> None:
    rates = {("ext4", "4 KiB"): (20, 90, 100), ("ext4", "1 KiB"): (4, 10, 13), ("xfs", "4 KiB"): (30, 80, 99)}
    both = [
        beneath(kind, block, transfer, "write", rate)
        for (kind, block), three in rates.items()
        for transfer, rate in zip(("64 KiB", "1 MiB", "16 MiB"), three, strict=True)
    ]
    found = judged(
        published.paper("access-patterns"),
        measured([made.record(one) for one, _ in both], [two for _, two in both]),
    )
    verdicts = {one.claim.text: one for one in found}
    rising = verdicts[
        "as the transfer size increases, the bandwidth of ext4 with its default block size increases"
    ]
    assert (rising.verdict, present(rising.ratio).mean) == ("holds here", pytest.approx(5))
    assert verdicts["the default block size is best for ext4"].verdict == "holds here"
    highest = verdicts["ext4 with 4 KB blocks has the highest read and write speeds of Table 5.3"]
    assert highest.verdict == "doesn't hold here"
    assert "xfs" in highest.why
    small = verdicts["for small writes XFS is best (default block sizes)"].why
    assert small.startswith("not measured: beegfs; it needs BeeGFS")


COMPARED = """
title = "Invented"
authors = "Nobody"
reference = "nowhere"

[configuration.one]
filesystem = "moosefs"

[configuration.two]
filesystem = "cephfs"

[[table]]
place = "Table I"
common = {{ quantity = "throughput", statistic = "mean", direction = "write", clients = 4 }}
number = [
  {{ id = "one", printed = "300 MiB/s", configuration = "one" }},
  {{ id = "two", printed = "100 MiB/s", configuration = "two" }},
]

[[claim]]
place = "section 1"
text = "one is the faster"
rule = "holds"
holds = "{holds}"
"""


@pytest.mark.parametrize(
    ("holds", "moosefs", "cephfs", "verdict", "why"),
    [
        ("one > two", 360, 120, "holds here", ""),
        ("two < one", 360, 120, "holds here", ""),
        ("one > two", 120, 360, "doesn't hold here", "1.257e+08 > 3.771e+08 does not hold"),
        ("two < one", 120, 360, "doesn't hold here", "3.771e+08 < 1.257e+08 does not hold"),
        ("one > two", 120.5, 120, "can't tell", "the intervals overlap"),
        ("one > two", 120, 120.5, "can't tell", "the intervals overlap"),
        ("one - two > two", 360, 120, "holds here", ""),
        ("one > two", 360, None, "can't tell", "not measured: throughput (write, 4 clients, two) of Table I"),
    ],
)
def test_a_comparison_in_numbers_is_one_case_that_intervals_decide(
    made, holds, moosefs, cephfs, verdict, why
) -> None:
    rates = {name: rate for name, rate in (("MooseFS", moosefs), ("CephFS", cephfs)) if rate}
    found = measured(
        [made.record(trial(name)) for name in rates],
        [cell(name, "write", 4, rate) for name, rate in rates.items()],
    )
    (one,) = judged(published.read(COMPARED.format(holds=holds), "invented"), found)
    assert (one.verdict, one.cases_count) == (verdict, int(cephfs is not None))
    assert why in one.why and bool(one.why) == bool(why)


@pytest.mark.parametrize("spread", [(0.0, 0.0, 0.0), (0.0, 1.0, 1.01)], ids=["all", "one repetition"])
def test_a_file_system_whose_rates_are_zero_is_not_said_to_be_missing(verdicts, spread) -> None:
    stalled = cells((110, 360), (60, 120), spread=spread)[4:]
    why = verdicts([*cells((110, 360), (60, 120))[:4], *stalled])[BETTER].why
    assert why.startswith("not measured: throughput") and "cephfs" in why
