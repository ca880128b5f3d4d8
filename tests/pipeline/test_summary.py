"""What is kept of a results folder's numbers: the same as computed, and never used where anything it came
from has changed.
"""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from zipfile import ZipFile

import pytest

from perjoule import campaign, exporting, store
from perjoule.campaign.making import replication
from perjoule.execution import runner
from perjoule.measures.points import points
from perjoule.model import Cell, Doubt, Interval
from perjoule.results import sides
from perjoule.results.comparison import compare
from perjoule.results.history import history
from perjoule.results.verification import verify
from perjoule.summary import Summary, _kept, _trials, computing, summary
from perjoule.summary.campaign import campaign_of
from perjoule.summary.trial import trial_summary
from perjoule.views.content import Content


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> store.Results:
    text = replication.written(*replication.reproductions("green-storage"), repetitions=2, simulate=True)
    overrides = ["clients=1", "settle=5 ms", "seed=7", "shrink=100000", "workload.operation=write"]
    asked = campaign.parse(text, overrides=overrides)
    found = store.create(tmp_path_factory.mktemp("kept") / "study", asked.text, asked.name, asked.overrides)
    runner.run(asked, found, lambda event: None)
    return found


@pytest.fixture
def results(measured: store.Results, tmp_path: Path) -> store.Results:
    shutil.copytree(measured.folder, tmp_path / "copy")
    return store.open_results(tmp_path / "copy")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The trials that were computed."""
    found: list[str] = []

    def computed(record, series):
        found.append(record.trial.id)
        return trial_summary(record, series)

    monkeypatch.setattr(computing, "trial_summary", computed)
    return found


def test_a_trial_is_computed_when_it_ends_and_kept_as_it_was_computed(
    measured: store.Results, counted: list[str]
) -> None:
    for record in measured.latest():
        found = computing.of_trial(measured, record)
        assert found == trial_summary(record, measured.series(record))
        assert found.points == points(record, measured.series(record))
        assert (
            found.metered is not None
            and found.timeline is not None
            and found.overhead is not None
            and found.periods
        )
    assert counted == []


def test_cells_are_computed_once(results: store.Results, counted: list[str]) -> None:
    whole = summary(results)
    assert counted == []  # when it ended
    shutil.rmtree(results.folder / "summary")
    assert summary(results) == whole
    assert len(counted) == 8
    assert whole.cells == Content(results).cells
    records = results.latest()
    asked = campaign_of(results)
    found = [point for record in records for point in points(record, results.series(record))]
    assert whole.cells == computing.cells_of(asked, records, found)
    assert whole.scales == tuple(sorted({record.scale for record in records} - {1}))
    counted.clear()
    assert summary(results) == whole
    assert counted == []


def test_compare_and_history_read_the_cells_that_were_kept(
    results: store.Results, counted: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(results.folder, tmp_path / "again")
    again = store.open_results(tmp_path / "again")
    whole = [summary(one).cells for one in (results, again)]
    counted.clear()
    monkeypatch.setattr(computing, "cells", lambda *_, **__: pytest.fail("computed cells that were kept"))
    first, second = sides.side(results), sides.side(again)
    assert [first.cells, second.cells] == whole
    assert {row.judged.ratio.mean for row in compare(first, second).rows} == {1.0}
    labels = sorted({record.trial.filesystem.label for record in first.records})
    for one in (both := sides.between(first, (labels[0], labels[1]))):
        assert one.cells == first.cells
    assert compare(*both).rows
    assert [moment.cells for moment in history([results, again], ["throughput_bytes_per_s"]).moments] == whole
    assert counted == []


CHANGES: dict[str, Callable[[store.Results], object]] = {
    "record": lambda results: os.utime(results.folder_of(results.latest()[0]) / "record.json", (1, 1)),
    "series": lambda results: os.utime(results.folder_of(results.latest()[0]) / "series.parquet", (1, 1)),
    "campaign": lambda results: os.utime(results.folder / "campaign.toml", (1, 1)),
    "journal": lambda results: os.utime(results.journal, (1, 1)),
    "joined": lambda results: (
        (results.folder / "joined").mkdir(),
        (results.folder / "joined" / "notes.txt").write_text("x"),
    ),
    "set aside": lambda results: (results.folder / "set-aside" / "x-attempt-1").mkdir(parents=True),
}


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_changes_the_numbers_of_a_folder_has_them_computed_again(
    what: str, results: store.Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, asked = summary(results), list[str]()
    monkeypatch.setattr(computing, "computed", lambda *_: asked.append(what) or whole)
    summary(results)
    assert asked == []
    CHANGES[what](results)
    summary(results)
    assert asked == [what]


@pytest.mark.parametrize("what", ["record", "series", "joined"])
def test_whatever_changes_the_numbers_of_a_trial_has_them_computed_again(
    what: str, results: store.Results, counted: list[str]
) -> None:
    computing.points_of(results, results.latest())
    counted.clear()
    CHANGES[what](results)
    computing.points_of(results, results.latest())
    assert len(counted) == (8 if what == "joined" else 1)  # a recording concerns all


def test_another_perjoule_computes_again(
    results: store.Results, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    summary(results)
    counted.clear()
    monkeypatch.setattr(_kept, "_code", lambda: "another")
    summary(results)
    assert len(counted) == 8


@pytest.mark.parametrize(
    "damage", [lambda body: body.replace(b"3", b"4"), lambda body: body[:100], lambda body: b""]
)
def test_what_was_changed_or_cut_is_never_shown(
    damage: Callable[[bytes], bytes], results: store.Results
) -> None:
    whole = summary(results)
    for path in sorted((results.folder / "summary").iterdir()):
        path.write_bytes(damage(path.read_bytes()))
    assert summary(results) == whole
    assert computing.points_of(results, results.latest()) == tuple(
        point for record in results.latest() for point in points(record, results.series(record))
    )


def test_verify_reads_nothing_that_was_kept(results: store.Results, monkeypatch: pytest.MonkeyPatch) -> None:
    results.keep_table(summary(results).cells)
    monkeypatch.setattr(_kept, "read", lambda *_: pytest.fail("read what was kept"))
    assert verify(results).differences == ()


def test_a_bundle_has_none_of_it(results: store.Results, tmp_path: Path) -> None:
    summary(results)
    said = exporting.Description("kept", "", "CC-BY-4.0", ())
    exporting.write_bundle(results, tmp_path / "kept.zip", "", said)
    with ZipFile(tmp_path / "kept.zip") as bundle:
        names = bundle.namelist()
    assert any("record.json" in name for name in names)
    assert [name for name in names if "summary" in name] == []


def test_where_nothing_can_be_kept_numbers_are_computed_each_time(results: store.Results) -> None:
    whole = summary(results)
    shutil.rmtree(results.folder / "summary")
    (results.folder / "summary").write_text("in the way")
    assert summary(results) == whole
    assert (results.folder / "summary").read_text() == "in the way"


def test_nothing_is_written_through_a_link(results: store.Results, tmp_path: Path) -> None:
    whole = summary(results)
    shutil.rmtree(results.folder / "summary")
    (tmp_path / "elsewhere").mkdir()
    (results.folder / "summary").symlink_to(tmp_path / "elsewhere")
    assert summary(results) == whole
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_numbers_without_an_end_are_kept_as_they_are(results: store.Results) -> None:
    odd = Cell("a", "w", "write", 1, {"energy_j": Interval(0.1 + 0.2, -inf, inf, (0.1 + 0.2,))})
    _kept.write(
        _kept.place(results, "cells"), _kept.digest(results), Summary((odd,), (0.2,), (Doubt("a doubt"),))
    )
    assert summary(results) == Summary((odd,), (0.2,), (Doubt("a doubt"),))


def test_a_failed_trial_comes_to_nothing(results: store.Results) -> None:
    failed = replace(results.latest()[0], status="failed", outcome=None)
    assert computing.of_trial(results, failed).points == ()
    assert _trials.read(results, failed, "x") is None
