"""Runs a campaign: hold hosts, mount, measure trial after trial, keep each.

A failed trial is stored as a Record with its reason, and the campaign continues; after a transient failure (a
daemon died, a time limit passed) it continues with a fresh deployment. A trial that the user interrupts is
not stored: `perjoule resume` measures it again.
"""

import shlex
import time
from collections import Counter
from collections.abc import Container, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from perjoule import drivers
from perjoule.campaign import plan
from perjoule.campaign.layouts import deployed
from perjoule.drivers.protocols import Awaits, Elsewhere, Hosts, Mounted, OfOthers
from perjoule.execution import ageing, disk_watch, host_disks, resources, time_limit
from perjoule.execution.clocks import clock_sync
from perjoule.execution.clocks.campaign_clock import CampaignClock
from perjoule.execution.notices import Notice, Observer
from perjoule.execution.readiness import Ready, look, require
from perjoule.execution.remaining import Remaining, account_of
from perjoule.execution.stopping import StopState
from perjoule.execution.telling import telling
from perjoule.execution.time_limit import TrialPace
from perjoule.execution.trial import LOG_TAIL_BYTES, Ended, UnderWay, Up, keep_logs, record, starved
from perjoule.machine.environment import environment
from perjoule.model import Campaign, Json, Point, Trial
from perjoule.model.errors import CampaignError, MachineError, PausedError, PerjouleError, WorkloadError
from perjoule.store import Results
from perjoule.summary.campaign import require_same
from perjoule.summary.computing import of_trial

ATTEMPTS_COUNT = 3  # at a trial in which time passed that no load took
FRUITLESS_COUNT = 2  # deployments in a row that did not carry a single trial, after which no other is tried


def missing(
    campaign: Campaign, results: Results, *, again_failed: bool = False, again: Container[str] = ()
) -> tuple[Trial, ...]:
    """Return the needed trials without a kept attempt (with `again_failed`: without a valid one), in
    order; and those `again`, by their ids.
    """
    done_ids = (
        {r.trial.id for r in results.latest() if r.status == "valid"} if again_failed else results.done()
    )
    until = StopState(campaign, results)
    return tuple(
        trial
        for trial in campaign.trials
        if trial.id in again or (trial.id not in done_ids and not until.settled(trial))
    )


def run(
    campaign: Campaign,
    results: Results,
    observe: Observer,
    *,
    ready: Ready | None = None,
    again_failed: bool = False,
    again: Container[str] = (),
    folder: Path | None = None,
    account: Remaining | None = None,
) -> None:
    """Run what is missing of a campaign into a results folder.

    `ready` is what `readiness.look` has just found, `folder` the campaign file's folder, whose git state is
    recorded, and `account` that of the trials missing, if the caller reads it too.

    Raises:
        CampaignError: a layout is impossible on these hosts.
        MachineError: a requirement or space is missing here, or a disk fills up meanwhile.
        If they concern a single file system, both are raised at the end, after all other trials.
    """
    with results.hold() as notes, ExitStack() as watched:
        for note in notes:
            observe(Notice("note", note))
        require_same(campaign, results)
        missing_trials = missing(campaign, results, again_failed=again_failed, again=again)
        if not missing_trials:
            return
        needed, without = ready or look(campaign)
        require((*needed, *resources.checks(missing_trials, results.folder)))
        debian = [check.package for check in needed if check.package]
        circumstances = environment(folder, debian, drivers.of_others(campaign.trials))
        planned = plan(campaign)
        account = account or account_of(planned, {trial.id for trial in missing_trials})
        tell = watched.enter_context(telling(campaign.name, results, account, observe))
        group = _Group(
            campaign,
            results,
            tell,
            circumstances,
            StopState(campaign, results, again),
            TrialPace(planned),
            CampaignClock(results),
        )
        refused: list[PerjouleError] = []
        with disk_watch.watched(resources.folders(missing_trials, results.folder)):
            for trials in campaign.groups:
                if todo := [trial for trial in trials if trial in missing_trials]:
                    error = without.get(deployed(todo[0]))
                    refusal = group.keep_failed(todo, error) if error else group.run(todo)
                    refused += [refusal] if refusal else []
        if refused:
            raise refused[0]


class _Refused(Exception):
    """One file system can't be run here; the others can."""

    def __init__(self, error: MachineError) -> None:
        self.error = error


@dataclass(frozen=True)
class _Group:
    """How trials that share a testbed and a file system are measured."""

    campaign: Campaign
    results: Results
    observe: Observer
    circumstances: Mapping[str, Json]
    until: StopState
    pace: TrialPace
    clock: CampaignClock
    attempts_counts: Counter[str] = field(default_factory=Counter)  # by the trial's id, in this run

    @property
    def _again(self) -> str:
        return f"perjoule resume {shlex.quote(str(self.results.folder))}"

    def run(self, todo: Sequence[Trial]) -> PerjouleError | None:
        """Measure trials on as few deployments as failures allow; return why this file system can't be
        run, if it can't.
        """
        clients_count = max(trial.clients_count for trial in todo)
        fruitless_count = 0
        while todo:
            remaining, error = self._measure(todo, clients_count)
            fruitless_count = fruitless_count + 1 if len(remaining) == len(todo) else 0
            todo = remaining
            if isinstance(error, WorkloadError):
                if not error.transient or fruitless_count == FRUITLESS_COUNT:
                    self.keep_failed(todo, error, error.logs)
                    return None
                self.observe(Notice("note", f"{error}; deploying afresh"))
            elif error:
                return self.keep_failed(todo, error)
        return None

    def keep_failed(
        self, trials: Sequence[Trial], error: PerjouleError, logs: Mapping[str, str] = MappingProxyType({})
    ) -> PerjouleError:
        """Keep trials that could not begin as failed, with the logs of what failed; return the reason."""
        for trial in trials:
            with self.results.attempt(trial) as attempt:
                for name, text in logs.items():
                    with suppress(OSError):
                        (attempt.logs / name).write_text(text[-LOG_TAIL_BYTES:])
                failed = record(attempt, Ended(error), self.circumstances)
                attempt.keep(failed)
            self.observe(Notice("kept", trial=trial, record=failed))
        return error

    def _measure(
        self, todo: Sequence[Trial], clients_count: int
    ) -> tuple[Sequence[Trial], PerjouleError | None]:
        """Measure on one deployment; return the trials that are left, and the error that ended it early."""
        remaining = todo
        try:
            with self._up(todo, clients_count) as up:
                self._align(todo[0], up.hosts)
                for number, trial in enumerate(todo, start=1):
                    if settled := self.until.settled(trial):
                        self.observe(Notice("settled", settled, trial=trial))
                        remaining = todo[number:]
                        continue
                    ended = self._soundly(todo[number - 1 :], up)
                    remaining = todo[number - 1 if self._pause(trial, ended) else number :]
                    if ended.failure and ended.failure.transient:
                        return remaining, ended.failure
                    if ended.busy and remaining:  # its energy would be counted in the next trial
                        self.observe(Notice("note", f"still busy ({ended.busy}); deploying afresh"))
                        break
                self._align(todo[0], up.hosts)
        except _Refused as refusal:
            return remaining, refusal.error
        except (WorkloadError, CampaignError) as error:
            return remaining, error
        return remaining, None

    @contextmanager
    def _up(self, todo: Sequence[Trial], clients_count: int) -> Generator[Up]:
        """Hold the hosts and mount the file system of trials.

        Raises _Refused, and whatever a testbed or a file system raises.
        """
        first = todo[0]
        self.observe(Notice("deploy", first.filesystem.label, trial=first))
        began_s = time.monotonic()
        using = tuple(
            dict.fromkeys(role for trial in todo for role in drivers.workload(trial.workload).using)
        )
        testbed = drivers.testbed(first.testbed)
        for note in testbed.awaited() if isinstance(testbed, Awaits) else ():
            self.observe(Notice("note", note))
        with testbed.hold(clients_count) as held_hosts, ExitStack() as deployment:
            if isinstance(testbed, Elsewhere):
                host_disks.require(todo, held_hosts)
                deployment.enter_context(host_disks.watched(todo, held_hosts))
            for host in held_hosts.all if self.campaign.confirmed else ():
                host.overwrite = self.campaign.confirmed
            hosts = replace(held_hosts, using=using)
            try:
                began = hosts.without(drivers.joining(first.events))
                mounted = deployment.enter_context(self._mounted(first, began))
            except (MachineError, WorkloadError) as error:
                time_limit.require_lent(held_hosts.lease, self._again)
                if isinstance(error, WorkloadError):
                    raise starved(held_hosts, error) or error from error
                raise _Refused(error) from error  # no client in this kernel, say: nothing that others need
            servers = f" on {len(began.servers)} servers" if began.servers else ""
            took = f"{first.filesystem.label} is up{servers} after {time.monotonic() - began_s:.1f} s"
            self.observe(Notice("deployed", took, trial=first, hosts=hosts))
            yield Up(hosts, mounted, self._age(first, hosts, mounted))

    @contextmanager
    def _mounted(self, trial: Trial, hosts: Hosts) -> Generator[Mounted]:
        """Mount its file system during the block; say what could not be removed at the end."""
        mounted: Mounted | None = None
        try:
            with drivers.filesystem(trial.filesystem).mount(hosts) as mounted:
                yield mounted
        finally:
            for sentence in mounted.unremoved if isinstance(mounted, OfOthers) else ():
                self.observe(Notice("note", sentence))

    def _age(self, trial: Trial, hosts: Hosts, mounted: Mounted) -> ageing.AgedDeployment | None:
        target = drivers.filesystem(trial.filesystem).aged
        if target and target.full_ratio:
            self.observe(Notice("note", f"ageing {trial.filesystem.label}"))
        try:
            return ageing.age(self.campaign, trial, hosts, mounted, self.results)
        except WorkloadError as error:
            time_limit.require_lent(hosts.lease, self._again)
            raise starved(hosts, error) or error from error

    def _align(self, trial: Trial, hosts: Hosts) -> None:
        if self.campaign.align_s:
            self.observe(Notice("note", "a load pattern, for the clocks of the meters"))
            meters = [drivers.meter(spec) for spec in trial.meters]
            clock_sync.align(hosts, meters, self.results, self.campaign.align_s, self.campaign.seed % 2**31)

    def _soundly(self, todo: Sequence[Trial], up: Up) -> Ended:
        """Measure the first trial, again while that can be sound on this deployment; return how the last
        attempt ended.
        """
        while True:
            self.pace.require_time(up.hosts.lease, todo, self._again)
            ended = self._trial(todo[0], up)
            if not (pause := self._pause(todo[0], ended)):
                return ended
            self.observe(Notice("note", f"{pause.what}; measuring it again"))
            if ended.busy:
                return ended

    def _pause(self, trial: Trial, ended: Ended) -> PausedError | None:
        """Return the error for which the trial is measured again: time passed in it that no load took."""
        if isinstance(ended.failure, PausedError) and self.attempts_counts[trial.id] < ATTEMPTS_COUNT:
            return ended.failure
        return None

    def _trial(self, trial: Trial, up: Up) -> Ended:
        """Measure a trial and keep its record; return how it ended."""
        began_s = time.monotonic()
        self.attempts_counts[trial.id] += 1
        with self.results.attempt(trial) as attempt:
            under_way = UnderWay(
                self.campaign, up, attempt, lambda name: self.observe(Notice("phase", name, trial=trial))
            )
            doubts = under_way.doubts_so_far
            servers = up.serving(trial.clients_count)
            latest = attempt.sink.latest
            self.observe(
                Notice("trial", trial=trial, latest=latest, doubts=doubts, hosts=up.hosts, servers=servers)
            )
            ended = under_way.run()
            with nullcontext() if ended.failure else suppress(MachineError):  # it may not answer for a moment
                time_limit.require_lent(up.hosts.lease, self._again)
            keep_logs(up.mounted, attempt.logs)
            if doubt := self.clock.doubt(time.monotonic() - began_s):
                ended = replace(ended, doubts=(*ended.doubts, doubt))
            made = record(attempt, ended, self.circumstances, up)
            attempt.keep(made)
        self.pace.took(trial, time.monotonic() - began_s)
        points: tuple[Point, ...] = ()
        with suppress(PerjouleError):  # who reads the results will say so
            points = of_trial(self.results, made).points
        self.observe(Notice("kept", trial=trial, record=made, points=points))
        return ended
