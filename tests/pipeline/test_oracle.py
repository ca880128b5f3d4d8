"""What perjoule exports is what a second calculation makes of the same files, for every kind of meter."""

from collections.abc import Set
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from commanded import export
from oracle.check import apart, checked, recomputed
from oracle.made import HOSTS, Meter, make

SERVERS = [host["name"] for host in HOSTS if host["role"] != "client"]
SWITCH = Meter("", "switch", "window mean", low_w=4, high_w=7)


def beside_switch(semantics: str, **options: Any) -> list[Meter]:
    return [Meter("", "total", semantics, **options), SWITCH]


def emulated(semantics: str) -> list[Meter]:
    return [replace(meter, grade="simulated") for meter in beside_switch(semantics)]


def wall(*hosts: str, grade: str = "wall") -> list[Meter]:
    """Meters of their own; a machine that others load draws as much as each server."""
    return [Meter(host, "all", "window mean", grade=grade) for host in hosts]


def together(*hosts: str) -> Meter:
    return Meter("", "group", "window mean", covers=hosts, low_w=400, high_w=500)


def parts(component: str, semantics: str, *hosts: str) -> list[Meter]:
    return [Meter(host, component, semantics, grade="component", low_w=3, high_w=6) for host in hosts]


LOADING = ["client-1", "client-2"]  # client-3 does not
BOTH = {
    "both sides": [*wall(*SERVERS, *LOADING), SWITCH],
    "clients of a worse grade": [*beside_switch("counter"), *wall(*LOADING, grade="BMC")],
    "one meter of both sides": [together(*SERVERS, *LOADING), SWITCH],
    "one meter of both and each server's": [together(*SERVERS, *LOADING), *wall(*SERVERS)],
    "one meter of both, better than the servers'": [
        together(*SERVERS, *LOADING),
        *wall(*SERVERS, grade="PDU"),
    ],
    "a client that is idle": [*wall(*SERVERS), together(*LOADING, "client-3")],
    "a client that is idle, and metered": [*wall(*SERVERS, "client-3"), together(*LOADING, "client-3")],
    "a client without a meter": wall(*SERVERS, "client-1"),
    "processors and disks": [
        *wall(*SERVERS, *LOADING),
        *parts("package-0", "counter", *SERVERS, *LOADING),
        *parts("disks", "window mean", *SERVERS[:5]),
        SWITCH,
    ],
    "processors of servers": [*wall(*SERVERS, *LOADING), *parts("package-0", "counter", *SERVERS)],
    "processors that draw more than their hosts": [
        *wall(*SERVERS),
        *(replace(meter, high_w=200) for meter in parts("package-0", "counter", *SERVERS)),
    ],
}
MOUNTED = {  # only clients are there: their joules are no servers'
    "mounted": [*wall(*LOADING), SWITCH],
    "mounted, processors": [*wall(*LOADING), *parts("package-0", "counter", *LOADING)],
    "mounted, one client metered": wall("client-1"),
    "mounted, one meter of all": beside_switch("counter"),  # and of client-3
}
METERS = BOTH | {
    "counter": beside_switch("counter", lost_ratio=0.1),
    "window mean": beside_switch("window mean", lost_ratio=0.02),
    "instantaneous": beside_switch("instantaneous", lost_ratio=0.05),
    "too slow": beside_switch("instantaneous", rate_hz=1),
    "average": beside_switch("average", high_w=42),
    "seldom average": beside_switch("average", high_w=42, rate_hz=1),
    "unsteady average": beside_switch("average"),
    "state": beside_switch("state"),
    "wrapping counter": [
        Meter("", "group", "counter", covers=SERVERS, specification={"range_value": 300.0, "most_w": 80.0})
    ],
    "each host": [*(Meter(host, "all", "window mean") for host in SERVERS), SWITCH],
    "two grades": [
        *(Meter(host, "all", "window mean", grade="BMC") for host in SERVERS),
        *beside_switch("counter"),
    ],
    "at half speed": emulated("counter"),
    "at a fifth of the speed": emulated("instantaneous"),
    **MOUNTED,
}
SCALES = {"at half speed": 0.5, "at a fifth of the speed": 0.2}


# Of each way to an energy, and to none, a case.
BY_DAY = (
    *("counter", "instantaneous", "average", "unsteady average", "wrapping counter"),
    *("both sides", "one meter of both sides", "processors and disks"),  # by means of windows
    *("mounted", "at half speed"),
)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(BY_DAY, id="some meters"),
        pytest.param(tuple(METERS), id="all meters", marks=pytest.mark.slow),
    ],
)
def measured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("oracle") / "made"
    make(folder, {name: METERS[name] for name in request.param}, scales=SCALES, mounted=MOUNTED)
    return recomputed(checked(folder, export))


def of_those(measured: pd.DataFrame, names: Set[str]) -> set[str]:
    """Those of the names that were measured."""
    return {*names} & {*measured["filesystem"]}


def test_every_kind_of_meter_gives_the_same_energy_twice(measured: pd.DataFrame) -> None:
    assert apart(measured).values.tolist() == []


def test_what_must_have_an_energy_has_one_and_what_must_not_has_none(measured: pd.DataFrame) -> None:
    energies = measured[(measured["metric"] == "energy_j") & measured["theirs"].notna()]
    refused = {"too slow", "unsteady average", "state", "one meter of both sides", *MOUNTED}
    assert set(energies["filesystem"]) == of_those(measured, METERS.keys() - refused)


def have(measured: pd.DataFrame, metric: str) -> set[str]:
    return set(measured.loc[(measured["metric"] == metric) & measured["theirs"].notna(), "filesystem"])


def test_the_clients_and_all_have_an_energy_where_meters_tell(measured: pd.DataFrame) -> None:
    whole = {"both sides", "clients of a worse grade", "processors and disks", "processors of servers"}
    apart = {"one meter of both and each server's", "a client that is idle, and metered"}  # by a difference
    mounted = {"mounted", "mounted, processors"}
    both = {"one meter of both sides", "one meter of both, better than the servers'"}
    assert have(measured, "clients_energy_j") == of_those(measured, whole | apart | mounted)
    assert have(measured, "all_energy_j") == of_those(measured, whole | apart | both)


def test_where_the_joules_went_is_known_as_far_as_meters_tell(measured: pd.DataFrame) -> None:
    assert have(measured, "part_disks_j") == of_those(measured, {"processors and disks"})
    servers, clients = {"processors of servers"}, {"mounted, processors"}
    assert have(measured, "part_server_cpu_j") == of_those(measured, {"processors and disks", *servers})
    assert have(measured, "part_client_cpu_j") == of_those(measured, {"processors and disks", *clients})
    assert have(measured, "part_unsplit_j") >= of_those(measured, BOTH.keys() - {"processors and disks"})


def test_dynamic_energy_is_of_idle_power_before_and_after_or_is_omitted(tmp_path: Path) -> None:
    meter = Meter("", "group", "window mean", covers=SERVERS, low_w=50, high_w=52, load_w=300)
    make(tmp_path / "made", {"to the end": [meter], "deaf in the tail": [replace(meter, deaf_s=2.0)]})
    found = recomputed(checked(tmp_path / "made", export))
    assert apart(found).values.tolist() == []
    assert have(found, "energy_j") == {"to the end", "deaf in the tail"}
    assert have(found, "dynamic_energy_j") == {"to the end"}


def test_disks_and_processors_have_what_was_counted_since_idle_time_too(tmp_path: Path) -> None:
    """Still before the load and after it, as they seldom are above: edges of the load cut steps of their samples."""
    calm: dict[str, float] = {"low_w": 3.0, "high_w": 3.02, "load_w": 5.0}
    own = [*parts("package-0", "counter", *SERVERS), *parts("disks", "window mean", *SERVERS[:5])]
    meters = {"calm": [*wall(*SERVERS), *(replace(meter, **calm) for meter in own)]}
    make(tmp_path / "made", meters, turns=[("write", 1), ("read", 1)])
    found = recomputed(checked(tmp_path / "made", export))
    assert apart(found).values.tolist() == []
    for metric in ("device_energy_j", "cpu_package_energy_j", "part_disks_j", "part_server_cpu_j"):
        assert have(found, metric) == meters.keys()
