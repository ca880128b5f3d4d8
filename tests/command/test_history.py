"""Campaigns of one name over time, as a storage team's CI sees them."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from perjoule import campaign, store
from perjoule.cli import cli, exits
from perjoule.execution import runner

CAMPAIGN = """
name = "{name}"
repetitions = 2
seed = {seed}
settle = "1 ms"
quiet = 0
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
throughput = "{mib_per_s} MiB/s"
[[workload]]
kind = "simulated"
size = "8 MiB"
[[meter]]
kind = "simulated"
waveform = "constant"
rate = "200 Hz"
"""


def measure(folder: Path, seed: int, mib_per_s: float, name: str = "nightly") -> None:
    asked = campaign.parse(CAMPAIGN.format(seed=seed, mib_per_s=mib_per_s, name=name))
    runner.run(asked, store.create(folder, asked.text, asked.name), lambda event: None)
    for repetition, path in enumerate(sorted(folder.glob("trials/*/attempt-1/record.json"))):
        last(path, 8 / (mib_per_s * SCATTER[(2 * seed + repetition) % len(SCATTER)]))


# Nights as they could be on a machine that nothing else disturbs: what really passes here depends on what
# else runs.
SCATTER = (1.004, 0.997, 1.001, 0.995, 1.006, 1.0, 0.998, 1.003, 0.994, 1.002, 0.999)


def last(path: Path, seconds: float) -> None:
    """Let the load of a record last as long, with nothing to write back."""
    record = json.loads(path.read_text())
    for result in record["outcome"]["results"]:
        result["ended_s"] = result["began_s"] + seconds
    ended_s = max(result["ended_s"] for result in record["outcome"]["results"])
    for phase in record["phases"]:
        if phase["name"] == "measure":
            phase["ended_s"] = ended_s
        elif phase["name"] == "write-back":
            phase["began_s"] = phase["ended_s"] = ended_s
    path.write_text(json.dumps(record))


@pytest.fixture(scope="module")
def nightly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight nights, of which the last three have a file system of half the speed."""
    folder = tmp_path_factory.mktemp("nightly")
    for night in range(8):
        measure(folder / f"night-{night}", night, 100 if night < 5 else 50)
    return folder


Said = Callable[..., Result]


@pytest.fixture
def said() -> Said:
    def run(*words: object, code: int = 0) -> Result:
        done = CliRunner().invoke(cli, [*map(str, words)])
        assert done.exit_code == code, done.output or done.exception
        return done

    return run


def test_a_file_system_that_became_slow_is_found_where_it_did_and_fails_ci(said: Said, nightly: Path) -> None:
    done = said("history", nightly, "--fail-on-worse", code=1)
    assert "nightly: 8 campaigns" in done.output
    assert "worse" in done.output and "night-5 (" in done.output and "-> 50 MiB/s" in done.output
    assert "filesystem.throughput: " in done.output  # what changed there
    data = json.loads(said("history", nightly, "--metric", "MiB/s", "--json").output)
    (row,) = data["rows"]
    (step,) = row["steps"]
    assert (step["campaign"], row["verdict"], row["metric"]) == (5, "worse", "throughput_bytes_per_s")
    assert step["ratio"] == pytest.approx(0.5, rel=0.005)
    assert step["p"] <= 0.05
    assert data["campaigns"][5]["results"].endswith("night-5") and data["campaigns"][5]["changes"]
    assert [(one["first"], one["last"]) for one in row["levels"]] == [(0, 4), (5, 7)]


def test_what_became_worse_is_a_failure_in_a_junit_report(said: Said, nightly: Path, tmp_path: Path) -> None:
    target = tmp_path / "history.xml"
    said("history", nightly, "--metric", "MiB/s", "--fail-on-worse", "--junit", target, code=1)
    suite = ElementTree.parse(target).getroot()[0]
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("nightly", "1", "1")
    (case,) = suite
    assert (case.get("classname"), case[0].tag) == ("MiB/s", "failure")
    assert re.fullmatch(r"worse since night-5: x?0\.[45].*", case[0].get("message", ""))
    few = [nightly / f"night-{night}" for night in range(2)]
    said("history", *few, "--metric", "MiB/s", "--junit", target)
    assert [child.tag for child in ElementTree.parse(target).getroot()[0][0]] == ["skipped"]


def test_a_campaign_without_a_valid_trial_is_named(said: Said, nightly: Path, tmp_path: Path) -> None:
    asked = campaign.parse(CAMPAIGN.format(seed=9, mib_per_s=100, name="nightly"))
    store.create(tmp_path / "night-9", asked.text, asked.name)
    done = said("history", nightly, tmp_path / "night-9", "--metric", "MiB/s")
    assert "left out: night-9: it has no valid trial" in done.output
    assert "left out" not in said("history", nightly, "--metric", "MiB/s").output


def test_nights_alike_pass(said: Said, nightly: Path) -> None:
    done = said(
        "history", *(nightly / f"night-{n}" for n in (3, 0, 4, 2, 1)), "--fail-on-worse", "--metric", "MiB/s"
    )
    assert "no step" in done.output


def test_the_page_shows_every_row_and_asks_nothing_of_the_network(
    said: Said, nightly: Path, tmp_path: Path
) -> None:
    said("history", nightly, "--report", tmp_path / "history.html")
    html = (tmp_path / "history.html").read_text()
    data = json.loads(
        html.partition('<script id="data" type="application/json">')[2].partition("</script>")[0]
    )
    panels = data["figures"]["history-1"]["concat"]
    assert [len(one["data"]["values"]) for one in panels] == [8]
    assert len(panels[0]["layer"][1]["data"]["values"]) == 2  # levels
    assert "at\nmost 5 %" in html and "different from the campaign before" in html


def test_campaigns_of_several_names_and_single_ones_are_refused(tmp_path: Path, nightly: Path) -> None:
    measure(tmp_path / "other", 1, 100, "other")
    for words, wanted in (
        ((nightly / "night-1", tmp_path / "other"), "several campaigns"),
        ((nightly / "night-1",), "two campaigns or more"),
        ((tmp_path / "none",), "no results folder found here"),
    ):
        done = CliRunner().invoke(cli, ["history", *map(str, words)])
        assert wanted in str(done.exception), done.output


def test_exit_codes_are_those_of_the_command(nightly: Path) -> None:
    assert (
        exits.exit_code(lambda: cli.main(["history", str(nightly / "night-1")], standalone_mode=False)) == 2
    )
