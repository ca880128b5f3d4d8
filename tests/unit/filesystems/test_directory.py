"""A folder that is there already, on this machine and without root."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from perjoule.drivers import build
from perjoule.drivers.protocols import MADE, Check, Completed, Host, Hosts, OfOthers, able
from perjoule.filesystems._on_clients import OnClients
from perjoule.filesystems.directory import Directory
from perjoule.machine.mounts import is_local
from perjoule.model.doubts import CACHE
from perjoule.model.errors import MachineError, MountLost, WorkloadError
from perjoule.testbeds.local import Local
from perjoule.workloads._running import cold
from scripted import ScriptedHost


def folder(path: Path) -> Check:
    return next(check for check in Directory(path=path).checks() if check.name == f"folder {path}")


@pytest.mark.parametrize(
    ("path", "found"), [("/no/such", "no such file or directory"), ("/dev/null", "not a folder")]
)
def test_a_folder_that_is_not_there_is_found_before_a_run(path: str, found: str) -> None:
    check = folder(Path(path))
    assert (check.ok, check.detail, check.look) == (False, found, f"path {path}")


def test_a_folder_is_checked_without_writing_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before_ns = tmp_path.stat().st_mtime_ns
    assert folder(tmp_path).ok
    assert tmp_path.stat().st_mtime_ns == before_ns
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    assert folder(tmp_path).detail == "not writable by this user"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root meets other users where it writes")
def test_a_folder_in_which_root_would_meet_other_users_is_found_before_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> Check:
        return next(
            check for check in Directory(path=tmp_path).checks() if check.look == f"guarded {tmp_path}"
        )

    assert found().ok
    tmp_path.chmod(0o777)
    assert (found().ok, found().detail) == (
        False,
        f"root is not safe there: {tmp_path}: other users can write to it, and it is not sticky",
    )
    assert found().fix.endswith("run without root, or chmod +t")
    tmp_path.chmod(0o1777)
    assert found().ok
    os.chown(tmp_path, 4711, 4711)
    assert not found().ok
    monkeypatch.setenv("SUDO_UID", "4711")  # who has called us
    assert found().ok
    tmp_path.rmdir()
    assert found().ok, "that it is missing, another check says"


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
        with pytest.raises(MountLost):
            mounted.alive()


def test_all_clients_are_queried_at_once_whether_they_still_have_it() -> None:
    clients = tuple(ScriptedHost(f"client-{n}") for n in (1, 2, 3))
    all_asked = Barrier(len(clients))

    def lost(client: Host) -> str:
        all_asked.wait(10)
        return "" if client is clients[0] else f"{client.name} has lost it"

    with pytest.raises(MountLost, match=r"^client-2"):
        OnClients(Hosts(clients), {}, {}, lost).alive()


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("/dev/null", "/dev/null is not a folder; mount it there"),
        ("/proc", r"/proc is not writable \(.+\); choose a writable folder"),
    ],
)
def test_what_is_not_a_writable_folder_is_refused_with_what_to_do(path: str, what: str) -> None:
    with (
        Local().hold(1) as hosts,
        pytest.raises(MachineError, match=what),
        Directory(path=Path(path)).mount(hosts),
    ):
        pass


class Client(ScriptedHost):
    """A client with the folders that its file system has; a file system may be that of others, too."""

    def __init__(self, name: str, folders: set[str], mount: str, kind: str = "") -> None:
        super().__init__(name)
        self.folders, self.mount = folders, mount
        self.kind = kind or ("lustre" if ":" in mount else "ext4")
        self.unsafe = False
        self.state = "0 41c0"  # of a folder that was made there

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        match words:
            case ["test", "-d", path]:
                return 0 if path in self.folders else 1, ""
            case ["stat", "-c", "%u %f", "--", path]:
                return (0, self.state) if path in self.folders else (1, "")
            case ["mkdir", *_, made]:
                assert self.files[self.directory / MADE / Path(made).name] == f"{made}\n", "noted first"
                self.folders.add(made)
            case ["rm", *_, removed] if removed in self.folders:
                self.folders.discard(removed)
            case ["rm", *_, removed] if self.files.pop(Path(removed), None):
                assert f"/scratch/{Path(removed).name}" not in self.folders, "the note goes last"
            case ["rm", *_]:
                pass  # another client has removed what they shared
            case ["bash", *_, "perjoule-guarded", "/scratch"]:
                return int(self.unsafe), ""
            case ["sh", "-c", said] if said.endswith("command -v zinject"):
                return 1 if self.name == "client-2" else 0, ""
            case ["findmnt", *_]:
                mount = {"target": "/scratch", "source": self.mount, "fstype": self.kind}
                return 0, json.dumps({"filesystems": [mount]})
            case _:
                raise AssertionError(words)
        return 0, ""


def test_clients_that_see_the_same_file_system_share_a_folder_whose_files_lie_nobody_knows_where() -> None:
    lustre = {"/scratch"}
    clients = tuple(Client(f"client-{n}", lustre, "10.0.0.1@tcp:/lustre") for n in (1, 2, 3))
    with Directory(path=Path("/scratch")).mount(Hosts(clients)) as mounted:
        (made,) = {*mounted.directories.values()}
        assert (made.parent, made.name.startswith("perjoule-")) == (Path("/scratch"), True)
        assert list(mounted.directories) == ["client-1", "client-2", "client-3"]
        assert (mounted.data_hosts, mounted.locate(made / "file")) == ((), ())
    assert lustre == {"/scratch"}
    assert not any(client.files for client in clients), "no note stays"


def test_a_folder_that_is_not_removed_at_the_end_is_told_and_its_note_stays() -> None:
    class Stuck(Client):
        def run(self, argv: Sequence[str | Path], *, check: bool = True, **_: Any) -> Completed:
            if argv[0] == "rm":
                raise WorkloadError("rm: not empty", where=self.name)
            return super().run(argv, check=check)

    client = Stuck("client-1", {"/scratch"}, "/dev/sda1")
    with Directory(path=Path("/scratch")).mount(Hosts((client,))) as mounted:
        (made,) = mounted.directories.values()
    (sentence,) = able(mounted, OfOthers).unremoved
    assert sentence.startswith(
        f"client-1: {made} on client-1 could not be removed: rm: not empty; the next run"
    )
    assert client.files


def test_clients_with_disks_of_their_own_at_the_same_path_get_a_folder_each() -> None:
    disks = [{"/scratch"}, {"/scratch"}]
    clients = tuple(Client(f"client-{n}", disk, "/dev/sda1") for n, disk in enumerate(disks, 1))
    with Directory(path=Path("/scratch")).mount(Hosts(clients)) as mounted:
        first, second = mounted.directories.values()
        assert (str(first) in disks[0], str(second) in disks[1], first != second) == (True, True, True)
        assert mounted.data_hosts == ("client-1", "client-2")
        assert mounted.locate(first / "file") == ("client-1",)
    assert disks == [{"/scratch"}, {"/scratch"}]


@pytest.mark.parametrize("state", ["65534 41ff", "0 a1ff", "0 41ff"])
def test_a_folder_that_another_user_has_made_under_the_first_clients_name_is_not_used(state: str) -> None:
    """Names in a folder that all may write to are seen by all, on the first client as on the second."""

    class WithAnother(Client):
        def answers(self, words: Sequence[str]) -> tuple[int, str]:
            if words[0] == "stat":
                self.folders.add(words[-1])
            return super().answers(words)

    disks = [{"/scratch"}, {"/scratch"}]
    clients = (Client("client-1", disks[0], "/dev/sda1"), WithAnother("client-2", disks[1], "/dev/sda1"))
    clients[1].state = state
    with (
        pytest.raises(MachineError, match=rf"^client-2: /scratch/perjoule-\w+ is another folder .*{state}"),
        Directory(path=Path("/scratch")).mount(Hosts(clients)),
    ):
        pass
    assert disks[0] == {"/scratch"}
    assert len(disks[1]) == 2, "what another user has made stays"


def test_a_file_in_a_local_folder_that_clients_share_lies_on_all_of_them() -> None:
    disk = {"/scratch"}
    clients = tuple(Client(f"client-{n}", disk, "/dev/sda1") for n in (1, 2))
    with Directory(path=Path("/scratch")).mount(Hosts(clients)) as mounted:
        assert mounted.locate(mounted.directories["client-1"] / "file") == ("client-1", "client-2")


@pytest.mark.parametrize("number", [1, 2])
def test_nothing_is_made_where_root_would_write_to_what_another_user_can_put_there(number: int) -> None:
    disk = {"/scratch"}
    clients = tuple(Client(f"client-{n}", disk, "/dev/sda1") for n in (1, 2))
    clients[number - 1].unsafe = True
    with (
        pytest.raises(
            MachineError, match=rf"client-{number}: root can't write safely: .*; run as that user; where"
        ),
        Directory(path=Path("/scratch")).mount(Hosts(clients)),
    ):
        pass
    assert disk == {"/scratch"}
    assert not any(client.files for client in clients)


def test_what_was_made_is_removed_if_the_next_client_has_no_such_folder() -> None:
    disks = [{"/scratch"}, set[str]()]
    clients = tuple(Client(f"client-{n}", disk, "/dev/sda1") for n, disk in enumerate(disks, 1))
    with (
        pytest.raises(MachineError, match="client-2: /scratch is not a folder"),
        Directory(path=Path("/scratch")).mount(Hosts(clients)),
    ):
        pass
    assert disks == [{"/scratch"}, set()]


@pytest.mark.parametrize(
    ("kind", "doubts"),
    [
        ("gpfs", ["the pagepool of GPFS was not dropped"]),
        ("fuse.sshfs", ["what fuse.sshfs may cache in its own memory was not dropped"]),
        ("lustre", []),
        ("tmpfs", ["the memory in which all data lie (tmpfs, no disk) was not dropped"]),
        ("zfs", ["what ZFS caches (ARC; zinject, of the package zfs-test, would empty it) was not dropped"]),
    ],
)
def test_what_a_mounted_file_system_caches_outside_of_the_page_cache_is_a_doubt(
    kind: str, doubts: list[str]
) -> None:
    folders = {"/scratch"}
    clients = tuple(Client(f"client-{n}", folders, "scale", kind) for n in (1, 2))
    with Directory(path=Path("/scratch")).mount(Hosts(clients)) as mounted:
        found = cold(clients, mounted)
    assert (found, {doubt.kind for doubt in found}) == (doubts, {CACHE} if doubts else set())


@pytest.mark.parametrize(
    ("source", "kind", "unwatched"),
    [
        ("ceph-fuse", "fuse.ceph-fuse", "fuse.ceph-fuse"),
        ("10.0.0.1:6789:/", "ceph", "ceph"),
        ("10.0.0.1:/gv0", "fuse.glusterfs", "fuse.glusterfs"),
        ("mfs#10.0.0.1:9421", "fuse", "fuse (mfs#10.0.0.1:9421)"),
        ("10.0.0.1@tcp:/scratch", "lustre", "lustre"),
        ("beegfs_nodev", "beegfs", "beegfs"),
        ("/dev/sda1", "ext4", ""),
    ],
)
def test_a_mount_of_a_cluster_that_could_be_asked_is_unwatched(
    source: str, kind: str, unwatched: str
) -> None:
    client = Client("client-1", {"/scratch"}, source, kind)
    with Directory(path=Path("/scratch")).mount(Hosts((client,))) as mounted:
        assert isinstance(mounted, OfOthers)
        assert mounted.unwatched == unwatched


def test_a_path_is_that_of_one_cluster() -> None:
    tables = {"moosefs": {}, "glusterfs": {"server": "10.0.0.1", "volume": "gv0"}}
    with pytest.raises(ValueError, match="ceph, glusterfs, moosefs, lustre and beegfs exclude each other"):
        build("filesystems", "directory", {"path": "/scratch", **tables})
