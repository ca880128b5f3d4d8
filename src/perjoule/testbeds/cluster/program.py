"""A program that keeps running on a host."""

import contextlib
import io
import signal
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from perjoule.model.errors import HostLost, WorkloadError
from perjoule.testbeds import _process
from perjoule.testbeds.cluster import archive
from perjoule.testbeds.cluster.connection import KeeperLine
from perjoule.testbeds.cluster.openssh import SSH_FAILED

LOOK_S = 1.0  # between looks for hosts that were lost, while a program is awaited


def signalled(code: int) -> int:
    """Return a shell's exit code as ours: negative for the signal that ended the program."""
    return 128 - code if 128 < code < 128 + 65 else code


class Room:
    """A folder on a host that stands for one of this machine's."""

    def __init__(self, line: KeeperLine, here: Path, remote: Path, files: Sequence[str]) -> None:
        self._line, self._here, self._there, self._sent = line, here, remote, files
        sent = io.BytesIO()
        with tarfile.open(fileobj=sent, mode="w") as tar:
            for name in files:
                content = (here / name).read_bytes()
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        line.send(sent.getvalue(), remote)

    def back(self) -> None:
        """Bring what is new; then the folder on the host goes. Raises WorkloadError, TransientError."""
        try:
            with tempfile.TemporaryFile(dir=self._here) as copy:  # without a name, so nobody has to remove it
                self._line.fetch(self._there, copy)
                for name, content in archive.files(copy):
                    if name not in self._sent:
                        archive.write(content, self._own(name))
        except tarfile.TarError as error:
            problem, host_name = (
                f"what a program wrote did not come back whole ({error})",
                self._line.keeper.login.name,
            )
            raise WorkloadError(
                problem, where=host_name, next=f"it is in {self._there} on the host until the run ends"
            ) from None
        self._line.remove(self._there)

    def _own(self, name: str) -> Path:
        """Return the path of a file that may come from this host: what we or other hosts wrote stays as it is.

        Raises tarfile.ReadError.
        """
        path = self._here / name
        if path not in self._line.brought:
            try:
                path.open("xb").close()  # another host's may come at this moment
            except FileExistsError:
                raise tarfile.ReadError(f"a file called {name!r}, which is not its own") from None
            self._line.brought.add(path)
        return path


class SshProgram(_process.Program):
    """A program that keeps running on a host."""

    def __init__(
        self,
        line: KeeperLine,
        number: int,
        lead: _process.Lead,
        argv: Sequence[str | Path],
        *,
        log: Path,
        text: str | None,
    ) -> None:
        super().__init__(lead, argv, where=line.keeper.login.name, log=log, env=None, text=text)
        self._line, self._number = line, number

    @property
    def returncode(self) -> int | None:
        """Its exit code (negative: the signal that ended it), or None while it runs."""
        code = super().returncode
        if code == SSH_FAILED:  # the connection was lost, or we killed the program
            return -signal.SIGKILL
        return None if code is None else signalled(code)

    def wait(self, *, timeout_s: float) -> int:
        """Wait for its end and return the exit code.

        Without one of the run's hosts it may hang forever: it loads them, or they serve its files.

        Raises:
            TimeoutError: it has not ended by then.
            TransientError: a host of the run was lost.
        """
        until_s = time.monotonic() + timeout_s
        while not self._child.ended(min(LOOK_S, until_s - time.monotonic())):
            self._line.require_all()
            if time.monotonic() >= until_s:
                raise TimeoutError
        return self.returncode or 0

    def stop(self, *, timeout_s: float = 2.0) -> None:
        """Send SIGTERM to the program; after the time limit, SIGKILL to it and all its children."""
        if super().returncode is None:
            self._line.keeper.ask(self._number)
            with contextlib.suppress(TimeoutError):
                super().wait(timeout_s=timeout_s)
        if super().returncode is None:
            self._line.keeper.end(self._number)
            self._child.kill()

    def kill(self) -> None:
        """Send SIGKILL to it and all that it started, on the host.

        Raises TransientError: it is not known whether they ended.
        """
        ended = self._line.keeper.end(self._number)
        self._child.kill()
        if not ended:
            raise HostLost("it is not known whether a program has ended", where=self._line.keeper.login.name)
