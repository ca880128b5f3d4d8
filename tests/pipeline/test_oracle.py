"""What perjoule exports is what a second calculation makes of the same files, for every kind of meter."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from oracle.check import apart, checked, recomputed
from oracle.made import HOSTS, Meter, make

SERVERS = [host["name"] for host in HOSTS if host["role"] != "client"]
SWITCH = Meter("", "switch", "window mean", low_w=4, high_w=7)


def beside_switch(semantics: str, **options: Any) -> list[Meter]:
    return [Meter("", "total", semantics, **options), SWITCH]


def emulated(semantics: str) -> list[Meter]:
    return [replace(meter, grade="simulated") for meter in beside_switch(semantics)]


METERS = {
    "counter": beside_switch("counter", lost_ratio=0.1),
    "window mean": beside_switch("window mean", lost_ratio=0.02),
    "instantaneous": beside_switch("instantaneous", lost_ratio=0.05),
    "too slow": beside_switch("instantaneous", rate_hz=1),
    "average": beside_switch("average", high_w=42),
    "seldom average": beside_switch("average", high_w=42, rate_hz=1),
    "unsteady average": beside_switch("average"),
    "state": beside_switch("state"),
    "wrapping counter": [Meter("", "group", "counter", covers=SERVERS, specification={"range_value": 300.0, "most_w": 80.0})],
    "each host": [*(Meter(host, "all", "window mean") for host in SERVERS), SWITCH],
    "two grades": [*(Meter(host, "all", "window mean", grade="BMC") for host in SERVERS), *beside_switch("counter")],
    "at half speed": emulated("counter"),
    "at a fifth of the speed": emulated("instantaneous"),
}
SCALES = {"at half speed": 0.5, "at a fifth of the speed": 0.2}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("oracle") / "made"
    make(folder, METERS, scales=SCALES)
    return recomputed(checked(folder))


def test_every_kind_of_meter_gives_the_same_energy_twice(measured: pd.DataFrame) -> None:
    assert apart(measured).values.tolist() == []


def test_what_must_have_an_energy_has_one_and_what_must_not_has_none(measured: pd.DataFrame) -> None:
    energies = measured[(measured["metric"] == "energy_j") & measured["theirs"].notna()]
    refused = {"too slow", "unsteady average", "state"}
    assert set(energies["filesystem"]) == METERS.keys() - refused
