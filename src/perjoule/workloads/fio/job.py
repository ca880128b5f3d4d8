"""A fio job file as it is: its permitted options, and the directions in which it moves bytes.

It starts in a folder of its own in the file system. Anything that would reach outside it is refused: other paths, devices,
commands, jobs of other files. https://fio.readthedocs.io/en/latest/fio_doc.html#job-file-format
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from perjoule.model import Direction

ENGINES = ("sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "mmap", "splice")  # of files
OUTSIDE = {
    "exec_prerun": "runs a command",
    "exec_postrun": "runs a command",
    "read_iolog": "replays files by any name",
    "replay_redirect": "names a device",
    "merge_blktrace_file": "writes elsewhere",
    "ioscheduler": "changes a disk's scheduler",
    "cgroup": "changes control groups",
    "uid": "changes the user",
    "gid": "changes the group",
    "allow_mounted_write": "is for devices",
    "zonemode": "is for devices",
}
KEYWORDS = ("$jobname", "$jobnum", "$filenum", "$clientuid")  # all that a `$` may begin: others fio hands to a shell
SIZES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
MOVES = {
    **dict.fromkeys(("read", "randread"), ("read",)),
    **dict.fromkeys(("write", "randwrite"), ("write",)),
    **dict.fromkeys(("rw", "readwrite", "randrw"), ("write", "read")),
}


class Line(NamedTuple):
    """One option of a job file."""

    number: int
    section: str
    key: str
    value: str
    whole: str  # the value with what may be a comment behind it, or may not


def lines(text: str) -> Iterator[Line]:
    """Parse the options of a job file. Raises ValueError, with the line, for anything else."""
    section = ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = re.split(r"[;#]", raw, maxsplit=1)[0].strip()
        if not line:
            continue
        if heading := re.fullmatch(r"\[(.*)\]", line):
            section = heading[1].strip()
            if "/" in section:
                raise ValueError(f'line {number}: the job "{section}" would put its files outside the client\'s folder')
        elif not section or line.split()[0] == "include" or line.startswith("["):
            raise ValueError(f'line {number}: "{line}" is in no section of this file')
        else:
            key, _, value = line.partition("=")
            yield Line(number, section, key.strip().lower(), value.strip(), raw.partition("=")[2])


def check(text: str) -> None:
    """Check that a job file stays in its folder. Raises ValueError with the line that doesn't."""
    for line in lines(text):
        if reason := _outside(line):
            raise ValueError(f"line {line.number}: {line.key} {reason}")
    if not moves(text):
        raise ValueError("it has no job that reads or writes")


def _outside(line: Line) -> str:
    if line.key in OUTSIDE:
        return OUTSIDE[line.key]
    if line.key == "ioengine" and line.value not in ENGINES:
        return f"= {line.value} may access more than files (engines for files: {', '.join(ENGINES)})"
    if re.sub("|".join(map(re.escape, KEYWORDS)), "", line.value).count("$") or "`" in line.whole:
        return f"= {line.value} is computed by the machine, not stated in the file"
    if line.key in ("rw", "readwrite") and line.value.split(":")[0] not in MOVES:
        return f"= {line.value} neither reads nor writes"
    parts = [part.strip(" \t\"'\\") for part in re.split(r"[:,|]", line.whole)]
    if any(part.startswith(("/", "~")) for part in parts):
        return f"= {line.value} is an absolute path, and the job may only use the client's folder"
    if any(".." in part.split("/") for part in parts):
        return f"= {line.value} points outside the client's folder"
    if line.key == "filename" and "-" in parts:
        return "= - is not a file"
    return ""


def _jobs(text: str) -> dict[str, dict[str, str]]:
    """Return the options of each job, including those of [global]."""
    found: dict[str, dict[str, str]] = {}
    common: dict[str, str] = {}
    for heading in re.findall(r"^\s*\[([^\]]*)\]", text, re.MULTILINE):
        if heading != "global":
            found.setdefault(heading.strip(), {})
    for line in lines(text):
        if line.section == "global":
            common[line.key] = line.value
        else:
            found[line.section][line.key] = line.value
    return {name: {**common, **own} for name, own in found.items()}


def directions(text: str) -> tuple[Direction, ...]:
    """Return how its points are reported: several jobs that read and write are users whose load is "mixed"."""
    return ("mixed",) if len(_jobs(text)) > 1 and len(moves(text)) > 1 else moves(text)


def moves(text: str) -> tuple[Literal["write", "read"], ...]:
    """Return the directions in which a job file moves bytes, "write" first."""
    patterns = [options.get("rw", options.get("readwrite", "read")).split(":")[0] for options in _jobs(text).values()]
    found = {direction for pattern in patterns for direction in MOVES.get(pattern, ())}
    return tuple(direction for direction in ("write", "read") if direction in found)


def delayed(text: str) -> bool:
    """Return whether a job starts some time after fio: a wait for a common moment would shorten its delay."""
    return any(line.key == "startdelay" for line in lines(text))


def waiting(text: str) -> frozenset[str]:
    """Return the jobs that start only when those before them in the file have ended."""
    words = ("stonewall", "wait_for_previous")
    return frozenset(name for name, options in _jobs(text).items() if any(options.get(word, "0") != "0" for word in words))


def moved_bytes(text: str) -> int:
    """Return the bytes of its jobs by their sizes, as far as known without fio; for plans only."""
    total = 0
    for options in _jobs(text).values():
        size = re.fullmatch(r"(\d+)([kmgt]?)(?:i?b)?", options.get("io_size", options.get("size", "")).lower())
        count = options.get("numjobs", "1")
        total += int(size[1]) * SIZES[size[2]] * (int(count) if count.isdigit() else 1) if size else 0
    return total
