"""Exports of databases: several series in one file, times in nanoseconds, and rows of changes alone."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from perjoule.energy.amount import amount
from perjoule.meters.csv import Csv, LogSample
from perjoule.model import Channel, Clock, Series
from perjoule.model.errors import CampaignError, PerjouleError
from places import TRANSCRIPTS
from typed import as_written

SAID = TRANSCRIPTS / "csv"
NOON = Clock(0.0, datetime(2026, 10, 25, 12, tzinfo=UTC).timestamp())
INFLUX = {"time": ["_time"], "value": "_value", "where": {"_field": "power", "host": "storage-1"}}
OLD_INFLUX = {"time": ["time"], "value": "power", "clock": "unix ns", "where": {"tags": "host=storage-1"}}
HISTORY: dict[str, Any] = {
    "time": ["last_changed"],
    "value": "state",
    "where": {"entity_id": "sensor.nas_power"},
}
CHANGES = {**HISTORY, "changes_only": True, "period": "2 s"}


def samples(text: str, **options: Any) -> list[LogSample]:
    declared = {"path": "log.csv", "unit": "W", "semantics": "instantaneous", "grade": "wall"}
    return list(as_written(Csv, **{**declared, **options}).samples(text, NOON))


def written(name: str, **options: Any) -> list[tuple[float, float]]:
    return [(row.t_s, row.value) for row in samples((SAID / name).read_text(), **options)]


def same(rows: Sequence[tuple[float, float]], expected: Sequence[tuple[float, float]]) -> bool:
    return len(rows) == len(expected) and np.allclose(rows, expected, rtol=0, atol=1e-6, equal_nan=True)


def test_a_series_of_an_annotated_export_is_chosen_by_its_columns_in_all_tables() -> None:
    rows = written("influxdb-2.csv", **INFLUX)
    assert same(rows, [(0.25, 40.5), (0.75, 41.25), (1.25, math.nan), (1.75, 43.0)])
    other = written("influxdb-2.csv", **{**INFLUX, "where": {"host": "storage-2"}})
    assert same(other, [(0.25, 70.5), (0.75, 71.0)])


def test_annotations_and_tables_without_the_columns_are_no_gaps() -> None:
    text = (SAID / "influxdb-2.csv").read_text()
    alone = "\n".join(line for line in text.splitlines() if not line.endswith("storage-2"))
    alone = alone.replace("_time,_value,_field,_measurement\n", "_time,text,_field,_measurement\n")
    rows = [(row.t_s, row.value) for row in samples(alone, time=["_time"], value="_value")]
    assert same(rows, [(0.25, 40.5), (0.75, 41.25), (1.25, math.nan), (1.75, 43.0)])


def test_an_export_of_the_older_database_has_nanoseconds() -> None:
    assert same(written("influxdb-1.csv", **OLD_INFLUX), [(0.25, 40.5), (0.75, 41.25)])


@pytest.mark.parametrize(
    ("clock", "factor"), [("unix", 1), ("unix ms", 1000), ("unix us", 10**6), ("unix ns", 10**9)]
)
def test_units_of_unix_times_are_declared_and_a_wrong_one_is_refused(clock: str, factor: int) -> None:
    text = f"time,power\n{1792929600 * factor},5\n{1792929601 * factor},6\n"
    options = {"time": ["time"], "value": "power"}
    assert [row.t_s for row in samples(text, clock=clock, **options)] == [0.0, 1.0]
    if factor > 1:
        with pytest.raises(CampaignError, match="no time in this unit"):
            samples(text, clock="unix", **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [("influxdb-2.csv", INFLUX), ("influxdb-1.csv", OLD_INFLUX), ("home-assistant.csv", CHANGES)],
)
def test_a_file_of_several_series_is_refused_until_one_is_chosen(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(CampaignError):
        written(name, **{**options, "where": {}})


def test_a_series_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(
        CampaignError, match=r"no row has entity_id = sensor.nas; there are: sensor.nas_energy \|"
    ):
        written("home-assistant.csv", **{**CHANGES, "where": {"entity_id": "sensor.nas"}})
    with pytest.raises(CampaignError, match="no line has the columns rack, _time, _value"):
        written("influxdb-2.csv", **{**INFLUX, "where": {"rack": "1"}})


def test_an_export_that_ends_with_an_error_is_refused() -> None:
    text = (
        SAID / "influxdb-2.csv"
    ).read_text() + "\n#datatype,string,string\n,error,reference\n,timeout,897\n"
    with pytest.raises(CampaignError, match="an error of InfluxDB's"):
        samples(text, **INFLUX)


def test_a_number_holds_until_the_next_row_and_what_is_unavailable_is_a_gap() -> None:
    """Definition: the meter reads every 2 s; of its readings those that equal the one before have no row."""
    rows = written("home-assistant.csv", **CHANGES)
    before = [(t, 40.5) for t in (0.0, 2.0, 4.0, 6.0, 8.0, 10.0)] + [(10.5, 41.25), (12.5, 41.25)]
    assert same(rows, [*before, (14.0, math.nan), (30.0, 43.0), (31.0, math.nan)])


def test_the_energy_of_changes_is_that_of_a_step_function_without_its_gaps() -> None:
    """Calculated here from the rows themselves, not from the readings between them."""
    text = "entity_id,state,last_changed\n" + "".join(
        f"sensor.nas_power,{watts},2026-10-25T12:00:{second:06.3f}Z\n"
        for second, watts in ((0, 40.0), (10, 40.2), (30, 41.0), (50, 40.0))
    )
    rows = np.array(samples(text, **{**CHANGES, "period": "0.5 s"}))
    channel = Channel("csv", "", "total", "power", "W", "instantaneous", "wall")
    energy = amount(Series(channel, rows[:, 0], rows[:, 2], rows[:, 1]), 0.0, 50.0)
    assert energy.value is not None
    assert energy.value == pytest.approx(
        10 * 40.0 + 20 * 40.2 + 20 * 41.0, abs=0.5 * 1.0
    )  # a step is a period wide
    rare = np.array(samples(text, **CHANGES))
    assert (
        amount(Series(channel, rare[:, 0], rare[:, 2], rare[:, 1]), 0.0, 50.0).value is None
    )  # misses bursts


def test_a_counter_of_changes_is_read_as_it_is() -> None:
    counts = {"unit": "kWh", "semantics": "counter", "where": {"entity_id": "sensor.nas_energy"}}
    rows = written("home-assistant.csv", **{**HISTORY, **counts})
    assert same(rows, [(0.0, 12.4 * 3.6e6), (31.412, 12.401 * 3.6e6)])


def test_changes_are_not_taken_for_readings() -> None:
    with pytest.raises(CampaignError, match=r"records changes alone .set changes_only = true, and period"):
        written("home-assistant.csv", **HISTORY)


@pytest.mark.parametrize(
    "head", ["last_updated,state", "state_id,state,last_changed", "state,last_updated_ts"]
)
def test_changes_without_their_entity_are_not_taken_for_readings_either(head: str) -> None:
    time = next(name for name in head.split(",") if name.startswith("last"))
    cells = {"state": "40.5", "state_id": "7", time: "5"}
    row = ",".join(cells[name] for name in head.split(","))
    options = {"time": [time], "value": "state", "unit": "W", "semantics": "instantaneous", "grade": "wall"}
    with pytest.raises(CampaignError, match="records changes alone"):
        samples(f"{head}\n{row}\n", clock="unix", **options)


@pytest.mark.parametrize("counts", [{}, {"unit": "kWh", "semantics": "counter", "changes_only": False}])
def test_means_of_hours_that_replace_older_states_are_refused(counts: dict[str, Any]) -> None:
    text = "entity_id,state,last_changed\n" + "".join(
        f"sensor.nas_power,{n}.5,2026-10-25T{n:02}:00:00.000Z\n" for n in (10, 11)
    )
    with pytest.raises(CampaignError, match="are of hours, not of moments"):
        samples(text, **{**CHANGES, **counts})
    late = text.replace("T11:00:00.000Z", "T11:00:00.001Z")
    factor = 3.6e6 if counts else 1.0
    assert samples(late, **{**CHANGES, **counts})[-1].value == 11.5 * factor


def test_a_number_that_holds_for_ages_is_no_series() -> None:
    text = "entity_id,state,last_changed\nsensor.nas_power,1,2026-01-01T00:00:01Z\nsensor.nas_power,2,2026-10-25T12:00:00Z\n"
    with pytest.raises(CampaignError, match="is period right"):
        samples(text, **{**CHANGES, "period": "1 s"})


@pytest.mark.parametrize(
    "wrong",
    [{"period": None}, {"unit": "J", "semantics": "counter"}, {"by": "entity_id"}, {"window_column": "w"}],
)
def test_what_changes_can_not_be_declared_with(wrong: dict[str, Any]) -> None:
    options = {name: value for name, value in {**CHANGES, **wrong}.items() if value is not None}
    with pytest.raises((ValidationError, PerjouleError), match="changes_only needs period"):
        samples("", **options)


def test_changes_are_not_read_while_they_are_written(listen: Any) -> None:
    options = {
        "path": str(SAID / "home-assistant.csv"),
        "unit": "W",
        "semantics": "instantaneous",
        "grade": "wall",
    }
    with pytest.raises(CampaignError, match="only with its next row"):
        listen({"kind": "csv", **options, **CHANGES}, any)
