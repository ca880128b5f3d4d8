"""What perjoule exports is what a second calculation makes of the same files, for every kind of meter."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from oracle.check import TOLERANCE_RATIO, compared, recomputed
from oracle.made import HOSTS, Meter, make
from perjoule.cli import cli

SERVERS = [host["name"] for host in HOSTS if host["role"] != "client"]
SWITCH = Meter("", "switch", "window mean", low_w=4, high_w=7)


def beside_switch(semantics: str, **options: float) -> list[Meter]:
    return [Meter("", "total", semantics, **options), SWITCH]


METERS = {
    "counter": beside_switch("counter", lost_ratio=0.1),
    "window mean": beside_switch("window mean", lost_ratio=0.02),
    "instantaneous": beside_switch("instantaneous", lost_ratio=0.05),
    "too slow": beside_switch("instantaneous", rate_hz=1),
    "average": beside_switch("average", high_w=42),
    "unsteady average": beside_switch("average"),
    "state": beside_switch("state"),
    "wrapping counter": [Meter("", "group", "counter", covers=SERVERS, specification={"range_value": 300.0, "most_w": 80.0})],
    "each host": [*(Meter(host, "all", "window mean") for host in SERVERS), SWITCH],
    "two grades": [*(Meter(host, "all", "window mean", grade="BMC") for host in SERVERS), *beside_switch("counter")],
}


def checked(folder: Path) -> pd.DataFrame:
    table = folder.with_suffix(".csv")
    assert CliRunner().invoke(cli, ["export", str(folder), "--csv", str(table)]).exit_code == 0
    return recomputed(compared(folder, table))


def apart(found: pd.DataFrame) -> Sequence[object]:
    return found[~(found["difference_ratio"] <= TOLERANCE_RATIO)][
        ["trial", "filesystem", "metric", "number", "theirs", "own"]
    ].values.tolist()


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("oracle") / "made"
    make(folder, METERS)
    return checked(folder)


def test_every_kind_of_meter_gives_the_same_energy_twice(measured: pd.DataFrame) -> None:
    assert apart(measured) == []


def test_what_must_have_an_energy_has_one_and_what_must_not_has_none(measured: pd.DataFrame) -> None:
    energies = measured[(measured["metric"] == "energy_j") & measured["theirs"].notna()]
    refused = {"too slow", "unsteady average", "state"}
    assert set(energies["filesystem"]) == METERS.keys() - refused
