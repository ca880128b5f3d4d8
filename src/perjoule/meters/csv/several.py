"""Logs with several rows a moment, of outlets, phases or GPUs: rows that a column distinguishes, which nobody
declared, or their place in a burst.

Their mean is the mean of an outlet. It is refused as soon as a column shows it.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import numpy as np

from perjoule.model.series import Floats

LOOK_COUNT = 2000  # rows at the beginning, in which the structure shows
MOMENTS_COUNT = 3  # of the same structure, from which it is one
PHASE_COUNT = 3  # rows in a row, from which a "phase" or "label" is one of a test, and not of a supply
SWITCHES_RATIO = 0.3  # of rows whose text is another than that of the row before
BURSTS_COUNT = 10  # in which a place always has more watts than the first, or less: that is no noise
# of rows with one stamp, which are of several things, or of one that is read more often than stamps tell:
# moments from which their order is no chance, rows that one thing may have, and the least difference
COARSE_COUNT, COARSE_MOST, COARSE_RATIO = 30, 10, 0.02
BURST_RATIO = 0.1  # of the time between bursts, within which their rows follow each other
ALIKE_RATIO = 0.9  # of bursts that have as many rows, and the same order of their watts
# meters whose readings come in turns, one after the other: how many at most, readings of each from which they show,
# how much closer its readings are to each other, the percentage of all that need not be, and the least difference: a
# ripple beside the rate of samples looks like turns, too, of a few percent
TURNS_MOST, TURNS_COUNT, TURNS_FACTOR, TURNS_PERCENT, TURNS_RATIO = 6, 10, 4.0, 20.0, 0.03
_NAMES = re.compile(
    r"(?:.*[^a-z])?(?:id|entity|device|outlet|plug|phase|gpu|index|socket|channel|host(?:name)?|node|name|sensor|uuid|source|metric"
    r"|instance|feed|port|line|pdu|rack|server|machine|meter|branch|circuit|module|card|bus|serial|label|topic|field|measurement"
    r"|component|domain|package|zone)s?(?:[^a-z]*(?:id|name|no|nr|number|index))?_*",
    re.IGNORECASE,
)
_OF_TESTS = re.compile(r"(?:phase|label)s?\Z", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?")


class _Bursts:
    """Looks at powers, in order: what is read in turns, as by `nvidia-smi`, comes in bursts, in each of which it has
    its place, or one after another at equal intervals.
    """

    def __init__(self) -> None:
        self._rows: list[tuple[float, float]] = []

    def row(self, t_s: float, value_w: float) -> None:
        """Take a row. Raises ValueError: rows are of several things."""
        if len(self._rows) < LOOK_COUNT:
            self._rows.append((t_s, value_w))
            if len(self._rows) == LOOK_COUNT:
                self._look()

    def end(self) -> None:
        """Look at a whole log. Raises ValueError."""
        if len(self._rows) < LOOK_COUNT:
            self._look()

    def _look(self) -> None:
        gaps_s = [after[0] - before[0] for before, after in pairwise(self._rows)]
        if len(gaps_s) < BURSTS_COUNT:
            return
        is_coarse = sum(gap_s == 0 for gap_s in gaps_s) > (1 - ALIKE_RATIO) * len(gaps_s)
        self._refuse_bursts(gaps_s, is_coarse=is_coarse)
        known_w = [value_w for _, value_w in self._rows if math.isfinite(value_w)]
        if not is_coarse and (meters_count := in_turns(known_w)):
            raise ValueError(
                f"its rows come in turns, each with watts as {meters_count} rows before and others than those between: "
                f"if they are of {meters_count} meters, export the column that tells them apart, and choose one with by "
                "and only"
            )

    def _refuse_bursts(self, gaps_s: Sequence[float], *, is_coarse: bool) -> None:
        between_s = sorted(gaps_s)[int(0.95 * (len(gaps_s) - 1))]
        begins = [place + 1 for place, gap_s in enumerate(gaps_s) if gap_s > BURST_RATIO * between_s]
        sizes = Counter(after - before for before, after in pairwise(begins))
        size, count = sizes.most_common(1)[0] if sizes else (0, 0)
        least_count = COARSE_COUNT if is_coarse else BURSTS_COUNT
        if size < 2 or count < max(least_count, ALIKE_RATIO * sizes.total()):
            return
        if is_coarse and size > COARSE_MOST:
            return
        full_begins = [begin for begin, after in pairwise(begins) if after - begin == size]
        firsts_w = [abs(self._rows[begin][1]) for begin in full_begins]
        least_w = COARSE_RATIO * median(filter(math.isfinite, [*firsts_w, 0.0])) if is_coarse else 0.0
        for place in range(1, size):
            steps_w = [self._rows[begin + place][1] - self._rows[begin][1] for begin in full_begins]
            more_count, less_count = (sum(sign * step_w > least_w for step_w in steps_w) for sign in (1, -1))
            if max(more_count, less_count) >= ALIKE_RATIO * count:
                raise ValueError(
                    f"its rows come in bursts of {size}, each with the same order of watts: if they are of several GPUs "
                    "or outlets, export the column that tells them apart, and choose one with by and only"
                )


def mixture(t_s: Floats, values_w: Floats) -> str:
    """Return why powers, in order, are of several meters; "" if nothing shows it."""
    bursts = _Bursts()
    try:
        for moment_s, value_w in zip(t_s.tolist(), values_w.tolist(), strict=True):
            bursts.row(moment_s, value_w)
        bursts.end()
    except ValueError as error:
        return str(error)
    return ""


def in_turns(
    readings_w: Sequence[float] | Floats, *, least_count: int = TURNS_COUNT, least_ratio: float = TURNS_RATIO
) -> int:
    """Return of how many meters readings are that come in turns: those of one meter are much closer to each other than to
    those between; 0 if nothing shows that they are of several.

    Args:
        readings_w: in order.
        least_count: of each meter.
        least_ratio: of their size, that they differ by.
    """
    watts = np.asarray(readings_w)
    for count in range(2, TURNS_MOST + 1):
        if len(watts) < count * least_count:
            return 0
        *between_w, same_w = (np.abs(watts[lag:] - watts[:-lag]) for lag in range(1, count + 1))
        noise_w = max(TURNS_FACTOR * float(np.median(same_w)), least_ratio * float(np.median(np.abs(watts))))
        if all(np.percentile(steps_w, TURNS_PERCENT) > noise_w for steps_w in between_w):
            return count
    return 0


class Several:
    """Looks at the rows of a log, in order, for a column that distinguishes rows of one moment, and at powers for
    bursts.
    """

    def __init__(self, *, are_powers: bool) -> None:
        self._bursts = _Bursts() if are_powers else None
        self._names: Sequence[str] = ()
        self._others: list[int] = []  # columns that are not declared
        self._stamp: str | None = None
        self._moment: list[Sequence[str]] = []
        self._moments_count = self._shared_count = self._equal_count = self._rows_count = 0
        self._sets: dict[int, Counter[tuple[str, ...]]] = {}
        self._before: dict[int, str] = {}
        self._runs: Counter[int] = Counter()  # rows since the text of a column changed
        self._seen: dict[int, set[str]] = {}
        self._switches: Counter[int] = Counter()

    def row(self, stamp: str, cells: Sequence[str], names: Sequence[str], used: frozenset[int]) -> None:
        """Take a row. Raises ValueError: rows of one moment are of several things."""
        if self._rows_count > LOOK_COUNT:
            return
        if not self._rows_count:
            self._names, self._others = names, [at for at in range(len(cells)) if at not in used]
        self._rows_count += 1
        if stamp != self._stamp:
            self._close()
            self._stamp = stamp
        self._moment.append(cells)
        for at in self._others:
            self._alternates(at, cells[at] if at < len(cells) else "")

    def reading(self, t_s: float, value: float) -> None:
        """Take the time and number of a row. Raises ValueError: rows are of several things."""
        if self._bursts:
            self._bursts.row(t_s, value)

    def end(self) -> None:
        """Look at the last moment of a whole log, and at its bursts. Raises ValueError."""
        self._close(final=True)
        if self._bursts:
            self._bursts.end()

    def _close(self, *, final: bool = False) -> None:
        rows, self._moment = self._moment, []
        if not rows:
            return
        self._moments_count += 1
        least = 2 if final else MOMENTS_COUNT
        if len(rows) > 1:
            self._shared_count += 1
            self._equal_count += len({tuple(row) for row in rows}) == 1
            for at in self._others:
                values = [row[at] if at < len(row) else "" for row in rows]
                if len(set(values)) == len(values):
                    self._sets.setdefault(at, Counter())[tuple(sorted(values))] += 1
        for at, sets in self._sets.items():
            values, count = sets.most_common(1)[0]
            if count >= least and 3 * count >= 2 * self._shared_count:
                raise ValueError(self._refusal(at, values))
        if self._equal_count >= MOMENTS_COUNT and 2 * self._equal_count > self._moments_count:
            raise ValueError(
                "most moments have several equal rows: if they are of several phases or outlets, export the "
                "column that tells "
                'them apart and set by = "COLUMN"'
            )

    def _alternates(self, at: int, value: str) -> None:
        """Raise ValueError if a name or a text comes again after another, as where the rows of several
        things are mixed.
        """
        before = self._before.get(at)
        if not value or value == before:
            self._runs[at] += 1
            return
        run_count, self._runs[at] = self._runs[at], 1
        self._before[at] = value
        earlier = self._seen.setdefault(at, set())
        is_name = at < len(self._names) and _NAMES.fullmatch(self._names[at])
        if before is not None:
            self._switches[at] += 1
        if value in earlier and not (_NUMBER.fullmatch(value) and not is_name):
            mixed = (
                self._rows_count >= LOOK_COUNT // 40
                and self._switches[at] >= SWITCHES_RATIO * self._rows_count
            )
            if mixed or (is_name and not (_OF_TESTS.search(self._names[at]) and run_count >= PHASE_COUNT)):
                raise ValueError(self._refusal(at, sorted(earlier)))
        if len(earlier) < LOOK_COUNT:
            earlier.add(value)

    def _refusal(self, at: int, values: Sequence[str]) -> str:
        name = self._names[at] if at < len(self._names) else str(at + 1)
        listed = ", ".join(values[:4]) + (", ..." if len(values) > 4 else "")
        return (
            f'its rows are of several things: column "{name}" has {listed}. Set by = "{name}" to add up the '
            "rows of each moment, "
            f'and only = ["{values[0]}"] to choose some'
        )
