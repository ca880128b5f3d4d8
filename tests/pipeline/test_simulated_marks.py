"""Whatever leaves of simulated numbers says so: every table, JSON object, row, figure, page and bundle."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from perjoule import drivers, store
from perjoule.cli import cli
from perjoule.model import Cell, Spec
from perjoule.model.errors import CampaignError
from perjoule.monitoring import drawing, watching
from perjoule.results.limitations import SIMULATED, simulated_notes
from perjoule.results.verification import verify
from perjoule.statistics.better import refusal
from perjoule.statistics.winners import winners
from perjoule.store import progress
from perjoule.summary import summary
from perjoule.trial import live

CAMPAIGN = """
name = "marks"
seed = 1
clients = 2
repetitions = 2
settle = "60 ms"
[testbed]
kind = "simulated"
cluster = "pc-ssd2"
[[filesystem]]
kind = "simulated"
label = "fast"
noise = "3 %"
[[filesystem]]
kind = "simulated"
label = "slow"
throughput = "60 MiB/s"
noise = "3 %"
[[workload]]
kind = "simulated"
size = "64 MiB"
[[meter]]
kind = "system"
rate = "50 Hz"
[[meter]]
kind = "modelled"
rate = "50 Hz"
"""


def said(*arguments: object) -> str:
    done = CliRunner().invoke(cli, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def data(*arguments: object) -> dict[str, Any]:
    return json.loads(said(*arguments, "--json"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results of a small campaign, in which every number is made up and the watts follow from a model."""
    place = tmp_path_factory.mktemp("marks")
    (place / "marks.toml").write_text(CAMPAIGN)
    (place / "output").write_text(said("run", place / "marks.toml", "--into", place / "results"))
    return place / "results"


@pytest.fixture(scope="module")
def cells(folder: Path) -> Sequence[Cell]:
    return summary(store.open_results(folder)).cells


def test_while_it_is_measured(folder):
    output = (folder.parent / "output").read_text()
    assert f"\n{SIMULATED}\n" in output
    assert "(modelled)" not in output


def test_below_the_table_and_every_view_of_it(folder):
    for view in ((), ("--winners",), ("--joules",), ("--budget",)):
        assert f"\n{SIMULATED}\n" in said("show", folder, *view), view
    assert "power is" not in said("show", folder)  # the words for watts beside a measured rate


def test_in_json(folder):
    rows = data("show", folder)["rows"]
    assert {row["reality"] for row in rows} == {"simulated"}
    assert {one["grade"] for row in rows for key, one in row["metrics"].items() if key == "energy_j"} == {
        "simulated"
    }


def test_in_each_row_of_an_export(folder, tmp_path):
    said(
        "export",
        folder,
        "--csv",
        tmp_path / "all.csv",
        "--parquet",
        tmp_path / "all.parquet",
        "--bundle",
        tmp_path / "all.zip",
    )
    header, *lines = (tmp_path / "all.csv").read_text().splitlines()
    assert header.endswith(",reality")
    assert lines
    assert all(line.endswith(",simulated") for line in lines)
    table = pq.read_table(tmp_path / "all.parquet").to_pydict()
    assert set(table["reality"]) == {"simulated"}
    assert {*table["grade"]} <= {"simulated", ""}
    with ZipFile(tmp_path / "all.zip") as bundle:
        inside = {
            Path(name).name: bundle.read(name).decode()
            for name in bundle.namelist()
            if not name.endswith(".parquet")
        }
    assert inside["table.csv"] == (tmp_path / "all.csv").read_bytes().decode()
    (root,) = (one for one in json.loads(inside["ro-crate-metadata.json"])["@graph"] if one["@id"] == "./")
    assert root["keywords"] == SIMULATED


def test_no_public_list_takes_it(folder, tmp_path):
    stated = ("--license", "CC-BY-4.0", "--author", "A")
    said("export", folder, "--bundle", tmp_path / "all.zip", *stated)
    with pytest.raises(CampaignError, match="its hosts or all of its power are simulated"):
        said("publish", tmp_path / "all.zip", "--into", tmp_path / "list")


@pytest.mark.slow  # by day: while it is measured
def test_in_every_figure(folder, tmp_path):
    said("report", folder, "--figures", tmp_path / "figures")
    drawn = sorted((tmp_path / "figures").glob("*.svg"))
    assert len(drawn) > 5
    unmarked = [path.name for path in drawn if SIMULATED not in path.read_text()]
    assert not unmarked


def test_on_the_pages(folder, tmp_path):
    assert "nothing real was measured" in (folder / "report.html").read_text()
    said("report", folder.parent)
    assert f"{SIMULATED}: results" in (folder.parent / "index.html").read_text()


def test_in_comparisons_and_histories(folder, tmp_path):
    between = ("compare", folder, "--between", "slow", "fast")
    page = tmp_path / "page.html"
    assert f"fast: {SIMULATED}" in " ".join(said(*between, "--report", page).split())
    assert f"fast: {SIMULATED}" in page.read_text()
    assert {row["after_reality"] for row in data(*between)["rows"]} == {"simulated"}
    rows = data("history", folder, folder)["rows"]
    assert {row["grade"] for row in rows} == {"simulated"}
    assert "MiB/s (simulated)" in said("history", folder, folder)


def test_on_the_live_page_and_in_its_series(folder):
    seen = watching.ResultsWatch(folder).snapshot()
    assert watching.plain(seen)["mark"] == SIMULATED
    assert SIMULATED in seen.measured.notes
    assert all(text.endswith("(simulated)") for _, text, _ in seen.measured.last)
    assert SIMULATED in said("watch", folder, "--once")
    found = progress.read(folder)
    states = [(load, state) for load, state in found.states if load.trial]
    assert {load.reality for load, _ in states} == {"simulated"}
    moments = live.rates([drawing.moment(found.channels, state) for _, state in states])
    chosen = drawing.choices(states, moments)
    pairs = [(load, values) for (load, _), values in zip(states, moments, strict=True)]
    assert {one.grade for load, values in pairs for one in drawing.powers(load, chosen, values).values()} == {
        "simulated"
    }
    tables = [drawing.meters(drawing.graded(load, values)) for load, values in pairs]
    assert {row[3] for laid in tables for row in laid.rows} == {"simulated"}


def test_simulated_numbers_are_ranked_against_measured_ones_only_if_one_says_so(folder, cells):
    (one, other), rate, per_joule = cells, "throughput_bytes_per_s", "efficiency_bytes_per_j"
    real = replace(other, reality="real", grade="modelled")
    assert refusal((one, real), rate) == "numbers are of different grades (measured, simulated)"
    assert refusal((one, real), per_joule) == "power is of different grades (modelled, simulated)"
    assert not refusal((one, real), rate, across_grades=True)
    assert not refusal((one, other), rate)
    (found,) = winners(store.open_results(folder).latest(), (one, real), rate)
    assert found.verdict.startswith("no winner: numbers are of different grades (measured, simulated)")
    assert simulated_notes((one, real)) == (f"{SIMULATED}: fast, simulated, write, 2 clients",)
    assert not simulated_notes((real,))


@pytest.mark.parametrize(
    ("filesystem", "reality"),
    [(Spec("simulated", {}), "simulated"), (Spec("directory", {"path": "/srv"}), "real")],
)
def test_a_simulated_file_system_on_real_hosts_is_simulated_too(filesystem, reality):
    assert (
        drivers.traits(drivers.testbed(Spec("local", {})), drivers.filesystem(filesystem), None).reality
        == reality
    )


def test_a_table_of_before_the_mark_verifies_with_a_note(folder):
    path = folder / "table.json"
    whole = path.read_text()
    kept = json.loads(whole)
    assert {cell["reality"] for cell in kept["cells"]} == {"simulated"}
    for cell in kept["cells"]:
        del cell["reality"]
        cell["grade"] = "modelled"
    try:
        path.write_text(json.dumps({**kept, "version": 2}))
        found = verify(store.open_results(folder))
        assert not found.differences
        assert any("table.json is of an older format" in note for note in found.notes)
        path.write_text(json.dumps(kept))
        assert any("reality" in one for one in verify(store.open_results(folder)).differences)
    finally:
        path.write_text(whole)
