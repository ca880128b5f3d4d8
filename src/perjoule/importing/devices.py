"""Which devices of a host are hardware, by their names: bytes of those that are built from others would count
twice.

Names: https://systemd.io/PREDICTABLE_INTERFACE_NAMES,
https://www.kernel.org/doc/html/latest/admin-guide/devices.html
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

NEGLIGIBLE_RATIO = 0.01  # of what the hardware moves
MORE_RATIO = 1.05  # than the hardware moved: then it is not built from it
TWIN_RATIO = 0.01  # of the busier one, by which two devices that count the same bytes differ at most
TWIN_COUNT = 3  # intervals in which they are busy, from which that does not happen by chance
TWIN_BYTES_PER_S = 1e5  # where only one sees broadcasts and heartbeats, those are less than a hundredth
IDLE_BYTES_PER_S = 1024.0  # a device that never moved more needs no judgement
MOST_NAME_COUNT = 255  # characters of a device's name
MOST_RATES_COUNT = 50_000_000  # of all devices together: 500 in a day, every second
MOST_COMPARED_COUNT = 200_000_000  # of all pairs: 60 interfaces in a day, every second


@dataclass(frozen=True)
class DeviceKind:
    """A kind of devices: names that are hardware, and names that are built from others or from nothing."""

    noun: str
    hardware: re.Pattern[str]
    stacked: re.Pattern[str]
    # of the stacked ones: always of hardware alone, for which they stand where none is listed
    sums: re.Pattern[str]


_NVME_PATH = re.compile(r"nvme(\d+)c\d+n(\d+)")
_SCSI = r"dev(?:8|6[5-9]|7[01]|12[89]|13[0-5])"
_WHOLE = f"(?:{'|'.join(str(minor) for minor in range(0, 256, 16))})"

DISKS = DeviceKind(
    "disks",
    # SCSI, ATA and USB; virtio, Xen; NVMe namespaces; MMC; s390; persistent memory; Smart Array; SCSI by
    # number (majors 8, 65 to 71, 128 to 135, of which every sixteenth minor is a whole disk)
    re.compile(
        r"(?:sd|hd|vd|xvd|ubd|dasd)[a-z]+|nvme\d+n\d+|mmcblk\d+|pmem\d+|cciss[/!]c\d+d\d+"
        rf"|{_SCSI}-{_WHOLE}"
    ),
    # Partitions; loops, memory, CDs; device mapper (also as volume groups with their volumes, by persistent
    # names, or by number), multipath, RAID, caches, DRBD, ZFS volumes; devices over a network (RBD, NBD); paths of NVMe
    # multipath; boot areas of MMC
    re.compile(
        r"(?:sd|hd|vd|xvd|dasd)[a-z]+\d+|(?:nvme\d+n\d+|mmcblk\d+|pmem\d+|cciss[/!]c\d+d\d+)p\d+|mmcblk\d+(?:boot\d+|rpmb)"
        r"|(?:loop|ram|zram|sr|fd|scd|dm-|md|bcache|d?rbd|nbd|zd|mpath)\w*|nvme\d+c\d+n\d+(?:p\d+)?"
        rf"|{_SCSI}-(?!{_WHOLE}$)\d+|dev(?:1|2|7|9|11|25[1-4])-\d+|(?!dev\d+-\d+$)[\w.+]*\w-\S+"
    ),
    re.compile(r"(?!)"),
)
NETWORKS = DeviceKind(
    "network interfaces",
    # As the kernel, udev, biosdevname and makers of fabrics name them
    re.compile(
        r"eth\d+|em\d+|p\d+p\d+|en(?:o\d+|x[0-9a-f]{12}|d\d+|b\d+|c\w+|a\w+|(?:P\d+)?[psv]\d+\w*)"
        r"|(?:ib|ib[ps]|hsn|ipogif|opa|roce|wlan|wwan|usb)\d+|(?:ib|sl|wl|ww|roce)(?:P\d+)?[ops]\d+\w*"
    ),
    # Loopback; bridges, bonds, VLANs, tunnels and what containers and machines have; functions and
    # representors of SR-IOV
    re.compile(
        r"lo|(?:bond|team|br|virbr|vmbr|docker|veth|vnet|tap|tun|wg|dummy|ifb|vlan|vxlan|gre|gretap|sit|ip6tnl|ip6gre|tunl|ipvlan"
        r"|macvlan|macvtap|cali|cilium|flannel|cni|kube|lxc|lxd|ovs|nerdctl|podman|fwbr|fwln|fwpr|geneve|erspan|vti|nat|weave|azv"
        r"|tailscale|zt|pan|bat)[\w.:@-]*|.*[.:@].*|\w+v\d+|\w*\d_\d+|\w*pf\d+(?:vf|sf)\d+|enP\d{3,}\w*"
    ),
    re.compile(r"(?:bond|team)[a-z]*\d*"),
)


@dataclass(frozen=True)
class Chosen:
    """The devices that count, and why others, which may be hardware, don't or do."""

    names: frozenset[str]
    doubt: str = ""


def require_few(kind: DeviceKind, names: Collection[str], moments_count: int) -> None:
    """Require names of devices, and no more rates than can be compared. Raises ValueError."""
    if long := next((name for name in names if len(name) > MOST_NAME_COUNT), ""):
        raise ValueError(f'"{long[:40]}…" is too long for one of the {kind.noun}')
    if len(names) * moments_count > MOST_RATES_COUNT:
        raise ValueError(f"it has {len(names)} {kind.noun} at {moments_count} times: split it")


def counting(kind: DeviceKind, rates: Mapping[str, Sequence[float]]) -> Chosen:
    """Choose the devices of a host whose bytes count.

    A device of unknown kind counts if it moved more than all hardware at some time, so that it can't be built
    from it. If it moved less, nobody knows, and nothing counts.

    Args:
        kind: of the devices.
        rates: what each moved, in both directions, in B/s; the same moments for all.

    Raises ValueError: there are too many to compare.
    """
    hardware = {name for name in rates if kind.hardware.fullmatch(name) and not kind.stacked.fullmatch(name)}
    hardware |= set(_paths(rates))
    if not hardware:
        hardware = {name for name in rates if kind.sums.fullmatch(name)}
    unknown = {name for name in rates if name not in hardware and not kind.stacked.fullmatch(name)}
    sums = [sum(values) for values in zip(*(rates[name] for name in hardware), strict=True)]
    open_names: list[str] = []
    more: list[str] = []
    for name in sorted(unknown):
        if max(rates[name], default=0.0) <= IDLE_BYTES_PER_S or _negligible(rates[name], sums):
            continue
        (more if _exceeds(rates[name], sums) else open_names).append(name)
    if open_names or (len(more) > 1 and not hardware):
        names = _listed([*more, *open_names])
        return Chosen(
            frozenset(),
            f"{kind.noun} don't count: whether {names} {_are(names)} hardware is unknown from the name",
        )
    if more:
        return Chosen(
            frozenset(hardware | set(more)), f"{_listed(more)} counts with the {kind.noun} that are hardware"
        )
    if twins := _twins(rates, hardware) if kind is NETWORKS else []:
        names = "; ".join(_listed(pair) for pair in twins)
        reason = (
            "one may pass on the bytes of the other, as in Azure's accelerated networking, and they count "
            "twice"
        )
        choice = "choose: `sadf -j -- -n DEV --iface=NAME`"
        return Chosen(frozenset(hardware), f"{names} moved the same at all times: {reason} ({choice})")
    if not hardware and any(max(values, default=0.0) > IDLE_BYTES_PER_S for values in rates.values()):
        return Chosen(frozenset(), f"{kind.noun} don't count: {_listed(sorted(rates))} are not hardware")
    return Chosen(frozenset(hardware))


def _paths(rates: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Yield the paths of NVMe multipath that stand for their drive, whose own name shows nothing on older kernels."""
    for name in rates:
        path = _NVME_PATH.fullmatch(name)
        if path and not any(rates.get(f"nvme{path[1]}n{path[2]}", ())):
            yield name


def _twins(rates: Mapping[str, Sequence[float]], names: Collection[str]) -> list[tuple[str, str]]:
    """Return the pairs of devices that moved as much as each other in every interval in which either was
    busy.
    """
    twins: list[tuple[str, str]] = []
    pairs = math.comb(len(names), 2)
    if pairs * max((len(rates[name]) for name in names), default=0) > MOST_COMPARED_COUNT:
        raise ValueError(f"it has {len(names)} network interfaces, too many to compare: split it")
    for first, second in combinations(sorted(names), 2):
        busy = [
            pair for pair in zip(rates[first], rates[second], strict=True) if max(pair) > TWIN_BYTES_PER_S
        ]
        if len(busy) >= TWIN_COUNT and all(max(pair) - min(pair) <= TWIN_RATIO * max(pair) for pair in busy):
            twins.append((first, second))
    return twins


def _negligible(values: Sequence[float], sums: Sequence[float]) -> bool:
    return bool(sums) and sum(values) <= NEGLIGIBLE_RATIO * sum(sums)


def _exceeds(values: Sequence[float], sums: Sequence[float]) -> bool:
    return not sums or any(
        value > MORE_RATIO * total + IDLE_BYTES_PER_S for value, total in zip(values, sums, strict=True)
    )


def _listed(names: Iterable[str]) -> str:
    quoted = [f'"{name}"' for name in names]
    return ", ".join(quoted[:5]) + (f" and {len(quoted) - 5} others" if len(quoted) > 5 else "")


def _are(text: str) -> str:
    return "are" if "," in text else "is"
