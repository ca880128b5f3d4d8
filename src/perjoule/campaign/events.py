"""[[event]] tables: what happens to servers or file systems while a load runs, and whether it can happen in this campaign."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from perjoule import drivers
from perjoule.campaign.messages import clauses, fault, instead
from perjoule.campaign.source import Source, Table
from perjoule.drivers.protocols import FileSystem
from perjoule.model import COMMANDS, OPTIONS, EventKind, Spec, TrialEvent, joining, option_name
from perjoule.model.errors import CampaignError
from perjoule.model.units import Ratio, Seconds, seconds_text

EVENT = "event"
MOST_COUNT = 64
ENDING = {"kill", "fail"}  # the daemons of a host, which can't end twice
Numbered = tuple[TrialEvent, int]  # an event, and the number of its table


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class EventTable:
    """Something that happens to a server, or the file system, in each trial."""

    at_s: Seconds
    """When it happens: wall time since the start of the load's programs (the phase "measure")."""

    kind: Literal["kill", "cut", "slow", "fail", "lossy", "back", "add", "scrub", "snapshot"]
    """"kill" ends the file system's daemons on the host by SIGKILL, "cut" takes its link down, "slow" lowers the caps of its
    disks, "fail" ends the daemons and erases their data, "lossy" makes it lose packets that it sends, and "back" undoes all
    of that, with an empty disk for a failed one. "add" lets a storage host join, without which the file system began. "scrub" and
    "snapshot" are commands to the file system, without a host."""

    host: str = ""
    """The server, as in "storage-2"; scrub and snapshot have none."""

    factor: Annotated[float, Field(gt=1, le=1000)] | None = None
    """Factor by which the disks slow down; for "slow" only."""

    loss_ratio: Annotated[Ratio, Field(gt=0, lt=1)] | None = None
    """Share of the packets that the host sends which are lost, as in "1 %"; for "lossy" only."""

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if (self.kind == "slow") != (self.factor is not None):
            raise ValueError("slow needs a factor (factor = 10)" if self.kind == "slow" else "only slow has a factor")
        if (self.kind == "lossy") != (self.loss_ratio is not None):
            raise ValueError('lossy needs a loss (loss = "1 %")' if self.kind == "lossy" else "only lossy has a loss")
        if self.kind in COMMANDS and self.host:
            raise ValueError(f"a {self.kind} is of the whole file system; remove host")
        if self.kind not in COMMANDS and not self.host:
            raise ValueError('an event needs "host" (write host = "storage-2")')
        return self


OPTIONS_OF_EVENT: Mapping[str, str] = {option_name(field): field for field in ("at_s", "kind", "host", "factor", "loss_ratio")}


def events(tables: Sequence[Table], place: Source) -> list[Numbered]:
    """Read the tables, in the order of time. Raises CampaignError with the line of what is wrong."""
    found: list[Numbered] = []
    if len(tables) > MOST_COUNT:
        raise place.error((EVENT, MOST_COUNT), f"{len(tables)} events are too many", f"a trial has at most {MOST_COUNT}")
    for number, table in enumerate(tables):
        try:
            one = EventTable(**table)
        except ValidationError as error:
            first = error.errors()[0]
            key = str(first["loc"][0]) if first["loc"] else ""
            path = (EVENT, number, key) if key in table else (EVENT, number)
            if not key:
                raise place.error(path, *clauses(str(first.get("ctx", {}).get("error")))) from None
            if first["type"] == "missing":
                raise place.error(
                    path, f'an event needs "{key}"', 'write at = "20 s", kind = "kill", host = "storage-2"'
                ) from None
            if first["type"] == "unexpected_keyword_argument":
                raise place.error(path, f'an event has no option "{key}"', instead(key, OPTIONS_OF_EVENT)) from None
            raise place.error(path, *fault(first, key, OPTIONS_OF_EVENT.get(key, key))) from None
        found.append((TrialEvent(one.at_s, one.kind, one.host, one.factor or 1.0, one.loss_ratio or 0.0), number))
    found.sort(key=lambda one: one[0].at_s)
    for what, then, number in _out_of_order(found):
        raise place.error((EVENT, number), what, then)
    if scrubs := [number for event, number in found if event.kind == "scrub"][1:]:
        raise place.error((EVENT, scrubs[0]), "a trial has one scrub, which may last longer than the load", "remove the others")
    return found


def _out_of_order(found: Sequence[Numbered]) -> Iterator[tuple[str, str, int]]:
    """Return what can't happen to a host after what happened to it before, what to do, and the number of its table."""
    hurt: dict[str, set[str]] = {}
    absent = set(joining([event for event, _ in found]))
    again = "let a host be back before it is hurt in the same way again"
    for event, number in found:
        if event.kind in COMMANDS:
            continue
        before = hurt.setdefault(event.host, set())
        if event.kind == "add":
            if event.host not in absent:
                yield f"{event.text}: it has already joined", "add each host once", number
            absent.discard(event.host)
        elif event.host in absent:
            yield f"{event.text}: it joins only later", "let it happen after add", number
        elif event.kind == "back":
            if not before:
                hurts = f"add a kill, cut, slow, lossy or fail of {event.host} before it"
                yield f"nothing has happened to {event.host} from which it could be back", hurts, number
            before.clear()
        elif event.kind in before:
            yield f"{event.text}: that has already happened to it", again, number
        elif event.kind in ENDING and before & ENDING:
            yield f"{event.text}: its daemons have already ended", again, number
        else:
            before.add(event.kind)


def check_possible(
    asked: Sequence[Numbered], parts: Mapping[str, Sequence[Spec]], clients_counts: Sequence[int], place: Source
) -> None:
    """Check that these events can happen to every testbed, file system and load. Raises CampaignError."""
    if not asked:
        for number, workload in enumerate(parts["workload"]):
            if drivers.workload(workload).tolerate_errors:
                what = f'"{workload.label}" tolerates errors, and no event of this campaign would cause any'
                raise place.error(("workload", number), what, "add an [[event]], or remove tolerate_errors")
        return
    for filesystem in parts["filesystem"]:
        if not drivers.filesystem(filesystem).heals:
            what = f"filesystem {filesystem.kind} was not seen to get healthy again, so no event can happen to its servers"
            raise place.error((EVENT,), what, f"use filesystem {' or '.join(_able())}")
        unable = drivers.filesystem(filesystem).unable
        for event, number in asked:
            if event.kind in unable:
                what = f'no {event.kind} can happen to filesystem "{filesystem.label}": {unable[event.kind]}'
                raise place.error((EVENT, number), what, f"use filesystem {' or '.join(_able(event.kind))}, or remove the event")
    for testbed, clients_count in itertools.product(parts["testbed"], clients_counts):
        _check_hosts(asked, testbed, clients_count, place)
        for filesystem in parts["filesystem"]:
            _check_layout(asked, testbed, filesystem, clients_count, place)
    for workload in parts["workload"]:
        limit_s = drivers.workload(workload).duration_limit_s
        if math.isinf(limit_s):
            what = f'events need a load that ends at a known time, and "{workload.label}" has no duration'
            raise place.error((EVENT,), what, "add duration to the workload, with a size that lasts longer")
        for event, number in asked:
            if event.at_s >= limit_s:
                what = f'{event.text} would happen after the end of "{workload.label}", which lasts {seconds_text(limit_s)}'
                raise place.error((EVENT, number, "at"), what, "make it happen earlier, or the load longer")


def _able(kind: EventKind | None = None) -> list[str]:
    """Return the real file systems to which this can happen, or any event."""
    classes = {name: drivers.driver_class("filesystems", name) for name in drivers.kinds("filesystems")}
    real = {name: cls for name, cls in classes.items() if issubclass(cls, FileSystem) and cls.reality == "real"}
    return [name for name, cls in real.items() if cls.heals and kind not in cls.unable]


def _check_hosts(asked: Sequence[Numbered], testbed: Spec, clients_count: int, place: Source) -> None:
    there = drivers.testbed(testbed)
    if not there.events:
        what = f"no event can happen to the hosts of testbed {testbed.kind}"
        raise place.error((EVENT,), what, "use testbed virtual or cluster")
    hosts = there.planned(clients_count)
    servers = [host.name for host in hosts.servers]
    for event, number in asked:
        named = (EVENT, number, "host")
        if event.host in [host.name for host in hosts.clients]:
            what = f"{event.host} is a client, and events happen to servers"
            raise place.error(named, what, f"servers are {', '.join(servers)}")
        if event.kind not in COMMANDS and event.host not in servers:
            raise place.error(named, f'no server is called "{event.host}"', instead(event.host, servers))
        if event.kind not in there.events:
            emulated = there.reality == "emulated"  # and so only its disks are not ours to slow down
            what = f"{event.text} can't happen on this testbed {testbed.kind}" + (", which caps no disks" if emulated else "")
            caps = 'set disk_cap = true and disk = "ext4" (or "xfs", "btrfs")'
            raise place.error((EVENT, number), what, caps if emulated else "use testbed virtual, or kill")
        only = {"fail": "only disks of storage hosts fail", "add": "only storage hosts join"}.get(event.kind)
        if only and event.host not in [host.name for host in hosts.by_role("storage")]:
            raise place.error(named, f"{event.text} can't happen: {only}", "name a storage host")


def _check_layout(asked: Sequence[Numbered], testbed: Spec, filesystem: Spec, clients_count: int, place: Source) -> None:
    """Check that a file system still has the data of disks that fail, and has a use for the hosts that join."""
    driver, joins = drivers.filesystem(filesystem), joining([event for event, _ in asked])
    hosts = drivers.testbed(testbed).planned(clients_count).without(joins)
    try:
        driver.require_fit(hosts)
        kept = driver.redundancy(hosts)
    except CampaignError:  # a layout that is impossible there fails by itself
        return
    try:
        driver.require_growth(hosts, len(joins))
    except CampaignError as error:
        joined = next(number for event, number in asked if event.kind == "add")
        raise place.error((EVENT, joined), f'no host can join "{filesystem.label}": {error.what}', error.next) from None
    failed = {event.host: number for event, number in asked if event.kind == "fail"}
    if kept and len(failed) > kept.tolerated_count:
        what = f'"{filesystem.label}" would lose data: disks of {", ".join(sorted(failed))} fail, and it keeps {kept.text}'
        too_many = list(failed.values())[kept.tolerated_count]
        raise place.error((EVENT, too_many), what, "choose a layout with more redundancy, or let fewer disks fail")
