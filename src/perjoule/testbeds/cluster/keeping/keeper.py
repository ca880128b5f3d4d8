"""A host's keeper: a process on it that lives as long as we do, whose connection carries all commands and
their outputs.

It holds the host's lock, sends its counters and runs commands. When it loses contact with us (we ended, were
killed, or the network is gone) it ends all processes with the run's mark and removes the run's folder. So
nothing depends on what we manage to do at the end. A command on a host costs this machine no process, no
connection and no thread.
"""

import contextlib
import fcntl
import os
import select
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

from perjoule.drivers.protocols import ClockOffset
from perjoule.machine import removal
from perjoule.machine.scripts import BASH
from perjoule.model.errors import MachineError, PerjouleError, TransientError, UnexpectedOutput
from perjoule.testbeds import _process
from perjoule.testbeds._power.states import States, states
from perjoule.testbeds.cluster import judge
from perjoule.testbeds.cluster.facts import Probe, clock_s, probe
from perjoule.testbeds.cluster.keeping import hearing
from perjoule.testbeds.cluster.keeping.heard import Heard
from perjoule.testbeds.cluster.login import Login
from perjoule.testbeds.cluster.openssh import CONNECT_S, SSH_FAILED
from perjoule.testbeds.cluster.scripts import HELPER, KEEP
from perjoule.testbeds.cluster.units import UnitLimits

PROBED_S = CONNECT_S + 20.0
FRESH_S = 60.0  # it waits for two minutes
KEPT_S = 50.0  # it may have to remove what another run left
ANSWER_S = 10.0
SILENT_S = 3 * hearing.BEAT_S + 1.0
ENDED_S = 30.0
_CLOCKS_COUNT = 5
_MOST_MESSAGE_BYTES = 256 * 1024  # of what ssh and the host say on stderr
# what a pipe holds; a larger buffer would be mapped and unmapped for each answer
_MOST_READ_BYTES = 64 * 1024


class ProgramAnswer(NamedTuple):
    """What a program left: its exit code and outputs, and the moment (monotonic, in s) when all was here."""

    code: int
    out: bytes
    err: bytes
    at_s: float


class Keeper:
    """The keeper of one host; `probe` is what the host has."""

    def __init__(self, login: Login, work: str) -> None:
        """Log in and look; nothing changes on the host.

        Raises MachineError with the message of what leads there.
        """
        self.login, self.began_s = login, time.monotonic()
        self.removed: list[str] = []  # what dead runs had left
        self.left: list[str] = []  # what of it is still there
        self.unit = ""  # of systemd, that holds the run's programs; or "none: " and why
        self._heard, self._number = Heard(), 0
        self._asked: dict[int, Future[ProgramAnswer]] = {}
        self._lock = threading.Lock()  # one word at a time
        self._kept = self._ended = False
        self._why: str | None = None  # nothing more will come, for this reason
        self._heard_s = self.began_s
        self._own = contextlib.ExitStack()
        # a socket's path must be short
        self._socket = str(self._own.enter_context(removal.scratch("pjs-")) / "s")
        stdin, self._lifeline = os.pipe2(os.O_CLOEXEC)
        self._words, stdout = os.pipe2(os.O_CLOEXEC)
        self._errors = os.memfd_create("stderr", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self._errors, _MOST_MESSAGE_BYTES)
        # what comes after that is not written
        fcntl.fcntl(self._errors, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
        self.work = work
        plain = [*BASH, KEEP, "perjoule-keeper", work, login.name]
        command = login.command(plain, socket=self._socket, master=True, verb=self.verb("keep"))
        try:
            self._child = _process.Child(command, stdin=stdin, stdout=stdout, stderr=self._errors)
        except OSError as error:
            self._own.close()
            raise MachineError(
                f"{command[0]} could not be started ({error.strerror})", next="install it"
            ) from None
        finally:
            os.close(stdin)
            os.close(stdout)
        try:
            self.probe = self._probed()
        except BaseException:
            self.close()
            raise

    def _probed(self) -> Probe:
        lines: list[str] = []
        while (line := self._line(self.began_s + PROBED_S)) != "probed":
            if line is not None:
                lines.append(line)
            elif lines and self._child.ended(1.0) and self._child.returncode != SSH_FAILED:
                break
            else:
                raise self._error()
        host_probe = probe("\n".join(lines), self.login.name)
        if host_probe.helper not in ("", judge.version()):
            fault = f"its {HELPER} is version {host_probe.helper}; this perjoule needs {judge.version()}"
            raise MachineError(
                fault, where=self.login.where, next="install what `perjoule doctor --helper` prints now"
            )
        return host_probe

    def verb(self, name: str) -> tuple[str, str, str]:
        """Return the words by which a helper does for this host what it is installed for."""
        return name, self.work, self.login.name

    def lacks(self, looks: Sequence[str]) -> list[str | None]:
        """Say of each thing why the host lacks it ("" if that needs no words), None if it has it; before
        `keep`.

        Raises MachineError.
        """
        answers: list[str | None] = []
        for look in looks:  # one at a time: many could fill a pipe that nobody reads
            if look.startswith("free "):
                answers.append(None if self.probe.has(int(look.split()[1])) else "")
                continue
            absent = look.startswith("nothing ")  # at a path
            self._say(f"look {look.replace('nothing', 'path', 1) if absent else look}")
            verdict, _, why = (self._line(time.monotonic() + ANSWER_S) or "").partition(" ")
            if verdict not in ("has", "lacks"):
                raise self._error()
            answers.append(None if (verdict == "has") != absent else why.strip())
        return answers

    def states(self, root: Path, dev: str, drives: Sequence[str] = ()) -> States:
        """Return the power states of the host and of drives by their IDs, before `keep`.

        Raises MachineError.
        """
        arguments = [str(root), dev, *drives]
        self._say(f"states {len(arguments)}", _words(arguments))
        lines, until_s = list[str](), time.monotonic() + KEPT_S
        while (line := self._line(until_s)) != "stated":
            if line is None:
                raise self._error()
            lines.append(line)
        return states("\n".join(lines))

    def keep(self, run: str, dead: Sequence[str] = (), limits: UnitLimits | None = None) -> None:
        """Have it take the host for a run, from `dead` ones whose keepers still wait for them, and remove
        what those left.

        With `limits` it asks systemd for a unit, if the login may be in one. Raises MachineError: another run
        has the host, or nothing there sets these limits.
        """
        try:
            if limits and self.login.units:
                self._say(limits.request)
            self._say(" ".join(("keep", run, *dead)))
            until_s = time.monotonic() + KEPT_S
            while (line := self._line(until_s)) != "ready":
                verb, _, detail = (line or "").partition(" ")
                if verb == "refused":
                    fault, _, fix = detail.partition("; ")
                    raise MachineError(fault, where=self.login.name, next=fix)
                if line is None:
                    raise self._error()
                if verb == "removed":
                    self.removed.append(detail)
                elif verb == "left":
                    self.left.append(detail)
                elif verb in ("unit", "unitless"):
                    self.unit = detail if verb == "unit" else f"none: {detail}"
        except BaseException:
            self.close()
            raise
        self._kept, self._heard_s = True, time.monotonic()
        hearing.listen(self._words, self)

    def _error(self) -> PerjouleError:
        """Return why there is no answer."""
        if not self._child.ended(1.0):
            return self.login.refusal("it timed out")
        message = os.pread(self._errors, _MOST_MESSAGE_BYTES, 0).rstrip(b"\0")
        return self.login.refusal(message.decode(errors="replace"))

    def _line(self, until_s: float) -> str | None:
        """Return the next line that it sends before it keeps the host, or None if none has come by then.

        Raises MachineError.
        """
        try:
            while (line := self._heard.line()) is None:
                if not _ready(self._words, select.POLLIN, until_s - time.monotonic()):
                    return None
                if not (got := os.read(self._words, _MOST_READ_BYTES)):
                    return None
                self._heard.take(got)
        except ValueError as error:
            self._child.kill()
            raise MachineError(str(error), where=self.login.where, next="check its login shell") from None
        return line

    @property
    def fresh(self) -> bool:
        """Whether it still waits to keep its host, and what it has seen there is new."""
        return self.alive and time.monotonic() - self.began_s < FRESH_S

    @property
    def alive(self) -> bool:
        """Whether the connection is up."""
        return self._child.returncode is None

    def command(self, argv: Sequence[str], *, verb: Sequence[str] = ()) -> list[str]:
        """Return what runs a command on the host over this connection, or a helper's verb. Raises
        TransientError: it was lost.

        Without this check ssh would make a new connection, to a host that no longer has our run.
        """
        if not self.alive:
            raise self.lost()
        return self.login.command(argv, socket=self._socket, verb=verb)

    def number(self) -> int:
        """Return a new number for a program or a question."""
        with self._lock:
            self._number += 1
            return self._number

    def run(
        self, argv: Sequence[str], content: bytes = b"", *, timeout_s: float
    ) -> tuple[ProgramAnswer, bool]:
        """Run a command with `content` as input; return its answer, and whether it was ended at the time
        limit.

        Raises:
            TransientError: the connection was lost.
        """
        number = self.number()
        future = self._ask(number, f"run {number} {len(argv)} {len(content)}", _words(argv) + content)
        try:
            return future.result(timeout_s), False
        except TimeoutError:
            self.end(number)
        except BaseException:
            self.end(number)
            raise
        try:
            return future.result(ENDED_S), True
        except TimeoutError:
            return ProgramAnswer(-1, b"", b"", time.monotonic()), True

    def ask(self, number: int) -> None:
        """Send SIGTERM to a program."""
        with contextlib.suppress(TransientError):
            self._say(f"ask {number}")

    def end(self, number: int) -> bool:
        """End a program with all its children; return whether the host says that none is left."""
        ending = self.number()
        with contextlib.suppress(TransientError, TimeoutError):
            return self._ask(ending, f"end {ending} {number}").result(ENDED_S).code == 0
        return False

    def tell(self, gate: str, line: str) -> None:
        """Have it write a line to who waits at a gate. Raises TransientError."""
        self._say(f"tell {gate} {line}")

    def ask_counters(self) -> Callable[[], tuple[float, float, str]]:
        """Ask for the counters; the result, called, waits for them.

        It gives the time (monotonic, in s), half of the round trip (in s), and the kernel's texts. Raises
        TransientError.
        """
        return self._timed("counters")

    def _timed(self, request: str) -> Callable[[], tuple[float, float, str]]:
        number, began_s = self.number(), time.monotonic()
        future = self._ask(number, f"{request} {number}")

        def answered() -> tuple[float, float, str]:
            try:
                answer = future.result(max(0.0, began_s + ANSWER_S - time.monotonic()))
            except TimeoutError:
                raise self.lost() from None
            return (
                (began_s + answer.at_s) / 2,
                (answer.at_s - began_s) / 2,
                answer.out.decode(errors="replace"),
            )

        return answered

    def clock(self) -> ClockOffset:
        """The host's clock against ours, by the quickest of several answers.

        Raises TransientError; WorkloadError: it is none.
        """
        clocks: list[ClockOffset] = []
        for _ in range(_CLOCKS_COUNT):
            t_s, half_s, answer = self._timed("clock")()
            ours_s = time.time() - (time.monotonic() - t_s)
            try:
                clocks.append(ClockOffset(clock_s(answer) - ours_s, half_s))
            except ValueError as error:
                raise UnexpectedOutput(str(error), where=self.login.where) from None
        return min(clocks, key=lambda clock: clock.uncertainty_s)

    def _ask(self, number: int, line: str, content: bytes = b"") -> Future[ProgramAnswer]:
        self._asked[number] = future = Future[ProgramAnswer]()
        try:
            self._say(line, content)
        except TransientError as error:
            if self._asked.pop(number, None):
                future.set_exception(error)
        return future

    def _say(self, line: str, content: bytes = b"") -> None:
        with self._lock:
            if self._ended or self._why is not None:  # its pipe may be open a moment longer
                raise self.lost()
            try:
                unsent = memoryview(os.fsencode(f"{line}\n") + content)
                while unsent:
                    unsent = unsent[os.write(self._lifeline, unsent) :]
            except OSError:
                raise self.lost() from None
            except BaseException:  # half of a word is out: nothing can follow it
                self._child.kill()
                raise

    def beat(self) -> None:
        """Say that we live, unless it is busy hearing something else; without an answer it is lost, though
        ssh may live on.
        """
        if time.monotonic() - self._heard_s > SILENT_S:
            self._child.kill()
        elif self._lock.acquire(blocking=False):
            try:
                if not self._ended and _ready(self._lifeline, select.POLLOUT, 0):
                    with contextlib.suppress(OSError):
                        os.write(self._lifeline, b"alive\n")
            finally:
                self._lock.release()

    def hear(self) -> bool:
        """Take in what it has sent; return whether there may be more."""
        got = os.read(self._words, _MOST_READ_BYTES)
        self._heard_s = time.monotonic()
        self._heard.take(got)
        for number, code, out, err in self._heard.answers(self._number):
            if future := self._asked.pop(number, None):
                future.set_result(ProgramAnswer(code, out, err, time.monotonic()))
        return bool(got)

    def gone(self, why: str) -> None:
        """Nothing more will come: whoever waits for an answer has lost the connection."""
        self._why = why
        try:
            os.close(self._words)
            if not self._ended:  # it may have died while ssh lives on
                self._child.kill()
        finally:
            for number in tuple(self._asked):
                if future := self._asked.pop(number, None):  # else who asked has taken it back meanwhile
                    future.set_exception(self.lost())

    def lost(self) -> TransientError:
        """Return the error for a connection that has ended."""
        return self.login.lost(self._why or "")

    def hang_up(self) -> None:
        """Have it end, without waiting for it."""
        with self._lock:
            if not self._ended:
                self._ended = True
                os.close(self._lifeline)

    def close(self) -> bool:
        """Close the connection, and wait until the keeper has removed all that was ours; return whether it
        has.
        """
        self.hang_up()
        if not self._child.ended(ENDED_S):
            self._child.kill()
        if not self._kept:
            os.close(self._words)
        os.close(self._errors)
        self._own.close()
        return self._child.returncode == 0


def _words(argv: Sequence[str]) -> bytes:
    """Return words as a keeper hears them, each with a NUL at its end.

    Raises ValueError: one contains a NUL.
    """
    if any("\0" in argument for argument in argv):
        raise ValueError(f"a word for {argv[0]} contains a NUL")
    return b"".join(os.fsencode(argument) + b"\0" for argument in argv)


def _ready(fd: int, event: int, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(fd, event)
    return bool(poll.poll(max(0.0, timeout_s) * 1000))
