"""FUSE daemons that wait for themselves: SIGKILL does not end them, aborting their connection does; nobody
else's is touched.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from perjoule.drivers.protocols import Host
from perjoule.model import Json
from perjoule.testbeds.virtual import Virtual, clean
from typed import as_written

pytestmark = pytest.mark.live

# It reads a file of its own mount, and never answers itself. What it was killed amid, the kernel waits for.
DAEMON = """
import stat, sys, threading
from mfusepy import FUSE, Operations
place, flag = sys.argv[1:3]

class Own(Operations):
    use_ns = True
    def init(self, path):
        if flag:
            threading.Thread(target=lambda: open(f"{place}/file").read(), daemon=True).start()
    def getattr(self, path, fh=None):
        mode = stat.S_IFDIR | 0o755 if path == "/" else stat.S_IFREG | 0o644
        return {"st_mode": mode, "st_nlink": 1, "st_size": 4}
    def read(self, path, size, offset, fh):
        if flag:
            open(flag, "w").close()
            threading.Event().wait()
        return b"data"[offset:offset + size]

FUSE(Own(), place, foreground=True)
"""
OWNER = """
import sys
from perjoule.testbeds.virtual import Virtual
with Virtual(disk="directory", servers=1, cpu_cap=False).hold(1) as hosts:
    host = hosts.clients[0]
    place, flag = host.directory / "mnt", host.directory / "stuck"
    place.mkdir()
    host.spawn([sys.executable, "-c", sys.argv[1], place, flag], log=host.directory / "log")
    while not flag.exists():
        pass
    print(host.directory, flush=True)
    sys.stdin.read()
"""


def bed(**options: Json) -> Virtual:
    return as_written(Virtual, **{"servers": 1, "cpu_cap": False, "disk": "directory", **options})


def wait_for(path: Path) -> None:
    deadline_s = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline_s, f"no {path}"
        time.sleep(0.01)


def stuck(host: Host) -> Path:
    """Mount a file system whose daemon waits for itself; returns where."""
    place, flag = host.directory / "mnt", host.directory / "stuck"
    place.mkdir()
    host.spawn([sys.executable, "-c", DAEMON, place, flag], log=host.directory / "log")
    wait_for(flag)
    return place


def processes(word: str) -> list[str]:
    """What the kernel has of processes with a word in their arguments, or of any of a run's: their states."""
    said = subprocess.run(["ps", "-eo", "stat,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if word in line]


def groups(run: str) -> list[Path]:
    return list(Path("/sys/fs/cgroup").glob(f"**/perjoule-{run}"))


@pytest.fixture
def strangers(tmp_path: Path) -> Iterator[Path]:
    """A FUSE mount of this machine's user."""
    place = tmp_path / "mnt"
    place.mkdir()
    daemon = subprocess.Popen([sys.executable, "-c", DAEMON, str(place), ""])
    try:
        wait_for(place / "file")
        yield place
    finally:
        subprocess.run(["umount", "--force", "--lazy", str(place)], check=False)
        daemon.wait(10)


@pytest.mark.parametrize("lazily", [False, True])
def test_a_daemon_that_waits_for_its_own_mount_ends_with_its_host(strangers: Path, lazily: bool) -> None:
    with bed().hold(1) as hosts:
        client = hosts.clients[0]
        run = client.directory.parent.name.removeprefix("pj-")
        place = stuck(client)
        if lazily:
            client.run(["umount", "--lazy", place], timeout_s=10)
    assert groups(run) == []
    assert processes(f"pj-{run}") == []
    assert not client.directory.exists()
    assert (strangers / "file").read_bytes() == b"data"


@pytest.mark.alone  # any other run would clean what it leaves
def test_it_is_freed_after_its_perjoule_was_killed(strangers: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", OWNER, DAEMON], stdin=-1, stdout=-1, text=True)
    assert process.stdout is not None
    folder = Path(process.stdout.readline().strip()).parent
    run = folder.name.removeprefix("pj-")
    process.kill()
    process.communicate()
    assert groups(run)
    assert any(run in words for words in clean())
    assert groups(run) == []
    assert not folder.exists()
    assert (strangers / "file").read_bytes() == b"data"
