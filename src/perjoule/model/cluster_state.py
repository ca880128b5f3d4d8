"""What a storage cluster that others run says of itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from perjoule.model.options import Json
from perjoule.model.redundancy import Redundancy


@dataclass(frozen=True)
class ClusterState:
    """The answers of a cluster at one moment, by its own tools."""

    asked_s: float
    version: str
    redundancy: Redundancy | None  # of the pool, volume or folder that is measured; None: not known
    health: str  # in its own words, as "HEALTH_WARN"
    # what is missing until all data are served with full redundancy: "osd.3 down; 7 PGs undersized"; "":
    # nothing
    lacks: str
    work: str = ""  # what it does by itself although nothing is missing: "2 PGs scrubbing"; "": nothing
    # Servers, flags, layout, by name: what stays the same unless somebody or something changes the cluster.
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    facts: Mapping[str, Json] = field(default_factory=dict[str, Json])  # anything else worth keeping
    # What all of its clients have moved since some fixed moment, without copies; None: it does not count.
    written_bytes: int | None = None
    read_bytes: int | None = None
    of_others: bool = False  # whether these counts leave out the hosts that load


def changes(before: ClusterState, after: ClusterState) -> list[str]:
    """Name the parts that differ: "osd.3: up, in; later: down, in"."""
    names = dict.fromkeys((*before.parts, *after.parts))
    pairs = ((name, before.parts.get(name, "absent"), after.parts.get(name, "absent")) for name in names)
    return [f"{name}: {first}; later: {then}" for name, first, then in pairs if first != then]
