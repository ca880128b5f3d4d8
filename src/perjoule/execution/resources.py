"""Resources for a campaign: disk space here and on its hosts, memory and processes, before it starts and while it runs.

A campaign that does not fit is refused before anything is touched. Its needs are an estimate: the files of all its workloads at
once with their copies or parity, an allowance for each disk that is made, the results. On every disk a reserve stays free for the
rest of the machine. If a disk fills up nevertheless, the campaign stops while there is still space to take it down.
"""

import shutil
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from perjoule import drivers
from perjoule.drivers.protocols import Check, Host, Hosts
from perjoule.model import Trial
from perjoule.model.errors import CampaignError, MachineError, PerjouleError
from perjoule.model.units import MIB, bytes_text

RESERVE_RATIO = 0.05  # of a disk
RESERVE_BYTES = 2048 * MIB  # at least
STOP_RATIO = 0.5  # of the reserve, below which a running campaign is stopped
PERIOD_S = 0.25  # of the watch: a disk of 3 GB/s takes less than the reserve that is left
HOSTS_PERIOD_S = 2.0  # of the watch over other machines, where looking costs a process: 400 MB/s for the least reserve
DISK_BYTES = 64 * MIB  # of a new file system's journal and tables; 60 to 70 MiB measured on ext4 and xfs
TRIAL_BYTES = 4 * MIB  # of results; 1.5 MB a trial measured in the demo
PERJOULE_BYTES = 512 * MIB  # of memory: 170 MB measured in the demo, and the report

CGROUPS = Path("/sys/fs/cgroup")
_SPACE = "free space there, set work, or choose smaller sizes (--shrink)"
_HOSTS = Path("/hosts")  # stands for the folder of hosts, to tell which file systems keep their data there


@dataclass(frozen=True)
class Need:
    """Bytes below a folder, and their purpose."""

    folder: Path
    needed_bytes: int
    what: str


def checks(trials: Sequence[Trial], results: Path) -> tuple[Check, ...]:
    """Check whether trials, and their results (in a folder that may not exist yet), fit on this machine."""
    return (*disk_checks(needs(trials, results)), *_memory_and_tasks(trials))


def needs(trials: Sequence[Trial], results: Path) -> tuple[Need, ...]:
    """Return the space needed in each folder of this machine. Deployments follow one another: the largest in a folder counts."""
    stored: dict[Path, int] = {}
    deployments: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        deployments.setdefault((trial.testbed.label, trial.filesystem.label), []).append(trial)
    for group in deployments.values():
        folder = drivers.filesystem(group[0].filesystem).folder(drivers.testbed(group[0].testbed).folder)
        if folder is not None and (hosts := _planned(group)):
            stored[folder] = max(stored.get(folder, 0), _stored_bytes(group, hosts))
    found = [Need(folder, count, "data of the file systems") for folder, count in stored.items()]
    return (*found, Need(results, TRIAL_BYTES * len(trials), "results"))


def folders(trials: Sequence[Trial], results: Path) -> tuple[Path, ...]:
    """Name the folders of this machine that trials write to."""
    pairs = {(trial.testbed.label, trial.filesystem.label): trial for trial in trials}.values()
    found = [drivers.filesystem(trial.filesystem).folder(drivers.testbed(trial.testbed).folder) for trial in pairs]
    return (*dict.fromkeys(folder for folder in found if folder is not None), results)


def on_hosts(trials: Sequence[Trial], hosts: Hosts) -> list[Check]:
    """Return the space that the loads of one deployment need on storage hosts, as a question to them; see `require_on_hosts`."""
    storage, share_bytes = _shared(trials, hosts)
    if not storage:
        return []
    look = f"free {share_bytes} {RESERVE_BYTES} {round(1 / RESERVE_RATIO)}"
    what = f"space for its share of the data, {bytes_text(share_bytes)}, beside the reserve"
    return [Check(what, True, "", _SPACE, look=look, on="storage")]


def require_on_hosts(trials: Sequence[Trial], hosts: Hosts) -> None:
    """Check that the loads of one deployment fit on storage hosts that are other machines, each with an even share.

    Raises:
        MachineError: one of them lacks space.
    """
    storage, share_bytes = _shared(trials, hosts)
    for host in storage:
        free_bytes, total_bytes = _space_on(host)
        if free_bytes < share_bytes + (kept_bytes := reserve_bytes(total_bytes)):
            left = f"{bytes_text(free_bytes)} free, of which {bytes_text(kept_bytes)} stay in reserve"
            what = f"its share of the data, {bytes_text(share_bytes)}, does not fit below {host.directory}: {left}"
            raise MachineError(what, where=host.name, next=_SPACE)


def _shared(trials: Sequence[Trial], hosts: Hosts) -> tuple[Sequence[Host], int]:
    """Return the storage hosts that keep a deployment's data below their own folder, and the bytes of each, an even share."""
    keeps = drivers.filesystem(trials[0].filesystem).folder(_HOSTS) == _HOSTS  # not another folder, or devices
    storage = hosts.by_role("storage") if keeps else ()
    return storage, _stored_bytes(trials, hosts) // len(storage) if storage else 0


def _space_on(host: Host) -> tuple[int, int]:
    """Return the free bytes of a host's disk, and all of them."""
    said = host.run(["df", "--block-size=1", "--output=avail,size", host.directory], timeout_s=20).stdout.split()
    free_bytes, total_bytes = (int(word) for word in said[-2:])
    return free_bytes, total_bytes


def _stored_bytes(group: Sequence[Trial], hosts: Hosts) -> int:
    """Return the space for the largest load of each workload in one deployment, with redundancy and an allowance for disks."""
    largest: dict[str, int] = {}
    for trial in group:
        stored_bytes = drivers.workload(trial.workload).stored_bytes(trial.clients_count)
        largest[trial.workload.label] = max(largest.get(trial.workload.label, 0), stored_bytes)
    explained = drivers.filesystem(group[0].filesystem).amplification(hosts)
    ratio = explained.write.disk_written_ratio if explained else 1.0
    return round(sum(largest.values()) * ratio) + DISK_BYTES * len(hosts.servers)


def _planned(group: Sequence[Trial]) -> Hosts | None:
    """Return the hosts of a deployment; None if its layout is impossible."""
    try:
        hosts = drivers.testbed(group[0].testbed).planned(max(trial.clients_count for trial in group))
        drivers.filesystem(group[0].filesystem).require_fit(hosts)
    except CampaignError:
        return None
    return hosts


def disk_checks(wanted: Iterable[Need]) -> tuple[Check, ...]:
    """Compare the space needed with free space, disk by disk."""
    disks: dict[int, list[Need]] = {}
    for need in wanted:
        disks.setdefault(_existing(need.folder).stat().st_dev, []).append(need)
    return tuple(_disk_check(together) for together in disks.values())


def _disk_check(together: Sequence[Need]) -> Check:
    first = max(together, key=lambda need: need.needed_bytes)
    usage = shutil.disk_usage(_existing(first.folder))
    needed_bytes, kept_bytes = sum(need.needed_bytes for need in together), reserve_bytes(usage.total)
    what = " and ".join(f"{bytes_text(need.needed_bytes)} of {need.what}" for need in together if need.needed_bytes)
    left = f"{bytes_text(usage.free)} free, of which {bytes_text(kept_bytes)} stay in reserve"
    ok = usage.free >= needed_bytes + kept_bytes or usage.total == 0  # what has no size (/proc) says itself what is wrong
    fix = "free space, choose smaller sizes (--shrink), or another disk (PERJOULE_WORK for data, --into for results)"
    return Check(f"disk of {first.folder}", ok, f"{what} does not fit: {left}" if not ok else f"{what}; {left}", fix)


def reserve_bytes(total_bytes: int) -> int:
    """Return the space that stays free on a disk of this size for everything else on the machine."""
    return max(RESERVE_BYTES, round(RESERVE_RATIO * total_bytes))


def _existing(folder: Path) -> Path:
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())


def _memory_and_tasks(trials: Sequence[Trial]) -> tuple[Check, ...]:
    """Compare the daemons and clients of the largest deployment with free memory and the limit of processes."""
    needed_bytes, needed_count = PERJOULE_BYTES, 0
    for trial in {(t.testbed.label, t.filesystem.label, t.clients_count): t for t in trials}.values():
        testbed, filesystem = drivers.testbed(trial.testbed), drivers.filesystem(trial.filesystem)
        if testbed.folder is None:
            continue  # its hosts run nothing here
        hosts_count = len((_planned([trial]) or Hosts(())).all)
        needed_bytes = max(needed_bytes, PERJOULE_BYTES + hosts_count * filesystem.host_bytes)
        needed_count = max(needed_count, hosts_count * filesystem.host_tasks_count)
    found: list[Check] = []
    if (free_bytes := free_memory_bytes()) is not None:
        detail = f"about {bytes_text(needed_bytes)} needed, {bytes_text(free_bytes)} free"
        fix = "end other programs, or ask for fewer clients and servers"
        found.append(Check("memory", free_bytes >= needed_bytes, detail, fix))
    if (left := free_tasks_count()) is not None:
        detail = f"about {needed_count} needed, {left} more allowed here"
        fix = "raise the limit (pids.max of this control group)"
        found.append(Check("processes and threads", left >= needed_count, detail, fix))
    return tuple(found)


def free_memory_bytes(proc: Path = Path("/proc"), cgroups: Path = CGROUPS) -> int | None:
    """Return the memory that programs can still get, by the machine and by our control group; None if unknown."""
    found: list[int] = []
    with suppress(OSError, KeyError, ValueError):
        fields = dict(line.split(":", 1) for line in (proc / "meminfo").read_text().splitlines())
        found.append(int(fields["MemAvailable"].split()[0]) * 1024)
    names = (("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"), ("", "memory.max", "memory.current"))
    found += _left(proc, cgroups, names)
    return min(found, default=None)


def free_tasks_count(proc: Path = Path("/proc"), cgroups: Path = CGROUPS) -> int | None:
    """Return how many more processes and threads our control group may have; None if it has no known limit."""
    return min(_left(proc, cgroups, (("pids", "pids.max", "pids.current"), ("", "pids.max", "pids.current"))), default=None)


def _left(proc: Path, cgroups: Path, names: Sequence[tuple[str, str, str]]) -> list[int]:
    """Return what is left below each limit of our control group and of its parents, by cgroup v1 (a controller) and v2 ("")."""
    found: list[int] = []
    try:
        lines = [line.split(":", 2) for line in (proc / "self" / "cgroup").read_text().splitlines()]
    except OSError:
        return found
    for controller, most, used in names:
        for _, controllers, path in (line for line in lines if len(line) == 3):
            if controller not in controllers.split(","):
                continue
            root = cgroups / controller
            own = root / path.lstrip("/")
            for folder in (own, *own.parents):
                with suppress(OSError, ValueError):  # "max", or no limit at this level
                    found.append(int((folder / most).read_text()) - int((folder / used).read_text()))
                if folder == root:
                    break
    return found


def watched(folders: Iterable[Path]) -> AbstractContextManager[None]:
    """Stop the block as Ctrl-C would if a disk of this machine lacks half of its reserve, and name the disk.

    The block raises MachineError then.
    """
    places = {(there := _existing(folder)).stat().st_dev: there for folder in folders}
    return _watched({f"the disk of {place}": partial(_space, place) for place in places.values()}, PERIOD_S)


def watched_on_hosts(hosts: Hosts) -> AbstractContextManager[None]:
    """Do the same for the storage hosts of a deployment, which are other machines."""
    disks = {f"the disk of {host.name} ({host.directory})": partial(_space_on, host) for host in hosts.by_role("storage")}
    return _watched(disks, HOSTS_PERIOD_S)


@contextmanager
def _watched(disks: Mapping[str, Callable[[], tuple[int, int]]], period_s: float) -> Generator[None]:
    watch = _Watch(disks, period_s)
    watch.start()
    try:
        yield
    except KeyboardInterrupt:
        if not watch.said:
            raise
        raise MachineError(watch.said, next="free space, then run `perjoule resume`") from None
    finally:
        watch.end()


def _space(place: Path) -> tuple[int, int]:
    usage = shutil.disk_usage(place)
    return usage.free, usage.total


class _Watch(threading.Thread):
    """Asks for the free bytes of disks, and all of them, again and again, and interrupts the main thread once."""

    def __init__(self, disks: Mapping[str, Callable[[], tuple[int, int]]], period_s: float) -> None:
        super().__init__(name="space", daemon=True)
        self.said = ""
        self._disks, self._period_s, self._over = disks, period_s, threading.Event()

    def run(self) -> None:
        while not self._over.wait(self._period_s):
            for name, space in self._disks.items():
                with suppress(PerjouleError):  # a host that is lost meanwhile is the trial's matter
                    free_bytes, total_bytes = space()
                    if total_bytes and free_bytes < STOP_RATIO * reserve_bytes(total_bytes):
                        self._interrupt(f"{name} is nearly full ({bytes_text(free_bytes)} left); stopped in time")
                        return

    def _interrupt(self, why: str) -> None:
        self.said = why
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, _handled())

    def end(self) -> None:
        self._over.set()
        self.join()


def _handled() -> signal.Signals:
    """Return the first signal that stops us in good order: a background job of a shell, for example, ignores SIGINT."""
    each = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return next((number for number in each if callable(signal.getsignal(number))), signal.SIGTERM)
