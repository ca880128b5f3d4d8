"""Cells to rows of text: the table of `perjoule show` and of the report."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import hypot, inf, isinf
from statistics import median
from typing import TYPE_CHECKING

from perjoule.model import UNMETERED, Cell, Interval, Point
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.format import (
    any_number,
    like,
    middle,
    number,
    p_text,
    ratio_text,
    with_half,
    with_interval,
    with_repetitions,
)
from perjoule.model.metrics import (
    DURABLE,
    EDP_RATIO,
    EFFICIENCY,
    ENERGY,
    IDLE,
    IDLE_POWER,
    OF_PEAK,
    OPERATION_RATE,
    OPERATIONS_PER_JOULE,
    PER_JOULE,
    POWER,
    RATES,
    THROUGHPUT,
    USABLE,
    metric_of,
)
from perjoule.statistics.modes import summarised_by_median

if TYPE_CHECKING:  # the plain table is shown by commands that compute nothing
    from perjoule.statistics.better import Verdict

Text = Callable[[Interval, float], str]  # prints an interval in a unit, by what one of it is in SI units
NAMES = ("file system", "redundancy", "workload", "direction")  # of columns that hold words, in every table
PLACE = ("file system", "workload", "direction", "clients")  # the headers above `place`
# below a table of rows, for readers who do not know perjoule
INTERVALS = (
    "Means of n repetitions with half their 95 % interval, the meters' errors included; where repetitions "
    "scatter widely, their median, their range, and what the meters add."
)
# below tables of several stages or users, of which no meter's part is known apart
OF_REPETITIONS = "Intervals are of the repetitions, without the error of the meter."
PER_WORK = "energy_per_"  # in the keys of joules by the event, the epoch, the object
_METERED = (
    "wall",
    "PDU",
    "BMC",
    "component",
)  # grades of power in the order of blocks; then those of no meter


@dataclass(frozen=True)
class Table:
    """Headers and rows of equal length, ready to print."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    # headers of columns that hold words, which are aligned on the left and may be wrapped
    words: Container[str] = NAMES


def place(cell: Cell) -> tuple[str, str, str, str]:
    """Return the words that begin a row: which cell it is of."""
    return cell.filesystem, cell.workload, cell.direction, str(cell.clients_count)


def heading(key: str, less: str = "") -> str:
    """Head the column of a metric: its label without the words that begin it, and its unit if the label
    lacks it.
    """
    label, symbol = metric_of(key).label.removeprefix(less), metric_of(key).unit.symbol
    return f"{label}, {symbol}" if symbol and symbol not in label.split() else label


def value_text(interval: Interval | None, key: str, text: Text = with_interval) -> str:
    """Print an interval in the unit of its metric; "–" if it is missing."""
    return text(interval, metric_of(key).unit.per) if interval else "–"


def with_meter(cell: Cell, key: str) -> str:
    """Print a metric's mean with half its total 95 % interval: of the repetitions and of the error that all
    repetitions on one meter share, which their scatter does not show (`total_ends`).

    It is "?" after a single repetition, or if a meter does not state its accuracy. A median with the range of
    its repetitions is followed by the meter's part.
    """
    text, half, per = row_text(cell, key), _meter_half(cell, key), metric_of(key).unit.per
    if half is None:
        return text
    if "±" not in text:
        return f"{text} ± {'?' if isinf(half) else like(half / per, text)}"
    low, high = total_ends(cell, key)
    return with_half(cell.metrics[key].mean / per, (high - low) / 2 / per)


def total_ends(cell: Cell, key: str) -> tuple[float, float]:
    """Return the ends of a metric's total 95 % interval, in SI units: half of it is that of its repetitions'
    mean and the meter's uncertainty that they share, in quadrature. Infinite after one repetition, or if a
    meter does not state its accuracy.
    """
    interval, meter = cell.metrics[key], _meter_half(cell, key) or 0.0
    return interval.mean - hypot(interval.mean - interval.low, meter), interval.mean + hypot(
        interval.high - interval.mean, meter
    )


def _meter_half(cell: Cell, key: str) -> float | None:
    """Return half of the 95 % interval that the meter adds to the scatter; infinite if unknown, None if no
    meter has a part. Watts, and joules by the event and the like, have the relative error of their joules.
    """
    interval, of = cell.metrics[key], metric_of(key)
    if key.endswith(POWER) or PER_WORK in key:
        energy = f"{key.removesuffix(POWER).partition(PER_WORK)[0]}{ENERGY}"
        half = _meter_half(cell, energy) if energy in cell.metrics else None
        return half and half / cell.metrics[energy].mean * interval.mean
    if of.boundary in cell.unstated and of.budgeted:
        return inf
    meter = cell.metrics.get(of.shared_uncertainty if len(interval.values) > 1 else of.uncertainty)
    return meter and meter.mean


def row_text(cell: Cell, key: str) -> str:
    """Print a metric's mean with half its 95 % interval, without the meter's uncertainty, or as its row
    is; "–" if missing.
    """
    return value_text(cell.metrics.get(key), key, _of_row(cell, with_interval))


def cell_text(cell: Cell, key: str, text: Text = with_interval) -> str:
    """Print a metric of a cell, an interval with the meter's uncertainty, and a number alone with as many decimals
    as its interval carries; "–" if it is missing.
    """
    if text is with_interval and key in cell.metrics:
        return with_meter(cell, key)
    text = _of_row(cell, text)
    if key in cell.metrics and text in _STATISTICS:
        value = _STATISTICS[text](cell.metrics[key]) / metric_of(key).unit.per
        return like(value, with_meter(cell, key))
    return value_text(cell.metrics.get(key), key, text)


def printed_number(cell: Cell, key: str) -> float:
    """Return the number that a row prints of a metric that it has, a mean or a median, in SI units."""
    return _STATISTICS[_of_row(cell, mean)](cell.metrics[key])


def _of_row(cell: Cell, text: Text) -> Text:
    """Return how a row prints what `text` would: medians throughout where it has no useful mean."""
    return _BY_MEDIAN.get(text, text) if summarised_by_median(cell) else text


def load_text(workload: str, direction: str) -> str:
    """Name a load: "fio read", or with its direction where the workload's name does not have it: "hep,
    read".
    """
    return workload if direction in workload else f"{workload}, {direction}"


def few(names: Sequence[str], separator: str = ", ", most_count: int = 4) -> str:
    """Name the first ones, and count the others."""
    more = f" and {len(names) - most_count} more" if len(names) > most_count else ""
    return separator.join(names[:most_count]) + more


def mean(interval: Interval, per: float = 1.0) -> str:
    """Print a mean."""
    return number(interval.mean / per)


def point_text(point: Point) -> str:
    """Print rate and work per joule, "95.2 MiB/s, 0.81 MiB/J (modelled)", or the power of an idle trial; without
    either, why a meter gave no energy.
    """
    keys = [key for key in (*RATES, *PER_JOULE, *IDLE[::-1]) if key in point.metrics]
    numbers = ", ".join(
        f"{any_number(point.metrics[key] / metric_of(key).unit.per)} {metric_of(key).unit.symbol}"
        for key in keys
    )
    has_energy = any(metric_of(key).energy for key in keys)
    grade = point.grade if has_energy else ""
    why_not = "" if has_energy else next(filter(_refuses, point.doubts), "")
    return (
        numbers
        + (" (simulated)" if point.reality == "simulated" else f" ({grade})" if grade else "")
        + (f", no watts: {why_not}" if why_not else "")
    )


_REFUSING = frozenset(
    doubt.id
    for doubt in (
        METERS.silent(meter=""),
        METERS.uncovered(channel="", covered_ratio=0.0),
        METERS.unsteady_averages(channel=""),
        METERS.undersampled(channel="", period_s=1.0, refused=True),
        METERS.too_few(channel="", count=0, least_count=1, window_s=1.0),
        METERS.few_steps(channel="", count=0, refused=True),
    )
)


def _refuses(doubt: Doubt) -> bool:
    """Return whether it is why a meter of power has no energy."""
    of_counters = str(doubt.values.get("channel", "")).startswith("system:")
    return doubt.id in _REFUSING and doubt.values.get("refused", True) is True and not of_counters


def maximum(interval: Interval, per: float = 1.0) -> str:
    """Print the largest value."""
    return number(interval.maximum / per)


def rounded(interval: Interval, per: float = 1.0) -> str:
    """Print a mean without decimals: of a share that is known to a few percent only."""
    return f"{interval.mean / per:z.0f}"


def _whole_middle(interval: Interval, per: float = 1.0) -> str:
    return f"{median(interval.values) / per:z.0f}"


_STATISTICS: Mapping[Text, Callable[[Interval], float]] = {
    mean: lambda interval: interval.mean,
    maximum: lambda interval: interval.maximum,
    middle: lambda interval: median(interval.values),
}
_BY_MEDIAN: Mapping[Text, Text] = {with_interval: with_repetitions, mean: middle, rounded: _whole_middle}

COLUMNS: tuple[tuple[str, Text], ...] = (
    (THROUGHPUT, with_interval),
    (THROUGHPUT, maximum),
    (OF_PEAK, mean),
    (POWER, mean),
    (ENERGY, mean),
    (EFFICIENCY, with_interval),
    (EDP_RATIO, mean),
)
# Of workloads that move no bytes; of idle file systems; of writes, until the clients' fsync has returned, and
# how much the disks held by then.
WHERE_MEASURED: tuple[tuple[str, Text], ...] = (
    (OPERATION_RATE, with_interval),
    (OPERATIONS_PER_JOULE, with_interval),
    (IDLE_POWER, with_interval),
    (USABLE, with_interval),
    ("usable_w_per_byte", mean),
    ("raw_w_per_byte", mean),
    ("burst_throughput_bytes_per_s", mean),
    ("burst_efficiency_bytes_per_j", mean),
    ("burst_operations_per_s", mean),
    ("burst_operations_per_j", mean),
    (DURABLE, rounded),
)


def table(cells: Sequence[Cell]) -> Table:
    """Lay out cells, a row each; W, J and MiB/J are those of the servers without the switch."""
    measured = {name for cell in cells for name in cell.metrics}
    columns = (*_usual(cells, measured), *(column for column in WHERE_MEASURED if column[0] in measured))
    several = len({cell.workload for cell in cells}) > len({cell.direction for cell in cells})
    several |= any(cell.direction == "mixed" for cell in cells)  # a user alone reads, say, and is not the mix
    stores = any(cell.redundancy for cell in cells)
    leading = (
        "file system",
        *(("redundancy",) if stores else ()),
        *(("workload",) if several else ()),
        "direction",
        "clients",
    )
    headers = (
        *leading,
        *("max" if text is maximum else metric_of(key).label for key, text in columns),
        "n",
        "failed",
        "doubts",
    )
    rows: list[tuple[str, ...]] = []
    for cell in cells:
        redundancy = ((cell.redundancy.text if cell.redundancy else "–"),) if stores else ()
        names = (
            cell.filesystem,
            *redundancy,
            *((cell.workload,) if several else ()),
            cell.direction,
            str(cell.clients_count),
        )
        values = (cell_text(cell, key, text) for key, text in columns)
        n_count = max((len(interval.values) for interval in cell.metrics.values()), default=0)
        rows.append(
            (*names, *values, str(n_count), str(cell.failed_count or "–"), str(len(cell.doubts) or "–"))
        )
    return Table(headers, tuple(rows))


def graded_table(cells: Sequence[Cell]) -> Table:
    """Lay out cells as `table` does, with the grade of each row's power: grades are ranked apart."""
    plain = table(cells)
    rows = tuple((*row, cell.grade or "–") for row, cell in zip(plain.rows, cells, strict=True))
    return Table((*plain.headers, "power"), rows, (*NAMES, "power"))


def best_first(cells: Sequence[Cell]) -> list[Cell]:
    """Put the rows of each load together, by the number of clients, and the best of those first: in work per
    joule, or else in rate; a row without it last. Each grade of power is ranked apart, what no meter read last.
    """
    by_load: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        by_load.setdefault((cell.workload, cell.direction), []).append(cell)
    return [cell for of_load in by_load.values() for cell in _ranked(of_load)]


def _ranked(cells: Sequence[Cell]) -> list[Cell]:
    measured = {name for cell in cells for name in cell.metrics}
    keys = [key for key in (*PER_JOULE, IDLE[0], *RATES) if key in measured][:1]

    def rank(cell: Cell) -> tuple[float, ...]:
        best = (-printed_number(cell, key) if key in cell.metrics else inf for key in keys)
        return cell.clients_count, 0 if set(keys) <= {*RATES} else _standing(cell), *best

    return sorted(cells, key=rank)


def _standing(cell: Cell) -> int:
    """Return the place of a row's grade among others of its load."""
    grades = set(cell.grade.split("+"))
    if cell.reality == "simulated" or not cell.grade or grades & UNMETERED:
        return len(_METERED)
    return max(_METERED.index(grade) if grade in _METERED else len(_METERED) for grade in grades)


def _usual(cells: Sequence[Cell], measured: Container[str]) -> Iterator[tuple[str, Text]]:
    """Return the columns that every table has; where nothing was loaded, only those with a value."""
    still = bool(cells) and all(cell.direction == "idle" for cell in cells)
    return (column for column in COLUMNS if not still or column[0] in measured)


def metrics_table(cells: Sequence[Cell]) -> Table:
    """Lay out the mean of every metric in SI units, under its key."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.metrics))

    def text(interval: Interval | None) -> str:
        return any_number(interval.mean) if interval else "–"

    rows = (
        (c.filesystem, c.direction, str(c.clients_count), *(text(c.metrics.get(n)) for n in names))
        for c in cells
    )
    return Table(("file system", "direction", "clients", *names), tuple(rows))


def pair_texts(verdict: "Verdict") -> tuple[str, str]:
    """Print the ratio of a pair with its interval, and p: the same wherever the pair is shown."""
    return ratio_text(verdict.ratio), p_text(verdict.p)
