"""Runs a campaign: hold hosts, mount, prepare, record, run, keep.

A failed trial is stored as a Record with its reason, and the campaign continues; after a transient failure (a daemon died, a time
limit passed) it continues with a fresh deployment. A trial that the user interrupts is not stored: `perjoule resume` measures it
again.
"""

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from perjoule import drivers
from perjoule.drivers.protocols import Hosts, Mounted, require_time
from perjoule.execution import clock_sync, resources, settling, write_back
from perjoule.execution.readiness import checks, deployed, require, unable
from perjoule.execution.stopping import Until
from perjoule.machine.environment import environment
from perjoule.model import Amplification, Campaign, Channel, Clock, HostFact, Json, Outcome, Phase, Record, Redundancy, Trial
from perjoule.model.errors import CampaignError, MachineError, PerjouleError, TransientError, WorkloadError
from perjoule.store import Attempt, Results
from perjoule.summary.computing import of_trial

LOG_TAIL_BYTES = 256 * 1024  # of each daemon's log, kept with each trial

Latest = Callable[[], Mapping[Channel, tuple[float, float, float]]]  # channel -> t_s, value, duration_s of its last sample


@dataclass(frozen=True)
class Event:
    """Progress that a waiting user wants to see."""

    kind: Literal["deploy", "deployed", "trial", "phase", "kept", "settled", "note"]
    text: str = ""
    trial: Trial | None = None
    record: Record | None = None
    hosts: Hosts | None = None
    latest: Latest = field(default=lambda: {})


Observer = Callable[[Event], None]


def missing(campaign: Campaign, results: Results, *, again_failed: bool = False) -> tuple[Trial, ...]:
    """Return the needed trials without a kept attempt (with `again_failed`: without a valid one), in order."""
    done = {r.trial.id for r in results.latest() if r.status == "valid"} if again_failed else results.done()
    until = Until(campaign, results)
    return tuple(trial for trial in campaign.trials if trial.id not in done and not until.settled(trial))


def run(
    campaign: Campaign, results: Results, observe: Observer, *, again_failed: bool = False, folder: Path | None = None
) -> None:
    """Run what is missing of a campaign into a results folder.

    `folder` is the campaign file's folder, whose git state is recorded.

    Raises:
        CampaignError: a layout is impossible on these hosts.
        MachineError: a requirement or space is missing here, or a disk fills up meanwhile.
        If they concern a single file system, both are raised at the end, after all other trials.
    """
    with results.hold() as said:
        for words in said:
            observe(Event("note", words))
        left = missing(campaign, results, again_failed=again_failed)
        if not left:
            return
        needed = checks(campaign)
        require((*needed, *resources.checks(left, results.folder)))
        circumstances = environment(folder, [check.package for check in needed if check.package])
        refused: list[PerjouleError] = []
        until = Until(campaign, results)
        without = unable(campaign)
        with resources.watched(resources.folders(left, results.folder)):
            for group in campaign.groups:
                todo = [trial for trial in group if trial in left]
                error = without.get(deployed(group[0]))
                try:
                    _Group(campaign, results, observe, circumstances, until).run(todo, error if todo else None)
                except _Refused as refusal:
                    refused.append(refusal.error)
        if refused:
            raise refused[0]


class _Refused(Exception):
    """One file system can't be run here, or not as configured; the others can."""

    def __init__(self, error: PerjouleError) -> None:
        self.error = error


@dataclass(frozen=True)
class _Group:
    """The trials that share a testbed and a file system."""

    campaign: Campaign
    results: Results
    observe: Observer
    circumstances: Mapping[str, Json]
    until: Until

    def run(self, todo: list[Trial], unable: MachineError | None = None) -> None:
        """Run the trials on as few deployments as failures allow, or none if unable; `todo` is emptied in order."""
        if unable is not None:
            self._keep_failed(todo, str(unable))
            raise _Refused(unable)
        clients_count = max((trial.clients_count for trial in todo), default=0)
        fruitless_count = 0  # deployments in a row that did not carry a single trial
        while todo:
            left_count = len(todo)
            try:
                self._deploy(todo, clients_count)
            except WorkloadError as error:
                fruitless_count = fruitless_count + 1 if len(todo) == left_count else 0
                if not error.transient or fruitless_count == 2:
                    return self._keep_failed(todo, str(error), error.logs)
                self.observe(Event("note", f"{error}; deploying afresh"))
            except (CampaignError, _Refused) as error:
                reason = error.error if isinstance(error, _Refused) else error
                self._keep_failed(todo, str(reason))
                raise _Refused(reason) from error
        return None

    def _deploy(self, todo: list[Trial], clients_count: int) -> None:
        first = todo[0]
        self.observe(Event("deploy", first.filesystem.label, trial=first))
        began_s = time.monotonic()
        using = tuple(dict.fromkeys(role for trial in todo for role in drivers.workload(trial.workload).using))
        testbed = drivers.testbed(first.testbed)
        with testbed.hold(clients_count) as held, ExitStack() as deployment:
            if testbed.elsewhere:
                resources.require_on_hosts(todo, held)
            for host in held.all if self.campaign.confirmed else ():
                host.overwrite = self.campaign.confirmed
            hosts = replace(held, using=using)
            try:
                mounted = deployment.enter_context(drivers.filesystem(first.filesystem).mount(hosts))
            except MachineError as error:  # no client in this kernel, say: nothing that others need
                raise _Refused(error) from error
            where = f" on {len(hosts.servers)} servers" if hosts.servers else ""
            took = f"{first.filesystem.label} is up{where} after {time.monotonic() - began_s:.1f} s"
            self.observe(Event("deployed", took, trial=first, hosts=hosts))
            self._align(first, hosts)
            while todo:
                if settled := self.until.settled(todo[0]):
                    self.observe(Event("settled", settled, trial=todo.pop(0)))
                    continue
                record, transient = self._measure(todo[0], hosts, mounted)
                todo.pop(0)
                self.observe(Event("kept", trial=record.trial, record=record))
                with suppress(PerjouleError):  # who reads the results will say so
                    of_trial(self.results, record)
                if transient:
                    raise TransientError(record.reason)
            self._align(first, hosts)

    def _align(self, trial: Trial, hosts: Hosts) -> None:
        if self.campaign.align_s:
            self.observe(Event("note", "a load pattern, for the clocks of the meters"))
            meters = [drivers.meter(spec) for spec in trial.meters]
            clock_sync.align(hosts, meters, self.results, self.campaign.align_s, self.campaign.seed % 2**31)

    def _measure(self, trial: Trial, hosts: Hosts, mounted: Mounted) -> tuple[Record, bool]:
        with self.results.attempt(trial) as attempt:
            self.observe(Event("trial", trial=trial, latest=attempt.sink.latest, hosts=hosts))
            phases: list[Phase] = []
            doubts: list[list[str]] = []  # of each meter, of the write-back and of the tail
            outcome, failure = None, None
            try:
                outcome = self._load(trial, hosts, mounted, attempt, phases, doubts)
                mounted.alive()
            except WorkloadError as error:
                failure = error
            _keep_logs(mounted.logs, attempt.logs)
            record = replace(
                self._failed(trial, attempt, str(failure)),
                status="failed" if failure else "valid",
                reason=str(failure) if failure else "",
                scale=hosts.scale,
                cluster=hosts.cluster.name if hosts.cluster else "",
                hardware=hosts.cluster and replace(hosts.cluster, notes=()),
                hosts=tuple(
                    HostFact(h.name, h.role, h.node.name if h.node else "", h.address, h.cpu_capacity_cores) for h in hosts.all
                ),
                phases=tuple(phases),
                outcome=outcome,
                facts={"testbed": hosts.facts, "filesystem": mounted.facts},
                amplification=_amplification(trial, hosts),
                redundancy=_redundancy(trial, hosts),
                data_hosts=mounted.data_hosts,
                doubts=(
                    *(outcome.doubts if outcome else ()),
                    *(doubt for one in doubts for doubt in one),
                    *dict.fromkeys(doubt for host in hosts.all for doubt in host.doubts),
                ),
            )
            attempt.keep(record)
            return record, failure is not None and failure.transient

    def _load(
        self, trial: Trial, hosts: Hosts, mounted: Mounted, attempt: Attempt, phases: list[Phase], doubts: list[list[str]]
    ) -> Outcome:
        workload = drivers.workload(trial.workload)
        clients = (*hosts.clients[: trial.clients_count], *hosts.by_role(*workload.using))

        def phase(name: str) -> ExitStack:
            began_s = time.monotonic()
            self.observe(Event("phase", name, trial=trial))
            stack = ExitStack()
            stack.callback(lambda: phases.append(Phase(name, began_s, time.monotonic())))
            return stack

        with phase("prepare"):
            workload.prepare(clients, mounted, attempt.raw)
            syncs = write_back.syncs(hosts, mounted)
        with ExitStack() as meters:
            for meter in map(drivers.meter, trial.meters):
                doubts.append(meters.enter_context(meter.record(hosts, attempt.sink)))
            with phase("baseline"):
                idle_bytes_per_s = settling.rate_bytes_per_s(hosts, self.campaign.settle_s)
            with phase("measure"):
                outcome = workload.run(clients, mounted, attempt.raw)
            require_time(outcome.results)
            written = write_back.write_back(syncs)
            phases += [written.phase] if written.phase else []
            doubts.append(list(written.doubts))
            outcome = workload.read_back(clients, mounted, attempt.raw) or outcome
            self.observe(Event("phase", "tail", trial=trial))
            tail = settling.tail(
                hosts,
                mounted,
                settle_s=self.campaign.settle_s,
                quiet_s=self.campaign.quiet_s,
                idle_bytes_per_s=idle_bytes_per_s,
            )
            phases.append(tail.phase)
            doubts.append(list(tail.doubts))
        for series in outcome.series:
            attempt.sink.extend(series)
        return outcome

    def _failed(self, trial: Trial, attempt: Attempt, reason: str) -> Record:
        return Record(
            trial=trial,
            status="failed",
            reason=reason,
            attempt=attempt.number,
            clock=Clock(time.monotonic(), time.time()),
            scale=1.0,
            cluster="",
            hosts=(),
            phases=(),
            outcome=None,
            facts={},
            environment=self.circumstances,
        )

    def _keep_failed(self, trials: Sequence[Trial], reason: str, logs: Mapping[str, str] = MappingProxyType({})) -> None:
        for trial in trials:
            with self.results.attempt(trial) as attempt:
                for name, text in logs.items():
                    with suppress(OSError):
                        (attempt.logs / name).write_text(text[-LOG_TAIL_BYTES:])
                record = self._failed(trial, attempt, reason)
                attempt.keep(record)
            self.observe(Event("kept", trial=trial, record=record))


def _amplification(trial: Trial, hosts: Hosts) -> Amplification | None:
    """Return the amplification of the layout times that of the disks beneath, which is the same on all hosts with data."""
    explained = drivers.filesystem(trial.filesystem).amplification(hosts)
    return explained and explained.on_mirrors(_beneath_count(hosts))


def _redundancy(trial: Trial, hosts: Hosts) -> Redundancy | None:
    stated = drivers.filesystem(trial.filesystem).redundancy(hosts)
    return stated and replace(stated, beneath_count=_beneath_count(hosts))


def _beneath_count(hosts: Hosts) -> int:
    return max((host.copies_count for host in hosts.all), default=1)


def _keep_logs(logs: Sequence[Path], folder: Path) -> None:
    for log in logs:
        with suppress(OSError), log.open("rb") as source:  # a log that can't be read must not cost the trial
            source.seek(max(0, log.stat().st_size - LOG_TAIL_BYTES))
            with (folder / f"{log.parent.name}-{log.name}").open("wb") as kept:
                shutil.copyfileobj(source, kept)
