"""Joules of one channel in a window, by its semantics, as docs/explanations/uncertainty.md has it ("From
samples to joules").
"""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

COVERED_RATIO = 0.95  # of a window that samples must cover
BURST_S = 2.0  # the shortest burst of power that must not be missed
STEADY_RATIO = 0.2  # of their mean, how far averages over an unknown time may lie apart
GAP_STEPS = 3  # a step of more than this many usual ones, and than a third of a burst, is a gap
STARTING_S = 2.0  # between idle time and the load that follows it
RESTED_RATIO = 0.1  # of what a load adds, within which power is that of idle time
JOINED_S = 1e-6  # apart, one piece follows another


def stated(samples: pd.DataFrame) -> dict[str, float]:
    """What the meter states of itself."""
    more = samples["more"].iloc[0]
    return json.loads(more).get("specification", {}) if more else {}


def ordered(samples: pd.DataFrame) -> pd.DataFrame:
    """Samples by their time; of several of one moment the first; no power that flows backwards."""
    samples = forward(samples)
    in_order = (np.diff(samples["t_s"].to_numpy()) > 0).all()
    return samples if in_order else samples.sort_values("t_s", kind="stable").drop_duplicates("t_s")


def forward(samples: pd.DataFrame) -> pd.DataFrame:
    """Samples without those below a meter's error around zero, which count as failed reads; models have no
    such error.
    """
    value, first = samples["value"], samples.iloc[0]
    if (
        first["semantics"] == "counter"
        or first.get("grade") in ("modelled", "nameplate")
        or not (value < 0).any()
    ):
        return samples
    own = stated(samples)
    error_w = own.get("offset", 0.0) + own.get("resolution", 0.0) + 0.01 * np.percentile(value.abs(), 95)
    return samples[value >= -error_w]


def joules(samples: pd.DataFrame, began_s: float, ended_s: float) -> float:
    """The energy of one channel from `began_s` to `ended_s`, in wall time; NaN where the definitions
    refuse one.
    """
    return joules_in_order(ordered(samples), began_s, ended_s)


def joules_in_order(table: pd.DataFrame, began_s: float, ended_s: float) -> float:
    """The same of samples that are `ordered`, for who asks for many windows."""
    semantics = table["semantics"].iloc[0]
    if semantics == "counter":
        found = in_pieces(counted(table), began_s, ended_s, cut=True)
        now, spread_s, _ = renewed(table, began_s, ended_s)
        return (
            found
            if spread_s is None or np.isnan(found)
            else in_pieces(counted(now), began_s, ended_s, cut=True, least=0.0)
        )
    if semantics == "window mean":
        if not table["t_s"].between(began_s, ended_s).any():
            return np.nan
        return in_pieces(averaged(table), began_s, ended_s, cut=True)
    return (
        np.nan
        if semantics == "state" or _too_rough(table, began_s, ended_s)
        else _integrated(table, began_s, ended_s)
    )


def beside_idle(
    samples: pd.DataFrame, began_s: float, ended_s: float, idle: Sequence[tuple[float, float]]
) -> float:
    """What must be added to the joules of a load between idle times: what is counted since idle time less
    what is idle of it.
    """
    table, spread_s, single = renewed(ordered(samples), began_s, ended_s)
    total_j = 0.0
    for edge in idle_edges(
        table, began_s, ended_s, idle, loose_s(table, spread_s, began_s, ended_s), single=single
    ):
        outside_s = abs(edge.at_s - edge.sample_s)
        # it jumped at the edge, and not evenly between the samples
        if table["semantics"].iloc[0] == "instantaneous":
            after_s, before_s = max(edge.sample_s, edge.other_s), min(edge.sample_s, edge.other_s)
            inside_s, jump_w = (
                after_s - before_s - outside_s,
                np.diff(np.interp([before_s, after_s], *line(table)))[0],
            )
            total_j += edge.side * inside_s**2 / (after_s - before_s) * float(jump_w) / 2
        elif outside_s:
            pieces = counted(table) if table["semantics"].iloc[0] == "counter" else averaged(table)
            low_s, high_s = sorted((edge.at_s, edge.sample_s))
            total_j += in_pieces(pieces, low_s, high_s, cut=True, least=0.0) - edge.idle_w * outside_s
    return total_j


def line(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Times and values."""
    return table["t_s"].to_numpy(), table["value"].to_numpy()


class Edge(NamedTuple):
    """An end of a load with idle time outside."""

    at_s: float
    side: int  # 1 where the load begins, and -1 where it ends
    sample: int  # the number of the nearest sample that is surely in idle time
    sample_s: float  # and its time
    other_s: float  # that of the next one towards the load
    idle_w: float


def requests_s(table: pd.DataFrame) -> np.ndarray:
    """How long the request for each sample took."""
    if "request_s" in table:
        return table["request_s"].to_numpy()
    if not {"asked_s", "arrived_s"} <= set(table):
        return np.zeros(len(table))
    return (table["arrived_s"] - table["asked_s"]).astype(float).fillna(0.0).to_numpy()


def request_s(table: pd.DataFrame, began_s: float, ended_s: float) -> float:
    """The root mean square of the requests in and next to a window."""
    low, high = np.searchsorted(table["t_s"].to_numpy(), [began_s, ended_s])
    near = requests_s(table)[max(low - 1, 0) : high + 1]
    return float(np.sqrt(np.mean(near**2))) if high > low else 0.0


def loose_s(table: pd.DataFrame, spread_s: np.ndarray | None, began_s: float, ended_s: float) -> float:
    """By how much the time of a sample may be wrong."""
    if table["semantics"].iloc[0] not in ("counter", "window mean"):
        return 0.0
    usual_s = 0.0 if spread_s is None else float(np.median(spread_s))
    return (usual_s + request_s(table, began_s, ended_s)) / 2 + 2 * stated(table).get("clock_s", 0.0)


def idle_edges(
    table: pd.DataFrame,
    began_s: float,
    ended_s: float,
    idle: Sequence[tuple[float, float]],
    loose: float,
    *,
    single: bool,
) -> list[Edge]:
    """The ends of a load outside of which is idle time: its begin, and its end if power is what it was
    before.
    """
    semantics, (t_s, value) = table["semantics"].iloc[0], line(table)
    modelled = table["grade"].iloc[0] in ("modelled", "nameplate") if "grade" in table else False
    starts = [end_s for _, end_s in idle if 0 <= began_s - end_s <= STARTING_S]
    first, last = int(np.searchsorted(t_s, began_s - loose)), int(np.searchsorted(t_s, ended_s + loose))
    if (
        semantics in ("average", "state")
        or modelled
        or not starts
        or first < 3
        or last > len(t_s) - 2
        or first == last
    ):
        return []
    shift = 0 if semantics == "window mean" else 1  # of samples and the pieces that end there
    if semantics == "instantaneous":
        begin_s, end_s, rate = t_s[:-1], t_s[1:], value[:-1]
        gap = np.diff(t_s) > max(GAP_STEPS * np.median(np.diff(t_s)), BURST_S / 3)
    else:
        begin_s, end_s, rate = counted(table) if semantics == "counter" else averaged(table)
        gap = end_s <= begin_s
    five = [n - shift for n in (first - 2, first - 1, first, last, last + 1)]
    earlier, before, begin, end, after = five
    if gap[five].any():
        return []
    lengths_s = np.where(gap, 0.0, end_s - begin_s)
    inside_s = lengths_s[begin : end + 1]
    rise_w = abs(float(rate[begin : end + 1] @ inside_s / inside_s.sum() - rate[before]))
    noise_w = 0.0
    if semantics == "counter":
        own = stated(table)
        spread_s = table["spread_s"].to_numpy() if "spread_s" in table else np.zeros(1)
        wide_j = rate[before] * np.hypot(np.median(spread_s), request_s(table, began_s, ended_s))
        noise_w = (
            np.sqrt((wide_j**2 + (0.0 if single else own.get("resolution", 0.0)) ** 2) / 2)
            / lengths_s[five].min()
        )
    limit_w = RESTED_RATIO * rise_w + 2 * noise_w
    if abs(rate[before] - rate[earlier]) > limit_w:
        return []
    edges = [Edge(began_s, 1, first - 1, t_s[first - 1], t_s[first], rate[before])]
    if abs(rate[after] - rate[before]) <= limit_w:
        edges.append(Edge(ended_s, -1, last, t_s[last], t_s[last - 1], rate[after]))
    return edges


def _stands(value: np.ndarray, first: int, last: int) -> bool:
    """Whether a counter has equal readings in the window or beside it."""
    return bool((np.diff(value[max(first - 2, 0) : last + 2]) == 0).any())


def amount(samples: pd.DataFrame, began_s: float, ended_s: float) -> float:
    """By how much a kernel's counter rose, growing evenly between two readings; NaN where it does not
    cover the time.
    """
    return in_pieces(counted(ordered(samples)), began_s, ended_s, cut=False)


def _too_rough(table: pd.DataFrame, began_s: float, ended_s: float) -> bool:
    """Whether readings are too seldom to see bursts or, where they are averages over an unknown time, too
    unsteady.
    """
    t_s, value = table["t_s"].to_numpy(), table["value"].to_numpy()
    if table["semantics"].iloc[0] == "average":
        low, high = np.searchsorted(t_s, [began_s, ended_s])
        inside = value[low : high + 1]
        return len(inside) < 2 or bool(np.ptp(inside) > STEADY_RATIO * inside.mean())
    around_s = t_s[np.flatnonzero(t_s <= began_s).max(initial=0) :]
    around_s = around_s[: np.count_nonzero(around_s < ended_s) + 1]
    return table["t_s"].between(began_s, ended_s).sum() < 2 or bool(np.diff(around_s).mean() > BURST_S / 3)


Pieces = tuple[np.ndarray, np.ndarray, np.ndarray]  # when each begins, when it ends, and its rate


def counted(table: pd.DataFrame) -> Pieces:
    """Between two readings; a counter counts on from where it fell back to 0."""
    t_s, value = table["t_s"].to_numpy(), table["value"].to_numpy()
    falls = np.diff(value, prepend=value[0]) < 0
    if falls.any():
        value = value + np.cumsum(falls) * stated(table).get("range_value", np.nan)
    return t_s[:-1], t_s[1:], np.diff(value) / np.diff(t_s)


def averaged(table: pd.DataFrame) -> Pieces:
    """The windows of the samples, none before the sample before."""
    end_s = table["t_s"].to_numpy()
    before_s = np.concatenate([[-np.inf], end_s[:-1]])
    return np.maximum(end_s - table["duration_s"].to_numpy(), before_s), end_s, table["value"].to_numpy()


def renewed(
    table: pd.DataFrame, began_s: float, ended_s: float
) -> tuple[pd.DataFrame, np.ndarray | None, bool]:
    """A counter at the middle of the times in which its readings can have been new, those times, and
    whether it just stepped.
    """
    t_s, value, own = table["t_s"].to_numpy(), table["value"].to_numpy(), stated(table)
    modelled = table["grade"].iloc[0] in ("modelled", "nameplate") if "grade" in table else False
    if modelled or table["semantics"].iloc[0] != "counter":
        return table, None, False
    first, last = int(np.searchsorted(t_s, began_s)), int(np.searchsorted(t_s, ended_s))
    still = _stands(value, first, last)
    period_s = own.get("period_s", 0.0)
    if not still and not period_s:
        return table, None, False
    moved = np.append(not still, np.diff(value) != 0) | (not still)
    falls = np.cumsum(np.append(False, np.diff(value) < 0))
    now = table[moved].assign(
        value=(value + (falls * own.get("range_value", np.nan) if falls.any() else 0.0))[moved]
    )
    usual_s = float(np.median(np.diff(t_s)))
    since_s = np.minimum(np.append(usual_s, np.diff(t_s)), 2 * usual_s)[moved]
    single = still and bool(np.median(np.diff(now["value"])) < 1.5 * own.get("resolution", 0.0))
    spread_s = since_s if single or not period_s else np.minimum(since_s, period_s)
    return now.assign(t_s=now["t_s"] - spread_s / 2, spread_s=spread_s), spread_s, single


def in_pieces(
    pieces: Pieces, began_s: float, ended_s: float, *, cut: bool, least: float = COVERED_RATIO
) -> float:
    """The sum of all pieces in a window.

    What an edge cuts is a step between the rates before and after it, if `cut`.
    """
    starts_s, ends_s, rate = pieces
    within = (ends_s > began_s) & (starts_s < ended_s)
    uncut = within & (starts_s >= began_s) & (ends_s <= ended_s)
    lengths_s = (ends_s - starts_s)[uncut]
    found, covered_s = rate[uncut] @ lengths_s, lengths_s.sum()
    for i in np.flatnonzero(within & ~uncut).tolist():
        low_s, high_s = max(starts_s[i], began_s), min(ends_s[i], ended_s)
        found += _until(pieces, i, high_s, cut=cut) - _until(pieces, i, low_s, cut=cut)
        covered_s += high_s - low_s
    return _whole(float(found), float(covered_s), ended_s - began_s, least)


def _until(pieces: Pieces, i: int, moment_s: float, *, cut: bool) -> float:
    """What piece i has from its begin to a moment in it."""
    starts_s, ends_s, rate = pieces
    length_s, passed_s, mean = ends_s[i] - starts_s[i], moment_s - starts_s[i], rate[i]
    neighbours = (
        0 < i < len(rate) - 1
        and abs(ends_s[i - 1] - starts_s[i]) < JOINED_S
        and abs(starts_s[i + 1] - ends_s[i]) < JOINED_S
    )
    if cut and neighbours and min(rate[i - 1], rate[i + 1]) < mean < max(rate[i - 1], rate[i + 1]):
        before, after = rate[i - 1], rate[i + 1]
        step_s = length_s * (after - mean) / (after - before)
        return before * min(passed_s, step_s) + after * max(passed_s - step_s, 0.0)
    return mean * passed_s


def _integrated(table: pd.DataFrame, began_s: float, ended_s: float) -> float:
    t_s, value = table["t_s"].to_numpy(), table["value"].to_numpy()
    steps_s = np.diff(t_s)
    low_s, high_s = np.maximum(t_s[:-1], began_s), np.minimum(t_s[1:], ended_s)
    used = (high_s > low_s) & (steps_s <= max(GAP_STEPS * np.median(steps_s), BURST_S / 3))
    pieces_j = (np.interp(low_s, t_s, value) + np.interp(high_s, t_s, value)) / 2 * (high_s - low_s)
    return _whole(float(pieces_j[used].sum()), float((high_s - low_s)[used].sum()), ended_s - began_s)


def _whole(found_j: float, covered_s: float, window_s: float, least: float = COVERED_RATIO) -> float:
    """The energy of the whole window: what is missing counts with the mean of the rest, unless too much is
    missing.
    """
    return found_j * window_s / covered_s if covered_s >= least * window_s and covered_s > 0 else np.nan
