"""What happens to the hosts of a trial while its load runs: as the campaign asks for it, and as it came about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

EventKind = Literal["kill", "cut", "slow", "fail", "back"]


@dataclass(frozen=True)
class TrialEvent:
    """Something that is done to a server while the load runs."""

    at_s: float  # after the beginning of the phase "measure"
    kind: EventKind
    host: str
    factor: float = 1.0  # by which a "slow" disk is slower

    @property
    def text(self) -> str:
        """Its name in tables and figures: "kill storage-2"."""
        by = f" {self.factor:g} times" if self.kind == "slow" else ""
        return f"{self.kind} {self.host}{by}"


@dataclass(frozen=True)
class Happened:
    """An event that came about."""

    event: TrialEvent
    planned_s: float
    began_s: float
    ended_s: float  # when it was done: the last daemon had ended or was started, the link was down or up
    lost_bytes: int | None = None  # of the file system's data, that a failed disk held shortly before

    @property
    def late_s(self) -> float:
        """By how much it was done later than planned."""
        return self.ended_s - self.planned_s


SURE_COUNT = 5  # answers in a row that it is healthy: after the loss of an OSD, Ceph reports healthy PGs for some seconds


@dataclass(frozen=True)
class Health:
    """One answer of a file system to whether it is healthy, after an event."""

    asked_s: float
    answered_s: float
    words: str = ""  # what it lacks, or is doing to be healthy again; "": nothing


def healthy_since(happened: Sequence[Happened], health: Sequence[Health]) -> float | None:
    """Return the first of the healthy answers with which the row of answers ends, all asked after the last event.

    None if there are fewer than `SURE_COUNT`, or nothing happened.
    """
    row: list[Health] = []
    for one in reversed(health):
        if one.words or not happened or one.asked_s < happened[-1].ended_s:
            break
        row.append(one)
    return row[-1].answered_s if len(row) >= SURE_COUNT else None
