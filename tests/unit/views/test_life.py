"""Figures of events, rebuilds and aged file systems: what they draw, in which unit, and what they leave
out.
"""

import re
from math import inf

import pytest

from perjoule.figures import rendering
from perjoule.model import Cell, Direction, Interval, Worn
from perjoule.model.units import MIB
from perjoule.views.life import events as of_events
from perjoule.views.life import rebuild as of_rebuild
from perjoule.views.life.ageing import figure as ageing
from perjoule.views.life.events import events
from perjoule.views.life.rebuild import rebuild


def found(mean: float, low: float, high: float) -> Interval:
    return Interval(mean, low, high, (mean,))


def cell(filesystem: str, metrics: dict[str, Interval], direction: Direction = "write") -> Cell:
    return Cell(filesystem, "duty", direction, 1, metrics)


HIT = cell(
    "MooseFS",
    {
        "event_before_bytes_per_s": found(10 * MIB, 9 * MIB, 11 * MIB),
        "event_healing_bytes_per_s": found(4 * MIB, 0.0, inf),
        "event_before_w": found(40.0, 39.0, 41.0),
        "event_healing_w": found(44.0, 43.0, 45.0),
        "event_before_latency_p99_s": found(0.2, 0.1, 0.3),
    },
)


def test_events_have_a_panel_each_for_throughput_power_and_latency_with_the_stages_in_order() -> None:
    other = cell("CephFS", {"event_after_bytes_per_s": found(8 * MIB, 7 * MIB, 9 * MIB)})
    spec = events([HIT, other], notes=["a note"])
    rates, watts, latencies = spec["concat"]
    assert [
        (row["name"], row["stage"], row["value"], row["low"], row["high"]) for row in rates["data"]["values"]
    ] == [
        ("MooseFS", "before", 10.0, 9.0, 11.0),
        ("MooseFS", "healing", 4.0, None, None),  # one repetition has no interval
        ("CephFS", "after", 8.0, 7.0, 9.0),
    ]
    assert [(row["stage"], row["value"]) for row in watts["data"]["values"]] == [
        ("before", 40.0),
        ("healing", 44.0),
    ]
    (late,) = latencies["data"]["values"]
    assert (late["stage"], late["value"], late["text"]) == ("before", 200.0, "200.0 ms")
    for panel in (rates, watts, latencies):
        assert panel["layer"][0]["encoding"]["x"]["scale"]["domain"] == ["before", "healing", "after"]
    assert "a note" in rendering.svg(spec)


def test_events_without_a_load_have_only_power() -> None:
    still = cell("MooseFS", {"event_before_w": found(40.0, 39.0, 41.0)}, "idle")
    assert [panel["title"]["text"] for panel in events([still])["concat"]] == ["power of the servers"]
    assert of_events.drawable([still])
    assert not of_events.drawable([cell("MooseFS", {"event_late_s": found(0.0, 0.0, 0.0)})])


def test_a_rebuild_has_a_bar_for_each_way_of_bytes_with_what_redundancy_explains() -> None:
    rebuilt = cell(
        "GlusterFS",
        {
            "rebuild_network_ratio": found(4.5, 4.4, 4.6),
            "derived_rebuild_network_ratio": found(4.0, 4.0, 4.0),
            "rebuild_disk_read_ratio": found(3.9, 0.0, inf),
        },
        "idle",
    )
    spec = rebuild([HIT, rebuilt])
    (panel,) = spec["vconcat"]
    assert panel["title"]["text"] == "GlusterFS, duty"
    assert [
        (row["way"], row["value"], row["low"], row["derived"], row["text"]) for row in panel["data"]["values"]
    ] == [
        ("rebuild network", 4.5, 4.4, 4.0, "4.50 (4.00)"),
        ("rebuild disk read", 3.9, None, None, "3.90"),
    ]
    assert not of_rebuild.drawable([HIT])
    lengths = [
        float(x)
        for x in re.findall(r'aria-roledescription="bar" d="M0,[\d.]+h([\d.]+)v', rendering.svg(spec))
    ]
    assert lengths[0] / lengths[1] == pytest.approx(4.5 / 3.9, rel=1e-3), "bars begin at 0"


def test_aged_file_systems_have_a_panel_for_each_metric_and_a_line_at_no_difference() -> None:
    new, aged = cell("new", {}), cell("90 %", {})
    pairs = [
        Worn(new, aged, "throughput_bytes_per_s", found(0.8, 0.7, 0.9)),
        Worn(new, aged, "efficiency_bytes_per_j", found(0.5, 0.0, inf)),
    ]
    spec = ageing(pairs, notes=["a note"])
    rate, per_joule = spec["vconcat"]
    assert [panel["layer"][1]["encoding"]["x"]["title"] for panel in (rate, per_joule)] == [
        "MiB/s, aged / new",
        "MiB/J, aged / new",
    ]
    (row,), (alone,) = (panel["data"]["values"] for panel in (rate, per_joule))
    assert (row["row"], row["name"], row["low"], row["high"], row["text"]) == (
        "write",
        "90 %",
        0.7,
        0.9,
        "0.800 (0.700 to 0.900)",
    )
    assert (alone["low"], alone["high"], alone["text"]) == (None, None, "0.500")
    assert rate["layer"][0]["encoding"]["x"]["datum"] == 1
    low, high = rate["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert low < 0.5 < 1 < high
    assert "a note" in rendering.svg(spec)
