"""Frozen values that everything else speaks in: what is asked for (Campaign, Trial) and what was seen (Series, Outcome, Record).

Times named `_s` without further words are seconds of CLOCK_MONOTONIC of the machine that runs perjoule; a record's Clock maps
them to UTC. Nothing here is scaled: on an emulated testbed these are wall seconds, and `perjoule.analysis` alone dilates them.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import ceil, inf, isfinite
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, ConfigDict, WithJsonSchema, model_validator
from pydantic.dataclasses import dataclass as pydantic_dataclass

from perjoule.units import Bytes

Json = None | bool | int | float | str | list["Json"] | Mapping[str, "Json"]

UNIT_SUFFIXES = ("_bytes_per_s", "_bytes", "_s", "_j", "_w", "_v", "_hz", "_count", "_ratio")


def option_name(field_name: str) -> str:
    """Name an option as people write it: without its unit, which the value carries (`transfer_bytes` is `transfer`)."""
    return next((field_name.removesuffix(s) for s in UNIT_SUFFIXES if field_name.endswith(s)), field_name)


# How a driver's dataclass reads its options: @dataclass(frozen=True, kw_only=True, config=OPTIONS) of pydantic.dataclasses.
OPTIONS = ConfigDict(extra="forbid", alias_generator=option_name, use_attribute_docstrings=True)


@pydantic_dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Disk:
    """A local file system of its own, beneath a server's data or as what is measured."""

    kind: Literal["ext4", "xfs", "btrfs", "f2fs", "zfs"]
    """The file system; zfs only with mirror = "zfs"."""
    mirror: Literal["none", "md", "lvm", "zfs"] = "none"
    """Each server's data twice, on two disks of its own (files): by md (mdadm), LVM (raid1) or ZFS, where the kernel has it.
    Where it hasn't, the data lie on a single disk (in the place of zfs on xfs), and each record says so as a doubt. Only on
    virtual hosts. The disks' caps don't hold for ZFS, which writes from threads of the kernel."""
    block_bytes: Bytes | None = None
    """Its block size (btrfs: sector size, zfs: record size); as mkfs chooses when absent."""
    size_bytes: Bytes = 4 * 1024**3
    """Size of the sparse file that it is made in; without meaning for a named device."""
    device: str = ""
    """A block device by its stable id below /dev/disk, in the place of a file; only on hosts that are real."""
    make: tuple[str, ...] = ()
    """More arguments for mkfs."""
    options: tuple[str, ...] = ()
    """More mount options."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.kind == "zfs") != (self.mirror == "zfs"):
            raise ValueError('zfs is both: write {kind = "zfs", mirror = "zfs"}, or another kind with mirror = "md" or "lvm"')
        if self.device and self.mirror != "none":
            raise ValueError("a mirror is of two files, not of one device (leave device or mirror out)")
        return self


@pydantic_dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Overwrite:
    """A raw block device whose content may be lost."""

    device: str
    """Its stable id below /dev/disk (by-id, by-path, by-uuid, by-partuuid)."""
    signature: Annotated[tuple[str, ...], BeforeValidator(lambda said: [said] if isinstance(said, str) else said)] = ()
    """What it bears that may be lost, as wipefs calls it: "ext4", or ["gpt", "vfat"]; nothing when left out."""


@pydantic_dataclass(frozen=True)
class AttachedText:
    """A small text file by its path beside the campaign that names it; its text is what is asked."""

    name: str
    text: str


# The type of an option that is written as such a path.
TextFile = Annotated[AttachedText, WithJsonSchema({"type": "string", "examples": ["my.fio"]})]


@dataclass(frozen=True)
class Permit:
    """A raw device that may be overwritten: named by the campaign, shown to the user, and confirmed."""

    device: str
    signature: tuple[str, ...] = ()
    identity: str = ""  # of the device that was shown, by the kernel's number and count: "8:16 41"; "" where nothing was shown


@dataclass(frozen=True)
class Spec:
    """A driver by name with the options as written, so that it can be stored and built again."""

    kind: str
    options: Mapping[str, Json] = field(default_factory=dict[str, Json])
    label: str = ""  # how tables and figures name it; never empty in a parsed campaign

    def identity(self) -> Json:
        """What makes two of them the same: the label is only a name."""
        return {"kind": self.kind, "options": self.options}


@dataclass(frozen=True)
class Trial:
    """One measurement: a workload by so many clients on a file system on a testbed, for the n-th time (from 1)."""

    testbed: Spec
    filesystem: Spec
    workload: Spec
    meters: tuple[Spec, ...]
    clients_count: int
    repetition: int

    @property
    def id(self) -> str:
        """A name that people can read and that the same request always gets again."""
        parts = [self.testbed, self.filesystem, self.workload, *self.meters]
        text = json.dumps([[s.identity() for s in parts], self.clients_count, self.repetition], sort_keys=True)
        words = f"{self.filesystem.label} {self.workload.label}".lower()
        slug = "-".join("".join(c if c.isalnum() else " " for c in words).split())
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        return f"{slug}-{self.clients_count}c-r{self.repetition}-{digest}"


LEAST_COUNT = 5  # repetitions, before which no sample tells its own scatter well enough for a StopRule to judge by


@dataclass(frozen=True)
class StopRule:
    """Repeat until the 95 % interval of a metric is this narrow, or the count is reached."""

    metric: str  # as people call it: "MiB/J"
    interval_ratio: float  # half width over mean
    most_count: int


@dataclass(frozen=True)
class Campaign:
    """What a campaign file asks for, every trial in the order in which it is to run."""

    name: str
    description: str
    seed: int
    groups: tuple[tuple[Trial, ...], ...]  # trials of one group share one deployment
    text: str  # the file as it was read
    edp_weight: int = 1  # w in energy x time^w
    settle_s: float = 1.0  # idle window before and after each measured window
    align_s: float = 0.0  # of the load pattern by which the clocks of meters are found; 0: none
    quiet_s: float = 30.0  # the longest wait, after each load, for the file system to be quiet; 0: none
    until: StopRule | None = None  # how many of the repetitions are needed; None: all
    least_count: int = 1  # of repetitions, which all combinations get
    overwrite: tuple[Overwrite, ...] = ()  # raw devices that the file names
    confirmed: tuple[Permit, ...] = ()  # of these, what the user has confirmed
    overrides: tuple[str, ...] = ()  # "filesystem.goal=2", "seed=..." when it was drawn: with them `text` gives this again
    files: Mapping[str, str] = field(default_factory=dict[str, str])  # text files that it names, by their path beside it
    reproduces: str = ""  # the paper whose study it repeats

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials in order."""
        return tuple(trial for group in self.groups for trial in group)


Quantity = Literal[
    "power", "energy", "cpu", "network_received", "network_sent", "disk_read", "disk_written", "disk_busy", "goodput"
]
Semantics = Literal["counter", "window mean", "instantaneous", "average", "state"]
Grade = Literal["wall", "PDU", "BMC", "component", "modelled", "nameplate", "counter", "simulated"]


@dataclass(frozen=True)
class Specification:
    """What a meter states of itself, or its maker of it; None is not known. Amounts are in the channel's unit.

    An error of the reading P on a range R is at most `gain_ratio` * P + `offset`, with `offset` = b * R.
    """

    gain_ratio: float | None = None
    offset: float | None = None
    resolution: float | None = None  # the smallest step of a value
    period_s: float | None = None  # how often the meter itself has something new
    latency_s: float | None = None  # how much older than its moment a value may be
    range_value: float | None = None  # where a counter falls back to 0
    most_w: float | None = None  # the highest power that it can show or that can flow
    clock_s: float | None = None  # standard uncertainty of the times of its samples


@dataclass(frozen=True)
class Channel:
    """One thing that a meter reads.

    The boundary says what it covers: `host` is one host's name or "" for what no host owns (a switch), `component` is
    "board", "disks", "switch", "supply" (conversion loss), "all" (the whole host) or "total" (the whole cluster).
    A meter that covers several hosts, or hosts and the switch, names them in `covers`: its `host` is "", its component "group".
    """

    meter: str
    host: str
    component: str
    quantity: Quantity
    unit: Literal["W", "J", "s", "B"]
    semantics: Semantics
    grade: Grade
    covers: tuple[str, ...] = ()  # host names, "switch"; of a "group"
    specification: Specification = Specification()

    @property
    def name(self) -> str:
        """A short unique name within a trial."""
        return f"{self.meter}:{self.host or '+'.join(self.covers)}/{self.component}/{self.quantity}"


@dataclass(frozen=True)
class Series:
    """What one channel read: N samples in order of time, as they came. A failed read is a gap, never a zero.

    Shapes: `t_s`, `duration_s`, `value` are float64 of shape (N,). `t_s` is the END of the sample's window; `duration_s` is the
    window's length for "window mean" (0 otherwise). A counter's values are cumulative.
    """

    channel: Channel
    t_s: NDArray[np.float64]
    duration_s: NDArray[np.float64]
    value: NDArray[np.float64]


@dataclass(frozen=True)
class Phase:
    """A named window of a trial ("baseline", "measure", ...)."""

    name: str
    began_s: float
    ended_s: float
    note: str = ""  # what went on in it: "scrub of 2 placement groups; data written back"


Direction = Literal["write", "read", "mixed"]  # "mixed": of several users' trial in which some read and some write


@dataclass(frozen=True)
class ClientResult:
    """What one client moved in one direction ("write" or "read"), fsync included."""

    host: str
    direction: Literal["write", "read"]
    began_s: float
    ended_s: float
    moved_bytes: int
    operations_count: int
    latency_s: Mapping[str, float] = field(default_factory=dict[str, float])  # "mean", "p50", "p95", "p99", "p99.9", "max"
    user: str = ""  # whose load it was, where several users load at once


@dataclass(frozen=True)
class Outcome:
    """What a workload reports of its measured window."""

    engine: str  # tool and version, as it says itself
    results: tuple[ClientResult, ...]
    doubts: tuple[str, ...] = ()
    series: tuple[Series, ...] = ()  # goodput per client over time; stored with the other series, not in the record
    measured: Mapping[str, float] = field(default_factory=dict[str, float])  # what else was, by names that end in a unit
    note: str = ""  # what is to be known of it and speaks not against it: "ended by duration"

    @property
    def began_s(self) -> float:
        """The first client's start."""
        return min(r.began_s for r in self.results)

    @property
    def ended_s(self) -> float:
        """The last client's end."""
        return max(r.ended_s for r in self.results)


@dataclass(frozen=True)
class Clock:
    """One moment on both clocks."""

    monotonic_s: float
    utc_s: float


@dataclass(frozen=True)
class HostFact:
    """A host of the trial: its role and the catalogue's node that it stands for ("" for a host that is not emulated)."""

    name: str
    role: str
    node: str
    address: str = ""


@dataclass(frozen=True)
class Flow:
    """Bytes that move per byte of a user, in one direction; "storage" is all hosts that keep data, together."""

    client_sent_ratio: float = 0.0
    client_received_ratio: float = 0.0
    storage_received_ratio: float = 0.0
    storage_sent_ratio: float = 0.0
    disk_written_ratio: float = 0.0
    disk_read_ratio: float = 0.0


@dataclass(frozen=True)
class Amplification:
    """What redundancy alone explains, by who encodes and who forwards: no headers, metadata, journals or caches."""

    write: Flow
    read: Flow

    def on_mirrors(self, copies_count: int) -> "Amplification":
        """The same where each server keeps what it writes on so many disks of its own; any one of them is read."""
        return replace(self, write=replace(self.write, disk_written_ratio=self.write.disk_written_ratio * copies_count))


@dataclass(frozen=True)
class Record:
    """One attempt at a trial, as stored: what was asked, what came out, under which circumstances, and what speaks against it."""

    trial: Trial
    status: Literal["valid", "failed"]
    reason: str  # why it failed; "" when valid
    attempt: int
    clock: Clock
    scale: float  # time dilation of the testbed: 1 on real hosts
    cluster: str  # name in the catalogue, or ""
    hosts: tuple[HostFact, ...]
    phases: tuple[Phase, ...]
    outcome: Outcome | None
    facts: Mapping[str, Json]  # of the deployment, as the daemons report them
    environment: Mapping[str, Json]
    doubts: tuple[str, ...] = ()
    amplification: Amplification | None = None  # of the file system, derived; None where its layout is not known
    version: int = 1  # of this format


@dataclass(frozen=True)
class Point:
    """The numbers of one valid trial, derived from its record and series; on an emulated testbed in emulated time."""

    trial: Trial
    direction: Direction
    metrics: Mapping[str, float]  # keys end in their unit: "throughput_bytes_per_s", "energy_j", "efficiency_bytes_per_j", ...
    doubts: tuple[str, ...] = ()
    grade: str = ""  # of its energy; "" where it has none


@dataclass(frozen=True)
class Interval:
    """A metric over repetitions: the mean with its 95 % confidence interval (infinite when n = 1), beside all values."""

    mean: float
    low: float
    high: float
    values: tuple[float, ...]

    @property
    def maximum(self) -> float:
        """The largest value: an order statistic that grows with n, as papers print it."""
        return max(self.values)


@dataclass(frozen=True)
class Cell:
    """All repetitions of one combination, summarised: what a table's row and a figure's mark show."""

    filesystem: str  # labels
    workload: str
    direction: Direction
    clients_count: int
    metrics: Mapping[str, Interval]  # the keys of Point.metrics, and "edp_ratio" (normalised to the best of its direction)
    failed_count: int = 0
    doubts: tuple[str, ...] = ()
    servers_count: int = 0  # storage hosts; 0 where none of its trials was measured
    grade: str = ""  # of its energy, "wall+PDU" where repetitions differ; two grades are never ranked against each other


@dataclass(frozen=True)
class Finding:
    """The best file system for a workload, or for a class of them."""

    among: str  # what is compared: "" for all file systems, or the kind whose variants these are
    workload: str
    direction: Direction
    clients_count: int
    best: str
    over_average: Interval  # ratio to the average of the others
    rivals: tuple[str, ...]  # from which the best is not apart, the next best first
    repeated: bool  # False: single repetitions, from which no significance can be told
    compared: tuple[str, ...] = ()  # all file systems, the best first
    grades: tuple[str, ...] = ()  # of their power, where these differ: then there is no winner

    @property
    def verdict(self) -> str:
        """What may be said of it."""
        if self.grades:
            return f"no winner: power is of different grades ({', '.join(self.grades)}), which are not ranked against each other"
        if not self.repeated:
            return "one repetition can't tell"
        return f"no significant winner: not apart from {', '.join(self.rivals)}" if self.rivals else "significant"


@dataclass(frozen=True)
class Replacement:
    """How many low-power machines do a workload as fast as one server, and what they draw for it."""

    server: str  # label of what is replaced: "device on virtual pc-hdd1"
    low_power: str  # label of what would be in its place
    workload: str
    direction: Direction
    machines_ratio: Interval  # low-power machines for one server at the same throughput
    power_ratio: Interval  # their power over the server's, for as many as that, a fraction included
    whole_power_ratio: Interval  # the same for `machines_count`

    @property
    def machines_count(self) -> int:
        """Whole machines: what can be bought, for the mean."""
        return _whole(self.machines_ratio.mean)

    @property
    def machines_range(self) -> tuple[int, float]:
        """Whole machines at either end of the interval; infinite where one repetition gives none."""
        high = self.machines_ratio.high
        return _whole(self.machines_ratio.low), _whole(high) if isfinite(high) else inf

    def throughput_ratio(self, machines: float) -> float:
        """What so many low-power machines together move, over what the server does."""
        return machines / self.machines_ratio.mean

    @property
    def verdict(self) -> str:
        """What may be said of whole machines."""
        found = self.whole_power_ratio
        if not isfinite(found.high):
            return "one repetition can't tell"
        return "less power" if found.high < 1 else "more power" if found.low > 1 else "not apart"


def _whole(machines: float) -> int:
    return max(1, ceil(machines - 1e-9))  # 3 of 3.0000000001 are 3
