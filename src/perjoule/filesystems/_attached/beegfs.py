"""A BeeGFS that others run, asked by `beegfs-ctl` (7) or `beegfs` (8) from a client, without root.
https://doc.beegfs.io/latest/reference/target_states.html

Of 7, packages give `beegfs-ctl` root's rights to read the secret. Of 8, the secret must be readable by the
group of `beegfs`, and only root may ask what clients moved.
"""

import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host
from perjoule.filesystems import _beegfs
from perjoule.filesystems._attached.table import ClusterTable
from perjoule.filesystems._said import found
from perjoule.machine.mounts import SHORT_S
from perjoule.machine.programs import programs
from perjoule.machine.untrusted import understood
from perjoule.model import OPTIONS, ClusterState, Redundancy
from perjoule.model.units import bytes_text

DOCUMENTATION = "https://doc.beegfs.io"
KINDS = ("meta", "storage")
# 7 prints six digits: from here on a client's count is off by more than what others are not doubted for
LEAST_ROUNDED_BYTES = 10**12


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class BeegfsTable(ClusterTable):
    """A BeeGFS."""

    series: Literal[7, 8] = 8
    """Its release series: 7 is asked by `beegfs-ctl`, 8 by `beegfs`."""
    management: str = ""
    """Of 8, address and port of its management, as "10.0.1.1:8010"; what the tool takes if omitted."""
    secret: str = ""
    """Of 8, the file with its secret; what the tool takes if omitted."""
    tls: bool = True
    """Of 8, whether its management speaks TLS."""

    @model_validator(mode="after")
    def _fits_series(self) -> Self:
        if self.series == 7 and (self.management or self.secret or not self.tls):
            raise ValueError("series = 7 takes management and secret from the mount (remove them, and tls)")
        return self

    def checks(self) -> tuple[Check, ...]:
        """Check for the tool."""
        return programs({"beegfs-ctl" if self.series == 7 else "beegfs": DOCUMENTATION})

    def state(self, host: Host, folder: Path, loading: Sequence[str]) -> ClusterState:
        """Ask for its state, and how a folder's files are striped; `loading` are the addresses of hosts that
        load.

        Raises WorkloadError: it does not answer, or not as BeeGFS does.
        """
        asked_s = time.monotonic()

        def ask(words: str, *arguments: str | Path) -> str:
            argv = [*self._call(folder), *words.split(), *arguments]
            return host.run(argv, timeout_s=60).stdout

        if self.series == 7:
            version = host.run(["beegfs-ctl", "--help"], timeout_s=SHORT_S).stdout
            list_targets, entry = "--listtargets --state --nodetype=", ask("--getentryinfo", folder)
            count = "--clientstats --nodetype=storage --interval=0 --rwunit=B"
        else:
            version = host.run(["beegfs", "version"], timeout_s=SHORT_S).stdout
            list_targets, entry = "target list --state --node-type=", ask("entry info --raw --retro", folder)
            count = "stats client --node-type=storage --interval=0s --raw --retro"
        targets = {kind: ask(f"{list_targets}{kind}") for kind in KINDS}
        counted = host.run([*self._call(folder), *count.split()], timeout_s=60, check=False)
        clients = counted.stdout if counted.returncode == 0 else ""
        return state(version, targets, entry, clients, loading, asked_s)

    def _call(self, folder: Path) -> list[str]:
        if self.series == 7:
            return ["beegfs-ctl", f"--mount={folder}"]
        address = ["--mgmtd-addr", self.management] if self.management else []
        secret = ["--auth-file", self.secret] if self.secret else []
        return ["beegfs", *address, *secret, *([] if self.tls else ["--tls-disable"])]


@understood("beegfs")
def state(
    version: str,
    targets: Mapping[str, str],
    entry: str,
    clients: str,
    loading: Sequence[str],
    asked_s: float,
) -> ClusterState:
    """Parse the answers: of targets by the kind of their servers; `clients` is "" if it was refused.

    Raises WorkloadError: they are none of BeeGFS's.
    """
    release = found(r"^Version: ?(\S*)", version, "version")
    placement = _beegfs.entry(entry)
    targets_count = int(found(r"^\+ Number of storage targets: desired: (\d+)", entry, "entry info"))
    listed = {kind: _beegfs.targets(table) for kind, table in targets.items()}
    states = [
        (f"{kind} target {target.number}", f"{target.reachability}, {target.consistency}", target.well)
        for kind, rows in listed.items()
        for target in rows
    ]
    lacks = [f"{name}: {text}" for name, text, well in states if not well]
    lacks += [f"no {kind} target" for kind, rows in listed.items() if not rows]
    layout = f"{placement.pattern}, chunks of {bytes_text(placement.chunk_bytes)}, {targets_count} targets"
    # a mirror's second server has its copy from the first, which then counts among its clients
    written_bytes, read_bytes = (None, None) if placement.mirrored else _moved(clients, loading)
    return ClusterState(
        asked_s=asked_s,
        version=f"BeeGFS {release}".rstrip(),
        redundancy=_redundancy(placement),
        health="degraded" if lacks else "whole",
        lacks="; ".join(lacks),
        parts={**{name: text for name, text, _ in states}, "layout": layout},
        facts={
            "pattern": placement.pattern,
            "chunk_bytes": placement.chunk_bytes,
            "targets_count": targets_count,
        },
        written_bytes=written_bytes,
        read_bytes=read_bytes,
        of_others=True,
    )


def _redundancy(placement: _beegfs.BeegfsEntry) -> Redundancy | None:
    if placement.mirrored:
        return Redundancy(copies_count=2)
    return Redundancy() if placement.pattern.lower() == "raid0" else None


def _moved(clients: str, loading: Sequence[str]) -> tuple[int | None, int | None]:
    """Add up what storage servers received from clients that don't load, and sent them, since they started;
    None: they don't say, or too roughly.
    """
    moved_bytes = {"wr": 0, "rd": 0}
    lines = [line for line in clients.splitlines() if "[sum]" in line and not line.startswith("Sum")]
    for line in lines:
        address = re.split(r":?\s", line, maxsplit=1)[0]
        if address in loading:
            continue
        for number, direction in re.findall(r"(?<![\d.])([\d.]+(?:e\+\d+)?) \[(?:B-)?(wr|rd)\]", line):
            count_bytes = round(float(number))
            if "e" in number and count_bytes >= LEAST_ROUNDED_BYTES:
                return None, None
            moved_bytes[direction] += count_bytes
    return (moved_bytes["wr"], moved_bytes["rd"]) if lines else (None, None)
