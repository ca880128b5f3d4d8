"""Repeating until the interval is narrow enough: the rule, and a whole simulated campaign under it."""

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from perjoule import campaign, store
from perjoule.cli import cli
from perjoule.execution import runner
from perjoule.execution.notices import Notice
from perjoule.model import LEAST_COUNT
from perjoule.model.errors import CampaignError
from perjoule.statistics.intervals import half_width_ratio, interval
from perjoule.statistics.stopping import narrow_enough, stopped_interval, widening

CAMPAIGN = """
name = "until"
seed = 1
settle = "10 ms"
quiet = 0
simulate = true
until = { metric = "MiB/J", interval = "WIDTH", max = 7 }
[testbed]
kind = "virtual"
[[filesystem]]
kind = "moosefs"
[[workload]]
kind = "fio"
size = "4 MiB"
"""


def test_an_interval_that_decided_when_to_stop_is_wider_than_students() -> None:
    values = [9.0, 10.0, 10.5, 11.0, 9.5]
    # the earlier it may end, the wider
    for least_count, factor in ((5, 1.15), (8, 1.15), (3, 1.2), (4, 1.2)):
        wide = stopped_interval(values, widening(least_count))
        assert half_width_ratio(wide) == pytest.approx(factor * half_width_ratio(interval(values)))
        assert wide.values == tuple(values)


def test_no_decision_falls_before_the_least_count() -> None:
    assert LEAST_COUNT == 3
    assert not narrow_enough([10.0] * 2, 0.5, least_count=1)
    assert narrow_enough([10.0] * 3, 0.5, least_count=3)
    assert not narrow_enough([10.0] * 4, 0.5, least_count=5)
    assert not narrow_enough([10.0] * LEAST_COUNT, 0.5, least_count=8)


def test_scatter_keeps_it_going() -> None:
    assert not narrow_enough([5.0, 15.0, 10.0, 8.0, 12.0], 0.05, least_count=5)


@pytest.mark.parametrize("scatter", [0.03, 0.08])
@pytest.mark.parametrize("least_count", [3, 5])
def test_intervals_cover_the_truth_although_their_width_decided_when_to_stop(
    scatter: float, least_count: int
) -> None:
    dice = np.random.default_rng(7)
    covered, runs_count = 0, 600
    for _ in range(runs_count):
        values = list(dice.normal(1.0, scatter, least_count))
        while not narrow_enough(values, 0.05, least_count) and len(values) < 40:
            values.append(dice.normal(1.0, scatter))
        found = stopped_interval(values, widening(least_count))
        covered += found.low <= 1.0 <= found.high
    assert 0.93 <= covered / runs_count <= 0.98  # 600 runs: +- 0.9 % of standard error


def measured(tmp_path: Path, width: str) -> tuple[list[Notice], store.Results]:
    asked = campaign.parse(CAMPAIGN.replace("WIDTH", width))
    results = store.create(tmp_path / "results", asked.text, asked.name, asked.overrides)
    notices: list[Notice] = []
    runner.run(asked, results, notices.append)
    assert not runner.missing(asked, results)
    return notices, results


def test_a_campaign_ends_when_the_interval_is_narrow_enough_and_keeps_every_attempt(tmp_path: Path) -> None:
    notices, results = measured(tmp_path, "90 %")
    assert len(results.latest()) == 5
    settled = [notice for notice in notices if notice.kind == "settled"]
    assert [notice.trial.repetition for notice in settled if notice.trial] == [6, 7]
    assert "after 5 repetitions" in settled[0].text
    assert "unseen in 24 % of such samples" in settled[0].text


def test_no_surface_calls_a_row_known_that_a_stop_rule_ended(tmp_path: Path) -> None:
    """Terminal, JSON, report, export and table: narrow is not known."""
    _, results = measured(tmp_path, "90 %")
    campaign_file = tmp_path / "campaign.toml"
    campaign_file.write_text(CAMPAIGN.replace("WIDTH", "5 %"))
    folder, table = str(results.folder), str(tmp_path / "rows.csv")
    said = ""
    for words in (
        ["check", str(campaign_file)],
        ["show", folder],
        ["show", folder, "--json"],
        ["report", folder],
        ["export", folder, "--csv", table],
    ):
        found = CliRunner().invoke(cli, words)
        assert found.exit_code == 0, (words, found.output)
        said += found.output
    assert "until the interval of MiB/J is within ± 5 %" in " ".join(said.split())
    said += (
        (results.folder / "report.html").read_text()
        + Path(table).read_text()
        + (results.folder / "table.json").read_text()
    )
    assert "unseen in 24 % of such samples" in said  # the report's methods
    assert not re.search(r"(?<!un)known (to|within) (±|\d|&#177;|&plusmn;)", said)


def test_a_campaign_whose_interval_stays_wide_ends_with_the_most_repetitions(tmp_path: Path) -> None:
    notices, results = measured(tmp_path, "0.0001 %")
    assert len(results.latest()) == 7
    assert not [notice for notice in notices if notice.kind == "settled"]


@pytest.mark.parametrize(
    ("until", "told"),
    [
        ('{ metric = "MiB/h", interval = "5 %" }', 'until.metric = "MiB/h" is not a valid value'),
        ('{ metric = "MiB/J" }', 'until lacks "interval"'),
        ('{ metric = "MiB/J", intervall = "5 %", interval = "5 %" }', 'did you mean "interval"?'),
        ('{ metric = "MiB/J", interval = "5 %", max = 2 }', "it must be at least 3"),
        ('"MiB/J"', "until"),
    ],
)
def test_a_wrong_rule_is_refused_with_its_line(until: str, told: str) -> None:
    text = CAMPAIGN.replace('{ metric = "MiB/J", interval = "WIDTH", max = 7 }', until)
    with pytest.raises(CampaignError, match="line 7") as caught:
        campaign.parse(text)
    assert told in str(caught.value)


def test_too_few_repetitions_to_judge_by_are_refused() -> None:
    with pytest.raises(CampaignError, match="repetitions = 2 is too few for the stop rule \\(until\\)"):
        campaign.parse("repetitions = 2\n" + CAMPAIGN.replace("WIDTH", "5 %"))
