"""A host's keeper: a process on it that lives as long as we do, and whose connection all other commands share.

It holds the host's lock and sends its counters. When it loses contact with us (we ended, were killed, or the network is gone) it
ends all processes with the run's mark and removes the run's folder. So nothing depends on what we manage to do at the end.
"""

import contextlib
import os
import select
import threading
import time
from collections.abc import Sequence

from perjoule.drivers.protocols import ClockOffset
from perjoule.model.errors import MachineError, PerjouleError
from perjoule.testbeds import _process
from perjoule.testbeds.cluster.facts import clock_s
from perjoule.testbeds.cluster.openssh import CONNECT_S, Login, lost, refusal
from perjoule.testbeds.cluster.scripts import BASH, KEEP

START_S = CONNECT_S + 40.0  # it may have to remove what another run left
ANSWER_S = 10.0
BEAT_S = 20.0  # it takes two minutes of silence for our end
GONE_S = 30.0
_CLOCKS_COUNT = 5


class Keeper:
    """The keeper of one host, and the connection to it at `socket`."""

    def __init__(self, login: Login, socket: str, work: str, run: str) -> None:
        """Start it. Raises MachineError with the message of ssh or of the keeper."""
        self.login, self.socket = login, socket
        self.removed: list[str] = []  # what dead runs had left
        self._number, self._heard = 0, b""
        self._lock = threading.Lock()
        self._ended = threading.Event()
        stdin, self._lifeline = os.pipe2(os.O_CLOEXEC)
        self._words, stdout = os.pipe2(os.O_CLOEXEC)
        self._errors = os.memfd_create("stderr")
        try:
            command = login.command([*BASH, KEEP, "perjoule-keeper", work, login.name, run], socket=socket, master=True)
            self._child = _process.Child(command, stdin=stdin, stdout=stdout, stderr=self._errors)
        except OSError as error:
            raise MachineError(f"no ssh ({error.strerror})", next="apt install openssh-client") from None
        finally:
            os.close(stdin)
            os.close(stdout)
        try:
            self._begin()
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._beat, daemon=True).start()

    def _begin(self) -> None:
        until_s = time.monotonic() + START_S
        while (line := self._line(until_s)) != "ready":
            verb, _, rest = (line or "").partition(" ")
            if verb == "refused":
                raise MachineError(rest, where=self.login.name, next="set work, or wait for the other run")
            if line is None:
                raise self.error()
            if verb == "removed":
                self.removed.append(rest)

    def error(self) -> PerjouleError:
        """Return why there is no answer."""
        if not self._child.ended(1.0) and not self._number:
            return refusal(self.login, "it timed out")
        said = os.pread(self._errors, os.fstat(self._errors).st_size, 0).decode(errors="replace")
        return lost(self.login) if self._number else refusal(self.login, said)

    @property
    def alive(self) -> bool:
        """Whether the connection is up."""
        return self._child.returncode is None

    def command(self, argv: Sequence[str]) -> list[str]:
        """Return the prefix that runs a command on the host over this connection. Raises TransientError: it was lost.

        Without this check ssh would make a new connection, to a host that no longer has our run.
        """
        if not self.alive:
            raise lost(self.login)
        return self.login.command(argv, socket=self.socket)

    def counters(self) -> tuple[float, float, str]:
        """Return the time (monotonic, in s), half of the round trip (in s), and the kernel's texts. Raises TransientError."""
        with self._lock:
            self._number += 1
            began_s = time.monotonic()
            try:
                os.write(self._lifeline, f"counters {self._number}\n".encode())
            except OSError:
                raise lost(self.login) from None
            lines: list[str] = []
            while (line := self._line(began_s + ANSWER_S)) != f"end {self._number}":
                if line is None:
                    raise lost(self.login)
                lines = [] if line == f"begin {self._number}" else [*lines, line]
            ended_s = time.monotonic()
        return (began_s + ended_s) / 2, (ended_s - began_s) / 2, "\n".join(lines)

    def tell(self, gate: str, line: str) -> None:
        """Have it write a line to who waits at a gate. Raises TransientError."""
        with self._lock:
            try:
                os.write(self._lifeline, f"tell {gate} {line}\n".encode())
            except OSError:
                raise lost(self.login) from None

    def clock(self) -> ClockOffset:
        """The host's clock against ours, by the quickest of several answers. Raises TransientError."""
        found: list[ClockOffset] = []
        for _ in range(_CLOCKS_COUNT):
            t_s, half_s, said = self.counters()
            ours_s = time.time() - (time.monotonic() - t_s)
            found.append(ClockOffset(clock_s(said) - ours_s, half_s))
        return min(found, key=lambda clock: clock.uncertainty_s)

    def _line(self, until_s: float) -> str | None:
        """Return the next line that it sends, or None if none has come by then."""
        while b"\n" not in self._heard:
            left_s = until_s - time.monotonic()
            if left_s <= 0 or not select.select([self._words], [], [], left_s)[0]:
                return None
            got = os.read(self._words, 65536)
            if not got:
                return None
            self._heard += got
        line, _, self._heard = self._heard.partition(b"\n")
        return line.decode(errors="replace")

    def _beat(self) -> None:
        while not self._ended.wait(BEAT_S):
            with self._lock, contextlib.suppress(OSError):
                if not self._ended.is_set():
                    os.write(self._lifeline, b"alive\n")

    def close(self) -> bool:
        """Close the connection, and wait until the keeper has removed all that was ours; return whether it has."""
        with self._lock:
            self._ended.set()
            os.close(self._lifeline)
            os.close(self._words)
        if not self._child.ended(GONE_S):
            self._child.kill()
        os.close(self._errors)
        return self._child.returncode == 0
