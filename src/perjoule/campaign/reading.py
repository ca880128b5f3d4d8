"""Trials that read what another trial has written: the same load but for its operation, right behind it; or
any load of the same blocks.
"""

from collections.abc import Mapping, Sequence

from perjoule import drivers
from perjoule.model import Trial

# of a write and of its read
OPERATIONS = (("write", "read"), ("write", "seq"), ("write", "rand"), ("write", "randread"))


def follows(write: Trial, read: Trial) -> bool:
    """Return whether a trial can read what another one wrote: the same load, by as many clients, in one
    repetition.
    """
    operations = write.workload.options.get("operation"), read.workload.options.get("operation")
    return operations in OPERATIONS and _load(write) == _load(read) and not write.events and not read.events


def shares_blocks(trial: Trial) -> bool:
    """Return whether a trial loads the blocks that others of its deployment load: those of a device, which has no
    files.
    """
    return drivers.workload(trial.workload).needs == "devices" and not trial.events


def behind_their_writes(trials: Sequence[Trial]) -> list[Trial]:
    """Put each read right behind its write, which keeps its place: the first read of each, if there are
    several.
    """
    ordered = list(trials)
    for write in trials:
        if read := next((trial for trial in trials if follows(write, trial)), None):
            ordered.remove(read)
            ordered.insert(ordered.index(write) + 1, read)
    return ordered


def _load(trial: Trial) -> tuple[str, Mapping[str, object], int, int]:
    without = {name: value for name, value in trial.workload.options.items() if name != "operation"}
    return trial.workload.kind, without, trial.clients_count, trial.repetition
