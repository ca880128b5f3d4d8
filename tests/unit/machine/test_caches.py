"""How ZFS's caches are dropped: the script for it, with files and programs that stand in for ZFS's."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from perjoule.machine.caches import DROP_ZFS

OWN = 2**64 - 1  # ZFS's own limit of buffers: none
PROGRAMS = {
    "zpool": 'echo "zpool $*"',
    "zinject": 'echo "zinject $* with $(cat {limit})"',
    "lets go": 'if [ $(cat {limit}) = 0 ]; then echo "cache_size_bytes                4    4096" > {stats}; fi',
    "keeps": ":",
    "is ended": "kill -TERM $PPID",
}


class Zfs:
    """ZFS on a machine, whose buffers go (or not) while the script waits."""

    def __init__(self, folder: Path, waits: str, limit: int) -> None:
        self.limit = folder / "sys/module/zfs/parameters/dbuf_cache_max_bytes"
        self.stats = folder / "proc/spl/kstat/zfs/dbufstats"
        for file in (self.limit, self.stats):
            file.parent.mkdir(parents=True)
        self.limit.write_text(f"{limit}\n")
        self.stats.write_text(
            "name                            type data\ncache_count 4 9\ncache_size_bytes                4  "
            "  9000000\n"
        )
        self.programs = folder / "bin"
        self.programs.mkdir()
        for name, program in (("zpool", "zpool"), ("zinject", "zinject"), ("sleep", waits)):
            text = PROGRAMS[program].format(
                limit=self.limit.relative_to(folder), stats=self.stats.relative_to(folder)
            )
            (self.programs / name).write_text(f"#!/bin/sh\n{text}\n")
            (self.programs / name).chmod(0o755)
        self.script = DROP_ZFS.replace("/sys/", "sys/").replace("/proc/", "proc/")
        self.folder = folder

    def drop(self) -> "subprocess.CompletedProcess[str]":
        env = {**os.environ, "PATH": f"{self.programs}:{os.environ['PATH']}"}
        return subprocess.run(
            ["sh", "-c", self.script],
            cwd=self.folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )


@pytest.mark.parametrize(("limit", "after"), [(OWN, OWN), (5_000_000, 5_000_000), (0, OWN)])
def test_buffers_go_before_the_arc_is_emptied_and_their_limit_comes_back(
    limit: int, after: int, tmp_path: Path
) -> None:
    """A limit of 0 is what a script that was killed has left."""
    zfs = Zfs(tmp_path, "lets go", limit)
    done = zfs.drop()
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "zpool sync\nzinject -a with 0\n"
    assert int(zfs.limit.read_text()) == after


def test_buffers_that_stay_are_an_error(tmp_path: Path) -> None:
    zfs = Zfs(tmp_path, "keeps", OWN)
    done = zfs.drop()
    assert (done.returncode, done.stderr) == (1, "ZFS keeps 9000000 bytes of buffers\n")
    assert "zinject" not in done.stdout
    assert int(zfs.limit.read_text()) == OWN


def test_the_limit_comes_back_if_the_script_is_ended(tmp_path: Path) -> None:
    zfs = Zfs(tmp_path, "is ended", OWN)
    assert "zinject" not in zfs.drop().stdout
    assert int(zfs.limit.read_text()) == OWN


@pytest.mark.skipif(shutil.which("zinject") is not None, reason="zinject is installed")
def test_without_zinject_nothing_is_touched(tmp_path: Path) -> None:
    zfs = Zfs(tmp_path, "lets go", OWN)
    (zfs.programs / "zinject").unlink()
    assert (zfs.drop().returncode, zfs.drop().stdout) == (0, "")
