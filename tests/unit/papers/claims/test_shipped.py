"""Which claims the campaigns that come with perjoule can judge: all others say in the data what that needs."""

import re
from functools import cache
from pathlib import Path

import pytest

from perjoule import campaign, drivers
from perjoule.model import Cell
from perjoule.model.metrics import METRICS
from perjoule.papers import published
from perjoule.papers.claims import judged
from perjoule.papers.facts import measured
from perjoule.statistics.cells import filesystem_names
from perjoule.statistics.intervals import interval

EXAMPLES = Path("examples")
FOUR = ("green-storage", "access-patterns", "cubieboard", "ssd-vs-hdd")
OF_PARTS = ("controller_energy_j", "device_mean_w")
NUMBERS = {
    key: interval([1.0])
    for key in METRICS
    if "whole" in key or key in OF_PARTS or not key.startswith(("device_", "controller_"))
}


@cache
def examples():
    """The campaigns that repeat a paper's study, by the paper."""
    found = {}
    for path in sorted(EXAMPLES.glob("*.toml")):
        text = path.read_text("utf-8")
        if "\nreproduces" not in text:
            continue
        asked = campaign.parse(text, source=str(path))
        found.setdefault(asked.reproduces, []).append(asked)
    return found


def with_commented_tables(path):
    """A campaign with the file systems, too, that its text has as comments."""
    tables = re.compile(r"^# \[\[filesystem\]\]\n(?:# .+\n)+", re.MULTILINE)
    text, count = tables.subn(lambda table: table[0].replace("# ", ""), path.read_text("utf-8"))
    assert count
    return campaign.parse(text, source=str(path))


def verdicts(made, paper, campaigns=None):
    """Judge a paper's claims by made-up numbers of every trial of its campaigns."""
    each = []
    for asked in campaigns or examples()[paper]:
        trials = {(trial.filesystem.label, trial.workload.label): trial for trial in asked.trials}
        cells = {
            (name, trial.workload.label, direction, clients): Cell(
                name, trial.workload.label, direction, clients, NUMBERS, grade="modelled"
            )
            for trial in asked.trials
            for *_, name in [filesystem_names(trial)]
            for clients in [trial.clients_count]
            for direction in drivers.workload(trial.workload).directions
        }
        records = [
            made.record(trial, cluster=str(trial.testbed.options.get("cluster", "")))
            for trial in {**trials, **{t.id: t for t in asked.trials}}.values()
        ]
        each.append(judged(published.paper(paper), measured(records, list(cells.values()))))
    return [max(of_claim, key=lambda verdict: verdict.cases_count) for of_claim in zip(*each, strict=True)]


@pytest.fixture(scope="module")
def shipped(made):
    """The verdicts on a paper's claims by the campaigns that come with perjoule, computed once."""
    return cache(lambda paper: verdicts(made, paper))


@pytest.mark.parametrize("name", FOUR)
def test_a_claim_is_judged_by_a_shipped_campaign_or_says_what_that_needs(shipped, name):
    found = shipped(name)
    silent = [one.claim.text for one in found if not one.cases_count and not one.claim.needs]
    assert silent == []
    assert [
        one.why for one in found if one.claim.needs and not one.cases_count and one.claim.needs not in one.why
    ] == []
    # what a rule compares was measured, but for whole file systems and what no meter of a virtual host tells
    lacking = {
        one.why
        for one in found
        if not one.cases_count and one.claim.rule != "holds" and "processors of their own" not in one.why
    }
    assert {why.partition(";")[0].removeprefix("not measured: ") for why in lacking} <= {"orangefs", "beegfs"}


@pytest.mark.parametrize("name", ["green-storage", "access-patterns"])
def test_no_claim_lacks_a_file_system_where_those_that_nobody_packages_are_installed(made, shipped, name):
    found = verdicts(made, name, [with_commented_tables(EXAMPLES / f"{name}.toml")])
    lacking = [one for one in found if one.why.startswith("not measured") and one.claim.rule != "holds"]
    assert [one.claim.text for one in lacking if "processors of their own" not in one.why] == []
    assert sum(bool(one.cases_count) for one in found) > sum(bool(one.cases_count) for one in shipped(name))


def test_the_analysis_is_judged_between_the_boards_and_the_desktop_pc(shipped):
    numbers = ("energy_hep", "rate_hep_boards / 5", "energy_pc_boards_disks", "rate_pc_boards_disks")
    claims = [one for one in shipped("cubieboard") if any(n in one.claim.holds for n in numbers)]
    assert [one.claim.text for one in claims if one.cases_count] == [
        "the Cubieboard cluster consumes more energy than the desktop PC",
        "even counting the boards' energy alone, the cluster is not more efficient than the desktop PC",
        "the HDDs use most of the energy",
        "the desktop PC's processing rate is approximately 5 times that of the cluster",
    ]


def test_four_papers_have_at_least_85_claims_encoded():
    assert sum(len(published.paper(name).claims) for name in FOUR) >= 85
