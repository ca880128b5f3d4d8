"""What happens to hosts or the file system while the load of a trial runs: as the campaign asks for it, and as it came about."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal

EventKind = Literal["kill", "cut", "slow", "fail", "lossy", "back", "add", "scrub", "snapshot"]
COMMANDS: Final[frozenset[EventKind]] = frozenset({"scrub", "snapshot"})  # to the whole file system, which has no host


@dataclass(frozen=True)
class TrialEvent:
    """Something that is done to a server, or to the file system, while the load runs."""

    at_s: float  # after the beginning of the phase "measure"
    kind: EventKind
    host: str = ""  # "": it is done to the file system as a whole
    factor: float = 1.0  # by which a "slow" disk is slower
    loss_ratio: float = 0.0  # of the packets that the host sends over a "lossy" link

    @property
    def text(self) -> str:
        """Its name in tables and figures: "kill storage-2", "scrub"."""
        by = {"slow": f" {self.factor:g} times", "lossy": f" {self.loss_ratio * 100:g} %"}.get(self.kind, "")
        return f"{self.kind} {self.host}{by}".rstrip()

    def identity(self) -> Mapping[str, object]:
        """What makes two of them equal; a loss only where there is one, so that trials keep their names."""
        return {key: value for key, value in asdict(self).items() if key != "loss_ratio" or value}


def joining(events: Sequence[TrialEvent]) -> frozenset[str]:
    """Name the hosts without which a file system begins, because they join it later."""
    return frozenset(event.host for event in events if event.kind == "add")


@dataclass(frozen=True)
class Happened:
    """An event that came about."""

    event: TrialEvent
    planned_s: float
    began_s: float
    # When it was done: the last daemon had ended or was started, the link was down or up, a command was given, a host had begun
    # to join.
    ended_s: float
    lost_bytes: int | None = None  # of the file system's data, that a failed disk held shortly before
    gained_bytes: int | None = None  # the same, that a host which joined held at the end of the tail

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
    words: str = ""  # what it lacks, or is still doing: "healing", "scrub of 3 PGs"; "": nothing


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
