"""The content of a campaign: drivers by name, trials, and the stop rule."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from perjoule.model.events import TrialEvent
from perjoule.model.options import Json, Overwrite, Permit
from perjoule.model.units import clients_text

MOST_SLUG_BYTES = 160  # it names folders: file systems take 255 bytes


@dataclass(frozen=True)
class Spec:
    """A driver by name, with its options as written, so it can be stored and built again."""

    kind: str
    options: Mapping[str, Json] = field(default_factory=dict[str, Json])
    label: str = ""  # how tables and figures name it; never empty in a parsed campaign

    def identity(self) -> Json:
        """The parts that make two of them equal; the label is only a name."""
        return {"kind": self.kind, "options": self.options}


@dataclass(frozen=True)
class Trial:
    """One measurement: a workload by a number of clients on a file system on a testbed, for the n-th time
    (from 1).
    """

    testbed: Spec
    filesystem: Spec
    workload: Spec
    meters: tuple[Spec, ...]
    clients_count: int
    repetition: int
    events: tuple[TrialEvent, ...] = ()  # in the order of time

    @cached_property
    def id(self) -> str:
        """A readable name, always the same for the same request."""
        parts = [self.testbed, self.filesystem, self.workload, *self.meters]
        identities: list[object] = [[s.identity() for s in parts], self.clients_count, self.repetition]
        identities += [[event.identity() for event in self.events]] if self.events else []
        text = json.dumps(identities, sort_keys=True)
        label = f"{self.filesystem.label} {self.workload.label}".lower()
        slug = "-".join("".join(c if c.isalnum() else " " for c in label).split())
        if len(slug.encode()) > MOST_SLUG_BYTES:
            ending = hashlib.sha256(slug.encode()).hexdigest()[:8]
            slug = f"{slug.encode()[:MOST_SLUG_BYTES].decode(errors='ignore')}-{ending}"
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        return f"{slug}-{self.clients_count}c-r{self.repetition}-{digest}"

    @property
    def text(self) -> str:
        """Its name for people: "CephFS, fio write, 4 clients, repetition 2"."""
        return trial_text(self.filesystem.label, self.workload.label, self.clients_count, self.repetition)


def trial_text(filesystem: str, workload: str, clients_count: int, repetition: int) -> str:
    """Name a trial for people, by labels."""
    return f"{filesystem}, {workload}, {clients_text(clients_count)}, repetition {repetition}"


LEAST_COUNT = 3  # repetitions, below which a sample's scatter is too uncertain for a StopRule


@dataclass(frozen=True)
class StopRule:
    """Repeat until the 95 % interval of a metric is this narrow, or the count is reached."""

    metric: str  # as people call it: "MiB/J"
    interval_ratio: float  # half width over mean
    most_count: int


@dataclass(frozen=True)
class Campaign:
    """The content of a campaign file, with every trial in the order in which it will run."""

    name: str
    description: str
    seed: int
    groups: tuple[tuple[Trial, ...], ...]  # trials of one group share one deployment
    text: str  # the file as it was read
    order: Literal["shuffled", "interleaved", "written"] = "shuffled"  # of the trials
    edp_weight: int = 1  # w in energy x time^w
    settle_s: float = 1.0  # idle window before and after each measured window
    align_s: float = 0.0  # length of the load pattern that reveals the clocks of meters; 0: none
    quiet_s: float = 30.0  # the longest wait, after each load, for the file system to be quiet; 0: none
    until: StopRule | None = None  # how many of the repetitions are needed; None: all
    least_count: int = 1  # of repetitions, which all combinations get
    overwrite: tuple[Overwrite, ...] = ()  # raw devices that the file names
    confirmed: tuple[Permit, ...] = ()  # of these, what the user has confirmed
    # "filesystem.goal=2", "seed=..." when it was drawn: with them `text` gives this again
    overrides: tuple[str, ...] = ()
    # text files that it names, by their relative path
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    reproduces: str = ""  # the paper whose study it repeats
    # "lab.toml line 12" of each testbed and file system, by ("filesystem", its label), for errors that are
    # found later
    places: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str], compare=False)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All trials in order."""
        return tuple(trial for group in self.groups for trial in group)
