"""What is reserved for a command, and notes on this machine of it: each is locked while its perjoule lives.

The name of a reservation holds the note's. So the next command finds what a perjoule that was killed has
reserved, even one that was killed before it knew the reservation's number.
"""

import atexit
import contextlib
import fcntl
import os
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from perjoule.drivers.protocols import Cleaned
from perjoule.machine import locks, removal
from perjoule.model import Json
from perjoule.model.errors import MachineError

GONE_S = 60.0  # for a reservation to end that is to
_FIRST_LOOK_S, _LOOK_S = 1.0, 60.0  # at what goes on there; many look at a lender
_MARK = "perjoule-"
_MOST_CHARACTERS = 200  # of what a lender says, in a sentence


class ReservationNote:
    """A note of one reservation, called `name`."""

    def __init__(self, system: str, place: str = "") -> None:
        """Write it. `system` lends hosts; `place` is where. Raises MachineError."""
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

    def until_exit(self, end: Callable[[], None]) -> None:
        """Have the reservation ended when this command exits, unless the note is closed before."""
        _ends[self.name] = end

    @property
    def is_open(self) -> bool:
        """Whether this command has yet to end what was reserved."""
        return self.name in _ends

    def remove(self) -> None:
        """Remove it, once nothing is reserved any more."""
        removal.remove_file(self._path)

    def close(self) -> None:
        """Leave it to the next command, unless it was removed."""
        _ends.pop(self.name, None)
        os.close(self._lock)


class Lender(ABC):
    """A service that lends nodes at one place, asked with the user's login."""

    def __init__(self, system: str, place: str) -> None:
        """Be asked for. `system` is the testbed; notes have `place`."""
        self.system, self.place = system, place

    @abstractmethod
    def text(self, id: str) -> str:
        """Return a reservation in words."""

    @abstractmethod
    def living(self, name: str) -> list[str]:
        """Return the numbers of the reservations of a name that have not ended. Raises MachineError."""

    @abstractmethod
    def end(self, id: str) -> None:
        """Have a reservation end, which may take a while. Raises MachineError."""


@dataclass(frozen=True)
class LentNode:
    """A node of a reservation."""

    name: str
    kind: str  # of nodes that are alike: what can be asked for instead of a name
    ssh: str = ""  # its name or address for OpenSSH
    address: str = ""  # in the network that file systems use


class Reservation(ABC):
    """One reservation of this command, and what is needed to end it."""

    def __init__(self, lender: Lender, request: Callable[[str], str]) -> None:
        """Ask for it by `request`, which takes its name and returns its number.

        Raises MachineError in the lender's words.
        """
        self._lender, self._note = lender, ReservationNote(lender.system, lender.place)
        self.name = self._note.name
        self.id = ""  # until it is known
        self._note.until_exit(self.give_back)
        try:
            self.id = request(self.name)
        except BaseException:  # it may have been made all the same
            self.give_back()
            raise

    @property
    def system(self) -> str:
        """The testbed of the nodes."""
        return self._lender.system

    @property
    def text(self) -> str:
        """Its number and place, in words."""
        return self._lender.text(self.id)

    @property
    def lasts(self) -> bool:
        """Whether it has not ended. Raises MachineError."""
        return self._note.is_open and not self.over()

    @property
    @abstractmethod
    def left_s(self) -> float:
        """How long it lasts from now on; inf if that is unknown. Raises MachineError."""

    @property
    @abstractmethod
    def facts(self) -> dict[str, Json]:
        """What records have of it. Raises MachineError."""

    @abstractmethod
    def over(self) -> str:
        """Return how it has ended, or is ending; "" while it lasts or waits. Raises MachineError."""

    @abstractmethod
    def prepared(self) -> Generator[str]:
        """Wait until its nodes can be used; yields what it waits for. Raises MachineError."""

    @abstractmethod
    def nodes(self) -> Sequence[LentNode]:
        """Return its nodes, those of one kind by their names. Raises MachineError."""

    def give_back(self) -> None:
        """End it; nothing of it may be left that waits or runs."""
        if self._note.is_open:
            with contextlib.suppress(MachineError):  # the next command tries again
                # without a number it may be made yet: the next command looks again
                if ended(self._lender, self.name) or self.id:
                    self._note.remove()
            self._note.close()


def ended(lender: Lender, name: str) -> list[str]:
    """End the reservations of a name, and return them in words once they have ended.

    Raises MachineError: one does not end; in the lender's words, if it refuses to end it.
    """
    refusals: dict[str, str] = {}  # number -> why it could not be ended
    for _ in looks(GONE_S):
        for id in lender.living(name):
            refusals[id] = ""
            try:
                lender.end(id)
            except MachineError as error:  # what is just starting can be ended later
                refusals[id] = error.what
        if not lender.living(name):
            return [lender.text(id) for id in refusals]
    raise MachineError(next(filter(None, refusals.values()), "it does not end"), next="see its state there")


def sentence(text: str) -> str:
    """Return what a lender says as part of a sentence: one line, not too long."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]} ..."


def looks(limit_s: float) -> Generator[None]:
    """Pace looks at what goes on there, until a time limit."""
    began_s, look_s = time.monotonic(), _FIRST_LOOK_S
    while True:
        yield
        if (left_s := began_s + limit_s - time.monotonic()) <= 0:
            return
        time.sleep(min(look_s, left_s))
        look_s = min(2 * look_s, _LOOK_S)


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


_ends: dict[str, Callable[[], None]] = {}  # of what this command has reserved, by its name


@atexit.register
def give_all_back() -> None:
    """End what this command has reserved."""
    for end in tuple(_ends.values()):
        end()
