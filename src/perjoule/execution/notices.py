"""What happens while a campaign runs, for those who wait for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from perjoule.drivers.protocols import Hosts
from perjoule.model import Channel, Point, Record, Trial

# channel -> t_s, value, duration_s of its last sample
Latest = Callable[[], Mapping[Channel, tuple[float, float, float]]]


@dataclass(frozen=True)
class Notice:
    """Progress that a waiting user wants to see."""

    kind: Literal["deploy", "deployed", "trial", "phase", "kept", "settled", "note"]
    text: str = ""
    trial: Trial | None = None
    record: Record | None = None
    points: tuple[Point, ...] = ()  # of the record: its numbers, a direction each
    hosts: Hosts | None = None
    # inside the boundary of energy; none if they are outside the testbed
    servers: frozenset[str] = frozenset()
    latest: Latest = field(default=lambda: {})
    doubts: Callable[[], Sequence[str]] = field(default=lambda: ())  # of the trial under way, so far


Observer = Callable[[Notice], None]
