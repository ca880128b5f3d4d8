"""What Slurm's own commands answer. https://slurm.schedmd.com/squeue.html,
https://slurm.schedmd.com/sinfo.html
"""

import math
import re
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass

from perjoule.model.errors import MachineError
from perjoule.model.units import seconds_text
from perjoule.testbeds import _process

ANSWER_S = 20.0
_PAUSE_S = 2.0  # less is not known for sure: Slurm counts whole seconds
_JOB = "%i|%T|%L|%M|%R|%N"
_PARTITION = re.compile(r"([^|]+)\|([^|]*)\|([0-9]{1,9})")
_STARTING = ("CONFIGURING", "PENDING", "REQUEUED", "SUSPENDED")
_ENDS = {
    "CANCELLED": "was cancelled",
    "COMPLETING": "is ending: it was cancelled or preempted, or its time is over",
    "NODE_FAIL": "lost a node",
    "PREEMPTED": "was preempted",
    "TIMEOUT": "reached its time limit",
}


@dataclass(frozen=True)
class SlurmJob:
    """A job as squeue shows it."""

    id: str
    state: str
    left_s: float  # inf: it has no limit, or has not begun
    ran_s: float  # in whole seconds, without those for which it was suspended
    reason: str  # of a job that waits
    nodes: str  # a pattern

    @property
    def waits(self) -> bool:
        """Whether it has no nodes yet."""
        return self.state in _STARTING

    @property
    def end(self) -> str:
        """How it has ended, or is ending; "" while it runs or waits."""
        if self.waits or self.state == "RUNNING":
            return ""
        return _ENDS.get(self.state, f"has ended ({self.state.lower().replace('_', ' ')})")


@dataclass(frozen=True)
class Partition:
    """A partition as sinfo shows it."""

    name: str
    limit_s: float
    nodes_count: int


def ask(*argv: str) -> str:
    """Return what a command of Slurm prints. Raises MachineError with its message."""
    try:
        code, out, err = _process.captured(argv, timeout_s=ANSWER_S)
    except OSError as error:
        raise MachineError(
            f"{argv[0]} could not be started ({error.strerror})", next="install Slurm's commands"
        ) from None
    if code != 0:
        problem = (
            " | ".join(message(err.decode(errors="replace")))
            or f"{argv[0]} did not answer within {ANSWER_S:g} s"
        )
        raise MachineError(
            f"Slurm: {problem}",
            next=f"run perjoule where `{shlex.join(argv)}` works, such as on a login node",
        )
    return out.decode(errors="replace")


def message(output: str) -> list[str]:
    """Return the errors among what a command of Slurm printed, without its name."""
    lines = [
        re.sub(r"^\w+: (?:error: |fatal: )?", "", line.strip())
        for line in output.splitlines()
        if line.strip()
    ]
    return lines[-1:]


def jobs(*arguments: str) -> list[SlurmJob]:
    """Return the jobs that squeue's arguments choose, of all states that Slurm still knows.

    Raises MachineError.
    """
    return parsed_jobs(ask("squeue", "--noheader", "--states=all", f"--format={_JOB}", *arguments))


def parsed_jobs(output: str) -> list[SlurmJob]:
    """Parse the output of squeue."""
    rows = [line.split("|") for line in output.splitlines() if line.count("|") >= 5]
    return [
        SlurmJob(
            id.strip(), state, limit_s(time_left), limit_s(ran), "|".join(tail[:-1]).strip("()"), tail[-1]
        )
        for id, state, time_left, ran, *tail in rows
    ]


def job(id: str) -> SlurmJob:
    """Return a job; one that Slurm no longer knows has ended. Raises MachineError: Slurm does not answer."""
    try:
        found_jobs = jobs(f"--jobs={id}")
    except MachineError as error:
        if "Invalid job id" not in error.what:
            raise
        found_jobs = []
    return found_jobs[0] if found_jobs else SlurmJob(id, "COMPLETED", 0.0, 0.0, "", "")


def over(id: str) -> Callable[[], str]:
    """Return a function for how a job has ended, or for how long it was suspended after now; both raise
    MachineError.
    """
    ran_s, since_s = job(id).ran_s, time.time()  # squeue goes by this machine's clock, too

    def ending() -> str:
        job_now = job(id)
        paused_s = time.time() - since_s - (job_now.ran_s - ran_s)
        return job_now.end or (
            f"was suspended for {seconds_text(round(paused_s))}" if paused_s > _PAUSE_S else ""
        )

    return ending


def partitions() -> list[Partition]:
    """Return all partitions. Raises MachineError."""
    return parsed_partitions(ask("sinfo", "--noheader", "--format=%R|%l|%D"))


def parsed_partitions(output: str) -> list[Partition]:
    """Parse the output of sinfo: nodes of one partition may be on several lines.

    Other lines are skipped, such as warnings.
    """
    partitions: dict[str, Partition] = {}
    for line in output.splitlines():
        if match := _PARTITION.fullmatch(line):
            name, limit, count = match.groups()
            before_count = partitions[name].nodes_count if name in partitions else 0
            partitions[name] = Partition(name, limit_s(limit), before_count + int(count))
    return list(partitions.values())


def configured_energy() -> str:
    """Return by what Slurm itself counts its nodes' energy, or "not configured". Raises MachineError."""
    match = re.search(
        r"^AcctGatherEnergyType\s*=\s*acct_gather_energy/(\S+)",
        ask("scontrol", "show", "config"),
        re.MULTILINE,
    )
    return match[1] if match and match[1] != "none" else "not configured"


def addresses(nodes: str) -> dict[str, str]:
    """Return the address of each node of a pattern, in Slurm's order. Raises MachineError."""
    names = ask("scontrol", "show", "hostnames", nodes).split()
    return parsed_addresses(ask("scontrol", "show", "node", "--oneliner", ",".join(names)))


def parsed_addresses(output: str) -> dict[str, str]:
    """Parse the output of scontrol."""
    addresses_of: dict[str, str] = {}
    for line in output.splitlines():
        fields = dict(field.split("=", 1) for field in line.split() if "=" in field)
        if "NodeName" in fields:
            addresses_of[fields["NodeName"]] = fields.get("NodeAddr", fields["NodeName"])
    return addresses_of


def limit_s(text: str) -> float:
    """Parse a time as Slurm writes it, [days-]hours:minutes:seconds; inf if it is none (UNLIMITED,
    NOT_SET).
    """
    match = re.fullmatch(r"(?:([0-9]{1,9})-)?(?:([0-9]{1,9}):)?([0-9]{1,9}):([0-9]{1,9})", text.strip())
    if match is None:
        return math.inf if text.strip() != "INVALID" else 0.0
    days, hours, minutes, seconds = (int(number or 0) for number in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
