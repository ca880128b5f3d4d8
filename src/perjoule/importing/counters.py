"""Counters of hosts from sysstat (`sadf -j`): https://sysstat.github.io

It reports rates over intervals that end at its timestamps, which become window means. Its kB are KiB.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from perjoule.importing.devices import DISKS, NETWORKS, DeviceKind, counting, require_few
from perjoule.importing.sources import COUNTERS, Source
from perjoule.machine.untrusted import UNEXPECTED, words
from perjoule.model import Channel, Quantity, Series
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.errors import WorkloadError
from perjoule.workloads.imported import documents, formats_of, moment_s, outputs_of

DATE = "%Y-%m-%d %H:%M:%S"
KIB = 1024
SECTOR_BYTES = 512
SADF = "write the counters with `LC_ALL=C sadf -j -- -u -d -n DEV`"
_OFFSET = re.compile(r"([+-]\d\d)(\d\d)?")
_COMMA = re.compile(r":\s*-?\d+,\d+\s*[,}]")
_OTHER_TOOLS = {  # of sysstat, by what only they write
    "iostat": re.compile(r'"avg-cpu"|"disk_device"'),
    "mpstat": re.compile(r'"timestamp"\s*:\s*"|"(?:cpu-load|sum-interrupts)"\s*:\s*\['),
}
_Devices = Callable[[Mapping[str, Any]], dict[str, Mapping[str, Any]]]
_Rate = Callable[[Mapping[str, Any]], float]
Intervals = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Counted:
    """What a node's counters say."""

    series: tuple[Series, ...]
    doubts: tuple[Doubt, ...] = ()


def counters(source: Source) -> Mapping[str, Counted]:
    """Read the series of each node; times are seconds of UTC.

    Raises:
        WorkloadError: it is damaged, or of another program of sysstat.
    """
    (text,) = source.texts().values()
    try:
        outputs = [output for output in outputs_of(text).values() if COUNTERS in formats_of(output)]
        hosts = [
            host
            for output in outputs or [text]
            for document in documents(output, "sysstat")
            for host in document["sysstat"]["hosts"]
        ]
        if tool := _other_tool(hosts):
            raise WorkloadError(
                f"this is the JSON of {tool}, which has no dates or zones", where=str(source.path), next=SADF
            )
        by_node: dict[str, Counted] = {}
        for host in hosts:
            name = str(host["nodename"])
            counted = _counted(host, source.told.zone)
            before = by_node.get(name, Counted(()))
            by_node[name] = Counted(
                (*before.series, *counted.series), tuple(dict.fromkeys((*before.doubts, *counted.doubts)))
            )
        return by_node
    except UNEXPECTED as error:
        place = str(source.path)
        if tool := next(
            (name for name, form in _OTHER_TOOLS.items() if name == "iostat" and form.search(text)), ""
        ):
            raise WorkloadError(
                f"this is the JSON of {tool}, which has no dates or zones", where=place, next=SADF
            ) from error
        if _COMMA.search(text):
            raise WorkloadError(
                "its numbers have decimal commas, which is not JSON", where=place, next=SADF
            ) from error
        raise WorkloadError(
            f"this can't be read as sadf's JSON: {words(error)}", where=place, next=SADF
        ) from error


def _other_tool(hosts: Intervals) -> str:
    """Name the program of sysstat that wrote this, if not sadf: its timestamps are objects."""
    intervals = [interval for host in hosts for interval in host.get("statistics", ())]
    if any(
        "avg-cpu" in interval or any("disk_device" in disk for disk in interval.get("disk", ()))
        for interval in intervals
    ):
        return "iostat"
    stamps = [interval.get("timestamp") for interval in intervals]
    return "mpstat or pidstat" if any(not isinstance(stamp, dict) for stamp in stamps) else ""


def _counted(host: Mapping[str, Any], zone: str) -> Counted:
    name = str(host["nodename"])
    intervals = [
        interval for interval in host.get("statistics", ()) if interval.get("timestamp", {}).get("interval")
    ]  # others are restarts
    ended_s = [_moment_s(interval["timestamp"], host.get("timezone"), zone) for interval in intervals]
    samples: dict[Quantity, list[tuple[float, float, float]]] = {}
    doubts: list[Doubt] = []

    def add(quantity: Quantity, index: int, rate: float) -> None:
        samples.setdefault(quantity, []).append(
            (ended_s[index], float(intervals[index]["timestamp"]["interval"]), rate)
        )

    for index, interval in enumerate(intervals):
        for rate in _cpu(interval, int(host["number-of-cpus"])):
            add("cpu", index, rate)
    moved: tuple[tuple[DeviceKind, _Devices, dict[Quantity, _Rate]], ...] = (
        (NETWORKS, _networks, {"network_received": _received, "network_sent": _sent}),
        (DISKS, _disks, {"disk_read": _read, "disk_written": _written}),
    )
    for kind, devices, rates in moved:
        names, doubt = _chosen(kind, [devices(interval) for interval in intervals], tuple(rates.values()))
        doubts += [METERS.devices_unclear(host=name, reason=doubt)] if doubt else []
        for index, interval in enumerate(intervals):
            counted = [device for key, device in devices(interval).items() if key in names]
            for quantity, rate in rates.items() if counted else ():
                add(quantity, index, sum(rate(device) for device in counted))
    return Counted(tuple(_series(name, quantity, rows) for quantity, rows in samples.items()), tuple(doubts))


def _series(name: str, quantity: Quantity, rows: Sequence[tuple[float, float, float]]) -> Series:
    table = np.array(sorted(rows), dtype=np.float64)
    unit = "s" if quantity == "cpu" else "B"
    channel = Channel("sadf", name, "all", quantity, unit, "window mean", "counter")
    return Series(channel, table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())


def _chosen(
    kind: DeviceKind,
    intervals: Sequence[Mapping[str, Mapping[str, Any]]],
    rates: Sequence[Callable[[Mapping[str, Any]], float]],
) -> tuple[frozenset[str], str]:
    """Return which devices count, by what they moved in each interval, and a doubt about it."""
    names = dict.fromkeys(name for devices in intervals for name in devices)
    require_few(kind, names, len(intervals))
    moved = {
        name: [
            sum(rate(devices[name]) for rate in rates) if name in devices else 0.0 for devices in intervals
        ]
        for name in names
    }
    choice = counting(kind, moved)
    return choice.names, choice.doubt


def _moment_s(stamp: Mapping[str, Any], timezone: str | None, zone: str) -> float:
    """Return a timestamp as seconds of UTC: before sysstat 12.7.1 it has "utc": 1 or 0, since then its zone
    as "tz".

    Raises:
        ValueError: its zone is an abbreviation that is not that of the declared zone.
    """
    text = f"{stamp['date']} {stamp['time']}"
    if stamp.get("utc"):
        return moment_s(text, DATE, "UTC")
    stated_zone = str(stamp.get("tz", timezone or ""))
    if not stated_zone:
        return moment_s(text, DATE, zone)
    if offset := _OFFSET.fullmatch(stated_zone):  # what zones without a name are called
        return moment_s(text, DATE, f"{offset[1]}{offset[2] or '00'}")
    if stated_zone in ("UTC", "GMT", "Etc/UTC"):
        return moment_s(text, DATE, "UTC")
    for name in (zone, stated_zone):
        if _abbreviation(text, name) == stated_zone or ("/" in stated_zone and name == stated_zone):
            return moment_s(text, DATE, name)
    raise ValueError(
        f'its times are of the zone "{stated_zone}", which is not what {zone} is called at {text}: write '
        "them in UTC (sadf without -t and -T), or name the zone (--timezone Europe/Berlin)"
    )


def _abbreviation(text: str, zone: str) -> str:
    """Return what a zone is called at a moment; "" if it is unknown."""
    try:
        return datetime.strptime(text, DATE).replace(tzinfo=ZoneInfo(zone)).tzname() or ""
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ""


def _cpu(interval: Mapping[str, Any], cores_count: int) -> Iterator[float]:
    """Return the CPU seconds per second of an interval."""
    for cpu in interval.get("cpu-load", interval.get("cpu-load-all", ())):
        if cpu["cpu"] == "all":
            idle = sum(cpu.get(name, 0.0) for name in ("idle", "iowait", "steal"))
            yield cores_count * max(0.0, 100.0 - idle) / 100


def _networks(interval: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {dev["iface"]: dev for dev in interval.get("network", {}).get("net-dev", ())}


def _disks(interval: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {disk["disk-device"]: disk for disk in interval.get("disk", ())}


def _received(dev: Mapping[str, Any]) -> float:
    return KIB * float(dev["rxkB"])


def _sent(dev: Mapping[str, Any]) -> float:
    return KIB * float(dev["txkB"])


def _read(disk: Mapping[str, Any]) -> float:
    return _bytes_per_s(disk, "rkB", "rd_sec")


def _written(disk: Mapping[str, Any]) -> float:
    return _bytes_per_s(disk, "wkB", "wr_sec")


def _bytes_per_s(disk: Mapping[str, Any], kib: str, sectors: str) -> float:
    return KIB * float(disk[kib]) if kib in disk else SECTOR_BYTES * float(disk[sectors])
