"""Files that age a file system, as a separate program on a client.

It runs under the system's Python and uses only the standard library. Standard input is JSON, `{"folder":
path, "seed": text, "do": "fill", "first": number, "bytes": count}`, `{..., "do": "churn", "round": number}`
or `{..., "do": "look"}`. Standard output is JSON: what was done. Sizes (but for a last file's) and what is
deleted and overwritten follow from the seed and the numbers.
"""

import ctypes
import errno
import json
import os
import sys
from pathlib import Path
from random import Random
from typing import Any, BinaryIO

SMALLEST_BYTES, LARGEST_BYTES = 16 * 1024, 16 * 1024**2  # of a file; sizes are log-uniform between them
PIECE_BYTES = 64 * 1024  # overwritten at a time, at a random place
OVERWRITTEN_RATIO = 0.25  # of a file that is overwritten
IN_FOLDER_COUNT = 256
BLOCK_BYTES = 1024**2  # of content, which no compression makes smaller
FULL = (errno.ENOSPC, errno.EDQUOT)


def size_bytes(seed: str, number: int) -> int:
    """Return the size of a file."""
    return int(SMALLEST_BYTES * (LARGEST_BYTES / SMALLEST_BYTES) ** Random(f"{seed} size {number}").random())


def place(folder: Path, number: int) -> Path:
    """Return the path of a file."""
    return folder / f"{number // IN_FOLDER_COUNT:06d}" / f"{number:09d}"


def fill(folder: Path, seed: str, first: int, wanted_bytes: int) -> dict[str, Any]:
    """Write files from this number on until they have this many bytes, or no space is left.

    The last is cut to fit.
    """
    block = Random(f"{seed} content").randbytes(BLOCK_BYTES)
    number, written_bytes = first, 0
    while written_bytes < wanted_bytes:
        length = min(size_bytes(seed, number), max(SMALLEST_BYTES, wanted_bytes - written_bytes))
        path = place(folder, number)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, length, block)
        except OSError as error:
            if error.errno not in FULL:
                raise
            path.unlink(missing_ok=True)
            return {"next": number, "bytes": written_bytes, "full": True}
        number, written_bytes = number + 1, written_bytes + length
    return {"next": number, "bytes": written_bytes, "full": False}


def _write(path: Path, length: int, block: bytes) -> None:
    with path.open("wb") as file:
        for begin in range(0, length, BLOCK_BYTES):
            file.write(block[: length - begin])
        _flush(file)


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def churn(folder: Path, seed: str, number: int) -> dict[str, Any]:
    """Delete a third of the files, and overwrite a part of another third."""
    dice = Random(f"{seed} round {number}")
    # a client of many may have written none
    files = sorted(path for inner in folder.glob("*") for path in inner.iterdir())
    dice.shuffle(files)
    third = len(files) // 3
    deleted_bytes = overwritten_bytes = 0
    for path in files[:third]:
        deleted_bytes += path.stat().st_size
        path.unlink()
    report: dict[str, Any] = {"deleted_count": third, "deleted_bytes": deleted_bytes, "full": False}
    block = dice.randbytes(PIECE_BYTES)
    for path in files[third : 2 * third]:
        length = path.stat().st_size
        pieces_count = max(1, round(OVERWRITTEN_RATIO * length / PIECE_BYTES))
        try:
            with path.open("r+b") as file:
                for _ in range(pieces_count):
                    file.seek(dice.randrange(max(1, length - PIECE_BYTES)))
                    overwritten_bytes += file.write(block[:length])
                _flush(file)
        except OSError as error:
            if error.errno not in FULL:
                raise
            report["full"] = True
            break
    return {**report, "overwritten_bytes": overwritten_bytes}


def look(folder: Path) -> dict[str, Any]:
    """Return the bytes in use, and those that users may have in all, as df counts them, after what was
    written is on the disk.
    """
    _sync(folder)
    status = os.statvfs(folder)
    used = (status.f_blocks - status.f_bfree) * status.f_frsize
    return {"used_bytes": used, "usable_bytes": used + status.f_bavail * status.f_frsize}


def _sync(folder: Path) -> None:
    """Flush this file system alone: btrfs counts what it has committed. Python has no syncfs."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        ctypes.CDLL(None, use_errno=True).syncfs(descriptor)
    finally:
        os.close(descriptor)


def main() -> None:
    """Do what standard input asks for."""
    request = json.load(sys.stdin)
    folder, seed = Path(request["folder"]), request["seed"]
    if request["do"] == "fill":
        report = fill(folder, seed, request["first"], request["bytes"])
    elif request["do"] == "churn":
        report = churn(folder, seed, request["round"])
    else:
        report = look(folder)
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
