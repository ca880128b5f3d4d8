"""Commands to a Ceph cluster over one librados connection, as a separate program.

It runs on the management host under the system's Python, which has Debian's `rados` module, and otherwise
uses only the standard library. The `ceph` command would do the same at one second per command.

Standard input is JSON, `{"conf": path, "patience_s": 60, "slice_s": 1, "stages": [[command, ...], ...],
"ready": {...}}`: the commands of a stage are sent together, so the monitor commits them together. A command
with "target" ("mgr", "osd.3") goes there instead of the monitors, and one with "input" comes with that text.
"ready" (or null) is the state to wait for after the stages, see `missing`. It waits one slice for a
connection and for readiness, and up to the full patience for an answer. Standard output is JSON, `{"answers":
[[answer, ...], ...], "missing": "", "error": ""}`; "missing" names what was missing at the end of a slice.
https://docs.ceph.com/en/pacific/rados/api/python/
"""

import importlib
import json
import math
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

POLL_S = 0.05
NO_MDS = "no MDS is active"


def missing(status: dict[str, Any], osds_count: int, placement_groups_count: int, mds_count: int = 1) -> str:
    """Return what a `status` answer still lacks: OSDs up, an active MDS, every PG active+clean, health. "" if
    it is ready.

    HEALTH_OK alone isn't enough: it comes before the manager's first report of PGs. Without PGs, all OSDs up
    is enough.
    """
    osds = status["osdmap"]
    up = osds.get("osdmap", osds)["num_up_osds"]
    if up < osds_count:
        return f"{up} of {osds_count} OSDs up"
    if not placement_groups_count:
        return ""
    if mds_count and "up:active" not in [rank["status"] for rank in status["fsmap"]["by_rank"]]:
        return NO_MDS
    groups = {group["state_name"]: group["count"] for group in status["pgmap"].get("pgs_by_state", [])}
    if groups != {"active+clean": placement_groups_count}:
        return f"of {placement_groups_count} PGs: " + (
            ", ".join(f"{n} {state}" for state, n in groups.items()) or "none yet"
        )
    checks = {code: check for code, check in status["health"]["checks"].items() if not check.get("muted")}
    return "; ".join(f"{code}: {check['summary']['message']}" for code, check in checks.items())


def absent(status: dict[str, Any], osds_count: int, mds_count: int) -> str:
    """Return which servers a `status` answer lacks."""
    if lacks := missing(status, osds_count, 0):
        return lacks
    if mds_count and "up:active" not in [rank["status"] for rank in status["fsmap"]["by_rank"]]:
        return NO_MDS
    return ""


def degraded(status: dict[str, Any], osds_count: int) -> str:
    """Return what a `status` answer lacks of full redundancy, once the cluster was ready; background work
    doesn't count.
    """
    if lacks := missing(status, osds_count, 0):
        return lacks
    groups = {group["state_name"]: group["count"] for group in status["pgmap"].get("pgs_by_state", [])}
    return ", ".join(
        f"{n} PGs {state}" for state, n in groups.items() if not state.startswith("active+clean")
    )


def ask(cluster: Any, command: dict[str, Any]) -> Any:
    """Send one command and parse its answer, if it is JSON. Raises RuntimeError with the daemon's message."""
    target, _, number = command.get("target", "mon").partition(".")
    text = json.dumps(
        {"format": "json"} | {key: value for key, value in command.items() if key not in ("target", "input")}
    )
    numbers = [int(number)] if number else []
    code, answer, message = getattr(cluster, f"{target}_command")(
        *numbers, text, command.get("input", "").encode()
    )
    if code != 0:
        raise RuntimeError(f"{command['prefix']}: {message or 'error'} ({code})")
    try:
        return json.loads(answer) if answer else None
    except ValueError:
        return answer.decode(errors="replace")


def serve(request: dict[str, Any]) -> dict[str, Any]:
    """Connect, send all stages, wait until ready."""
    rados: Any = importlib.import_module("rados")  # the system's, which the virtual environment does not see
    patience = str(math.ceil(request["patience_s"]))
    options = {"rados_mon_op_timeout": patience, "rados_osd_op_timeout": patience}
    options["client_mount_timeout"] = str(math.ceil(request["slice_s"]))
    cluster = rados.Rados(conffile=request["conf"], rados_id="admin", conf=options)
    try:
        cluster.connect()
    except rados.Error as error:
        return {"answers": [], "missing": f"a monitor ({error})", "error": ""}
    answers: list[list[Any]] = []
    lacks, until_s = "", time.monotonic() + request["slice_s"]
    try:
        with ThreadPoolExecutor(16) as pool:
            for stage in request["stages"]:
                answers.append(list(pool.map(partial(ask, cluster), stage)))
        while request["ready"]:
            lacks = missing(ask(cluster, {"prefix": "status"}), **request["ready"])
            if not lacks or time.monotonic() > until_s:
                break
            time.sleep(POLL_S)
    except (rados.Error, RuntimeError) as error:
        return {"answers": answers, "missing": "", "error": str(error)}
    finally:
        cluster.shutdown()
    return {"answers": answers, "missing": lacks, "error": ""}


if __name__ == "__main__":
    json.dump(serve(json.load(sys.stdin)), sys.stdout)
