"""What goes over the connection to a host: programs under our mark, and archives of folders."""

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
        """A number for a program."""
        with self._lock:
            self._count += 1
            return self._count

    def lead(self, number: int, mode: str, env: Mapping[str, str] | None) -> _process.Lead:
        """What has the host launch a program under our mark."""
        marks = [f"PERJOULE_HOST={self._mark}", f"PERJOULE_PROGRAM={self._mark}/{number}"]
        launch = ["env", *marks, *BASH, LAUNCH, "perjoule-program", str(self.folder / "programs" / str(number)), mode]
        extra = ["env", *(f"{name}={value}" for name, value in env.items())] if env else []
        return lambda words: self.keeper.command([*launch, *extra, *words])

    def end(self, number: int) -> None:
        """End a program with all that it started."""
        with contextlib.suppress(OSError, TransientError):
            argv = [*BASH, END, "perjoule-end", f"PERJOULE_PROGRAM={self._mark}/{number}"]
            _process.captured(self.keeper.command(argv), timeout_s=_SHORT_S)

    def ask(self, number: int) -> None:
        """Ask a program to end."""
        with contextlib.suppress(OSError, TransientError):
            argv = [*BASH, ASK, "perjoule-ask", "", str(self.folder / "programs" / f"{number}.pid")]
            _process.captured(self.keeper.command(argv), timeout_s=_SHORT_S)

    def raw(self, argv: Sequence[str], content: bytes = b"") -> bytes:
        """What a command of ours on the host prints. Raises WorkloadError in its words, TransientError."""
        code, out, err = _process.captured(self.keeper.command(argv), content, timeout_s=_LONG_S)
        if code == SSH_FAILED and not self.keeper.alive:
            raise lost(self.keeper.login)
        if code != 0:
            words = err.decode(errors="replace").strip().splitlines() or [f"{argv[0]} did not end in time"]
            raise WorkloadError(words[-1], where=self.keeper.login.name)
        return out

    def send(self, tar: bytes, folder: Path) -> None:
        """Make a folder with what is in an archive."""
        self.raw([*BASH, 'mkdir -m 755 "$1" && tar -x -C "$1"', "perjoule-send", str(folder)], tar)

    def fetch(self, folder: Path) -> bytes:
        """An archive of a folder, which goes."""
        return self.raw([*BASH, 'tar -c -C "$1" . && rm -rf -- "$1"', "perjoule-fetch", str(folder)])
