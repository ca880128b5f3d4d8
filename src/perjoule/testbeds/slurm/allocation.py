"""A job of ours: requested by salloc, and cancelled at the end. https://slurm.schedmd.com/salloc.html

Its name is that of its note (`testbeds/_reserved.py`), by which the next command finds it.
"""

import contextlib
import os
import pwd
import time
from collections.abc import Generator, Sequence

from perjoule.drivers.protocols import Cleaned
from perjoule.model.errors import MachineError
from perjoule.model.units import seconds_text
from perjoule.testbeds import _process, _reserved
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
        self._note = _reserved.ReservationNote("slurm")
        self.name = self._note.name
        self._said = os.memfd_create("salloc")
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._note.until_exit(self.cancel)
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
        if self._note.is_open:
            with contextlib.suppress(MachineError):
                self._child.kill()
                commands.ask("scancel", "--user", user(), "--name", self.name)
                self._note.remove()
            self._forget()

    def _forget(self) -> None:
        os.close(self._said)
        self._note.close()


def clean() -> Cleaned:
    """Cancel the jobs of perjoules that are dead."""
    return _reserved.clean("slurm", "Slurm job", _cancelled)


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
