"""Figures against clients: nothing is cut at the frame, and nothing is joined that stands beside each
other.
"""

from dataclasses import replace
from math import inf

import pytest

from perjoule.figures.vega import Spec
from perjoule.model import Cell, Interval
from perjoule.model.units import MIB
from perjoule.views.performance.throughput import throughput
from perjoule.views.power.edp import edp


def cell(filesystem: str, clients: int, mean: float, half: float, workload: str = "fio read") -> Cell:
    found = Interval(mean * MIB, (mean - half) * MIB, (mean + half) * MIB, (mean * MIB,))
    ratio = Interval(mean / 100, (mean - half) / 100, (mean + half) / 100, (mean / 100,))
    return Cell(filesystem, workload, "read", clients, {"throughput_bytes_per_s": found, "edp_ratio": ratio})


def layers(panel: Spec, kind: str) -> list[Spec]:
    return [layer for layer in panel["layer"] if layer["mark"]["type"] == kind]


def domain(panel: Spec) -> tuple[float, float]:
    low, high = layers(panel, "point")[-1]["encoding"]["y"]["scale"]["domain"]
    return low, high


@pytest.mark.parametrize("draw", [throughput, edp])
def test_an_interval_lies_inside_of_the_frame(draw) -> None:
    (panel,) = draw([cell("a", 1, 100, 20), cell("b", 1, 80, 30)])["concat"]
    low, high = domain(panel)
    for row in panel["data"]["values"]:
        assert low < row["low"] <= row["mean"] <= row["high"] < high
    assert not [layer for layer in panel["layer"] if layer["mark"].get("style") == "arrow"]


def test_the_best_has_a_line_and_a_peaks_label_begins_where_few_clients_have_their_marks() -> None:
    (panel,) = edp([cell("a", 1, 100, 20), cell("b", 1, 300, 30)])["concat"]
    assert [rule["encoding"]["y"]["datum"] for rule in layers(panel, "rule")[:1]] == [1.0]
    assert "logarithmic" in layers(panel, "point")[-1]["encoding"]["y"]["title"]
    peaked = cell("a", 1, 100, 20)
    peak = Interval(400 * MIB, 400 * MIB, 400 * MIB, (400 * MIB,))
    (panel,) = throughput([replace(peaked, metrics={**peaked.metrics, "tpp_bytes_per_s": peak})])["concat"]
    (label,) = layers(panel, "text")
    assert (label["mark"]["text"], label["mark"]["align"]) == ("TPP 400.0 MiB/s", "left")
    assert label["encoding"]["x"] == {"value": 0}


def test_an_interval_that_would_press_all_others_together_gets_an_arrow_and_a_note() -> None:
    spec = throughput([cell("a", 1, 100, 20), cell("b", 1, 80, 900)])
    (panel,) = spec["concat"]
    low, high = domain(panel)
    assert high < 200
    assert {row["filesystem"]: row["more"] for row in panel["data"]["values"]} == {"a": None, "b": high}
    (arrow,) = (layer for layer in panel["layer"] if layer["mark"].get("style") == "arrow")
    assert arrow["mark"]["shape"] == "triangle-up"
    assert "arrow: the interval continues beyond the frame" in spec["title"]["subtitle"]
    assert all(row["high"] <= high and row["low"] >= low for row in panel["data"]["values"])


def test_points_beside_each_other_are_not_joined_and_those_of_one_file_system_are() -> None:
    several = throughput([cell(name, clients, 50, 1) for name in "ab" for clients in (1, 2)])
    assert not layers(several["concat"][0], "line")
    assert layers(throughput([cell("a", clients, 50, 1) for clients in (1, 2)])["concat"][0], "line")


def test_several_workloads_of_a_direction_have_a_panel_each() -> None:
    spec = throughput([cell("a", 1, 50, 1, workload) for workload in ("fio read", "fio randread")])
    assert [panel["title"]["text"] for panel in spec["concat"]] == ["fio read", "fio randread"]
    assert [panel["title"]["text"] for panel in throughput([cell("a", 1, 50, 1)])["concat"]] == ["Read"]


def test_one_repetition_has_no_interval() -> None:
    lone = Cell("a", "fio read", "read", 1, {"throughput_bytes_per_s": Interval(MIB, -inf, inf, (MIB,))})
    (panel,) = throughput([lone])["concat"]
    assert [(row["low"], row["high"]) for row in panel["data"]["values"]] == [(None, None)]


@pytest.mark.parametrize(
    ("best", "worst", "count"), [(100, 130, 3), (100, 400, 5), (100, 9000, 8), (100, 9_000_000, 5)]
)
def test_a_logarithmic_axis_has_a_label_at_each_of_its_few_lines(
    best: float, worst: float, count: int
) -> None:
    (panel,) = edp([cell("a", 1, best, 0.3 * best), cell("b", 1, worst, 1)])["concat"]
    low, high = domain(panel)
    axis = layers(panel, "point")[-1]["encoding"]["y"]["axis"]
    assert len(axis["values"]) == pytest.approx(count, abs=2)
    assert all(low <= value <= high for value in axis["values"])
    assert axis["labelOverlap"] is False
