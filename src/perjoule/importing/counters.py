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

from perjoule.importing.devices import DISKS, NETWORKS, Kind, chosen
from perjoule.importing.sources import Source
from perjoule.machine.untrusted import UNEXPECTED, words
from perjoule.model import Channel, Quantity, Series
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.errors import WorkloadError
from perjoule.workloads.imported import documents, moment_s

DATE = "%Y-%m-%d %H:%M:%S"
KIB = 1024
SECTOR_BYTES = 512
SADF = "write the counters with `LC_ALL=C sadf -j -- -u -d -n DEV`"
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
        hosts = [host for one in documents(text, "sysstat") for host in one["sysstat"]["hosts"]]
        if other := _other_tool(hosts):
            raise WorkloadError(f"this is the JSON of {other}, which has no dates or zones", where=str(source.path), next=SADF)
        found: dict[str, Counted] = {}
        for host in hosts:
            name = str(host["nodename"])
            counted = _counted(host, source.told.zone)
            before = found.get(name, Counted(()))
            found[name] = Counted((*before.series, *counted.series), tuple(dict.fromkeys((*before.doubts, *counted.doubts))))
        return found
    except UNEXPECTED as error:
        where = str(source.path)
        if other := next((name for name, form in _OTHER_TOOLS.items() if name == "iostat" and form.search(text)), ""):
            raise WorkloadError(f"this is the JSON of {other}, which has no dates or zones", where=where, next=SADF) from error
        if _COMMA.search(text):
            raise WorkloadError("its numbers have decimal commas, which is not JSON", where=where, next=SADF) from error
        raise WorkloadError(f"this can't be read as sadf's JSON: {words(error)}", where=where, next=SADF) from error


def _other_tool(hosts: Intervals) -> str:
    """Name the program of sysstat that wrote this, if not sadf: its timestamps are objects."""
    intervals = [one for host in hosts for one in host.get("statistics", ())]
    if any("avg-cpu" in one or any("disk_device" in disk for disk in one.get("disk", ())) for one in intervals):
        return "iostat"
    stamps = [one.get("timestamp") for one in intervals]
    return "mpstat or pidstat" if any(not isinstance(stamp, dict) for stamp in stamps) else ""


def _counted(host: Mapping[str, Any], zone: str) -> Counted:
    name = str(host["nodename"])
    intervals = [one for one in host.get("statistics", ()) if one.get("timestamp", {}).get("interval")]  # others are restarts
    ended_s = [_moment_s(one["timestamp"], host.get("timezone"), zone) for one in intervals]
    samples: dict[Quantity, list[tuple[float, float, float]]] = {}
    doubts: list[Doubt] = []

    def add(quantity: Quantity, index: int, rate: float) -> None:
        samples.setdefault(quantity, []).append((ended_s[index], float(intervals[index]["timestamp"]["interval"]), rate))

    for index, one in enumerate(intervals):
        for rate in _cpu(one, int(host["number-of-cpus"])):
            add("cpu", index, rate)
    moved: tuple[tuple[Kind, _Devices, dict[Quantity, _Rate]], ...] = (
        (NETWORKS, _networks, {"network_received": _received, "network_sent": _sent}),
        (DISKS, _disks, {"disk_read": _read, "disk_written": _written}),
    )
    for kind, devices, rates in moved:
        names, doubt = _chosen(kind, [devices(one) for one in intervals], tuple(rates.values()))
        doubts += [METERS.doubt(f"{name}: {doubt}")] if doubt else []
        for index, one in enumerate(intervals):
            counted = [device for key, device in devices(one).items() if key in names]
            for quantity, rate in rates.items() if counted else ():
                add(quantity, index, sum(rate(device) for device in counted))
    return Counted(tuple(_series(name, quantity, rows) for quantity, rows in samples.items()), tuple(doubts))


def _series(name: str, quantity: Quantity, rows: Sequence[tuple[float, float, float]]) -> Series:
    table = np.array(sorted(rows), dtype=np.float64)
    unit = "s" if quantity == "cpu" else "B"
    channel = Channel("sadf", name, "all", quantity, unit, "window mean", "counter")
    return Series(channel, table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())


def _chosen(
    kind: Kind, intervals: Sequence[Mapping[str, Mapping[str, Any]]], rates: Sequence[Callable[[Mapping[str, Any]], float]]
) -> tuple[frozenset[str], str]:
    """Return which devices count, by what they moved in each interval, and a doubt about it."""
    names = dict.fromkeys(name for devices in intervals for name in devices)
    moved = {
        name: [sum(rate(devices[name]) for rate in rates) if name in devices else 0.0 for devices in intervals] for name in names
    }
    found = chosen(kind, moved)
    return found.names, found.doubt


def _moment_s(stamp: Mapping[str, Any], named: str | None, zone: str) -> float:
    """Return a timestamp as seconds of UTC: before sysstat 12.7.1 it has "utc": 1 or 0, since then its zone as "tz".

    Raises:
        ValueError: its zone is an abbreviation that is not that of the declared zone.
    """
    text = f"{stamp['date']} {stamp['time']}"
    if stamp.get("utc"):
        return moment_s(text, DATE, "UTC")
    stated = str(stamp.get("tz", named or ""))
    if not stated:
        return moment_s(text, DATE, zone)
    if stated in ("UTC", "GMT", "Etc/UTC"):
        return moment_s(text, DATE, "UTC")
    for one in (zone, stated):
        if _abbreviation(text, one) == stated or ("/" in stated and one == stated):
            return moment_s(text, DATE, one)
    raise ValueError(
        f'its times are of the zone "{stated}", which is not what {zone} is called at {text}: write them in UTC (sadf '
        "without -t and -T), or name the zone (--timezone Europe/Berlin)"
    )


def _abbreviation(text: str, zone: str) -> str:
    """Return what a zone is called at a moment; "" if it is unknown."""
    try:
        return datetime.strptime(text, DATE).replace(tzinfo=ZoneInfo(zone)).tzname() or ""
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return ""


def _cpu(one: Mapping[str, Any], cores_count: int) -> Iterator[float]:
    """Return the CPU seconds per second of an interval."""
    for cpu in one.get("cpu-load", one.get("cpu-load-all", ())):
        if cpu["cpu"] == "all":
            idle = sum(cpu.get(name, 0.0) for name in ("idle", "iowait", "steal"))
            yield cores_count * max(0.0, 100.0 - idle) / 100


def _networks(one: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {dev["iface"]: dev for dev in one.get("network", {}).get("net-dev", ())}


def _disks(one: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {disk["disk-device"]: disk for disk in one.get("disk", ())}


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
