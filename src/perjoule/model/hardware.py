"""The catalogue's values: frozen, in SI units."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

Status = Literal["measured", "datasheet", "fitted", "assumed", "bound"]  # bound: only low and high are known
Role = Literal["storage", "metadata", "management", "client"]


@dataclass(frozen=True)
class Value:
    """A number in SI units with its source; sigma is its standard uncertainty (0 when unknown), low to
    high its range.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    value: Annotated[float, Field(ge=0)]
    source: Annotated[str, Field(min_length=1)]
    status: Status
    sigma: Annotated[float, Field(ge=0)] = 0.0
    low: Annotated[float, Field(ge=0)] | None = None
    high: Annotated[float, Field(ge=0)] | None = None
    # Of a fitted value: by how much it moves, in its unit by theirs, with others of the same file ("supply
    # efficiency", "idle of disk NAME"). Its sigma is then what remains when those are right.
    follows: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)


@dataclass(frozen=True)
class Drive:
    """A storage device."""

    name: str
    technology: Literal["hdd", "ssd", "nvme", "sd"]  # "sd": a card
    capacity_bytes: Value
    read_bytes_per_s: Value
    write_bytes_per_s: Value
    idle_w: Value  # spinning, not accessed
    active_w: Value  # at full throughput
    # per request at random: to move its arm, and half a turn; None: it has no arm, or not known
    seek_s: Value | None = None
    step_w: Value | None = None  # of active_w: from idle to the least load
    # An SSD's steady state, whose garbage collection takes rate and watts; None: not known. `write_bytes_per_s`
    # and `active_w` are a fresh one's.
    sustained_write_bytes_per_s: Value | None = None
    sustained_w: Value | None = None  # as long as it is asked to write, however few bytes get through


@dataclass(frozen=True)
class Board:
    """A computer without its disks. `mips` is 7-zip's total rating over all cores."""

    name: str
    cores_count: int
    mips: Value
    nic_bytes_per_s: Value  # TCP goodput, one direction
    idle_w: Value
    dynamic_w: Value  # added at full CPU use
    # what its port for disks lets through, where that is less than disks can
    port_read_bytes_per_s: Value | None = None
    port_write_bytes_per_s: Value | None = None
    memory_bytes: Value | None = None
    step_w: Value | None = None  # of dynamic_w: what the first core at work wakes beside itself
    bend_w: Value | None = (
        None  # of dynamic_w: what grows with the cube of CPU use, as clocks and volts rise with it
    )


@dataclass(frozen=True)
class Node:
    """One kind of host in a cluster, `count` of them in a role."""

    name: str
    role: Role
    count: int
    board: Board
    disks: tuple[Drive, ...]


@dataclass(frozen=True)
class Cluster:
    """A storage cluster and the client machines that load it."""

    name: str
    title: str
    source: str
    nodes: tuple[Node, ...]
    switch_w: Value  # at the wall, as the clusters' totals are
    supply_efficiency: Value  # of the power supply, 0 to 1
    notes: tuple[str, ...] = ()
    file: str = ""  # of the catalogue; its variants share boards, disks, switch and supply
    # At the wall, without the switch. Peak and mean are two numbers: a peak of samples is not their mean.
    load_w: Value | None = None  # what the load that CPUs and disks were fitted to adds to idle, on average
    highest_w: Value | None = None  # the highest sample that was measured
    # At the wall, of the supply of one server: what it takes without load. Its efficiency is then that of the
    # load alone.
    supply_no_load_w: Value | None = None
