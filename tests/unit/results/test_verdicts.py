"""The same pair has the same words and the same numbers in cards, winners, comparisons, claims and
rankings.
"""

import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest

from measured import content_of
from perjoule.figures import rendering
from perjoule.model import Clock, Spec
from perjoule.model.metrics import BY_LABEL
from perjoule.model.units import MIB
from perjoule.papers import published
from perjoule.papers.comparison import rankings
from perjoule.report.page import page
from perjoule.results.claims import claims_table
from perjoule.results.comparison import compare
from perjoule.results.comparison.table import comparison_table
from perjoule.results.paper_comparison import ranking_line
from perjoule.results.sides import Side, between
from perjoule.statistics.cells import cells
from perjoule.statistics.winners import best
from perjoule.summary import Summary
from perjoule.views.performance.winners import winners_table
from readings import point_of

PAPER = published.paper("green-storage")
KINDS = ("moosefs", "glusterfs", "cephfs")
CLAIM = "MooseFS performs better than CephFS on the ARM cluster"


@pytest.fixture(scope="module", autouse=True)
def no_scripts() -> Iterator[None]:
    """To bundle them takes longer than all else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendering, "javascript", lambda: "")
        yield


@pytest.fixture(scope="module")
def campaign(made):
    """Three file systems of about the same speed, five repetitions each, in turns or one after the other."""

    def build(seed, *, in_turns, levels=(110.0, 104.0, 100.0)):
        dice = random.Random(seed)
        records, points = [], []
        for n, (kind, level) in enumerate(zip(KINDS, levels, strict=True)):
            for repetition in range(1, 6):
                asked = replace(made.trial(kind, "fio write", 4, repetition), filesystem=Spec(kind, {}, kind))
                place = repetition * 3 + n if in_turns else n * 5 + repetition
                records.append(
                    replace(made.record(asked, cluster="odroid-hc4"), clock=Clock(0.0, 100.0 * place))
                )
                rate = dice.gauss(level, 4.0) * MIB
                metrics = {
                    "throughput_bytes_per_s": rate,
                    "efficiency_bytes_per_j": rate / dice.gauss(40.0, 1.0),
                    "mean_w": 40.0,
                }
                metrics |= {"duration_s": 1e9 / rate, "tpp_ratio": rate / (445.36 * MIB)}
                points.append(point_of(asked, "write", metrics, (), "modelled"))
        return Side("campaign", None, tuple(records), tuple(points), cells(records, points))

    return build


def report(side):
    """The page of a campaign's report, as text."""
    summary = cells(side.records, side.points)
    nowhere = Path("/nonexistent")
    folder = SimpleNamespace(folder=nowhere, folder_of=lambda record: nowhere)
    found = content_of(
        folder,
        name="campaign",
        campaign=None,
        text="",
        overrides=(),
        records=side.records,
        trials=(),
        points=side.points,
        summary=Summary(summary),
        reproduces=PAPER.name,
    )
    return found, unescape(re.sub(r"<[^>]+>", "\n", page(found, ".")))


@pytest.fixture(scope="module", params=itertools.product(range(3), (True, False)))
def reported(request, campaign):
    """A campaign, what its report has, and its text."""
    seed, in_turns = request.param
    side = campaign(seed, in_turns=in_turns)
    return side, *report(side)


def row(table, **words):
    (found,) = [
        dict(zip(table.headers, one, strict=True))
        for one in table.rows
        if words.items() <= dict(zip(table.headers, one, strict=True)).items()
    ]
    return found


@pytest.mark.heavy
@pytest.mark.parametrize("metric", ["MiB/s", "MiB/J"])
def test_a_pair_is_the_same_everywhere(reported, metric) -> None:
    side, found, text = reported
    won = row(winners_table(found.winners), by=metric)
    finding = next(one for one in found.winners if one.metric == BY_LABEL[metric].key)
    first, second = finding.compared[:2]

    compared = row(comparison_table(compare(*between(side, (second, first)), [metric])))
    assert compared["ratio (95 %)"] == won["over the second"]
    assert compared["p"] == won["p"]
    assert compared["verdict"].removesuffix(", paired") == finding.verdicts[second].sentence(second)
    apart = compared["verdict"].startswith("significantly better")

    p = won["p"] if won["p"].startswith("<") else f"= {won['p']}"
    # its answer on the first screen
    assert re.search(rf"{re.escape(won['over the second'])} times {second}.{{,30}}p {p}", text)
    if not apart:
        assert won["verdict"] in text

    if metric == "MiB/s":
        ranking = next(one for one in rankings(found.comparisons) if one.quantity == "throughput")
        ordered = ranking_line(ranking).split(" here")[0]
        assert (f"{first} > {second}" in ordered) == (apart and ranking.own[:2] == (first, second))


def test_a_claim_of_one_pair_is_judged_as_that_pair(reported) -> None:
    side, found, text = reported
    claimed = row(claims_table(found.claims), claim=CLAIM)
    compared = row(comparison_table(compare(*between(side, ("cephfs", "moosefs")), ["MiB/s"])))
    assert (claimed["ratio"], claimed["p"]) == (compared["ratio (95 %)"], compared["p"])
    holds = {
        "significantly better than cephfs": "holds here",
        "significantly worse than cephfs": "doesn't hold here",
    }
    assert claimed["verdict"] == holds.get(compared["verdict"].removesuffix(", paired"), "can't tell")
    assert claimed["ratio"] in text


def test_intervals_beside_verdicts_exclude_1_where_these_say_so(campaign) -> None:
    said = set()
    for seed in range(6):
        side = campaign(seed, in_turns=bool(seed % 2), levels=(112.0, 104.0, 100.0))
        for one in best(side.records, side.cells):
            for verdict in one.verdicts.values():
                said.add(verdict.word)
                apart = verdict.ratio.low > 1 or verdict.ratio.high < 1
                assert (verdict.word in ("better", "worse")) == (apart and verdict.ratio.mean >= 1.02)
    assert {"better", "can't tell"} <= said
