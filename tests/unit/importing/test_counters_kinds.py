"""Kinds of sysstat's counters that were read wrongly: zones, disks and interfaces that are built from
others, other programs.
"""

from pathlib import Path
from typing import Any

import pytest

from perjoule import importing
from perjoule.importing.counters import Counted, counters
from perjoule.importing.missing import missing
from perjoule.importing.sources import sources
from perjoule.model.errors import WorkloadError
from typed import present
from unit.importing.foreign import fio, job, moved, sadf

BYTES_PER_S = 10240 * 1024
FIRST_S = 1705320490.0  # 2024-01-15 12:08:10 UTC
SDA, ETH0 = {"sda": 10240.0}, {"eth0": 10240.0}
IDLE = 1.0


def counted(tmp_path: Path, text: str, zone: str = "UTC") -> Counted:
    (tmp_path / "sadf.json").write_text(text)
    (source,), _ = sources([str(tmp_path / "sadf.json")], zone)
    return counters(source)["client-1"]


def rate(found: Counted, quantity: str) -> float | None:
    return next((float(s.value.mean()) for s in found.series if s.channel.quantity == quantity), None)


@pytest.mark.parametrize(
    "disks",
    [
        ["sda", "rl-root"],
        ["sdb", "ceph--6fbc--osd--block--11aa"],
        ["dev8-0", "dev253-0"],
        ["dev8-16", "dev8-17", "dev8-18"],
        ["sda", "sda1", "sda12"],
        ["nvme0n1", "nvme0n1p2", "nvme0c0n1"],
        ["sdb", "drbd0", "bcache0", "zd0", "md127", "dm-3", "loop7", "mpatha"],
        ["vda", "vda1", "vg0-lv_data"],
        ["sda", "rbd0", "rbd0p1", "nbd3"],
        ["mmcblk0", "mmcblk0p1", "mmcblk0boot0"],
        ["cciss/c0d0", "cciss/c0d0p2"],
        ["sdaa"],
        ["dasda", "dasda1"],
        ["xvdf"],
    ],
    ids="+".join,
)
def test_bytes_of_a_disk_count_once(disks: list[str], tmp_path: Path) -> None:
    found = counted(tmp_path, sadf(dict.fromkeys(disks, 10240.0), ETH0))
    assert rate(found, "disk_written") == BYTES_PER_S
    assert found.doubts == ()


@pytest.mark.parametrize(
    "disks",
    [
        {"nvme0n1": 0.0, "nvme0c0n1": 10240.0},
        {"nvme0n1": 0.0, "nvme0c0n1": 5120.0, "nvme0c1n1": 5120.0},
        {"nvme0c0n1": 10240.0},
        {"nvme0n1": 0.0, "nvme0c0n1": 5120.0, "nvme1n1": 5120.0},
    ],
    ids=str,
)
def test_paths_of_a_drive_count_where_its_own_name_shows_nothing(
    disks: dict[str, float], tmp_path: Path
) -> None:
    found = counted(tmp_path, sadf(disks, ETH0))
    assert rate(found, "disk_written") == BYTES_PER_S
    assert found.doubts == ()


@pytest.mark.parametrize(
    "busy",
    [
        "em1", "p2p1", "enP2p1s0f0", "enP2p1s0f0np0", "end0", "rocep1s0", "ens1f0np0", "eno1", "ibp5s0", "hsn0",
        "enx0123456789ab",
        "ib0", "enp65s0f1", "enc1a00", "wlp5s0", "opa0", "ipogif0",
    ],
)  # fmt: skip
@pytest.mark.parametrize("idle", ["eth7", "eno9"])
def test_an_interface_that_is_hardware_counts(busy: str, idle: str, tmp_path: Path) -> None:
    found = counted(tmp_path, sadf(SDA, {"lo": 500.0, idle: IDLE, busy: 10240.0}))
    assert rate(found, "network_sent") == BYTES_PER_S + IDLE * 1024
    assert found.doubts == ()


@pytest.mark.parametrize(
    "stacked",
    [
        ["bond0"], ["br0"], ["ens1f0v2"], ["ens1f0_0"], ["pf0vf3"], ["ens1f0.100"], ["docker0", "veth12ab", "br-77aa"], ["team0"],
        ["virbr0", "vnet3"], ["vlan200"], ["tap1"], ["cali12", "cilium_host", "flannel.1", "cni0"], ["p2p1_1"], ["enP45677s1"],
        ["vmbr0", "fwbr100i0", "tap100i0"], ["wg0"], ["ovs-system"],
    ],
    ids="+".join,
)  # fmt: skip
def test_bytes_of_an_interface_count_once(stacked: list[str], tmp_path: Path) -> None:
    found = counted(tmp_path, sadf(SDA, {"lo": 0.0, "ens1f0": 10240.0, **dict.fromkeys(stacked, 10240.0)}))
    assert rate(found, "network_sent") == BYTES_PER_S
    assert found.doubts == ()


def test_ports_of_a_bond_count_and_not_the_bond(tmp_path: Path) -> None:
    found = counted(tmp_path, sadf(SDA, {"bond0": 10240.0, "ens1f0": 5120.0, "ens1f1": 5120.0}))
    assert rate(found, "network_sent") == BYTES_PER_S


def test_a_bond_stands_for_ports_that_are_not_listed(tmp_path: Path) -> None:
    found = counted(tmp_path, sadf(SDA, {"bond0": 10240.0, "docker0": 10240.0, "veth1": 10240.0}))
    assert rate(found, "network_sent") == BYTES_PER_S


@pytest.mark.parametrize("name", ["storage0", "lan", "data1"])
def test_an_interface_of_any_name_counts_if_it_moved_more_than_all_hardware(
    name: str, tmp_path: Path
) -> None:
    found = counted(tmp_path, sadf(SDA, {"eth0": IDLE, name: 10240.0}))
    assert rate(found, "network_sent") == BYTES_PER_S + IDLE * 1024
    assert [name in doubt for doubt in found.doubts] == [True]


@pytest.mark.parametrize("name", ["storage0", "mybridge"])
def test_an_interface_of_any_name_that_may_be_built_from_hardware_is_not_guessed_at(
    name: str, tmp_path: Path
) -> None:
    found = counted(tmp_path, sadf(SDA, {"eth0": 10240.0, name: 10240.0}))
    assert rate(found, "network_sent") is None
    assert f'whether "{name}" is hardware' in str(found.doubts[0])
    assert rate(found, "disk_written") == BYTES_PER_S


@pytest.mark.parametrize(
    "disks", [{"dev259-0": 10240.0, "dev259-1": 10240.0}, {"dm-0": 10240.0}, {"sda": 10240.0, "skd0": 9000.0}]
)
def test_disks_of_unknown_kind_are_not_guessed_at(disks: dict[str, float], tmp_path: Path) -> None:
    found = counted(tmp_path, sadf(disks, ETH0))
    assert rate(found, "disk_written") is None
    assert "disks don't count" in str(found.doubts[0])


# Zones


@pytest.mark.parametrize(
    ("stamp", "named", "zone", "ahead_s"),
    [
        ({"utc": 1}, "CET", "Europe/Berlin", 0),
        ({"tz": "UTC"}, "CET", "Europe/Berlin", 0),  # sysstat 12.7.1 and later
        ({"tz": "GMT"}, "CET", "UTC", 0),
        ({"tz": "CET"}, "CET", "Europe/Berlin", -3600),
        ({"tz": "CET"}, "CET", "UTC", -3600),
        ({"tz": "Europe/Berlin"}, "", "UTC", -3600),
        ({"utc": 0}, "CET", "UTC", -3600),  # before 12.7.1
        ({"tz": "EST"}, "EST", "America/New_York", 5 * 3600),
        ({"tz": "JST"}, "JST", "Asia/Tokyo", -9 * 3600),
        ({"tz": "-03"}, "", "UTC", 3 * 3600),  # of zones without a name
        ({"tz": "+0545"}, "", "Europe/Berlin", -(5 * 60 + 45) * 60),
    ],
)
def test_times_are_of_the_zone_that_sadf_states(
    stamp: dict[str, Any], named: str, zone: str, ahead_s: float, tmp_path: Path
) -> None:
    found = counted(tmp_path, sadf(SDA, ETH0, stamp=stamp, zone=named), zone)
    assert {float(s.t_s[0]) for s in found.series} == {FIRST_S + ahead_s}


@pytest.mark.parametrize(
    ("stated", "zone"), [("CEST", "Europe/Berlin"), ("JST", "UTC"), ("MSK", "Europe/Dublin"), ("EDT", "UTC")]
)
def test_an_abbreviation_that_the_zone_does_not_have_is_refused(
    stated: str, zone: str, tmp_path: Path
) -> None:
    with pytest.raises(WorkloadError, match=f'of the zone "{stated}".*sadf without -t'):
        counted(tmp_path, sadf(SDA, ETH0, stamp={"tz": stated}), zone)


def test_counters_of_another_time_are_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "client-1.json").write_text(fio(job(write=moved(2**20, 2000)), ended_ms=1_705_327_740_000))
    (tmp_path / "sadf.json").write_text(sadf(SDA, ETH0))
    found, _ = sources([str(tmp_path)], "UTC")
    brought = importing.bring(importing.create(tmp_path / "results"), found)
    (words,) = [one for one in missing(brought) if "another time" in one]
    assert "sadf.json is of another time, 2024-01-15 12:08:10 to 2024-01-15 12:11:20 UTC" in words
    assert not any(brought.series.values())


def test_a_doubt_about_devices_is_of_each_trial_they_are_joined_with(tmp_path: Path) -> None:
    (tmp_path / "client-1.json").write_text(fio(job(write=moved(2**20, 20_000)), ended_ms=1_705_320_600_000))
    (tmp_path / "sadf.json").write_text(sadf(SDA, {"eth0": 10240.0, "mybridge": 10240.0}))
    found, _ = sources([str(tmp_path)], "UTC")
    (record,) = importing.bring(importing.create(tmp_path / "results"), found).records
    assert present(record.outcome)
    assert any("mybridge" in doubt for doubt in record.doubts)


# Other programs


IOSTAT = '{"avg-cpu": {"user": 6.75}, "disk": [{"disk_device": "sda", "kB_wrtn/s": 10240.0}]}'
MPSTAT = '{"timestamp": "12:09:10", "cpu-load": [{"cpu": "all", "usr": 10.0}]}'


@pytest.mark.parametrize(
    ("statistics", "named"), [(IOSTAT, "iostat"), (f",\n{IOSTAT}", "iostat"), (MPSTAT, "mpstat or pidstat")]
)
def test_other_programs_of_sysstat_are_named(statistics: str, named: str, tmp_path: Path) -> None:
    text = (
        f'{{"sysstat": {{"hosts": [{{"nodename": "client-1", "number-of-cpus": 4, "statistics": '
        f"[{statistics}]}}]}}}}"
    )
    with pytest.raises(WorkloadError, match=f"this is the JSON of {named}.*sadf -j"):
        counted(tmp_path, text)


def test_decimal_commas_in_json_are_named(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match=r"decimal commas.*LC_ALL=C sadf"):
        counted(tmp_path, sadf(SDA, ETH0).replace('"wkB": 10240.0', '"wkB": 10240,00'))
