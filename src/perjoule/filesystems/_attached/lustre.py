"""A Lustre that others run, asked by `lfs` from a client, without root, and by `lctl` as far as it may ask.
https://doc.lustre.org/lustre_manual.xhtml

A client's tools tell which targets answer, not what servers do by themselves, nor what other clients move.
States of connections and this client's bytes are parameters that newer releases show only to root.
"""

import re
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host
from perjoule.filesystems._attached.table import ClusterTable
from perjoule.filesystems._said import found, unexpected
from perjoule.machine.mounts import SHORT_S
from perjoule.machine.programs import SYSTEM, programs
from perjoule.machine.untrusted import understood
from perjoule.model import OPTIONS, ClusterState, Json, Redundancy

DOCUMENTATION = "https://wiki.lustre.org/Installing_the_Lustre_Software"
# Marks of targets in `lfs df`: https://github.com/lustre/lustre-release/blob/master/lustre/doc/lfs-df.1
LACKING = {"D": "degraded", "R": "read-only"}
# closed for new objects, out of space or inodes, an aggregate, flash: nothing that is stored lacks anything
HARMLESS = frozenset("NSIaf")
CONNECTED = ("FULL", "IDLE")  # of connections; an idle one is remade when it is used
_TARGET = r"(?:OST|MDT)[0-9a-f]{4}"
_LISTED = re.compile(rf"^\d+: (\S+-{_TARGET})_UUID (\S+)$", re.MULTILINE)
_ANSWERED = re.compile(
    rf"^(\S+-{_TARGET})_UUID(?:[ \t]+[\d.]+[kKMGTPEZY]?){{3}}[ \t]+\d+%[ \t][^\[\n]*\[(?:OST|MDT):\d+\][ \t]*(\S*)$",
    re.MULTILINE,
)
_FAILED = re.compile(rf"^(\S*{_TARGET})(?:_UUID)?[ \t]*: (.+)$", re.MULTILINE)
# Neither looks past where the next one begins: its time grows with the text, not with its square.
_IMPORT = re.compile(
    rf"^ *target: (\S+-{_TARGET})_UUID\n *state: (\w+)$(?:\n(?! *target: ).*)*?\n *current_connection: \"?([^\s\"]+)",
    re.MULTILINE,
)
_STRIPES = re.compile(r"stripe_count:\s*(-?\d+)\s(?:(?!stripe_count:).)*?stripe_size:\s*(\d+)", re.DOTALL)


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class LustreTable(ClusterTable):
    """A Lustre."""

    retired: tuple[str, ...] = ()
    """Targets that its administrator has deactivated for good, as ["scratch-OST0003"]; others that are inactive
    count as lacking."""

    def checks(self) -> tuple[Check, ...]:
        """Check for the tool."""
        return programs({"lfs": DOCUMENTATION})

    def state(self, host: Host, folder: Path, loading: Sequence[str]) -> ClusterState:
        """Ask for its state, and how a folder's files are striped; who loads is not asked.

        Raises WorkloadError: it does not answer, or not as Lustre does.
        """
        asked_s = time.monotonic()

        def ask(*words: str | Path) -> str:
            return host.run(["lfs", *words], timeout_s=SHORT_S).stdout

        listed = ask("osts", folder) + ask("mdts", folder)
        fsname = found(r"^\d+: (\S+)-OST[0-9a-f]{4}_UUID ", listed, "lfs osts")
        # --lazy: otherwise it waits for a target that is gone; then it may also end with an error
        answered = host.run(["lfs", "df", "--lazy", folder], timeout_s=60, check=False).stdout
        parameters = (f"osc.{fsname}-OST*.import", f"mdc.{fsname}-MDT*.import", f"osc.{fsname}-OST*.stats")
        # users' PATH may lack its folder; it ends with an error if it may not read all
        lctl = ["env", f"PATH={SYSTEM}", "lctl", "get_param", *parameters]
        readable = host.run(lctl, timeout_s=SHORT_S, check=False).stdout
        stripes, version = ask("getstripe", "-d", folder), ask("--version")
        return state(version, listed, answered, stripes, readable, retired=self.retired, asked_s=asked_s)


@understood("lfs")
def state(
    version: str,
    listed: str,
    answered: str,
    stripes: str,
    readable: str,
    *,
    retired: Sequence[str],
    asked_s: float,
) -> ClusterState:
    """Parse what `lfs` says: `osts` and `mdts` list targets, of which `df --lazy` has those that answer; and
    the parameters that `lctl` may read.

    Raises WorkloadError: they are none of Lustre's.
    """
    release = found(r"^lfs (\S+)", version, "lfs --version")
    found(r"^(filesystem[_ ]summary:)", answered, "lfs df")
    targets = dict(_LISTED.findall(listed))
    if not any("-OST" in name for name in targets) or not any("-MDT" in name for name in targets):
        raise unexpected(listed, "lfs osts and mdts")
    marks = dict(_ANSWERED.findall(answered))
    reasons = _FAILED.findall(answered)
    connections: dict[str, tuple[str, str]] = {}
    for name, connection, address in _IMPORT.findall(readable):
        if name not in connections or connection not in CONNECTED:  # it may be mounted twice
            connections[name] = connection, address

    def problem(name: str) -> str:
        if targets[name] != "ACTIVE":
            return "" if name in retired else targets[name].lower()
        connection, _ = connections.get(name, (CONNECTED[0], ""))
        faults = [connection] if connection not in CONNECTED else []
        if name not in marks:
            # a target that was never reached is listed without the name of the file system
            faults += [reason for target, reason in reasons if name.endswith(target)]
            return ", ".join(faults) or "no answer"
        faults += [LACKING.get(mark, f"mark {mark}") for mark in marks[name] if mark not in HARMLESS]
        return ", ".join(faults)

    lacks = [f"{name}: {fault}" for name in targets if (fault := problem(name))]
    parts = {
        name: ", ".join(filter(None, (activity, marks.get(name), connections.get(name, ("", ""))[1])))
        for name, activity in targets.items()
    }
    return ClusterState(
        asked_s=asked_s,
        version=f"Lustre {release}",
        # Of mirrors in a layout one is written, and the others are stale until somebody resyncs them:
        # https://doc.lustre.org/lustre_manual.xhtml#flr.operations
        redundancy=Redundancy(),
        health="degraded" if lacks else "whole",
        lacks="; ".join(lacks),
        parts={**parts, "layout": " ".join(stripes.split())},
        facts=_facts(stripes, readable),
    )


def _facts(stripes: str, readable: str) -> dict[str, Json]:
    """Return the stripes of each component of a layout, and of what `lctl` may read the servers' versions and
    the bytes that this client has moved to and from them since it mounted.
    """
    components = _STRIPES.findall(stripes)
    if not components:
        raise unexpected(stripes, "lfs getstripe")
    mirrors = re.search(r"lcm_mirror_count:\s*(\d+)", stripes)
    moved = re.findall(r"^(read|write)_bytes\s+\d+ samples \[bytes\] \d+ \d+ (\d+)", readable, re.MULTILINE)
    return {
        "stripes": [{"count": int(count), "bytes": int(size)} for count, size in components],
        "mirrors_count": int(mirrors[1]) if mirrors else 1,
        "servers": [*sorted(set(re.findall(r"^ *target_version: (\S+)$", readable, re.MULTILINE)))],
        "client_bytes": {
            direction: sum(int(total) for name, total in moved if name == direction)
            for direction in dict(moved)
        },
    }
