"""A load, and how its engine's report is read."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

from perjoule.drivers.protocols.abilities import Ability
from perjoule.drivers.protocols.checks import Check
from perjoule.drivers.protocols.filesystem import Access, Mounted
from perjoule.drivers.protocols.host import Host
from perjoule.model import ClientResult, Direction, Json, Outcome, Pattern
from perjoule.model.errors import TooShort
from perjoule.model.spectrum import MassSpectrum

Need = Access | Literal["nothing"]


class User(Protocol):
    """Who loads beside others, by the keys of its table that are not its workload's."""

    @property
    def user(self) -> str:
        """Its name."""
        ...

    @property
    def clients(self) -> tuple[int, ...]:
        """The numbers of the clients from which it loads; (): all."""
        ...


@dataclass(frozen=True)
class ListsUsers:
    """Marks an option of a workload that lists users: each is a table of another workload, with the keys
    of `user` beside.
    """

    user: Callable[..., User]  # a dataclass
    keys: tuple[str, ...]

    def split(self, table: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Tell a user's own keys from those of its workload."""
        return {k: v for k, v in table.items() if k in self.keys}, {
            k: v for k, v in table.items() if k not in self.keys
        }


class Workload(ABC):
    """A load, and the parser of its engine's report."""

    # of the file system: a campaign that puts together what doesn't fit is refused
    needs: ClassVar[Need] = "folders"
    # Options that make it quick on simulated hosts, where it runs as it is; None: a simulated load stands for
    # it.
    simulated_with: ClassVar[Mapping[str, Json] | None] = None
    also_called: ClassVar[Mapping[str, str]] = {}  # an option as other tools call it -> the line to write
    # it continues after errors that events cause, and measures how many there were
    tolerate_errors: bool = False

    @property
    def using(self) -> tuple[str, ...]:
        """Roles of hosts, besides clients, that work on the file system; `prepare` and `run` get them
        after the clients.
        """
        return ()

    @abstractmethod
    def prepare(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> None:
        """Lay out what the measured window needs and drop caches, outside of it.

        Raw output goes to `folder`.
        """

    @abstractmethod
    def run(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome:
        """Load from all clients together, keep every raw output in `folder`, report.

        Raises WorkloadError, TransientError.
        """

    def read_back(self, clients: Sequence[Host], mounted: Mounted, folder: Path) -> Outcome | None:
        """Check the written data after the write-back, and report again; None if there is nothing to check.

        Raises:
            WorkloadError, TransientError: they differ, or could not be read.
        """
        return None

    @abstractmethod
    def outcome(self, folder: Path) -> Outcome:
        """Parse the report of `run` again, from the raw outputs in `folder` alone; `perjoule verify` compares
        the two.

        Raises:
            WorkloadError: an output is missing or damaged.
        """

    def mass_spectrum(self, folder: Path) -> MassSpectrum | None:
        """Return the spectrum that its analysis of muon pairs left in the raw folder; None if it analyses
        none.

        Raises:
            OSError, ValueError, LookupError: it is missing or damaged.
        """
        return None

    @abstractmethod
    def checks(self) -> tuple[Check, ...]:
        """Check what this machine needs for it."""

    @abstractmethod
    def moved_bytes(self, clients_count: int) -> int:
        """Return how many bytes one run moves in its measured window, for plans and progress."""

    def stored_bytes(self, clients_count: int) -> int:
        """Return the most bytes that its files hold, before any redundancy."""
        return self.moved_bytes(clients_count)

    def loading_s(self, clients_count: int, bytes_per_s: float) -> float:
        """How long the measured window takes, if all clients together move this much."""
        return self.moved_bytes(clients_count) / bytes_per_s

    @property
    def duration_limit_s(self) -> float:
        """The time after which it ends by itself, wall time; inf if its options state none."""
        return math.inf

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The directions measured: ("write",), ("read",) or both; ("mixed",) for users who do both;
        ("idle",) for no load.
        """
        return ("write",)

    @property
    def pattern(self) -> Pattern:
        """How it gets at its data, as far as its options say."""
        return Pattern()

    @property
    def streaming_calls_count(self) -> int | None:
        """Calls that each client has in flight all the time, as fast as it can, in order through one file of
        its own.

        None: it loads in another way, and says nothing of what the file system could do.
        """
        return None


class RemakesPools(Ability):
    """A load that may make and delete the pools of clients, which stores of others don't allow."""

    @property
    @abstractmethod
    def remakes_pools(self) -> bool:
        """Whether it does with these options."""

    @property
    @abstractmethod
    def pools_apart_s(self) -> tuple[float, float]:
        """The least time from one pool's creation to the next one's, and the same of deletions."""


class RunsUnmounted(Ability):
    """A load that may run while clients are without what they mount."""

    @property
    @abstractmethod
    def runs_unmounted(self) -> bool:
        """Whether it does with these options."""


class ComputesInHosts(Ability):
    """A load whose hosts compute much besides it: seconds of a processor that 7-zip rates 1 MIPS, roughly."""

    start_mips_s: ClassVar[float]  # to start where it works

    @property
    @abstractmethod
    def prepared_mips_s(self) -> float:
        """What the slowest server computes before the window."""


class LaysOut(Ability):
    """A load that does not lay out all that its files hold."""

    @abstractmethod
    def laid_out_bytes(self, clients_count: int) -> int:
        """Return how many bytes `prepare` writes before the window."""


def laid_out_bytes(workload: Workload, clients_count: int) -> int:
    """Return what a load writes before its window: all that its files hold, unless it only writes."""
    if isinstance(workload, LaysOut):
        return workload.laid_out_bytes(clients_count)
    return 0 if workload.directions == ("write",) else workload.stored_bytes(clients_count)


def require_time(results: Sequence[ClientResult]) -> None:
    """Check that each client's load took time.

    Raises WorkloadError: one ended when it began, so it has no rate.
    """
    if (host := next((r.host for r in results if not r.ended_s > r.began_s), None)) is not None:
        raise TooShort(
            "the load was too short for its tool to time",
            where=host,
        )
