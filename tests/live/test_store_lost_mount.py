"""A results folder on a file system across a network whose server goes away while results are written."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from on_hosts import NEEDS_SSHFS, sshfs
from perjoule import store
from perjoule.model import Clock, Record, Spec, Trial
from perjoule.model.errors import MachineError
from perjoule.store.progress import Line, ProgressFile
from sshd import until

pytestmark = [pytest.mark.live, NEEDS_SSHFS]

SPEC = Spec("x", {}, "x")
WORDS = "its file system failed .*; check its disk, or the mount and its server, then run `perjoule resume`"


class Mount:
    """A folder on a server, which can go."""

    def __init__(self, folder: Path) -> None:
        (folder / "server").mkdir()
        self.place = folder / "mounted"
        self.place.mkdir()
        command, *words = map(str, sshfs(folder / "server", self.place))
        self._server = subprocess.Popen(
            [command, "-f", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(self.place.is_mount)

    def lose(self) -> None:
        self._server.kill()
        self._server.wait()

    def close(self) -> None:
        self.lose()
        subprocess.run(["umount", "--lazy", self.place], check=True)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    made = Mount(tmp_path)
    yield made
    made.close()


def keep(results: store.Results, number: int) -> None:
    with results.attempt(Trial(SPEC, SPEC, SPEC, (), 1, number)) as attempt:
        (attempt.raw / "output").write_bytes(b"x")
        attempt.keep(
            Record(attempt.trial, "valid", "", attempt.number, Clock(0, 0), 1.0, "", (), (), None, {}, {})
        )


def test_what_is_written_then_stops_with_one_sentence_that_names_the_folder(mount: Mount) -> None:
    results = store.create(mount.place / "results", "name = 'x'", "x")
    with ExitStack() as stack:
        stack.enter_context(results.hold())
        keep(results, 1)
        mount.lose()
        with pytest.raises(MachineError, match=f"^{results.folder}.*: {WORDS}$"):
            keep(results, 2)
    # and closing the lock says nothing else


def test_a_trial_under_way_stops_with_a_sentence_about_the_folder_and_not_about_its_removal(
    mount: Mount,
) -> None:
    results = store.create(mount.place / "results", "name = 'x'", "x")
    with (
        results.hold(),
        pytest.raises(MachineError, match=f"^{results.folder}/trials/.*: {WORDS}$"),
        results.attempt(Trial(SPEC, SPEC, SPEC, (), 1, 1)) as attempt,
    ):
        mount.lose()
        (attempt.raw / "output").write_bytes(b"x")


def test_watchers_lose_their_view_and_nothing_else_fails(mount: Mount) -> None:
    file = ProgressFile(mount.place)
    file.append(Line(note="one"))
    mount.lose()
    for _ in range(3):
        file.append(Line(note="two"))
    file.close()
    file.append(Line(note="three"))
