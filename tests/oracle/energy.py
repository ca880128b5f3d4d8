"""Joules of one channel in a window, by its semantics, as docs/explanations/uncertainty.md has it ("From samples to joules")."""

import json

import numpy as np
import pandas as pd

COVERED_RATIO = 0.95  # of a window that samples must cover
BURST_S = 2.0  # the shortest burst of power that must not be missed
STEADY_RATIO = 0.2  # of their mean, how far averages over an unknown time may lie apart
GAP_STEPS = 3  # a step of so many usual ones is a gap


def stated(samples: pd.DataFrame) -> dict[str, float]:
    """What the meter states of itself."""
    more = samples["more"].iloc[0]
    return json.loads(more).get("specification", {}) if more else {}


def ordered(samples: pd.DataFrame) -> pd.DataFrame:
    """Samples by their time; of several of one moment the first."""
    return samples.sort_values("t_s", kind="stable").drop_duplicates("t_s")


def joules(samples: pd.DataFrame, began_s: float, ended_s: float) -> float:
    """The energy of one channel from `began_s` to `ended_s`, in wall time; NaN where the definitions refuse one."""
    table = ordered(samples)
    semantics = table["semantics"].iloc[0]
    if semantics == "counter":
        return _counted(table, began_s, ended_s)
    if semantics == "window mean":
        return _averaged(table, began_s, ended_s)
    return np.nan if semantics == "state" or _too_rough(table, began_s, ended_s) else _integrated(table, began_s, ended_s)


def _too_rough(table: pd.DataFrame, began_s: float, ended_s: float) -> bool:
    """Whether readings are too seldom to see bursts or, where they are averages over an unknown time, too unsteady."""
    inside = table["value"][table["t_s"].between(began_s, ended_s)]
    unsteady = np.ptp(inside) > STEADY_RATIO * inside.mean()
    return np.median(np.diff(table["t_s"])) > BURST_S / 3 or (table["semantics"].iloc[0] == "average" and unsteady)


def counted(table: pd.DataFrame, moments_s: np.ndarray) -> np.ndarray:
    """What a counter stood at, straight between its readings; it counts on from where it fell back to 0."""
    value = table["value"].to_numpy()
    falls = np.diff(value, prepend=value[0]) < 0
    if falls.any():
        value = value + np.cumsum(falls) * stated(table).get("range_value", np.nan)
    return np.interp(moments_s, table["t_s"].to_numpy(), value)


def _counted(table: pd.DataFrame, began_s: float, ended_s: float) -> float:
    low_s, high_s = max(began_s, table["t_s"].iloc[0]), min(ended_s, table["t_s"].iloc[-1])
    ends = counted(table, np.array([low_s, high_s]))
    return _whole(float(ends[1] - ends[0]), high_s - low_s, ended_s - began_s)


def _averaged(table: pd.DataFrame, began_s: float, ended_s: float) -> float:
    end_s = table["t_s"].to_numpy()
    inside_s = (np.minimum(end_s, ended_s) - np.maximum(end_s - table["duration_s"].to_numpy(), began_s)).clip(min=0)
    return _whole(float(table["value"].to_numpy() @ inside_s), float(inside_s.sum()), ended_s - began_s)


def _integrated(table: pd.DataFrame, began_s: float, ended_s: float) -> float:
    t_s, value = table["t_s"].to_numpy(), table["value"].to_numpy()
    steps_s = np.diff(t_s)
    low_s, high_s = np.maximum(t_s[:-1], began_s), np.minimum(t_s[1:], ended_s)
    used = (high_s > low_s) & (steps_s <= GAP_STEPS * np.median(steps_s))
    pieces_j = (np.interp(low_s, t_s, value) + np.interp(high_s, t_s, value)) / 2 * (high_s - low_s)
    return _whole(float(pieces_j[used].sum()), float((high_s - low_s)[used].sum()), ended_s - began_s)


def _whole(found_j: float, covered_s: float, window_s: float) -> float:
    """The energy of the whole window: what is missing counts with the mean of the rest, unless too much is missing."""
    return found_j * window_s / covered_s if covered_s >= COVERED_RATIO * window_s else np.nan
