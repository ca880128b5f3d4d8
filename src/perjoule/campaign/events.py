"""[[event]] tables: what happens to servers or file systems while a load runs, and whether it can happen
in this campaign.
"""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from pydantic import ValidationError
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo

from perjoule import drivers
from perjoule.campaign.lines import Path
from perjoule.campaign.source import CampaignSource, Table
from perjoule.campaign.tables import fields_of
from perjoule.drivers.protocols import Command, FileSystem, HasEvents, ServerEvent
from perjoule.model import OPTIONS, Spec, TrialEvent, option_name
from perjoule.model.errors import CampaignError
from perjoule.model.units import Seconds, seconds_text
from perjoule.model.validation import explained, instead, written

EVENT = "event"
EVENTS = "events"  # the family of its drivers
MOST_COUNT = 64
ENDING = ("daemons", "disk")  # with a disk, the daemons of a host end, too, and they can't end twice
Numbered = tuple[TrialEvent, int]  # an event, and the number of its table


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class EventTable:
    """What the tables of all events have, beside the options of their kind."""

    at_s: Seconds
    """When it happens: wall time since the start of the load's programs (the phase "measure")."""

    kind: str
    """What happens; `perjoule drivers` lists all."""

    host: str = ""
    """The server, as in "storage-2"; commands to the whole file system have none."""


COMMON: Mapping[str, str] = {option_name(field): field for field in ("at_s", "kind", "host")}


def known_keys(table: Table) -> tuple[str, ...]:
    """Return the valid keys of a table, as far as its kind is known."""
    kind = table.get("kind")
    return (
        *COMMON,
        *(fields_of(EVENT, kind) if isinstance(kind, str) and kind in drivers.kinds(EVENTS) else ()),
    )


def read_event(table: Table, path: Path, place: CampaignSource) -> TrialEvent:
    """Read a table. Raises CampaignError."""
    kind = table.get("kind")
    if kind is not None and kind not in drivers.kinds(EVENTS):
        fault = f"kind = {written(kind)} is not a valid value"
        raise place.error((*path, "kind"), fault, instead(str(kind), drivers.kinds(EVENTS)))
    fields: Mapping[str, tuple[str, FieldInfo]] = fields_of(EVENT, str(kind)) if kind else {}
    for key in table:
        if key not in COMMON and key not in fields:
            having = (
                [event_kind for event_kind in drivers.usable(EVENTS) if key in fields_of(EVENT, event_kind)]
                if kind
                else []
            )
            if having:
                verb = "have" if having[1:] else "has"
                fault = f"{written(kind)} has no {key}; only {' and '.join(having)} {verb} one"
                raise place.error((*path, key), fault, f"remove {key}")
            raise place.error(
                (*path, key), f'an event has no option "{key}"', instead(key, (*COMMON, *fields))
            )
    try:
        common = EventTable(**{key: value for key, value in table.items() if key in COMMON})
    except ValidationError as error:
        example = 'write at = "20 s", kind = "kill", host = "storage-2"'
        explanation = explained(error, EventTable, "an event", add=lambda _: example)
        raise place.error((*path, *explanation.path), explanation.what, explanation.advice) from None
    try:
        driver = drivers.build(
            EVENTS, common.kind, {key: value for key, value in table.items() if key in fields}, to_run=True
        )
    except ValidationError as error:
        driver_class = drivers.driver_class(EVENTS, common.kind)
        explanation = explained(error, driver_class, common.kind, add=partial(_line, common.kind))
        raise place.error((*path, *explanation.path), explanation.what, explanation.advice) from None
    if isinstance(driver, Command) and common.host:
        raise place.error(path, f"a {common.kind} is of the whole file system", "remove host")
    if not isinstance(driver, Command) and not common.host:
        raise place.error(path, 'an event needs "host"', 'write host = "storage-2"')
    return TrialEvent(
        common.at_s, common.kind, common.host, {field: vars(driver)[field] for field, _ in fields.values()}
    )


def _line(kind: str, key: str) -> str:
    """Return the line of an option in the example of a kind."""
    return next(line for line in drivers.example_of(EVENTS, kind).splitlines() if line.startswith(f"{key} ="))


def events(tables: Sequence[Table], place: CampaignSource) -> list[Numbered]:
    """Read the tables, in the order of time. Raises CampaignError with the line of what is wrong."""
    timeline: list[Numbered] = []
    if len(tables) > MOST_COUNT:
        raise place.error(
            (EVENT, MOST_COUNT), f"{len(tables)} events are too many", f"a trial has at most {MOST_COUNT}"
        )
    timeline += [(read_event(table, (EVENT, number), place), number) for number, table in enumerate(tables)]
    timeline.sort(key=lambda numbered: numbered[0].at_s)
    for fault, then, number in _out_of_order(timeline):
        raise place.error((EVENT, number), fault, then)
    for kind in {event.kind for event, _ in timeline}:
        why, numbers = (
            drivers.event_class(kind).single,
            [number for event, number in timeline if event.kind == kind],
        )
        if why and numbers[1:]:
            raise place.error((EVENT, numbers[1]), f"a trial has one {kind}, {why}", "remove the others")
    return timeline


def _out_of_order(timeline: Sequence[Numbered]) -> Iterator[tuple[str, str, int]]:
    """Return what can't happen to a host after what happened to it before, what to do, and the number of
    its table.
    """
    hurt: dict[str, set[str]] = {}
    absent = set(drivers.joining([event for event, _ in timeline]))
    again = "let a host be back before it is hurt in the same way again"
    for event, number in timeline:
        if not event.host:
            continue
        before, kind = hurt.setdefault(event.host, set()), drivers.event_class(event.kind)
        if kind.brings == "new":
            if event.host not in absent:
                yield f"{event.text}: it has already joined", f"{event.kind} each host once", number
            absent.discard(event.host)
        elif event.host in absent:
            yield f"{event.text}: it joins only later", "let it happen after it has joined", number
        elif kind.brings == "back":
            if not before:
                hurts = f"add a {_hurting()} of {event.host} before it"
                yield f"nothing has happened to {event.host} from which it could be back", hurts, number
            before.clear()
        elif event.kind in before:
            yield f"{event.text}: that has already happened to it", again, number
        elif kind.takes in ENDING and any(drivers.event_class(earlier).takes in ENDING for earlier in before):
            yield f"{event.text}: its daemons have already ended", again, number
        else:
            before.add(event.kind)


def _hurting() -> str:
    """Name the events from which a host can be back."""
    classes = {kind: drivers.event_class(kind) for kind in drivers.usable(EVENTS)}
    *kinds, last = (kind for kind, cls in classes.items() if issubclass(cls, ServerEvent) and not cls.brings)
    return f"{', '.join(kinds)} or {last}"


def check_possible(
    numbered_events: Sequence[Numbered],
    parts: Mapping[str, Sequence[Spec]],
    clients_counts: Sequence[int],
    place: CampaignSource,
) -> None:
    """Check that these events can happen to every testbed, file system and load. Raises CampaignError."""
    if not numbered_events:
        for number, workload in enumerate(parts["workload"]):
            if drivers.workload(workload).tolerate_errors:
                fault = f'"{workload.label}" tolerates errors, and no event of this campaign would cause any'
                raise place.error(("workload", number), fault, "add an [[event]], or remove tolerate_errors")
        return
    for filesystem in parts["filesystem"]:
        if not drivers.filesystem(filesystem).heals:
            fault = (
                f"filesystem {filesystem.kind} was not seen to get healthy again, so no event can happen to "
                "its servers"
            )
            raise place.error((EVENT,), fault, f"use filesystem {' or '.join(_able())}")
        unable = drivers.filesystem(filesystem).unable
        for event, number in numbered_events:
            if event.kind in unable:
                fault = f'no {event.kind} can happen to filesystem "{filesystem.label}": {unable[event.kind]}'
                raise place.error(
                    (EVENT, number),
                    fault,
                    f"use filesystem {' or '.join(_able(event.kind))}, or remove the event",
                )
    for testbed, clients_count in itertools.product(parts["testbed"], clients_counts):
        for filesystem in parts["filesystem"]:
            _check_hosts(numbered_events, testbed, drivers.filesystem(filesystem), clients_count, place)
            _check_layout(numbered_events, testbed, filesystem, clients_count, place)
    for workload in parts["workload"]:
        limit_s = drivers.workload(workload).duration_limit_s
        if math.isinf(limit_s):
            fault = f'events need a load that ends at a known time, and "{workload.label}" has no duration'
            raise place.error((EVENT,), fault, "add duration to the workload, with a size that lasts longer")
        for event, number in numbered_events:
            if event.at_s >= limit_s:
                fault = (
                    f'{event.text} would happen after the end of "{workload.label}", which lasts '
                    f"{seconds_text(limit_s)}"
                )
                raise place.error((EVENT, number, "at"), fault, "make it happen earlier, or the load longer")


def _able(kind: str | None = None) -> list[str]:
    """Return the real file systems to which this can happen, or any event."""
    classes = {name: drivers.driver_class("filesystems", name) for name in drivers.usable("filesystems")}
    real = {
        name: cls for name, cls in classes.items() if issubclass(cls, FileSystem) and cls.reality == "real"
    }
    return [name for name, cls in real.items() if cls.heals and kind not in cls.unable]


def _check_hosts(
    numbered_events: Sequence[Numbered],
    testbed: Spec,
    filesystem: FileSystem,
    clients_count: int,
    place: CampaignSource,
) -> None:
    bed = drivers.testbed(testbed)
    if not isinstance(bed, HasEvents):
        fault = f"no event can happen to the hosts of testbed {testbed.kind}"
        raise place.error((EVENT,), fault, "use testbed virtual or cluster")
    hosts = bed.planned(clients_count)
    servers = [host.name for host in hosts.servers]
    for event, number in numbered_events:
        driver, host_path = drivers.event(event), (EVENT, number, "host")
        if event.host in [host.name for host in hosts.clients]:
            fault = f"{event.host} is a client, and events happen to servers"
            raise place.error(host_path, fault, f"servers are {', '.join(servers)}")
        if event.host and event.host not in servers:
            raise place.error(host_path, f'no server is called "{event.host}"', instead(event.host, servers))
        try:
            driver.require_possible(bed, filesystem)
        except CampaignError as error:
            fault = f"{event.text} can't happen on this testbed {testbed.kind}: {error.what}"
            raise place.error((EVENT, number), fault, error.next) from None
        if driver.only and event.host not in [host.name for host in hosts.by_role("storage")]:
            raise place.error(host_path, f"{event.text} can't happen: {driver.only}", "name a storage host")


def _check_layout(
    numbered_events: Sequence[Numbered],
    testbed: Spec,
    filesystem: Spec,
    clients_count: int,
    place: CampaignSource,
) -> None:
    """Check that a file system still has the data of disks that fail, and has a use for the hosts that
    join.
    """
    driver, joins = drivers.filesystem(filesystem), drivers.joining([event for event, _ in numbered_events])
    hosts = drivers.testbed(testbed).planned(clients_count).without(joins)
    try:
        driver.require_fit(hosts)
        redundancy = driver.redundancy(hosts)
    except CampaignError:  # a layout that is impossible there fails by itself
        return
    try:
        driver.require_growth(hosts, len(joins))
    except CampaignError as error:
        joined = next(number for event, number in numbered_events if event.host in joins)
        raise place.error(
            (EVENT, joined), f'no host can join "{filesystem.label}": {error.what}', error.next
        ) from None
    failed = {
        event.host: number
        for event, number in numbered_events
        if drivers.event_class(event.kind).takes == "disk"
    }
    if redundancy and len(failed) > redundancy.tolerated_count:
        fault = (
            f'"{filesystem.label}" would lose data: disks of {", ".join(sorted(failed))} fail, and it keeps '
            f"{redundancy.text}"
        )
        too_many = list(failed.values())[redundancy.tolerated_count]
        raise place.error(
            (EVENT, too_many), fault, "choose a layout with more redundancy, or let fewer disks fail"
        )
