"""The tutorial's campaign has no fault, and its report doubts nothing."""

import re
from dataclasses import replace

import pytest

from measured import changed
from perjoule import campaign, store
from perjoule.execution import runner
from perjoule.model.doubts import CHANGE, IN_FLIGHT, METERS, REPETITIONS
from perjoule.report.page import page
from perjoule.views.content import Content
from places import ROOT

# Loads of a tenth of a second end by the clock, writes with real `sync`s, and samples are taken by the clock:
# another load can delay each. A window without a sample has no joules, so not every repetition has them.
BUSY = {CHANGE, IN_FLIGHT, METERS, REPETITIONS}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Content:
    text = (ROOT / "docs" / "tutorials" / "first-campaign.md").read_text()
    (table,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    asked = campaign.parse(table)
    results = store.create(
        tmp_path_factory.mktemp("tutorial") / "first", asked.text, asked.name, asked.overrides
    )
    runner.run(asked, results, lambda event: None)
    return Content(results)


def test_nothing_is_doubted_but_what_a_busy_machine_can_cause(found: Content) -> None:
    doubts = {*found.doubts, *(doubt for cell in found.cells for doubt in cell.doubts)}
    assert {doubt for doubt in doubts if doubt.kind not in BUSY} == set()
    # no sync ends them: the same on any machine
    reads = [cell for cell in found.cells if cell.direction == "read"]
    assert len(reads) == 4
    means = {
        (cell.filesystem, cell.clients_count): cell.metrics["throughput_bytes_per_s"].mean / 2**20
        for cell in reads
    }
    assert means["fast", 1] == pytest.approx(40.36, abs=0.005)  # as the tutorial prints it
    assert means["slow", 2] == pytest.approx(39.34, abs=0.005)


def test_the_report_says_that_there_are_no_doubts(found: Content) -> None:
    quiet = changed(
        found,
        doubts=(),
        cells=tuple(
            replace(cell, doubts=tuple(d for d in cell.doubts if d.kind not in BUSY)) for cell in found.cells
        ),
    )
    assert "<dt>Doubts</dt><dd>none</dd>" in page(quiet, "results")
