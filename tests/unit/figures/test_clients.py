"""Figures against clients: nothing is cut at the frame, and nothing is joined that stands beside each
other.
"""

from dataclasses import replace
from math import inf

import pytest

from perjoule.figures.printed import PaperNumber
from perjoule.figures.vega import Spec
from perjoule.model import Cell, Interval
from perjoule.model.metrics import EDP_RATIO, EFFICIENCY, THROUGHPUT
from perjoule.model.units import MIB
from perjoule.views.performance.throughput import throughput
from perjoule.views.power.edp import edp
from perjoule.views.power.efficiency import efficiency


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
        assert low < row["low"] <= row["centre"] <= row["high"] < high
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


def test_an_interval_that_would_press_all_others_together_gets_arrows_and_a_note() -> None:
    steady = cell("b", 1, 80, 5)
    wide = replace(steady, metrics={**steady.metrics, EDP_RATIO: Interval(0.8, -8.2, 9.8, (0.8,))})
    spec = edp([cell("a", 1, 100, 20), wide])
    (panel,) = spec["concat"]
    low, high = domain(panel)
    assert high < 2
    rows = panel["data"]["values"]
    assert {row["filesystem"]: (row["less"], row["more"]) for row in rows} == {
        "a": (None, None),
        "b": (low, high),
    }
    arrows = [layer["mark"]["shape"] for layer in panel["layer"] if layer["mark"].get("style") == "arrow"]
    assert arrows == ["triangle-up", "triangle-down"]
    assert "arrow: the interval continues beyond the frame" in spec["title"]["subtitle"]
    assert all(row["high"] <= high and row["low"] >= low for row in rows)


@pytest.mark.parametrize("draw", [throughput, edp, efficiency])
def test_repetitions_without_a_useful_mean_are_drawn_as_the_table_prints_them(draw) -> None:
    values = (31.0, 57.0, 58.0, 60.0, 61.0)
    wide = Interval(53.4, 30.0, 76.8, values)  # half of it exceeds a third of the mean
    scattered = Cell("a", "fio write", "write", 1, dict.fromkeys((THROUGHPUT, EDP_RATIO, EFFICIENCY), wide))
    spec = draw([scattered, cell("b", 1, 100, 20)])
    (row,) = (row for panel in spec["concat"] for row in panel["data"]["values"] if row["filesystem"] == "a")
    per = 1.0 if draw is edp else MIB
    assert (row["low"] * per, row["centre"] * per, row["high"] * per) == pytest.approx((31, 58, 61))
    assert row["shown"] == "median and range"
    assert "median and range where the table has them" in spec["title"]["subtitle"]
    assert "median" not in str(draw([cell("b", 1, 100, 20)])["title"])


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


def test_means_stand_beside_a_papers_numbers_as_they_are_compared() -> None:
    wide = Interval(
        53.4 * MIB, 30 * MIB, 76.8 * MIB, tuple(value * MIB for value in (31.0, 57.0, 58.0, 60.0, 61.0))
    )
    scattered = Cell("a", "fio write", "write", 1, {THROUGHPUT: wide})
    paper = PaperNumber(scattered, 50 * MIB, "50 MiB/s")
    (panel,) = throughput([scattered], printed=[paper])["concat"]
    (row,) = panel["data"]["values"]
    assert row["centre"] == pytest.approx(53.4)
