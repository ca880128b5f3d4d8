"""Fills a file system, overwrites and deletes, until it is as full as a campaign wants it.

How many files fit is up to the file system: what is missing is written, and its space is read again, until
that is near enough. Clients that share one work side by side, each with files of its own.
"""

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perjoule.drivers.protocols import Check, Host
from perjoule.machine.each import each
from perjoule.machine.programs import programs
from perjoule.machine.untrusted import json_from, understood
from perjoule.model import Aged, Json
from perjoule.model.errors import WorkloadError
from perjoule.model.units import MIB

FOLDER = "aged-{}"  # of each client: two clients that make a common folder at once fail on GlusterFS (ESTALE)
PYTHON = "/usr/bin/python3"
PROGRAM = Path(__file__).with_name("files.py")
NEAR_RATIO = 0.002  # of the capacity, to which it is filled
FAR_RATIO = 0.02  # by which a file system may miss its share in the end
# Of what is missing, each written before the space is read again, which shows what a byte of a file costs.
# After a round Ceph's disks are less alike, and what is left is what the fullest one leaves, so it is filled
# up again step by step.
SHARES, AGAIN = (0.1, 0.9, *([1.0] * 8)), (0.5, 0.8, *([1.0] * 8))
STEP_BYTES = 64 * MIB  # of each client, in one run of the program
SLOW_BYTES_PER_S = MIB / 4  # of each client at scale 1, below which a step has failed
SHORT_S = 60.0  # for what writes nothing, at scale 1
COUNTED = ("files_count", "deleted_count")
MOVED = ("written_bytes", "deleted_bytes", "overwritten_bytes")
LOOK_S, STEADY_COUNT, STEADY_S = 1.0, 3, 90.0  # looks at the space until it is the same
# within which this share of deleted files is free again: MooseFS takes minutes
FREED_S, FREED_RATIO = 600.0, 0.8


def needs(aged: Aged | None) -> tuple[Check, ...]:
    """Check for what runs the program on clients, if anything ages."""
    return programs({"python3": "python3"}, "client") if aged else ()


class Ageing:
    """One file system that its clients, each with the folder in which it is mounted, age."""

    def __init__(self, aged: Aged, clients: Sequence[tuple[Host, Path]], scale: float, late_s: float) -> None:
        self._wanted, self._clients, self._scale, self._late_s = aged, clients, scale, late_s
        self._next = [0] * len(clients)  # number of each client's next file
        self._stored_ratio: float | None = None  # bytes in use per byte of a file
        self._share_per_byte = 0.0  # by how much a byte of a file last filled it; 0: none was written yet
        self._done = Counter[str]()

    def run(self) -> dict[str, Json]:
        """Fill it, and let each round follow. Raises WorkloadError: it can't be filled so far."""
        each(
            self._clients,
            lambda client_folder: client_folder[0].put(PROGRAM.read_text(), _program(client_folder[0])),
        )
        before = self._steady()
        self._fill()
        for number in range(self._wanted.overwrites_count):
            self._churn(number)
            self._fill()
        after = self._steady()
        if abs(_share(after) - self._wanted.full_ratio) > FAR_RATIO:
            raise WorkloadError(
                f"after ageing it is {100 * _share(after):.1f} % full, not "
                f"{100 * self._wanted.full_ratio:g} %"
            )
        return {
            "full_before_ratio": _share(before),
            "full_ratio": _share(after),
            "usable_bytes": after["usable_bytes"],
            "overwrites_count": self._wanted.overwrites_count,
            "seed": self._wanted.seed,
            **{key: self._done[key] for key in (*COUNTED, *MOVED)},
        }

    def _fill(self) -> None:
        began = space = self._steady()
        learns, own_bytes = self._stored_ratio is None, 0
        for share in SHARES if learns else AGAIN:
            missing = self._wanted.full_ratio - _share(space)
            if missing <= NEAR_RATIO:
                break
            wrote_bytes, full = self._write(
                share * missing / (self._share_per_byte or 1 / space["usable_bytes"])
            )
            own_bytes += wrote_bytes
            before, space = space, self._steady()
            if wrote_bytes and (grown := _share(space) - _share(before)) > 0:
                costs = grown * space["usable_bytes"] / wrote_bytes
                self._share_per_byte = min(10.0, max(0.5, costs)) / space["usable_bytes"]
            if full:
                self._require_full(space, "filled to")
                break
            if learns and own_bytes and (grown_bytes := space["used_bytes"] - began["used_bytes"]) > 0:
                self._stored_ratio = min(10.0, max(0.5, grown_bytes / own_bytes))

    def _write(self, wanted_bytes: float) -> tuple[int, bool]:
        """Write new files with this many bytes; return how many there were, and whether no space is left."""
        left_bytes, full = wanted_bytes, False
        while left_bytes > 0 and not full:
            step_bytes = min(STEP_BYTES, int(left_bytes / len(self._clients)) + 1)
            wrote = self._all("fill", 2 * step_bytes, bytes=step_bytes)
            self._done["files_count"] += sum(client_report["next"] for client_report in wrote) - sum(
                self._next
            )
            self._next = [client_report["next"] for client_report in wrote]
            self._done["written_bytes"] += (
                bytes_count := sum(client_report["bytes"] for client_report in wrote)
            )
            left_bytes, full = left_bytes - bytes_count, any(client_report["full"] for client_report in wrote)
        return round(wanted_bytes - left_bytes), full

    def _churn(self, number: int) -> None:
        before = self._steady()
        changed = self._all("churn", self._done["written_bytes"], round=number)
        for key in ("deleted_count", "deleted_bytes", "overwritten_bytes"):
            self._done[key] += sum(client_report[key] for client_report in changed)
        self._done["files_count"] -= sum(client_report["deleted_count"] for client_report in changed)
        if any(client_report["full"] for client_report in changed):
            self._require_full(self._steady(), "overwritten at")
        freed_bytes = (
            FREED_RATIO
            * (self._stored_ratio or 1.0)
            * sum(client_report["deleted_bytes"] for client_report in changed)
        )
        until_s = time.monotonic() + FREED_S
        while self._look()["used_bytes"] > before["used_bytes"] - freed_bytes:
            if time.monotonic() > until_s:  # it would be freed while trials run
                raise WorkloadError(
                    f"the space of deleted files is not free {FREED_S:g} s later", next="set overwrites = 0"
                )
            time.sleep(LOOK_S)

    def _require_full(self, space: Mapping[str, int], goal: str) -> None:
        if _share(space) < self._wanted.full_ratio - FAR_RATIO:
            share_text = f"{100 * self._wanted.full_ratio:g} %"
            problem = (
                f"no space is left at {100 * _share(space):.1f} % of its capacity: it can't be {goal} "
                f"{share_text}"
            )
            raise WorkloadError(problem, next=f'set full = "{int(100 * _share(space))} %" or less')

    def _all(self, do: str, moved_bytes: int, **parameters: Json) -> list[Any]:
        """Run the program on all clients side by side."""
        limit_s = (SHORT_S + moved_bytes / SLOW_BYTES_PER_S) / self._scale

        def run(number: int) -> Any:
            client, folder = self._clients[number]
            client_parameters: dict[str, Json] = {
                "seed": f"{self._wanted.seed} {number}",
                "first": self._next[number],
            }
            return _ran(
                client, folder / FOLDER.format(client.name), limit_s, do=do, **client_parameters, **parameters
            )

        return each(range(len(self._clients)), run)

    def _look(self) -> dict[str, int]:
        return _ran(*self._clients[0], SHORT_S / self._scale, do="look", seed="")

    def _steady(self) -> dict[str, int]:
        """Wait until the file system reports the same space several times in a row, or for long enough."""
        if not self._late_s:
            return self._look()
        time.sleep(self._late_s)
        space, same_count, until_s = self._look(), 1, time.monotonic() + STEADY_S
        while same_count < STEADY_COUNT and time.monotonic() < until_s:
            time.sleep(LOOK_S)
            before, space = space, self._look()
            # Both: Ceph knows at once what was deleted, and what its disks have left as soon as they have
            # erased it.
            moved_bytes = max(abs(space[key] - before[key]) for key in ("used_bytes", "usable_bytes"))
            near = moved_bytes < NEAR_RATIO / 4 * space["usable_bytes"]
            same_count = same_count + 1 if near else 1
        return space


def together(each_own: Sequence[Mapping[str, Json]]) -> dict[str, Json]:
    """Return what was done to several file systems as if they were one; shares are those of the fullest."""
    summed: dict[str, Json] = {}
    for key in each_own[0]:
        values = [value for deployment in each_own if isinstance(value := deployment[key], int | float)]
        summed[key] = sum(values) if key.endswith("_bytes") or key in COUNTED else max(values)
    return summed


def _share(space: Mapping[str, int]) -> float:
    return space["used_bytes"] / space["usable_bytes"]


def _program(client: Host) -> Path:
    return client.directory / "ageing.py"


def _ran(client: Host, folder: Path, limit_s: float, **parameters: Json) -> Any:
    """Run the program on a client. Raises WorkloadError with what it said."""
    text = json.dumps({"folder": str(folder), **parameters})
    stdout = client.run([PYTHON, _program(client)], timeout_s=limit_s, text=text).stdout
    with understood(f"ageing on {client.name}"):
        return json_from(stdout)
