"""Hosts that share a machine or a work folder with each other or with the controller: each removes what it
made.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from perjoule.machine import removal
from perjoule.model.errors import MachineError
from perjoule.testbeds._process import children
from perjoule.testbeds.cluster import SshCluster, logs, notes, pool
from perjoule.testbeds.cluster.host import SshHost
from perjoule.testbeds.cluster.keeping.keeper import Keeper
from perjoule.testbeds.cluster.openssh import Ssh
from perjoule.testbeds.cluster.scripts import KEEP
from sshd import until
from typed import as_written

RUN = f"{os.getpid() % 10**8:08}"
HOSTS = (
    {"name": "h1", "address": "127.0.0.1", "role": "storage"},
    {"name": "h2", "address": "127.0.0.1", "role": "client"},
)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of hosts that are this machine, each behind a process that can be lost."""
    line = ["sh", "-c", 'exec 3<&0; setsid "$@" <&3 3<&- & wait $!', "sh"]
    monkeypatch.setattr(Ssh, "command", lambda _self, argv, **_ways: [*line, *argv])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield tmp_path / "work"
    pool.close()


def test_after_a_lost_connection_what_must_be_undone_stays_until_its_keeper_has_undone_it(
    work: Path, tmp_path: Path
) -> None:
    with as_written(SshCluster, hosts=HOSTS, work=str(work)).hold(1) as hosts:
        host = hosts.servers[0]
        assert isinstance(host, SshHost)
        host.put(f"touch {tmp_path}/undone\n", host.directory / "disk.end")
        elsewhere = tmp_path / "shared" / "perjoule-0123456789"
        elsewhere.mkdir(parents=True)
        host.put(f"{elsewhere}\n", host.directory / "made" / elsewhere.name)
        line = host._line.keeper._child
        (keeper,) = children(line.pid)
        pidfd = os.pidfd_open(keeper)
        signal.pidfd_send_signal(pidfd, signal.SIGSTOP)  # it comes to its end later than we do
        line.signal(signal.SIGKILL)
    there = host.directory.exists()
    signal.pidfd_send_signal(pidfd, signal.SIGCONT)
    os.close(pidfd)
    assert there
    until(lambda: not (work / "cluster").exists())
    assert ((tmp_path / "undone").exists(), elsewhere.exists()) == (True, False)
    assert notes.clean()[1] == []  # the note of the run is still there, as nobody knew whether all was gone
    assert list(work.iterdir()) == []


def test_logs_of_hosts_elsewhere_are_made_and_removed_with_the_folder_of_runs(tmp_path: Path) -> None:
    folder, root = tmp_path / "work/cluster/00000001-h1", tmp_path / "work/cluster"
    logs.make(folder)
    (folder / "daemon.log").touch()
    logs.make(tmp_path / "work/cluster/00000001-h2")
    logs.remove(folder)
    assert sorted(path.name for path in root.iterdir()) == ["00000001-h2", "perjoule-made-this"]
    logs.remove(folder)  # again: it is not there
    logs.remove(tmp_path / "work/cluster/00000001-h2")
    assert list((tmp_path / "work").iterdir()) == []


@pytest.mark.parametrize("name", ["perjoule-made-this", "power.end", "disk.end", "made"])
def test_the_controller_never_removes_what_a_keeper_has_made(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "work/cluster/00000001-h1"
    folder.mkdir(parents=True)
    removal.mark(folder.parent)
    (folder / name).touch()
    logs.make(folder)  # of a host that sees the same folder
    logs.remove(folder)
    assert [path.name for path in folder.iterdir()] == [name]


def test_a_folder_for_logs_that_others_could_change_is_refused(tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    work.chmod(0o777)
    with pytest.raises(
        MachineError, match=r"work: can't make a folder for logs: other users can write to it.*; set work"
    ):
        logs.make(work / "cluster" / "00000001-h1")
    assert list(work.iterdir()) == []
    work.chmod(0o755)
    (work / "cluster").mkdir()
    (work / "cluster/data").touch()
    with pytest.raises(MachineError, match="work/cluster is not ours"):
        logs.make(work / "cluster" / "00000001-h1")


def test_a_dead_run_whose_hosts_are_held_again_leaves_no_logs_here(work: Path) -> None:
    hosts = [(Ssh(name, "10.0.0.1"), str(work)) for name in ("n1", "n2")]
    with notes.noted("00000001", hosts):
        for login, _ in hosts:
            logs.make(work / "cluster" / f"00000001-{login.name}")
    notes.superseded(notes.dead(), hosts)
    assert list(work.iterdir()) == []


def test_what_a_dead_runs_keeper_cannot_remove_is_a_failure_of_down(work: Path) -> None:
    for folder in (work / "cluster", old := work / "cluster/00000001-h1"):
        folder.mkdir(parents=True)
        (folder / "perjoule-made-this").touch()
    (old / "disk.end").write_text("exit 1\n")
    with notes.noted("00000001", [(Ssh("h1", "here"), str(work))]):
        pass
    assert notes.clean() == ([], [f"h1: {old} can't be removed"])
    (old / "disk.end").write_text("exit 0\n")
    assert notes.clean() == ([f"{old} on h1"], [])
    assert list(work.iterdir()) == []


def test_one_machine_is_one_host_whatever_it_is_called_and_a_run_may_have_it_twice(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "perjoule.testbeds.cluster.keeping.keeper.KEEP", KEEP.replace("tries_count=20 ", "tries_count=2 ")
    )
    first, twin, other = (Keeper(Ssh(name, "here"), str(work)) for name in ("c1", "c2", "c3"))
    first.keep(RUN)
    with pytest.raises(MachineError, match="c3: another perjoule uses this host"):
        other.keep("00000002")
    assert not (work / "cluster/c3.lock").exists()  # who is refused leaves nothing
    twin.keep(RUN)
    third = Keeper(Ssh("c3", "here"), str(work))
    assert first.close()
    with pytest.raises(MachineError, match="c3: another perjoule uses this host"):
        third.keep("00000002")  # its second name still has it
    fourth = Keeper(Ssh("c3", "here"), str(work))
    fourth.keep("00000002", [RUN])  # of a dead run
    until(lambda: not twin.alive)
    assert not (work / f"cluster/{RUN}-c2").exists()
    assert fourth.close()
    twin.close()
    assert list(work.iterdir()) == []


def test_locks_of_a_killed_keeper_are_taken_over_and_go(work: Path) -> None:
    for start in ("0-0-0", "1-1-1"):
        first = Keeper(Ssh("c1", "here"), str(work))
        first.keep(RUN)
        (lock,) = [path for path in (work / "cluster").iterdir() if path.name.startswith("@")]
        (keeper,) = children(first._child.pid)
        os.kill(keeper, signal.SIGKILL)
        first.close()
        machine, _, rest = lock.name.partition(".")
        lock.rename(lock.with_name(f"{machine}.{start}-{rest}"))  # of another start of this machine
    last = Keeper(Ssh("c2", "here"), str(work))
    last.keep("00000002")
    names = sorted(path.name for path in (work / "cluster").iterdir())
    assert [name for name in names if name.startswith("@")] == [lock.name]
    assert last.close()
    assert sorted(path.name for path in (work / "cluster").iterdir()) == [
        f"{RUN}-c1",
        "c1.lock",
        "perjoule-made-this",
    ]
    last = Keeper(Ssh("c1", "here"), str(work))
    last.keep("00000002")
    assert (last.removed, last.left) == ([str(work / f"cluster/{RUN}-c1")], [])
    assert last.close()
    assert list(work.iterdir()) == []
