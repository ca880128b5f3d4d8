"""What `weed` and its shell print."""

import re
from collections import Counter

VOLUME = re.compile(r" *volume Id:(\d+),.* Collection:([^,\s]*),")


def version(text: str) -> str:
    """Return the version from `weed version`."""
    match = re.search(r"^version \S+ (\S+)", text)
    return match[1] if match else text.strip()


def release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version: (4, 48) of "4.48"; () of one without."""
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def volumes(text: str, collection: str | None = None) -> dict[str, set[int]]:
    """Return the volumes of each volume server that has any, by its address, from `volume.list`: of a
    collection, or all.
    """
    held: dict[str, set[int]] = {}
    server = ""
    for line in text.splitlines():
        if match := re.match(r" *DataNode (\S+):\d+ ", line):
            server = match[1]
        elif (match := VOLUME.match(line)) and collection in (None, match[2]):
            held.setdefault(server, set()).add(int(match[1]))
    return held


def chunks(text: str) -> set[int]:
    """Return the volumes that a file's chunks are in, from `fs.meta.cat`; none of a file with so many chunks
    that their list is in chunks itself.
    """
    if re.search(r'"isChunkManifest": +true', text):
        return set()
    return {int(volume) for volume in re.findall(r'"volumeId": +(\d+)', text)}


def thin(held: dict[str, set[int]], copies_count: int) -> list[int]:
    """Return the volumes with too few copies, in order."""
    counts = Counter(number for numbers in held.values() for number in numbers)
    return sorted(number for number, count in counts.items() if count < copies_count)
