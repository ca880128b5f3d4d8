"""The campaign that `perjoule measure` keeps: `run` reads it, and meters cover what was asked."""

from collections.abc import Mapping
from typing import Any

import pytest

from perjoule import campaign, drivers
from perjoule.campaign.making.first import HERE, NAS, MeterOf, name_of, written
from perjoule.campaign.making.meter_line import meter_table

MIB = 2**20


def asked(*meters: tuple[str, str], remote: bool = True) -> campaign.Campaign:
    text = written(
        "perjoule measure /tmp",
        "nas",
        "/tmp",
        [MeterOf(line, meter_table(line), whose) for whose, line in meters],
        remote=remote,
        operations=("write", "read"),
        size_bytes=6400 * MIB,
        transfer_bytes=4 * MIB,
        longest_s=60.0,
        repetitions=3,
    )
    return campaign.parse(text, source="measure")


def covers(read: campaign.Campaign) -> Mapping[str, Any]:
    return {spec.label: spec.options.get("covers") for spec in read.trials[0].meters}


def test_each_direction_moves_the_size_in_each_repetition() -> None:
    read = asked((NAS, "shelly://10.0.0.7"))
    loads = sorted(
        (trial.repetition, drivers.workload(trial.workload).directions[0]) for trial in read.trials
    )
    assert loads == [(number, way) for number in (1, 2, 3) for way in ("read", "write")]
    assert {drivers.workload(trial.workload).moved_bytes(1) for trial in read.trials} == {6400 * MIB}
    assert [host.name for host in drivers.testbed(read.trials[0].testbed).planned(1).servers] == ["nas"]


@pytest.mark.parametrize(
    ("meters", "remote", "expected"),
    [
        ([(NAS, "shelly://10.0.0.7")], True, {"shelly": ["nas"]}),
        ([(NAS, "shelly://10.0.0.7"), (HERE, "rapl:")], True, {"shelly": ["nas"], "rapl": ["local"]}),
        ([(HERE, "shelly://10.0.0.7")], False, {"shelly": ["local"]}),
        (
            [(NAS, "shelly://a"), (NAS, "constant:5 W +- 1 W")],
            True,
            {"shelly": ["nas", "switch"], "constant": None},
        ),
    ],
)
def test_a_meter_covers_whose_power_it_shows_and_the_switch_only_beside_its_number(
    meters: list[tuple[str, str]], remote: bool, expected: Mapping[str, Any]
) -> None:
    found = covers(asked(*meters, remote=remote))
    found = {name: value for name, value in found.items() if name != "system"}
    assert found == expected


def test_two_plugs_of_a_kind_have_names_of_their_own() -> None:
    read = asked((NAS, "shelly://10.0.0.7"), (HERE, "shelly://10.0.0.8"))
    names = [spec.options.get("name") for spec in read.trials[0].meters if spec.kind == "shelly"]
    assert names == ["shelly-nas", "shelly-here"]


@pytest.mark.parametrize(
    ("path", "remote", "name"),
    [
        ("/mnt/my nas", True, "my-nas"),
        ("/", True, "nas"),
        ("/", False, "disk"),
        ("/media/usb/", False, "usb"),
    ],
)
def test_it_is_called_after_the_folder(path: str, remote: bool, name: str) -> None:
    assert name_of(path, remote) == name
