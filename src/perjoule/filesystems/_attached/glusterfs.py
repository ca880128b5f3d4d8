"""A GlusterFS that others run, asked by `gluster --remote-host` from a client, without root.
https://docs.gluster.org/en/latest/Administrator-Guide/Managing-Volumes/

glusterd answers questions of other hosts about volumes, bricks, peers and connections. Heals that are pending
are known only to root on a server of the volume: elsewhere they count as lacking, unless `heal_unknown`.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Check, Host
from perjoule.filesystems._attached.table import ClusterTable
from perjoule.filesystems._said import found, unexpected
from perjoule.machine.mounts import SHORT_S
from perjoule.machine.programs import programs
from perjoule.machine.untrusted import understood
from perjoule.model import OPTIONS, ClusterState, Json, Redundancy
from perjoule.model.errors import UnexpectedOutput, WorkloadError

UP = "1"
UNHEALED = "heals that are pending are unknown"


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class GlusterTable(ClusterTable):
    """A volume of GlusterFS."""

    server: str
    """A server of it that answers the first client at port 24007."""
    volume: str
    """The volume that is mounted."""
    heal_unknown: bool = False
    """Whether to measure it although this user can't ask for pending heals, which takes root on a server; then
    each trial has a doubt."""

    def checks(self) -> tuple[Check, ...]:
        """Check for the tool."""
        return programs({"gluster": "glusterfs-cli"})

    def state(self, host: Host, folder: Path, loading: Sequence[str]) -> ClusterState:
        """Ask for its state; `loading` are the addresses of hosts that load.

        Raises WorkloadError: it does not answer, or not as GlusterFS does.
        """
        asked_s = time.monotonic()
        remote = f"--remote-host={self.server}"

        def ask(*words: str) -> str:
            argv = ["gluster", "--mode=script", "--log-file=/dev/null", remote, *words, "--xml"]
            return host.run(argv, timeout_s=60).stdout

        heal = ["gluster", "--mode=script", "--log-file=/dev/null", "volume", "heal", self.volume, "info"]
        version = host.run(["gluster", "--version"], timeout_s=SHORT_S).stdout
        return state(
            found(r"^(glusterfs \S+)", version, "gluster --version"),
            ask("volume", "info", self.volume),
            ask("volume", "status", self.volume),
            ask("volume", "status", self.volume, "clients"),
            ask("pool", "list"),
            host.run([*heal, "summary", "--xml"], timeout_s=60, check=False).stdout,
            loading=loading,
            heal_unknown=self.heal_unknown,
            asked_s=asked_s,
        )


@understood("gluster")
def state(
    version: str,
    info: str,
    status: str,
    clients: str,
    peers: str,
    heal: str,
    *,
    loading: Sequence[str],
    heal_unknown: bool,
    asked_s: float,
) -> ClusterState:
    """Parse the answers of `gluster --xml`; the version is that of the client's tools.

    Raises WorkloadError: they are none of GlusterFS's, or refuse.
    """
    volume = next(_answer(info).iter("volume"), None)
    if volume is None:
        raise unexpected(info, "gluster volume info")
    redundancy = _redundancy(volume)
    bricks = [_text(brick, "name") for brick in volume.iter("brick")]
    nodes = {
        f"{_text(node, 'hostname')}:{_text(node, 'path')}": node for node in _answer(status).iter("node")
    }
    tasks = [f"{_text(task, 'type')} {_text(task, 'statusStr')}" for task in _answer(status).iter("task")]
    tasks = [task for task in tasks if not task.endswith((" completed", " stopped", " not started"))]
    apart = [
        _text(peer, "hostname") for peer in _answer(peers).iter("peer") if _text(peer, "connected") != UP
    ]
    pending = _pending(heal) if redundancy.tolerated_count else 0
    lacks = [f"volume {_text(volume, 'statusStr')}"] if _text(volume, "statusStr") != "Started" else []
    lacks += [f"brick {name} down" for name in bricks if name not in nodes or not _is_up(nodes[name])]
    lacks += [f"{name} down" for name, node in nodes.items() if name not in bricks and not _is_up(node)]
    lacks += [f"peer {name} disconnected" for name in apart]
    lacks += [*tasks, *([f"{pending} files to heal"] if pending else [])]
    lacks += [UNHEALED] if pending is None and not heal_unknown else []
    written_bytes, read_bytes = _moved(_answer(clients), loading, redundancy)
    options = {_text(option, "name"): _text(option, "value") for option in volume.iter("option")}
    parts = {f"brick {name}": "up" if name in nodes and _is_up(nodes[name]) else "down" for name in bricks}
    return ClusterState(
        asked_s=asked_s,
        version=version,
        redundancy=redundancy,
        health="degraded" if lacks else "whole",
        lacks="; ".join(lacks),
        work=UNHEALED if pending is None and heal_unknown else "",
        parts={**parts, "layout": redundancy.text, **{f"option {name}": on for name, on in options.items()}},
        facts=_facts(volume),
        written_bytes=written_bytes,
        read_bytes=read_bytes,
        of_others=True,
    )


def _moved(clients: ElementTree.Element, loading: Sequence[str], redundancy: Redundancy) -> tuple[int, int]:
    """Add up what bricks received and sent on connections of others, without copies; with RPC headers."""
    once = redundancy.usable_ratio
    theirs = [
        client
        for client in clients.iter("client")
        if _text(client, "hostname").rpartition(":")[0] not in loading
    ]
    received_bytes = sum(int(_text(client, "bytesRead")) for client in theirs)
    return round(received_bytes * once), sum(int(_text(client, "bytesWrite")) for client in theirs)


def _redundancy(volume: ElementTree.Element) -> Redundancy:
    count: Callable[[str], int] = lambda tag: int(_text(volume, tag))  # noqa: E731
    if parts_count := count("disperseCount"):
        return Redundancy(
            data_count=parts_count - count("redundancyCount"), parity_count=count("redundancyCount")
        )
    return Redundancy(copies_count=count("replicaCount") - count("arbiterCount"))


def _pending(heal: str) -> int | None:
    """Count files to heal; None: it was not this user's to ask, or a brick does not tell."""
    try:
        bricks = [*_answer(heal).iter("brick")]
        counts = [_text(brick, "totalNumberOfEntries") for brick in bricks]
    except WorkloadError:
        return None
    return sum(map(int, counts)) if counts and all(map(str.isdecimal, counts)) else None


def _is_up(node: ElementTree.Element) -> bool:
    return _text(node, "status") == UP


def _facts(volume: ElementTree.Element) -> Mapping[str, Json]:
    names = {
        "name": "name",
        "type": "typeStr",
        "bricks_count": "brickCount",
        "arbiters_count": "arbiterCount",
    }
    return {key: _text(volume, tag) for key, tag in names.items()}


def _answer(xml: str) -> ElementTree.Element:
    if "<!DOCTYPE" in xml:  # gluster declares no entities, by which a short text becomes a large one
        raise unexpected(xml, "gluster")
    try:
        answer = ElementTree.fromstring(xml)
    except ElementTree.ParseError:
        raise unexpected(xml, "gluster") from None
    if _text(answer, "opRet") != "0":
        reason = answer.findtext("opErrstr") or "it gives no reason"
        raise WorkloadError(f"gluster refused: {reason}", next="correct server or volume")
    return answer


def _text(element: ElementTree.Element, tag: str) -> str:
    text = element.findtext(tag)
    if text is None:
        raise UnexpectedOutput(f"unexpected output: no {tag} in {element.tag}", where="gluster")
    return text
