"""Repetitions in two modes have no mean with "±", in whatever table or sentence a row is printed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perjoule.model import Cell, Clock, Interval
from perjoule.model.units import MIB
from perjoule.report.answers import answers
from perjoule.results import history as histories
from perjoule.results.comparison import compare
from perjoule.results.comparison.table import comparison_table
from perjoule.results.history.table import history_table
from perjoule.results.sides import Side
from perjoule.results.table import Table
from perjoule.statistics.cells import cells
from perjoule.statistics.scaling import scaling
from perjoule.views.life.rebuild import rebuild_table, rebuilt_bytes_table
from perjoule.views.performance.muons import muons_table
from perjoule.views.performance.scaling import scaling_table
from readings import point_of

# MiB/s in two modes, whose interval is less than a third of the mean
TWO = (100.0, 101.0, 102.0, 130.0, 131.0, 132.0)
SINGLE = (116.0, 115.0, 117.0, 116.5, 115.5, 116.2)
RATE, EVENTS = "throughput_bytes_per_s", "events_per_s"


def of(values: tuple[float, ...], per: float = 1.0) -> Interval:
    mean = sum(values) / len(values) * per
    return Interval(mean, 0.87 * mean, 1.13 * mean, tuple(value * per for value in values))


def cell(values: tuple[float, ...], **more: Interval) -> Cell:
    """A row whose rate has these repetitions, and whose other metrics have one mode."""
    metrics = {RATE: of(values, MIB), "event_healing_s": of(SINGLE), EVENTS: of(SINGLE), **more}
    return Cell("moosefs", "fio write", "write", 4, metrics, servers_count=2)


def sentence(row: Cell) -> Table:
    content: Any = SimpleNamespace(cells=(row,), winners=())
    (found,) = answers(content)
    assert "With events: moosefs" in found.sentence
    return Table(("sentence",), ((found.sentence.partition("With events")[2],),))


def scaled(row: Cell) -> Table:
    found = scaling_table(scaling([replace(row, servers_count=n) for n in (2, 4)]))
    assert len(found.rows) == 2
    return Table(("value",), tuple((one[5],) for one in found.rows))


def muons(row: Cell) -> Table:
    return muons_table([row])


def rebuilt(row: Cell) -> Table:
    return rebuild_table([replace(row, metrics={**row.metrics, "rebuild_lost_bytes": of(SINGLE, MIB)})])


def roles(row: Cell) -> Table:
    return rebuilt_bytes_table(
        [replace(row, metrics={**row.metrics, "rebuild_disk_read_storage_bytes": of(SINGLE, MIB)})]
    )


@pytest.mark.parametrize("table", [sentence, scaled, muons, rebuilt, roles])
def test_a_row_in_two_modes_has_medians_and_repetitions(table: Callable[[Cell], Table]) -> None:
    found = table(cell(TWO))
    assert found.rows and not any("±" in text for row in found.rows for text in row), found.rows
    assert any("(" in text for row in found.rows for text in row)
    assert any("±" in text for row in table(cell(SINGLE)).rows for text in row), (
        "one in one mode has its mean"
    )


def test_a_history_prints_the_latest_by_its_median(monkeypatch: pytest.MonkeyPatch) -> None:
    def moment(results: Any) -> histories.HistoryMoment:
        return histories.HistoryMoment(results, results.utc_s, [cell(results.values)])

    monkeypatch.setattr(histories, "_moment", moment)
    monkeypatch.setattr(histories, "name_of", lambda results: "one")
    for values, shown in ((TWO, "116 (100–132)"), (SINGLE, "116 ± 15")):
        folders: list[Any] = [
            SimpleNamespace(done=lambda: True, folder=Path("lab"), utc_s=n, values=own)
            for n, own in enumerate((SINGLE, values))
        ]
        (row,) = history_table(histories.history(folders, [RATE])).rows
        assert row[7] == shown


def test_a_comparison_prints_each_side_as_its_own_row(made) -> None:
    def side(name: str, values: tuple[float, ...]) -> Side:
        asked = [made.trial(filesystem="moosefs", repetition=n) for n in range(1, len(values) + 1)]
        records = [replace(made.record(one), clock=Clock(0.0, 100.0 * one.repetition)) for one in asked]
        points = [
            point_of(one, "write", {RATE: value * MIB}, (), "wall")
            for one, value in zip(asked, values, strict=True)
        ]
        return Side(name, None, tuple(records), tuple(points), cells(records, points))

    (row,) = comparison_table(compare(side("a", SINGLE), side("b", TWO))).rows
    assert row[5].startswith("116.0 ± ") and row[6] == "116 (100–132)"
