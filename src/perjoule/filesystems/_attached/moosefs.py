"""A MooseFS that others run, asked by `mfscli` and `mfsgetgoal` from a client, without root.
https://moosefs.com/Content/Downloads/moosefs-3-0-users-manual.pdf

It counts no bytes of clients. If nobody but the hosts that load has it mounted, others move none.
"""

import re
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host
from perjoule.filesystems._attached.table import ClusterTable
from perjoule.filesystems._said import found
from perjoule.machine.mounts import SHORT_S
from perjoule.machine.programs import programs
from perjoule.machine.untrusted import understood
from perjoule.model import OPTIONS, ClusterState, Redundancy

QUESTIONS = ("-SIN", "-SIC", "-SCS", "-SHD", "-SMS")
# Of chunks, as mfscli names them: those that lack copies, and those that the cluster will move or remove.
LACKING = ("missing", "endangered", "undergoal")
MOVING = ("overgoal", "pending deletion", "to be removed")


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class MooseTable(ClusterTable):
    """A MooseFS."""

    master: str = "mfsmaster"
    """Its master."""
    port: int = 9421
    """The master's port for clients."""

    def checks(self) -> tuple[Check, ...]:
        """Check for the tools."""
        return programs({"mfscli": "moosefs-cli", "mfsgetgoal": "moosefs-client"})

    def state(self, host: Host, folder: Path, loading: Sequence[str]) -> ClusterState:
        """Ask for its state, and how many copies a folder's files have; `loading` are the addresses of hosts
        that load.

        Raises WorkloadError: it does not answer, or not as MooseFS does.
        """
        asked_s = time.monotonic()
        argv = ["mfscli", "-n", "-p", "-s", "|", "-H", self.master, "-P", str(self.port), *QUESTIONS]
        printed = host.run(argv, timeout_s=60).stdout
        goal = host.run(["mfsgetgoal", folder], timeout_s=SHORT_S).stdout
        return state(printed, goal, loading, asked_s)


@understood("mfscli")
def state(printed: str, goal: str, loading: Sequence[str], asked_s: float) -> ClusterState:
    """Parse the answers to `QUESTIONS`, with "|" between fields, and to `mfsgetgoal`.

    Raises WorkloadError: they are none of MooseFS's.
    """
    version = found(r"^master info:\|master version\|(\S+)", printed, "mfscli")
    chunks_count = {
        kind: int(found(rf"^all chunks matrix:\|chunkclass {kind}:\|(\d+)$", printed, "mfscli"))
        for kind in (*LACKING, *MOVING)
    }
    servers = _rows("chunk servers:", printed)
    found(r"^(chunk servers:\|)", printed, "mfscli")
    gone = [f"{row[0]}:{row[1]}" for row in _rows("Disconnected chunk servers:", printed)]
    disks = {row[0]: f"{row[2]}, {row[3]}" for row in _rows("disks:", printed)}
    found(r"^(disks:\|)", printed, "mfscli")
    lacks = [f"chunk server {name} disconnected" for name in gone]
    lacks += [f"disk {name}: {health}" for name, health in disks.items() if health != "no errors, ok"]
    lacks += [f"{chunks_count[kind]} chunks {kind}" for kind in LACKING if chunks_count[kind]]
    mounts = _rows("active mounts, parameters:", printed)
    others = sorted({row[1] for row in mounts} - set(loading))
    stored = found(r": (\S+)$", goal, "mfsgetgoal")
    redundancy = Redundancy(copies_count=int(stored)) if re.fullmatch("[1-9]", stored) else None
    present = {f"chunk server {row[0]}:{row[1]}": f"version {row[4]}, {row[6]}" for row in servers}
    return ClusterState(
        asked_s=asked_s,
        version=f"MooseFS {version}",
        redundancy=redundancy,
        health="degraded" if lacks else "whole",
        lacks="; ".join(lacks),
        work=", ".join(f"{chunks_count[kind]} chunks {kind}" for kind in MOVING if chunks_count[kind]),
        parts={**present, **{f"disk {name}": health for name, health in disks.items()}, "goal": stored},
        facts={"mounts": len(mounts), "hosts_of_others": [*others], "chunks": {**chunks_count}},
        written_bytes=None if others else 0,
        read_bytes=None if others else 0,
        of_others=True,
    )


def _rows(title: str, printed: str) -> list[list[str]]:
    begin = f"{title}|"
    return [line[len(begin) :].split("|") for line in printed.splitlines() if line.startswith(begin)]
