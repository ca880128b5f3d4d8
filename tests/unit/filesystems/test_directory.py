"""A folder that is there already, on this machine and without root."""

from pathlib import Path

import pytest

from perjoule.drivers.protocols import Hosts
from perjoule.filesystems._mounts import is_local, mount_facts
from perjoule.filesystems.directory import Directory
from perjoule.model.errors import CampaignError, MachineError, TransientError
from perjoule.testbeds.local import Local
from places import TRANSCRIPTS

SAID = TRANSCRIPTS / "directory"


def test_a_mount_tells_source_type_options_and_space() -> None:
    facts = mount_facts((SAID / "findmnt.json").read_text())
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
def test_only_what_lies_on_the_client_itself_is_data_of_the_client(source: str, kind: str, local: bool) -> None:
    assert is_local({"source": source, "type": kind}) == local


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(CampaignError, match="relative; write an absolute path"), Directory(path=Path("scratch")).mount(Hosts(())):
        pass


def test_a_client_gets_an_empty_folder_of_its_own_and_only_that_is_removed(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("keep")
    with Local().hold(1) as hosts, Directory(path=tmp_path).mount(hosts) as mounted:
        ours = mounted.directories["local"]
        assert ours.parent == tmp_path
        assert ours.name.startswith("perjoule-")
        assert list(ours.iterdir()) == []
        (ours / "file").write_text("data")
        assert mounted.locate(ours / "file") == ("local",)
        mounted.drop_caches()
        mounted.alive()
        assert mounted.facts["path"] == str(tmp_path)
        assert isinstance(mounts := mounted.facts["mounts"], dict)
        assert isinstance(mount := mounts["local"], dict)
        assert mount["type"]
        assert mounted.data_hosts == (("local",) if is_local(mount) else ())
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


def test_a_folder_that_vanishes_is_seen(tmp_path: Path) -> None:
    with Local().hold(1) as hosts, Directory(path=tmp_path).mount(hosts) as mounted:
        mounted.directories["local"].rmdir()
        with pytest.raises(TransientError, match="is gone"):
            mounted.alive()


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/dev/null", "/dev/null is not a folder; mount it there"),
        ("/proc", r"/proc is not writable \(.+\); choose a writable folder"),
    ],
)
def test_what_is_no_writable_folder_is_refused_with_what_to_do(path: str, what: str) -> None:
    with (
        Local().hold(1) as hosts,
        pytest.raises(MachineError, match=what),
        Directory(path=Path(path)).mount(hosts),
    ):
        pass
