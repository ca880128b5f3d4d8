"""How much an IO500's phase did, from its tables of ranks and its programs' own text."""

import csv
from collections.abc import Iterator, Mapping, Sequence

from perjoule.workloads.imported.io500 import texts as programs
from perjoule.workloads.imported.io500.stated import Stated

SAME_AMOUNT_RATIO = 0.02  # a phase's time includes what IO500 does around it


def exact_count(of: Stated, ranks: str, text: str) -> int | None:
    """Return bytes or operations where a file has them; None if only rate and time tell.

    Args:
        of: the phase.
        ranks: its table of ranks, or "".
        text: of IOR or mdtest, or "".

    Raises:
        UNEXPECTED: the table is damaged.
    """
    rows = list(csv.DictReader(ranks.splitlines()))
    if of.moves and rows and "runtime-with-openclose" in rows[0]:
        return sum(
            round(float(row["throughput-withopenclose"]) * float(row["runtime-with-openclose"]))
            for row in rows
        )
    if "total-files" in of.keys:
        return int(of.keys["total-files"])
    if not of.moves and (exact := list(_items(rows))):
        return exact[0]
    reckoned = reckoned_count(of)
    for count in programs.moved_bytes(text) if of.moves and reckoned else ():
        if abs(count - reckoned) <= SAME_AMOUNT_RATIO * reckoned:
            return count
    return None


def reckoned_count(of: Stated) -> float:
    """Return rate times time, which includes what IO500 does around a phase; 0 if no time is stated."""
    return float(of.score) * of.per_s * float(of.keys.get("t_delta") or of.took or "0")


def _items(rows: Sequence[Mapping[str, str]]) -> Iterator[int]:
    """Return the number of operations in mdtest's table of ranks, without making the tree."""
    for row in rows:
        if row.get("rank") == "all":
            for key, rate in row.items():
                if key.startswith(("rate-File", "rate-Directory")) and rate:
                    yield round(float(rate) * float(row[key.replace("rate-", "time-")]))
