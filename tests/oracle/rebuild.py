"""What a rebuild moves and costs: docs/explanations/how-numbers-are-made.md, "Rebuild"."""

from typing import Any

import numpy as np

from .boundary import boundaries
from .events import healthy
from .folder import Attempt
from .numbers import MOVED, ROLES, risen, total

NAMES = {"network_received": "network", "disk_read": "disk_read", "disk_written": "disk_written"}


def rebuild(attempt: Attempt, results: list[dict[str, Any]]) -> dict[str, float]:
    """Recompute the numbers of a trial in which disks failed; none of another."""
    hit, scale = attempt.record.get("events") or [], attempt.record["scale"]
    losses = [one for one in hit if one["event"]["kind"] == "fail"]
    if not losses:
        return {}
    lost = sum(one["lost_bytes"] for one in losses)
    found: dict[str, float] = {"rebuild_lost_bytes": lost}
    fail_s, well_s, done = (
        losses[0]["began_s"],
        healthy(attempt, hit[-1]["ended_s"]),
        attempt.phase("rebuilt"),
    )
    if np.isnan(well_s) or done is None or any(one["event"]["kind"] not in ("fail", "back") for one in hit):
        return found
    found["rebuild_s"] = (well_s - fail_s) * scale
    for role in ROLES:
        for way in MOVED:
            found[f"rebuild_{way}_{role}_bytes"] = risen(attempt, way, attempt.part(role), fail_s, done[1])
    begin_s = min(r["began_s"] for r in results)
    quiet_s = fail_s - begin_s
    if {r["direction"] for r in attempt.record["outcome"]["results"]} != {"idle"} or quiet_s < 1 or not lost:
        return found

    def more(after: float, before: float) -> float:
        return (after - before / quiet_s * (done[1] - fail_s)) / lost

    for way, name in NAMES.items():
        both = (
            risen(attempt, way, attempt.data_hosts, *span) for span in ((fail_s, done[1]), (begin_s, fail_s))
        )
        found[f"rebuild_{name}_ratio"] = more(*both)
    servers = boundaries(attempt)[""]
    found["rebuild_energy_per_byte_j"] = total(attempt, servers, fail_s, well_s) * scale / lost
    energies_j = (total(attempt, servers, *span) for span in ((fail_s, done[1]), (begin_s, fail_s)))
    found["rebuild_added_per_byte_j"] = more(*energies_j) * scale
    if kept := attempt.record.get("redundancy"):
        needed = kept["data_count"] or 1
        found |= {"derived_rebuild_network_ratio": needed, "derived_rebuild_disk_read_ratio": needed}
        found["derived_rebuild_disk_written_ratio"] = kept["beneath_count"]
    return found
