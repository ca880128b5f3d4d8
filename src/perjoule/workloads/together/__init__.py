"""Several users at once: each with its own workload, on its own or shared clients, and its own arrivals.

Arrivals follow a schedule that is drawn before, and a user does one thing at a time: a job that is due while
the previous one runs starts when that has ended. Each job has folders of its own, prepared before the window:
every read is cold, every file of a write new. `perjoule.measures.users` evaluates the results (Jain's index:
https://arxiv.org/abs/cs/9809099).
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass as plain_dataclass
from functools import cached_property
from pathlib import Path
from threading import Event, Thread
from typing import Annotated, Any, Self, TypeVar

from pydantic import Field, WithJsonSchema, model_validator
from pydantic.dataclasses import dataclass

from perjoule import drivers
from perjoule.drivers.protocols import Check, Host, LaysOut, ListsUsers, Mounted, Workload, laid_out_bytes
from perjoule.machine.untrusted import read_as
from perjoule.model import OPTIONS, Direction, Outcome, Spec
from perjoule.model.errors import PerjouleError
from perjoule.model.units import Seconds
from perjoule.workloads._raw import reading
from perjoule.workloads.together.mix import mixed
from perjoule.workloads.together.user import UserJob, UserTable

EXAMPLE = """
[[workload]]
kind = "together"
only = ["", "analysis", "backup"]
together = [
    {user = "analysis", kind = "fio", operation = "read", size = "64 MiB"},
    {user = "backup", kind = "fio", operation = "write", size = "64 MiB", arrival = "after 1 s"},
]
"""

T = TypeVar("T")


@plain_dataclass(frozen=True)
class Starts:
    """together.json: when each user's jobs began, in seconds from the start of the load."""

    starts_s: Mapping[str, tuple[float, ...]]


_TABLE = {
    "type": "object",
    "required": ["user", "kind"],
    "properties": {"user": {"type": "string"}, "kind": {"type": "string"}},
}
_USERS = ListsUsers(UserTable, tuple(UserTable.__dataclass_fields__))
_Tables = Annotated[
    tuple[Mapping[str, Any], ...],
    Field(min_length=1),
    WithJsonSchema({"type": "array", "minItems": 1, "items": _TABLE}),
    _USERS,
]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Together(Workload, LaysOut):
    """The workloads of several users, at the same time."""

    together: _Tables
    """A table for each user: `user` is its name, `clients = [1, 2]` lists the trial's clients that run its
    load (all if omitted; users may share them), `arrival` when its jobs arrive: "at once", "after 5 s",
    "every 10 s" or "poisson 10 s" (on average);
    and also `kind` and the options of its workload, one value each."""

    only: str = ""
    """One user alone, for comparison with running together: ["", "analysis", "backup"] measures all
    together and each alone.
    """

    window_s: Seconds | None = None
    """How long jobs arrive, in wall time; needed for "every" and "poisson".

    Jobs still running then run to their end.
    """

    seed: Annotated[int, Field(ge=0)] = 1
    """Seed of Poisson arrivals; the same in all trials, so a user alone has the same arrivals as with
    others.
    """

    @model_validator(mode="after")
    def _possible(self) -> Self:
        names = [user.user for user, _ in self._users]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two users are called {twice[0]} (give each a different name)")
        if self.only and self.only not in names:
            raise ValueError(f'only = "{self.only}" is not a user (known: {", ".join(names)})')
        for user, workload in self._users:
            if isinstance(workload, Together) or workload.needs != "folders":
                raise ValueError(
                    f"the workload of {user.user} can't be used for one of several users (use one that "
                    "works on files)"
                )
            if user.repeats and self.window_s is None:
                raise ValueError(
                    f'arrival = "{user.arrival}" of {user.user} needs a window (write window = "60 s")'
                )
        self._jobs  # noqa: B018  # impossible arrivals are reported here
        return self

    @cached_property
    def _users(self) -> tuple[tuple[UserTable, Workload], ...]:
        users: list[tuple[UserTable, Workload]] = []
        for table in self.together:
            user_options, options_of_workload = _USERS.split(table)
            options = {
                key: value for key, value in options_of_workload.items() if key not in ("kind", "label")
            }
            kind = str(options_of_workload.get("kind", ""))
            try:
                users.append((UserTable(**user_options), drivers.workload(Spec(kind, options))))
            except KeyError:
                raise ValueError(f'unknown workload "{kind}" (see `perjoule drivers`)') from None
        return tuple(users)

    @cached_property
    def _jobs(self) -> Mapping[str, tuple[UserJob, ...]]:
        """The jobs of each user that loads, in order."""
        return {
            user.user: tuple(
                UserJob(user, workload, number, due_s)
                for number, due_s in enumerate(user.arrivals_s(self.window_s or 0.0, self.seed), start=1)
            )
            for user, workload in self._users
            if self.only in ("", user.user)
        }

    @property
    def _all_jobs(self) -> list[UserJob]:
        return [job for jobs in self._jobs.values() for job in jobs]

    @property
    def using(self) -> tuple[str, ...]:
        """The roles on which any user's workload runs."""
        return tuple(dict.fromkeys(role for _, workload in self._users for role in workload.using))

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The one direction of all users, or "mixed"."""
        directions: dict[Direction, None] = dict.fromkeys(
            d for jobs in self._jobs.values() for d in jobs[0].workload.directions
        )
        return tuple(directions) if len(directions) == 1 else ("mixed",)

    def loading_s(self, clients_count: int, bytes_per_s: float) -> float:
        """Not less than the window in which jobs go on to arrive."""
        return max(super().loading_s(clients_count, bytes_per_s), self.window_s or 0.0)

    def moved_bytes(self, clients_count: int) -> int:
        """Return the bytes of all users, of all their jobs."""
        return sum(job.workload.moved_bytes(len(job.user.clients) or clients_count) for job in self._all_jobs)

    def stored_bytes(self, clients_count: int) -> int:
        """Return the bytes of all users' files, of all their jobs."""
        return sum(
            job.workload.stored_bytes(len(job.user.clients) or clients_count) for job in self._all_jobs
        )

    def laid_out_bytes(self, clients_count: int) -> int:
        """Return the bytes of those users who read."""
        return sum(
            laid_out_bytes(job.workload, len(job.user.clients) or clients_count) for job in self._all_jobs
        )

    def checks(self) -> tuple[Check, ...]:
        """Check the requirements of the users' workloads."""
        return tuple(
            {check.name: check for _, workload in self._users for check in workload.checks()}.values()
        )

    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Prepare every scheduled job, one after another, each in folders of its own."""
        for job in self._all_jobs:
            hosts, raw = job.user.hosts(clients, job.workload.using), job.raw(folder)
            job_mounted = job.mounted(mounted, hosts)
            for host in hosts:
                host.put("", job_mounted.directories[host.name] / ".user")
            raw.mkdir(parents=True)
            _told(
                job,
                lambda job=job, hosts=hosts, job_mounted=job_mounted, raw=raw: job.workload.prepare(
                    hosts, job_mounted, raw
                ),
            )

    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Run all users' jobs as they arrive, wait until all have ended, and read the reports.

        Raises:
            WorkloadError, TransientError: a job failed; then no other starts, and the running ones end by
                their time limits.
        """
        began_s, stop, failures = time.monotonic(), Event(), list[Exception]()
        starts_s: dict[str, list[float]] = {name: [] for name in self._jobs}

        def load(name: str) -> None:
            for job in self._jobs[name]:
                if stop.wait(max(0.0, began_s + job.due_s - time.monotonic())):
                    return
                starts_s[name].append(time.monotonic() - began_s)
                hosts = job.user.hosts(clients, job.workload.using)
                try:
                    _told(
                        job,
                        lambda job=job, hosts=hosts: job.workload.run(
                            hosts, job.mounted(mounted, hosts), job.raw(folder)
                        ),
                    )
                except Exception as error:  # any: it is raised where the user is waited for
                    failures.append(error)
                    stop.set()

        threads = [Thread(target=load, args=[name], daemon=True) for name in self._jobs]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            stop.set()  # when interrupted
        if failures:
            raise failures[0]
        (folder / "together.json").write_text(json.dumps({"starts_s": starts_s}))
        return self.outcome(folder)

    def read_back(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome | None:
        """Check every job's data, one job after the other. Raises WorkloadError, TransientError."""
        outcomes: list[Outcome | None] = []
        for job in self._all_jobs:
            hosts = job.user.hosts(clients, job.workload.using)
            job_mounted, raw = job.mounted(mounted, hosts), job.raw(folder)
            outcomes.append(
                _told(
                    job,
                    lambda job=job, hosts=hosts, job_mounted=job_mounted, raw=raw: job.workload.read_back(
                        hosts, job_mounted, raw
                    ),
                )
            )
        return self.outcome(folder) if any(outcomes) else None

    def outcome(self, folder: Path) -> Outcome:
        """Parse all jobs' raw outputs. Raises WorkloadError."""
        with reading("the times of the users' jobs", folder):
            starts_s = read_as(Starts, folder / "together.json").starts_s
            waits_s = {
                n: [s - j.due_s for s, j in zip(starts_s[n], jobs, strict=True)]
                for n, jobs in self._jobs.items()
            }
        outcomes = {
            n: [_told(job, lambda job=job: job.workload.outcome(job.raw(folder))) for job in jobs]
            for n, jobs in self._jobs.items()
        }
        return mixed(outcomes, waits_s)


def _told(job: UserJob, call: Callable[[], T]) -> T:
    """Add the user and job to an error."""
    try:
        return call()
    except PerjouleError as error:
        raise type(error)(
            error.what, where=", ".join(filter(None, (f"user {job.user.user}", error.where))), next=error.next
        ) from error
