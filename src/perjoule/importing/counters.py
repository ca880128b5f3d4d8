"""Counters of hosts from sysstat (`sadf -j`): https://sysstat.github.io

It reports rates over intervals that end at its timestamps, which become window means. Its kB are KiB.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from perjoule.importing.sources import Source
from perjoule.machine.untrusted import UNEXPECTED, json_from, words
from perjoule.model import Channel, Quantity, Series
from perjoule.model.errors import WorkloadError
from perjoule.workloads.imported import moment_s

DATE = "%Y-%m-%d %H:%M:%S"
KIB = 1024
SECTOR_BYTES = 512
_HARDWARE = re.compile(r"(?:eth|en[opsx]|ib|wl|hsn|em)\w*")  # as udev names interfaces that are hardware
_STACKED = re.compile(r"(?:loop|ram|zram|dm-|md|sr|fd|dev(?:1|7|9|11)-)")  # by others, whose bytes would count twice


def counters(source: Source) -> Mapping[str, tuple[Series, ...]]:
    """Read the series of each node; times are seconds of UTC.

    Raises:
        WorkloadError: it is damaged.
    """
    try:
        (text,) = source.texts().values()
        document = json_from(text[text.index("{") :])
        found: dict[str, tuple[Series, ...]] = {}
        for host in document["sysstat"]["hosts"]:
            found[str(host["nodename"])] = tuple(_series(host, source.told.zone))
        return found
    except UNEXPECTED as error:
        raise WorkloadError(f"this can't be read as sadf's JSON: {words(error)}", where=str(source.path)) from error


def _series(host: Mapping[str, Any], zone: str) -> Iterator[Series]:
    samples: dict[Quantity, list[tuple[float, float, float]]] = {}
    for one in host.get("statistics", ()):
        stamp = one.get("timestamp", {})
        if not stamp.get("interval"):  # a restart
            continue
        ended_s = _moment_s(stamp, host.get("timezone"), zone)
        for quantity, rate in _rates(one, int(host["number-of-cpus"])):
            samples.setdefault(quantity, []).append((ended_s, float(stamp["interval"]), rate))
    for quantity, rows in samples.items():
        table = np.array(sorted(rows), dtype=np.float64)
        unit = "s" if quantity == "cpu" else "B"
        channel = Channel("sadf", str(host["nodename"]), "all", quantity, unit, "window mean", "counter")
        yield Series(channel, table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy())


def _moment_s(stamp: Mapping[str, Any], named: str | None, zone: str) -> float:
    text = f"{stamp['date']} {stamp['time']}"
    for one in ("UTC",) if stamp.get("utc") else (named or zone, zone):
        try:
            return moment_s(text, DATE, one)
        except ValueError:  # "CEST" is not the name of a zone
            continue
    raise ValueError(f"{text} is not a date")


def _rates(one: Mapping[str, Any], cores_count: int) -> Iterator[tuple[Quantity, float]]:
    """Return the CPU seconds and bytes per second of an interval."""
    for cpu in one.get("cpu-load", one.get("cpu-load-all", ())):
        if cpu["cpu"] == "all":
            idle = sum(cpu.get(name, 0.0) for name in ("idle", "iowait", "steal"))
            yield "cpu", cores_count * max(0.0, 100.0 - idle) / 100
    network = one.get("network", {}).get("net-dev", ())
    if network:
        hardware = [dev for dev in network if _HARDWARE.fullmatch(dev["iface"])]
        counted = hardware or [dev for dev in network if dev["iface"] != "lo"]
        yield "network_received", KIB * sum(dev["rxkB"] for dev in counted)
        yield "network_sent", KIB * sum(dev["txkB"] for dev in counted)
    disks = [disk for disk in one.get("disk", ()) if not _STACKED.match(disk["disk-device"])]
    if disks:
        yield "disk_read", sum(_disk(disk, "rkB", "rd_sec") for disk in disks)
        yield "disk_written", sum(_disk(disk, "wkB", "wr_sec") for disk in disks)


def _disk(disk: Mapping[str, Any], kib: str, sectors: str) -> float:
    return KIB * float(disk[kib]) if kib in disk else SECTOR_BYTES * float(disk[sectors])
