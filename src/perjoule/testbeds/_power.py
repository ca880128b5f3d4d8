"""How strong this machine's CPU is, in the measure of the catalogue: 7-zip MIPS, https://7-zip.org (`7zz b`)."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from perjoule.errors import MachineError

TOOLS = ("7zz", "7z", "7zr")
_BENCHMARK = ("b", "1", "-mmt1", "-md22")  # one pass of one thread over one dictionary: some 7 s
_TIMEOUT_S = 120.0


def tool() -> str | None:
    """The 7-zip that is installed, if any."""
    return next((path for name in TOOLS if (path := shutil.which(name))), None)


def rating(text: str) -> float:
    """Read the total rating per core of CPU time from the report of `7zz b`: the column R/U of the line Tot.

    R/U is the rating divided by the CPU time used, so it holds while others use the machine too.

    Raises:
        ValueError: there is no such line.
    """
    match = re.search(r"^Tot:\s+\d+\s+(\d+)\s+\d+\s*$", text, re.MULTILINE)
    if match is None:
        raise ValueError("no total in the report of 7-zip")
    return float(match[1])


def cpu_model() -> str:
    """The CPU's name, as the kernel reports it."""
    text = Path("/proc/cpuinfo").read_text()
    found = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.+)$", text, re.MULTILINE)
    return found[1].strip() if found else os.uname().machine


def cache_file() -> Path:
    """Where measured ratings are remembered."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perjoule" / "mips.json"


def mips_per_core() -> tuple[float, str]:
    """This machine's 7-zip MIPS per second of CPU time, and how it was found; measured once, then remembered.

    Raises:
        MachineError: 7-zip is missing or its report can't be read.
    """
    path = tool()
    if path is None:
        raise MachineError("7-zip is missing, without it CPUs can't be capped", next="apt-get install 7zip, or cpu_cap = false")
    real = Path(path).resolve()
    key = f"{cpu_model()} | {real} {real.stat().st_size} {int(real.stat().st_mtime)} | {' '.join(_BENCHMARK)}"
    remembered = _remembered()
    if key not in remembered:
        try:
            done = subprocess.run([path, *_BENCHMARK], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
            remembered[key] = rating(done.stdout)
        except (subprocess.SubprocessError, ValueError, OSError) as error:
            raise MachineError(f"7-zip's benchmark failed ({error})", next="try `7zz b`, or cpu_cap = false") from None
        _remember(remembered)
    return remembered[key], key


def _remembered() -> dict[str, float]:
    try:
        return {str(key): float(value) for key, value in json.loads(cache_file().read_text()).items()}
    except (OSError, ValueError, AttributeError):
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
    """How many cores of this machine are as strong as a board that runs at `scale` of its speed."""
    return board_mips * scale / machine_mips_per_core
