"""The strength of this machine's CPU, in the catalogue's measure: 7-zip MIPS, https://7-zip.org (`7zz b`)."""

import json
import os
import re
import resource
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from perjoule.machine import environment, kept
from perjoule.machine.untrusted import UNEXPECTED, json_of
from perjoule.model.doubts import MACHINE, Doubt
from perjoule.model.errors import MachineError
from perjoule.testbeds._machine import working_s

TOOLS = ("7zz", "7z", "7zr")
_BENCHMARK = ("b", "1", "-mmt1", "-md22")  # one pass of one thread over one dictionary: some 7 s
_TIMEOUT_S = 120.0
# of the machine's CPU time taken by others, above which a rating is doubted and not remembered
BUSY_RATIO = 0.1


def tool() -> str | None:
    """Return the installed 7-zip, if any."""
    return next((path for name in TOOLS if (path := shutil.which(name))), None)


def rating(text: str) -> float:
    """Read the total rating per core of CPU time from the report of `7zz b`: the column R/U of the line Tot.

    R/U is the rating divided by the CPU time used. Other programs on the machine lower it nevertheless,
    because caches and the two threads of a core are shared: at a load of 9 on two cores it is 2817 instead of
    4405 on a quiet machine.

    Raises:
        ValueError: there is no such line.
    """
    match = re.search(r"^Tot:\s+\d+\s+(\d+)\s+\d+\s*$", text, re.MULTILINE)
    if match is None:
        raise ValueError("no total in the report of 7-zip")
    return float(match[1])


def cpu_model() -> str:
    """Return the CPU's name, as the kernel reports it."""
    return environment.cpu_model(Path("/proc/cpuinfo").read_text()) or os.uname().machine


def cache_file() -> Path:
    """Return the file in which measured ratings are cached."""
    return kept.in_home("mips.json")


@dataclass(frozen=True)
class Rating:
    """7-zip MIPS per second of CPU time, how they were found, and a doubt if others used the CPUs
    meanwhile.
    """

    mips: float
    source: str
    doubt: Doubt | None = None


def mips_per_core() -> Rating:
    """Rate this machine. A rating measured on a quiet machine is cached; on a busy one it is measured again
    the next time.

    Raises:
        MachineError: 7-zip is missing or its report can't be read.
    """
    path = tool()
    if path is None:
        raise MachineError(
            "7-zip is missing; without it, CPUs can't be capped",
            next="apt-get install 7zip, or cpu_cap = false",
        )
    real = Path(path).resolve()
    key = f"{cpu_model()} | {real} {real.stat().st_size} {int(real.stat().st_mtime)} | {' '.join(_BENCHMARK)}"
    remembered = _remembered()
    if key in remembered:
        return Rating(remembered[key], key)
    try:
        before = _used_s()
        completed = subprocess.run(
            [path, *_BENCHMARK], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
        )
        mips, busy_ratio = rating(completed.stdout), strangers_ratio(before, _used_s())
    except (subprocess.SubprocessError, ValueError, OSError) as error:
        raise MachineError(
            f"7-zip's benchmark failed ({error})", next="try `7zz b`, or cpu_cap = false"
        ) from None
    if busy_ratio > BUSY_RATIO:
        return Rating(mips, key, MACHINE.rated_while_busy(busy_ratio=busy_ratio))
    _remember({**remembered, key: mips})
    return Rating(mips, key)


def _used_s() -> tuple[float, float, float]:
    """Return the time, and the CPU time so far of all programs of this machine and of our ended children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic(), working_s(Path("/proc/stat").read_text()), children.ru_utime + children.ru_stime


def strangers_ratio(before: tuple[float, float, float], after: tuple[float, float, float]) -> float:
    """Return the share of the machine's CPU time that programs other than ours took between two results of
    `_used_s`.
    """
    wall_s, working, own_s = (b - a for a, b in zip(before, after, strict=True))
    return max(0.0, working - own_s) / (wall_s * (os.cpu_count() or 1))


def _remembered() -> dict[str, float]:
    try:
        return {str(key): float(value) for key, value in json_of(cache_file()).items()}
    except (OSError, *UNEXPECTED):
        return {}


def _remember(ratings: dict[str, float]) -> None:
    file = cache_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps(ratings, indent=1))
        new.replace(file)
    except OSError:
        return  # a read-only home: measured again next time


def cores(board_mips: float, scale: float, machine_mips_per_core: float) -> float:
    """Return how many cores of this machine are as strong as a board that runs at `scale` of its speed."""
    return board_mips * scale / machine_mips_per_core
