"""Slurm's own energy of the nodes of a job, as `sstat` prints it:
https://slurm.schedmd.com/acct_gather.conf.html

It covers compute nodes, never storage, and as much of a node as the plugin's sensor does. It is a check on
other meters. Each step counts whole joules of its node since the step's start. `sstat` shows what the plugin
reads at that moment (`pm_counters`), or the last of its polls (`ipmi`: every 30 s by default).
"""

import re
import shutil
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from math import nan

from pydantic.dataclasses import dataclass

from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Check, Hosts, Outlet, Sink
from perjoule.meters._metered import Metered, MeterReading, Read
from perjoule.meters._tool import printed
from perjoule.model import OPTIONS, Channel, Grade, Specification
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.errors import CampaignError, MachineError, PerjouleError
from perjoule.model.units import Hertz

EXAMPLE = """
[[meter]]
kind = "slurm"
rate = "1 Hz"
"""
ANSWER_S = 20.0
# What a plugin measures; others read a sensor of the whole node.
_PARTS: Mapping[str, str] = {"rapl": "cpu", "gpu": "gpus"}
_UNKNOWN_J = 2**63  # Slurm's mark for no value is above


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class SlurmEnergy(Metered):
    """The energy that Slurm counts for the job's nodes; without energy accounting a doubt says so, and
    nothing is recorded.
    """

    covers: tuple[str, ...] = ()
    """The nodes, each of which is a channel of its own; by default all hosts but those outside of the job."""

    rate_hz: Hertz = 1.0
    """How often `sstat` is called, on average."""

    job: str = ""
    """The number of the job; that of testbed slurm by default."""

    @property
    def named(self) -> Mapping[str, tuple[str, ...]]:
        """No hosts: nodes of a job, which needn't be hosts of the testbed."""
        return {}

    def outlets(self, hosts: Hosts) -> Sequence[Outlet]:
        """Nothing: only the job says which nodes it has."""
        return ()

    @contextmanager
    def record(self, hosts: Hosts, sink: Sink) -> Generator[list[Doubt]]:
        """Stream its counters. Raises CampaignError: the hosts belong to no job."""
        slurm_facts = hosts.facts.get("slurm")
        facts = slurm_facts if isinstance(slurm_facts, dict) else {}
        job = self.job or str(facts.get("job", ""))
        if not job:
            advice = "use testbed slurm, set job, or remove this meter"
            raise CampaignError(
                "these hosts belong to no Slurm job", where=f"meter {self.label}", next=advice
            )
        try:
            if not (kind := configured(_asked("scontrol", "show", "config"))):
                raise MachineError("AcctGatherEnergyType is not set")
            if not counters(_asked(*_sstat(job))):
                raise MachineError(f"{kind} shows no energy")
        except PerjouleError as error:
            yield [METERS.job_uncounted(meter=self.label, error=error.what)]
            return
        of_job = copy(self)  # `replace` can't: options have other names than fields
        object.__setattr__(of_job, "job", job)
        outside = facts.get("outside")
        nodes = tuple(
            host.name for host in hosts.all if not (isinstance(outside, list) and host.name in outside)
        )
        object.__setattr__(of_job, "covers", self.covers or nodes)
        with super(SlurmEnergy, of_job).record(hosts, sink) as doubts:
            yield doubts

    @contextmanager
    def connect(self, extent: Boundary) -> Generator[Read]:
        """Choose the first step of each node, which lives as long as our keepers. Raises PerjouleError."""
        kind = configured(_asked("scontrol", "show", "config"))
        channels = {node: channel(self.label, node, kind) for node in extent.covers or (extent.host,)}
        first_steps: dict[str, str] = {}

        def read() -> Iterable[MeterReading]:
            joules = counters(_asked(*_sstat(self.job)))
            for node, node_channel in channels.items():
                steps = joules.get(node, {})
                step = first_steps.setdefault(node, next(iter(steps), ""))
                yield MeterReading(node_channel, steps.get(step, nan))

        yield read

    @property
    def sampled_hz(self) -> float:
        """How often it is read."""
        return self.rate_hz

    def checks(self) -> tuple[Check, ...]:
        """Check for Slurm's command; whether energy is counted, the recording says."""
        path = shutil.which("sstat")
        return (
            Check(
                "sstat",
                bool(path),
                path or "missing",
                "run perjoule where Slurm's commands are",
                needed=False,
            ),
        )

    def answers(self) -> tuple[Check, ...]:
        """Ask nothing: without a job, which the testbed has only when it is held, Slurm counts no energy."""
        return super().answers() if self.job else ()


def channel(meter: str, node: str, kind: str) -> Channel:
    """Return the channel of a node, as much of which is covered as the plugin's sensor sees."""
    grade: Grade = "component" if kind in _PARTS else "BMC"
    return Boundary(meter, node, _PARTS.get(kind, "all")).channel(
        "energy", "counter", grade, Specification(resolution=1.0)
    )


def configured(output: str) -> str:
    """Parse the plugin's name in the output of `scontrol show config`; "" if there is no energy
    accounting.
    """
    match = re.search(r"^AcctGatherEnergyType\s*=\s*acct_gather_energy/(\w+)", output, re.MULTILINE)
    return match[1] if match and match[1] != "none" else ""


def counters(output: str) -> dict[str, dict[str, float]]:
    """Parse the output of sstat: the joules of each step that runs on one node, by node and step, the
    oldest step first.
    """
    joules_by_node: dict[str, dict[str, float]] = {}
    for line in output.splitlines():
        step, joules, nodes = (*line.split("|"), "", "")[:3]
        if joules.isdecimal() and int(joules) < _UNKNOWN_J and re.fullmatch(r"[\w.-]+", nodes):
            joules_by_node.setdefault(nodes, {})[step] = float(joules)
    return {
        node: dict(sorted(steps.items(), key=lambda item: _number(item[0])))
        for node, steps in joules_by_node.items()
    }


def _number(step: str) -> int:
    numbers = re.findall(r"(?<!\d)\d+$", step)
    return int(numbers[0]) if numbers else 2**31  # "7.batch" and "7.extern" come last


def _sstat(job: str) -> list[str]:
    columns = "--format=JobID,ConsumedEnergyRaw,Nodelist"
    return ["sstat", "--allsteps", "--noheader", "--parsable2", columns, f"--jobs={job}"]


def _asked(*argv: str) -> str:
    """Return what a command of Slurm prints.

    Raises MachineError with its message, or TransientError as `printed` does.
    """
    try:
        completed = printed(argv, timeout_s=ANSWER_S)
    except OSError as error:
        raise MachineError(
            f"{argv[0]} could not be started ({error.strerror})", next="install Slurm's commands"
        ) from None
    if completed.returncode:
        message = (completed.stderr.decode(errors="replace").strip() or "no message").splitlines()[-1]
        raise MachineError(f"{argv[0]} failed ({message})")
    return completed.stdout.decode(errors="replace")
