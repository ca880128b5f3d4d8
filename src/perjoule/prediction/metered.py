"""Watts that others published, beside what the power model says of them.

The model is calibrated with what a user has, and held against all other points; none of them moves it. By
kind of load, the points that calibrate:

reads               the two nearest to a third and to two thirds of the highest rate
fresh writes        seconds 1 to 10, and the drive's idle watts, which its reads gave
sustained writes    the first ten seconds, and the same idle watts
CPU                 idle if it is known, the two nearest to a third and to two thirds of the highest load, and
                    the median bend of its source's machines of other makers and years
CPU, data sheet     idle and the highest load, and the median step and bend of the same machines
supplies            the two nearest to a third and to two thirds of what it gives at most
another load        the median ratio of dynamic watts of all other machines
disks               idle with fewer disks; idle and the first load with all

First loads and no-load ends are points of "CPU" and "supplies" that are shown apart: the least one, and those
below half of what the two that calibrate give. Beside it a constant, the mean of the points that calibrate, and
the line: the same model without its terms beside a line.

A band comes from errors of other points: those of the same kind of all other machines, if they are LARGE or more.
Else, of LARGE points or more of a machine and kind each half, drawn once, makes the band of the other; fewer have the
errors of other sources whose machines have so few.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf, log
from statistics import mean, median
from typing import Literal, get_args

import numpy as np

from perjoule.catalogue.watts import board_w, disks_w
from perjoule.model.hardware import Board, Drive, Value
from perjoule.papers.published.metered import MeteredSeries, MeteredSource, sources
from perjoule.prediction.validation import quantile_ratio

Kind = Literal[
    "idle",
    "first load",
    "reads",
    "fresh writes",
    "sustained writes",
    "CPU",
    "CPU, data sheet",
    "supplies",
    "supplies, no-load end",
    "another load",
    "scrub",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
LARGE = 20
SEED = 0  # of the draw of points that make bands
WINDOW_COUNT = 10  # seconds of writes that calibrate
BAND_RATIO = 0.9
HELD_RATIO = 0.10  # a kind holds whose median error is at most this
LEAST_COUNT = 3  # points that a verdict needs
NO_BETTER_RATIO = 0.95  # of a constant's median error, above which the model says no more than a constant


@dataclass(frozen=True)
class MeteredPoint:
    """One published value that the model was not calibrated with."""

    source: str
    machine: str  # of the source
    kind: Kind
    measured_w: float
    predicted_w: float
    constant_w: float
    line_w: float
    idle_w: float | None = None  # what the model calibrated or was given
    band_ratio: float = inf

    @property
    def error(self) -> float:
        """ln(predicted / measured)."""
        return log(self.predicted_w / self.measured_w)

    @property
    def held(self) -> bool:
        """Whether the band around the prediction holds it."""
        return abs(self.error) <= log(self.band_ratio)


@dataclass(frozen=True)
class KindScore:
    """Errors of one kind of load, each |predicted / measured - 1|."""

    kind: Kind
    count: int
    median_ratio: float
    worst_ratio: float
    dynamic_ratio: float | None  # median error over watts above idle; None: no idle is known, or it is meant
    held_ratio: float
    constant_ratio: float  # medians of simpler models
    line_ratio: float
    sources: tuple[str, ...] = field(default_factory=tuple[str, ...])

    @property
    def verdict(self) -> str:
        """What its points say of the model, in a word or two."""
        if self.count < LEAST_COUNT:
            return "too few points"
        if not self.holds:
            return "fails"
        return "holds" if self.median_ratio < NO_BETTER_RATIO * self.constant_ratio else "as a constant"

    @property
    def holds(self) -> bool:
        """Whether the model is right about it."""
        return self.median_ratio <= HELD_RATIO


def points() -> tuple[MeteredPoint, ...]:
    """Return all judged points, with their bands."""
    groups = [list(judged(name, source)) for name, source in sources().items()]
    return tuple(_banded([point for group in groups for point in group]))


def kind_scores(judged: Sequence[MeteredPoint]) -> tuple[KindScore, ...]:
    """Score points by kind of load."""
    return tuple(_score(kind, of) for kind in KINDS if (of := [one for one in judged if one.kind == kind]))


def _score(kind: Kind, judged: Sequence[MeteredPoint]) -> KindScore:
    dynamic = [
        abs(one.predicted_w - one.measured_w) / (one.measured_w - one.idle_w)
        for one in judged
        if one.idle_w is not None and one.measured_w > one.idle_w
    ]
    off = [abs(one.predicted_w / one.measured_w - 1) for one in judged]
    return KindScore(
        kind,
        len(judged),
        median(off),
        max(off),
        median(dynamic) if dynamic and kind != "idle" else None,
        mean(one.held for one in judged),
        median(abs(one.constant_w / one.measured_w - 1) for one in judged),
        median(abs(one.line_w / one.measured_w - 1) for one in judged),
        tuple(dict.fromkeys(one.source for one in judged)),
    )


def _banded(made: list[MeteredPoint]) -> Iterator[MeteredPoint]:
    """Give points their bands, from errors of others alone."""
    groups: dict[tuple[str, str, Kind], list[MeteredPoint]] = {}
    for point in made:
        groups.setdefault((point.source, point.machine, point.kind), []).append(point)
    few = [point for alike in groups.values() if len(alike) < LARGE for point in alike]
    for (source, machine, kind), alike in groups.items():
        elsewhere = [
            point.error
            for (of, another, its), points in groups.items()
            if its == kind and (of, another) != (source, machine)
            for point in points
        ]
        if len(elsewhere) < LARGE <= len(alike):
            yield from _halves(alike)
            continue
        errors = elsewhere if len(elsewhere) >= LARGE else [of.error for of in few if of.source != source]
        ratio = quantile_ratio(errors, BAND_RATIO)
        yield from (replace(point, band_ratio=ratio) for point in alike)


def _halves(alike: list[MeteredPoint]) -> Iterator[MeteredPoint]:
    """Of many points each random half makes the band of the other."""
    order = np.random.default_rng(SEED).permutation(len(alike))
    halves = [[alike[int(place)] for place in order[n::2]] for n in (0, 1)]
    for half, other in (halves, halves[::-1]):
        ratio = quantile_ratio([point.error for point in other], BAND_RATIO)
        yield from (replace(point, band_ratio=ratio) for point in half)


def judged(name: str, source: MeteredSource) -> Iterator[MeteredPoint]:
    """Return the judged points of a source, without bands."""
    drive: Drive | None = None
    for series in source.series:
        match series.load:
            case "reads":
                drive, judged = _reads(name, series)
                yield from judged
            case "fresh writes" | "sustained writes":
                assert drive is not None
                yield from _writes(name, series, drive, source)
            case "CPU":
                shape = _shape([other for other in source.series if _is_apart(series, other)])
                yield from _cpu(name, series, shape)
                yield from _data_sheet(name, series, shape)
            case "supplies":
                yield from _supplies(name, series)
            case "another load":
                yield from _another(name, series)
            case "disks":
                yield from _disks(name, series)


def _value(value: float) -> Value:
    return Value(max(0.0, value), "calibrated on a published source", "fitted")


def thirds(amounts: Sequence[float]) -> tuple[int, int]:
    """Return the places of the amounts nearest to a third and to two thirds of the highest."""
    most = max(amounts)
    low, high = (
        min(range(len(amounts)), key=lambda n: abs(amounts[n] - most * share)) for share in (1 / 3, 2 / 3)
    )
    return low, high


def _line(x: Sequence[float], y: Sequence[float], places: tuple[int, int]) -> tuple[float, float]:
    """Return the line through two points: its value at 0, and its slope."""
    low, high = places
    slope = (y[high] - y[low]) / (x[high] - x[low])
    return y[low] - slope * x[low], slope


def _reads(name: str, series: MeteredSeries) -> tuple[Drive, Iterator[MeteredPoint]]:
    rates, places = series.mib_per_s, thirds(series.mib_per_s)
    at_rest_w, per_rate = _line(rates, series.watts, places)
    most = max(rates)
    rate, active = _value(most), _value(at_rest_w + per_rate * most)
    drive = Drive(name, "nvme", _value(0), rate, rate, _value(at_rest_w), active)
    constant_w = mean(series.watts[place] for place in places)

    def judged() -> Iterator[MeteredPoint]:
        for place, (rate, measured_w) in enumerate(zip(rates, series.watts, strict=True)):
            if place not in places:
                said_w = disks_w((drive,), rate / most)
                yield MeteredPoint(name, name, "reads", measured_w, said_w, constant_w, said_w, at_rest_w)

    return drive, judged()


def _writes(name: str, series: MeteredSeries, drive: Drive, source: MeteredSource) -> Iterator[MeteredPoint]:
    """Judge writes. A drive in its steady state that is asked without a pause is busy all the time, however
    few bytes get through.
    """
    idle_w = drive.idle_w.value
    fresh = next(one for one in source.series if one.load == "fresh writes")
    first = slice(0, WINDOW_COUNT)
    fresh_rate, fresh_w = mean(fresh.mib_per_s[first]), mean(fresh.watts[first])
    rate, watts = mean(series.mib_per_s[first]), mean(series.watts[first])
    written = replace(drive, write_bytes_per_s=_value(rate), active_w=_value(watts))
    steady = series.load == "sustained writes"
    constant_w = mean([fresh_w, watts]) if steady else fresh_w
    for at_rate, measured_w in list(zip(series.mib_per_s, series.watts, strict=True))[WINDOW_COUNT:]:
        said_w = disks_w((written,), 1.0 if steady else at_rate / rate)
        line_w = idle_w + (fresh_w - idle_w) * at_rate / fresh_rate
        yield MeteredPoint(name, name, series.load, measured_w, said_w, constant_w, line_w, idle_w)  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True)
class _Shape:
    """How watts of a kind of machine follow its load, as medians of curves: what users of one that nobody
    published know.
    """

    step_ratio: float = 0.0  # of dynamic power
    bend_ratio: float = 0.0  # of dynamic power less its step


def _is_apart(one: MeteredSeries, other: MeteredSeries) -> bool:
    """Whether a curve with its idle watts says nothing of another one: neither maker nor year are the same."""
    return (
        other.load == "CPU" and bool(other.idle_watts) and other.maker != one.maker and other.year != one.year
    )


def _shape(others: Sequence[MeteredSeries]) -> _Shape:
    """Return the median shape of curves, each fitted by least squares; that of a line, if there are none."""
    if not others:
        return _Shape()
    fits = np.array([_fit(series) for series in others])
    return _Shape(*np.maximum(0.0, np.median(fits, axis=0)))


def _fit(series: MeteredSeries) -> tuple[float, float]:
    shares = np.array(series.share)
    terms = np.stack([np.ones_like(shares), shares, shares**3], axis=1)
    step_w, straight_w, bend_w = np.linalg.lstsq(
        terms, np.array(series.watts) - series.idle_watts[0], rcond=None
    )[0]
    return step_w / (step_w + straight_w + bend_w), bend_w / (straight_w + bend_w)


def _server(name: str, idle_w: float, step_w: float, more_w: float, shape: _Shape) -> Board:
    """Return a server whose load adds a step, and `more_w` beyond it if all of it works."""
    cores_count = 1000  # all shares keep it awake: a core works as soon as any load runs
    speed, dynamic_w, bend_w = _value(1), _value(step_w + more_w), _value(shape.bend_ratio * more_w)
    return Board(
        name, cores_count, speed, speed, _value(idle_w), dynamic_w, step_w=_value(step_w), bend_w=bend_w
    )


def _cpu(name: str, series: MeteredSeries, shape: _Shape) -> Iterator[MeteredPoint]:
    places = thirds(series.share)
    bent = [share + shape.bend_ratio * (share**3 - share) for share in series.share]
    at_rest_w, more_w = _line(bent, series.watts, places)
    idle_w = series.idle_watts[0] if series.idle_watts else at_rest_w
    step_w = at_rest_w - idle_w
    if step_w < 0:  # none, and what is nearest to both from idle
        step_w, more_w = 0.0, _from_idle(bent, series.watts, places, idle_w)
    board = _server(name, idle_w, step_w, more_w, shape)
    constant_w = mean(series.watts[place] for place in places)
    high, machine = places[1], series.machine or name
    for place, (share, measured_w) in enumerate(zip(series.share, series.watts, strict=True)):
        if place not in places:
            first = bool(series.idle_watts) and share == min(series.share)
            kind: Kind = "first load" if first else "CPU"
            line_w = idle_w + (series.watts[high] - idle_w) * share / series.share[high]
            said_w = float(board_w(board, share))
            yield MeteredPoint(name, machine, kind, measured_w, said_w, constant_w, line_w, idle_w)


def _data_sheet(name: str, series: MeteredSeries, shape: _Shape) -> Iterator[MeteredPoint]:
    """Judge all between idle and the highest load, where both are known and other machines show a shape."""
    if not series.idle_watts or series.share[-1] != 1 or shape == _Shape():
        return
    idle_w, full_w = series.idle_watts[0], series.watts[-1]
    step_w = shape.step_ratio * (full_w - idle_w)
    board = _server(name, idle_w, step_w, full_w - idle_w - step_w, shape)
    for share, measured_w in list(zip(series.share, series.watts, strict=True))[:-1]:
        line_w, said_w = idle_w + (full_w - idle_w) * share, float(board_w(board, share))
        constant_w = (idle_w + full_w) / 2
        yield MeteredPoint(
            name, series.machine, "CPU, data sheet", measured_w, said_w, constant_w, line_w, idle_w
        )


def _from_idle(
    bent: Sequence[float], watts: Sequence[float], places: tuple[int, int], idle_w: float
) -> float:
    """Return watts over idle at the whole load, by least squares."""
    shares = [bent[place] for place in places]
    above_w = [watts[place] - idle_w for place in places]
    return sum(s * w for s, w in zip(shares, above_w, strict=True)) / sum(s * s for s in shares)


def _supplies(name: str, series: MeteredSeries) -> Iterator[MeteredPoint]:
    """Judge supplies: what they take without load, and a share of what they give."""
    places = thirds(series.given_watts)
    no_load_w, per_watt = _line(series.given_watts, series.watts, places)
    efficiency = mean(series.given_watts[place] / series.watts[place] for place in places)
    constant_w = mean(series.watts[place] for place in places)
    end_w = mean(series.given_watts[place] for place in places) / 2
    for place, (given_w, measured_w) in enumerate(zip(series.given_watts, series.watts, strict=True)):
        if place not in places:
            kind: Kind = "supplies, no-load end" if given_w < end_w else "supplies"
            yield MeteredPoint(
                name, name, kind, measured_w, no_load_w + per_watt * given_w, constant_w, given_w / efficiency
            )


def _another(name: str, series: MeteredSeries) -> Iterator[MeteredPoint]:
    rows = list(zip(series.idle_watts, series.stress_watts, series.watts, strict=True))
    ratios = [(w - idle) / (stress - idle) for idle, stress, w in rows]
    for place, (idle_w, stress_w, measured_w) in enumerate(rows):
        others = median(ratio for other, ratio in enumerate(ratios) if other != place)
        said_w = idle_w + others * (stress_w - idle_w)
        constant_w = mean(w for other, (_, _, w) in enumerate(rows) if other != place)
        yield MeteredPoint(
            name, series.names[place], "another load", measured_w, said_w, constant_w, stress_w, idle_w
        )


def _disks(name: str, series: MeteredSeries) -> Iterator[MeteredPoint]:
    """Judge a server with disks: its last idle watts by those with fewer; states beyond the first load by that."""
    idle_w, last_w = series.idle_watts, series.idle_watts[-1]
    each_w = idle_w[1] - idle_w[0]
    said_w = idle_w[0] + each_w * series.disks[-1]
    yield MeteredPoint(name, name, "idle", last_w, said_w, mean(idle_w[:-1]), said_w)
    step_w = series.watts[0] - last_w
    one = _value(1)
    awake = Drive("all", "hdd", one, one, one, _value(last_w), _value(last_w + step_w), step_w=_value(step_w))
    for measured_w in series.watts[1:]:
        said_w = float(disks_w((awake,), 1.0))
        yield MeteredPoint(
            name, name, "scrub", measured_w, said_w, mean([last_w, series.watts[0]]), last_w, last_w
        )


def whole_held_ratio(judged: Sequence[MeteredPoint]) -> float:
    """Return the share of all points inside their bands."""
    return float(np.mean([one.held for one in judged]))


def source_held_ratio(judged: Sequence[MeteredPoint]) -> float:
    """Return the share of points inside their bands, each source counting alike."""
    shares = [
        mean(point.held for point in judged if point.source == source)
        for source in dict.fromkeys(point.source for point in judged)
    ]
    return float(np.mean(shares))
