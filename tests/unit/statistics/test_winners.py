"""Findings of the kind "best file system per workload, % over average", checked on the tables of the paper
that made them.

"Benchmarking Storage Access Patterns: BeeGFS and CephFS" (2021), table 5.3 (CephFS) and those of section 6.1
(BeeGFS): MB/s, one repetition each.
"""

import random
from dataclasses import replace
from statistics import geometric_mean

import pytest

from perjoule.model import Cell, Spec
from perjoule.statistics.better import Judge
from perjoule.statistics.cells import cells
from perjoule.statistics.intervals import interval
from perjoule.statistics.winners import over_average, winners
from readings import point_of

NAMES = ("ext4 1k", "ext4 2k", "ext4 4k", "xfs 1k", "xfs 2k", "xfs 4k", "btrfs 4k")
WORKLOADS = ("16 MB seq", "16 MB rand", "1 MB seq", "1 MB rand", "64 KB seq", "64 KB rand")
PRINTED = {  # read, write of each workload, a row for each file system beneath
    "CephFS": """
        141.5  13.88  159.97 12.83  125.66 13.09 135.7  13.15  32.88 3.56  30    3.45
        181.3  88.56  180.52 93.09  143.15 79.77 160.1  79.56  34.74 16.64 30.63 17.72
        208.37 99.85  218    102.19 184.03 90.56 189.09 103.65 38.65 26.18 37.81 46.76
        131.21 16.8   146.02 16.61  121.6  16.83 132.06 15.65  30.17 4.17  26.67 3.26
        154.44 21.07  158.4  24.51  136.64 18.65 141.81 23.25  33.84 4.85  31.76 7.2
        160.27 16.6   167.95 18.41  141.83 16.78 138.37 19.88  34.78 5.74  33.6  4.83
        174.67 88.03  195.2  97.02  152.74 79.78 156.6  81.69  32.66 19.77 32.97 19.36""",
    "BeeGFS": """
        100.76 157.14 99.43  154.75 102.82 152.35 91.38 123.77 51.26 132.59 30.37 36.08
        102.87 164.35 102.71 166.31 100.4  163.08 96.84 122.67 51.35 142.78 31.12 35.84
        103.61 168.81 104.63 167.55 103.09 159.41 96.24 120.13 48.43 146.96 31.62 36.27
        101.92 141.59 97.61  140.26 98.84  141.56 93.71 138.66 47.82 132.38 27.84 95.44
        100.49 160.56 99.83  150.69 100.98 149.03 95.16 152.32 43.38 142.29 31.96 106.89
        97.53  159.21 96.46  148.67 98.81  162.26 94.03 171.06 42.44 148.89 31.06 129.65
        96.01  170.54 97.14  178.86 95.98  177.1  95.06 184    41.64 140.54 29.67 132.72""",
}


def printed(system, direction, size):
    rows = dict(zip(NAMES, PRINTED[system].strip().splitlines(), strict=True))
    of = [n for n, workload in enumerate(WORKLOADS) if (workload.startswith("64 KB")) == (size == "small")]
    offset = ("read", "write").index(direction)
    return {
        name: {WORKLOADS[n]: [float(row.split()[2 * n + offset])] for n in of} for name, row in rows.items()
    }


OPTIONS = {"operation": "write", "transfer": "16 MiB", "size": "64 MiB"}


@pytest.fixture
def found(made):
    """What is found over all workloads together."""

    def build(values):
        metric = "throughput_bytes_per_s"
        both = [(name, workload, own) for name, of in values.items() for workload, own in of.items()]
        cells = [Cell(name, workload, "write", 2, {metric: interval(own)}) for name, workload, own in both]
        records = [made.record(made.trial(name, workload, options=OPTIONS)) for name, workload, _ in both]
        return winners(records, cells, metric)[0]

    return build


@pytest.mark.parametrize(
    ("system", "direction", "size", "best", "next_best", "over_average"),
    [
        ("CephFS", "read", "large", "ext4 4k", "btrfs 4k", 0.320),
        ("CephFS", "write", "large", "ext4 4k", "btrfs 4k", 1.463),
        ("CephFS", "read", "small", "ext4 4k", "xfs 4k", 0.193),
        ("CephFS", "write", "small", "ext4 4k", "btrfs 4k", 2.798),
        ("BeeGFS", "read", "large", "ext4 4k", "ext4 2k", 0.037),
        ("BeeGFS", "write", "large", "btrfs 4k", "xfs 4k", 0.174),
        ("BeeGFS", "read", "small", "ext4 2k", "ext4 1k", 0.071),
        ("BeeGFS", "write", "small", "xfs 4k", "btrfs 4k", 0.368),
    ],
)
def test_the_papers_tables_give_its_winners_and_not_always_its_percentages(
    found, system, direction, size, best, next_best, over_average
):
    """Table 7.1 prints (BeeGFS, CephFS): large reads ext4 2 %, ext4 6-9 %; large writes btrfs 6-10 %, ext4 or
    btrfs 4-6 %; small reads ext4 or xfs 10 %, ext4 or xfs 5-10 %; small writes xfs or btrfs 5-70 %, ext4
    10-30 %.

    The best named there is the best here in seven of eight, with the second of "or" as the next best in three
    of four. Where we disagree: BeeGFS's small reads are fastest on ext4 with blocks of 2 KiB, not 4, and xfs
    is below all ext4 where they are sequential. Of the percentages over the average of all others only that
    of BeeGFS's small writes (5-70 %) holds what its tables give; BeeGFS's large reads are near (3.7 % for 2
    %), its small reads too (9.5 % for 10 %, among blocks of 4 KiB alone), its large writes are 17 % for 6-10
    %. All four of CephFS are far above what is printed: 32 % for 6-9 %, 146 % for 4-6 %, 19 % for 5-10 % and
    280 % for 10-30 %. And nothing printed there can be called significant: each number is of one repetition.
    """
    finding = found(printed(system, direction, size))
    assert finding.best == best
    assert finding.rivals[0] == next_best
    assert finding.over_average.mean - 1 == pytest.approx(over_average, abs=0.001)
    assert finding.verdict == (
        f"one repetition is not enough to distinguish it from {', '.join(finding.rivals)}"
    )


def test_among_blocks_of_4_kib_the_papers_small_reads_agree(found):
    four = {name: own for name, own in printed("BeeGFS", "read", "small").items() if name.endswith("4k")}
    finding = found(four)
    assert finding.best == "ext4 4k"
    assert finding.over_average.mean == pytest.approx(1.095, abs=0.001)


def test_one_that_is_apart_from_all_others_wins_by_a_ratio_with_an_interval(found):
    finding = found({"a": {"w": [120.0, 121, 119]}, "b": {"w": [100.0, 101, 99]}, "c": {"w": [90.0, 91, 89]}})
    assert (finding.best, finding.rivals, finding.verdict) == ("a", (), "significantly better than b, c")
    assert finding.over_average.mean == pytest.approx(120 / 95, rel=1e-4)  # geometric means, as everywhere
    assert finding.over_average.low < 120 / 95 < finding.over_average.high
    assert finding.over_average.high / finding.over_average.low < 1.06
    assert finding.over_average.low * finding.over_average.high == pytest.approx(finding.over_average.mean**2)


def test_the_lead_of_the_best_of_many_that_are_alike_holds_as_often_as_it_says():
    """The best is chosen by the values that tell its lead: with the interval of one comparison it held in 80 %."""
    dice, held_count, rate = random.Random(6), 0, "throughput_bytes_per_s"
    for _ in range(400):
        values = {name: [dice.lognormvariate(5, 0.03) for _ in range(5)] for name in "abcdef"}
        rows = [Cell(name, "w", "write", 1, {rate: interval(own)}) for name, own in values.items()]
        best, *rivals = sorted(rows, key=lambda row: -geometric_mean(row.metrics[rate].values))
        lead = over_average({"w": best}, [{"w": rival} for rival in rivals], rate, Judge(rows))
        held_count += lead.low <= 1 <= lead.high
    assert held_count / 400 > 0.95 - 3 * (0.95 * 0.05 / 400) ** 0.5


def test_one_that_is_not_apart_from_the_next_is_no_winner(found):
    finding = found(
        {"a": {"w": [120.0, 100, 110]}, "b": {"w": [100.0, 118, 108]}, "c": {"w": [50.0, 51, 49]}}
    )
    assert finding.verdict == "not significantly different from b; significantly better than c"


def test_a_difference_that_is_significant_but_tiny_is_none(found):
    finding = found({"a": {"w": [100.1, 100.11, 100.09]}, "b": {"w": [99.0, 99.01, 98.99]}})
    assert finding.verdict == "no relevant difference from b"


def test_the_same_values_over_and_over_are_as_significant_as_can_be(found):
    assert found({"a": {"w": [2.0, 2.0]}, "b": {"w": [1.0, 1.0]}}).verdict == "significantly better than b"


def test_each_workload_of_a_class_weighs_the_same(found):
    values = {
        "a": {"slow": [2.0, 2.2], "fast": [900.0, 990.0]},
        "b": {"slow": [1.0, 1.1], "fast": [1000.0, 1100.0]},
    }
    finding = found(values)
    assert finding.best == "a"
    assert finding.verdicts["b"].ratio.mean == pytest.approx((2 * 0.9) ** 0.5)


@pytest.mark.heavy
def test_among_equals_a_winner_is_seldom_found(found):
    dice = random.Random(7)
    trials = [{name: {"w": [dice.gauss(100, 5) for _ in range(4)]} for name in "abcdefg"} for _ in range(200)]
    assert sum(not found(values).rivals for values in trials) / len(trials) < 0.05


@pytest.mark.heavy
def test_a_real_difference_is_mostly_found(found):
    dice = random.Random(7)
    levels = dict(zip("abcd", (120, 100, 100, 95), strict=True))
    trials = [{n: {"w": [dice.gauss(v, 3) for _ in range(5)]} for n, v in levels.items()} for _ in range(200)]
    assert sum(not found(values).rivals for values in trials) / len(trials) > 0.9


def measured(made, filesystem, workload, transfer, values, kind="fio"):
    options = {"operation": "write", "transfer": transfer, "size": "64 MiB"}
    trials = [made.trial(filesystem, workload, 2, n, options=options) for n in range(1, len(values) + 1)]
    records = [made.record(trial) for trial in trials]
    metrics = [{"throughput_bytes_per_s": v, "duration_s": 1 / v} for v in values]
    return records, [point_of(trial, "write", m) for trial, m in zip(trials, metrics, strict=True)]


def test_findings_are_made_of_cells_for_classes_first_and_then_for_each_workload(made):
    records, points = [], []
    for filesystem, level in (("ext4", 100.0), ("xfs", 80.0)):
        for workload, transfer in (("16m", "16 MiB"), ("1m", "1 MiB"), ("64k", "64 KiB")):
            more = measured(made, filesystem, workload, transfer, [level, level + 1, level - 1])
            records, points = records + more[0], points + more[1]
    findings = winners(records, cells(records, points))
    assert [f.workload for f in findings] == ["large transfers", "1m", "16m", "64k"]
    assert all((f.best, f.verdict) == ("ext4", "significantly better than xfs") for f in findings)
    assert findings[0].over_average.mean == pytest.approx(1.25, rel=1e-4)


def test_a_file_system_on_several_testbeds_has_variants_of_its_kind_there(made):
    places = (("ext4", "boards"), ("ext4", "racks"), ("xfs", "racks"))
    trials = [
        made.trial(name, testbed=bed, repetition=n, options=OPTIONS) for name, bed in places for n in (1, 2)
    ]
    points = [
        point_of(trial, "write", {"throughput_bytes_per_s": 100.0 + n}) for n, trial in enumerate(trials)
    ]
    findings = winners(
        [made.record(trial) for trial in trials], cells([made.record(trial) for trial in trials], points)
    )
    assert [(one.among, one.compared) for one in findings] == [
        ("", ("xfs", "ext4 on racks", "ext4 on boards")),
        ("ext4", ("ext4 on racks", "ext4 on boards")),
    ]


def test_one_file_system_alone_wins_nothing(made):
    records, points = measured(made, "ext4", "16m", "16 MiB", [1.0, 2.0])
    assert winners(records, cells(records, points)) == ()


def graded(made, grades):
    points = [
        point_of(
            made.trial(filesystem=name, repetition=n),
            "write",
            {"efficiency_bytes_per_j": level + n / 10, **BASE},
            grade=grade,
        )
        for name, level, grade in (("moosefs", 10.0, grades[0]), ("cephfs", 20.0, grades[1]))
        for n in (1, 2, 3)
    ]
    records = [made.record(p.trial) for p in points]
    return records, cells(records, points)


BASE = {"throughput_bytes_per_s": 1.0, "duration_s": 1.0}


def test_power_of_two_grades_is_not_ranked_unless_one_says_so(made):
    records, summary = graded(made, ("wall", "modelled"))
    (found,) = winners(records, summary, "efficiency_bytes_per_j")
    assert found.grades == ("modelled", "wall")
    assert found.verdict.startswith("no winner: power is of different grades (modelled, wall)")
    (asked,) = winners(records, summary, "efficiency_bytes_per_j", across_grades=True)
    assert (asked.best, asked.verdict) == ("cephfs", "significantly better than moosefs")
    assert not any(one.grades for one in winners(records, summary))  # throughput has no grade


def test_power_of_one_grade_is_ranked(made):
    (found,) = winners(*graded(made, ("wall", "wall")), "efficiency_bytes_per_j")
    assert (found.best, found.verdict) == ("cephfs", "significantly better than moosefs")


def test_a_file_system_without_a_positive_value_in_each_workload_is_left_out(found):
    values = {name: {"one": [10.0, 11.0], "two": [20.0, 21.0]} for name in ("ext4 1k", "ext4 2k", "xfs 4k")}
    values["xfs 4k"] = {"one": [99.0, 98.0], "two": [99.0, 0.0]}
    assert sorted(found(values).compared) == ["ext4 1k", "ext4 2k"]


@pytest.mark.parametrize(("least", "competing"), [(0.4, True), (0.0, False), (-0.4, False)])
def test_who_has_a_value_that_is_not_positive_has_no_logarithm_and_does_not_compete(found, least, competing):
    values = {"a": {"w": [2.0, 2.2]}, "b": {"w": [0.5, least]}, "c": {"w": [0.9, 1.0]}}
    assert ("b" in found(values).compared) == competing


def test_variants_of_a_kind_compete_among_themselves_too_where_there_are_other_kinds(made):
    kinds = {"ceph on xfs": "cephfs", "ceph on ext4": "cephfs", "nfs": "nfs"}
    rates = {"ceph on xfs": [20.0, 20.2], "ceph on ext4": [30.0, 30.3], "nfs": [90.0, 91.0]}

    def amongs(names):
        records = [
            made.record(replace(made.trial(name, "w"), filesystem=Spec(kinds[name], {}, name)))
            for name in names
        ]
        cells = [
            Cell(name, "w", "write", 2, {"throughput_bytes_per_s": interval(rates[name])}) for name in names
        ]
        return [(one.among, one.compared) for one in winners(records, cells)]

    variants = ("ceph on ext4", "ceph on xfs")
    assert amongs(kinds) == [("", ("nfs", *variants)), ("cephfs", variants)]
    assert amongs(variants) == [("", variants)]
    assert amongs(["ceph on xfs", "nfs"]) == [("", ("nfs", "ceph on xfs"))]
