"""Clusters in a phrase: "4x raspberry-pi-5 + 2x exos-5e8, 2.5g" is four storage hosts of a board with two drives
each at a network of 2.5 Gbit/s.

Drives and network are the board's own by default. Metadata, management and client hosts are of the same board, as
many as in a board's own cluster.
"""

import re
from collections import Counter

from perjoule.catalogue import folder
from perjoule.catalogue.finding import OF_BOARD, boards, of_hosts
from perjoule.catalogue.parts import BoardPart, Network, switched
from perjoule.catalogue.reading import MOST_HOSTS_COUNT, part
from perjoule.model.errors import CampaignError
from perjoule.model.hardware import Cluster
from perjoule.model.validation import instead

EXAMPLE = "4x raspberry-pi-5 + 2x exos-5e8, 2.5g"
_COUNTED = re.compile(r"(?:(\d{1,9})\s*x\s+)?([^\s+,]+)")


def is_phrase(text: str) -> bool:
    """Whether a text describes a cluster rather than names one."""
    return "+" in text or "," in text or bool(re.match(r"\s*\d+\s*x\s", text))


def cluster_of(text: str) -> Cluster:
    """Make the cluster of a phrase.

    Raises CampaignError: it isn't one, or names a board, drive or network that isn't there, or that don't fit.
    """
    hosts, *further = (piece.strip() for piece in text.split(","))
    (count, board), *drives = (_counted(piece.strip(), text) for piece in hosts.split("+"))
    if len(further) > 1:
        raise _wrong(text, "it has two networks")
    if board not in boards():
        raise CampaignError(f'no board is called "{board}"', where=text, next=instead(board, boards()))
    server = part(
        "board", board, folder.tables()["board"][board], BoardPart, folder.file_of("board", board).origin
    )
    number = OF_BOARD["storage"] if count is None else count
    drives_count: Counter[str] = Counter()
    for drive_count, drive in drives:
        names = folder.tables()["drive"]
        if drive not in names:
            raise CampaignError(f'no drive is called "{drive}"', where=text, next=instead(drive, names))
        drives_count[drive] += 1 if drive_count is None else drive_count
    if not 1 <= number <= MOST_HOSTS_COUNT or not all(
        1 <= each_count <= 200 for each_count in drives_count.values()
    ):
        raise _wrong(text, "it has too few or too many of something")
    network = _network(server, board, further[0], text) if further else next(reversed(server.networks), "")
    title = f"{number} x {server.title or board}"
    try:
        return of_hosts(text, title, board, number, drives_count or server.drives, network)
    except CampaignError as error:
        raise CampaignError(error.what, where=text, next=error.next) from None


def _counted(piece: str, text: str) -> tuple[int | None, str]:
    counted = _COUNTED.fullmatch(piece)
    if counted is None:
        raise _wrong(text, f'"{piece}" is not a number of a board or a drive')
    return (int(counted[1]) if counted[1] else None), counted[2]


def _network(server: BoardPart, board: str, network: str, text: str) -> str:
    """Find the network of a board by its name, or by that of the switches at which its adapter is."""
    links = {
        name: part("network", name, folder.tables()["network"][name], Network, text)
        for name in server.networks
    }
    for name, link in links.items():
        if network in (name, switched(name, link)):
            return name
    raise CampaignError(
        f'{board} has no network "{network}"',
        where=text,
        next=f"choose {' or '.join(links) or 'another board'}",
    )


def _wrong(text: str, why: str) -> CampaignError:
    return CampaignError(f'"{text}" describes no cluster: {why}', next=f'write "{EXAMPLE}"')
