"""Every load has a panel or a bar of its own, under a name of its own."""

from dataclasses import replace

import pytest

from perjoule.figures.loads import load_names
from perjoule.model import Cell, Direction, Interval
from perjoule.model.units import MIB
from perjoule.views.performance.cost import cost
from perjoule.views.performance.throughput import throughput
from perjoule.views.power.joules import joules
from perjoule.views.power.power import power


def one(value: float) -> Interval:
    return Interval(value, value, value, (value,))


def cell(workload: str, direction: Direction, value: float) -> Cell:
    metrics = {
        "throughput_bytes_per_s": one(value * MIB),
        "duration_s": one(1.0),
        "part_client_rest_j": one(value * 2),
        "cpu_client_s_per_byte": one(value / MIB / 1000),
        "cpu_storage_s_per_byte": one(value / MIB / 1000),
    }
    return Cell("a", workload, direction, 1, metrics)


@pytest.mark.parametrize(
    ("loads", "names"),
    [
        ([("fio", "write")], ["write"]),
        ([("fio write", "write"), ("fio read", "read")], ["write", "read"]),
        (
            [("load 5 %", "read"), ("load 25 %", "read"), ("load 0 %", "idle")],
            ["load 5 %", "load 25 %", "idle"],
        ),
        ([("small", "write"), ("small", "read"), ("large", "write")], ["small, write", "read", "large"]),
        ([("a", "write"), ("a", "write")], ["write"]),
    ],
)
def test_names_of_loads(loads: list[tuple[str, str]], names: list[str]) -> None:
    assert list(load_names(loads).values()) == names


LOADS: list[Cell] = [
    cell("small", "write", 10),
    cell("small", "read", 20),
    cell("large", "write", 30),
    cell("large", "read", 40),
]


def test_a_bar_is_one_cell_and_never_a_sum_over_loads() -> None:
    spec = cost(LOADS)
    for rows in (spec["concat"][0]["data"]["values"], joules(LOADS)["vconcat"][0]["data"]["values"]):
        bars = [row["bar"] for row in rows]
        assert set(bars) == {
            f"a, {workload}, {direction}"
            for workload in ("small", "large")
            for direction in ("write", "read")
        }
        pieces = [(row["bar"], row["name"]) for row in rows]
        assert len(pieces) == len(set(pieces))
    assert sum(
        row["value"] for row in spec["concat"][0]["data"]["values"] if row["bar"] == "a, small, read"
    ) == pytest.approx(40)


def test_a_panel_is_one_load() -> None:
    titles = [panel["title"]["text"] for panel in throughput(LOADS)["concat"]]
    assert titles == ["small, read", "large, read", "small, write", "large, write"]


def test_watts_of_different_loads_are_in_different_boxes() -> None:
    samples = {
        ("a", "load 5 %", "read"): [10.0],
        ("a", "load 25 %", "read"): [20.0, 21.0],
        ("a", "load 0 %", "idle"): [5.0],
    }
    panels = {
        panel["title"]["text"]: [row["watts"] for row in panel["data"]["values"]]
        for panel in power(samples)["concat"]
    }
    assert panels == {"load 5 %": [10.0], "load 25 %": [20.0, 21.0], "Idle": [5.0]}


def test_cpu_time_by_byte_is_drawn_with_how_well_it_is_known() -> None:
    """In its tooltip; a cell of an older table does not say."""
    sure = cell("small", "write", 10)
    known = {**sure.metrics, "cpu_client_uncertainty_s_per_byte": one(0.5 / MIB / 1000)}
    rows = [
        cost([replace(sure, metrics=metrics)])["concat"][0]["data"]["values"][0]
        for metrics in (known, sure.metrics)
    ]
    assert [row["text"] for row in rows] == ["10.00 ± 0.500 ms/MiB", "10.00 ms/MiB"]
