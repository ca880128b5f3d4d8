"""A named block device that may be overwritten: whole, unused and empty, or it is refused with what would be lost.

lsblk tells what the device is part of, wipefs what is written on it, and the kernel has the last word: it opens a device
exclusively (O_EXCL) only while nobody has mounted or claimed it. https://man7.org/linux/man-pages/man8/wipefs.8.html
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perjoule.errors import CampaignError
from perjoule.testbeds._format import tool

STABLE = (Path("/dev/disk/by-id"), Path("/dev/disk/by-path"))  # names that do not move to another disk at the next boot
_COLUMNS = "NAME,TYPE,SIZE,RO,MOUNTPOINTS,FSTYPE,LABEL,MODEL"


def empty(device: str, *, lock: int) -> Path:
    """Find the device behind a stable id, and prove that nothing is lost when it is overwritten.

    Raises:
        CampaignError: it is no such device, or something is on it; the message says what.
        MachineError: a tool is missing or failed.
    """
    path = Path(device)
    if path.parent not in STABLE:
        raise _refusal(device, "is no stable id: it may be another disk tomorrow", f"take one of {STABLE[0]}")
    if not path.is_block_device():
        raise _refusal(device, "is no block device here", f"`ls -l {path.parent}` lists them")
    real = path.resolve()
    said = tool("lsblk", "--json", "--output", _COLUMNS, real, lock=lock)
    if reason := in_use(json.loads(said)["blockdevices"][0]):
        raise _refusal(device, reason)
    if reason := written(tool("wipefs", "--no-act", "--json", real, lock=lock)):
        raise _refusal(device, reason, f"if nobody needs that: `wipefs --all {device}`")
    try:
        os.close(os.open(real, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        raise _refusal(device, f"is in use ({error.strerror})") from None
    return real


def _refusal(device: str, reason: str, next: str = "name a disk that is empty") -> CampaignError:
    return CampaignError(f'device = "{device}" {reason}', where="disk", next=next)


def in_use(row: Mapping[str, Any]) -> str:
    """Say why a device of `lsblk --json` is none to be overwritten; "" when nothing speaks against it."""
    if row["type"] not in ("disk", "loop"):
        return f"is not a whole disk but of type {row['type']}"
    if row["ro"]:
        return "is read-only"
    mounted = [place for place in row["mountpoints"] if place]
    if mounted:
        return f"is {'swap' if mounted == ['[SWAP]'] else f'mounted on {mounted[0]}'}; all on it ({_content(row)}) would be lost"
    parts: list[Mapping[str, Any]] = row.get("children", [])
    if parts:
        return f"has parts; all on them ({', '.join(map(_content, parts))}) would be lost"
    return ""


def _content(row: Mapping[str, Any]) -> str:
    """A device and what it holds, in words."""
    below = [_content(child) for child in row.get("children", [])]
    places = [f"on {place}" for place in row["mountpoints"] if place]
    words = [row["name"], row["type"], row["size"], row["fstype"], row["label"] and f'"{row["label"]}"', *places]
    return " ".join(filter(None, words)) + (f" with {', '.join(below)}" if below else "")


def written(said: str) -> str:
    """Say which signatures `wipefs --no-act --json` has found; "" when there is none."""
    found: list[dict[str, str | None]] = json.loads(said)["signatures"] if said.strip() else []
    words = [" ".join(filter(None, [one["type"], one.get("label") and f'"{one["label"]}"', one.get("uuid")])) for one in found]
    return f"bears {', '.join(dict.fromkeys(words))}: that would be lost" if words else ""
