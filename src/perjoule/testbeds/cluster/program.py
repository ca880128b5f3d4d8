"""A program that keeps running on a host."""

import contextlib
import io
import signal
import tarfile
import threading
from collections.abc import Sequence
from pathlib import Path

from perjoule.model.errors import WorkloadError
from perjoule.testbeds import _process
from perjoule.testbeds.cluster.connection import SSH_FAILED, Line

_MOST_SENT_BYTES = 1024**2


def signalled(code: int) -> int:
    """Return a shell's exit code as ours: negative for the signal that ended the program.

    ssh's own 255 is SIGKILL here: ssh returns it when the connection is lost, or when we killed the program.
    """
    return -signal.SIGKILL if code == SSH_FAILED else 128 - code if 128 < code < 128 + 65 else code


class Room:
    """A folder on this machine in which a program on a host works."""

    def __init__(self, line: Line, here: Path, there: Path) -> None:
        self.there = there
        self._line, self._here = line, here
        if any(path.is_fifo() for path in here.iterdir()):
            what = "a load that is started through a pipe does not work on a host over SSH"
            raise WorkloadError(what, where=line.keeper.login.name, next="use another workload, or testbed virtual")
        self._sent = {path.name: path for path in here.iterdir() if path.is_file() and path.stat().st_size <= _MOST_SENT_BYTES}
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for name, path in self._sent.items():
                tar.addfile(info := _entry(name, data := path.read_bytes()), io.BytesIO(data))
                assert info.size == len(data)
        line.send(archive.getvalue(), there)

    def back(self) -> None:
        """Fetch new files. Raises WorkloadError, TransientError."""
        with tarfile.open(fileobj=io.BytesIO(self._line.fetch(self.there))) as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if member.isfile() and "/" not in name and name not in self._sent and (file := tar.extractfile(member)):
                    (self._here / name).write_bytes(file.read())


def _entry(name: str, data: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    return info


class SshProgram(_process.Program):
    """A program that keeps running on a host."""

    def __init__(
        self,
        line: Line,
        number: int,
        lead: _process.Lead,
        words: Sequence[str],
        *,
        log: Path,
        text: str | None,
        room: Room | None,
    ) -> None:
        super().__init__(lead, words, where=line.keeper.login.name, log=log, env=None, text=text)
        self._line, self._number, self._room = line, number, room
        self._ended = threading.Lock()

    def _end(self) -> None:
        with self._ended:
            if self._room:
                room, self._room = self._room, None
                room.back()

    @property
    def returncode(self) -> int | None:
        """Its exit code (negative: the signal that ended it), or None while it runs."""
        if (code := super().returncode) is None:
            return None
        self._end()
        return signalled(code)

    def wait(self, *, timeout_s: float) -> int:
        """Wait for its end and return the exit code. Raises TimeoutError."""
        super().wait(timeout_s=timeout_s)
        return self.returncode or 0

    def stop(self, *, timeout_s: float = 2.0) -> None:
        """Send SIGTERM to the program; after the time limit, SIGKILL to it and all its children."""
        if super().returncode is None:
            self._line.ask(self._number)
            with contextlib.suppress(TimeoutError):
                super().wait(timeout_s=timeout_s)
        if super().returncode is None:
            self._line.end(self._number)
            self._child.kill()
        with contextlib.suppress(WorkloadError):
            self._end()
