"""The counts of `setup/house.py`, and what they must be."""

import ast
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from perjoule.model import Channel, Series
from perjoule.store import open_results
from places import ROOT
from setup import house
from setup.walk import SOURCE, Walk, walked

GOLDEN = ROOT / "tests/unit/store/golden/2026-11-26T1432"


@pytest.fixture(scope="module")
def counts() -> Mapping[str, int]:
    """Counted where these tests run: every process imports this file."""
    return house.counts(ROOT / "src")


@pytest.mark.parametrize(
    "counted",
    [
        "places that choose channels",
        "places with the rule of emulation",
        "files of numbers that know a record's scale",
    ],
)
def test_one_place_decides(counts: Mapping[str, int], counted: str) -> None:
    assert counts[counted] == 1


def test_a_folder_within_a_room_can_be_seen_at_once(counts: Mapping[str, int]) -> None:
    assert counts["siblings in the widest folder of a room, families aside"] <= 25


def test_metrics_are_named_by_what_defines_them(counts: Mapping[str, int]) -> None:
    assert (
        counts["metric keys typed in code"] <= 60
    )  # which counts options and fields of files of the same name, too


IS_KEY = house.keys(
    {"energy_j", "{boundary}mean_w", "cpu_{role}_s_per_byte", "burst_", "gross_", "_", "net", "_s"}
)


@pytest.mark.parametrize(
    "text", ["energy_j", "mean_w", "burst_gross_mean_w", "cpu_storage_s_per_byte", "cpu_client_s_per_byte"]
)
def test_a_key_is_counted(text: str) -> None:
    assert IS_KEY(text)


@pytest.mark.parametrize("text", ["_", "net", "_s", "burst_", "an energy_j", "clock_j"])
def test_another_text_is_not_counted(text: str) -> None:
    assert not IS_KEY(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from perjoule.energy.coverage import cover\ncover(target, among)", True),
        ("from perjoule.energy.quantities import one_quantity\none_quantity(channels, ratio)", True),
        ("def device_j(series): ...", True),
        ("from perjoule.trial.live import boundaries\nboundaries(channels, roles)", False),
        ("from perjoule.energy.coverage import items\nitems(channels, cluster, switch=True)", False),
    ],
)
def test_a_search_for_channels_is_found(text: str, found: bool) -> None:
    assert house.chooses(ast.parse(text)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x = [s for s in series if record.scale == 1 or s.channel.grade in DILATED]", True),
        ("if record.scale != 1 and grade not in DILATED: pass", True),
        ("grades = GRADES if scale == 1 else [grade for grade in GRADES if grade in DILATED]", True),
        ("if record.scale != 1: pass", False),
    ],
)
def test_a_rule_of_emulation_is_found(text: str, found: bool) -> None:
    assert house.emulates(ast.parse(text)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("record.scale", True),
        ("reading.record.scale", True),
        ("{r.scale for r in valid}", True),
        ("self.scale", False),
    ],
)
def test_the_scale_of_a_record_is_found(text: str, found: bool) -> None:
    assert house.scales(ast.parse(text)) == found


def test_series_go_a_short_way_to_points() -> None:
    walk = walked(open_results(GOLDEN))
    assert walk.visits_count == 1
    assert len(walk.files) <= 15 and walk.returns_count <= 15
    assert {"measures/points.py", "trial/counters.py", "energy/power.py"} <= {*walk.files}


def test_a_way_that_comes_back_is_counted() -> None:
    texts = {
        "there.py": "def into(series): back(series)",
        "here.py": "def back(series): pass\ndef go(s): into(s)",
    }
    names: dict[str, Any] = {}
    for file, text in texts.items():
        exec(compile(text, SOURCE / file, "exec"), names)
    walk = Walk()
    series = Series(Channel("usb", "", "all", "power", "W", "average", "wall"), *np.zeros((3, 2)))
    sys.setprofile(walk.enter)
    names["go"]((series,))
    names["go"]("no series")
    sys.setprofile(None)
    assert (walk.files, walk.returns_count) == (["here.py", "there.py"], 1)


MOST_COUNT = 12
# until what only some of them can do are abilities, too: never more
LARGER = {"Host": 27, "FileSystem": 30, "Workload": 18}


@pytest.mark.parametrize("protocol", house.PROTOCOLS)
def test_a_protocol_of_drivers_has_few_members(protocol: str) -> None:
    assert house.members(ROOT / "src")[protocol][0] <= LARGER.get(protocol, MOST_COUNT), (
        "make it an ability (CONTRIBUTING.md)"
    )


@pytest.mark.parametrize("protocol", LARGER)
def test_a_protocol_is_an_exception_only_until_it_is_small(protocol: str) -> None:
    assert house.members(ROOT / "src")[protocol][0] == LARGER[protocol]


@pytest.mark.parametrize("protocol", house.PROTOCOLS)
def test_a_driver_must_have_little(protocol: str) -> None:
    assert house.members(ROOT / "src")[protocol][1] <= MOST_COUNT
