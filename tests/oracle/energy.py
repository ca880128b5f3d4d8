"""Joules of one channel in a window, by its semantics, as docs/explanations/uncertainty.md has it ("From samples to joules")."""

import json

import numpy as np
import pandas as pd

COVERED_RATIO = 0.95  # of a window that samples must cover
BURST_S = 2.0  # the shortest burst of power that must not be missed
STEADY_RATIO = 0.2  # of their mean, how far averages over an unknown time may lie apart
GAP_STEPS = 3  # a step of more than this many usual ones, and than a third of a burst, is a gap
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
    """Samples without those below a meter's error around zero, which count as failed reads; models have no such error."""
    value, first = samples["value"], samples.iloc[0]
    if first["semantics"] == "counter" or first.get("grade") in ("modelled", "nameplate") or not (value < 0).any():
        return samples
    own = stated(samples)
    error_w = own.get("offset", 0.0) + own.get("resolution", 0.0) + 0.01 * np.percentile(value.abs(), 95)
    return samples[value >= -error_w]


def joules(samples: pd.DataFrame, began_s: float, ended_s: float) -> float:
    """The energy of one channel from `began_s` to `ended_s`, in wall time; NaN where the definitions refuse one."""
    return joules_in_order(ordered(samples), began_s, ended_s)


def joules_in_order(table: pd.DataFrame, began_s: float, ended_s: float) -> float:
    """The same of samples that are `ordered`, for who asks for many windows."""
    semantics = table["semantics"].iloc[0]
    if semantics == "counter":
        return _in_pieces(counted(table), began_s, ended_s, cut=True)
    if semantics == "window mean":
        if not table["t_s"].between(began_s, ended_s).any():
            return np.nan
        return _in_pieces(averaged(table), began_s, ended_s, cut=True)
    return np.nan if semantics == "state" or _too_rough(table, began_s, ended_s) else _integrated(table, began_s, ended_s)


def amount(samples: pd.DataFrame, began_s: float, ended_s: float) -> float:
    """By how much a kernel's counter rose, growing evenly between two readings; NaN where it does not cover the time."""
    return _in_pieces(counted(ordered(samples)), began_s, ended_s, cut=False)


def _too_rough(table: pd.DataFrame, began_s: float, ended_s: float) -> bool:
    """Whether readings are too seldom to see bursts or, where they are averages over an unknown time, too unsteady."""
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


def _in_pieces(pieces: Pieces, began_s: float, ended_s: float, *, cut: bool) -> float:
    """The sum of all pieces in a window. What an edge cuts is a step between the rates before and after it, if `cut`."""
    starts_s, ends_s, _ = pieces
    within = np.flatnonzero((ends_s > began_s) & (starts_s < ended_s))
    found, covered_s = 0.0, 0.0
    for i in within.tolist():
        low_s, high_s = max(starts_s[i], began_s), min(ends_s[i], ended_s)
        found += _until(pieces, i, high_s, cut=cut) - _until(pieces, i, low_s, cut=cut)
        covered_s += high_s - low_s
    return _whole(float(found), float(covered_s), ended_s - began_s)


def _until(pieces: Pieces, i: int, moment_s: float, *, cut: bool) -> float:
    """What piece i has from its begin to a moment in it."""
    starts_s, ends_s, rate = pieces
    length_s, passed_s, mean = ends_s[i] - starts_s[i], moment_s - starts_s[i], rate[i]
    neighbours = (
        0 < i < len(rate) - 1 and abs(ends_s[i - 1] - starts_s[i]) < JOINED_S and abs(starts_s[i + 1] - ends_s[i]) < JOINED_S
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


def _whole(found_j: float, covered_s: float, window_s: float) -> float:
    """The energy of the whole window: what is missing counts with the mean of the rest, unless too much is missing."""
    return found_j * window_s / covered_s if covered_s >= COVERED_RATIO * window_s else np.nan
