"""Meters that announce themselves on a network: DNS-SD over multicast DNS (RFC 6762, RFC 6763), by python-zeroconf.

Whoever is on the network can announce anything. So nothing of an announcement is believed but its address and
port, nothing outside the named networks is contacted, and what is there is recognised as `meters list` does it.
"""

import importlib.util
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv4Interface
from math import nan
from typing import TYPE_CHECKING

from perjoule import drivers
from perjoule.drivers.protocols import Check, Meter
from perjoule.execution.sizing import MeterSpeed
from perjoule.machine.installing import installs
from perjoule.model import Json, Spec
from perjoule.model.errors import CampaignError, MachineError
from perjoule.monitoring import asking, recorder

if TYPE_CHECKING:
    from zeroconf import ServiceStateChange, Zeroconf

FIX = installs("perjoule[meters]")
MOST = 256  # announcements that are looked at: a network of plugs has tens
ADDRESS_S = 0.5  # for which one is asked for its address, if it did not say it
MOST_NAME = 40  # characters of a name that are shown
MDNS = ("224.0.0.251", 5353)
_WEB_PORTS = {"_http._tcp": 80, "_shelly._tcp": 80}  # that need not be written


@dataclass(frozen=True)
class Subnet:
    """A network of this machine: its interface, and the address that this machine has there."""

    interface: str
    place: IPv4Interface

    def __str__(self) -> str:
        return f"{self.interface} ({self.place.network})"


@dataclass(frozen=True)
class Announcement:
    """Who announces itself, where, and as what."""

    name: str
    address: IPv4Address
    port: int
    types: tuple[str, ...]

    @property
    def place(self) -> str:
        """Its address, with the port if that is not the usual one."""
        usual = {_WEB_PORTS.get(type_) for type_ in self.types} == {self.port}
        return str(self.address) if usual else f"{self.address}:{self.port}"


@dataclass(frozen=True)
class Announcements:
    """What was announced within some seconds."""

    inside: tuple[Announcement, ...] = ()
    outside: tuple[Announcement, ...] = ()  # on none of the networks that were named: never contacted
    omitted_count: int = 0  # beyond the most that are looked at


@dataclass(frozen=True)
class AnnouncedMeter:
    """A meter that was recognised."""

    name: str
    table: Mapping[str, Json]  # the options of its [[meter]] table
    now_w: float  # NaN if it does not say
    trouble: str = ""  # why it does not
    fix: str = ""


def _require_library() -> None:
    if not all(importlib.util.find_spec(name) for name in ("zeroconf", "ifaddr")):
        raise MachineError("python-zeroconf is missing, which listens for announcements", next=FIX)


def networks(named: Sequence[str]) -> tuple[Subnet, ...]:
    """Return the networks that are named by interface, own address or network; by default the one of this
    machine's multicast.

    Raises:
        CampaignError: this machine has no such network.
        MachineError: the library is missing, or nothing is the default.
    """
    _require_library()
    import ifaddr

    known = [
        Subnet(adapter.name, IPv4Interface(f"{own.ip}/{own.network_prefix}"))
        for adapter in ifaddr.get_adapters()
        for own in adapter.ips
        if isinstance(own.ip, str)
    ]
    listed = ", ".join(map(str, known)) or "none"
    if not named:
        default = [network for network in known if str(network.place.ip) == _multicast_from()]
        if not default:
            raise MachineError(
                "this machine has no default network", next=f"name one with --on; it has {listed}"
            )
        return tuple(default[:1])
    matching: list[Subnet] = []
    for word in named:
        meant = [network for network in known if word in _names(network)]
        if not meant:
            raise CampaignError(
                f'this machine has no network "{word}"', where="--on", next=f"it has {listed}"
            )
        matching += meant
    return tuple(dict.fromkeys(matching))


def _names(network: Subnet) -> tuple[str, ...]:
    return network.interface, str(network.place.ip), str(network.place.network), str(network.place)


def _multicast_from() -> str:
    """Return this machine's address for multicast DNS; "" without one. Connecting a UDP socket sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(MDNS)
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def announced(on: Sequence[Subnet], listen_s: float) -> Announcements:
    """Ask networks for what meters announce, and listen. Raises MachineError: it can't be listened there."""
    _require_library()
    import zeroconf

    try:
        listening = zeroconf.Zeroconf(
            interfaces=[str(network.place.ip) for network in on], ip_version=zeroconf.IPVersion.V4Only
        )
    except OSError as error:
        raise MachineError(
            f"can't listen for announcements ({error.strerror})",
            where=", ".join(map(str, on)),
            next="another program may hold UDP port 5353 for itself: ss -lunp 'sport = 5353'",
        ) from None
    try:
        pairs, omitted_count = _heard(listening, listen_s)
        answers = recorder.at_once(lambda pair: _resolved(listening, *pair), pairs) if pairs else []
    finally:
        listening.close()
    return _sorted([answer for answer in answers if answer], on, omitted_count)


def _heard(listening: "Zeroconf", listen_s: float) -> tuple[list[tuple[str, str]], int]:
    """Return types and names that were announced, and how many more than are looked at."""
    from zeroconf import ServiceBrowser, ServiceStateChange

    lock, pairs, further = threading.Lock(), dict[tuple[str, str], None](), 0

    def note(zeroconf: "Zeroconf", service_type: str, name: str, state_change: "ServiceStateChange") -> None:
        nonlocal further
        with lock:
            if state_change is ServiceStateChange.Removed or (service_type, name) in pairs:
                return
            if len(pairs) < MOST:
                pairs[service_type, name] = None
            else:
                further += 1

    browser = ServiceBrowser(listening, [f"{type_}.local." for type_ in kinds()], handlers=[note])
    try:
        time.sleep(listen_s)
    finally:
        browser.cancel()
    with lock:
        return sorted(pairs), further


def _resolved(listening: "Zeroconf", service_type: str, name: str) -> Sequence[Announcement]:
    """Return an announcement at each of its addresses; () if it has none, or is none."""
    from zeroconf import Error, IPVersion, ServiceInfo

    try:
        info = ServiceInfo(service_type, name)
        if not (info.load_from_cache(listening) or info.request(listening, ADDRESS_S * 1000)):
            return ()
        places = info.ip_addresses_by_version(IPVersion.V4Only)
    except (Error, OSError, ValueError, UnicodeError):
        return ()
    label = name.removesuffix(f".{service_type}")
    shown = label if len(label) <= MOST_NAME else label[: MOST_NAME - 3] + "..."
    return [
        Announcement(shown, place, info.port, (service_type.removesuffix(".local."),))
        for place in places
        if isinstance(place, IPv4Address) and info.port
    ]


def _sorted(
    resolved: Sequence[Sequence[Announcement]], on: Sequence[Subnet], omitted_count: int
) -> Announcements:
    """Join the types of one place, and separate what is on the networks from what is not."""
    by_place: dict[tuple[IPv4Address, int], Announcement] = {}
    for announcement in (each for several in resolved for each in several):
        key = announcement.address, announcement.port
        present = by_place.get(key, announcement)
        types = tuple(dict.fromkeys(present.types + announcement.types))
        by_place[key] = Announcement(present.name, *key, types)
    inside, outside = list[Announcement](), list[Announcement]()
    for _, announcement in sorted(by_place.items()):
        local = any(_is_host(announcement.address, network.place) for network in on)
        (inside if local else outside).append(announcement)
    return Announcements(tuple(inside), tuple(outside), omitted_count)


def _is_host(address: IPv4Address, place: IPv4Interface) -> bool:
    """Return whether an address is one host of a network: no broadcast, no group."""
    network = place.network
    ends = (network.network_address, network.broadcast_address) if network.prefixlen < 31 else ()
    return address in network and address not in ends and not address.is_multicast


@cache
def kinds() -> Mapping[str, tuple[str, ...]]:
    """Return, for each type of announcement, the kinds of meters that announce it."""
    by_type: dict[str, tuple[str, ...]] = {}
    for kind in drivers.usable("meters"):
        for type_ in drivers.meter_class(kind).announced:
            by_type[type_] = (*by_type.get(type_, ()), kind)
    return by_type


def recognised(announcements: Sequence[Announcement]) -> tuple[AnnouncedMeter, ...]:
    """Ask each place what it is, as the kinds that announce its types, and read what is a meter for some
    seconds.
    """

    def at(announcement: Announcement) -> list[Mapping[str, Json]]:
        asked = dict.fromkeys(kind for type_ in announcement.types for kind in kinds()[type_])
        classes = map(drivers.meter_class, asked)
        return [table for options in classes for table in options.discover((announcement.place,))]

    if not announcements:
        return ()
    answers = recorder.at_once(at, announcements)
    pairs = [
        (announcement.name, table)
        for announcement, tables in zip(announcements, answers, strict=True)
        for table in tables
    ]
    return _read(pairs) if pairs else ()


def _read(pairs: Sequence[tuple[str, Mapping[str, Json]]]) -> tuple[AnnouncedMeter, ...]:
    """Read all of them at once, each by its number: two may have the same name."""
    meters = dict[str, Meter]()
    for index, (_, table) in enumerate(pairs):
        options = {key: option for key, option in table.items() if key != "kind"}
        with suppress(ValueError):  # only people can say what an oscilloscope shows
            meters[str(index)] = drivers.meter(Spec(str(table["kind"]), options))
    answers = asking.answered(meters)
    return tuple(
        _announced_meter(name, table, answers.get(str(index))) for index, (name, table) in enumerate(pairs)
    )


def _announced_meter(
    name: str, table: Mapping[str, Json], answer: tuple[tuple[Check, ...], MeterSpeed | None] | None
) -> AnnouncedMeter:
    if answer is None:
        return AnnouncedMeter(
            name, table, nan, "it needs further options", f"see `perjoule drivers {table['kind']}`"
        )
    checks, speed = answer
    refusal = next((check for check in checks if not check.ok), Check("", True, ""))
    return AnnouncedMeter(name, table, speed.now_w if speed else nan, refusal.detail, refusal.fix)
