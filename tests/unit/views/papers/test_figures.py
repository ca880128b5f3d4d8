"""A paper's figures and tables with ours beside: its numbers as printed, none that it does not print, and
ours with intervals.
"""

import re
from dataclasses import replace
from typing import Any

import pytest

from measured import content_of
from perjoule.figures import rendering, vega
from perjoule.figures.vega import Spec
from perjoule.model import Cell, Trial
from perjoule.model import Spec as Driver
from perjoule.model.units import MIB
from perjoule.papers import published
from perjoule.papers.claims import judged
from perjoule.papers.facts import beside, measured
from perjoule.statistics.intervals import interval
from perjoule.summary.timeline import Timeline
from perjoule.summary.traffic import Overhead
from perjoule.summary.trial import TrialSummary
from perjoule.views.papers import figures as paper_figures

KINDS = {"CephFS": "cephfs", "MooseFS": "moosefs"}
RATES = {"CephFS": (60.0, 62.0, 61.0), "MooseFS": (350.0, 361.0, 342.0)}
PLACES = {
    "Figure 2": "paper-figure-2",
    "Figure 3": "paper-figure-3",
    "Figure 4": "paper-figure-4",
    "Figure 5": "paper-figure-5",
}


def cell(name: str, direction: Any, clients: int) -> Cell:
    rates = [rate * clients / 4 * MIB for rate in RATES[name]]
    metrics = {
        "throughput_bytes_per_s": interval(rates),
        "tpp_ratio": interval([rate / (445.36 * MIB) for rate in rates]),
        "mean_w": interval([40.0, 41.0, 42.0]),
        "efficiency_bytes_per_j": interval([rate / 40 for rate in rates]),
        "edp_ratio": interval([1.0, 1.1, 1.2]),
    }
    return Cell(name, "fio", direction, clients, metrics, grade="modelled")


@pytest.fixture
def found(made: Any) -> Any:
    cells = [
        cell(name, direction, clients)
        for name in KINDS
        for direction in ("write", "read")
        for clients in (1, 4)
    ]
    workload = Driver("fio", {"operation": "write", "transfer": "4 MiB", "size": "36 MiB"}, "fio")
    trials = [
        Trial(Driver("virtual", {}, "virtual"), Driver(kind, {}, name), workload, (), 4, 1)
        for name, kind in KINDS.items()
    ]
    records = [made.record(trial, cluster="odroid-hc4") for trial in trials]
    paper = published.paper("green-storage")
    own = measured(records, cells)
    power = {
        (name, "fio", direction): [40.0, 41.0, 42.0] for name in KINDS for direction in ("read", "write")
    }
    claims = judged(paper, own)
    values = {
        "cells": cells,
        "records": records,
        "power": power,
        "pairs": beside(paper, own),
        "claims": claims,
    }
    return content_of(reproduces=paper.name, **values)


def rows(spec: Spec, panel: int, field: str) -> list[dict[str, Any]]:
    """The data of the layer that shows this field."""
    (layer,) = (one for one in spec["concat"][panel]["layer"] if one["encoding"]["y"].get("field") == field)
    return layer["data"]["values"]


def test_figures_2_to_5_are_there_in_the_papers_order(found: Any) -> None:
    drawn = dict(paper_figures.drawings(found))
    assert list(drawn) == list(PLACES.values())
    shown = paper_figures.reprints(found, drawn)
    assert [one.figure.place for one in shown] == list(PLACES)
    assert (
        paper_figures.summed_up(shown, ["Table II"]) == "Figure 2, Figure 3, Figure 4, Figure 5 and Table II"
    )
    # left, right
    assert [panel["title"]["text"] for panel in drawn["paper-figure-2"]["concat"]] == ["Read", "Write"]


def test_the_papers_largest_values_stand_beside_our_largest_in_the_same_panel(found: Any) -> None:
    spec = dict(paper_figures.drawings(found))["paper-figure-2"]
    for panel, printed in enumerate(
        ({"CephFS": 172.12, "MooseFS": 291.41}, {"CephFS": 95.22, "MooseFS": 365.57})
    ):
        there = rows(spec, panel, "printed")
        assert {row["filesystem"]: row["printed"] for row in there} == pytest.approx(printed)
        own = rows(spec, panel, "own")
        assert {row["filesystem"]: row["own"] for row in own} == pytest.approx(
            {name: max(RATES[name]) for name in KINDS}
        )
        assert {row["clients"] for row in (*there, *own)} == {"largest"}
        layers = spec["concat"][panel]["layer"]
        assert all(
            layer["encoding"]["x"]["scale"]["domain"] == [1, 4, "largest"]
            for layer in layers
            if "x" in layer["encoding"]
        )
        assert {
            row["low"] < row["centre"] < row["high"] for row in spec["concat"][panel]["data"]["values"]
        } == {True}
        _, high = layers[-1]["encoding"]["y"]["scale"]["domain"]
        assert high > max(printed.values())  # in the frame


def test_the_papers_bars_are_in_no_file_systems_colour(found: Any) -> None:
    drawn = rendering.svg(dict(paper_figures.drawings(found))["paper-figure-2"])
    bars = re.findall(r'aria-roledescription="tick"[^>]* fill="(#\w+)"', drawn)
    assert bars == [vega.THEMES["light"]["style"]["panel"]["color"]] * 4
    assert not {*bars} & {*vega.THEMES["light"]["range"]["category"]}


def test_nothing_is_drawn_of_the_paper_that_it_does_not_print(found: Any) -> None:
    drawn = dict(paper_figures.drawings(found))
    for name in ("paper-figure-3", "paper-figure-4", "paper-figure-5"):
        assert "the paper prints no numbers that were measured here" in drawn[name]["title"]["subtitle"]
        assert "printed" not in str(drawn[name]["concat"])


def test_a_number_for_some_clients_stands_at_them(found: Any) -> None:
    (pair,) = (one for one in found.pairs if one.number.id == "max_arm_moosefs_write")
    number = replace(
        pair.number, facts={**pair.number.facts, "clients": 4}, statistic="mean", value=300 * MIB
    )
    own = content_of(**{**vars(found), "pairs": [replace(pair, number=number)]})
    spec = dict(paper_figures.drawings(own))
    (row,) = rows(spec["paper-figure-2"], 1, "printed")
    assert (row["clients"], row["printed"]) == (4, 300)


def test_a_figures_claims_are_those_about_its_quantity(found: Any) -> None:
    drawn = dict(paper_figures.drawings(found))
    claims = {
        one.figure.place: {own.claim.text for own in one.claims}
        for one in paper_figures.reprints(found, drawn)
    }
    assert "GlusterFS draws the most power (4 clients)" in claims["Figure 5"]
    assert not claims["Figure 5"] & claims["Figure 2"]


def test_table_ii_has_every_number_as_printed_and_ours_where_the_same_was_measured(found: Any) -> None:
    laid = paper_figures.tables(found)["Table II"]
    assert laid.headers[:3] == ("file system", "cluster", "direction")
    assert laid.words == laid.headers[:3]
    at = {(row[0], row[1], row[2]): dict(zip(laid.headers, row, strict=True)) for row in laid.rows}
    assert len(at) == len(laid.rows) == 12
    own = at["moosefs", "odroid-hc4", "write"]
    assert (own["throughput there"], own["throughput here"]) == ("365.57 MiB/s", "361.0 MiB/s")
    assert own["throughput, mean here"].startswith("351 ± 24 ")
    assert (own["share of TPP there"], own["share of TPP here"]) == ("82.08 %", "81.06 %")
    other = at["cephfs", "reference-2", "read"]
    assert (other["throughput there"], other["throughput here"], other["share of TPP here"]) == (
        "5705.00 MiB/s",
        "–",
        "–",
    )


def test_a_campaign_that_repeats_no_paper_has_none(found: Any) -> None:
    own = content_of(**{**vars(found), "reproduces": "", "pairs": ()})
    assert dict(paper_figures.drawings(own)) == {}
    assert paper_figures.tables(own) == {}


def test_curves_without_printed_points_are_ours_over_time_each_in_its_directions_of_its_file_system(
    made: Any,
) -> None:
    labels = {"CephFS beneath ext4": "cephfs", "BeeGFS beneath ext4": "beegfs", "MooseFS": "moosefs"}

    def overhead(title: str, direction: Any) -> Overhead:
        return Overhead(title, direction, (0.5, 1.5), 2.0, (10.0, 11.0), (20.0, 22.0), (1.0, 0.9))

    def record(label: str, kind: str) -> Any:
        workload = Driver("fio", {"operation": "write"}, "fio")
        return made.record(
            Trial(Driver("virtual", {}, "virtual"), Driver(kind, {}, label), workload, (), 1, 1)
        )

    own = content_of(
        reproduces="access-patterns",
        records=[record(label, kind) for label, kind in labels.items()],
        cells=[],
        pairs=(),
        comparisons=(),
        overheads=tuple(overhead(label, direction) for label in labels for direction in ("write", "read")),
        trials=(),
        notes=(),
        power={},
    )
    drawn = dict(paper_figures.drawings(own))
    panels = {
        name.removeprefix("paper-"): [panel["title"]["text"] for panel in spec["concat"]]
        for name, spec in drawn.items()
    }
    ceph, bee = ([f"{name} beneath ext4, {of}" for of in ("read", "write")] for name in ("CephFS", "BeeGFS"))
    assert panels == {
        "figure-5.6": ceph[1:],
        "figure-5.7": ceph[:1],
        "figure-5.8": ceph,
        "graphs-of-disk-utilization-in-section-6.1": bee,
        "graph-of-data-received-in-section-6.1": bee[1:],
        "graph-of-data-transmitted-in-section-6.1": bee[:1],
    }
    (said, *_) = drawn["paper-figure-5.6"]["title"]["subtitle"]
    assert said == (
        "Figure 5.6: Data received against data written on disk; the paper prints no numbers that were "
        "measured here"
    )
    assert "svg" in rendering.svg(drawn["paper-figure-5.8"])


def test_cpu_use_is_a_share_of_what_each_server_may_use_beside_the_limit_that_the_paper_prints(
    made: Any,
) -> None:
    def trial(label: str, kind: str, clients_count: int, cores: list[float | None]) -> tuple[Any, Any]:
        workload = Driver("fio", {"operation": "write"}, "fio")
        spec = Trial(
            Driver("virtual", {}, "virtual"), Driver(kind, {}, label), workload, (), clients_count, 1
        )
        record = made.record(spec)
        capacity = {"storage-1": 4.0, "storage-2": 2.0, "client-1": 1.0}
        hosts = tuple(replace(host, cpu_capacity_cores=capacity.get(host.name)) for host in record.hosts)
        used = {"storage-1": cores, "storage-2": [0.5, 0.25], "client-1": [1.0, 1.0]}
        line = Timeline([0.5, 1.5], 2.0, {"cpu": used})
        traffic = Overhead(label, "write", (0.5, 1.5), 2.0, (1.0, 1.0), (1.0, 1.0), (1.0, 1.0))
        return replace(record, hosts=hosts), TrialSummary(timeline=line, overhead=traffic)

    trials = [
        trial("CephFS beneath ext4", "cephfs", 1, [9.0, 9.0]),  # fewer clients than the most
        trial("CephFS beneath ext4", "cephfs", 2, [0.04, None]),
        trial("CephFS beneath ext4", "cephfs", 2, [8.0, 8.0]),  # a second repetition
        trial("MooseFS", "moosefs", 2, [8.0, 8.0]),
    ]
    own = content_of(
        reproduces="access-patterns",
        records=[record for record, _ in trials],
        trials=trials,
        most_count=2,
        cells=[],
        pairs=(),
        comparisons=(),
        overheads=(),
        notes=(),
        power={},
    )
    drawn = dict(paper_figures.drawings(own))
    assert list(drawn) == ["paper-figure-5.5"]  # no BeeGFS was measured
    (panel,) = drawn["paper-figure-5.5"]["concat"]
    assert panel["title"]["text"] == "CephFS beneath ext4, write"
    _, lines, limit = panel["layer"]
    assert {(row["name"], row["t"], row["value"]) for row in lines["data"]["values"]} == {
        ("storage-1", 0.5, 0.01),
        ("storage-2", 0.5, 0.25),
        ("storage-2", 1.5, 0.125),
    }
    assert limit["data"]["values"] == [{"value": 0.004, "name": "< 0.4 %, section 5.4"}]
    assert drawn["paper-figure-5.5"]["title"]["subtitle"][0] == (
        "dashed: printed of the average, < 0.4 %, section 5.4"
    )
    assert "svg" in rendering.svg(drawn["paper-figure-5.5"])
