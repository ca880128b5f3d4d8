"""Mounts: what a host says of one, and whose data it has."""

import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from perjoule.drivers.protocols import Completed
from perjoule.machine.mounts import findmnt, is_local, mount_facts, mounted_below, unmounted
from perjoule.model.errors import UnexpectedOutput
from places import TRANSCRIPTS
from scripted import ScriptedHost

FSTAB = """{"filesystems": [
   {"source": "UUID=0a3407de-014b-458b-b5c1-848e92a327a3", "target": "/"},
   {"source": "//me:secret@nas/share", "target": "/mnt/nas"},
   {"source": "/dev/sdb1", "target": "/home"},
   {"source": "/swap.img", "target": "none"}]}"""
LINKS = {"/home/me/nas": "/mnt/nas", "/home/me/disk": "/data"}


def test_a_mount_tells_source_type_options_and_space() -> None:
    facts = mount_facts((TRANSCRIPTS / "directory" / "findmnt.json").read_text())
    assert (facts["target"], facts["source"], facts["type"]) == ("/", "/dev/vda", "ext4")
    assert "relatime" in str(facts["options"])
    assert facts["total_bytes"] == 270553174016


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("curlftpfs#ftp://me:secret@10.0.0.11/", "curlftpfs#ftp://***@10.0.0.11/"),
        ("https://me:secret@nas/remote.php/webdav", "https://***@nas/remote.php/webdav"),
        ("10.0.0.1@o2ib:10.0.0.2@o2ib:/lustre", "10.0.0.1@o2ib:10.0.0.2@o2ib:/lustre"),
        ("admin@a7f64266-0894-4f1e.cephfs=/", "admin@a7f64266-0894-4f1e.cephfs=/"),
        (None, None),
    ],
)
def test_no_record_keeps_the_login_of_a_mount(source: str | None, kept: str | None) -> None:
    options = "rw,user_id=0,password=secret,allow_other"
    mount = {"target": "/mnt/me:x@y", "source": source, "fstype": "fuse", "options": options}
    facts = mount_facts(json.dumps({"filesystems": [mount]}))
    assert (facts["source"], facts["target"]) == (kept, "/mnt/me:x@y")
    assert facts["options"] == "rw,user_id=0,password=***,allow_other"


@pytest.mark.parametrize(
    ("source", "kind", "local"),
    [
        ("/dev/vda", "ext4", True),
        ("tmpfs", "tmpfs", True),
        ("tank/scratch", "zfs", True),
        ("overlay", "overlay", True),
        ("10.0.0.11:/export", "nfs4", False),
        ("10.0.0.1@tcp:/lustre", "lustre", False),
        ("mfs#10.0.0.9:9421", "fuse.mfs", False),
        ("/dev/rbd0", "xfs", False),
    ],
)
def test_only_what_lies_on_the_client_itself_is_data_of_the_client(
    source: str, kind: str, local: bool
) -> None:
    assert is_local({"source": source, "type": kind}) == local


class Listing(ScriptedHost):
    """A host whose /etc/fstab names mounts, with links to two folders; findmnt fails where it names none."""

    def __init__(self, fstab: str) -> None:
        super().__init__()
        self.fstab = fstab

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        if words[0] == "readlink":
            return 0, f"{LINKS.get(words[-1], words[-1])}\n"
        assert words[:2] == ["findmnt", "--fstab"]
        return int(not self.fstab), self.fstab


@pytest.mark.parametrize(
    ("path", "target", "absent"),
    [
        ("/mnt/nas", "/", "//***@nas/share, for /mnt/nas"),
        ("/mnt/nas/videos", "/", "//***@nas/share, for /mnt/nas"),
        ("/mnt/nas/videos", "/mnt/nas", ""),
        ("/mnt/nas/videos", "/mnt/nas/videos", ""),
        ("/mnt/nas2", "/", ""),
        ("/mnt", "/", ""),
        ("/home/me/nas", "/", "//***@nas/share, for /mnt/nas"),
        ("/home/me/disk", "/", ""),
    ],
)
def test_a_folder_whose_mount_of_the_table_is_missing_lies_on_what_is_above_it(
    path: str, target: str, absent: str
) -> None:
    assert unmounted(Listing(FSTAB), Path(path), {"target": target}) == absent
    assert unmounted(Listing(""), Path(path), {"target": target}) == ""


class Says(ScriptedHost):
    """A host whose programs all say the same."""

    def __init__(self, name: str, said: str) -> None:
        super().__init__(name)
        self.said = said

    def run(self, argv: Sequence[str | Path], **_: object) -> Completed:
        return Completed(tuple(map(str, argv)), 0, self.said, "")


@pytest.mark.parametrize("said", ["", "{}", '{"filesystems": []}', "[]", '{"filesystems": 7}', "\\x", "NaN"])
def test_what_no_findmnt_says_is_a_sentence_about_the_host(said: str) -> None:
    host = Says("storage-1", said)
    with pytest.raises(UnexpectedOutput, match="findmnt on storage-1: unexpected output: "):
        findmnt(host, Path("/mnt"))
    with contextlib.suppress(UnexpectedOutput):  # no other error: some of it is an answer
        unmounted(host, Path("/mnt"), {"target": "/"})
    with contextlib.suppress(UnexpectedOutput):
        mounted_below(host, Path("/mnt"))
