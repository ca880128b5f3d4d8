"""The connection to a host: programs under our mark, and archives of folders."""

import contextlib
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from perjoule.model.errors import TransientError, WorkloadError
from perjoule.testbeds import _process
from perjoule.testbeds.cluster.keeper import Keeper
from perjoule.testbeds.cluster.openssh import lost
from perjoule.testbeds.cluster.scripts import ASK, BASH, END, LAUNCH

SSH_FAILED = 255
_SHORT_S = 30.0
_LONG_S = 600.0


class Line:
    """The connection of a keeper, for one run's folder on the host."""

    def __init__(self, keeper: Keeper, folder: Path) -> None:
        self.keeper, self.folder = keeper, folder
        self._mark = folder.name
        self._count, self._lock = 0, threading.Lock()

    def number(self) -> int:
        """Return a new number for a program."""
        with self._lock:
            self._count += 1
            return self._count

    def lead(self, number: int, mode: str, env: Mapping[str, str] | None) -> _process.Lead:
        """Return the prefix with which the host starts a program under our mark."""
        marks = [f"PERJOULE_HOST={self._mark}", f"PERJOULE_PROGRAM={self._mark}/{number}"]
        launch = ["env", *marks, *BASH, LAUNCH, "perjoule-program", str(self.folder / "programs" / str(number)), mode]
        extra = ["env", *(f"{name}={value}" for name, value in env.items())] if env else []
        return lambda words: self.keeper.command([*launch, *extra, *words])

    def end(self, number: int) -> None:
        """End a program with all its children."""
        with contextlib.suppress(OSError, TransientError):
            argv = [*BASH, END, "perjoule-end", f"PERJOULE_PROGRAM={self._mark}/{number}"]
            _process.captured(self.keeper.command(argv), timeout_s=_SHORT_S)

    def ask(self, number: int) -> None:
        """Send SIGTERM to a program."""
        with contextlib.suppress(OSError, TransientError):
            argv = [*BASH, ASK, "perjoule-ask", "", str(self.folder / "programs" / f"{number}.pid")]
            _process.captured(self.keeper.command(argv), timeout_s=_SHORT_S)

    def raw(self, argv: Sequence[str], content: bytes = b"") -> bytes:
        """Run one of our commands on the host; return its output. Raises WorkloadError with its message, TransientError."""
        code, out, err = _process.captured(self.keeper.command(argv), content, timeout_s=_LONG_S)
        if code == SSH_FAILED and not self.keeper.alive:
            raise lost(self.keeper.login)
        if code != 0:
            words = err.decode(errors="replace").strip().splitlines() or [f"{argv[0]} did not end in time"]
            raise WorkloadError(words[-1], where=self.keeper.login.name)
        return out

    def send(self, tar: bytes, folder: Path) -> None:
        """Make a folder with the content of an archive."""
        self.raw([*BASH, 'mkdir -m 755 "$1" && tar -x -C "$1"', "perjoule-send", str(folder)], tar)

    def fetch(self, folder: Path) -> bytes:
        """Return an archive of a folder, and remove the folder."""
        return self.raw([*BASH, 'tar -c -C "$1" . && rm -rf -- "$1"', "perjoule-fetch", str(folder)])
