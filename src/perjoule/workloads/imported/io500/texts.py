"""What the output of a phase's own program says: IOR's and mdtest's text, 2017 and later, also if it is
truncated.
"""

import re
from collections.abc import Mapping
from itertools import pairwise

from perjoule.model.units import MIB
from perjoule.workloads.imported.ior_text import BEGAN, DATE, MOVED
from perjoule.workloads.imported.run import Texts, moment_s

_DAY = "%m/%d/%Y %H:%M:%S"
_BEGAN = (
    (BEGAN, DATE),
    (re.compile(r"^-- started at (\S+ \S+) --", re.MULTILINE), _DAY),
)
_ENDED = (
    (re.compile(r"^Finished *: *(\w.*)$", re.MULTILINE), DATE),
    (re.compile(r"^-- finished at (\S+ \S+) --", re.MULTILINE), _DAY),
)
_NODES = re.compile(r"^nodes +: (\d+)|task\(s\) on (\d+) node\(s\)", re.MULTILINE)
_TASKS = re.compile(
    r"^tasks +: (\d+)\nclients per node +: (\d+)|^[ \t]*clients +(?:= *)?(\d+) \((\d+) per node\)",
    re.MULTILINE,
)
_LAUNCHED = re.compile(r"was launched with (\d+) total task")
_COMMAND = re.compile(r"^Command line(?: used)? *: *(.*)$", re.MULTILINE)
# The summary has the most digits; IO500's own IOR ends with the row of its results: bandwidth, ...,
# iteration.
_IOR_RATE = (
    re.compile(r"^Max (?:Write|Read): +([\d.]+) MiB/sec", re.MULTILINE),
    re.compile(r"^(?:write|read) +([\d.]+)(?: +[\d.]+){6,8} +0 *$", re.MULTILINE),
)
_COLUMN = {"write": "creation", "stat": "stat", "read": "read", "delete": "removal"}


def name_of(phase: str, texts: Mapping[str, object]) -> str:
    """Return the name of a phase's text in a folder, as this or an older version writes it; "" without
    one.
    """
    return next((name for name in (f"{phase}.txt", f"{phase.replace('-', '_')}.txt") if name in texts), "")


def known(phase: str) -> bool:
    """Return whether a phase's text is one that is read here."""
    return phase.startswith(("ior-", "mdtest-"))


def began_s(text: str, zone: str) -> float | None:
    """Return when the program began (UTC, to 1 s). Raises ValueError."""
    return _moment_s(text, _BEGAN, zone)


def ended_s(text: str, zone: str) -> float | None:
    """Return when the program ended (UTC, to 1 s); None if the text is truncated. Raises ValueError."""
    return _moment_s(text, _ENDED, zone)


def nodes_count(text: str) -> int:
    """Return the number of nodes; 0 if the text does not say."""
    if match := _NODES.search(text):
        return int(match[1] or match[2])
    tasks = _TASKS.search(text)
    if tasks is None:
        return 0
    every, each = (int(tasks[1] or tasks[3]), int(tasks[2] or tasks[4]))
    return -(-every // each) if each else 0


def ranks_count(text: str) -> int:
    """Return the number of ranks; 0 if the text does not say."""
    match = _LAUNCHED.search(text)
    tasks = None if match else _TASKS.search(text)
    return int(match[1]) if match else int(tasks[1] or tasks[3]) if tasks else 0


def command(text: str) -> str:
    """Return the command line, as options of IOR or mdtest."""
    match = _COMMAND.search(text)
    return match[1] if match else ""


def rate(phase: str, text: str) -> float | None:
    """Return the rate of a phase, in GiB/s or kIOPS; None if the text is truncated."""
    if phase.startswith("ior-"):
        rate_match = next((match for form in _IOR_RATE if (match := form.search(text))), None)
        return float(rate_match[1]) / 1024 if rate_match else None
    column = _COLUMN.get(phase.rsplit("-", 1)[-1])
    row = re.search(rf"^ +File {column}(?: *:)? +([\d.]+) ", text, re.MULTILINE) if column else None
    return float(row[1]) / 1000 if row else None


def moved_bytes(text: str) -> tuple[int, ...]:
    """Return the bytes that IOR may have moved: as its warning counts them, and as its table lists them."""
    counts = [int(count) for count in MOVED.findall(text)]
    lines = text.splitlines()
    for names, values in pairwise(lines):
        row = (
            dict(zip(names.split(), values.split(), strict=False)) if names.startswith("Operation  ") else {}
        )
        for key, per in (("aggs(MiB)", MIB), ("aggsize", 1)):
            if re.fullmatch(r"[\d.]+", row.get(key, "")):
                counts.append(round(float(row[key]) * per))
    return tuple(counts)


def dated(texts: Texts) -> bool:
    """Return whether any file of a folder says when a phase began."""
    return any("t_start" in text or any(form.search(text) for form, _ in _BEGAN) for text in texts.values())


def _moment_s(text: str, forms: tuple[tuple[re.Pattern[str], str], ...], zone: str) -> float | None:
    for form, date in forms:
        if match := form.search(text):
            return moment_s(match[1], date, zone)
    return None
