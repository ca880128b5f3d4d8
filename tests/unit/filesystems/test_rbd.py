"""RBD on paper: which commands make, map and unmap whose image; what is refused; whose devices are
unmapped at the end.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from perjoule.drivers.protocols import Hosts, planned
from perjoule.filesystems._ceph import commands
from perjoule.filesystems._ceph import parse as answers
from perjoule.filesystems._ceph.cluster import CephCluster
from perjoule.filesystems.rbd import Rbd
from perjoule.machine import mapped, mounts
from perjoule.model.errors import CampaignError, MachineError, MountFailed, TransientError, WorkloadError
from perjoule.testbeds.cluster import scripts
from places import TRANSCRIPTS
from scripted import ScriptedHost
from typed import as_written

INFO = (TRANSCRIPTS / "rbd" / "info.json").read_text()
IMAGE = "rbd/%2Fof%2Fclient-1"
CLIENT = ["rbd", "-c", "/of/client-1/ceph/ceph.conf", "-n", "client.client-1"]
ADMIN = ["rbd", "-c", "/of/management-1/ceph/ceph.conf", "-n", "client.admin"]
PAPER = planned(["storage"] * 4 + ["metadata", "management", "client", "client"])


class Kernel(ScriptedHost):
    """A host whose kernel maps its image to /dev/rbd7, unless it says otherwise."""

    busy_count = 0  # how often the device is still open
    refusal = ""
    image: str | None = None  # that is mapped to rbd7
    module = True

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        match words:
            case ["modprobe", *_]:
                return int(not self.module), ""
            case ["rbd", _, _, _, _, "info", *_]:
                return 0, INFO
            case ["rbd", _, _, _, _, "device", "map", *_]:
                if self.refusal:
                    return 1, ""
                self.image = words[-1].removeprefix("rbd/")
                return 0, "/dev/rbd7\n"
            case ["rbd", _, _, _, _, "device", "unmap", *_]:
                if self.busy_count:
                    self.busy_count -= 1
                    raise WorkloadError(
                        "rbd: sysfs write failed; rbd: unmap failed: (16) Device or resource busy"
                    )
                self.image = None
                return 0, ""
            case _:
                return 0, ""

    def read(self, path: Path) -> bytes:
        if path == Path("/proc/filesystems"):
            return b"nodev\tsysfs\n\text4\n"
        assert path == Path("/sys/bus/rbd/devices/7/name")
        if self.image is None:
            raise WorkloadError("can't read it")
        return f"{self.image}\n".encode()


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Hosts:
    """Hosts whose daemons are up."""
    monkeypatch.setattr(CephCluster, "serve", lambda self: None)
    monkeypatch.setattr(CephCluster, "report", lambda self: {"version": "ceph version 16"})
    monkeypatch.setattr(CephCluster, "lost", lambda self: "")
    roles = ("storage-1", "storage-2", "management-1", "client-1")
    return Hosts(tuple(map(Kernel, roles)))


def client_of(hosts: Hosts) -> Kernel:
    client = hosts.clients[0]
    assert isinstance(client, Kernel)
    return client


def ran(host: Any) -> list[list[str]]:
    return [words for words in host.ran if words[0] in ("rbd", "dd", "bash")]


def test_an_image_is_made_by_the_administrator_and_mapped_and_unmapped_by_its_client(hosts: Hosts) -> None:
    client = client_of(hosts)
    with as_written(Rbd, size="1 GiB").mount(hosts) as mounted:
        assert ran(hosts.management) == [
            [*ADMIN, "create", "--size", "1073741824B", "--image-feature", "layering", IMAGE]
        ]
        options = "noudev,ms_mode=crc,mount_timeout=30,abort_on_full,osd_request_timeout=120"
        assert ran(client) == [
            [*CLIENT, "device", "map", "--options", options, IMAGE],
            ["dd", "if=/dev/zero", "of=/dev/rbd7", "bs=512", "count=1", "conv=fsync,notrunc", "status=none"],
            [*CLIENT, "info", "--format", "json", IMAGE],
        ]
        assert mounted.devices == {"client-1": Path("/dev/rbd7")}
        assert mounted.directories == {"client-1": Path("/of/client-1/ceph/device")}
        image = {
            "path": "/dev/rbd7",
            "size_bytes": 268435456,
            "object_bytes": 4194304,
            "features": ["layering"],
        }
        said = mounted.facts["images"]
        assert isinstance(said, dict)
        assert isinstance(found := said["client-1"], dict)
        assert found.items() >= image.items()
        client.ran.clear()
        with mounted.unmounted():
            assert ran(client) == [[*CLIENT, "device", "unmap", "--options", "noudev", IMAGE]]
            assert mounted.devices == {}
        mounted.alive()
        client.ran.clear()
    assert ran(client)[0][-2:] == ["perjoule-unmap", "/of/client-1"]  # by force


def test_a_device_that_udev_still_looks_at_is_unmapped_a_moment_later(hosts: Hosts) -> None:
    client = client_of(hosts)
    with Rbd().mount(hosts) as mounted:
        client.ran.clear()
        client.busy_count = 2
        with mounted.unmounted():
            assert len(ran(client)) == 3


def test_slower_hosts_get_more_time_for_each_request(hosts: Hosts) -> None:
    slower = Hosts(hosts.all, scale=0.25)
    with Rbd().mount(slower):
        assert any("osd_request_timeout=480" in word for words in client_of(slower).ran for word in words)


def test_a_device_that_is_no_longer_the_clients_image_is_missed(hosts: Hosts) -> None:
    client = client_of(hosts)
    with Rbd().mount(hosts) as mounted:
        mounted.alive()
        for other in (None, "somebody-elses"):
            client.image = other
            with pytest.raises(
                TransientError, match="client-1: /dev/rbd7 is no longer mapped to the client's image"
            ):
                mounted.alive()


def test_a_map_that_fails_is_reported(hosts: Hosts) -> None:
    client_of(hosts).refusal = "no"
    with pytest.raises(MountFailed, match=r"^client-1"), Rbd().mount(hosts):
        pass


def test_a_client_without_the_driver_or_with_a_folder_that_names_no_image_is_refused_first(
    hosts: Hosts,
) -> None:
    client = client_of(hosts)
    client.module = False
    words = (
        "client-1: the kernel has no RADOS block devices; modprobe rbd, or use hosts whose kernel has "
        "CONFIG_BLK_DEV_RBD"
    )
    with pytest.raises(MachineError, match=words), Rbd().mount(hosts):
        pass
    client.module = True
    for folder in ("/my work/client-1", "/w@1/client-1", "/50%/client-1"):
        client.directory = Path(folder)
        with (
            pytest.raises(MachineError, match="an image can't be named after the folder"),
            Rbd().mount(hosts),
        ):
            pass
    assert not any(ran(host) for host in hosts.all)


def test_this_machines_kernel_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mounts, "in_kernel", lambda kind: False)
    check = next(check for check in Rbd().checks() if "kernel" in check.name)
    assert (check.ok, check.detail, check.look) == (
        False,
        "the kernel has no RADOS block devices",
        "kernel rbd",
    )
    assert check.fix == "modprobe rbd, or use hosts whose kernel has CONFIG_BLK_DEV_RBD"
    assert {(one.name, one.on) for one in Rbd().checks()} >= {("rbd", "client"), ("rbd", "management")}


def test_a_built_in_driver_is_seen_by_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not mounts.in_kernel("no-such-driver")
    assert mounts.in_kernel(next(path.name for path in Path("/sys/module").iterdir()))


def test_images_have_copies_and_no_erasure_code() -> None:
    with pytest.raises(CampaignError, match=r'erasure = "2\+1" is not possible'):
        Rbd(erasure="2+1").require_fit(PAPER)
    with pytest.raises(CampaignError, match="there are 4; set copies to 4 or less"):
        as_written(Rbd, copies=5).require_fit(PAPER)
    for size in ("0 B", "1000 B"):
        with pytest.raises(ValueError, match="size"):
            as_written(Rbd, size=size)


def test_clients_may_use_images_and_nothing_else() -> None:
    layout = as_written(Rbd, copies=3, placement_groups=16).layout(PAPER)
    caps = commands.capabilities(layout, ("client-1",))
    assert caps["client.client-1"] == {"mon": "profile rbd", "osd": "profile rbd pool=rbd"}
    made = [command for stage in commands.creation(layout) for command in stage]
    pool = {"pool": "rbd", "pg_num": 16, "pgp_num": 16, "pool_type": "replicated", "rule": "rbd", "size": 3}
    assert [one for one in made if one["prefix"] == "osd pool create"] == [
        {"prefix": "osd pool create", **pool}
    ]
    enabled = {"prefix": "osd pool application enable", "pool": "rbd", "app": "rbd"}
    assert [one for one in made if one["prefix"] == "osd pool application enable"] == [enabled]


def test_an_image_tells_the_objects_that_hold_its_data() -> None:
    image = answers.image(INFO)
    assert len(image.objects) == 256 * 1024**2 // (4 * 1024**2)
    assert image.objects[:2] == [
        "rbd_data.102136013632.0000000000000000",
        "rbd_data.102136013632.0000000000000001",
    ]
    assert image.objects[-1] == "rbd_data.102136013632.000000000000003f"


def test_the_hosts_of_a_device_are_those_of_its_objects(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def ask(_: CephCluster, stages: Sequence[Sequence[dict[str, Any]]]) -> list[list[Any]]:
        asked.extend(stages[0])
        return [[{"acting": [1, 0]} for _ in stages[0]]]

    monkeypatch.setattr(CephCluster, "ask", ask)
    with Rbd().mount(hosts) as mounted:
        assert mounted.locate(Path("/dev/rbd7")) == ("storage-2", "storage-1")
    assert {one["pool"] for one in asked} == {"rbd"}
    assert asked[0]["object"] == "rbd_data.102136013632.0000000000000000"


OURS, NEIGHBOUR = Path("/var/tmp/perjoule/pj-0000000a"), Path("/var/tmp/perjoule/pj-0000000ab")
MAPPED = {
    "0": mapped.image_name(OURS / "client-1"),
    "1": "database",
    "2": mapped.image_name(NEIGHBOUR / "client-1"),
    "3": mapped.image_name(OURS),
    "4": mapped.image_name(OURS.parent),
    "10": mapped.image_name(OURS / "client-2"),
}


@pytest.mark.parametrize("end", ["remove_single_major", "remove"])
def test_only_devices_of_a_folder_and_below_are_unmapped(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, image in MAPPED.items():
        (tmp_path / "devices" / number).mkdir(parents=True)
        (tmp_path / "devices" / number / "name").write_text(f"{image}\n")
    monkeypatch.setattr(mapped, "DEVICES", tmp_path / "devices")
    monkeypatch.setattr(mapped, "UNMAPPING", mapped.UNMAPPING.replace("/sys/bus/rbd", str(tmp_path)))
    monkeypatch.setattr(mapped, "STUBBORN_S", 0.1)
    os.mkfifo(tmp_path / end)
    kernel = os.open(tmp_path / end, os.O_RDWR)
    try:
        assert mapped.below(OURS) == ["rbd0", "rbd10", "rbd3"]
        subprocess.run(mapped.unmapping(OURS), check=True, timeout=20)
        assert sorted(os.read(kernel, 4096).decode().splitlines()) == ["0 force", "10 force", "3 force"]
        assert mapped.unmap(OURS) == ["rbd0", "rbd10", "rbd3"]  # this kernel unmaps nothing
        assert mapped.unmap(OURS / "client-3") == []
        assert sorted(os.read(kernel, 4096).decode().splitlines()) == ["0 force", "10 force", "3 force"]
    finally:
        os.close(kernel)


def test_a_host_over_ssh_unmaps_what_a_dead_run_had_there_before_its_folder_goes(tmp_path: Path) -> None:
    folder, kernel = tmp_path / "cluster" / "abcdefgh-client-1", tmp_path / "kernel"
    folder.mkdir(parents=True)
    (folder / "perjoule-made-this").touch()
    for number, image in {
        "0": mapped.image_name(folder),
        "1": mapped.image_name(folder.with_name("ijklmnop-client-1")),
    }.items():
        (kernel / "devices" / number).mkdir(parents=True)
        (kernel / "devices" / number / "name").write_text(f"{image}\n")
    (kernel / "remove_single_major").touch()
    script = vars(scripts)["_SWEEP"].replace("/sys/bus/rbd", str(kernel)) + 'remove "$1"'
    subprocess.run(["bash", "--norc", "-c", script, "perjoule-remove", str(folder)], check=True, timeout=20)
    assert (kernel / "remove_single_major").read_text() == "0 force\n"
    assert not folder.exists()
