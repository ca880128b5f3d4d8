"""The campaign of a first measurement: one folder or device, a minute of writing and of reading, and its meters.

Two plugs of one machine feed its two power supplies: each is an inlet, and only all of them are the machine.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tomlkit

from perjoule.campaign.defaults import COUNTERS, DEVICE, FOLDER, LOAD, MACHINE, NUMBER
from perjoule.campaign.source import Table
from perjoule.model import Campaign
from perjoule.model.errors import CampaignError
from perjoule.model.series import INLET, inlet
from perjoule.model.units import BYTES, exact_text, seconds_text
from perjoule.model.withheld import withheld

NAS, HERE = "nas", "here"  # whose power a meter shows
SERVER, CLIENT = "nas", "local"  # as the testbed calls them
CLEAN = re.compile(r"[^A-Za-z0-9._+-]+")
SETTLE_S = 5.0
LEAST_LIMIT_S = 600.0
LOAD_OPTIONS = ("operation", "size", "time_limit", "transfer")
LOADS = {
    FOLDER: (LOAD, *LOAD_OPTIONS),
    DEVICE: (DEVICE, *sorted(("direct", *LOAD_OPTIONS))),
}  # by file system
SWITCH = "switch"
FEEDING = ("wall", "PDU")  # grades of meters of which each feeds one supply; a BMC shows all of them
MOST_INLETS = 9
HOW_READ = frozenset({"accuracy", "name", "rate", "timeout"})  # options that make no other device of a meter
LIMIT_RATIO = 6.0  # of a window: what is written for a minute may be slower than a probe of seconds


@dataclass(frozen=True)
class DataPlace:
    """Where the data lie: a folder, or a whole block device, whose content is lost."""

    path: str  # of a device, its stable ID
    is_device: bool = False
    remote: bool = False  # whether they lie on a server that only meters know

    @property
    def name(self) -> str:
        """The campaign's name: that of the folder or device, as a folder of results may be called."""
        last = CLEAN.sub("-", self.path.rstrip("/").rpartition("/")[2]).strip("-.")
        return last or (NAS if self.remote else "disk")

    @property
    def filesystem(self) -> Table:
        """Its table."""
        return (
            {"kind": DEVICE, "device": self.path} if self.is_device else {"kind": FOLDER, "path": self.path}
        )

    @property
    def load(self) -> Table:
        """The beginning of the load's table: a device is loaded past this machine's cache."""
        return {"kind": DEVICE, "direct": True} if self.is_device else {"kind": LOAD}


@dataclass(frozen=True)
class MeterOf:
    """A meter, by its line, and whose power it shows."""

    line: str
    table: Table
    whose: str  # NAS or HERE
    component: str = ""  # "inlet-1-of-2", if it feeds one of two supplies

    @property
    def is_number(self) -> bool:
        """Whether it is no reading, but the stated power of the switch beside a NAS."""
        return self.table["kind"] == NUMBER


def written(
    command: str,
    place: DataPlace,
    meters: Sequence[MeterOf],
    *,
    operations: Sequence[str],
    size_bytes: int,
    transfer_bytes: int,
    longest_s: float,
    repetitions: int,
) -> str:
    """Write the campaign.

    Args:
        command: the line that asked for it, for its first comment.
        place: where the data lie.
        meters: with what they show; the counters of this machine are read besides.
        operations: "write", "read".
        size_bytes: what each trial moves, whole transfers.
        transfer_bytes: of a call.
        longest_s: the expected length of the longest window.
        repetitions: of each operation.
    """
    limit_s = round(max(LEAST_LIMIT_S, LIMIT_RATIO * longest_s))
    document: dict[str, Any] = {
        "name": place.name,
        "repetitions": repetitions,
        "settle": seconds_text(SETTLE_S),
        **({"overwrite": [place.path]} if place.is_device else {}),
        "testbed": {"kind": MACHINE, **({"metered": [SERVER]} if place.remote else {})},
        "filesystem": [place.filesystem],
        "workload": [
            {
                **place.load,
                "operation": list(operations),
                "transfer": exact_text(transfer_bytes, BYTES),
                "size": exact_text(size_bytes, BYTES),
                "time_limit": f"{limit_s} s",
            }
        ],
        "meter": [{"kind": COUNTERS}, *(_covering(meter, meters, place.remote) for meter in meters)],
    }
    return f"# Written by: {withheld(command)}\n{tomlkit.dumps(document)}"


def _covering(meter: MeterOf, meters: Sequence[MeterOf], remote: bool) -> Mapping[str, object]:
    """Return a meter's table with what it covers; beside the number of a switch, the meter feeds the switch, too."""
    if meter.is_number:
        return meter.table
    switch = [SWITCH] if remote and meter.whose == NAS and any(one.is_number for one in meters) else []
    covers = [SERVER if meter.whose == NAS else CLIENT, *switch]
    part = {"component": meter.component} if meter.component else {}
    several = sum(one.table["kind"] == meter.table["kind"] for one in meters) > 1
    named = {"name": f"{meter.table['kind']}-{meter.whose}"} if several else {}
    return {**named, **meter.table, **part, "covers": covers}


def supplied(meters: Sequence[MeterOf], grades: Mapping[str, str]) -> tuple[MeterOf, ...]:
    """Number the inlets of a machine that several plugs or outlets feed; other meters stay as they are.

    Args:
        meters: with whose power each shows.
        grades: of each, by its line.

    Raises:
        CampaignError: one machine's are of two grades, or one of them is there twice.
    """
    numbered = list(meters)
    for whose in (NAS, HERE):
        feeding = [
            place
            for place, meter in enumerate(meters)
            if meter.whose == whose and grades[meter.line] in FEEDING and "component" not in meter.table
        ]
        if len({grades[meters[place].line] for place in feeding}) > 1:
            raise CampaignError(
                "meters at the wall and of a PDU are never added, and both would be the same machine's",
                where=f"--meter {meters[feeding[-1]].line}",
                next="name those of one kind, one for each of its power supplies",
            )
        if len(feeding) > MOST_INLETS:
            raise CampaignError(
                f"{len(feeding)} meters for the supplies of one machine",
                where=f"--meter {meters[feeding[-1]].line}",
                next=f"a machine has {MOST_INLETS} at most",
            )
        for number, place in enumerate(feeding if len(feeding) > 1 else (), start=1):
            numbered[place] = replace(meters[place], component=f"{INLET}{number}-of-{len(feeding)}")
    return tuple(numbered)


def require_boundary(meters: Sequence[MeterOf], folder: str, *, remote: bool, source: str) -> None:
    """Check that meters show somebody's power who takes part.

    Args:
        meters: with whose power each shows.
        folder: where the data lie.
        remote: whether that is a NAS.
        source: what is mounted there.

    Raises:
        CampaignError: no NAS takes part, or a number stands beside no meter.
    """
    strange = [meter for meter in meters if not remote and (meter.whose == NAS or meter.is_number)]
    if strange:
        what = f"the data of {folder} lie on {source or 'a disk of this machine'}, so no NAS takes part"
        advice = "write here= or nothing before a meter of this machine"
        if strange[0].is_number:
            advice = "remove it: constant is the power of a switch between this machine and a NAS"
        raise CampaignError(what, where=f"--meter {strange[0].line}", next=advice)
    if any(meter.is_number for meter in meters) and not any(
        meter.whose == NAS and not meter.is_number for meter in meters
    ):
        raise CampaignError(
            "a constant is the power of a switch that the NAS's meter feeds, too",
            where="--meter",
            next="add the meter of the NAS, as shelly://192.168.1.50",
        )


def require_distinct(meters: Sequence[MeterOf]) -> None:
    """Check that no meter is named twice: its power would be added to itself. Raises CampaignError."""
    seen: list[Table] = []
    for meter in meters:
        device = {key: value for key, value in meter.table.items() if key not in HOW_READ}
        if device in seen:
            raise CampaignError(
                "this meter is named twice",
                where=f"--meter {meter.line}",
                next="name each once; two outlets of one device differ in their options, as in ?output=1",
            )
        seen.append(device)


@dataclass(frozen=True)
class PowerShown:
    """Whose power a first measurement shows."""

    metered: tuple[str, ...]  # of each meter, NAS or HERE
    remote: bool  # whether the data lie on a NAS
    supplies_count: int  # of who has the data, each with a meter of its own; 1 without such

    @property
    def holder(self) -> str:
        """Who has the data."""
        return NAS if self.remote else HERE


def boundary_of(asked: Campaign) -> PowerShown | None:
    """Return whose power a first measurement shows, from the campaign that it kept; None of any other campaign."""
    trial = asked.trials[0]
    places = {(trial.testbed.kind, trial.filesystem.kind, trial.filesystem.label) for trial in asked.trials}
    filesystem = trial.filesystem
    servers = trial.testbed.options.get("metered", [])
    loads = {(trial.workload.kind, *sorted(trial.workload.options)) for trial in asked.trials}
    if (
        places != {(MACHINE, filesystem.kind, filesystem.label)}
        or servers not in ([], [SERVER])
        or loads != {LOADS.get(filesystem.kind)}
    ):
        return None
    meters = [spec for spec in trial.meters if spec.kind != COUNTERS]
    covers = [spec.options.get("covers", [SERVER]) for spec in meters]
    if not all(
        isinstance(hosts, list) and {SERVER, CLIENT, SWITCH} >= {*map(str, hosts)} for hosts in covers
    ):
        return None
    whose = tuple(NAS if isinstance(hosts, list) and SERVER in hosts else HERE for hosts in covers)
    remote = bool(servers)
    numbered = [
        numbers
        for spec, of in zip(meters, whose, strict=True)
        if of == (NAS if remote else HERE) and (numbers := inlet(str(spec.options.get("component", ""))))
    ]
    return PowerShown(whose, remote, max((count for _, count in numbered), default=1))
