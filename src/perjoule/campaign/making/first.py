"""The campaign of a first measurement: one folder or device, a minute of writing and of reading, and its meters.

Two plugs of one machine feed its two power supplies: each is an inlet, and only all of them are the machine.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tomlkit

from perjoule.campaign.defaults import COUNTERS, DEVICE, FOLDER, HOSTS, LOAD, MACHINE, NUMBER
from perjoule.campaign.source import Table
from perjoule.drivers.names import patterns, unfold
from perjoule.model import Campaign, Spec
from perjoule.model.errors import CampaignError
from perjoule.model.series import INLET, inlet
from perjoule.model.units import BYTES, exact_text, seconds_text
from perjoule.model.withheld import withheld

NAS, HERE, CLIENTS = (
    "nas",
    "here",
    "clients",
)  # whose power a meter shows; besides, that of one client by its name
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
RESERVED = frozenset(
    {NAS, HERE, CLIENTS, SERVER, CLIENT, SWITCH, "servers"}
)  # words that are no client's name
HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
FEEDING = ("wall", "PDU")  # grades of meters of which each feeds one supply; a BMC shows all of them
MOST_INLETS = 9
HOW_READ = frozenset({"accuracy", "name", "rate", "timeout"})  # options that make no other device of a meter
LIMIT_RATIO = 6.0  # of a window: what is written for a minute may be slower than a probe of seconds


@dataclass(frozen=True)
class ClientHosts:
    """Hosts that load, as one writes them for ssh: "n[1-4]", and who logs in."""

    pattern: str
    user: str = ""  # "": whom OpenSSH's configuration names


def clients_of(text: str) -> tuple[ClientHosts, ...]:
    """Read "n[1-4]" or "me@n1,m2". Raises CampaignError."""
    hosts: list[ClientHosts] = []
    try:
        for part in patterns(text):
            user, _, pattern = part.strip().rpartition("@")
            hosts.append(ClientHosts(pattern, user))
        names = [name for of in hosts for name in unfold(of.pattern)]
    except ValueError as error:
        raise CampaignError(str(error), where="--on", next="write n[1-4], or n1,n2") from None
    strange = [name for name in names if not HOST.fullmatch(name) or name in RESERVED]
    if strange:
        raise CampaignError(
            f'"{strange[0]}" is no name of a client',
            where="--on",
            next="write n[1-4], n1,n2 or me@n1, as for ssh",
        )
    if len(set(names)) < len(names):
        raise CampaignError(f"{text} names a client twice", where="--on", next="name each once")
    return tuple(hosts)


@dataclass(frozen=True)
class DataPlace:
    """Where the data lie: a folder, or a whole block device, whose content is lost."""

    path: str  # of a device, its stable ID
    is_device: bool = False
    remote: bool = False  # whether they lie on a server that only meters know
    clients: tuple["ClientHosts", ...] = ()  # who loads over SSH; this machine if there are none

    @property
    def client_names(self) -> tuple[str, ...]:
        """Who loads over SSH, by name."""
        return tuple(name for hosts in self.clients for name in unfold(hosts.pattern))

    @property
    def testbed(self) -> Table:
        """The testbed's table."""
        if not self.clients:
            return {"kind": MACHINE, **({"metered": [SERVER]} if self.remote else {})}
        server = [{"name": SERVER, "role": "storage", "login": False}] if self.remote else []
        clients = [
            {"name": hosts.pattern, "role": "client", **({"user": hosts.user} if hosts.user else {})}
            for hosts in self.clients
        ]
        return {"kind": HOSTS, "hosts": [*server, *clients]}

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
    whose: str  # NAS, HERE, CLIENTS, or the name of one client
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
        size_bytes: what each client moves in a trial, whole transfers.
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
        **({"clients": [len(place.client_names)]} if place.clients else {}),
        "testbed": place.testbed,
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
    covers = [{NAS: SERVER, HERE: CLIENT}.get(meter.whose, meter.whose), *switch]
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


def require_boundary(meters: Sequence[MeterOf], place: DataPlace, *, source: str) -> None:
    """Check that meters show somebody's power who takes part.

    Args:
        meters: with whose power each shows.
        place: where the data lie.
        source: what is mounted there.

    Raises:
        CampaignError: no NAS takes part, another host does not, or a number stands beside no meter.
    """
    beside = {CLIENTS, *place.client_names} if place.clients else {HERE}
    if absent := next((meter for meter in meters if meter.whose not in {NAS, *beside}), None):
        raise CampaignError(
            f"{absent.whose}= names no host of this measurement",
            where=f"--meter {absent.line}",
            next=f"write one of {', '.join(f'{name}=' for name in (NAS, *sorted(beside)))}",
        )
    strange = [meter for meter in meters if not place.remote and (meter.whose == NAS or meter.is_number)]
    if strange:
        what = f"the data of {place.path} lie on {source or 'a disk of this machine'}, so no NAS takes part"
        advice = "mount it there, or write here= or nothing before a meter of this machine"
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

    metered: tuple[str, ...]  # of each meter, NAS, HERE or CLIENTS
    remote: bool  # whether the data lie on a NAS
    supplies_count: int  # of who has the data, each with a meter of its own; 1 without such
    clients_count: int = 0  # over SSH; 0 if this machine is the client

    @property
    def holder(self) -> str:
        """Who has the data."""
        return NAS if self.remote else HERE


def boundary_of(asked: Campaign) -> PowerShown | None:
    """Return whose power a first measurement shows, from the campaign that it kept; None of any other campaign."""
    trial = asked.trials[0]
    places = {(trial.testbed.kind, trial.filesystem.kind, trial.filesystem.label) for trial in asked.trials}
    filesystem = trial.filesystem
    hosts, clients_count = _hosts_of(trial.testbed), trial.clients_count
    loads = {(trial.workload.kind, *sorted(trial.workload.options)) for trial in asked.trials}
    if (
        places != {(trial.testbed.kind, filesystem.kind, filesystem.label)}
        or hosts is None
        or {trial.clients_count for trial in asked.trials} != {clients_count}
        or loads != {LOADS.get(filesystem.kind)}
    ):
        return None
    meters = [spec for spec in trial.meters if spec.kind != COUNTERS]
    covers = [spec.options.get("covers", [SERVER]) for spec in meters]
    servers, clients = hosts
    names = {SERVER, SWITCH, *clients, *([CLIENTS] if trial.testbed.kind == HOSTS else [])}
    if not all(isinstance(of, list) and names >= {*map(str, of)} for of in covers):
        return None
    beside = CLIENTS if trial.testbed.kind == HOSTS else HERE
    whose = tuple(NAS if isinstance(of, list) and SERVER in of else beside for of in covers)
    remote = bool(servers)
    numbered = [
        numbers
        for spec, of in zip(meters, whose, strict=True)
        if of == (NAS if remote else HERE) and (numbers := inlet(str(spec.options.get("component", ""))))
    ]
    supplies_count = max((count for _, count in numbered), default=1)
    return PowerShown(whose, remote, supplies_count, clients_count if trial.testbed.kind == HOSTS else 0)


def _hosts_of(testbed: Spec) -> tuple[Sequence[str], Sequence[str]] | None:
    """Return the servers and clients of a testbed as `DataPlace` writes it, None of any other."""
    if testbed.kind == MACHINE:
        servers = testbed.options.get("metered", [])
        return (([SERVER] if servers else []), [CLIENT]) if servers in ([], [SERVER]) else None
    tables = testbed.options.get("hosts")
    if testbed.kind != HOSTS or not isinstance(tables, list):
        return None
    named: dict[bool, list[str]] = {True: [], False: []}
    for table in tables:
        if not isinstance(table, Mapping):
            return None
        named[bool(table.get("login", True))] += unfold(str(table.get("name", "")))
    return (named[False], named[True]) if named[False] == [SERVER] else None
