"""GlusterFS's input and output, as pure functions."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from perjoule.filesystems._said import found
from perjoule.model.errors import NoAnswer

# Where all hosts have their own, by bind mounts, so that glusterd, bricks, clients and the command line find
# it unasked.
PORT = 24007  # of glusterd
GLUSTERD = f"""\
volume management
    type mgmt/glusterd
    option working-directory /var/lib/glusterd
    option run-directory /run/gluster
    option glusterd-sockfile /run/gluster/glusterd.socket
    option logging-directory /var/log/glusterfs
    option transport-type socket
    option transport.socket.listen-port {PORT}
    option transport.socket.read-fail-log off
    option transport.socket.keepalive-time 10
    option transport.socket.keepalive-interval 2
    option ping-timeout 0
    option event-threads 1
    option max-port 60999
end-volume
"""

# Stands in for gsyncd (geo-replication, not used here), which costs glusterd 6 s at its start; it wants to
# see this word.
GSYNCD = "#!/bin/sh\necho 'gsyncd.py stub'\n"


@dataclass(frozen=True)
class Service:
    """One process of a volume, as `gluster volume status --xml` lists it."""

    name: str  # "brick" or "Self-heal Daemon"
    uuid: str  # of its host
    online: bool
    path: Path | None = None  # of a brick


def info_text(uuid: str, version: str) -> str:
    """Return glusterd.info, a host's identity.

    From GlusterFS 4 on the operating version is the major version times 10000.
    """
    return f"UUID={uuid}\noperating-version={int(version.split('.')[0]) * 10000}\n"


def version(output: str) -> str:
    """Parse the version from `glusterd --version` ("glusterfs 10.3 ...")."""
    return found(r"^glusterfs (\d[\w.]*)", output, "glusterd --version")


def connected_count(pool: str) -> int:
    """Parse the number of connected hosts of the pool, including this one, from `gluster pool list`."""
    return len(re.findall(r"\tConnected", pool))


def status(xml: str) -> tuple[Service, ...]:
    """Parse all processes of the volume from `gluster volume status VOLUME --xml`; empty before it is
    started.
    """
    return tuple(map(_service, _parsed(xml).iter("node")))


def _service(node: ElementTree.Element) -> Service:
    path = _text(node, "path")
    brick = Path(path) if path.startswith("/") else None
    return Service(
        "brick" if brick else _text(node, "hostname"),
        _text(node, "peerid"),
        _text(node, "status") == "1",
        brick,
    )


def tasks(xml: str) -> tuple[str, ...]:
    """Parse the volume's tasks ("rebalance in progress"), from `gluster volume status VOLUME --xml`."""
    running = [task for task in _parsed(xml).iter("task") if _text(task, "statusStr") == "in progress"]
    return tuple(f"{_text(task, 'type').lower()} in progress" for task in running)


def volume_options(xml: str) -> dict[str, str]:
    """Parse the options that were set, from `gluster volume info VOLUME --xml`."""
    return {_text(option, "name"): _text(option, "value") for option in _parsed(xml).iter("option")}


def volume_shape(xml: str) -> dict[str, int | str]:
    """Parse type, bricks, replicas and redundancy, from `gluster volume info VOLUME --xml`."""
    volume = next(_parsed(xml).iter("volume"))
    counts = {
        "bricks_count": "brickCount",
        "replicas_count": "replicaCount",
        "arbiters_count": "arbiterCount",
        "disperse_count": "disperseCount",
        "redundancy_count": "redundancyCount",
    }
    return {
        "type": _text(volume, "typeStr"),
        **{name: int(_text(volume, tag)) for name, tag in counts.items()},
    }


def holders(uuids: str, names: Mapping[str, str], *, arbiters_count: int = 0) -> tuple[str, ...]:
    """Parse the hosts in `trusted.glusterfs.list-node-uuids` (or node-uuid), in the order of `names` (UUID to
    name).

    The list has a group's bricks in the order in which the volume was created; the last ones are those of
    arbiters.
    """
    listed = re.findall(r"[0-9a-f-]{36}", uuids)
    holding = listed[: len(listed) - arbiters_count]
    return tuple(name for uuid, name in names.items() if uuid in holding)


def lost_brick(log: str) -> str:
    """Return the brick that a client's log reports as lost, or "": the client continues as long as the
    layout allows.
    """
    lost = re.search(r"(?<!\S)\d+-(\S+-client-\d+): (disconnected from|server \S+ has not responded)", log)
    return f"{lost[1]} was lost by the client" if lost else ""


def absent_bricks(log: str) -> str:
    """Return the bricks to which a client has no connection at the end of its log."""
    events = re.findall(
        r"(?<!\S)\d+-(\S+-client-\d+): (?:(disconnected from|server \S+ has not responded)|Connected)",
        log,
        re.IGNORECASE,
    )
    return ", ".join(name for name, lost in dict(events).items() if lost)


def brick_log(brick: Path) -> str:
    """Return GlusterFS's file name for the log of a brick."""
    return f"{str(brick).strip('/').replace('/', '-')}.log"


def _parsed(xml: str) -> ElementTree.Element:
    try:
        answer = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise NoAnswer(f"gluster returned XML that can't be parsed ({error})") from error
    if _text(answer, "opRet") != "0":  # else a refusal would read as a volume without bricks
        raise NoAnswer(f"gluster did not answer: {_text(answer, 'opErrstr') or 'no reason given'}")
    return answer


def _text(element: ElementTree.Element, tag: str) -> str:
    return element.findtext(tag) or ""
