"""The report says what the records say, and nothing that a page could stumble over."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from perjoule import campaign, report, store
from perjoule.execution import runner
from perjoule.figures.columns import Column
from perjoule.results import verification
from perjoule.views import drawings
from perjoule.views.content import Content

CAMPAIGN = """
name = "tried"
description = "Two <b>speeds</b> & one failure."
clients = [1, 2]
repetitions = {repetitions}
seed = 3
settle = "20 ms"
quiet = "1 ms"

[testbed]
kind = "simulated"

[[filesystem]]
kind = "simulated"
label = 'slow <script>alert("x")</script>'
throughput = "40 MiB/s"

[[filesystem]]
kind = "simulated"
label = "fast"
throughput = "80 MiB/s"

[[workload]]
kind = "simulated"
operation = ["write", "read"]
size = "1 MiB"
fail_at = {fail_at}

[[meter]]
kind = "system"
rate = "200 Hz"

[[meter]]
kind = "modelled"
rate = "200 Hz"
"""


def measured(folder: Path, *, repetitions: int = 2, fail_at: int = 0) -> store.Results:
    asked = campaign.parse(CAMPAIGN.format(repetitions=repetitions, fail_at=fail_at))
    results = store.create(folder, asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda event: None)
    return results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> store.Results:
    return measured(tmp_path_factory.mktemp("report") / "results", fail_at=3)


@pytest.fixture(scope="module")
def page(results: store.Results) -> str:
    return report.write(results, results.folder / "report.html").read_text()


def embedded(page: str) -> dict[str, Any]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def test_what_people_wrote_is_text_and_never_markup(page: str) -> None:
    assert '<script>alert("x")' not in page
    assert "&lt;script&gt;alert(&#34;x&#34;)" in page
    assert "Two &lt;b&gt;speeds&lt;/b&gt; &amp; one failure." in page


def test_failed_trials_stand_there_with_their_reason(page: str) -> None:
    assert "2 failed trials" in page
    assert "the simulated load fails in its run 3, as configured" in page


def test_every_figure_that_the_records_allow_is_there(page: str) -> None:
    figures = embedded(page)["figures"]
    assert set(figures) >= {"throughput", "efficiency", "edp", "power", "cost", "timeline", "capacity"}
    assert all(f'<figure id="{name}">' in page for name in figures)


def test_simulated_watts_are_called_so(page: str) -> None:
    """Though a meter took them from counters: those of a simulated host are made up."""
    # on the first screen
    assert "<dt>Watts</dt><dd>simulated, not measured</dd>" in page[: page.index("Results</h2>")]
    efficiency = embedded(page)["figures"]["efficiency"]
    assert "simulated, not measured" in efficiency["title"]["subtitle"]


def test_the_page_needs_nothing_from_outside(page: str) -> None:
    without_data = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r'(src|href)="https?:', without_data)


def test_links_lead_to_the_raw_files(results: store.Results, page: str) -> None:
    folders = re.findall(r'data-folder="([^"]+)"', page)
    assert folders
    assert all((results.folder / folder / "raw").is_dir() for folder in folders)


def test_the_table_that_verify_reads_is_kept(results: store.Results, page: str) -> None:
    assert results.table()
    assert verification.verify(results).differences == ()


@pytest.mark.parametrize(
    ("column", "inches"), [("single", 3.5), pytest.param("double", 7.17, marks=pytest.mark.slow)]
)
def test_figures_are_as_wide_as_a_column_with_text_as_text(
    column: Column, inches: float, results: store.Results, tmp_path: Path
) -> None:
    (folder := tmp_path / "figures").mkdir()
    (folder / "timeline.svg").symlink_to(tmp_path / "profile")
    written = report.figures(results, folder, column)
    assert folder / "timeline.svg" in written
    assert [path.name for path in tmp_path.iterdir()] == ["figures"]
    assert {(path.suffix, path.read_bytes()[:4]) for path in written} == {
        (".svg", b"<svg"),
        (".pdf", b"%PDF"),
    }
    for path in written:
        if path.suffix == ".svg":
            found = re.search(r'<svg[^>]* width="([\d.]+)"', path.read_text())
            assert found and inches * 96 - 20 <= float(found[1]) <= inches * 96 + 0.5, path.name
            assert path.read_text().count("<text") > 5, path.name
        else:
            assert b"/Font" in path.read_bytes(), path.name
            box = re.search(rb"/MediaBox ?\[0 0 ([\d.]+)", path.read_bytes())
            assert box and inches * 72 - 15 <= float(box[1]) <= inches * 72 + 0.5, path.name


def test_one_repetition_has_no_interval_and_says_so(tmp_path: Path) -> None:
    single = measured(tmp_path / "single", repetitions=1)
    assert "± ?" in report.write(single, tmp_path / "single.html").read_text()
    assert dict(drawings(Content(single)))["throughput"]


def test_a_folder_without_any_valid_trial_has_a_report_too(tmp_path: Path) -> None:
    asked = campaign.parse(CAMPAIGN.format(repetitions=1, fail_at=0))
    empty = store.create(tmp_path / "empty", asked.text, asked.name, asked.overrides)
    assert "0 valid trials" in report.write(empty, tmp_path / "empty.html").read_text()
