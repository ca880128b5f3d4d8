"""Power states of this machine: a guard process that outlives perjoule puts them back; if it is killed,
the next command does.
"""

import contextlib
import fcntl
import os
import select
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path

from perjoule.drivers.protocols import Host
from perjoule.machine import guarded, removal
from perjoule.machine.scripts import BASH
from perjoule.model import Json
from perjoule.model.errors import MachineError
from perjoule.testbeds import _process
from perjoule.testbeds._power import Power, applied, lack, put_back
from perjoule.testbeds._power.scripts import GUARD
from perjoule.testbeds._power.setting import sysfs

_ANSWER_S = 10.0
_PUT_BACK_S = 60.0


@contextlib.contextmanager
def holding_states(host: Host, power: Power) -> Generator[Mapping[str, Json]]:
    """Set states of this machine during the block; yields them as facts.

    Raises MachineError: see `applied`, or in use.
    """
    if refusal := lack(host, power):
        raise refusal
    with (
        removal.scratch("perjoule-power-") as folder,
        _guarded(sysfs(), folder),
        applied(host, power, folder) as facts,
    ):
        yield facts


@contextlib.contextmanager
def _guarded(root: Path, folder: Path) -> Generator[None]:
    """Hold the machine's states, and put them back once this process has ended.

    Raises MachineError: another run has them.
    """
    stdin, lifeline = os.pipe2(os.O_CLOEXEC)
    answers, stdout = os.pipe2(os.O_CLOEXEC)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        argv = [*BASH, GUARD, "perjoule-guard", str(root), str(folder / removal.UNDO), ""]
        guard = _process.Child(argv, stdin=stdin, stdout=stdout, stderr=null)
    except BaseException:
        os.close(lifeline)
        raise
    finally:
        for descriptor in (stdin, stdout, null):
            os.close(descriptor)
    try:
        answer = os.read(answers, 64) if select.select([answers], [], [], _ANSWER_S)[0] else b""
        if answer != b"held\n":
            raise MachineError(
                "another run has set power states of this machine", where=str(root), next="wait for its end"
            )
        yield
    finally:
        os.close(lifeline)
        os.close(answers)
        guard.ended(_PUT_BACK_S)


def clean(host: Host) -> tuple[list[str], list[str]]:
    """Put back what killed runs have set; return what was put back, and why something could not be."""
    restored: list[str] = []
    failures: list[str] = []
    within = Path(tempfile.gettempdir())
    try:
        if os.geteuid() == 0:  # else others could put a program of theirs in the place of a record
            guarded.require(within)
    except OSError as error:
        return [], [f"{error.filename}: {error.strerror}"] if any(within.glob("perjoule-power-*")) else []
    lent = guarded.mounted_by_others()
    for folder in sorted(within.resolve().glob("perjoule-power-*")):
        if str(folder) in lent:  # there another user says whose a record is
            continue
        with contextlib.suppress(OSError):  # in use: its perjoule, or its guard, is at work
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                record = folder / removal.UNDO
                if os.fstat(descriptor).st_uid != os.geteuid() or not record.is_file() or record.is_symlink():
                    continue
                put_back(host, record)
                restored.append(f"power states set by a killed run ({folder})")
            except MachineError as error:
                failures.append(f"{folder}: {error.what}")
            finally:
                os.close(descriptor)
    return restored, failures
