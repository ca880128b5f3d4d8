"""One trial on a deployment that is up: prepare, record, run, settle; and the record of it, valid or
failed.
"""

import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from perjoule import drivers
from perjoule.drivers import together
from perjoule.drivers.protocols import Elsewhere, Hosts, Mounted, PassesOn, Seeks, require_time
from perjoule.energy.hosts import serving
from perjoule.execution import attached, layouts, pauses, settling, write_back
from perjoule.execution.ageing import AgedDeployment
from perjoule.execution.happening import LATE_OUTSIDE_S, LATE_S, Course
from perjoule.execution.layouts import Layouts
from perjoule.model import (
    REBUILT,
    WRITE_BACK,
    Campaign,
    Clock,
    ClusterState,
    Happened,
    Health,
    HostFact,
    Json,
    Outcome,
    Phase,
    Record,
)
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.errors import OutOfMemory, PausedError, PerjouleError, TransientError, WorkloadError
from perjoule.store import Attempt

LOG_TAIL_BYTES = 256 * 1024  # of each daemon's log, kept with each trial


@dataclass(frozen=True)
class Up:
    """A file system that is up, the hosts that it is on, and what it has been through."""

    hosts: Hosts
    mounted: Mounted
    aged: AgedDeployment | None = None

    def serving(self, clients_count: int) -> frozenset[str]:
        """Name the hosts whose watts are those of the servers, as `energy.hosts` will in the record of the
        trial.
        """
        idle = {client.name for client in self.hosts.clients[clients_count:]}
        holders = frozenset(self.mounted.data_hosts) - idle if self.mounted.data_hosts else None
        return serving(frozenset(host.name for host in self.hosts.servers), holders)

    @cached_property
    def layouts(self) -> Layouts:
        """The places of its trials' files."""
        return Layouts(self.mounted)


@dataclass(frozen=True)
class Ended:
    """How a trial ended: its phases and doubts so far, and the outcome or the failure."""

    failure: PerjouleError | None
    outcome: Outcome | None = None
    phases: tuple[Phase, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    events: tuple[Happened, ...] = ()
    health: tuple[Health, ...] = ()
    busy: str = ""  # what the servers or the file system still did at the end of the tail
    states: tuple[ClusterState, ...] = ()  # of a cluster that others run


class UnderWay:
    """A trial that is prepared and measured by `run`; another thread may ask meanwhile what is doubted so
    far.

    Args:
        say: takes the name of each phase as it begins.
    """

    def __init__(self, campaign: Campaign, up: Up, attempt: Attempt, say: Callable[[str], None]) -> None:
        self._campaign, self._up, self._attempt, self._say = campaign, up, attempt, say
        trial, hosts = attempt.trial, up.hosts
        self._workload = drivers.workload(trial.workload)
        self._clients = (*hosts.clients[: trial.clients_count], *hosts.by_role(*self._workload.using))
        self._elsewhere = isinstance(drivers.testbed(trial.testbed), Elsewhere)
        self._course = Course(
            trial.events, hosts, up.mounted, late_s=LATE_OUTSIDE_S if self._elsewhere else LATE_S
        )
        self._place: Mounted = up.mounted
        self._syncs: tuple[write_back.Sync, ...] = ()
        self._phases: list[Phase] = []
        # what each meter doubts, which grows until it has ended
        self._metered: tuple[Sequence[str], ...] = ()
        self._doubts: list[Doubt] = []
        self._outcome: Outcome | None = None
        self._paused: PausedError | None = None
        self._busy = ""
        self._checked = False  # whether what was written may have been read back
        self._cluster = attached.ClusterWatch(up.mounted)

    def doubts_so_far(self) -> list[str]:
        """Return what is doubted by now."""
        return [text for doubted in (*self._metered, self._doubts) for text in tuple(doubted)]

    def run(self) -> Ended:
        """Prepare the load, run it while the meters record, and wait until the hosts are quiet again."""
        failure: PerjouleError | None = None
        try:
            self._prepare()
            self._record()
            self._require_sound()
            self._up.layouts.measured()
        except WorkloadError as error:
            failure = error
        return self._ended(starved(self._up.hosts, failure) or failure)

    @contextmanager
    def _phase(self, name: str) -> Generator[None]:
        began_s = time.monotonic()
        self._say(name)
        try:
            yield
        finally:
            self._phases.append(Phase(name, began_s, time.monotonic()))

    def _prepare(self) -> None:
        with self._phase("prepare"):
            self._cluster.require_whole()
            self._place = self._up.layouts.of(self._attempt.trial, self._clients)
            self._workload.prepare(self._clients, self._place, self._attempt.raw)
            if "read" in self._workload.directions:
                layouts.keep(self._place, self._clients, self._attempt.raw)
            for host in self._up.hosts.all:
                if isinstance(host, Seeks):
                    host.seek(at_random=self._workload.pattern.access == "random")
            self._syncs = write_back.syncs(self._up.hosts, self._up.mounted)
            self._cluster.begin(prepared="read" in self._workload.directions)

    def _record(self) -> None:
        """Have the meters record the baseline, the load and the tail."""
        hosts, sink = self._up.hosts, self._attempt.sink
        with ExitStack() as recording:
            meters = map(drivers.meter, self._attempt.trial.meters)
            self._metered = recording.enter_context(together.recording(meters, hosts, sink))
            with self._phase("baseline"):
                idle_bytes_per_s = settling.rate_bytes_per_s(hosts, self._campaign.settle_s)
            with self._steady():
                loaded = self._load(recording)
            loaded_s = time.monotonic()
            self._settle(idle_bytes_per_s)
        self._doubts += self._cluster.end(loaded, loaded_s, checked=self._checked)
        self._course.require_done()  # some take longer than the load
        for series in loaded.series:
            sink.extend(series)
        self._outcome = loaded

    def _load(self, recording: ExitStack) -> Outcome:
        """Run the load with its events, and have the hosts write back what it has left in their memory."""
        hosts, mounted, raw = self._up.hosts, self._up.mounted, self._attempt.raw
        with self._phase("measure"):
            recording.enter_context(self._course.running())
            with self._course.explained():
                loaded = self._workload.run(self._clients, self._place, raw)
        self._course.end_load()
        require_time(loaded.results)
        # hosts that joined may have a disk for the data since then
        if drivers.joining(self._attempt.trial.events):
            self._syncs = write_back.syncs(hosts, mounted)
        self._write_back(WRITE_BACK, loaded)
        checked = self._workload.read_back(self._clients, self._place, raw)
        self._checked = checked is not None
        return checked or loaded

    @contextmanager
    def _steady(self) -> Generator[None]:
        """Note what stood still, and whose clock was set, during the block."""
        for host in self._up.hosts.all:
            host.disturbances()
        with pauses.Watch() as watch:
            yield
        stood_still = watch.stood_still()
        failing = [pause for pause in watch.pauses if pause.fails]
        if failing and (not self._elsewhere or any(pause.suspended_s > pauses.STEP_S for pause in failing)):
            self._paused = self._paused or PausedError(str(stood_still))
        of_hosts = (doubt for host in self._up.hosts.all for doubt in host.disturbances())
        self._doubts += filter(None, (stood_still, watch.set_and_back(), *of_hosts))

    def _settle(self, idle_bytes_per_s: float) -> None:
        """Wait until the hosts are as quiet as before the load, and the file system is healthy."""
        self._say("tail")
        tail = settling.tail(
            self._up.hosts,
            self._up.mounted,
            settle_s=self._campaign.settle_s,
            quiet_s=self._campaign.quiet_s,
            idle_bytes_per_s=idle_bytes_per_s,
            unhealthy=self._course.unhealthy if self._attempt.trial.events else None,
        )
        self._phases.append(tail.phase)
        self._busy = tail.busy
        self._doubts += (*tail.doubts, *self._course.weigh())
        if any(
            drivers.event_class(happened.event.kind).takes == "disk" for happened in self._course.happened
        ):
            self._write_back(REBUILT)

    def _write_back(self, name: str, loaded: Outcome | None = None) -> None:
        try:
            written = write_back.write_back(self._syncs, name)
            self._phases += [written.phase] if written.phase else []
            late = write_back.late(loaded, written, lent=self._up.hosts.lease is not None) if loaded else None
            self._doubts += (*written.doubts, *([late] if late else []))
        except PausedError as error:  # raised once the hosts are quiet again: the next attempt follows
            self._paused = self._paused or error

    def _require_sound(self) -> None:
        """Require that nothing stood still, and file system and power states are as they were.

        Raises WorkloadError.
        """
        if self._paused:
            raise self._paused
        self._up.mounted.alive()
        for host in self._up.hosts.all:
            if host.check_power:
                host.check_power()

    def _ended(self, failure: PerjouleError | None) -> Ended:
        course, outcome = self._course, self._outcome
        of_meters = (
            doubt if isinstance(doubt, Doubt) else METERS.doubt(doubt)
            for metered in self._metered
            for doubt in metered
        )
        doubts = [
            *(outcome.doubts if outcome else ()),
            *of_meters,
            *self._doubts,
            *(course.doubts() if outcome else ()),
        ]
        return Ended(
            failure,
            outcome,
            tuple(self._phases),
            tuple(doubts),
            course.happened,
            course.health,
            self._busy,
            self._cluster.states,
        )


def starved(hosts: Hosts, failure: PerjouleError | None) -> TransientError | None:
    """Return the failure for lack of memory on hosts since the last call, with the one it explains; None:
    they had enough.
    """
    killed = [f"{host.name}: {report}" for host in hosts.all if (report := host.out_of_memory())]
    if not killed:
        return None
    fault = "; ".join([*killed, *([str(failure)] if failure else [])])
    error = OutOfMemory(fault)
    error.logs = failure.logs if isinstance(failure, WorkloadError) else {}
    return error


def _moved_bytes(outcome: Outcome | None) -> Mapping[str, int]:
    """Return the bytes of each client."""
    moved_bytes = Counter[str]()
    for result in outcome.results if outcome else ():
        moved_bytes[result.host] += result.moved_bytes
    return moved_bytes


def record(attempt: Attempt, ended: Ended, environment: Mapping[str, Json], up: Up | None = None) -> Record:
    """Return the record of an attempt; without `up`, of one whose file system could not be brought up."""
    trial, hosts = attempt.trial, up.hosts if up else Hosts(())
    filesystem = drivers.filesystem(trial.filesystem)
    # the same on all hosts with data
    beneath_count = max((host.copies_count for host in hosts.all), default=1)
    began = hosts.without(drivers.joining(trial.events))
    redundancy = filesystem.redundancy(began) if up else None
    if ended.states:
        redundancy = ended.states[0].redundancy
    amplification = filesystem.amplification(began) if up else None
    if up and isinstance(up.mounted, PassesOn):
        amplification = up.mounted.amplification(_moved_bytes(ended.outcome))
    made = Record(
        trial=trial,
        status="failed" if ended.failure else "valid",
        reason=str(ended.failure or ""),
        attempt=attempt.number,
        clock=Clock(time.monotonic(), time.time()),
        scale=hosts.scale,
        cluster=hosts.cluster.name if hosts.cluster else "",
        hosts=tuple(
            HostFact(h.name, h.role, h.node.name if h.node else "", h.address, h.cpu_capacity_cores)
            for h in hosts.all
        ),
        phases=ended.phases,
        outcome=ended.outcome,
        facts={"testbed": hosts.facts, "filesystem": up.mounted.facts} if up else {},
        environment=environment,
        doubts=(*ended.doubts, *dict.fromkeys(doubt for host in hosts.all for doubt in host.doubts)),
        hardware=hosts.cluster and replace(hosts.cluster, notes=()),
        amplification=amplification and amplification.on_mirrors(beneath_count),
        redundancy=redundancy and replace(redundancy, beneath_count=beneath_count),
        data_hosts=up.mounted.data_hosts if up else (),
        events=ended.events,
        health=ended.health,
        states=ended.states,
        reason_id=ended.failure.id if ended.failure else "",
        traits=drivers.traits(drivers.testbed(trial.testbed), filesystem, drivers.workload(trial.workload)),
    )
    return up.aged.of(made) if up and up.aged else made


def keep_logs(mounted: Mounted, folder: Path) -> None:
    """Keep the end of each log in a folder. A log that can't be read must not cost the trial."""
    for log in mounted.logs:
        with suppress(OSError), log.open("rb") as source:
            source.seek(max(0, log.stat().st_size - LOG_TAIL_BYTES))
            (folder / f"{log.parent.name}-{log.name}").write_bytes(source.read())
    for host, log in mounted.logs_there:
        with suppress(OSError, PerjouleError):
            tail = host.run(["tail", f"--bytes={LOG_TAIL_BYTES}", log], timeout_s=20).stdout
            (folder / f"{host.name}-{log.name}").write_text(tail)
