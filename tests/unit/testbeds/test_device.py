"""What keeps a raw device from being overwritten, judged from what a machine says (lsblk, wipefs 2.38, the
kernel's tables).
"""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest

from perjoule import campaign
from perjoule.cli.terminal import consent
from perjoule.model import Campaign, Overwrite, Permit
from perjoule.model.errors import CampaignError, MachineError
from perjoule.testbeds import local
from perjoule.testbeds._device import DeviceClaim, node, refused
from perjoule.testbeds._device import described as shown_to_user
from perjoule.testbeds._device.view import BTRFS_COUNT, COLUMNS, MachineView, Seen, look
from perjoule.testbeds.cluster.devices import HeldThere, report
from places import transcript
from scripted import ScriptedHost, ScriptedProcess

ID = "/dev/disk/by-id/ata-X"


def said(name: str) -> str:
    return transcript("devices", name)


class Machine:
    """What a machine says of one device: as recorded, and what a test changes."""

    def __init__(
        self, folder: Path, rows: str = "lsblk-empty.json", signatures: str = "wipefs-empty.json"
    ) -> None:
        self.folder = folder
        self.lsblk: Any = json.loads(said(rows))
        self.wipefs: Any = json.loads(said(signatures))
        self.btrfs_count = "                    1\n"  # as od prints it
        for name, number in (("loop1", "7:1"), ("loop1p1", "259:0"), ("loop1p2", "259:1"), ("vda", "254:0")):
            (folder / "sys/class/block" / name / "holders").mkdir(parents=True)
            self.put(f"sys/class/block/{name}/dev", number)
            self.put(f"sys/class/block/{name}/diskseq", "17")
        (folder / "sys/block").mkdir()
        self.put("proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n")
        self.put("proc/self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n")

    @property
    def row(self) -> dict[str, Any]:
        return self.lsblk["blockdevices"][0]

    def put(self, path: str, text: str) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text)

    def answer(self, argv: Sequence[str]) -> str:
        found = {"lsblk": self.lsblk, "wipefs": self.wipefs, "od": self.btrfs_count}[argv[0]]
        return found if isinstance(found, str) else json.dumps(found)

    @property
    def view(self) -> MachineView:
        return MachineView(
            links=self.folder / "links", proc=self.folder / "proc", sys=self.folder / "sys", ask=self.answer
        )

    def look(self) -> Seen:
        return look(self.view, Path("/dev/loop1"))

    def refused(self, *allowed: str) -> str:
        return refused(self.look(), allowed)


class MachineThere(Machine):
    """The same, as a host reports it."""

    @property
    def view(self) -> MachineView:
        (self.folder / "copy").mkdir(exist_ok=True)
        return report(
            self.reported(), Path(tempfile.mkdtemp(dir=self.folder / "copy")), links=self.folder / "links"
        )

    def reported(self) -> str:
        readable = isinstance(self.lsblk, dict) and self.lsblk.get("blockdevices")
        rows = (
            [self.row, *(row for row in self.row.get("children", []) if row["type"] == "part")]
            if readable
            else []
        )
        paths = " ".join(f"/dev/{row.get('kname')}" for row in rows)
        found = [
            ("number", "/dev/loop1", "7:1"),
            ("tool", f"lsblk --json --output {COLUMNS} /dev/loop1", self.answer(["lsblk"])),
        ]
        found.append(("tool", f"wipefs --no-act --json {paths}", self.answer(["wipefs"])))
        found += [("tool", f"{BTRFS_COUNT} {path}", self.btrfs_count) for path in paths.split()]
        for path in sorted(
            (path for root in ("sys", "proc") for path in (self.folder / root).rglob("*")), key=str
        ):
            name = f"/{path.relative_to(self.folder)}"
            found.append(("folder", name, "") if path.is_dir() else ("file", name, path.read_text()))
        if not (self.folder / "proc/4711/fd").is_file():  # where somebody may not look
            found.append(("root", "", ""))
        return "".join(f"{word}\0" for one in (*found, ("end", "", "")) for word in one)


@pytest.fixture(params=[Machine, MachineThere])
def made(request: pytest.FixtureRequest) -> type[Machine]:
    """This machine, and a host."""
    return request.param


@pytest.fixture
def machine(made: type[Machine], tmp_path: Path) -> Machine:
    return made(tmp_path)


def test_a_device_with_nothing_on_it_may_be_overwritten(machine: Machine) -> None:
    assert machine.refused() == ""
    machine.row["type"] = "disk"
    assert machine.refused() == ""


@pytest.mark.parametrize("kind", ["part", "raid1", "lvm", "crypt", "mpath", "dm", "rom", "zram"])
def test_what_is_not_a_whole_disk_is_refused(kind: str, machine: Machine) -> None:
    machine.row["type"] = kind
    assert machine.refused() == f"is not a whole disk but of type {kind}"


@pytest.mark.parametrize(
    ("attribute", "mark"),
    [
        ("wwid", "eui.0025388b710116a1"),
        ("device/wwid", "naa.5000c500a1b2c3d4"),
        ("loop/backing_file", "/srv/a.img"),
    ],
)
def test_a_disk_that_the_kernel_reaches_in_two_ways_is_refused(
    attribute: str, mark: str, machine: Machine
) -> None:
    machine.put(f"sys/block/loop1/{attribute}", mark)
    assert machine.refused() == ""
    machine.put(f"sys/block/sdq/{attribute}", mark)
    assert machine.refused() == "is the same as sdq, and what uses it so can't be seen"
    machine.put(
        "sys/block/sdq/hidden", "1"
    )  # one way to a disk of several, which the kernel keeps for itself
    assert machine.refused() == ""


def test_disks_without_a_worldwide_name_are_not_the_same(machine: Machine) -> None:
    for name in ("loop1", "sdq"):
        machine.put(f"sys/block/{name}/wwid", "eui.0000000000000000")
    assert machine.refused() == ""


def test_a_loop_device_that_is_another_disk_is_refused(machine: Machine) -> None:
    machine.put("sys/block/loop1/loop/backing_file", "/dev/sdq")
    assert machine.refused() == "is the same as /dev/sdq, and what uses it so can't be seen"


HOSTILE: tuple[tuple[tuple[str, str, str], ...], ...] = (
    (("number", "/dev/loop1", "zz"),),
    (("opener", "fio (1)", "7:1:-"),),
    (("file", f"/sys/{'a' * 300}", "x"),),
    (("file", "/sys/a", "x"), ("file", "/sys/a/b", "x")),
)


@pytest.mark.parametrize("entries", HOSTILE)
def test_a_report_of_a_host_in_another_form_is_refused_in_a_sentence(
    entries: Sequence[tuple[str, str, str]], tmp_path: Path
) -> None:
    answer = "".join(f"{word}\0" for entry in (*entries, ("end", "", "")) for word in entry)
    with pytest.raises(MachineError, match="its report about a device has another form"):
        report(answer, tmp_path)


def test_a_report_of_a_host_without_end_fills_no_disk(tmp_path: Path) -> None:
    answer = "".join(f"file\0/sys/{number}\0x\0" for number in range(60_000)) + "end\0\0\0"
    with pytest.raises(MachineError, match="it has more than 50000 entries"):
        report(answer, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", ["held", "held 1", "held 1 zz", "held 1 2 3", f"held 1 {'f' * 40}"])
def test_an_answer_of_who_holds_a_device_in_another_form_is_refused_in_a_sentence(
    words: str, tmp_path: Path
) -> None:
    process = ScriptedProcess(None, f"{words}\n")

    class Holder(ScriptedHost):
        def starts(self, words: Sequence[str], log: Path) -> ScriptedProcess:
            return process

    with pytest.raises(MachineError, match=r"in another form|can't be held"):
        HeldThere(Holder("storage-1"), Path("/dev/sdq"), tmp_path / "log")
    assert process.stopped_count


def test_a_read_only_device_is_refused(machine: Machine) -> None:
    machine.row["ro"] = True
    assert machine.refused() == "is read-only"


def test_a_mounted_device_is_refused_with_all_that_is_on_it(made: type[Machine], tmp_path: Path) -> None:
    assert (
        made(tmp_path, "lsblk-mounted.json").refused()
        == "is mounted on /; all data on it (vda disk 256G on /) would be lost"
    )


@pytest.mark.parametrize(
    "source", ["7:1 / /srv/a\\040b rw - ext4 /dev/other rw", "0:50 / /srv/a\\040b rw - btrfs /dev/loop1 rw"]
)
def test_a_mount_that_lsblk_does_not_tell_is_found_by_number_or_by_source(
    source: str, machine: Machine
) -> None:
    machine.put("proc/self/mountinfo", f"22 27 {source}\n")
    assert machine.refused() == "is mounted on /srv/a b; all data on it (loop1 loop 64M) would be lost"


def test_swap_is_refused(made: type[Machine], tmp_path: Path) -> None:
    assert made(tmp_path, "lsblk-swap.json", "wipefs-empty.json").refused("swap").startswith("is swap")


def test_swap_that_lsblk_does_not_tell_is_found(made: type[Machine], tmp_path: Path) -> None:
    quiet = made(tmp_path, "lsblk-parts.json", "wipefs-parts.json")
    quiet.put("proc/swaps", said("swaps.txt").replace("/dev/loop1", "/dev/loop1p2"))
    assert quiet.refused("gpt", "ext4") == "is swap (/dev/loop1p2)"


def child(kind: str, name: str, **more: Any) -> dict[str, Any]:
    words = {"name": name, "kname": name, "maj:min": "9:0", "size": "4T", "ro": False, "mountpoints": [None]}
    return {**words, "type": kind, "fstype": None, "label": None, "model": None, "serial": None, **more}


@pytest.mark.parametrize("kind", ["raid1", "lvm", "crypt", "mpath", "dm"])
def test_a_part_of_something_is_refused_whatever_is_named(kind: str, machine: Machine) -> None:
    machine.row["children"] = [child(kind, "md0", children=[child("lvm", "home", label="photos")])]
    assert machine.refused("linux_raid_member", "LVM2_member").startswith(
        f"is part of md0 {kind} 4T with home lvm 4T"
    )


def test_a_partition_that_is_part_of_something_is_refused(made: type[Machine], tmp_path: Path) -> None:
    parts = made(tmp_path, "lsblk-parts.json", "wipefs-parts.json")
    parts.row["children"][0]["children"] = [child("crypt", "secret")]
    assert parts.refused("gpt", "ext4") == "is part of secret crypt 4T, which would be lost"


@pytest.mark.parametrize("held", ["loop1", "loop1p2"])
def test_a_holder_that_lsblk_does_not_tell_is_found(held: str, made: type[Machine], tmp_path: Path) -> None:
    quiet = made(tmp_path) if held == "loop1" else made(tmp_path, "lsblk-parts.json", "wipefs-parts.json")
    (tmp_path / "sys/class/block" / held / "holders" / "bcache0").mkdir()
    assert quiet.refused("gpt", "ext4") == "is part of bcache0, which would be lost"


def test_a_device_beneath_a_loop_device_is_refused(machine: Machine) -> None:
    machine.put("sys/block/loop9/loop/backing_file", "/dev/loop1\n")
    assert machine.refused() == "is part of loop9, which would be lost"


@pytest.mark.parametrize(
    "place",
    ["nvmet/subsystems/nqn.2026-11.lab:a/namespaces/1/device_path", "target/core/fileio_0/disk/udev_path"],
)
@pytest.mark.parametrize("lent", ["loop1", "loop1p2"])
def test_a_device_that_its_kernel_lends_to_other_machines_is_refused(
    place: str, lent: str, made: type[Machine], tmp_path: Path
) -> None:
    parts = made(tmp_path, "lsblk-parts.json", "wipefs-parts.json")
    parts.put(f"sys/kernel/config/{place}", f"/dev/{lent}\n")
    parts.put(f"sys/kernel/config/{place}".replace("_0/", "_1/").replace("/1/", "/2/"), "/dev/vda\n")
    what = place.rpartition("/")[0]
    assert parts.refused("gpt", "ext4") == f"is lent to other machines as {what}, which would lose it"


def signed(machine: Machine, *kinds: str) -> Machine:
    machine.wipefs = {
        "signatures": [{"device": "loop1", "type": kind, "label": None, "uuid": None} for kind in kinds]
    }
    return machine


@pytest.mark.parametrize(
    "kind",
    [
        *(
            "linux_raid_member",
            "LVM2_member",
            "zfs_member",
            "mpath_member",
            "isw_raid_member",
            "bcache",
            "drbd",
            "stratis",
        ),
        *("ceph_bluestore", "oracleasm", "jbd", "xfs_external_log", "DM_snapshot_cow", "DM_verity_hash"),
    ],
)
def test_a_member_of_something_that_is_not_assembled_is_refused_even_when_it_is_named(
    kind: str, machine: Machine
) -> None:
    assert (
        signed(machine, kind).refused(kind) == f"belongs to something larger ({kind}), which would be damaged"
    )


@pytest.mark.parametrize(
    ("count", "what"), [("2", "belongs to something larger"), ("", "can't be read"), ("x", "can't be read")]
)
def test_a_btrfs_on_several_devices_is_refused_even_when_it_is_named(
    count: str, what: str, machine: Machine
) -> None:
    signed(machine, "btrfs").btrfs_count = count
    if count == "2":
        assert (
            machine.refused("btrfs")
            == "belongs to something larger (btrfs on 2 devices), which would be damaged"
        )
        return
    with pytest.raises(MachineError, match=what):
        machine.refused("btrfs")


@pytest.mark.parametrize(
    "kind", ["ext4", "xfs", "btrfs", "dos", "gpt", "crypto_LUKS", "vfat", "ntfs", "swap", "iso9660"]
)
def test_a_signature_may_be_lost_only_by_its_name(kind: str, machine: Machine) -> None:
    assert signed(machine, kind).refused() == f"bears {kind}, which would be lost"
    assert machine.refused("minix") == f"bears {kind}, which would be lost"
    assert machine.refused(kind) == ""


def test_a_signature_is_reported_with_its_label(made: type[Machine], tmp_path: Path) -> None:
    assert '"photos"' in made(tmp_path, "lsblk-empty.json", "wipefs-ext4.json").refused()


def test_every_signature_must_be_named(machine: Machine) -> None:
    assert signed(machine, "ext4", "xfs").refused("ext4") == "bears xfs, which would be lost"


def test_partitions_are_lost_only_when_their_table_and_what_they_bear_are_named(
    made: type[Machine], tmp_path: Path
) -> None:
    parts = made(tmp_path, "lsblk-parts.json", "wipefs-parts.json")
    assert parts.refused().startswith('bears gpt, PMBR, ext4 "photos"')
    assert parts.refused("gpt").startswith('bears ext4 "photos"')
    assert parts.refused("ext4").startswith("bears gpt, PMBR")
    assert parts.refused("gpt", "ext4") == ""


def test_partitions_without_a_table_that_can_be_read_are_refused(made: type[Machine], tmp_path: Path) -> None:
    assert made(tmp_path, "lsblk-parts.json").refused("gpt") == (
        "has partitions; all data on them (loop1p1 part 20M, loop1p2 part 20M) would be lost"
    )


def test_a_device_that_a_process_has_open_is_refused(machine: Machine) -> None:
    seen = replace(machine.look(), openers=("qemu (4711)",))
    assert refused(seen, ()) == "is open in qemu (4711)"


def spoil_lsblk(machine: Machine, key: str) -> None:
    del machine.row[key]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda m: setattr(m, "lsblk", ""),
        lambda m: setattr(m, "lsblk", "lsblk: /dev/loop1: not a block device"),
        lambda m: setattr(m, "lsblk", {"blockdevices": []}),
        lambda m: setattr(m, "lsblk", {}),
        *(lambda m, key=key: spoil_lsblk(m, key) for key in ("type", "ro", "mountpoints", "kname", "size")),
        lambda m: m.row.update(ro="0"),
        lambda m: m.row.update(mountpoints=None),
        lambda m: setattr(m, "wipefs", ""),
        lambda m: setattr(m, "wipefs", "{"),
        lambda m: setattr(m, "wipefs", {}),
        lambda m: setattr(m, "wipefs", {"signatures": None}),
        lambda m: setattr(m, "wipefs", {"signatures": [{"label": "x"}]}),
        lambda m: m.put("proc/swaps", ""),
        lambda m: (m.folder / "proc/swaps").unlink(),
        lambda m: m.put("proc/self/mountinfo", ""),
        lambda m: m.put("proc/self/mountinfo", "nothing as the kernel writes it\n"),
        lambda m: (m.folder / "proc/self/mountinfo").unlink(),
        lambda m: (m.folder / "sys/class/block/loop1/dev").unlink(),
        lambda m: m.put("sys/class/block/loop1/dev", ""),
        lambda m: m.put("sys/class/block/loop1/diskseq", ""),
        lambda m: (m.folder / "sys/class/block/loop1/holders").rmdir(),
        lambda m: m.put("sys/block/loop9/loop/backing_file", ""),
        lambda m: m.put("proc/4711/fd", "no folder that can be looked into"),
    ],
)
def test_an_answer_that_can_not_be_read_is_a_refusal_and_never_a_pass(
    spoil: Callable[[Machine], object], machine: Machine
) -> None:
    spoil(machine)
    with pytest.raises(
        MachineError, match=r"loop1: what this machine says of it can't be read .*nothing is touched before"
    ):
        machine.refused("ext4", "gpt")


def test_a_tool_that_fails_is_a_refusal(machine: Machine) -> None:
    def fail(argv: Sequence[str]) -> str:
        raise MachineError(f"{argv[0]}: permission denied")

    with pytest.raises(MachineError, match="permission denied"):
        look(replace(machine.view, ask=fail), Path("/dev/loop1"))


def linked(machine: Machine, folder: str, target: Path) -> str:
    link = machine.view.links / folder / "ata-X"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    return str(link)


@pytest.mark.parametrize("device", ["/dev/sda", "sda", "", "/dev/mapper/x", "links/by-id/ata-X"])
def test_a_device_without_a_stable_id_is_refused(device: str, machine: Machine) -> None:
    with pytest.raises(
        CampaignError,
        match=r"is not a stable id: it may name another disk after a reboot; use one of \S+/by-id",
    ):
        node(device, machine.view)


@pytest.mark.parametrize("wrong", ["by-id/../../sda", "by-label/photos", "by-id", "by-id/..", "by-diskseq/1"])
def test_a_way_around_a_stable_id_is_refused(wrong: str, machine: Machine) -> None:
    with pytest.raises(CampaignError, match="is not a stable id"):
        node(f"{machine.view.links}/{wrong}", machine.view)


def test_a_stable_id_that_leads_to_no_block_device_is_refused(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for number, target in enumerate((tmp_path / "file", tmp_path / "gone", Path("/dev/null"))):
        machine.view.links.joinpath("by-id").mkdir(parents=True, exist_ok=True)
        link = machine.view.links / "by-id" / f"x{number}"
        link.symlink_to(target)
        with pytest.raises(CampaignError, match="is not a block device here"):
            node(str(link), machine.view)


def test_a_device_that_nobody_named_is_not_even_looked_at(machine: Machine) -> None:
    def fail(argv: Sequence[str]) -> str:
        raise AssertionError(argv)

    with pytest.raises(
        CampaignError, match=r'not listed, or not confirmed; write overwrite = \["/dev/disk/by-id/ata-X"\]'
    ):
        DeviceClaim(ID, (Permit("/dev/disk/by-id/ata-Y"),), replace(machine.view, ask=fail))


def test_what_would_be_lost_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Machine(tmp_path, "lsblk-parts.json", "wipefs-parts.json")
    parts.row.update(model="ST96023AS ", serial="3MK0")
    monkeypatch.setattr("perjoule.testbeds._device.node", lambda device, view: Path("/dev/loop1"))
    permit, lines = shown_to_user(Overwrite(device=ID, signature=("gpt", "ext4")), parts.view)
    assert permit == Permit(ID, ("gpt", "ext4"), "7:1 17")
    assert lines[:2] == [f"{ID} -> /dev/loop1", "model ST96023AS, serial 3MK0, size 64M"]
    assert lines[2].startswith('bears gpt, PMBR, ext4 "photos"')
    assert lines[3:] == ["part loop1p1 part 20M", "part loop1p2 part 20M"]
    with pytest.raises(
        CampaignError,
        match=r'if it is not needed: overwrite = \[\{device = .*, signature = \["gpt", "ext4"\]\}\]',
    ):
        shown_to_user(Overwrite(device=ID), parts.view)


TEXT = """
overwrite = ["/dev/disk/by-id/ata-X", {device = "/dev/disk/by-id/ata-Y", signature = "ext4"}]
[testbed]
kind = "local"
[[filesystem]]
kind = "device"
device = "/dev/disk/by-id/ata-X"
[[workload]]
kind = "device"
"""


def asked(text: str = TEXT) -> Campaign:
    return campaign.parse(text)


def test_a_campaign_names_devices_alone_or_with_what_may_be_lost() -> None:
    assert asked().overwrite == (
        Overwrite(device=ID),
        Overwrite(device="/dev/disk/by-id/ata-Y", signature=("ext4",)),
    )
    assert asked().confirmed == ()


@pytest.mark.parametrize("table", ["device = 'X'", "device = ['X', '/dev/disk/by-id/ata-X']"])
def test_a_campaign_that_does_not_name_a_device_of_its_own_is_refused(table: str) -> None:
    text = TEXT.replace(f'device = "{ID}"\n[[', f"{table.replace('X', '/dev/disk/by-id/ata-Z', 1)}\n[[")
    said = (
        r'^campaign line 5: device = "/dev/disk/by-id/ata-Z" would be overwritten, but overwrite does not '
        r"list it"
    )
    with pytest.raises(CampaignError, match=said):
        asked(text)


def test_a_device_beneath_servers_must_be_named_too() -> None:
    filesystem = 'kind = "moosefs"\nbeneath = {kind = "xfs", device = "/dev/disk/by-id/ata-Z"}'
    text = TEXT.replace(f'kind = "device"\ndevice = "{ID}"', filesystem).replace(
        '[[workload]]\nkind = "device"', '[[workload]]\nkind = "fio"'
    )
    with pytest.raises(CampaignError, match="ata-Z"):
        asked(text)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The devices that were shown to the user, on no terminal."""
    found: list[str] = []

    def show(
        _: local.Local, named: Overwrite, clients_count: int, place: str
    ) -> list[tuple[Permit, list[str]]]:
        found.append(named.device)
        return [(Permit(named.device, named.signature, "8:0 17"), ["model X"])]

    monkeypatch.setattr(local.Local, "shown", show)
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    return found


def confirmed(*flags: str, text: str = TEXT) -> Campaign:
    return consent.confirmed(asked(text), asked(text).trials, flags)


def test_without_a_terminal_and_a_flag_nothing_is_confirmed(shown: list[str]) -> None:
    with pytest.raises(
        CampaignError,
        match="would be overwritten, and this has not been confirmed; add --overwrite ata-X, or run it in a",
    ):
        confirmed()


@pytest.mark.parametrize("flag", ["ata-X", ID])
def test_a_flag_confirms_one_device(flag: str, shown: list[str]) -> None:
    assert confirmed(flag).confirmed == (Permit(ID, (), "8:0 17"),)
    assert shown == [ID]


def test_a_flag_for_another_device_of_the_campaign_does_not_confirm_this_one(shown: list[str]) -> None:
    with pytest.raises(CampaignError, match="not been confirmed"):
        confirmed("ata-Y")


def test_a_flag_for_a_device_that_the_campaign_does_not_name_is_refused(shown: list[str]) -> None:
    with pytest.raises(
        CampaignError,
        match=(
            "--overwrite ata-Z is not a device listed in this campaign; the campaign's overwrite lists "
            f"{ID}, /dev"
        ),
    ):
        confirmed("ata-Z")
    assert shown == []


@pytest.mark.parametrize(
    ("typed", "well"),
    [("ata-X", True), (" ata-X ", True), ("y", False), ("yes", False), ("", False), ("ata-Y", False)],
)
def test_on_a_terminal_the_id_must_be_typed(
    typed: str, well: bool, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(click, "prompt", lambda *_, **__: typed)
    if well:
        assert confirmed().confirmed == (Permit(ID, (), "8:0 17"),)
    else:
        with pytest.raises(CampaignError, match="was not confirmed; nothing has been touched"):
            confirmed()


def test_a_device_that_can_not_be_overwritten_is_refused_before_anyone_is_prompted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def show(*_: object) -> list[tuple[Permit, list[str]]]:
        raise CampaignError("is mounted")

    monkeypatch.setattr(local.Local, "shown", show)
    with pytest.raises(CampaignError, match="is mounted"):
        confirmed("ata-X")


@pytest.mark.parametrize(
    "other", ['kind = "virtual"', 'kind = "local"\n[[filesystem]]\nkind = "device"\nlabel = "file"']
)
def test_nobody_is_prompted_for_what_is_not_overwritten(other: str, shown: list[str]) -> None:
    text = (
        TEXT.replace('kind = "local"', other)
        if "virtual" in other
        else TEXT.replace(f'kind = "device"\ndevice = "{ID}"', 'kind = "device"')
    )
    assert confirmed(text=text).confirmed == ()
    assert shown == []


def test_a_report_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    whole = MachineThere(tmp_path).reported()
    for cut in ("", whole[:-1].rpartition("end")[0], whole[: len(whole) // 2]):
        with pytest.raises(MachineError, match="cut short"):
            report(cut, tmp_path)


def test_a_host_numbers_its_devices_as_stat_does(tmp_path: Path) -> None:
    found = report("number\0/dev/sdq\x0041:10\0opener\0fio (7)\x0041:10\0root\0\0\0end\0\0\0", tmp_path)
    assert found.number(Path("/dev/sdq")) == "65:16"
    assert list(found.openers({"65:16"})) == ["fio (7)"]
    assert list(found.openers({"65:17"})) == []
    ours = report("opener\0perl (7)\x008:0\0opener\0dd (17)\x008:0\0root\0\0\0end\0\0\0", tmp_path, but=["7"])
    assert list(ours.openers({"8:0"})) == ["dd (17)"]
