"""Ranks of MPI programs, started by srun. https://slurm.schedmd.com/mpi_guide.html"""

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from perjoule.drivers.protocols import Launcher, Process
from perjoule.model import Json
from perjoule.model.errors import MachineError
from perjoule.testbeds import _process
from perjoule.testbeds.slurm import commands

# Ranks may be more than CPUs, and all of them end when one fails.
_STEP = (
    "--quiet",
    "--overlap",
    "--overcommit",
    "--cpu-bind=none",
    "--mem=0",
    "--kill-on-bad-exit=1",
    "--export=ALL",
)
_USELESS = ("none", "openmpi")  # these start ranks that don't know each other
_PASSED = "SLURM_CONF"
# $1 the run, then each host's name, the number of words of its prefix, and these; "" and the program. A rank
# bears its mark.
RANK = r"""
export PERJOULE_HOST=$1-$SLURMD_NODENAME
shift
while [ -n "$1" ]; do
  [ "$1" != "$SLURMD_NODENAME" ] || prefix=("${@:3:$2}")
  shift $((2 + $2))
done
shift
[ ${#prefix[@]} != 0 ] || exit 125
exec "${prefix[@]}" "$@"
"""


class RankLauncher(Launcher):
    """Starts ranks on nodes of a job, under the mark by which their keepers end them."""

    def __init__(self, job: str, run: str) -> None:
        """Ask srun for its ways."""
        self._job, self._run = job, run
        output = ""
        with contextlib.suppress(MachineError):  # mpirun is left, and most loads have no ranks
            output = commands.ask("srun", "--mpi=list")
        self._kinds = {f"srun --mpi={kind}": kind for kind in kinds(output)}
        self.ways = tuple(self._kinds)
        self.facts: dict[str, Json] = {}

    def spawn(
        self,
        method: str,
        prefixes: Mapping[str, Sequence[str]],
        argv: Sequence[str],
        *,
        count: int,
        log: Path,
        env: Mapping[str, str],
    ) -> Process:
        """Start one step on all nodes; killed, srun takes its ranks with it."""
        passed = {_PASSED: os.environ[_PASSED]} if _PASSED in os.environ else {}
        # Ranks in the order of these nodes, not in Slurm's.
        hostfile = {"SLURM_HOSTFILE": str(log.with_name(f"{log.stem}-hosts"))}
        Path(hostfile["SLURM_HOSTFILE"]).write_text("".join(f"{name}\n" * count for name in prefixes))
        command = [
            "env",
            "-i",
            *(f"{name}={value}" for name, value in {**env, **passed, **hostfile}.items()),
            "srun",
            *_STEP,
        ]
        command += [f"--jobid={self._job}", f"--mpi={self._kinds[method]}", "--distribution=arbitrary"]
        command += [f"--nodes={len(prefixes)}", f"--ntasks={count * len(prefixes)}", "--"]
        command += ranked(self._run, prefixes, argv)
        return _process.Program((), command, where=f"Slurm job {self._job}", log=log, env=None, text=None)


def ranked(run: str, prefixes: Mapping[str, Sequence[str]], argv: Sequence[str]) -> list[str]:
    """Return the command of each rank, which looks up the prefix of its host."""
    prefixes_flat = [
        argument for name, prefix in prefixes.items() for argument in (name, str(len(prefix)), *prefix)
    ]
    return ["bash", "--norc", "-c", RANK, "perjoule-rank", run, *prefixes_flat, "", *argv]


def kinds(output: str) -> list[str]:
    """Parse kinds of MPI that `srun --mpi=list` prints, the best first.

    One of several versions of PMIx may be the right one.
    """
    general = re.findall(r"^[ \t]+(\w+)$", output, re.MULTILINE)
    versions = re.findall(r"pmix_\w+", output.partition("specific pmix")[2])
    usable = [name for name in dict.fromkeys(general) if name not in _USELESS]
    return [
        *(name for name in usable if name == "pmix"),
        *versions,
        *(name for name in usable if name != "pmix"),
    ]
