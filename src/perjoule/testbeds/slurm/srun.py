"""The way onto a node of an allocation: a step of the job. https://slurm.schedmd.com/srun.html"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from perjoule.model.errors import MachineError, PerjouleError
from perjoule.testbeds.cluster import Login

# A step has all CPUs and the memory of its node, and may run beside others.
_STEP = ("--quiet", "--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none", "--mem=0", "--mpi=none")
_SAYINGS = (
    (
        ("Invalid job id", "has expired", "has already completed", "Job/step already completing"),
        "the job has ended",
    ),
    (("CANCELLED", "Job has been cancelled"), "the job was cancelled"),
    (("timed out",), "its step did not start"),
)


@dataclass(frozen=True)
class Srun(Login):
    """How to start a step on one node of a job."""

    units: ClassVar[bool] = False  # a step has the job's limits
    name: str
    job: str

    @property
    def where(self) -> str:
        """The node and its job."""
        return f"{self.name} (Slurm job {self.job})"

    def command(
        self, argv: Sequence[str], *, socket: str = "", master: bool = False, verb: Sequence[str] = ()
    ) -> list[str]:
        """Return the command of a step of its own; steps share no connection."""
        # srun takes a lone colon anywhere for the next part of a heterogeneous job, so it gets a single
        # quoted word.
        return [
            "srun",
            *_STEP,
            f"--jobid={self.job}",
            f"--nodelist={self.name}",
            "--",
            "sh",
            "-c",
            f"exec {shlex.join(argv)}",
        ]

    def refusal(self, message: str) -> PerjouleError:
        """Turn srun's message into an error and its fix."""
        if lack := self.bash_lack(message):
            return lack
        last = next(
            (line.strip() for line in reversed(message.splitlines()) if line.strip()), "srun printed nothing"
        )
        for sayings, problem in _SAYINGS:
            if any(saying in message for saying in sayings):
                return MachineError(problem, where=self.where, next=f"see `scontrol show job {self.job}`")
        advice = f"try `srun --jobid={self.job} --overlap --nodelist={self.name} true`"
        return MachineError(f"srun can't start a step: {last}", where=self.where, next=advice)
