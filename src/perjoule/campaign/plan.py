"""The cost of a campaign, estimated without touching anything: bytes and time of each trial."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from types import MappingProxyType

from perjoule import catalogue, drivers
from perjoule.campaign.defaults import COUNTERS, MODEL
from perjoule.campaign.reading import follows, shares_blocks
from perjoule.campaign.tables import fields_of
from perjoule.drivers.protocols import ComputesBesides, laid_out_bytes
from perjoule.model import Campaign, Spec, Trial
from perjoule.model.units import BYTES, MIB, SECONDS, exact_text, seconds_text

# Allowances, from the first runs on two cores and from Table II of "Green Storage" (20 to 80 % of TPP are
# reached).
REACHED_RATIO = 0.5
# Of a trial besides its idle times and its load, where hosts are fast: its folder and dropped caches (0.4), the wait for
# a common start (0.5), its record (0.4); in 160 trials of "Green Storage".
TRIAL_S = 1.3
# What a client computes to start an engine: seconds of a processor that 7-zip rates 1 MIPS.
START_MIPS_S = 700.0
UPDATES_COUNT = 20  # of a meter in a window, so that one more or less is a twentieth of the energy
# the same of the counters of hosts, and of watts modelled from them: they count between reads
COUNTERS_COUNT = 5
_GIB = 1024 * MIB
UNKNOWN_BYTES_PER_S = 100e6  # of a testbed that is not in the catalogue


@dataclass(frozen=True)
class PlannedTrial:
    """One trial with its expected cost."""

    trial: Trial
    moved_bytes: int
    duration_s: float  # wall time, without that of its deployment
    loading_s: float = 0.0  # of it, the shortest measured window
    optional: bool = False  # a stop rule may find it unnecessary
    group_index: int = 0  # of its deployment


@dataclass(frozen=True)
class Plan:
    """All trials in order."""

    steps: tuple[PlannedTrial, ...]
    deployments_s: tuple[float, ...]  # for bringing up and taking down each group

    @property
    def moved_bytes(self) -> int:
        """The bytes of all measured windows."""
        return sum(step.moved_bytes for step in self.steps)

    @property
    def duration_s(self) -> float:
        """The wall time from the first bring-up to the last record, roughly."""
        return sum(self.deployments_s) + sum(step.duration_s for step in self.steps)

    @property
    def least_duration_s(self) -> float:
        """The same, if no trial that a stop rule may find unnecessary is needed."""
        return self.duration_s - sum(step.duration_s for step in self.steps if step.optional)

    @property
    def guess(self) -> str:
        """What the times of loads rest on where a testbed's hardware is not known; "" where it is."""
        beds = {step.trial.testbed.label: step.trial.testbed for step in self.steps if step.moved_bytes}
        if all(drivers.testbed(bed).hardware for bed in beds.values()):
            return ""
        return f"at {UNKNOWN_BYTES_PER_S / 1e6:g} MB/s of all clients, a guess"

    def missing_s(self, missing: Container[str]) -> dict[str, float]:
        """Return the wall time of each missing trial by its ID: the first one of a group has its deployment too."""
        steps = [step for step in self.steps if step.trial.id in missing]
        first = {step.group_index: step.trial.id for step in reversed(steps)}
        return {
            step.trial.id: step.duration_s
            + self.deployments_s[step.group_index] * (first[step.group_index] == step.trial.id)
            for step in steps
        }


def plan(campaign: Campaign) -> Plan:
    """Estimate bytes and wall time, including the time to write files for reads, outside the measured
    window.
    """
    steps: list[PlannedTrial] = []
    for index, group in enumerate(campaign.groups):
        blocks_bytes = 0  # of a device that are laid out
        for before, trial in zip((None, *group), group, strict=False):
            workload = drivers.workload(trial.workload)
            moved_bytes = workload.moved_bytes(trial.clients_count)
            speed = speed_bytes_per_s(trial.testbed, trial.clients_count)
            measured_s = loading_s = workload.loading_s(trial.clients_count, speed)
            laid_bytes = laid_out_bytes(workload, trial.clients_count)
            # a read behind its own write finds what that wrote, as `execution.layouts` has it
            if not (before and follows(before, trial)) and laid_bytes > blocks_bytes:
                loading_s += laid_bytes / speed
                blocks_bytes = laid_bytes if shares_blocks(trial) else 0
            duration_s = loading_s + 2 * campaign.settle_s + besides_s(trial)
            optional = campaign.until is not None and trial.repetition > campaign.least_count
            steps.append(PlannedTrial(trial, moved_bytes, duration_s, measured_s, optional, index))
    aligned_s = 2 * campaign.align_s  # before a deployment's trials and after them
    return Plan(
        tuple(steps),
        tuple(drivers.testbed(group[0].testbed).deployment_s + aligned_s for group in campaign.groups),
    )


def besides_s(trial: Trial) -> float:
    """Return how long a trial takes in wall time besides its idle times and its load: longer where processors are slow."""
    bed, filesystem = drivers.testbed(trial.testbed), drivers.filesystem(trial.filesystem)
    if bed.hardware is None or bed.reality == "simulated":
        return TRIAL_S
    server_mips_s = 0.0
    if isinstance(filesystem, ComputesBesides):
        reads = "read" in drivers.workload(trial.workload).directions
        files_count = trial.clients_count if reads else 0
        server_mips_s = filesystem.trial_mips_s + filesystem.file_mips_s * files_count
    nodes = bed.hardware.nodes
    clients_mips = [node.board.mips.value for node in nodes if node.role == "client"]
    servers_mips = [node.board.mips.value for node in nodes if node.role != "client"]
    start_s = START_MIPS_S / min(clients_mips or servers_mips)
    return TRIAL_S + (start_s + server_mips_s / min(servers_mips or clients_mips)) / bed.scale_ratio


def short_loads(plan: Plan, update_s: Mapping[str, float] = MappingProxyType({})) -> Iterator[str]:
    """Say which loads will be too short for a meter, and the line to write: a window needs some of its updates.

    Args:
        plan: the campaign's.
        update_s: time between two updates of meters that were asked, by label; of others as often as they are polled.
    """
    shortest: dict[tuple[str, str], tuple[float, float, Spec]] = {}
    for step in plan.steps:
        for spec in step.trial.meters:
            count = COUNTERS_COUNT if spec.kind in (COUNTERS, MODEL) else UPDATES_COUNT
            least_s = count * max(1 / drivers.meter(spec).sampled_hz, update_s.get(spec.label, 0.0))
            key = (step.trial.workload.label, spec.label)
            if step.loading_s < min(least_s, shortest.get(key, (least_s,))[0]):
                shortest[key] = (step.loading_s, least_s, step.trial.workload)
    for (workload, meter), (loading_s, least_s, spec) in shortest.items():
        length = f"about {seconds_text(loading_s)}" if loading_s >= 1 else "less than a second"
        line = longer(spec, least_s / loading_s) if loading_s > 0 else ""
        advice = f"write {line}" if line else "choose a larger size or a longer time"
        yield (
            f"{workload}: a load of {length} is too short for {meter}, which needs {seconds_text(least_s)}; "
            f"{advice}, or choose a higher rate of {meter}"
        )


def longer(workload: Spec, ratio: float) -> str:
    """Return the line of a workload's table with which it loads this much longer; "" if no option says how long."""
    driver, fields = drivers.workload(workload), fields_of("workload", workload.kind)
    for option, units in (("duration", SECONDS), ("size", BYTES)):
        field = fields[option][0] if option in fields else ""
        value = vars(driver).get(field)
        if isinstance(value, float | int) and value:
            step = 1.0 if option == "duration" else _GIB if value * ratio > _GIB else MIB
            return f'{option} = "{exact_text(ceil(value * ratio / step) * step, units)}"'
    return ""


def speed_bytes_per_s(testbed: Spec, clients_count: int) -> float:
    """Return the expected speed in wall time: half of what the network and the disks of the testbed's
    cluster allow.
    """
    bed = drivers.testbed(testbed)
    cluster = bed.hardware
    if cluster is None:
        return UNKNOWN_BYTES_PER_S
    nics = [node.board.nic_bytes_per_s.value for node in cluster.nodes if node.role == "client"]
    peak_bytes_per_s = min([catalogue.tpp_bytes_per_s(cluster), *(nic * clients_count for nic in nics)])
    if not catalogue.servers(cluster):  # clients with disks of their own
        peak_bytes_per_s = clients_count * sum(
            d.write_bytes_per_s.value for n in cluster.nodes for d in n.disks
        )
    return REACHED_RATIO * peak_bytes_per_s * bed.scale_ratio
