"""The cost of a campaign, estimated without touching anything: bytes and time of each trial."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from types import MappingProxyType

from perjoule import catalogue, drivers
from perjoule.campaign.defaults import COUNTERS, MODEL
from perjoule.campaign.reading import follows, shares_blocks
from perjoule.campaign.tables import fields_of
from perjoule.drivers.protocols import (
    ComputesBesides,
    ComputesInHosts,
    RemakesPools,
    laid_out_bytes,
)
from perjoule.model import Campaign, Spec, Trial
from perjoule.model.units import BYTES, MIB, SECONDS, exact_text, seconds_text

# Allowances, from the first runs on two cores and from Table II of "Green Storage" (20 to 80 % of TPP are
# reached); of one server alone, which sends nothing to others, in 40 trials of the Cubieboards' NAS.
REACHED_RATIO, ALONE_RATIO = 0.5, 0.85
# Of a trial besides its idle times and its load, where hosts are fast: its folder and dropped caches (0.4), the wait for
# a common start (0.5), its record (0.4); in 160 trials of "Green Storage". On clients' own disks, in 384 of "SSD and HDD".
TRIAL_S, LOCAL_TRIAL_S = 1.3, 0.7
LOCAL_DEPLOYMENT_S = 1.0  # of hosts without servers
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
            # hosts that work where the data lie have no network of clients between
            at_work = speed_bytes_per_s(trial.testbed, None) if workload.using else speed
            measured_s = loading_s = workload.loading_s(trial.clients_count, at_work)
            laid_bytes = laid_out_bytes(workload, trial.clients_count)
            # a read behind its own write finds what that wrote, as `execution.layouts` has it
            if not (before and follows(before, trial)) and laid_bytes > blocks_bytes:
                loading_s += laid_bytes / speed
                blocks_bytes = laid_bytes if shares_blocks(trial) else 0
            duration_s = loading_s + 2 * campaign.settle_s + besides_s(trial, before)
            optional = campaign.until is not None and trial.repetition > campaign.least_count
            steps.append(PlannedTrial(trial, moved_bytes, duration_s, measured_s, optional, index))
    aligned_s = 2 * campaign.align_s  # before a deployment's trials and after them
    return Plan(
        tuple(steps),
        tuple(_deployment_s(group[0]) + aligned_s for group in campaign.groups),
    )


def _deployment_s(trial: Trial) -> float:
    bed = drivers.testbed(trial.testbed)
    served = bed.hardware is None or catalogue.servers(bed.hardware)
    return bed.deployment_s if served else min(bed.deployment_s, LOCAL_DEPLOYMENT_S)


def besides_s(trial: Trial, before: Trial | None = None) -> float:
    """Return how long a trial takes in wall time besides its idle times and its load: longer where processors are slow.

    `before` is the trial before it on its deployment, which may have left objects to remove.
    """
    bed, workload = drivers.testbed(trial.testbed), drivers.workload(trial.workload)
    if bed.hardware is None or bed.reality == "simulated":
        return TRIAL_S
    nodes = bed.hardware.nodes
    clients_mips = [node.board.mips.value for node in nodes if node.role == "client"]
    servers_mips = [node.board.mips.value for node in nodes if node.role != "client"]
    client_mips = bed.scale_ratio * min(clients_mips or servers_mips)
    server_mips = bed.scale_ratio * min(servers_mips or clients_mips)
    took_s = (TRIAL_S if servers_mips else LOCAL_TRIAL_S) + START_MIPS_S / client_mips
    if isinstance(workload, ComputesInHosts):
        took_s += workload.start_mips_s / (server_mips if workload.using else client_mips)
        took_s += workload.prepared_mips_s / server_mips
    filesystem = drivers.filesystem(trial.filesystem)
    if isinstance(filesystem, ComputesBesides):
        files_count = trial.clients_count if "read" in workload.directions else 0
        loads_count = 1
        if isinstance(workload, RemakesPools) and workload.remakes_pools:
            loads_count = len(workload.directions)
            took_s += _pools_s(filesystem, workload.pools_apart_s, trial.clients_count, server_mips)
        mips_s = filesystem.trial_mips_s * loads_count + filesystem.file_mips_s * files_count
        objects_count = _objects_count(trial) + (_objects_count(before) if before else 0.0)
        storage_count = sum(node.count for node in nodes if node.role == "storage")
        mips_s += filesystem.object_mips_s * objects_count / max(1, storage_count)
        took_s += mips_s / server_mips
    return took_s


def _pools_s(
    filesystem: ComputesBesides, apart_s: tuple[float, float], clients_count: int, mips: float
) -> float:
    """Return how long clients' pools take to be made and deleted beyond the time between them."""
    each_s = (filesystem.pool_made_mips_s / mips, filesystem.pool_deleted_mips_s / mips)
    return sum(
        pool_s + (clients_count - 1) * max(0.0, pool_s - least_s)
        for pool_s, least_s in zip(each_s, apart_s, strict=True)
    )


def _objects_count(trial: Trial) -> float:
    """Return how many objects a trial puts or finds in buckets."""
    workload = drivers.workload(trial.workload)
    if workload.needs != "buckets" or not workload.pattern.transfer_bytes:
        return 0.0
    return workload.stored_bytes(trial.clients_count) / workload.pattern.transfer_bytes


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
    alike: dict[tuple[str, str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for (workload, meter), (loading_s, least_s, spec) in shortest.items():
        length = f"about {seconds_text(loading_s)}" if loading_s > 0 else "less than a second"
        line = longer(spec, least_s / loading_s) if loading_s > 0 else ""
        advice = f"write {line}" if line else "choose a larger size or a longer time"
        workloads, meters = alike.setdefault((length, seconds_text(least_s), advice), ({}, {}))
        workloads[workload] = meters[meter] = None
    for (length, least, advice), (workloads, meters) in alike.items():
        names, of_meters = ", ".join(workloads), " and ".join(meters)
        yield (
            f"{names}: a load of {length} is too short for {of_meters}, which {'need' if len(meters) > 1 else 'needs'} "
            f"{least}; {advice}, or choose a higher rate of {of_meters}"
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


def speed_bytes_per_s(testbed: Spec, clients_count: int | None) -> float:
    """Return the expected speed in wall time: half of what the network and the disks of the testbed's
    cluster allow, more of one server's, and all that disks of clients do.

    `clients_count` is of those that load over the network; None: hosts work where the data lie.
    """
    bed = drivers.testbed(testbed)
    cluster = bed.hardware
    if cluster is None:
        return UNKNOWN_BYTES_PER_S
    if not catalogue.servers(cluster):  # clients with disks of their own
        of_disks = (disk.write_bytes_per_s.value for node in cluster.nodes for disk in node.disks)
        return (clients_count or 1) * sum(of_disks) * bed.scale_ratio
    nics = [node.board.nic_bytes_per_s.value for node in cluster.nodes if node.role == "client"]
    of_clients = [nic * clients_count for nic in nics] if clients_count is not None else []
    alone = sum(node.count for node in cluster.nodes if node.role == "storage") == 1
    reached_ratio = ALONE_RATIO if alone else REACHED_RATIO
    return reached_ratio * min([catalogue.tpp_bytes_per_s(cluster), *of_clients]) * bed.scale_ratio
