"""Files that are put on a host, where daemons' users own folders among ours and may have put links there."""

import os
import pwd
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from perjoule.drivers.protocols import Host
from perjoule.model.errors import WorkloadError
from perjoule.testbeds.cluster.host import SshHost
from perjoule.testbeds.cluster.keeping.keeper import Keeper
from perjoule.testbeds.cluster.openssh import Ssh
from perjoule.testbeds.local import LocalHost

RUN = "1a2b3c4d"
OWNER = pwd.getpwuid(os.geteuid()).pw_name


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["local", "cluster"])
def host(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A host of each kind that is this machine."""
    if request.param == "local":
        (tmp_path / "folder").mkdir()
        yield LocalHost(tmp_path / "folder")
        return
    monkeypatch.setattr(Ssh, "command", lambda _self, argv, **_ways: list(argv))
    keeper = Keeper(Ssh("h1", "here"), str(tmp_path / "work"))
    keeper.keep(RUN)
    yield SshHost("h1", "client", "here", None, tmp_path / f"work/cluster/{RUN}-h1", keeper, None)
    assert keeper.close()


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A file of somebody else's."""
    file = tmp_path / "theirs"
    file.write_text("untouched")
    file.chmod(0o600)
    return file


@pytest.mark.parametrize("owner", ["", OWNER])
def test_a_file_is_put_whole_with_its_mode_and_its_folders(host: Host, owner: str) -> None:
    path = host.directory / "a" / "b c" / "key"
    host.put(b"\x00one\n", path, mode=0o640, owner=owner)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"\x00one\n", 0o640)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)] == [
        0o755,
        0o755,
    ]
    host.put("two", path)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("two", 0o644)
    assert names(path.parent) == ["key"]


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_daemons_reach_a_file_whatever_the_umask_is(host: Host, umask: int) -> None:
    before = os.umask(umask)
    try:
        host.put("conf", host.directory / "a" / "b" / "conf")
    finally:
        os.umask(before)
    below = [host.directory / part for part in ("a", "a/b", "a/b/conf")]
    assert [stat.S_IMODE(path.stat().st_mode) for path in below] == [0o755, 0o755, 0o644]


@pytest.mark.parametrize("owner", ["", OWNER])
def test_a_link_in_the_place_of_a_file_is_replaced_and_never_followed(
    host: Host, theirs: Path, owner: str
) -> None:
    """As the user of a daemon can put it into the daemon's own folder."""
    path = host.directory / "keyring"
    path.symlink_to(theirs)
    host.put("secret", path, mode=0o644, owner=owner)
    assert (theirs.read_text(), stat.S_IMODE(theirs.stat().st_mode)) == ("untouched", 0o600)
    assert not path.is_symlink()
    assert path.read_text() == "secret"


@pytest.mark.parametrize("deeper", ["", "new/"])
def test_a_link_in_the_place_of_a_folder_is_refused_and_nothing_is_made_beyond_it(
    host: Host, tmp_path: Path, deeper: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (host.directory / "osd").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(WorkloadError, match=r"can't write .*/osd/"):
        host.put("secret", host.directory / "osd" / f"{deeper}keyring", owner=OWNER)
    assert names(tmp_path / "elsewhere") == []


def test_a_path_of_the_users_own_may_lead_through_links(host: Host, tmp_path: Path) -> None:
    (tmp_path / "lustre").mkdir()
    (tmp_path / "mnt").symlink_to(tmp_path / "lustre")
    host.put("", tmp_path / "mnt" / "mine" / ".user")
    assert names(tmp_path / "lustre" / "mine") == [".user"]


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone gives files to others")
def test_a_file_is_its_owners(host: Host, theirs: Path) -> None:
    nobody = pwd.getpwnam("nobody")
    path = host.directory / "ceph" / "keyring"
    host.put("", path.parent / ".made")
    os.chown(path.parent, nobody.pw_uid, nobody.pw_gid)
    path.symlink_to(theirs)
    host.put("secret", path, mode=0o600, owner="nobody")
    assert (path.stat().st_uid, path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (
        nobody.pw_uid,
        nobody.pw_gid,
        0o600,
    )
    assert (theirs.read_text(), theirs.stat().st_uid) == ("untouched", 0)


def test_an_owner_that_is_not_there_is_an_error_and_the_file_that_was_there_stays(host: Host) -> None:
    host.put("one", host.directory / "key")
    with pytest.raises(WorkloadError, match="can't write"):
        host.put("two", host.directory / "key", owner="no-such-user")
    assert (host.directory / "key").read_text() == "one"
    assert not [name for name in names(host.directory) if name.startswith(".")]


@pytest.mark.parametrize("obstacle", [Path.mkdir, lambda path: os.mkfifo(path)], ids=["folder", "pipe"])
def test_a_pipe_or_a_folder_in_the_place_is_never_waited_for(
    host: Host, obstacle: Callable[[Path], None]
) -> None:
    obstacle(path := host.directory / "key")
    if path.is_dir():
        with pytest.raises(WorkloadError, match="can't write"):
            host.put("secret", path)
    else:
        host.put("secret", path)
        assert path.read_text() == "secret"
