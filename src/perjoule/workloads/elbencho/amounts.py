"""What a row of elbencho says was done in one direction, and how long that took: as ranges, because it prints
whole milliseconds, whole MiB and whole rates, all rounded down.
"""

from dataclasses import dataclass

from perjoule.machine.untrusted import MOST_DIGITS
from perjoule.model.units import MIB
from perjoule.workloads.elbencho.report import Row

MOST_RATIO = 0.01  # of an amount or a time, by which it may be unknown
ROUNDING_RATIO = 1e-9  # of floating-point numbers
TREES = ("dir", "bucket", "hdfs")  # types of paths below which each entry is a file
PARTLY = (  # with which a load may move other amounts than whole files
    *("--timelimit", "--infloop", "--randamount", "--treefile", "--treescan", "--sharesize"),
    *('"-c"', "--configfile"),
)


@dataclass(frozen=True)
class PhaseAmount:
    """What was done in one direction, from the start to the end of the last thread."""

    least_bytes: int
    most_bytes: int
    entries_count: int
    calls_count: int  # 0: it counts entries alone
    least_s: float
    most_s: float

    @property
    def moved_bytes(self) -> int:
        """The middle of what it may be."""
        return (self.least_bytes + self.most_bytes) // 2

    @property
    def is_any(self) -> bool:
        """Whether anything was done."""
        return bool(self.most_bytes or self.entries_count or self.calls_count)

    @property
    def unsure_ratio(self) -> float:
        """How much more or less than that it may be."""
        return (self.most_bytes - self.least_bytes) / 2 / self.moved_bytes if self.moved_bytes else 0.0


def amount(row: Row, prefix: str = "") -> PhaseAmount:
    """Return what a row says of one direction; `prefix` is that of the columns of a mix's reads.

    Raises ValueError.
    """
    least_bytes, most_bytes = _bytes(row, prefix)
    entries_count = count_of(row, f"{prefix}entries [last]")
    least_s, most_s = (count_of(row, "time ms [last]") + more for more in (0, 1))
    ranges = [
        (least_s / 1e3, most_s / 1e3),
        _span(entries_count, entries_count, _rate(row, prefix, "entries")),
    ]
    exact = bool(row.get(f"{prefix}bytes/s [last]"))
    per_s = _rate(row, prefix, "bytes" if exact else "MiB")
    ranges.append(_span(least_bytes, most_bytes, per_s, 1 if exact else MIB))
    least_s, most_s = max(low for low, _ in ranges), min(high for _, high in ranges)
    if least_s > most_s * (1 + ROUNDING_RATIO) or count_of(row, "time ms [first]") > count_of(
        row, "time ms [last]"
    ):
        raise ValueError(
            "its time, amount and rate contradict one another: the row was changed, or is damaged"
        )
    middle_s, calls_per_s = (least_s + most_s) / 2, count_of(row, f"{prefix}IOPS [last]")
    calls_count = _calls(row, entries_count, (least_bytes + most_bytes) // 2)
    if abs(calls_count - calls_per_s * middle_s) > middle_s + MOST_RATIO * calls_count:
        calls_count = round(calls_per_s * middle_s)
    return PhaseAmount(least_bytes, most_bytes, entries_count, calls_count, least_s, most_s)


def together(amounts: tuple[PhaseAmount, ...]) -> tuple[float, float]:
    """Return least and most of the time that all directions of a phase agree on. Raises ValueError."""
    least_s, most_s = max(a.least_s for a in amounts), min(a.most_s for a in amounts)
    if least_s > most_s * (1 + ROUNDING_RATIO):
        raise ValueError("the times of its reads and writes contradict each other")
    return least_s, most_s


def count_of(row: Row, column: str) -> int:
    """Return a whole number, 0 where a cell is empty. Raises ValueError."""
    text = row.get(column, "").strip()
    if text and not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise ValueError(
            f'"{text}" in column "{column}" is not a whole number: import the file as elbencho wrote it'
        )
    return int(text or 0)


def _bytes(row: Row, prefix: str) -> tuple[int, int]:
    """Return the least and the most bytes that a row may mean."""
    if row.get(f"{prefix}bytes [last]"):
        exact_bytes = count_of(row, f"{prefix}bytes [last]")
        return exact_bytes, exact_bytes
    if not row.get(f"{prefix}MiB [last]"):
        return 0, 0
    least_bytes = count_of(row, f"{prefix}MiB [last]") * MIB
    most_bytes = least_bytes + MIB - 1
    planned_bytes = _planned_bytes(row, prefix)
    if least_bytes <= planned_bytes <= most_bytes:
        return planned_bytes, planned_bytes
    return least_bytes, most_bytes


def _planned_bytes(row: Row, prefix: str) -> int:
    """Return the bytes of whole files, which a load that nothing ended early moves; 0 where that is unknown."""
    command = row.get("command", "")
    if not command or any(option in command for option in PARTLY):
        return 0
    if row["path type"] in TREES:
        return count_of(row, f"{prefix}entries [last]") * count_of(row, "file size")
    copies_count = count_of(row, "hosts") if row.get("shared paths") == "0" else 1
    return count_of(row, "paths") * count_of(row, "file size") * copies_count


def _rate(row: Row, prefix: str, unit: str) -> int:
    return count_of(row, f"{prefix}{unit}/s [last]")


def _span(least: int, most: int, per_s: int, unit: int = 1) -> tuple[float, float]:
    """Return the shortest and the longest time in which an amount has a rate that was rounded down."""
    if not most or not per_s:
        return 0.0, float("inf")
    return least / ((per_s + 1) * unit), most / (per_s * unit)


def _calls(row: Row, entries_count: int, moved_bytes: int) -> int:
    """Return how many calls move the bytes: each file has its own last one."""
    size_bytes = count_of(row, "block size")
    if not size_bytes:
        return 0
    if row["path type"] in TREES and entries_count:  # elbencho counts none of the objects that it draws
        return entries_count * -(-count_of(row, "file size") // size_bytes)
    return -(-moved_bytes // size_bytes)
