"""One trial on a deployment that is up: prepare, record, run, settle; and the record of it, valid or failed."""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from perjoule import drivers
from perjoule.drivers.protocols import Hosts, Mounted, require_time
from perjoule.execution import settling, write_back
from perjoule.execution.ageing import Aged
from perjoule.execution.happening import LATE_ELSEWHERE_S, LATE_S, Course
from perjoule.model import REBUILT, Campaign, Clock, Happened, Health, HostFact, Json, Outcome, Phase, Record
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.errors import PerjouleError, TransientError, WorkloadError
from perjoule.store import Attempt

LOG_TAIL_BYTES = 256 * 1024  # of each daemon's log, kept with each trial


@dataclass(frozen=True)
class Up:
    """A file system that is up, the hosts that it is on, and what it has been through."""

    hosts: Hosts
    mounted: Mounted
    aged: Aged | None = None


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


def load(campaign: Campaign, up: Up, attempt: Attempt, say: Callable[[str], None], doubts: list[Sequence[str]]) -> Ended:
    """Prepare and measure a trial while its meters record.

    `say` takes the name of each phase as it begins, and `doubts` what is doubted; a meter's list grows until it has ended.
    """
    trial, hosts, mounted = attempt.trial, up.hosts, up.mounted
    workload = drivers.workload(trial.workload)
    clients = (*hosts.clients[: trial.clients_count], *hosts.by_role(*workload.using))
    phases: list[Phase] = []
    metered: list[Sequence[str]] = []
    ended: list[Doubt] = []
    outcome, failure, busy = None, None, ""
    late_s = LATE_ELSEWHERE_S if drivers.testbed(trial.testbed).elsewhere else LATE_S
    course = Course(trial.events, hosts, mounted, late_s=late_s)

    @contextmanager
    def phase(name: str) -> Generator[None]:
        began_s = time.monotonic()
        say(name)
        try:
            yield
        finally:
            phases.append(Phase(name, began_s, time.monotonic()))

    try:
        with phase("prepare"):
            workload.prepare(clients, mounted, attempt.raw)
            syncs = write_back.syncs(hosts, mounted)
        with ExitStack() as meters:
            metered += [meters.enter_context(drivers.meter(spec).record(hosts, attempt.sink)) for spec in trial.meters]
            doubts += [*metered, ended]
            with phase("baseline"):
                idle_bytes_per_s = settling.rate_bytes_per_s(hosts, campaign.settle_s)
            with phase("measure"):
                meters.enter_context(course.running())
                with course.explained():
                    loaded = workload.run(clients, mounted, attempt.raw)
            course.end_load()
            require_time(loaded.results)
            if trial.joining:  # hosts that joined may have a disk for the data since then
                syncs = write_back.syncs(hosts, mounted)
            written = write_back.write_back(syncs)
            phases += [written.phase] if written.phase else []
            ended += written.doubts
            loaded = workload.read_back(clients, mounted, attempt.raw) or loaded
            say("tail")
            tail = settling.tail(
                hosts,
                mounted,
                settle_s=campaign.settle_s,
                quiet_s=campaign.quiet_s,
                idle_bytes_per_s=idle_bytes_per_s,
                unhealthy=course.unhealthy if trial.events else None,
            )
            phases.append(tail.phase)
            busy = tail.busy
            ended += tail.doubts
            ended += course.weigh()
            if any(one.event.kind == "fail" for one in course.happened):
                rebuilt = write_back.write_back(syncs, REBUILT)
                phases += [rebuilt.phase] if rebuilt.phase else []
                ended += rebuilt.doubts
        course.require_done()  # some take longer than the load
        for series in loaded.series:
            attempt.sink.extend(series)
        outcome = loaded
        mounted.alive()
        for host in hosts.all:
            if host.check_power:
                host.check_power()
    except WorkloadError as error:
        failure = error
    failure = starved(hosts, failure) or failure
    of_meters = (METERS.doubt(words) for one in metered for words in one)
    said = [*(outcome.doubts if outcome else ()), *of_meters, *ended]
    said += course.doubts() if outcome else ()
    return Ended(failure, outcome, tuple(phases), tuple(said), course.happened, course.health, busy)


def starved(hosts: Hosts, failure: PerjouleError | None) -> TransientError | None:
    """Return the failure for lack of memory on hosts since the last call, with the one it explains; None: they had enough."""
    killed = [f"{host.name}: {words}" for host in hosts.all if (words := host.out_of_memory())]
    if not killed:
        return None
    what = "; ".join([*killed, *([str(failure)] if failure else [])])
    found = TransientError(what, next="raise memory of the testbed, or choose a smaller load")
    found.logs = failure.logs if isinstance(failure, WorkloadError) else {}
    return found


def record(attempt: Attempt, ended: Ended, environment: Mapping[str, Json], up: Up | None = None) -> Record:
    """Return the record of an attempt; without `up`, of one whose file system could not be brought up."""
    trial, hosts = attempt.trial, up.hosts if up else Hosts(())
    filesystem = drivers.filesystem(trial.filesystem)
    beneath_count = max((host.copies_count for host in hosts.all), default=1)  # the same on all hosts with data
    began = hosts.without(trial.joining)
    redundancy = filesystem.redundancy(began) if up else None
    amplification = filesystem.amplification(began) if up else None
    made = Record(
        trial=trial,
        status="failed" if ended.failure else "valid",
        reason=str(ended.failure or ""),
        attempt=attempt.number,
        clock=Clock(time.monotonic(), time.time()),
        scale=hosts.scale,
        cluster=hosts.cluster.name if hosts.cluster else "",
        hosts=tuple(HostFact(h.name, h.role, h.node.name if h.node else "", h.address, h.cpu_capacity_cores) for h in hosts.all),
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
            said = host.run(["tail", f"--bytes={LOG_TAIL_BYTES}", log], timeout_s=20).stdout
            (folder / f"{host.name}-{log.name}").write_text(said)
