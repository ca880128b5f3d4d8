"""How long a first measurement loads, and how much it moves: by what its meters can resolve and by a probe.

A window has at least 20 updates of every meter: then one update more or less at its ends is a twentieth of the
energy at most. A counter updates when it has counted one more of its steps, which takes longer the less is drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, inf, isfinite, nan

import numpy as np

from perjoule.campaign.plan import UPDATES_COUNT
from perjoule.energy.amount import unsteady
from perjoule.energy.behaviour import powers
from perjoule.energy.integral import SPARSE_S
from perjoule.model import Series
from perjoule.model.units import MIB

WINDOW_S = 60.0  # without a wish: a minute of plugs that answer once or twice a second
TRANSFER_BYTES = 4 * MIB
LATE = 3.0  # times as long between two values as between two questions: the source is slower than it is asked
SHORTER_RATIO = 0.75  # of the least window: a place is seldom as fast as its probe to the second
TRIAL_S = 4.0  # of a trial, besides its window and its idle time: starting, writing back, its record


@dataclass(frozen=True)
class MeterSpeed:
    """How a meter answered: its median answer time and idle power, and how often it updates."""

    answer_s: float  # NaN if it does not say
    now_w: float  # NaN if it has none: of a counter between its last two steps
    idle_w: float
    update_s: float  # between two updates; inf if it delivers too little to know
    grade: str = ""  # of what decides
    unsteady: bool = False  # averages over an unknown time that vary: they give no energy
    sparse: bool = False  # powers of one moment, too far apart for an energy

    @property
    def least_s(self) -> float:
        """The shortest window that it resolves."""
        return UPDATES_COUNT * self.update_s


def meter_speed(series: Sequence[Series], asked_hz: float, looked_s: float = 0.0) -> MeterSpeed:
    """Describe a meter by what its channels delivered while idle; its better quantity decides what it resolves.

    Args:
        series: its channels.
        asked_hz: how often it is asked.
        looked_s: for how long it was; 0 if one value says nothing about the next.
    """
    best = min(series, key=lambda one: _update_s(one, asked_hz, looked_s), default=None)
    if best is None:
        return MeterSpeed(nan, nan, nan, inf)
    took_s = np.empty(0)
    if best.asked_s is not None and best.arrived_s is not None:
        took_s = (best.arrived_s - best.asked_s)[np.isfinite(best.arrived_s - best.asked_s)]
    now_w, idle_w = _watts(best)
    return MeterSpeed(
        float(np.median(took_s)) if len(took_s) else nan,
        now_w,
        idle_w,
        _update_s(best, asked_hz, looked_s),
        best.channel.grade,
        best.channel.semantics == "average" and unsteady(best.value[np.isfinite(best.value)]),
        all(
            of_channel.channel.semantics == "instantaneous"
            and _update_s(of_channel, asked_hz, looked_s) > SPARSE_S
            for of_channel in series
        ),
    )


def _watts(series: Series) -> tuple[float, float]:
    """Return the last power of a channel and its mean, of a counter from one of its steps to another.

    A counter that stands still between two steps draws what the whole step says, over the time that it took.
    """
    valid = np.isfinite(series.value)
    t_s, value = series.t_s[valid], series.value[valid]
    if series.channel.semantics != "counter":
        return (float(value[-1]), float(value.mean())) if len(value) else (nan, nan)
    since = int(np.flatnonzero(np.diff(value) < 0)[-1]) + 1 if (np.diff(value) < 0).any() else 0  # it wrapped
    stepped = np.flatnonzero(np.diff(value[since:]) > 0) + 1 + since
    if len(stepped) < 2:
        return nan, nan
    first, before, last = stepped[0], stepped[-2], stepped[-1]
    return (
        float((value[last] - value[before]) / (t_s[last] - t_s[before])),
        float((value[last] - value[first]) / (t_s[last] - t_s[first])),
    )


def _update_s(series: Series, asked_hz: float, looked_s: float) -> float:
    """Return the time between two updates of a channel, as far as it is stated or shows."""
    stated = series.channel.specification
    t_s, watts = powers(series)
    if not len(t_s):
        return inf
    update_s = max(stated.period_s or 0.0, 1 / asked_hz if isfinite(asked_hz) else 0.0)
    if series.channel.semantics != "counter" and not stated.period_s:  # a log may be slower than it is read
        slower_s = (
            float(np.median(np.diff(t_s))) if len(t_s) > 1 else inf if looked_s >= LATE * update_s else 0.0
        )
        update_s = slower_s if slower_s > LATE * update_s else update_s
    if series.channel.semantics == "counter" and stated.resolution:
        mean_w = float(watts.mean())
        update_s = max(update_s, stated.resolution / mean_w if mean_w > 0 else inf)
    return update_s


def size_bytes(
    speeds_bytes_per_s: Mapping[str, float], window_s: float, least_s: float, clients_count: int = 1
) -> int:
    """Return the size of all clients of which the slowest direction takes a whole window, and the fastest enough for meters.

    One size for all: what was written is what is read, and no file is laid out beside the windows.
    """
    slowest, fastest = min(speeds_bytes_per_s.values()), max(speeds_bytes_per_s.values())
    step_bytes = TRANSFER_BYTES * clients_count  # each client moves the same, in whole transfers
    return ceil(max(slowest * window_s, fastest * least_s) / step_bytes) * step_bytes


def fitting_s(
    speeds_bytes_per_s: Mapping[str, float], room_bytes: int, least_s: float, clients_count: int = 1
) -> int:
    """Return the longest window, in whole seconds, whose size fits into `room_bytes`; 0 if that is shorter than a second,
    or than meters need.
    """
    step_bytes = TRANSFER_BYTES * clients_count
    room_bytes -= room_bytes % step_bytes
    window_s = int(room_bytes / min(speeds_bytes_per_s.values()))
    fits = size_bytes(speeds_bytes_per_s, window_s, least_s, clients_count) <= room_bytes
    return window_s if fits and window_s >= least_s else 0


def advised_s(durations_s: Sequence[float], least_s: float, planned_s: float) -> int | None:
    """Return how long windows should be asked to be, if one came out too short for a meter.

    None if each is long enough, as far as speeds usually vary.

    Args:
        durations_s: of the windows that were measured.
        least_s: the shortest that the meters resolve.
        planned_s: the longest that was planned.
    """
    shortest_s = min(durations_s, default=inf)
    return ceil(planned_s * least_s / shortest_s) if shortest_s < SHORTER_RATIO * least_s else None


def duration_s(
    speeds_bytes_per_s: Mapping[str, float], moved_bytes: int, repetitions: int, settle_s: float
) -> float:
    """Return how long all trials take: each direction its own time for the same size."""
    loads_s = sum(moved_bytes / speed for speed in speeds_bytes_per_s.values())
    return repetitions * (loads_s + len(speeds_bytes_per_s) * (2 * settle_s + TRIAL_S))
