"""Which channels add up to a boundary: each device of it exactly once, by sums and differences that never add
overlaps.

A device is a part of a host ("storage-1/board", "storage-1/disks") or the switch. The result is a set of
channels with signs such that every device of the target counts once and every other one not at all: an exact
cover (D. E. Knuth, Dancing links, 2000, https://arxiv.org/abs/cs/0011047), here with subtraction: `total -
switch`. Added channels never overlap each other, nor do subtracted ones. The inlets of a host with several power
supplies are one summand: each without the others covers nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import count, product
from math import inf

from perjoule.model import Channel, Series
from perjoule.model.series import inlet

SWITCH = "switch"
PARTS = ("board", "disks", "supply")
# of these a board is never the whole host, whether its disks are metered or not
MEASURED = ("wall", "PDU", "BMC", "component")
MOST_TRIED = 20_000  # steps of the search: far more than racks have channels

Devices = frozenset[str]
Signed = tuple[tuple[int, Channel], ...]
SignedSeries = tuple[tuple[int, Series], ...]  # of those channels


@dataclass(frozen=True)
class Item:
    """A channel and the devices that it covers, `beside` the other inlets of the same."""

    channel: Channel
    devices: Devices
    beside: tuple[Channel, ...] = ()

    @property
    def channels(self) -> tuple[Channel, ...]:
        """All that are added up."""
        return (self.channel, *self.beside)


def devices_of(hosts: Iterable[str], channels: Sequence[Channel]) -> Devices:
    """Name the parts of hosts: those that some channel reads alone; for a measured host at least a board
    and its disks.
    """
    return frozenset[str]().union(*_parts(hosts, channels).values())


def _parts(hosts: Iterable[str], channels: Sequence[Channel]) -> dict[str, Devices]:
    """Return the parts of each host. Channels are read once: there can be thousands of either."""
    every = {"board", *(("disks",) if any(channel.grade in MEASURED for channel in channels) else ())}
    by_host: dict[str, set[str]] = defaultdict(set)
    for channel in channels:
        if channel.component in PARTS:
            for host in _hosts(channel) or [""]:  # without a host: of each
                by_host[host].add(channel.component)
    return {
        host: frozenset(f"{host}/{part}" for part in every | by_host[""] | by_host[host]) for host in hosts
    }


def items(channels: Sequence[Channel], cluster: Set[str], *, switch: bool) -> list[Item]:
    """Return what each channel covers; channels that cover less than a part (a CPU's package) are left out.

    `cluster` names the hosts that a meter of the whole cluster covers; `switch` says whether it includes a
    switch.
    """
    names = {host for channel in channels for host in _hosts(channel)} | set(cluster)
    parts = _parts(names, channels)
    covering: list[Item] = []
    for whole in _wholes(channels):
        channel, component, hosts = whole[0], whole[0].component, _hosts(whole[0])
        devices: set[str] = set()
        is_total = component == "total" or (len(whole) > 1 and not hosts)
        if component in PARTS:
            devices |= {f"{host}/{component}" for host in hosts or cluster}
        elif component in ("all", "group", "total") or len(whole) > 1:
            devices |= {device for host in (cluster if is_total else hosts) for device in parts[host]}
        if component == SWITCH or SWITCH in channel.covers or (is_total and switch):
            devices.add(SWITCH)
        if devices:
            covering.append(Item(channel, frozenset(devices), whole[1:]))
    return covering


def _wholes(channels: Sequence[Channel]) -> Iterator[tuple[Channel, ...]]:
    """List channels by themselves, and the inlets of the same together, of one grade and if none is missing."""
    inlets: dict[tuple[object, ...], dict[int, list[Channel]]] = defaultdict(lambda: defaultdict(list))
    for channel in channels:
        numbered = inlet(channel.component)
        if numbered is None:
            yield (channel,)
        else:
            of = (channel.grade, channel.host, frozenset(channel.covers), numbered[1])
            inlets[of][numbered[0]].append(channel)
    for (*_, inlets_count), by_number in inlets.items():
        if len(by_number) == inlets_count:
            yield from product(*(by_number[number] for number in sorted(by_number)))


def cover(target: Devices, among: Sequence[Item]) -> Signed:
    """Find channels that add up to a target: the fewest subtractions, then the fewest channels; or ()."""
    ordered = sorted(among, key=lambda item: (-len(item.devices), item.channel.name))
    by_device: dict[str, list[Item]] = {}
    for item in ordered:
        for device in item.devices:
            by_device.setdefault(device, []).append(item)
    best: list[tuple[int, Item]] = []
    best_cost: tuple[float, float] = (inf, inf)
    tries = count(1)

    def search(
        balance: Mapping[str, int], plus: Devices, minus: Devices, signed: list[tuple[int, Item]]
    ) -> None:
        """`balance`: by how much each device still counts too little (+1) or too much (-1)."""
        nonlocal best, best_cost
        cost = ([sign for sign, _ in signed].count(-1), len(signed))
        if next(tries) > MOST_TRIED or cost >= best_cost:
            return
        if not balance:
            best, best_cost = list(signed), cost
            return
        device = min(balance, key=lambda d: (len(by_device.get(d, ())), d))
        sign = balance[device]
        for item in by_device.get(device, ()):
            if item.devices & (plus if sign > 0 else minus) or any(item is used for _, used in signed):
                continue
            after = dict(balance)
            for covered in item.devices:
                after[covered] = after.get(covered, 0) - sign
            after = {d: n for d, n in after.items() if n}
            added = (plus | item.devices, minus) if sign > 0 else (plus, minus | item.devices)
            search(after, *added, [*signed, (sign, item)])

    search(dict.fromkeys(target, 1), frozenset(), frozenset(), [])
    return tuple((sign, channel) for sign, item in best for channel in item.channels)


def differences(among: Sequence[Item]) -> Iterator[tuple[Channel, Signed]]:
    """Pair each channel of several devices with others that together cover the same: their difference is
    unexplained.
    """
    for total in among:
        if len(total.devices) > 1 and not total.beside:
            parts = [item for item in among if item is not total and item.devices < total.devices]
            if sums := cover(total.devices, parts):  # none is subtracted: no part has more than the total
                yield total.channel, sums


def rivals(among: Sequence[Item], grades: Sequence[str]) -> Iterator[tuple[Channel, Signed]]:
    """Pair the channel of the best grade with each other meter's of exactly the same devices: the two
    should agree. The inlets of a host are the second of a pair.
    """
    same: dict[Devices, list[Item]] = {}
    for item in among:
        same.setdefault(item.devices, []).append(item)
    for alike in same.values():
        best, *competitors = sorted(alike, key=lambda item: grades.index(item.channel.grade))
        for rival in competitors:
            first, second = (rival, best) if best.beside else (best, rival)
            meters = [{channel.meter for channel in item.channels} for item in (first, second)]
            if not first.beside and meters[0] != meters[1]:
                yield first.channel, tuple((1, channel) for channel in second.channels)


def _hosts(channel: Channel) -> tuple[str, ...]:
    return (channel.host,) if channel.host else tuple(name for name in channel.covers if name != SWITCH)
