"""The campaign of a first measurement: one folder or device, a minute of writing and of reading, and its meters."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomlkit

from perjoule.campaign.defaults import COUNTERS, FOLDER, LOAD, MACHINE, NUMBER
from perjoule.campaign.source import Table
from perjoule.model.units import BYTES, exact_text, seconds_text

NAS, HERE = "nas", "here"  # whose power a meter shows
SERVER, CLIENT = "nas", "local"  # as the testbed calls them
CLEAN = re.compile(r"[^A-Za-z0-9._+-]+")
SETTLE_S = 5.0
LEAST_LIMIT_S = 600.0
LIMIT_RATIO = 6.0  # of a window: what is written for a minute may be slower than a probe of seconds


@dataclass(frozen=True)
class MeterOf:
    """A meter, by its line, and whose power it shows."""

    line: str
    table: Table
    whose: str  # NAS or HERE

    @property
    def is_number(self) -> bool:
        """Whether it is no reading, but the stated power of the switch beside a NAS."""
        return self.table["kind"] == NUMBER


def written(
    command: str,
    name: str,
    path: str,
    meters: Sequence[MeterOf],
    *,
    remote: bool,
    operations: Sequence[str],
    size_bytes: int,
    transfer_bytes: int,
    longest_s: float,
    repetitions: int,
) -> str:
    """Write the campaign.

    Args:
        command: the line that asked for it, for its first comment.
        name: of the campaign.
        path: the folder.
        meters: with what they show; the counters of this machine are read besides.
        remote: whether the data lie on a server that only meters know.
        operations: "write", "read".
        size_bytes: what each trial moves, whole transfers.
        transfer_bytes: of a call.
        longest_s: the expected length of the longest window.
        repetitions: of each operation.
    """
    limit_s = round(max(LEAST_LIMIT_S, LIMIT_RATIO * longest_s))
    document: dict[str, Any] = {
        "name": name,
        "repetitions": repetitions,
        "settle": seconds_text(SETTLE_S),
        "testbed": {"kind": MACHINE, **({"metered": [SERVER]} if remote else {})},
        "filesystem": [{"kind": FOLDER, "path": path}],
        "workload": [
            {
                "kind": LOAD,
                "operation": list(operations),
                "transfer": exact_text(transfer_bytes, BYTES),
                "size": exact_text(size_bytes, BYTES),
                "time_limit": f"{limit_s} s",
            }
        ],
        "meter": [{"kind": COUNTERS}, *(_covering(meter, meters, remote) for meter in meters)],
    }
    return f"# Written by: {command}\n{tomlkit.dumps(document)}"


def _covering(meter: MeterOf, meters: Sequence[MeterOf], remote: bool) -> Mapping[str, object]:
    """Return a meter's table with what it covers; beside the number of a switch, the meter feeds the switch, too."""
    if meter.is_number:
        return meter.table
    switch = ["switch"] if remote and meter.whose == NAS and any(one.is_number for one in meters) else []
    covers = [SERVER if meter.whose == NAS else CLIENT, *switch]
    several = sum(one.table["kind"] == meter.table["kind"] for one in meters) > 1
    named = {"name": f"{meter.table['kind']}-{meter.whose}"} if several else {}
    return {**named, **meter.table, "covers": covers}


def name_of(path: str, remote: bool) -> str:
    """Return the campaign's name: that of the folder, as a folder of results may be called."""
    last = CLEAN.sub("-", path.rstrip("/").rpartition("/")[2]).strip("-.")
    return last or (NAS if remote else "disk")
