"""The uncertainty of the energy of one channel: docs/explanations/uncertainty.md, "The terms"."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from .energy import (
    Edge,
    Pieces,
    averaged,
    beside_idle,
    counted,
    idle_edges,
    in_pieces,
    joules_in_order,
    loose_s,
    ordered,
    renewed,
    request_s,
)
from .students import quantile

LONG_S = 2.0  # pieces that have seen many jumps
# of squares of second differences, and of a normal without its largest fifth
KEPT_RATIO, KEPT_VARIANCE = 0.8, 0.4377
DITHERED_RATIO = 0.4  # of samples that change, from which on a resolution is part of the noise
LEAST_IDLE = 4  # samples in idle time
LEAST_ALIKE = 8  # that tell a correlation

Window = tuple[float, float]
Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


@dataclass(frozen=True)
class Said:
    """What a meter said, and what it states of itself by the names of its specification (`gain_ratio`,
    `offset`, ...).
    """

    semantics: str
    t_s: Floats
    value: Floats
    duration_s: Floats
    request_s: Floats
    stated: Mapping[str, float] = field(default_factory=dict[str, float])
    renewed: bool = False  # whether these are a counter's updates

    def joules(self, began_s: float, ended_s: float) -> float:
        """The energy of a window."""
        if self.renewed:
            return in_pieces(self.pieces, began_s, ended_s, cut=True, least=0.0)
        return joules_in_order(self._table, began_s, ended_s)

    def beside(self, began_s: float, ended_s: float, quiet: Sequence[Window]) -> list[Edge]:
        """Those ends of a window that have idle time outside."""
        now, spread_s, single = renewed(self._table, began_s, ended_s)
        return idle_edges(
            now, began_s, ended_s, quiet, loose_s(now, spread_s, began_s, ended_s), single=single
        )

    def now(self, began_s: float, ended_s: float) -> tuple["Said", Floats, bool]:
        """The same at the meter's updates, the times in which those can have been, and whether each had
        just made a step.
        """
        now, spread_s, single = renewed(self._table, began_s, ended_s)
        t_s, value, duration_s, near_s = (
            now[name].to_numpy() for name in ("t_s", "value", "duration_s", "request_s")
        )
        return (
            Said(
                self.semantics,
                t_s,
                value,
                duration_s,
                near_s,
                self.stated,
                renewed=self.semantics == "counter",
            ),
            np.zeros(len(now)) if spread_s is None else spread_s,
            single,
        )

    def known_j(self, began_s: float, ended_s: float, quiet: Sequence[Window]) -> float:
        """The energy of a load, with what idle time beside it says."""
        return self.joules(began_s, ended_s) + beside_idle(self._table, began_s, ended_s, quiet)

    def of(self, name: str) -> float:
        """What is stated, or 0."""
        return self.stated.get(name, 0.0)

    @cached_property
    def pieces(self) -> Pieces:
        """Of a counter or window means."""
        return counted(self._table) if self.semantics == "counter" else averaged(self._table)

    @cached_property
    def _table(self) -> pd.DataFrame:
        columns = {
            "t_s": self.t_s,
            "duration_s": self.duration_s,
            "value": self.value,
            "request_s": self.request_s,
        }
        return ordered(
            pd.DataFrame(columns).assign(
                semantics=self.semantics, more=json.dumps({"specification": self.stated})
            )
        )


def terms(said: Said, began_s: float, ended_s: float, quiet: Sequence[Window] = ()) -> dict[str, float]:
    """Standard uncertainties in joules by the name of their term; none that is 0."""
    energy_j, length_s = said.known_j(began_s, ended_s, quiet), ended_s - began_s
    counter = said.semantics == "counter"
    offset_j = said.of("offset") * (np.sqrt(2) if counter else length_s)
    found = {"accuracy": (said.of("gain_ratio") * energy_j + offset_j) / np.sqrt(3)}
    now, spread_s, single = said.now(began_s, ended_s)
    idle = said.beside(began_s, ended_s, quiet)
    near_s = request_s(now._table, began_s, ended_s)
    found["delay"] = shifted_j(now, began_s, ended_s, [-near_s / np.sqrt(12), near_s / np.sqrt(12)], idle)
    found["clock"] = shifted_j(now, began_s, ended_s, [-said.of("clock_s"), said.of("clock_s")], idle)
    latency_s = max(said.of("latency_s") - (said.of("period_s") if counter else 0.0), 0.0)
    if said.semantics == "average" and not latency_s:
        latency_s = said.of("period_s") or float(np.median(np.diff(said.t_s)))
    found["latency"] = shifted_j(now, began_s, ended_s, list(latency_s * np.arange(9) / 8), idle)
    if counter:
        step_j = 0.0 if single else said.of("resolution")
        wide_j = energy_j / length_s * np.hypot(np.median(spread_s), near_s)
        noise_w = np.sqrt((wide_j**2 + step_j**2) / 4) / float(np.median(np.diff(now.t_s)))
        found |= {
            "resolution": _readings(
                now, (began_s, ended_s), idle, np.full(len(now.t_s), step_j), of_power=False
            ),
            "update": _readings(now, (began_s, ended_s), idle, spread_s),
            "request": _readings(now, (began_s, ended_s), idle, now.request_s),
            "edges": edges_j(now.pieces, began_s, ended_s, noise_w, [(edge.at_s, 0.0) for edge in idle]),
        }
    else:
        found |= _sampled(said, began_s, ended_s, quiet, idle)
    return {name: value for name, value in found.items() if value > 1e-12 * energy_j}


def shifted_j(
    said: Said, began_s: float, ended_s: float, shifts_s: Sequence[float], idle: Sequence[Edge] = ()
) -> float:
    """What the energy would be, were the window shifted; root mean square.

    Beside idle time a shift changes what is idle.
    """
    if not any(shifts_s):
        return 0.0
    idle_w = {edge.side: edge.idle_w for edge in idle}
    sure_j, changes_j = said.joules(began_s, ended_s), list[float]()
    for shift_s in shifts_s:
        window = (
            began_s if 1 in idle_w else began_s + shift_s,
            ended_s if -1 in idle_w else ended_s + shift_s,
        )
        shifted = said.joules(*window) - idle_w.get(1, 0.0) * shift_s + idle_w.get(-1, 0.0) * shift_s
        changes_j.append(shifted - sure_j)
    return float(np.sqrt(np.mean(np.square(changes_j))))


def _cut(pieces: Pieces, moment_s: float) -> tuple[int, float]:
    """Which piece a moment cuts, and at which share of its length."""
    began_s, ended_s, _ = pieces
    i = int(np.searchsorted(ended_s, moment_s))
    return i, float((moment_s - began_s[i]) / (ended_s[i] - began_s[i]))


def _step(pieces: Pieces, i: int) -> float | None:
    """At which share of piece i power steps from the rate before to the rate after; None where it is taken
    as even.
    """
    began_s, ended_s, rate = pieces
    joined = ended_s[i - 1] == began_s[i] and ended_s[i] == began_s[i + 1]
    between = min(rate[i - 1], rate[i + 1]) < rate[i] < max(rate[i - 1], rate[i + 1])
    return float((rate[i + 1] - rate[i]) / (rate[i + 1] - rate[i - 1])) if joined and between else None


def _readings(
    said: Said, window: Window, idle: Sequence[Edge], wide: Floats, *, of_power: bool = True
) -> float:
    """What both edges have of the errors of the readings they are counted from, each anywhere within a
    time, or an energy.
    """
    rate, square, outside = said.pieces[2], 0.0, {edge.at_s: edge for edge in idle}
    for moment_s in window:
        edge = outside.get(moment_s)
        for n, w in (_from_idle(said, edge) if edge else _weights(said, moment_s)).items():
            power = (
                edge.idle_w**2 if edge else (rate[max(n - 1, 0)] ** 2 + rate[min(n, len(rate) - 1)] ** 2) / 2
            )
            square += (w * wide[n]) ** 2 * (power if of_power else 1.0)
    return float(np.sqrt(square / 12))


def _from_idle(said: Said, edge: Edge) -> dict[int, float]:
    """The readings, with their weights, from which an edge is counted on at the rate of idle time."""
    further = edge.sample - edge.side
    on = abs(edge.at_s - edge.sample_s) / abs(edge.sample_s - said.t_s[further])
    return {edge.sample: 1 + on, further: -on}


def _weights(said: Said, moment_s: float) -> dict[int, float]:
    """The readings, with their weights, from which an edge elsewhere is counted."""
    i, f = _cut(said.pieces, moment_s)
    length_s, step = said.pieces[1] - said.pieces[0], _step(said.pieces, i)
    if step is None:
        return {i: 1 - f, i + 1: f}  # reading i begins piece i
    if f <= step:
        on = f * length_s[i] / length_s[i - 1]
        return {i: 1 + on, i - 1: -on}
    back = (1 - f) * length_s[i] / length_s[i + 1]
    return {i + 1: 1 + back, i + 2: -back}


def edges_j(
    pieces: Pieces, began_s: float, ended_s: float, noise_w: float, idle: Sequence[tuple[float, float]] = ()
) -> float:
    """What is not known of the pieces that edges cut; beside idle time (a moment, and how much of it is
    counted) noise alone.
    """
    total, outside_s = 0.0, dict(idle)
    for moment_s in (began_s, ended_s):
        i, f = _cut(pieces, moment_s)
        rate, length_s = pieces[2], pieces[1][i] - pieces[0][i]
        if moment_s in outside_s:
            total += 2 * (noise_w * outside_s[moment_s]) ** 2
            continue
        rises = rate[i] - rate[i - 1], rate[i] - rate[i + 1]
        squares = rises[0] ** 2 + rises[1] ** 2
        certain = max(1 - 4 * noise_w**2 / squares, 0.0) if squares else 0.0
        if length_s >= LONG_S:
            part = squares * f * (1 - f) / 4
        elif _step(pieces, i) is not None:
            part = squares * (f * (1 - f) / 2) ** 2
        else:
            part = max(((f * rises[0]) ** 2 + ((1 - f) * rises[1]) ** 2) / 3, squares * (f * (1 - f)) ** 2)
        total += certain * length_s**2 * part
    return float(np.sqrt(total))


def _sampled(
    said: Said, began_s: float, ended_s: float, quiet: Sequence[Window], beside: Sequence[Edge]
) -> dict[str, float]:
    low, high = np.searchsorted(said.t_s, [began_s, ended_s])
    value, length_s = said.value[low : high + 1], ended_s - began_s
    found: dict[str, float] = {}
    if np.mean(np.diff(value) != 0) < DITHERED_RATIO:
        shares = [float(np.mean(value == step)) for step in set(value.tolist())]
        found["resolution"] = said.of("resolution") * length_s * np.sqrt(np.sum(np.square(shares)) / 12)
    if said.semantics == "average":
        idle = [said.value[(said.t_s >= low_s) & (said.t_s <= high_s)] for low_s, high_s in quiet]
        longest = next((own for own in sorted(idle, key=len, reverse=True) if len(own) > len(value)), value)
        spread_w, worth, _ = correlated(longest)
        return found | {"noise": spread_w * length_s / np.sqrt(worth * len(value) / len(longest))}
    noise_w = scatter(said.t_s[low : high + 1], value)
    r, free = alike(said, value, quiet)
    mean_w = said.known_j(began_s, ended_s, quiet) / length_s
    if (
        said.semantics == "window mean"
        and not np.isfinite([one for one, _ in bounds(said, mean_w, quiet, 0.0)]).any()
    ):
        r, free = 0.0, float(max(min(round(KEPT_RATIO * (len(value) - 2)) / 3, len(value) - 1), 1.0))
    own_w = noise_w * np.sqrt(3 / ((1 - r) * (3 - r)))
    if said.semantics == "window mean":
        noise_w = min(noise_w, *(one for one, _ in bounds(said, mean_w, quiet, 0.0)))
        own_w, _ = min(
            [(own_w, free), *bounds(said, mean_w, quiet, r)], key=lambda one: one[0] * times(one[1])
        )
        found["edges"] = edges_j(
            said.pieces,
            began_s,
            ended_s,
            noise_w,
            [(edge.at_s, abs(edge.at_s - edge.sample_s)) for edge in beside],
        )
        moved = [((said.value[i + 1] - said.value[i]) ** 2 - 2 * noise_w**2) for i in range(low, high + 1)]
    else:
        found["under-sampling"] = jumps_j(said, began_s, ended_s, noise_w)
        moved = [
            ((said.value[i + 1] - said.value[i - 1]) ** 2 / 4 - noise_w**2 / 2) for i in range(low, high + 1)
        ]
    found["request"] = float(np.sqrt(max(moved @ said.request_s[low : high + 1] ** 2, 0.0) / 12))
    return found | {"noise": own_w * length_s / np.sqrt(max(len(value) * (1 - r) / (1 + r), 1.5))}


def scatter(t_s: Floats, value: Floats) -> float:
    """The noise of a sample by its distance from the line through its neighbours, as large as that of
    three such noises.
    """
    squares = []
    for n in range(1, len(value) - 1):
        share = (t_s[n] - t_s[n - 1]) / (t_s[n + 1] - t_s[n - 1])  # of the way from the one to the other
        between = (1 - share) * value[n - 1] + share * value[n + 1]
        squares.append((value[n] - between) ** 2 / (1 + share**2 + (1 - share) ** 2))
    kept = np.sort(squares)[: round(KEPT_RATIO * len(squares))] if len(squares) > 1 else np.array(squares)
    return float(np.sqrt(np.mean(kept) / KEPT_VARIANCE))


def times(freedom: float) -> float:
    """By how much a deviation is multiplied for an interval."""
    return 1.959963984540054 if freedom == np.inf else quantile(int(freedom))


def bounds(said: Said, mean_w: float, quiet: Sequence[Window], r: float) -> list[tuple[float, float]]:
    """What the noise of a meter that integrates is at most, with its freedom: by idle time, and by its
    stated accuracy.
    """
    found = [(np.inf, np.inf)]
    idle = [
        said.value[(said.t_s - said.duration_s >= low_s) & (said.t_s <= high_s)] for low_s, high_s in quiet
    ]
    if enough := [own - own.mean() for own in idle if len(own) >= LEAST_IDLE]:
        counts = np.array([len(own) for own in enough])
        lost = (1 + r) / (1 - r) - 2 * r * (1 - r**counts) / (counts * (1 - r) ** 2)
        squares = sum(float(own @ own) for own in enough)
        free = np.sum(counts * (1 - r) / (1 + r) - 1)
        found.append((float(np.sqrt(squares / np.sum(counts - lost))), max(float(free), 1.0)))
    if {"gain_ratio", "offset"} & said.stated.keys():
        found.append((float((said.of("gain_ratio") * mean_w + said.of("offset")) / np.sqrt(3)), np.inf))
    return found


def jumps_j(said: Said, began_s: float, ended_s: float, noise_w: float) -> float:
    """A jump between two samples may be anywhere between them."""
    total = 0.0
    for before_s, after_s, jump in zip(said.t_s[:-1], said.t_s[1:], np.diff(said.value), strict=True):
        if after_s > began_s and before_s < ended_s:
            outside = max(began_s - before_s, after_s - ended_s, 0.0) / (after_s - before_s)
            variance = (1 + 2 * outside**3) / 3 - (1 + outside**2) ** 2 / 4
            length_s = max(after_s - before_s, said.of("period_s"))
            total += (jump**2 - 2 * noise_w**2) * length_s**2 * variance
    return float(np.sqrt(max(total, 0.0)))


def alike(said: Said, value: Floats, quiet: Sequence[Window]) -> tuple[float, float]:
    """The correlation of neighbouring samples, and the degrees of freedom of the noise of second
    differences.
    """
    jumps = np.diff(value)
    squares = np.sort(jumps**2)
    usual = np.mean(squares[: round(KEPT_RATIO * len(squares))]) / KEPT_VARIANCE
    window = pd.DataFrame({"value": value, "stretch": np.cumsum(np.append(0.0, jumps**2 > 36 * usual))})
    inside = [(said.t_s - said.duration_s >= low_s) & (said.t_s <= high_s) for low_s, high_s in quiet]
    idle = [
        pd.DataFrame({"value": said.value[own], "stretch": n})
        for n, own in enumerate(inside)
        if own.sum() >= LEAST_ALIKE
    ]
    calm = pd.concat(idle) if idle else window
    told = calm if len(calm) > len(window) else window
    r = lag_1(told)
    # a load that changes
    if idle and told is window and mean_square(window) > 9 * min(map(mean_square, idle)):
        # The larger root of (r - seen)² = 4 (1 - r²) / m.
        seen, m = lag_1(calm), len(calm)
        r = min(r, float(np.roots([1 + 4 / m, -2 * seen, seen**2 - 4 / m]).real.max()))
    free = len(told) * (1 - r) / (1 + r) - told["stretch"].nunique()
    return r, max(min(round(KEPT_RATIO * (len(value) - 2)) / 3, float(free)), 1.0)


def rests(table: pd.DataFrame) -> pd.Series:
    """What is left about the means of stretches and a common slope."""
    by = table["stretch"]
    number = table.groupby(by).cumcount().astype(float)
    level = table["value"] - table["value"].groupby(by).transform("first")
    x, y = (one - one.groupby(by).transform("mean") for one in (number, level))
    return y - x * (float(np.dot(x, y)) / max(float(np.dot(x, x)), 1.0))


def mean_square(table: pd.DataFrame) -> float:
    """The scatter about these."""
    return float((rests(table) ** 2).mean())


def lag_1(table: pd.DataFrame) -> float:
    """The correlation of lag 1 about them, as much larger as fitting made it too small."""
    m, by, rest = len(table), table["stretch"], rests(table)
    if m < LEAST_IDLE or not rest.any():
        return 0.0
    seen = float((rest * rest.groupby(by).shift(-1)).sum() / (rest**2).sum())
    return min(max(seen + ((1 + 3 * seen) * by.nunique() + 1 + 2 * seen) / m, 0.0), 0.99)


def correlated(value: Floats) -> tuple[float, float, float]:
    """Of averages: the deviation of a sample, how many independent ones they are worth, and its degrees of
    freedom.
    """
    m, place = len(value), np.arange(len(value))
    rest = value - np.polyval(np.polyfit(place, value, 1), place)
    seen = float(rest[1:] @ rest[:-1] / (rest @ rest))
    r = min(max(seen + (2 + 5 * seen) / m, 0.0), 0.99)
    worth = max(m * (1 - r) / (1 + r), 1.5)
    return float(np.sqrt(np.mean(rest**2) / max(1 - 2 / worth, 0.3))), worth, max(worth - 1, 1.0)
