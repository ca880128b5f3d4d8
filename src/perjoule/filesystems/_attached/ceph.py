"""A Ceph that others run, asked by `ceph` with a user who may only read (mon "allow r").
https://docs.ceph.com/en/latest/rados/operations/monitoring/

What no known answer says is never taken for health: a state of placement groups or a warning that is not
listed here as harmless counts as degraded. https://docs.ceph.com/en/latest/rados/operations/health-checks/
"""

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host
from perjoule.filesystems._attached.table import ClusterTable
from perjoule.filesystems._guarded import unguarded
from perjoule.filesystems._said import unexpected
from perjoule.machine.mounts import SHORT_S
from perjoule.machine.programs import programs
from perjoule.machine.untrusted import json_from, understood
from perjoule.model import OPTIONS, ClusterState, Json, Redundancy, passed_on
from perjoule.model.errors import WorkloadError
from perjoule.model.options import program_folders

COMMANDS = ("status", "osd dump", "osd tree", "df detail", "versions")
STATUSES = ("HEALTH_OK", "HEALTH_WARN", "HEALTH_ERR")
# Of placement groups that serve all data with all copies; the rest of these say what they do beside.
_WHOLE = {"active", "clean"}
_WORKING = {"scrubbing", "deep", "snaptrim", "snaptrim_wait"}
# Warnings about settings, clients, versions and space, not about copies of data.
_HARMLESS = re.compile(
    "AUTH_\\w+|BLUESTORE_(LEGACY|NO|SLOW_OP|SPURIOUS|FREE|FRAG|DISK)\\w*|CEPHADM_\\w+|DAEMON_OLD_VERSION|"
    "LARGE_OMAP_OBJECTS|MANY_OBJECTS_PER_PG|MDS_(CACHE|CLIENT|TRIM|SLOW_REQUEST|OLD)\\w*|MGR_MODULE_\\w+|"
    "MON_(CLOCK_SKEW|DISK_LOW|MSGR2_NOT_ENABLED)|OLD_CRUSH_\\w+|OSDMAP_FLAGS|OSD_(FLAGS|NEARFULL|"
    "SLOW_PING_TIME\\w*)|PG_NOT_(DEEP_)?SCRUBBED|POOL_(APP_NOT_ENABLED|NEARFULL|NO_REDUNDANCY|"
    "PG_NUM_NOT_POWER_OF_TWO|TARGET_SIZE\\w*|TOO_(FEW|MANY)_PGS)|RECENT_(MGR_MODULE_)?CRASH|SLOW_OPS|"
    "SMALLER_PGP_NUM|TELEMETRY_CHANGED|TOO_(FEW|MANY)_PGS|UPGRADE_\\w+"
)
_STOPPING = {"full", "pauserd", "pausewr"}  # flags with which clients wait
_REPLICATED, _ERASURE = 1, 3  # types of pools
# A folder's layout is its own, or that of one above it; the mount's root has one.
POOL_OF = """
import os, re, sys
path = sys.argv[1]
while os.path.isabs(path):
    try:
        print(re.search(r"pool=(\\S+)", os.getxattr(path, "ceph.dir.layout").decode())[1])
        break
    except OSError:
        path = "" if os.path.ismount(path) else os.path.dirname(path)
"""


CONFIGURED = Path("/etc")  # is root's everywhere


def _absolute(path: str) -> str:
    if not path.startswith("/") or ".." in Path(path).parts:
        raise ValueError(f'"{path}" is relative (write an absolute path)')
    return path


def _configured(path: str) -> None:
    """Refuse a ceph.conf that whoever wrote the campaign could have put beside it. Raises ValueError."""
    if not any(Path(path).is_relative_to(folder) for folder in (CONFIGURED, *program_folders())):
        raise ValueError(
            f'"{path}" says which libraries programs of Ceph load, and where they write, and a campaign may name only '
            f"one below {CONFIGURED} (put it there, or confirm its folder: add --programs {Path(path).parent} to the "
            "command)"
        )


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class CephTable(ClusterTable):
    """A Ceph cluster."""

    conf: Annotated[str, AfterValidator(_absolute), passed_on(_configured)] = "/etc/ceph/ceph.conf"
    """Its ceph.conf on the first client, below /etc or a folder that --programs names, as it says what programs of Ceph
    load; only root or this user may write it."""
    keyring: Annotated[str, AfterValidator(_absolute)]
    """A keyring there, with the key of `user`, which needs no more than the capability mon "allow r"."""
    user: str = "client.perjoule"
    """Whose key it is."""
    pool: str = ""
    """The pool of the path's data; if omitted, the path's layout names it."""

    late_s = 10.0  # OSDs report every 5 s (mgr_stats_period), and the manager as often to the monitors

    def require_pool(self, example: str) -> None:
        """Check that it names a pool. Raises ValueError."""
        if not self.pool:
            raise ValueError(f'ceph names no pool (write pool = "{example}" in its table)')

    def checks(self) -> tuple[Check, ...]:
        """Check for the tool."""
        return programs({"ceph": "ceph-common", "python3": "python3"})

    def require_guarded(self, host: Host) -> None:
        """Refuse a ceph.conf that others could write: Ceph's programs write to files, and load what they run, from
        where it says.

        Raises WorkloadError.
        """
        if Path(self.conf).is_relative_to(CONFIGURED):
            return
        if why := unguarded(host, Path(self.conf), always=True):
            advice = f"chown root and chmod go-w, or move it to {CONFIGURED}/ceph"
            raise WorkloadError(f"{self.conf} is not safe to use: {why}", where=host.name, next=advice)

    def state(self, host: Host, folder: Path, loading: Sequence[str]) -> ClusterState:
        """Ask for its state, and how a folder of one of its file systems stores files; who loads is not
        asked.

        Raises WorkloadError: it does not answer, or not as Ceph does.
        """
        self.require_guarded(host)
        pool = self.pool or host.run(["python3", "-c", POOL_OF, folder], timeout_s=SHORT_S).stdout.strip()
        if not pool:
            advice = "correct path, or name its pool"
            raise WorkloadError(f"{folder} does not tell its pool", where=host.name, next=advice)
        # one program for all questions, which it reads from its standard input: each would take it 0.5 s
        argv = ["ceph", "--conf", self.conf, "--keyring", self.keyring, "--name", self.user]
        argv += ["--connect-timeout", "10", "--format", "json"]
        asked_s = time.monotonic()
        completed = host.run(argv, timeout_s=60, text="\n".join((*COMMANDS, "")), check=False)
        lines = [line for line in completed.stdout.splitlines() if line.strip()]
        if completed.returncode != 0 or len(lines) != len(COMMANDS):
            reason = " ".join(completed.stderr.split())[-200:] or f"{len(lines)} answers"
            advice = f"`ceph --conf {self.conf} --keyring {self.keyring} --name {self.user} status` must work"
            raise WorkloadError(f"ceph did not tell its state: {reason}", where=host.name, next=advice)
        return state(lines, pool, asked_s)


@understood("ceph")
def state(lines: Sequence[str], pool: str, asked_s: float) -> ClusterState:
    """Parse the answers to `COMMANDS`, each one line of JSON.

    Raises WorkloadError: they are none of Ceph's, or there is no such pool.
    """
    status, dump, tree, df, versions = map(json_from, lines)
    if status["health"]["status"] not in STATUSES:
        raise unexpected(lines[0], "ceph status")
    pools = {made["pool_name"]: made for made in dump["pools"]}
    if pool not in pools:
        raise WorkloadError(f'there is no pool "{pool}"', where="ceph osd dump")
    redundancy = _redundancy(pools[pool], dump["erasure_code_profiles"])
    # of files' names and attributes, as far as a file system says so; a load's own are not counted apart
    counted = [made["pool_name"] for made in dump["pools"] if not _is_metadata(made)]
    stats = [made["stats"] for made in df["pools"] if made["name"] in counted]
    groups = _groups(status)
    return ClusterState(
        asked_s=asked_s,
        version=", ".join(versions["overall"]),
        redundancy=redundancy,
        health=status["health"]["status"],
        lacks="; ".join(_lacks(status, dump, groups)),
        work=_texts({name: n for name, n in groups.items() if _is_whole(name) and name != "active+clean"}),
        parts=_parts(dump, tree, status) | {f"pool {pool}": redundancy.text},
        facts={
            "pool": _pool(pools[pool]),
            "warnings": {code: check["summary"]["message"] for code, check in _checks(status).items()},
            "used_ratio": df["stats"].get("total_used_raw_ratio"),
            "placement_groups": {**groups},
        },
        written_bytes=sum(int(stat["wr_bytes"]) for stat in stats),
        read_bytes=sum(int(stat["rd_bytes"]) for stat in stats),
    )


def _lacks(status: Any, dump: Any, groups: Mapping[str, int]) -> list[str]:
    """Name what is not up, not in order, or not known to be."""
    down = [f"osd.{osd['osd']}" for osd in dump["osds"] if osd["in"] and not osd["up"]]
    lacks = [f"{', '.join(down)} of {len(dump['osds'])} OSDs down"] if down else []
    known_count = sum(groups.values())
    if known_count != status["pgmap"]["num_pgs"]:
        lacks.append(f"only {known_count} of {status['pgmap']['num_pgs']} PGs report")
    degraded = {name: count for name, count in groups.items() if not _is_whole(name)}
    lacks += [_texts(degraded)] if degraded else []
    monmap = status["monmap"]
    monitors_count = monmap["num_mons"] if "num_mons" in monmap else len(monmap["mons"])
    if len(status["quorum_names"]) < monitors_count:
        lacks.append(f"{len(status['quorum_names'])} of {monitors_count} monitors in quorum")
    lacks += [f"flag {flag}" for flag in sorted(_STOPPING & set(dump["flags"].split(",")))]
    checks = {code: check for code, check in _checks(status).items() if not check.get("muted")}
    lacks += [
        f"{code}: {check['summary']['message']}"
        for code, check in checks.items()
        if check["severity"] == "HEALTH_ERR" or not _HARMLESS.fullmatch(code)
    ]
    if status["health"]["status"] != "HEALTH_OK" and not checks:
        lacks.append(f"{status['health']['status']} without a reason")
    return lacks


def _checks(status: Any) -> Mapping[str, Any]:
    return status["health"]["checks"]


def _groups(status: Any) -> dict[str, int]:
    states = status["pgmap"].get("pgs_by_state", [])
    return {str(group["state_name"]): int(group["count"]) for group in states}


def _is_whole(name: str) -> bool:
    states = set(name.split("+"))
    return states >= _WHOLE and states <= _WHOLE | _WORKING


def _texts(groups: Mapping[str, int]) -> str:
    return ", ".join(f"{count} PGs {name}" for name, count in groups.items())


def _parts(dump: Any, tree: Any, status: Any) -> dict[str, str]:
    hosts = {
        child: node["name"] for node in tree["nodes"] if node["type"] == "host" for child in node["children"]
    }
    osds = {
        f"osd.{osd['osd']}": ", ".join(
            (
                hosts.get(osd["osd"], "no host"),
                f"up since map {osd['up_from']}" if osd["up"] else "down",
                "in" if osd["in"] else "out",
            )
        )
        for osd in dump["osds"]
    }
    ranks = {f"mds of rank {rank['rank']}": rank["name"] for rank in status["fsmap"].get("by_rank", [])}
    common = {"monitors": ", ".join(status["quorum_names"]), "flags": dump["flags"]}
    # it grows by what came and went in between, too: an OSD, a rebalance, a flag; and by each snapshot
    return {**osds, **ranks, **common, "osd map": f"epoch {dump['epoch']}"}


def _redundancy(pool: Any, profiles: Any) -> Redundancy:
    if pool["type"] == _REPLICATED:
        return Redundancy(copies_count=int(pool["size"]))
    if pool["type"] == _ERASURE:
        profile = profiles[pool["erasure_code_profile"]]
        return Redundancy(data_count=int(profile["k"]), parity_count=int(profile["m"]))
    raise ValueError(f"a pool of type {pool['type']}")


def _pool(pool: Any) -> dict[str, Json]:
    return {
        "name": pool["pool_name"],
        "acknowledged_count": pool["min_size"],
        "placement_groups_count": pool["pg_num"],
        "options": pool["options"],
    }


def _is_metadata(pool: Any) -> bool:
    return "metadata" in pool["application_metadata"].get("cephfs", {})
