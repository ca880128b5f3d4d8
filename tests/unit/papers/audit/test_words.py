"""What a paper says in words, held against its own numbers and against one's own: each case by hand."""

import pytest

from perjoule.model import Cell
from perjoule.papers import published
from perjoule.papers.audit import audit
from perjoule.papers.claims import judged
from perjoule.papers.facts import MeasuredMetric
from perjoule.statistics.intervals import interval
from typed import present

RATES = {"a": {"64 KB": 10, "1 MB": 30, "16 MB": 20}, "b": {"64 KB": 12, "1 MB": 25, "16 MB": 40}}
CLAIMS = {
    "best": 'rule = "best"\nwhich = { beneath = "a" }\nper = ["transfer"]',
    "above": 'rule = "above"\nwhich = { beneath = "b" }\nthan = { beneath = "a" }',
    "rising": 'rule = "rising"\nalong = "transfer"\nper = ["beneath"]',
    "falling": 'rule = "falling"\nalong = "transfer"\nper = ["beneath"]',
}


def paper(claim, rates=RATES, more=""):
    numbers = [
        f'{{ id = "{kind}_{n}", printed = "{rate}.0 MiB/s", beneath = "{kind}", transfer = "{transfer}" }},'
        for kind, own in rates.items()
        for n, (transfer, rate) in enumerate(own.items())
    ]
    return published.read(
        f"""
title = "Invented"
authors = "Nobody"
reference = "nowhere"

[configuration.one]
filesystem = "cephfs"

[[table]]
place = "Table I"
common = {{ quantity = "throughput", statistic = "mean", direction = "write", configuration = "one" }}
number = [
{chr(10).join(numbers)}
{more}
]

[[claim]]
place = "section 1"
text = "so it is"
among = {{ quantity = "throughput" }}
{CLAIMS.get(claim, claim)}
""",
        "invented",
    )


@pytest.mark.parametrize(
    ("claim", "of", "against"),
    [
        (
            "best",
            "2 of 3 cases",
            "64 KB: 10.0 MiB/s against 12.0 MiB/s (b); 16 MB: 20.0 MiB/s against 40.0 MiB/s (b)",
        ),
        ("above", "1 of 3 cases", "write, one, 1 MB: 25.0 MiB/s against 30.0 MiB/s"),
        ("rising", "1 of 4 cases", "a: transfer 1 MB to 16 MB: 30.0 MiB/s to 20.0 MiB/s"),
        (
            "falling",
            "3 of 4 cases",
            "a: transfer 64 KB to 1 MB: 10.0 MiB/s to 30.0 MiB/s; b: transfer 64 KB to 1 MB: 12.0 MiB/s to "
            "25.0 MiB/s; b: transfer 1 MB to 16 MB: 25.0 MiB/s to 40.0 MiB/s",
        ),
    ],
)
def test_cases_of_a_paper_that_are_not_so_are_counted_and_shown(claim, of, against):
    (found,) = [v for v in audit(paper(claim)) if v.rule.startswith("stated in words")]
    assert (found.kind, found.of, found.recomputed) == ("disagrees", of, against)


@pytest.mark.parametrize(
    ("kind", "verdict", "words"),
    [("a", "disagrees", ": 30.0 MiB/s against 40.0 MiB/s (b)"), ("b", "agrees", "")],
)
def test_the_best_is_the_largest_of_all_that_are_named(kind, verdict, words):
    claim = f'rule = "best"\nwhich = {{ beneath = "{kind}" }}'
    (found,) = [v for v in audit(paper(claim)) if v.rule.startswith("stated in words")]
    assert (found.kind, found.recomputed, found.of) == (verdict, words, "")


def test_three_cases_are_shown_and_the_others_counted():
    falls = {kind: {"64 KB": 40, "1 MB": 30, "16 MB": 20} for kind in "ab"}
    (found,) = [v for v in audit(paper("rising", falls)) if v.rule.startswith("stated in words")]
    assert found.of == "4 of 4 cases"
    assert found.recomputed.count(";") == 3
    assert found.recomputed.endswith("; and 1 more")


def test_sizes_are_ordered_as_sizes_and_those_without_a_unit_are_bytes():
    rates = {"a": {"950": 10, "1 KB": 20}}
    (found,) = [v for v in audit(paper("rising", rates)) if v.rule.startswith("stated in words")]
    assert found.kind == "agrees"
    (found,) = [v for v in audit(paper("falling", rates)) if v.rule.startswith("stated in words")]
    assert found.recomputed == "a: transfer 950 to 1 KB: 10.0 MiB/s to 20.0 MiB/s"


def test_of_one_size_alone_there_is_no_step():
    again = '{ id = "again", printed = "5.0 MiB/s", beneath = "a", transfer = "1 MB" },'
    (found,) = [
        v for v in audit(paper("rising", {"a": {"1 MB": 10}}, again)) if v.rule.startswith("stated in words")
    ]
    assert (found.kind, found.cause) == ("unchecked", "the paper prints no numbers for it")


# One's own numbers


def own(rates=RATES, workload="fio write {}", clients=4):
    spread = (0.99, 1.0, 1.01, 1.0, 0.995)
    found = []
    for kind, by_size in rates.items():
        for transfer, rate in by_size.items():
            metrics = {"throughput_bytes_per_s": interval([rate * 2**20 * one for one in spread])}
            cell = Cell(f"ceph on {kind}", workload.format(transfer), "write", clients, metrics)
            facts = {
                "filesystem": "cephfs",
                "beneath": kind,
                "transfer": transfer,
                "direction": "write",
                "clients": clients,
            }
            found.append(MeasuredMetric("throughput_bytes_per_s", facts, cell))
    return found


@pytest.mark.parametrize(
    ("claim", "cases", "against", "ratio"),
    [
        (
            "best",
            3,
            "ceph on b, fio write 64 KB, 4 clients, write; ceph on b, fio write 16 MB, 4 clients, write",
            (10 * 30 * 20 / 12 / 25 / 40) ** (1 / 3),
        ),
        ("above", 3, "fio write 1 MB, 4 clients", (12 * 25 * 40 / 10 / 30 / 20) ** (1 / 3)),
        (
            "rising",
            4,
            "ceph on a, fio write 1 MB, 4 clients, transfer 1 MB to 16 MB",
            (20 / 10 * 40 / 12) ** (1 / 2),
        ),
        (
            "falling",
            4,
            "ceph on a, fio write 64 KB, 4 clients, transfer 64 KB to 1 MB; ceph on b, fio write 64 KB, 4 "
            "clients, transfer 64 KB to 1 MB; ceph on b, fio write 1 MB, 4 clients, transfer 1 MB to 16 MB",
            (10 / 20 * 12 / 40) ** (1 / 2),
        ),
    ],
)
def test_cases_of_one_s_own_that_are_reversed_are_named(claim, cases, against, ratio):
    (found,) = judged(paper(claim), own())
    assert (found.verdict, found.cases_count) == ("doesn't hold here", cases)
    count = against.count(";") + 1
    assert found.why == (
        f"reversed: {against} ({count} of {cases} cases); over all cases the ratio is {ratio:.2f}"
    )


def test_three_cases_of_one_s_own_are_shown_and_the_others_counted():
    falls = {kind: {"64 KB": 40, "1 MB": 30, "16 MB": 20} for kind in "ab"}
    (found,) = judged(paper("rising"), own(falls))
    assert found.why.partition(";  over")[0].count("transfer") == 3
    assert "; and 1 more (4 of 4 cases); over all cases the ratio is 0.50" in found.why
    (held,) = judged(paper("falling"), own(falls))
    assert (held.verdict, held.why, held.cases_count) == ("holds here", "", 4)
    assert present(held.ratio).mean == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("workload", "clients", "words"),
    [
        ("fio write {}", 1, "fio write 1 MB, 1 client"),
        ("fio", 2, "write, 2 clients"),
        ("fio", 1, "write, 1 client"),
    ],
)
def test_a_case_is_called_by_its_workload_where_that_says_the_direction(workload, clients, words):
    (found,) = judged(paper("above"), own(workload=workload, clients=clients))
    assert found.why.startswith(f"reversed: {words} (1 of 3 cases); over all")


def test_a_case_by_itself_decides_and_says_nothing_of_a_mean():
    rates = {"a": {"64 KB": 10}, "b": {"64 KB": 12}}
    (found,) = judged(paper("best"), own(rates))
    assert (found.verdict, found.cases_count) == ("doesn't hold here", 1)
    assert found.why == "reversed: ceph on b, fio write 64 KB, 4 clients, write"
    assert present(found.ratio).mean == pytest.approx(10 / 12)


@pytest.mark.parametrize(
    ("rates", "words"), [({"a": {"64 KB": 10}}, "not measured: b"), ({"c": {"64 KB": 1}}, "not measured: b")]
)
def test_what_was_not_measured_is_named(rates, words):
    (found,) = judged(paper("above"), own(rates))
    assert (found.verdict, found.cases_count, found.ratio) == ("can't tell", 0, None)
    assert found.why.endswith(words.removeprefix("not measured: "))
    (none,) = judged(paper("rising"), own({"a": {"64 KB": 10}}))
    assert none.why == "nothing that the claim is about was measured"


def test_of_cases_that_are_reversed_the_clearest_decides():
    (found,) = judged(paper("best"), own())
    assert present(found.ratio).mean == pytest.approx(20 / 40)  # not 10 / 12
