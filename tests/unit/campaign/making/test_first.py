"""The campaign that `perjoule measure` keeps: `run` reads it, and meters cover what was asked."""

from collections.abc import Mapping
from typing import Any

import pytest

from perjoule import campaign, drivers
from perjoule.campaign.making.first import (
    CLIENTS,
    HERE,
    NAS,
    DataPlace,
    MeterOf,
    boundary_of,
    clients_of,
    require_boundary,
    require_distinct,
    supplied,
    written,
)
from perjoule.campaign.making.meter_line import meter_table
from perjoule.model.errors import CampaignError

MIB = 2**20


FOLDER = DataPlace("/tmp", remote=True)
DISK = DataPlace("/dev/disk/by-id/usb-Stick_0:0", is_device=True)


def asked(*meters: tuple[str, str], remote: bool = True, place: DataPlace | None = None) -> campaign.Campaign:
    text = written(
        "perjoule measure /tmp",
        place or DataPlace("/tmp", remote=remote),
        [MeterOf(line, meter_table(line), whose) for whose, line in meters],
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


def of(*meters: tuple[str, str]) -> list[MeterOf]:
    return [MeterOf(line, meter_table(line), whose) for whose, line in meters]


def grades(*meters: tuple[str, str]) -> dict[str, str]:
    """By the kinds of these tests' lines."""
    known = {"shelly": "wall", "tasmota": "wall", "snmp_pdu": "PDU", "redfish": "BMC", "rapl": "component"}
    return {line: known.get(line.partition(":")[0], "nameplate") for _, line in meters}


A, B, OUTLET = (NAS, "shelly://10.0.0.7"), (NAS, "tasmota://10.0.0.8"), (NAS, "snmp_pdu://10.0.0.9?model=apc")


@pytest.mark.parametrize(
    ("meters", "components"),
    [
        ([A], [""]),
        ([A, B], ["inlet-1-of-2", "inlet-2-of-2"]),
        ([A, (HERE, "shelly://10.0.0.9")], ["", ""]),
        ([A, (NAS, "redfish://bmc"), (HERE, "rapl:")], ["", "", ""]),  # a BMC shows all supplies
        ([A, (NAS, "redfish://bmc"), B], ["inlet-1-of-2", "", "inlet-2-of-2"]),
        ([A, B, (NAS, "constant:5 W +- 1 W")], ["inlet-1-of-2", "inlet-2-of-2", ""]),
    ],
)
def test_several_plugs_of_one_machine_feed_its_supplies(
    meters: list[tuple[str, str]], components: list[str]
) -> None:
    numbered = supplied(of(*meters), grades(*meters))
    assert [meter.component for meter in numbered] == components
    text = written("perjoule measure", FOLDER, numbered, operations=["write"],
                   size_bytes=4 * MIB, transfer_bytes=4 * MIB, longest_s=1.0, repetitions=1)  # fmt: skip
    shown = boundary_of(campaign.parse(text))
    assert shown
    assert list(shown.metered) == [whose for whose, _ in meters]
    assert (shown.remote, shown.supplies_count) == (True, max(1, sum(map(bool, components))))


def test_a_plug_and_an_outlet_of_a_pdu_are_not_added() -> None:
    with pytest.raises(CampaignError, match=r"model=apc: meters at the wall and of a PDU are never added"):
        supplied(of(A, OUTLET), grades(A, OUTLET))


def test_a_device_is_named_once_and_its_outlets_are_devices_of_their_own() -> None:
    require_distinct(of(A, B, (NAS, "shelly://10.0.0.7?output=1")))
    with pytest.raises(CampaignError, match="named twice"):
        require_distinct(of(A, B, (HERE, "shelly:10.0.0.7?accuracy=1 %")))


@pytest.mark.parametrize("line", ["clients = [1]", "name = 'x'"])
def test_another_campaign_is_not_taken_for_a_first_measurement(line: str) -> None:
    text = f"{line}\n{drivers.example_of('testbeds', 'local')}\n" + (
        '[[filesystem]]\nkind = "directory"\npath = "/tmp"\n[[workload]]\nkind = "fio"\nsize = "8 MiB"\n'
    )
    assert boundary_of(campaign.parse(text)) is None


def test_the_kept_campaign_does_not_repeat_a_login_of_the_line_that_asked_for_it() -> None:
    text = written("perjoule measure /x --meter shelly://me:s3cret@h", FOLDER, [],
                   operations=["write"], size_bytes=4 * MIB, transfer_bytes=4 * MIB, longest_s=1.0,
                   repetitions=1)  # fmt: skip
    assert text.startswith("# Written by: perjoule measure /x --meter shelly://***@h\n")


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
    assert DataPlace(path, remote=remote).name == name


def test_a_disk_is_named_under_overwrite_and_loaded_past_the_page_cache() -> None:
    read = asked((HERE, "shelly://10.0.0.7"), place=DISK)
    assert [entry.device for entry in read.overwrite] == [DISK.path]
    assert read.name == "usb-Stick_0-0"
    assert {trial.workload.options["direct"] for trial in read.trials} == {True}
    assert drivers.filesystem(read.trials[0].filesystem).devices == (DISK.path,)
    shown = boundary_of(read)
    assert shown
    assert (shown.metered, shown.remote) == ((HERE,), False)


def test_clients_over_ssh_load_what_one_server_has_and_each_may_have_its_meter() -> None:
    place = DataPlace("/mnt/nas", remote=True, clients=clients_of("n[1-3],me@m2"))
    assert place.client_names == ("n1", "n2", "n3", "m2")
    read = asked((NAS, "shelly://a"), (CLIENTS, "shelly://b"), ("m2", "shelly://c"), place=place)
    planned = drivers.testbed(read.trials[0].testbed).planned(4)
    assert [host.name for host in planned.servers] == ["nas"]
    assert [host.name for host in planned.clients] == ["n1", "n2", "n3", "m2"]
    tables = read.trials[0].testbed.options["hosts"]
    assert isinstance(tables, list)
    assert {"name": "m2", "role": "client", "user": "me"} in tables
    assert list(covers(read).values())[1:] == [["nas"], ["clients"], ["m2"]]
    shown = boundary_of(read)
    assert shown
    assert (shown.metered, shown.remote, shown.clients_count) == ((NAS, CLIENTS, CLIENTS), True, 4)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("n[1-4", "bracket without its partner"),
        ("n1,n1", "twice"),
        ("nas", '"nas" is no name of a client'),
        ("n1;reboot", "no name of a client"),
        ("-oProxyCommand=x", "no name of a client"),
        ("me@", "no name of a client"),
        ("", "no name of a client"),
    ],
)
def test_what_is_no_list_of_clients_is_refused(text: str, fault: str) -> None:
    with pytest.raises(CampaignError, match=fault):
        clients_of(text)


@pytest.mark.parametrize(
    ("whose", "place", "known"),
    [
        (HERE, DataPlace("/nas", remote=True, clients=clients_of("n1,n2")), "nas=, clients=, n1=, n2="),
        (CLIENTS, DataPlace("/nas", remote=True), "nas=, here="),
    ],
)
def test_a_meter_of_nobody_who_takes_part_is_refused(whose: str, place: DataPlace, known: str) -> None:
    with pytest.raises(
        CampaignError, match=f"{whose}= names no host of this measurement; write one of {known}"
    ):
        require_boundary(of((whose, "shelly://10.0.0.7")), place, source="nas:/export")
