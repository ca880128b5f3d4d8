"""A user of a mix: its clients, the arrivals of its jobs, and the folders of its files."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass as plain_dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, Strict
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Host, Mounted, Within, Workload
from perjoule.model import OPTIONS
from perjoule.model.errors import WorkloadError
from perjoule.model.units import seconds, seconds_text

FORMS = '"at once", "after 5 s", "every 10 s" or "poisson 10 s"'
MOST_JOBS = 1000  # of one user in one window: each has a raw folder and a folder in the file system


def _name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}", name):
        raise ValueError(f'"{name}" can\'t be the name of a folder (use up to 40 letters, digits and . _ -)')
    return name


def _arrival(text: str) -> str:
    manner, _, time = text.partition(" ")
    if text != "at once" and manner not in ("after", "every", "poisson"):
        raise ValueError(f'"{text}" is not a valid arrival (write {FORMS})')
    if text != "at once" and seconds(time) <= 0:
        raise ValueError(f'"{text}" has no time in it (write {FORMS})')
    return text


def _listed(value: object) -> object:
    if value == []:
        raise ValueError("[] names no client (remove clients for all of them)")
    return value if isinstance(value, list | tuple) else (value,)  # pyright: ignore[reportUnknownVariableType]  # from TOML


_Client = Annotated[int, Strict(), Field(ge=1)]


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class UserTable:
    """The keys of a user's table besides the options of its workload."""

    user: Annotated[str, AfterValidator(_name)]
    """Its name; used for its results and folders."""

    clients: Annotated[tuple[_Client, ...], BeforeValidator(_listed)] = ()
    """The numbers of the clients that run its load; all clients of the trial if omitted.

    Users may share clients.
    """

    arrival: Annotated[str, AfterValidator(_arrival)] = "at once"
    """When its jobs arrive, in wall time from the start of the measured window."""

    @property
    def repeats(self) -> bool:
        """Whether its jobs arrive more than once, so a window is needed."""
        return self.arrival.startswith(("every", "poisson"))

    def arrivals_s(self, window_s: float, seed: int) -> tuple[float, ...]:
        """Return the seconds at which its jobs arrive, from 0 up to the window's end; the same seed gives the
        same.

        Raises:
            ValueError: no job arrives, or too many.
        """
        manner, _, time = self.arrival.partition(" ")
        if not self.repeats:
            return (0.0 if self.arrival == "at once" else seconds(time),)
        drawn, every_s, arrivals = random.Random(f"{seed} {self.user}"), seconds(time), list[float]()
        next_s = drawn.expovariate(1 / every_s) if manner == "poisson" else 0.0
        while next_s < window_s:
            arrivals.append(next_s)
            next_s = (
                next_s + drawn.expovariate(1 / every_s) if manner == "poisson" else len(arrivals) * every_s
            )
            if len(arrivals) > MOST_JOBS:
                raise ValueError(
                    f"more than {MOST_JOBS} jobs of {self.user} arrive (shorten window, or make its jobs "
                    "less frequent)"
                )
        if not arrivals:
            problem = f'no job of {self.user} arrives by "{self.arrival}" within "{seconds_text(window_s)}"'
            raise ValueError(f"{problem} (make window longer, or use another seed)")
        return tuple(arrivals)

    def hosts(self, clients: Sequence[Host], using: Sequence[str]) -> tuple[Host, ...]:
        """Choose its clients among the trial's, and the hosts of other roles on which its workload runs.

        Raises:
            WorkloadError: the trial has fewer clients.
        """
        loading = [host for host in clients if host.role == "client"]
        if self.clients and max(self.clients) > len(loading):
            raise WorkloadError(
                f"user {self.user} loads from client {max(self.clients)}, but the trial has {len(loading)}"
            )
        own_clients = [loading[number - 1] for number in self.clients] if self.clients else loading
        return (*own_clients, *(host for host in clients if host.role in using))


@plain_dataclass(frozen=True)
class UserJob:
    """One arrival of a user: its workload, the folder of its raw output, and its folders in the file
    system.
    """

    user: UserTable
    workload: Workload
    number: int  # from 1
    due_s: float

    def raw(self, folder: Path) -> Path:
        """Return its folder below the trial's raw folder."""
        return folder / self.user.user / f"job-{self.number}"

    def mounted(self, trial_mounted: Mounted, hosts: Sequence[Host]) -> Mounted:
        """Give it folders of its own, below those of the trial."""
        folder = Path(f"user-{self.user.user}") / f"job-{self.number}"
        return Within(trial_mounted, folder, [host.name for host in hosts])
