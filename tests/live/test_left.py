"""What `benchmarks/sigkill.py` finds on the machine after its runs: all that was made in their name, and
nothing of others.
"""

import os
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from benchmarks._left import Machine, told

pytestmark = pytest.mark.live


@contextmanager
def traces(place: Path, run: str) -> Generator[int]:
    """Make what a run could leave: namespaces with a process without its environment, a loop, mounts, a
    cgroup.
    """
    (place / "work" / f"pj-{run}").mkdir(parents=True)
    (place / "image").write_bytes(bytes(2**20))
    (place / "memory").mkdir()
    (place / "bound").mkdir()

    def ran(*argv: str | Path) -> str:
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()

    with ExitStack() as stack:

        def made(undone: list[str | Path], *argv: str | Path) -> None:
            ran(*argv)
            stack.callback(ran, *undone)

        loop = ran("losetup", "--find", "--show", place / "image")
        stack.callback(ran, "losetup", "--detach", loop)
        made(["umount", place / "memory"], "mount", "-t", "tmpfs", "none", place / "memory")
        made(["umount", place / "bound"], "mount", "--bind", place / "work", place / "bound")
        group = (
            next(path for path in (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")) if path.is_dir())
            / f"perjoule-{run}"
        )
        group.mkdir()
        stack.callback(group.rmdir)
        inside = "mount -t tmpfs none /mnt; echo ready; exec env --ignore-environment sleep 600"
        argv = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inside]
        env = {**os.environ, "PLACE": f"{place}/"}
        process = stack.enter_context(subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, text=True))
        stack.callback(process.kill)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid


@contextmanager
def folder(tmp: Callable[[str], Path], name: str, run: str) -> Generator[tuple[Machine, int]]:
    place = tmp(name)
    machine = Machine(place)
    with traces(place, run) as number:
        machine.look()
        yield machine, number


@pytest.mark.alone  # any other run would clean what it leaves
def test_all_that_a_run_made_is_found_by_kind_and_nothing_of_another(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with (
        folder(tmp_path_factory.mktemp, "ours", "1eaf0001") as (machine, process),
        folder(tmp_path_factory.mktemp, "others", "1eaf0002") as (_, other),
    ):
        left = machine.left()
        counts = Counter(kind for kind, _ in left)
        assert counts == {
            "processes": 2,
            "namespaces": 3,
            "mounts": 1,
            "tmpfs": 2,
            "loops": 1,
            "cgroups": 1,
            "files": 1,
        }
        assert not any(
            "others" in what or "1eaf0002" in what or str(other) in what.split() for _, what in left
        )
        assert str(process) in {what.split()[0] for kind, what in left if kind == "processes"}
    for path in (machine.place / "work").glob("*"):
        path.rmdir()
    assert machine.left(within_s=10) == []


def test_a_daemon_that_outlives_what_started_it_is_still_known(tmp_path: Path) -> None:
    """It has neither the environment nor the command of its run, but was seen in namespaces of it."""
    inside = "(env --ignore-environment sleep 600 > /dev/null & echo $!); read line"
    argv = ["unshare", "--net", "sh", "-c", inside]
    env = {**os.environ, "PLACE": f"{tmp_path}/"}
    machine = Machine(tmp_path)
    with subprocess.Popen(argv, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        daemon = int(process.stdout.readline())
        while Path(f"/proc/{daemon}/comm").read_text() != "sleep\n":
            time.sleep(0.01)
        machine.look()
        process.communicate("over\n")
    try:
        assert Counter(kind for kind, _ in machine.left()) == {"processes": 1, "namespaces": 1}
    finally:
        os.kill(daemon, 9)


def test_each_kind_is_counted_even_if_there_is_nothing() -> None:
    assert told(Counter({"loops": 2})) == (
        "0 processes, 0 namespaces, 0 mounts, 0 tmpfs, 2 loops, 0 device-mapper, 0 cgroups, 0 links, 0 "
        "files, 0 power settings"
    )
