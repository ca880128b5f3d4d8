"""Child processes: started without running Python code after fork, awaited by pidfd, ended by pid."""

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import dropwhile
from pathlib import Path

from perjoule.drivers.protocols import Completed, Process
from perjoule.machine.caches import DROP_ZFS
from perjoule.machine.mirrors import loaded
from perjoule.model.errors import NotStarted, ProgramFailed, TimeLimit, WorkloadError
from perjoule.testbeds._spawn import spawn

# What leads a program onto its host: words before its own, or how to pass all of them (to ssh, as one).
Lead = Sequence[str] | Callable[[Sequence[str]], list[str]]

_DEFAULTED = (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
MOST_OUTPUT_BYTES = 64 * 1024**2  # of a program's output; the rest is not read
_WRITTEN_BACK_S = 600.0  # in which all that is dirty is on its disks
# How what leads onto a host says that it did not get there, or that there is no such program.
_REFUSALS = ("nsenter: ", "perjoule: ")
_LEADING = ("env", "setpriv")  # only options and variables are between these and a program


def environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    """Return our own environment in a plain locale, so outputs can be parsed, plus the given variables."""
    return {**os.environ, "LC_ALL": "C.UTF-8", **(extra or {})}


class Child:
    """A child process in a session of its own, held by pidfd, so its pid can't be mistaken for another
    process's.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        stdin: int,
        stdout: int,
        stderr: int,
        env: Mapping[str, str] | None = None,
        folder: str = "",
    ) -> None:
        self.pid = spawn(argv, environment(env), (stdin, stdout, stderr), _DEFAULTED, folder)
        self._pidfd = os.pidfd_open(self.pid)
        self._lock = threading.Lock()
        self._returncode: int | None = None

    @property
    def returncode(self) -> int | None:
        """Its exit code (negative: the signal that ended it), or None while it runs."""
        with self._lock:
            if self._returncode is None:
                status = os.waitid(os.P_PIDFD, self._pidfd, os.WEXITED | os.WNOHANG)
                if status is not None:
                    self._returncode = (
                        status.si_status if status.si_code == os.CLD_EXITED else -status.si_status
                    )
            return self._returncode

    def ended(self, timeout_s: float) -> bool:
        """Wait for its end for at most this long; return whether it has ended."""
        poller = select.poll()
        poller.register(self._pidfd, select.POLLIN)
        poller.poll(max(0.0, timeout_s) * 1000)
        return self.returncode is not None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to this process only."""
        with self._lock, contextlib.suppress(ProcessLookupError):
            if self._returncode is None:
                signal.pidfd_send_signal(self._pidfd, number)

    def kill(self) -> None:
        """Kill it with its process group and all its descendants, and reap it."""
        if self.returncode is None:
            for pid in (*descendants(self.pid), self.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self.ended(5.0)

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError):  # it was never started
            os.close(self._pidfd)


def children(pid: int) -> tuple[int, ...]:
    """Return the direct children of a process, of all its threads."""
    pids: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                pids += [int(pid_text) for pid_text in (task / "children").read_text().split()]
    return tuple(pids)


def descendants(pid: int) -> tuple[int, ...]:
    """Return the descendants of a process, parents first."""
    below = children(pid)
    return below + tuple(pid for child in below for pid in descendants(child))


def led(lead: Lead, arguments: Sequence[str]) -> list[str]:
    """Return the whole command of a program, including the prefix that enters its host."""
    return lead(arguments) if callable(lead) else [*lead, *arguments]


def run(
    lead: Lead,
    argv: Sequence[str | Path],
    *,
    where: str,
    timeout_s: float,
    check: bool,
    text: str | None,
    env: Mapping[str, str] | None,
    folder: str = "",
) -> Completed:
    """Run a command to its end, as `Host.run` promises; `lead` is the prefix that enters the host, `folder` is where
    it starts.
    """
    arguments = tuple(str(argument) for argument in argv)
    try:
        content = (text or "").encode()
        code, out, err = captured(led(lead, arguments), content, timeout_s=timeout_s, env=env, folder=folder)
    except OSError as error:
        raise NotStarted(f"{arguments[0]} could not be started ({error.strerror})", where=where) from None
    completed = Completed(arguments, code or 0, out.decode(errors="replace"), err.decode(errors="replace"))
    return judged(
        completed, where=where, check=check, led=bool(lead), late_s=timeout_s if code is None else None
    )


def judged(
    completed: Completed, *, where: str, check: bool, late_s: float | None, led: bool = True
) -> Completed:
    """Return what a command left, or raise as `Host.run` promises; `late_s` is the time limit at which it
    was ended.
    """
    if late_s is not None:
        message = _last_words(completed.stdout, completed.stderr)
        program, *_ = _program(completed.argv)
        raise TimeLimit(f"{program} did not end within {late_s:g} s{message}", where=where)
    code = completed.returncode
    refused = led and code != 0 and completed.stderr.startswith(_REFUSALS)
    if refused:
        raise NotStarted(failure(completed, "could not be started"), where=where)
    if check and code:
        raise ProgramFailed(failure(completed, f"ended with {code}"), where=where)
    return completed


def failure(completed: Completed, verb: str) -> str:
    """Return what failed, with its last output."""
    command = " ".join(_program(completed.argv)[:3])
    return f"{command} {verb}{_last_words(completed.stdout, completed.stderr)}"


def _program(argv: Sequence[str]) -> Sequence[str]:
    """Return a command from its program on, without what runs it as somebody, or in an environment."""
    while argv[0] in _LEADING and (led := [*dropwhile(_is_option, argv[1:])]):
        argv = led
    return argv


def _is_option(word: str) -> bool:
    return word.startswith("-") or "=" in word


def captured(
    command: Sequence[str],
    content: bytes = b"",
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    folder: str = "",
) -> tuple[int | None, bytes, bytes]:
    """Run a command with `content` as input; return its exit code (None: killed at the time limit), stdout
    and stderr.

    Its streams are files in memory: no pipe fills up, and a daemon that it leaves behind can't block us.
    """
    streams = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
    try:
        os.pwrite(streams[0], content, 0)
        child = Child(command, stdin=streams[0], stdout=streams[1], stderr=streams[2], env=env, folder=folder)
        try:
            ended = child.ended(timeout_s)
        finally:
            child.kill()
        stdout, stderr = (os.pread(fd, min(os.fstat(fd).st_size, MOST_OUTPUT_BYTES), 0) for fd in streams[1:])
    finally:
        for fd in streams:
            os.close(fd)
    return (child.returncode or 0) if ended else None, stdout, stderr


def _last_words(stdout: str, stderr: str) -> str:
    lines = [line.strip() for line in (stderr.strip() or stdout.strip()).splitlines()[-3:]]
    return ": " + " | ".join(lines) if lines else ""


def tell(gate: Path, line: str, *, where: str) -> None:
    """Write a line to who waits at a gate, as `Host.tell` promises."""
    try:
        gate.with_name(f"{gate.name}.told").write_text(f"{line}\n")
        if gate.is_fifo():
            pipe = os.open(gate, os.O_RDWR | os.O_CLOEXEC)
            try:
                os.write(pipe, f"{line}\n".encode())
            finally:
                os.close(pipe)
    except OSError as error:
        raise WorkloadError(f"can't write to {gate} ({error.strerror})", where=where) from None


def drop_caches(*, where: str) -> None:
    """Write back and drop what this machine's kernel caches of files, ZFS's caches too where zinject is
    installed.
    """
    os.sync()
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3")
    except OSError as error:
        raise WorkloadError(f"can't drop the page cache ({error.strerror})", where=where) from None
    if loaded("zfs"):
        argv = ["sh", "-c", DROP_ZFS]
        completed = run([], argv, where=where, timeout_s=_WRITTEN_BACK_S, check=False, text=None, env=None)
        if completed.returncode:
            raise WorkloadError(
                f"can't empty ZFS's caches{_last_words(completed.stdout, completed.stderr)}", where=where
            )


class Program(Process):
    """A running program with its log. `inner` means that it is the child of the process that we started
    (nsenter).
    """

    def __init__(
        self,
        lead: Lead,
        argv: Sequence[str | Path],
        *,
        where: str,
        log: Path,
        env: Mapping[str, str] | None,
        text: str | None,
        folder: str = "",
    ) -> None:
        arguments = [str(argument) for argument in argv]
        self._inner = bool(lead)
        self._log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        stdin = os.memfd_create("stdin")
        out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._began_at = os.fstat(out).st_size
            os.pwrite(stdin, (text or "").encode(), 0)
            command = led(lead, arguments)
            self._child = Child(command, stdin=stdin, stdout=out, stderr=out, env=env, folder=folder)
        except OSError as error:
            raise NotStarted(f"{arguments[0]} could not be started ({error.strerror})", where=where) from None
        finally:
            os.close(stdin)
            os.close(out)

    @property
    def returncode(self) -> int | None:
        """Its exit code (negative: the signal that ended it), or None while it runs."""
        return self._child.returncode

    def wait(self, *, timeout_s: float) -> int:
        """Wait for its end and return the exit code. Raises TimeoutError."""
        if not self._child.ended(timeout_s):
            raise TimeoutError
        return self._child.returncode or 0

    def stop(self, *, timeout_s: float = 2.0) -> None:
        """Send SIGTERM to the program; after the time limit, SIGKILL to it and its descendants."""
        deadline_s = time.monotonic() + timeout_s
        if not self._inner:
            self._child.signal(signal.SIGTERM)
        else:  # nsenter would die of the signal and leave the program alone
            while not (programs := children(self._child.pid)) and not self._child.ended(0.002):
                if time.monotonic() > deadline_s:
                    break
            for pid in programs:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
        if not self._child.ended(deadline_s - time.monotonic()):
            self._child.kill()

    def kill(self) -> None:
        """Send SIGKILL to it and its descendants."""
        self._child.kill()

    def output(self) -> str:
        """Return its output so far."""
        with self._log.open("rb") as log:
            log.seek(self._began_at)
            return log.read(MOST_OUTPUT_BYTES).decode(errors="replace")
