"""Mounts: what a host says of one, and whose data it has."""

import pytest

from perjoule.machine.mounts import is_local, mount_facts
from places import TRANSCRIPTS


def test_a_mount_tells_source_type_options_and_space() -> None:
    facts = mount_facts((TRANSCRIPTS / "directory" / "findmnt.json").read_text())
    assert (facts["target"], facts["source"], facts["type"]) == ("/", "/dev/vda", "ext4")
    assert "relatime" in str(facts["options"])
    assert facts["total_bytes"] == 270553174016


@pytest.mark.parametrize(
    ("source", "kind", "local"),
    [
        ("/dev/vda", "ext4", True),
        ("tmpfs", "tmpfs", True),
        ("tank/scratch", "zfs", True),
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
