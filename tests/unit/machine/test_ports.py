"""Ports that servers listen on: what a driver's description says of them, and who is met there before a
deployment.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from perjoule import campaign
from perjoule.drivers.protocols import Completed, Hosts
from perjoule.filesystems.moosefs import MooseFS
from perjoule.machine.ports import LISTENERS, listeners
from perjoule.model.errors import MachineError, PortTaken
from scripted import ScriptedHost
from sshd import until


def test_the_description_of_a_file_system_has_its_ports() -> None:
    for kind, places in {
        "moosefs": ["metadata 9419 mfsmaster, 9420 mfsmaster, 9421 mfsmaster", "storage 9422 mfschunkserver"],
        "glusterfs": ["bricks 24007 glusterd, 49152-60999 glusterfsd"],
        "local": [],
    }.items():
        lines = [line.strip() for line in campaign.describe(kind)]
        assert [line for line in lines if line.startswith("ports:")] == [
            f"ports: {place}" for place in places
        ]


class Taken(ScriptedHost):
    """A host of a network that others share, on which somebody listens on a port."""

    def __init__(self, name: str, said: str) -> None:
        super().__init__(name)
        self.mark, self.said = "PERJOULE_HOST=run-host", said

    def run(self, argv: Sequence[str | Path], **_: object) -> Completed:
        words = [str(word) for word in argv]
        self.ran.append(words)
        said = self.said if "perjoule-ports" in words else "mfs" if words[0] == "stat" else ""
        return Completed(tuple(words), 0, said, "")


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ("9420 812 mfsmaster theirs", r"port 9420 is taken by mfsmaster \(process 812\)"),
        ("9421 0 ? theirs", "port 9421 is taken by its kernel or another user's program"),
        # of an earlier deployment: it still runs
        ("9421 77 mfsmaster ours", r"port 9421 is taken by mfsmaster \(process 77\)"),
    ],
)
def test_a_port_that_was_taken_after_the_checks_stops_a_deployment_before_it_touches_anything(
    said: str, what: str
) -> None:
    hosts = Hosts((Taken("storage-1", said), ScriptedHost("client-1")))
    with pytest.raises(PortTaken, match=f"storage-1: {what}"), MooseFS().serve(hosts):
        pass
    (storage, _) = hosts.all
    assert isinstance(storage, Taken)
    assert [words[-5:] for words in storage.ran if "perjoule-ports" in words] == [
        [storage.mark, "9419", "9420", "9421", "9422"]
    ]
    assert not [words for words in storage.ran if words[0] not in ("bash", "stat")]


@pytest.mark.parametrize(
    "said", ["9420 812 mfs master theirs", "9420 812", "x 812 a theirs", f"{'9' * 5000} 1 a ours"]
)
def test_a_list_of_listeners_in_another_form_is_a_sentence_about_the_host(said: str) -> None:
    with pytest.raises(MachineError, match="storage-1: what it says of who listens there has another form"):
        listeners(Taken("storage-1", said), [9420])


def test_a_listener_whose_name_is_that_of_a_table_is_one_listener() -> None:
    """Any user names a process, also with tabs and line feeds."""
    script = (
        "import socket; open('/proc/self/comm', 'w').write('a\\tb 9\\n1 2'); s = socket.create_server(('127.0.0.1', 0)); "
        "print(s.getsockname()[1], flush=True); input()"
    )
    argv = [sys.executable, "-I", "-c", script]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        port = running.stdout.readline().strip()
        look = ["bash", "--norc", "-c", f'{LISTENERS} listeners "$1"', "look", port]
        printed = subprocess.run(look, capture_output=True, text=True, check=True).stdout
        running.kill()
    assert printed == f"{port} {running.pid} a_b_9\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts programs of other users")
@pytest.mark.parametrize(
    ("uid", "ours"), [(0, True), (65534, True), (64, True), (64045, True), (4711, False), (100_000, False)]
)
def test_a_mark_that_another_user_has_written_makes_no_daemon_ours(uid: int, ours: bool) -> None:
    """Else it would be taken for a dead run's, or spoken to by the next."""
    name = f"pj{os.getpid()}x{uid}"
    with tempfile.TemporaryDirectory(prefix="ports-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        daemon = shutil.copy("/bin/sleep", Path(folder, name))
        argv = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", daemon, "600"]
        env = {**os.environ, "PERJOULE_HOST": "of-another-run"}
        with subprocess.Popen(argv, env=env, start_new_session=True) as running:
            comm = Path(f"/proc/{running.pid}/comm")
            until(lambda: comm.read_text().strip() == name)
            look = ["bash", "--norc", "-c", f'{LISTENERS} others "$1" | strange', "look", name]
            printed = subprocess.run(look, capture_output=True, text=True, check=True).stdout
            running.kill()
    assert printed == ("" if ours else f"{running.pid} {name}\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts programs of other users")
def test_a_mark_for_a_program_that_is_root_whoever_calls_it_makes_no_session_ours() -> None:
    """As `su` waits for a password, beside a daemon of theirs in the same session."""
    name = f"pj{os.getpid()}s"
    with tempfile.TemporaryDirectory(prefix="ports-", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        daemon, setuid = shutil.copy("/bin/sleep", Path(folder, name)), shutil.copy("/bin/sleep", folder)
        Path(setuid).chmod(0o4755)
        script = '"$1" 600 & PERJOULE_HOST=of-another-run "$2" 601'
        argv = [
            "setpriv",
            "--reuid=4711",
            "--regid=4711",
            "--clear-groups",
            "sh",
            "-c",
            script,
            "sh",
            daemon,
            setuid,
        ]
        with subprocess.Popen(argv, start_new_session=True) as running:
            children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
            until(lambda: [comm(pid) for pid in children.read_text().split()] == [name, "sleep"])
            look = ["bash", "--norc", "-c", f'{LISTENERS} others "$1" | strange', "look", name]
            printed = subprocess.run(look, capture_output=True, text=True, check=True).stdout
            pid = children.read_text().split()[0]
            os.killpg(running.pid, 9)
    assert printed == f"{pid} {name}\n"


def comm(pid: str) -> str:
    return Path("/proc", pid, "comm").read_text().strip()


@pytest.mark.parametrize("mark", ["PERJOULE_HOST=of-another-run", ""])
def test_a_daemon_of_a_run_that_wrote_over_its_environment_is_not_a_sites_own(
    mark: str, tmp_path: Path
) -> None:
    """As the data writer of a MooseFS master does, which lives on for a while after a connection is lost."""
    name = f"pj{os.getpid()}"  # of no other process on this machine
    daemon = tmp_path / name
    daemon.write_bytes(Path("/bin/sleep").read_bytes())
    daemon.chmod(0o755)
    script = (
        'env -i "$1" 600 & until read -r comm < /proc/$!/comm && [ "$comm" = "${1##*/}" ]; do :; done; '
        "echo; wait"
    )
    argv = ["env", *([mark] if mark else []), "bash", "-c", script, "bash", str(daemon)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as running:
        assert running.stdout
        running.stdout.readline()
        look = ["bash", "--norc", "-c", f'{LISTENERS} others "$1" | strange', "look", name]
        printed = subprocess.run(look, capture_output=True, text=True, check=True).stdout
        os.killpg(running.pid, 9)
    assert bool(printed) is not bool(mark), printed
