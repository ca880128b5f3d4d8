"""A job of ours: requested by salloc, and cancelled at the end. https://slurm.schedmd.com/salloc.html

Its name holds the run, and a file of that name, locked while its perjoule lives, says that the job is in use.
So the next command finds jobs of a perjoule that was killed, even one that was killed before it knew the
job's number.
"""

import atexit
import contextlib
import fcntl
import os
import pwd
import secrets
import time
from collections.abc import Generator, Sequence
from pathlib import Path

from perjoule.machine import locks, removal
from perjoule.model.errors import MachineError
from perjoule.model.units import seconds_text
from perjoule.testbeds import _process
from perjoule.testbeds.slurm import commands
from perjoule.testbeds.slurm.commands import SlurmJob

_FIRST_LOOK_S, _LOOK_S = 0.2, 10.0  # at a job that waits; many look at Slurm
GONE_S = 60.0  # Slurm sends SIGKILL 30 s after SIGTERM by default
_FIXES = {
    "partition": "set partition to one that `sinfo` lists",
    "account": "set account to one of yours",
    "feature": "set constraint to a feature that `sinfo --format=%f` lists",
    "node name": "name nodes that `sinfo` lists",
    "time limit": "ask for less time",
}


class Allocation:
    """A requested job, and what is needed to cancel it."""

    def __init__(self, argv: Sequence[str]) -> None:
        """Ask for a job. Raises MachineError."""
        run = secrets.token_hex(4)
        self.name, self._note = f"perjoule-{run}", _folder() / run
        try:
            _folder().mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = locks.opened(self._note)
        except OSError as error:
            raise MachineError(
                f"can't keep a note ({error.strerror})", where=str(self._note), next="set XDG_STATE_HOME"
            ) from None
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._said = os.memfd_create("salloc")
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        _open[self.name] = self
        try:
            command = ["salloc", "--no-shell", f"--job-name={self.name}", *argv]
            self._child = _process.Child(command, stdin=nothing, stdout=nothing, stderr=self._said)
        except OSError as error:
            self._forget()
            raise MachineError(
                f"salloc could not be started ({error.strerror})", next="install Slurm's commands"
            ) from None
        finally:
            os.close(nothing)

    def granted(self, limit_s: float) -> Generator[str, None, SlurmJob]:
        """Wait for the nodes; yields what the job waits for, and returns it.

        Raises:
            MachineError: it was refused, or waits too long.
        """
        began_s, look_s, last = time.monotonic(), _FIRST_LOOK_S, ""
        while not self._child.ended(look_s):
            look_s = min(2 * look_s, _LOOK_S)
            waiting = next((job for job in self._jobs() if job.waits), None)
            if (
                waiting
                and (sentence := f"Slurm job {waiting.id} is pending ({waiting.reason or 'no reason given'})")
                != last
            ):
                last = sentence
                yield sentence
            if time.monotonic() - began_s > limit_s:
                advice = "ask for fewer nodes or less time, or raise wait"
                raise MachineError(f"{last or 'salloc'}, for {seconds_text(limit_s)} now", next=advice)
        if self._child.returncode != 0:
            text = os.pread(self._said, os.fstat(self._said).st_size, 0).decode(errors="replace")
            sentence = (commands.message(text) or ["salloc said nothing"])[0]
            fix = next(
                (fix for sign, fix in _FIXES.items() if sign in sentence.lower()),
                "see `sinfo` and your limits",
            )
            raise MachineError(
                f"Slurm refuses the job: {sentence.removeprefix('Job submit/allocate failed: ')}", next=fix
            )
        for job in self._jobs():
            if not job.end:
                return job
        raise MachineError(f"Slurm job {self.name} has ended already", next="see `squeue`")

    def _jobs(self) -> list[SlurmJob]:
        return commands.jobs("--user", user(), "--name", self.name)

    def cancel(self) -> None:
        """Cancel the job; nothing of it may be left that waits or runs."""
        if self.name in _open:
            with contextlib.suppress(MachineError):
                self._child.kill()
                commands.ask("scancel", "--user", user(), "--name", self.name)
                removal.remove_file(self._note)
            self._forget()

    def _forget(self) -> None:
        del _open[self.name]
        os.close(self._said)
        os.close(self._lock)


_open: dict[str, Allocation] = {}


@atexit.register
def _cancel_all() -> None:
    for allocation in tuple(_open.values()):
        allocation.cancel()


def clean() -> tuple[list[str], list[str]]:
    """Cancel the jobs of perjoules that are dead; return what was cancelled, and why jobs could not be."""
    removed: list[str] = []
    failures: list[str] = []
    for note in sorted(_folder().glob("*")):
        with contextlib.suppress(OSError):
            lock = locks.opened(note)
            try:
                if locks.taken(lock):  # else its perjoule lives
                    removed += _cancelled(f"perjoule-{note.name}")
                    removal.remove_file(note)
            except MachineError as error:
                failures.append(f"Slurm job perjoule-{note.name} ({error.what})")
            finally:
                os.close(lock)
    return removed, failures


def _cancelled(name: str) -> list[str]:
    """Cancel the jobs of a name and wait for their end. Raises MachineError."""
    selection = ("--user", user(), "--name", name)
    ids = [job.id for job in commands.jobs(*selection) if not job.end]
    if ids:
        commands.ask("scancel", *selection)
        until_s = time.monotonic() + GONE_S
        while any(job.waits or job.state in ("RUNNING", "COMPLETING") for job in commands.jobs(*selection)):
            if time.monotonic() > until_s:
                raise MachineError("the job does not end", next="see `squeue`")
            time.sleep(_FIRST_LOOK_S)
    return [f"Slurm job {id}" for id in ids]


def user() -> str:
    """Return the name of our user, as Slurm knows it."""
    return pwd.getpwuid(os.geteuid()).pw_name


def _folder() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "perjoule" / "slurm"
