"""Resources for a campaign on this machine: disk space, memory and processes, before it starts.

A campaign that does not fit is refused before anything is touched. Its needs are an estimate: the files of
all its workloads at once with their copies or parity, an allowance for each disk that is made, the results.
On every disk a reserve stays free for the rest of the machine (`host_disks` checks those of other machines,
`disk_watch` watches all of them while the campaign runs).
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from perjoule import drivers
from perjoule.campaign.plan import speed_bytes_per_s
from perjoule.drivers.protocols import Check, Hosts
from perjoule.machine.disks import reserve_bytes
from perjoule.model import Trial
from perjoule.model.errors import CampaignError
from perjoule.model.units import MIB, bytes_text

DISK_BYTES = 64 * MIB  # of a new file system's journal and tables; 60 to 70 MiB measured on ext4 and xfs
TRIAL_BYTES = 24 * 1024  # of results: a record and the head of a series; 20 KB measured of simulated trials
SAMPLE_BYTES = 16  # of one sample in a series, compressed; 13 measured
# of a host: its counters, and the parts of its watts; 1.5 MB a trial measured in the demo
CHANNELS_COUNT = 20
LOAD_BYTES = 64 * MIB  # of a host's memory: programs that load, and the page cache without which nothing runs
PERJOULE_BYTES = 512 * MIB  # of memory: 170 MB measured in the demo, and the report

CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class SpaceNeed:
    """Bytes below a folder, and their purpose."""

    folder: Path
    needed_bytes: int
    purpose: str


def checks(trials: Sequence[Trial], results: Path, *, settle_s: float = 1.0) -> tuple[Check, ...]:
    """Check whether trials, and their results (in a folder that may not exist yet), fit on this machine.

    `settle_s` is the campaign's idle time before and after each load.
    """
    return (
        *disk_checks(needs(trials, results, settle_s=settle_s)),
        *_memory_and_tasks(trials),
        *_memory_of_hosts(trials),
        *_space_beside(trials),
    )


def needs(trials: Sequence[Trial], results: Path, *, settle_s: float = 1.0) -> tuple[SpaceNeed, ...]:
    """Return the space needed in each folder of this machine.

    Deployments follow one another: the largest in a folder counts.
    """
    stored: dict[Path, int] = {}
    deployments: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        deployments.setdefault((trial.testbed.label, trial.filesystem.label), []).append(trial)
    for group in deployments.values():
        folder = drivers.filesystem(group[0].filesystem).folder(drivers.testbed(group[0].testbed).folder)
        if folder is not None and (hosts := _planned(group)):
            stored[folder] = max(stored.get(folder, 0), stored_bytes(group, hosts))
    stored_needs = [SpaceNeed(folder, count, "data of the file systems") for folder, count in stored.items()]
    return (*stored_needs, SpaceNeed(results, results_bytes(trials, settle_s), "results"))


def results_bytes(trials: Sequence[Trial], settle_s: float) -> int:
    """Return the space that the results of trials take: a record each, and the samples of its meters."""
    alike: dict[tuple[str, str, int], list[Trial]] = {}
    for trial in trials:
        alike.setdefault((trial.testbed.label, trial.workload.label, trial.clients_count), []).append(trial)
    return sum(len(group) * _trial_bytes(group[0], settle_s) for group in alike.values())


def _trial_bytes(trial: Trial, settle_s: float) -> int:
    testbed, workload = drivers.testbed(trial.testbed), drivers.workload(trial.workload)
    speed = speed_bytes_per_s(trial.testbed, trial.clients_count)
    length_s = workload.loading_s(trial.clients_count, speed) + 2 * settle_s
    hosts_count = 1
    with suppress(CampaignError):
        hosts_count = len(testbed.planned(trial.clients_count).all)
    samples_hz = max(
        (hz for spec in trial.meters if isfinite(hz := drivers.meter(spec).sampled_hz)), default=0.0
    )
    return TRIAL_BYTES + round(SAMPLE_BYTES * samples_hz * hosts_count * CHANNELS_COUNT * length_s)


def folders(trials: Sequence[Trial], results: Path) -> tuple[Path, ...]:
    """Name the folders of this machine that trials write to."""
    pairs = {(trial.testbed.label, trial.filesystem.label): trial for trial in trials}.values()
    places = [
        drivers.filesystem(trial.filesystem).folder(drivers.testbed(trial.testbed).folder) for trial in pairs
    ]
    return (*dict.fromkeys(folder for folder in places if folder is not None), results)


def stored_bytes(group: Sequence[Trial], hosts: Hosts) -> int:
    """Return the space for one deployment: an allowance for disks and its loads, or all that ageing may
    fill.
    """
    loads_bytes = _loads_bytes(group, hosts) + DISK_BYTES * len(hosts.servers)
    return max(loads_bytes, made_when_aged_bytes(group[0], hosts))


def _loads_bytes(group: Sequence[Trial], hosts: Hosts) -> int:
    """Return the space for the largest load of each workload in one deployment, with redundancy."""
    largest: dict[str, int] = {}
    for trial in group:
        stored_bytes = drivers.workload(trial.workload).stored_bytes(trial.clients_count)
        largest[trial.workload.label] = max(largest.get(trial.workload.label, 0), stored_bytes)
    filesystem = drivers.filesystem(group[0].filesystem)
    explained = filesystem.amplification(hosts.without(drivers.joining(group[0].events)))
    ratio = (
        explained.on_mirrors(filesystem.legs_count).write.disk_written_ratio
        if explained
        else float(filesystem.legs_count)
    )
    return round(sum(largest.values()) * ratio)


def made_when_aged_bytes(trial: Trial, hosts: Hosts) -> int:
    """Return the size of all that is made for the data of a file system that is aged, which may fill it
    all; 0 if it is not.
    """
    filesystem = drivers.filesystem(trial.filesystem)
    if not filesystem.aged or not filesystem.aged.full_ratio:
        return 0
    return filesystem.made_bytes(hosts.without(drivers.joining(trial.events))) or 0


def _planned(group: Sequence[Trial]) -> Hosts | None:
    """Return the hosts of a deployment; None if its layout is impossible."""
    try:
        hosts = drivers.testbed(group[0].testbed).planned(max(trial.clients_count for trial in group))
        drivers.filesystem(group[0].filesystem).require_fit(hosts.without(drivers.joining(group[0].events)))
    except CampaignError:
        return None
    return hosts


def disk_checks(space_needs: Iterable[SpaceNeed]) -> tuple[Check, ...]:
    """Compare the space needed with free space, disk by disk."""
    disks: dict[int, list[SpaceNeed]] = {}
    for need in space_needs:
        disks.setdefault(existing(need.folder).stat().st_dev, []).append(need)
    return tuple(_disk_check(together) for together in disks.values())


def _disk_check(together: Sequence[SpaceNeed]) -> Check:
    first = max(together, key=lambda need: need.needed_bytes)
    usage = shutil.disk_usage(existing(first.folder))
    needed_bytes, kept_bytes = sum(need.needed_bytes for need in together), reserve_bytes(usage.total)
    purposes = " and ".join(
        f"{bytes_text(need.needed_bytes)} of {need.purpose}" for need in together if need.needed_bytes
    )
    space = f"{bytes_text(usage.free)} free, of which {bytes_text(kept_bytes)} stay in reserve"
    # what has no size (/proc) says itself what is wrong
    ok = usage.free >= needed_bytes + kept_bytes or usage.total == 0
    fix = (
        "free space, choose smaller sizes (--shrink), or another disk (PERJOULE_WORK for data, --into for "
        "results)"
    )
    return Check(
        f"disk of {first.folder}",
        ok,
        f"{purposes} does not fit: {space}" if not ok else f"{purposes}; {space}",
        fix,
    )


def existing(folder: Path) -> Path:
    """Return a folder, or the lowest one above it that exists."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())


def _memory_and_tasks(trials: Sequence[Trial]) -> tuple[Check, ...]:
    """Compare the daemons and clients of the largest deployment with free memory and the limit of
    processes.
    """
    needed_bytes, needed_count = PERJOULE_BYTES, 0
    for trial in {(t.testbed.label, t.filesystem.label, t.clients_count): t for t in trials}.values():
        testbed, filesystem = drivers.testbed(trial.testbed), drivers.filesystem(trial.filesystem)
        if testbed.folder is None:
            continue  # its hosts run nothing here
        hosts_count = len((_planned([trial]) or Hosts(())).all)
        needed_bytes = max(needed_bytes, PERJOULE_BYTES + hosts_count * filesystem.host_bytes)
        needed_count = max(needed_count, hosts_count * filesystem.host_tasks_count)
    limit_checks: list[Check] = []
    if (free_bytes := free_memory_bytes()) is not None:
        detail = f"about {bytes_text(needed_bytes)} needed, {bytes_text(free_bytes)} free"
        fix = "end other programs, or ask for fewer clients and servers"
        limit_checks.append(Check("memory", free_bytes >= needed_bytes, detail, fix))
    if (free_count := free_tasks_count()) is not None:
        detail = f"about {needed_count} needed, {free_count} more allowed here"
        fix = "raise the limit (pids.max of this control group)"
        limit_checks.append(Check("processes and threads", free_count >= needed_count, detail, fix))
    return tuple(limit_checks)


def _memory_of_hosts(trials: Sequence[Trial]) -> Iterator[Check]:
    """Compare the memory that hosts are capped to with what each file system's daemons and a load take on
    one of them.
    """
    for group in {(t.testbed.label, t.filesystem.label): t for t in trials}.values():
        caps = [
            (host.memory_bytes, host.name)
            for host in (_planned([group]) or Hosts(())).all
            if host.memory_bytes is not None
        ]
        if not caps:
            continue
        least_bytes, name = min(caps, key=lambda cap: cap[0])
        filesystem = drivers.filesystem(group.filesystem)
        needed_bytes = max(filesystem.host_bytes, filesystem.largest_host_bytes) + LOAD_BYTES
        label = group.filesystem.label
        detail = (
            f"{bytes_text(least_bytes)} on {name}, where {label} and a load need about "
            f"{bytes_text(needed_bytes)}"
        )
        fix = "raise memory of [testbed], or set memory_cap = false"
        yield Check(f"memory of hosts for {label}", least_bytes >= needed_bytes, detail, fix)


def _space_beside(trials: Sequence[Trial]) -> Iterator[Check]:
    """Compare what ageing leaves free with what the loads need beside it."""
    deployments: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        deployments.setdefault((trial.testbed.label, trial.filesystem.label), []).append(trial)
    for group in deployments.values():
        aged, hosts = drivers.filesystem(group[0].filesystem).aged, _planned(group)
        if not aged or not hosts or not (made_bytes := made_when_aged_bytes(group[0], hosts)):
            continue
        left_bytes, needed_bytes = round((1 - aged.full_ratio) * made_bytes), _loads_bytes(group, hosts)
        detail = (
            f"{bytes_text(needed_bytes)} needed for loads, and {100 * aged.full_ratio:g} % full leaves "
            f"{bytes_text(left_bytes)}"
        )
        fix = "choose smaller sizes (--shrink), larger disks, or a smaller share (full)"
        yield Check(f"space left in {group[0].filesystem.label}", needed_bytes <= left_bytes, detail, fix)


def free_memory_bytes(proc: Path = Path("/proc"), cgroups: Path = CGROUPS) -> int | None:
    """Return the memory that programs can still get, by the machine and by our control group; None if
    unknown.
    """
    left_bytes: list[int] = []
    with suppress(OSError, KeyError, ValueError):
        fields = dict(line.split(":", 1) for line in (proc / "meminfo").read_text().splitlines())
        left_bytes.append(int(fields["MemAvailable"].split()[0]) * 1024)
    names = (
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
        ("", "memory.max", "memory.current"),
    )
    left_bytes += _left(proc, cgroups, names)
    return min(left_bytes, default=None)


def free_tasks_count(proc: Path = Path("/proc"), cgroups: Path = CGROUPS) -> int | None:
    """Return how many more processes and threads our control group may have; None if it has no known
    limit.
    """
    return min(
        _left(proc, cgroups, (("pids", "pids.max", "pids.current"), ("", "pids.max", "pids.current"))),
        default=None,
    )


def _left(proc: Path, cgroups: Path, names: Sequence[tuple[str, str, str]]) -> list[int]:
    """Return what is left below each limit of our control group and of its parents, by cgroup v1 (a
    controller) and v2 ("").
    """
    left_bytes: list[int] = []
    try:
        lines = [line.split(":", 2) for line in (proc / "self" / "cgroup").read_text().splitlines()]
    except OSError:
        return left_bytes
    for controller, most, used in names:
        for _, controllers, path in (line for line in lines if len(line) == 3):
            if controller not in controllers.split(","):
                continue
            root = cgroups / controller
            group = root / path.lstrip("/")
            for folder in (group, *group.parents):
                with suppress(OSError, ValueError):  # "max", or no limit at this level
                    left_bytes.append(int((folder / most).read_text()) - int((folder / used).read_text()))
                if folder == root:
                    break
    return left_bytes
