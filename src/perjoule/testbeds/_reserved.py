"""Notes on this machine of what was reserved for a run: each is locked while its perjoule lives.

The name of a reservation holds the note's. So the next command finds what a perjoule that was killed has
reserved, even one that was killed before it knew the reservation's number.
"""

import contextlib
import fcntl
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from perjoule.drivers.protocols import Cleaned
from perjoule.machine import locks, removal
from perjoule.model.errors import MachineError

_MARK = "perjoule-"


class ReservationNote:
    """A note of one reservation, called `name`."""

    def __init__(self, system: str, place: str = "") -> None:
        """Write it. `system` lends hosts; `place` is where, without a hyphen. Raises MachineError."""
        run = secrets.token_hex(4)
        self._path = _folder(system) / (f"{place}-{run}" if place else run)
        self.name = f"{_MARK}{self._path.name}"
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = locks.opened(self._path)
        except OSError as error:
            raise MachineError(
                f"can't keep a note ({error.strerror})", where=str(self._path), next="set XDG_STATE_HOME"
            ) from None
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove it, once nothing is reserved any more."""
        removal.remove_file(self._path)

    def close(self) -> None:
        """Leave it to the next command, unless it was removed."""
        os.close(self._lock)


def place(name: str) -> str:
    """Return the place in the name of a reservation, "" if it has none."""
    return name.removeprefix(_MARK).rpartition("-")[0]


def clean(system: str, job: str, cancel: Callable[[str], list[str]]) -> Cleaned:
    """Cancel the reservations of perjoules that are dead.

    Args:
        system: lends the hosts.
        job: what it calls a reservation.
        cancel: cancels those of a name, and returns which. May raise MachineError.
    """
    removed: list[str] = []
    failures: list[str] = []
    for note in sorted(_folder(system).glob("*")):
        with contextlib.suppress(OSError):
            lock = locks.opened(note)
            try:
                if locks.taken(lock):  # else its perjoule lives
                    removed += cancel(f"{_MARK}{note.name}")
                    removal.remove_file(note)
            except MachineError as error:
                failures.append(f"{job} {_MARK}{note.name} ({error.what})")
            finally:
                os.close(lock)
    return Cleaned(removed=tuple(removed), failures=tuple(failures))


def _folder(system: str) -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "perjoule" / system
