"""Coverage of the 95 % intervals of energy by meter semantics, and the effect of each fault.

    python benchmarks/coverage.py [--runs 1000] [--seed 1]

Each run draws a load (irregular bursts of about 2 s), a window and a meter. The window lies at a random place
in the load or, every other run, around all of it with 1 s of idle time before and after, the default of a
campaign. The meter's errors are drawn within its specification: accuracy, resolution, noise, latency, clock,
period. Requests take time, and a reading is taken at any moment of its request. A good interval contains the
true energy in 93 to 97 % of runs, and half of it is typically no more than 3 times the rms error. A thousand
runs give a share to one percent either way: a row fails if the 95 % interval of its own count lies below that
range, and is marked if it lies above, which is too careful and no error.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

from perjoule.energy.amount import amount, most_j
from perjoule.energy.terms import budget
from perjoule.meters.prometheus.exposition import exposed
from perjoule.model import Channel, Semantics, Series, Specification

Floats = np.ndarray
NOISE_W = 0.05  # of a second's mean by a laboratory meter, which is right to 0.1 W
CORRELATION = 0.6  # of the noise of two neighbours, where it is correlated
QUIET_S = (-40.0, -6.0)  # the baseline
Dice = np.random.Generator


@dataclass(frozen=True)
class Load:
    """Power that is constant between edges, with its exact integral."""

    edges_s: Floats
    power_w: Floats  # from each edge to the next

    def power(self, t_s: Floats) -> Floats:
        """The power at moments."""
        return self.power_w[np.searchsorted(self.edges_s, t_s, side="right") - 1]

    def until(self, t_s: Floats) -> Floats:
        """The energy from the first edge up to moments."""
        steps = np.diff(self.edges_s) * self.power_w[:-1]
        return np.interp(t_s, self.edges_s, np.concatenate(([0.0], np.cumsum(steps))))

    def energy(self, began_s: float, ended_s: float) -> float:
        """The energy of a window."""
        before, after = self.until(np.array([began_s, ended_s]))
        return float(after - before)

    def only(self, began_s: float, ended_s: float) -> "Load":
        """The same between two moments, and idle before and after."""
        kept = (self.edges_s > began_s) & (self.edges_s < ended_s)
        edges_s = np.concatenate(
            (self.edges_s[:1], [began_s], self.edges_s[kept], [ended_s], self.edges_s[-1:])
        )
        idle_w = self.power_w[:1]
        power_w = np.concatenate(
            (idle_w, self.power(np.array([began_s])), self.power_w[kept], idle_w, idle_w)
        )
        return Load(edges_s, power_w)


def bursts(dice: Dice, low_w: float = 40.0, high_w: float = 60.0) -> Load:
    """Idle until -5 s, then bursts of 1 to 3 s with pauses of 1 to 3 s."""
    return switched(dice, dice.uniform(1.0, 3.0, 100), low_w, high_w)


def ragged(dice: Dice, low_w: float = 40.0, high_w: float = 60.0) -> Load:
    """The same with bursts and pauses of 2 s on average and at least 0.2 s: many jumps within a sample's
    window.
    """
    return switched(dice, 0.2 + dice.exponential(1.8, 100), low_w, high_w)


def switched(dice: Dice, lengths_s: Floats, low_w: float, high_w: float) -> Load:
    """Idle until -5 s, then high and low in turn for so long."""
    edges_s = np.concatenate(([-60.0], -5.0 + np.cumsum(lengths_s)))
    levels = np.where(np.arange(len(edges_s)) % 2, high_w, low_w) + dice.uniform(-2.0, 2.0, len(edges_s))
    return Load(edges_s, levels)


@dataclass(frozen=True)
class Asking:
    """How long requests take, and how late they begin on a busy machine."""

    request_s: float = 0.0
    busy: bool = False

    def lengths_s(self, dice: Dice, count: int) -> Floats:
        """Of this many requests: half to one and a half of the usual length, or with a long tail."""
        if not self.busy:
            return self.request_s * dice.uniform(0.5, 1.5, count)
        return dice.exponential(self.request_s, count) + 0.3 * (dice.random(count) < 0.02)


ASKING: Mapping[str, Asking] = {
    **{f"{ms} ms": Asking(ms / 1000) for ms in (0, 5, 20, 100)},
    "busy": Asking(0.03, busy=True),
}
AT_ONCE = ASKING["0 ms"]


@dataclass(frozen=True)
class Polled:
    """When requests began and ended, and when between them the meter looked; shapes (N,)."""

    asked_s: Floats
    arrived_s: Floats
    looked_s: Floats

    @property
    def t_s(self) -> Floats:
        """The middle of each request."""
        return (self.asked_s + self.arrived_s) / 2

    @classmethod
    def at(cls, dice: Dice, rate_hz: float, asking: Asking) -> "Polled":
        """Requests from -40 to 100 s, one somewhere in each period; none begins before the one before has
        ended.
        """
        count = int(140 * rate_hz)
        planned_s = -40.0 + (np.arange(count) + dice.uniform(-0.4, 0.4, count)) / rate_hz
        if asking.busy:
            planned_s += dice.exponential(0.2 / rate_hz, count)
        asked_s, arrived_s, length_s = np.empty(count), np.empty(count), asking.lengths_s(dice, count)
        free_s = -np.inf
        for n in range(count):
            asked_s[n] = max(planned_s[n], free_s + 1e-5)
            arrived_s[n] = free_s = asked_s[n] + length_s[n]
        return cls(asked_s, arrived_s, asked_s + (arrived_s - asked_s) * dice.uniform(0, 1, count))


Window = tuple[float, float]


def series(
    semantics: Semantics, polled: Polled, value: Floats, duration_s: Floats | float = 0.0, **stated: float
) -> Series:
    kind = ("energy", "J") if semantics == "counter" else ("power", "W")
    channel = Channel("meter", "host", "all", *kind, semantics, "wall", specification=Specification(**stated))
    duration_s = np.broadcast_to(np.asarray(duration_s, dtype=float), value.shape).copy()
    return Series(channel, polled.t_s, duration_s, value, polled.asked_s, polled.arrived_s)


def accuracy(dice: Dice, power_w: Floats, gain_ratio: float, offset_w: float) -> Floats:
    """The error of a meter: anywhere within its limit, and the same all the time."""
    return dice.uniform(-1, 1) * (gain_ratio * power_w + offset_w)


def loaded(dice: Dice, alone: "Window | Load | None", low_w: float = 40.0, high_w: float = 60.0) -> Load:
    """Bursts, all the time or in one window alone; or this load."""
    if isinstance(alone, Load):
        return alone
    load = ragged(dice, low_w, high_w)
    return load.only(*alone) if alone else load


def exact(dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None) -> tuple[Series, Load]:
    """A counter without an error, asked twice a second."""
    load, polled = loaded(dice, alone), Polled.at(dice, 2.0, asking)
    return series("counter", polled, load.until(polled.looked_s), gain_ratio=0.0), load


def counter(dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None) -> tuple[Series, Load]:
    """A plug: counts in 0.5 J, five times a second, is polled twice a second, and wraps."""
    load, polled = loaded(dice, alone), Polled.at(dice, 2.0, asking)
    phase_s = dice.uniform(0, 0.2)
    updated_s = np.floor((polled.looked_s - phase_s) / 0.2) * 0.2 + phase_s
    counted_j = load.until(updated_s) * (1 + dice.uniform(-0.005, 0.005)) + dice.uniform(0, 2000)
    value = np.floor(counted_j / 0.5) * 0.5 % 2000
    stated = {"gain_ratio": 0.005, "resolution": 0.5, "period_s": 0.2, "range_value": 2000.0, "most_w": 200.0}
    return series("counter", polled, value, **stated), load


def window_mean(dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None) -> tuple[Series, Load]:
    """A laboratory meter: 1 s cycles without a gap, in a box with a clock of its own that was aligned to
    20 ms.
    """
    load, clock_s = loaded(dice, alone), 0.02
    t_s = np.arange(-40.0, 100.0) + dice.uniform(0, 1)
    mean_w = np.diff(load.until(np.concatenate(([t_s[0] - 1], t_s))))
    value = mean_w + accuracy(dice, mean_w, 0.001, 0.05) + dice.normal(0, NOISE_W, len(t_s))
    stamped_s = t_s + dice.normal(0, clock_s)
    arrived_s = np.maximum(t_s, stamped_s) + asking.lengths_s(dice, len(t_s))
    found = series(
        "window mean", Polled(t_s, t_s, t_s), value, 1.0, gain_ratio=0.001, offset=0.05, clock_s=clock_s
    )
    return replace(found, t_s=stamped_s, asked_s=None, arrived_s=arrived_s), load


def since_asked(dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None) -> tuple[Series, Load]:
    """A meter that gives the mean since it was asked before, about once a second, and how long that was by
    its own clock.
    """
    load, polled = loaded(dice, alone), Polled.at(dice, 1.0, asking)
    ends_s = np.concatenate(([polled.looked_s[0] - 1], polled.looked_s))
    mean_w = np.diff(load.until(ends_s)) / np.diff(ends_s)
    value = mean_w + accuracy(dice, mean_w, 0.001, 0.05) + dice.normal(0, NOISE_W, len(mean_w))
    return series("window mean", polled, value, np.diff(ends_s), gain_ratio=0.001, offset=0.05), load


def instantaneous(dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None) -> tuple[Series, Load]:
    """A plug that shows the power of the moment in 0.1 W, asked ten times a second; its answer is up to 50
    ms old.
    """
    load, polled = loaded(dice, alone), Polled.at(dice, 10.0, asking)
    true_w = load.power(polled.looked_s - dice.uniform(0, 0.05))
    value = (
        np.round((true_w + accuracy(dice, true_w, 0.002, 0.05) + dice.normal(0, 1.0, len(true_w))) / 0.1)
        * 0.1
    )
    stated = {"gain_ratio": 0.002, "offset": 0.05, "resolution": 0.1, "latency_s": 0.05}
    return series("instantaneous", polled, value, **stated), load


def average(dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None) -> tuple[Series, Load]:
    """A BMC: a running average over a time that nobody knows (up to 4 s), in 1 W, with noise that it
    smooths, too.
    """
    return averaged(dice, loaded(dice, alone, 48.0, 50.0), asking)


def constant(dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None) -> tuple[Series, Load]:
    """The same of a power that never changes, so all that is seen is the meter's noise."""
    return averaged(dice, level_power(dice), asking)


def averaged(dice: Dice, load: Load, asking: Asking) -> tuple[Series, Load]:
    polled, over_s = Polled.at(dice, 1.0, asking), dice.uniform(0.1, 4.0)
    mean_w = (load.until(polled.looked_s) - load.until(polled.looked_s - over_s)) / over_s
    value = np.round(mean_w + accuracy(dice, mean_w, 0.01, 0.0) + correlated(dice, len(mean_w)))
    return series("average", polled, value, gain_ratio=0.01, resolution=1.0, latency_s=2.0), load


def correlated(dice: Dice, count: int) -> Floats:
    """Noise of 1 W, of which each sample keeps a share of the one before."""
    shocks, noise_w = dice.normal(0, 1.0, count), np.zeros(count)
    for index in range(1, count):
        noise_w[index] = CORRELATION * noise_w[index - 1] + shocks[index]
    return noise_w


def level_power(dice: Dice) -> Load:
    """The same power all the time."""
    return Load(np.array([-60.0, 0.0, 200.0]), np.full(3, dice.uniform(40.0, 60.0)))


def constant_mean(dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None) -> tuple[Series, Load]:
    """A constant power in means since the last request, about 1 s, with correlated noise."""
    load, polled = level_power(dice), Polled.at(dice, 1.0, asking)
    mean_w = load.power(polled.looked_s)
    value = mean_w + accuracy(dice, mean_w, 0.001, 0.05) + NOISE_W * correlated(dice, len(mean_w))
    lengths_s = np.diff(polled.looked_s, prepend=polled.looked_s[0] - 1)
    return series("window mean", polled, value, lengths_s, gain_ratio=0.001, offset=0.05), load


def constant_instantaneous(
    dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None
) -> tuple[Series, Load]:
    """A constant power, looked at ten times a second, with correlated noise."""
    load, polled = level_power(dice), Polled.at(dice, 10.0, asking)
    true_w = load.power(polled.looked_s)
    value = true_w + accuracy(dice, true_w, 0.002, 0.05) + correlated(dice, len(true_w))
    return series("instantaneous", polled, value, gain_ratio=0.002, offset=0.05, latency_s=0.05), load


def watt_hours(dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None) -> tuple[Series, Load]:
    """A plug that counts thousandths of a watt-hour, once a second, and is polled twice a second."""
    load, polled = loaded(dice, alone), Polled.at(dice, 2.0, asking)
    phase_s, step_j = dice.uniform(0, 1), 3.6
    updated_s = np.floor(polled.looked_s - phase_s) + phase_s
    value = np.floor(load.until(updated_s) * (1 + dice.uniform(-0.01, 0.01)) / step_j) * step_j
    stated = {"gain_ratio": 0.01, "resolution": step_j, "period_s": 1.0, "latency_s": 1.0}
    return series("counter", polled, value, **stated), load


def plug(
    dice: Dice, asking: Asking, alone: Window | None, *, range_j: float | None, reset: bool
) -> tuple[Series, Load]:
    """A plug that counts 0.5 J five times a second.

    It falls back at its range or begins again at 0 once in the load.
    """
    load, polled = loaded(dice, alone), Polled.at(dice, 2.0, asking)
    phase_s, reset_s = dice.uniform(0, 0.2), dice.uniform(load.edges_s[1], load.edges_s[-2])
    updated_s = np.floor((polled.looked_s - phase_s) / 0.2) * 0.2 + phase_s
    since_j = load.until(np.array([reset_s]))[0] * (reset & (updated_s >= reset_s))
    counted_j = (load.until(updated_s) - since_j) * (1 + dice.uniform(-0.005, 0.005))
    before_j = dice.uniform(0, range_j or 2000) * ~(reset & (updated_s >= reset_s))
    value = np.floor((counted_j + before_j) / 0.5) * 0.5
    stated = {"gain_ratio": 0.005, "resolution": 0.5, "period_s": 0.2, "most_w": 250.0}
    if range_j is None:
        return series("counter", polled, value, **stated), load
    return series("counter", polled, value % range_j, range_value=range_j, **stated), load


def wraps(dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None) -> tuple[Series, Load]:
    """A plug that wraps every few seconds."""
    return plug(dice, asking, alone, range_j=500.0, reset=False)


def resets(dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None) -> tuple[Series, Load]:
    """A plug that is reset in the load, and has no range."""
    return plug(dice, asking, alone, range_j=None, reset=True)


def resets_or_wraps(dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None) -> tuple[Series, Load]:
    """A plug that is reset in the load, and has a range, too: a reset near it looks like a wrap."""
    return plug(dice, asking, alone, range_j=2000.0, reset=True)


def clock_unsure(dice: Dice, asking: Asking = AT_ONCE, alone: Window | None = None) -> tuple[Series, Load]:
    """Means of 1 s by a clock that is behind or ahead by a third of a second, as stated."""
    found, load = window_mean(dice, asking, alone)
    stated = replace(found.channel.specification, clock_s=0.3)
    found = replace(found, channel=replace(found.channel, specification=stated))
    return replace(found, t_s=found.t_s + dice.normal(0, 0.3), arrived_s=None), load


def stepped_load(window: Window, edges_s: Floats, watts: Floats, idle_w: float = 20.0) -> Load:
    """Levels from one edge to the next, and idle before and after."""
    return Load(
        np.concatenate(([-60.0], edges_s, [window[1], 200.0])),
        np.concatenate(([idle_w], watts, [idle_w, idle_w])),
    )


def phases(dice: Dice, window: Window) -> Load:
    """Two to five levels from 20 to 200 W."""
    count = int(dice.integers(2, 6))
    edges_s = np.sort(np.concatenate((window[:1], dice.uniform(*window, count - 1))))
    return stepped_load(window, edges_s, dice.uniform(20.0, 200.0, count))


def burst_first(dice: Dice, window: Window) -> Load:
    """A burst of 0.3 to 3 s, then a level."""
    return stepped_load(
        window, np.array([window[0], window[0] + dice.uniform(0.3, 3.0)]), np.array([150.0, 40.0])
    )


def bursts_at_both_ends(dice: Dice, window: Window) -> Load:
    """The same, and another burst at the end."""
    first_s, last_s = dice.uniform(0.3, 3.0, 2)
    return stepped_load(
        window, np.array([window[0], window[0] + first_s, window[1] - last_s]), np.array([150.0, 40.0, 150.0])
    )


def saw(dice: Dice, window: Window) -> Load:
    """A ramp of 60 W again and again, every 2 to 10 s."""
    edges_s = np.arange(window[0], window[1], 0.02)
    return stepped_load(window, edges_s, 40.0 + 60.0 * ((edges_s - window[0]) / dice.uniform(2.0, 10.0) % 1))


def sine(dice: Dice, window: Window) -> Load:
    """From 40 to 100 W and back, every 2 to 10 s."""
    edges_s = np.arange(window[0], window[1], 0.02)
    phase = 2 * np.pi * (edges_s / dice.uniform(2.0, 10.0) + dice.uniform())
    return stepped_load(window, edges_s, 70.0 + 30.0 * np.sin(phase))


SHAPES: tuple[Callable[[Dice, Window], Load], ...] = (phases, burst_first, bursts_at_both_ends, saw, sine)
Case = Callable[..., tuple[Series, Load]]
CASES: Mapping[str, Case] = {
    "exact counter": exact,
    "counter": counter,
    "window mean": window_mean,
    "mean since asked": since_asked,
    "instantaneous": instantaneous,
    "average (steady)": average,
    "average, constant": constant,
}


def whole_watts(dice: Dice) -> tuple[Series, Load]:
    """A plug in whole watts, asked twice a second: each burst is one value again and again."""
    load, polled = bursts(dice), Polled.at(dice, 2.0, AT_ONCE)
    return series("instantaneous", polled, np.round(load.power(polled.looked_s)), resolution=1.0), load


def whole_means(dice: Dice) -> tuple[Series, Load]:
    """Means over 1 s in whole watts."""
    load, t_s = bursts(dice), np.arange(-40.0, 100.0) + dice.uniform(0, 1)
    mean_w = np.diff(load.until(np.concatenate(([t_s[0] - 1], t_s))))
    return series("window mean", Polled(t_s, t_s, t_s), np.round(mean_w), 1.0, resolution=1.0), load


def coarse(dice: Dice) -> tuple[Series, Load]:
    """A PDU in steps of 10 W, with noise."""
    load, polled = bursts(dice), Polled.at(dice, 2.0, AT_ONCE)
    noisy_w = load.power(polled.looked_s) + dice.normal(0, 1.0, len(polled.looked_s))
    return series("instantaneous", polled, np.round(noisy_w / 10) * 10, resolution=10.0), load


def level(dice: Dice) -> tuple[Series, Load]:
    """A load that draws the same all the time, in means over 1 s and whole watts."""
    load = Load(np.array([-60.0, 0.0, 60.0, 120.0]), np.array([40.0, dice.uniform(50, 60), 40.0, 40.0]))
    t_s = np.arange(-40.0, 100.0) + dice.uniform(0, 1)
    mean_w = np.diff(load.until(np.concatenate(([t_s[0] - 1], t_s)))) + dice.normal(0, 0.3, len(t_s))
    return series("window mean", Polled(t_s, t_s, t_s), np.round(mean_w), 1.0, resolution=1.0), load


# Faults are looked for in these, too: signals without noise, in which equal samples are usual.
METERS = CASES | {"instantaneous, 1 W": whole_watts, "window mean, 1 W": whole_means}


# Meters of loads of any shape, with a second of idle time before and after.
SHAPED: Mapping[str, Case] = {
    "exact counter": exact,
    "counter": counter,
    "counter, mWh": watt_hours,
    "counter, wraps": wraps,
    "counter, reset": resets,
    "reset, or wrap": resets_or_wraps,
    "mean, clock unsure": clock_unsure,
    "window mean": window_mean,
    "mean since asked": since_asked,
    "instantaneous": instantaneous,
}


# A power that never changes, with noise that is correlated.
CONSTANT: Mapping[str, Case] = {"constant, mean": constant_mean, "constant, inst.": constant_instantaneous}

# And these must not be doubted while they are well.
HEALTHY = METERS | {"instantaneous, 10 W": coarse, "level load, 1 W": level}
FALSE_RATIO = 0.05
EXACT_RATIO = 1e-6  # half an interval, below which a counter without an error has none


@dataclass(frozen=True)
class Coverage:
    """Of this many runs: in how many the interval held the truth, how many have an energy, how many are
    refused, the bias, half
    of the interval (median), that over the rms error, and in how many something is doubted, though nothing
    was wrong.
    """

    held_ratio: float
    count: int
    refused_count: int
    bias_ratio: float
    half_ratio: float
    wide_ratio: float
    doubted_count: int
    dominant: str

    @property
    def held(self) -> tuple[float, float]:
        """The 95 % interval of the share that held, by its count (E. B. Wilson)."""
        found = stats.binomtest(round(self.held_ratio * self.count), self.count).proportion_ci(
            method="wilson"
        )
        return float(found.low), float(found.high)


def coverage(
    case: Case,
    runs_count: int,
    seed: int = 1,
    asking: Asking = AT_ONCE,
    shape: Callable[[Dice, Window], Load] | None = None,
) -> Coverage:
    held, errors, halves, doubted, dominant = 0, list[float](), list[float](), 0, dict[str, int]()
    for run in range(runs_count):
        dice = np.random.default_rng([seed, run])
        began_s = dice.uniform(0, 10)
        ended_s = began_s + dice.uniform(20, 40)
        alone = shape is not None or run % 2 == 1
        window = (began_s, ended_s)
        found, load = case(dice, asking, shape(dice, window) if shape else window if alone else None)
        quiet = ((began_s - 1.0, began_s), (ended_s, ended_s + 1.0)) if alone else (QUIET_S,)
        stated = budget(found, began_s, ended_s, quiet=quiet)
        if stated is None:
            continue
        doubted += bool(amount(found, began_s, ended_s).doubts)
        true_j = load.energy(began_s, ended_s)
        errors.append(stated.value_j / true_j - 1)
        halves.append(stated.expanded_j / true_j)
        held += abs(stated.value_j - true_j) <= stated.expanded_j + 1e-9 * true_j  # of rounding
        if stated.dominant:
            dominant[stated.dominant.name] = dominant.get(stated.dominant.name, 0) + 1
    most = max(dominant, key=lambda name: dominant[name], default="")
    count, half_ratio = len(errors), float(np.median(halves)) if halves else np.nan
    wide_ratio = half_ratio / float(np.sqrt(np.mean(np.square(errors)))) if errors else np.nan
    bias_ratio = float(np.mean(errors)) if errors else np.nan
    return Coverage(
        held / max(count, 1), count, runs_count - count, bias_ratio, half_ratio, wide_ratio, doubted, most
    )


def bounded(runs_count: int, seed: int = 1, asking: Asking = AT_ONCE) -> float:
    """Of a meter that only tells states: how often its bound holds."""
    held = 0
    for run in range(runs_count):
        dice = np.random.default_rng([seed, run])
        load, polled = bursts(dice), Polled.at(dice, 5.0, asking)
        value = np.where(load.power(polled.looked_s) > 50.0, 62.0, 42.0)  # the most that each state draws
        began_s = dice.uniform(0, 10)
        ended_s = began_s + dice.uniform(20, 40)
        found = series("state", polled, value)
        assert amount(found, began_s, ended_s).value is None
        bound_j = most_j(found, began_s, ended_s)
        held += bound_j is not None and bound_j >= load.energy(began_s, ended_s)
    return held / runs_count


Fault = Callable[[Series, Window, Dice], Series]


def chosen(
    found: Series, index: Floats, *, value: Floats | None = None, later_s: Floats | float = 0.0
) -> Series:
    """These samples of a series, in this order, with other values or times."""
    return (found if value is None else replace(found, value=value)).at(index, later_s)


def within(found: Series, window: Window, length_s: float) -> Floats:
    """Which samples lie in this many seconds from a quarter of the window on."""
    from_s = window[0] + (window[1] - window[0]) / 4
    return (found.t_s >= from_s) & (found.t_s < from_s + length_s)


def late(found: Series, window: Window, dice: Dice) -> Series:
    """Some samples come after others that are younger."""
    order = np.arange(len(found.t_s), dtype=float)
    order[np.flatnonzero(within(found, window, 10.0))[::3]] += 2.5
    return chosen(found, np.argsort(order, kind="stable"))


def held_up(found: Series, window: Window, dice: Dice) -> Series:
    """The samples of 5 s come all at once, with the time of their coming."""
    held = within(found, window, 5.0)
    until_s = found.t_s[held][-1] + 1e-3 * np.arange(held.sum())
    t_s = found.t_s.copy()
    t_s[held] = until_s
    return replace(found, t_s=t_s)


def duplicate(found: Series, window: Window, dice: Dice) -> Series:
    """Some samples come twice."""
    times = np.ones(len(found.t_s), dtype=int)
    times[np.flatnonzero(within(found, window, 10.0))[::4]] = 2
    return chosen(found, np.repeat(np.arange(len(times)), times))


def missing(found: Series, window: Window, dice: Dice) -> Series:
    """The samples of 5 s are not there."""
    return chosen(found, np.flatnonzero(~within(found, window, 5.0)))


def frozen(found: Series, window: Window, dice: Dice) -> Series:
    """It says the same for 20 s and more."""
    value, stuck = found.value.copy(), within(found, window, 25.0)
    value[stuck] = value[stuck][0]
    return replace(found, value=value)


def not_a_number(found: Series, window: Window, dice: Dice) -> Series:
    """Three samples are an instrument's 9.91E37, three more are NaN."""
    value, where = found.value.copy(), np.flatnonzero(within(found, window, 10.0))
    value[where[1:4]], value[where[5:8]] = 9.91e37, np.nan
    return replace(found, value=value)


def wrap(found: Series, window: Window, dice: Dice) -> Series:
    """A counter falls back at a range that nobody stated."""
    if found.channel.semantics != "counter":
        return found
    stated = replace(found.channel.specification, range_value=None, most_w=None)
    return replace(found, channel=replace(found.channel, specification=stated))


def reset(found: Series, window: Window, dice: Dice) -> Series:
    """A counter begins again at 0; a power is 0 for as long as it starts."""
    after = found.t_s >= window[0] + (window[1] - window[0]) / 4
    value = found.value.copy()
    if found.channel.semantics == "counter":
        value[after] = (
            np.maximum(value[after] - value[after][0], 0.0)
            if (value[after] >= value[after][0]).all()
            else 0.0
        )
    else:
        value[np.flatnonzero(after)[:1]] = 0.0
    return replace(found, value=value)


def spike(found: Series, window: Window, dice: Dice) -> Series:
    """One sample is a hundred times too large."""
    value = found.value.copy()
    value[np.flatnonzero(within(found, window, 10.0))[3]] *= 100
    return replace(found, value=value)


def clock_ahead(found: Series, window: Window, dice: Dice) -> Series:
    """The meter's clock is set 10 s ahead."""
    return replace(found, t_s=found.t_s + 10.0 * (found.t_s >= sum(window) / 2))


def clock_back(found: Series, window: Window, dice: Dice) -> Series:
    """The meter's clock is set 5 s back."""
    return replace(found, t_s=found.t_s - 5.0 * (found.t_s >= sum(window) / 2))


def early(found: Series, window: Window, dice: Dice) -> Series:
    """A clock of its own dates the samples, and is up to 5 s ahead; they arrive within 50 ms."""
    arrived_s = found.t_s + dice.uniform(0, 0.05, len(found.t_s))
    return replace(found, t_s=found.t_s + dice.uniform(0.1, 5.0), asked_s=None, arrived_s=arrived_s)


def disconnect(found: Series, window: Window, dice: Dice) -> Series:
    """It is gone for 12 s; a counter has begun again since."""
    gone = within(found, window, 12.0)
    left = chosen(found, np.flatnonzero(~gone))
    return (
        reset(left, (found.t_s[gone][-1], found.t_s[gone][-1]), dice)
        if found.channel.semantics == "counter"
        else left
    )


def frozen_since_idle(found: Series, window: Window, dice: Dice) -> Series:
    """It says the same from before the load until a third of the window is over."""
    value, stuck = (
        found.value.copy(),
        (found.t_s > -10.0) & (found.t_s < window[0] + (window[1] - window[0]) / 3),
    )
    value[stuck] = value[stuck][0]
    return replace(found, value=value)


def spikes(found: Series, window: Window, dice: Dice) -> Series:
    """3 % of all samples are ten times too large, at least one of them in the window."""
    which = dice.uniform(0, 1, len(found.value)) < 0.03
    which[dice.choice(np.flatnonzero(within(found, window, 20.0)))] = True
    return replace(found, value=np.where(which, 10 * found.value, found.value))


def torn_pages(found: Series, window: Window, dice: Dice) -> Series:
    """Pages of an exporter, cut inside of the number for 4 s; what can't be read is a gap."""

    def read(value: float, cut: bool) -> float:
        page = f"# TYPE power gauge\npower {value:.6f}\n"
        try:
            return exposed(page[: -dice.integers(8, 10)] if cut else page, "power", {})[0].value
        except ValueError:
            return np.nan

    cuts = within(found, window, 4.0)
    return replace(found, value=np.array([read(*one) for one in zip(found.value, cuts, strict=True)]))


def equal_stamps(found: Series, window: Window, dice: Dice) -> Series:
    """The stamps are twice as coarse as the samples."""
    stamp_s = 2 * float(np.median(np.diff(found.t_s)))
    return replace(found, t_s=np.floor(found.t_s / stamp_s) * stamp_s)


def hardly_steps(found: Series, window: Window, dice: Dice) -> Series:
    """A counter is brought up to date every 10 to 60 s."""
    if found.channel.semantics != "counter":
        return found
    every_s, phase_s = dice.uniform(10, 60), dice.uniform(0, 60)
    updated = np.searchsorted(found.t_s, np.floor((found.t_s - phase_s) / every_s) * every_s + phase_s)
    return chosen(replace(found, value=found.value[updated]), np.arange(len(updated)))


def clock_behind(found: Series, window: Window, dice: Dice) -> Series:
    """A clock of the meter's own is 10 to 1000 s behind."""
    arrived_s = found.t_s if found.arrived_s is None else found.arrived_s
    behind_s = dice.uniform(10, 1000)
    return replace(
        found, t_s=found.t_s - behind_s, asked_s=np.full(len(found.t_s), np.nan), arrived_s=arrived_s
    )


FAULTS: tuple[Fault, ...] = (
    clock_behind,
    late,
    held_up,
    duplicate,
    equal_stamps,
    missing,
    frozen,
    frozen_since_idle,
    not_a_number,
    torn_pages,
    wrap,
    reset,
    hardly_steps,
    spike,
    spikes,
    clock_ahead,
    clock_back,
    early,
    disconnect,
)


@dataclass(frozen=True)
class Told:
    """Of this many runs with a fault: how many energies were refused, doubted, or stated without a word;
    the words of one.
    """

    refused_count: int = 0
    doubted_count: int = 0
    silent_count: int = 0
    example: str = ""


def kind(doubt: str) -> str:
    """A doubt without its numbers."""
    return "".join(c for c in doubt if not c.isdigit())


def told(case: Callable[[Dice], tuple[Series, Load]], fault: Fault, runs_count: int, seed: int = 1) -> Told:
    """Run one fault in one meter; doubts that it has without the fault don't count, nor do runs without
    the fault.
    """
    refused_count = doubted_count = silent_count = 0
    example = ""
    for run in range(runs_count):
        dice = np.random.default_rng([seed, run])
        clean, _ = case(dice)
        began_s = dice.uniform(0, 10)
        window = (began_s, began_s + dice.uniform(30, 40))
        found = fault(clean, window, dice)
        if found is clean:
            continue
        if (
            fault is wrap
            and not (np.diff(found.value[(found.t_s > window[0]) & (found.t_s < window[1])]) < 0).any()
        ):
            continue
        got, before = amount(found, *window), {kind(doubt) for doubt in amount(clean, *window).doubts}
        new = [doubt for doubt in got.doubts if kind(doubt) not in before]
        refused_count += got.value is None
        doubted_count += got.value is not None and bool(new)
        silent_count += got.value is not None and not new
        example = example or next(iter(new), "")
    return Told(refused_count, doubted_count, silent_count, example)


def false_alarms(
    case: Callable[[Dice], tuple[Series, Load]], runs_count: int, seed: int = 1
) -> tuple[float, str]:
    """How often a meter that works is doubted over the first 20 to 40 s of a load, and the words of one."""
    doubted, example = 0, ""
    for run in range(runs_count):
        dice = np.random.default_rng([seed, run])
        found, load = case(dice)
        began_s = float(load.edges_s[1])
        doubts = [
            d
            for d in amount(found, began_s, began_s + dice.uniform(20, 40)).doubts
            if "undersampled" not in d
        ]
        doubted += bool(doubts)
        example = example or next(iter(doubts), "")
    return doubted / runs_count, example


def judged(found: Coverage) -> tuple[bool, str]:
    """Whether a row is good, and what marks it."""
    low, high = found.held
    if high < 0.93 or (found.wide_ratio > 3 and found.half_ratio >= EXACT_RATIO):
        return False, "  <-- less than 93 %, or wider than 3 rms"
    return True, "  more than 97 %" if low > 0.97 else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    wrong = 0
    heads = f"{'semantics':17} {'request':>7} {'held':>6} {'of that count':>15} {'half/rms':>8}"
    print(heads, f"{'refused':>8} {'doubted':>8} {'bias':>8} {'half':>6}  dominant term")
    for name, case in {**CASES, **CONSTANT}.items():
        for took, asking in ASKING.items():
            found = coverage(case, asked.runs, asked.seed, asking)
            low, high = found.held
            good, mark = judged(found)
            wrong += not good
            row = (
                f"{name:17} {took:>7} {found.held_ratio:6.1%} {f'{low:.1%} to {high:.1%}':>15} "
                f"{found.wide_ratio:8.2f}"
            )
            counts = f"{found.refused_count:8} {found.doubted_count:8}"
            size = f"{found.bias_ratio:+8.3%} {found.half_ratio:6.2%}  {found.dominant}"
            print(row, counts, size, mark, flush=True)
    print(
        f"\n{'semantics':17} {'load':20} {'held':>6} {'of that count':>15} {'half/rms':>8} {'half':>6}  "
        "dominant term"
    )
    for name, case in SHAPED.items():
        for shape in SHAPES:
            found = coverage(case, asked.runs, asked.seed, shape=shape)
            low, high = found.held
            good, mark = judged(found)
            wrong += not good
            row = f"{name:17} {shape.__name__:20} {found.held_ratio:6.1%} {f'{low:.1%} to {high:.1%}':>15}"
            size = f"{found.wide_ratio:8.2f} {found.half_ratio:6.2%}  {found.dominant}"
            print(row, size, mark, flush=True)
    for took, asking in ASKING.items():
        kept = bounded(asked.runs, asked.seed, asking)
        wrong += kept < 1
        print(f"{'state':17} {took:>7} {kept:6.1%}   a bound, which must always hold", flush=True)
    print(f"\n{'meter that works':20} {'doubted':>8}  the first words of one")
    for name, case in HEALTHY.items():
        ratio, words = false_alarms(case, asked.runs, asked.seed)
        wrong += ratio > FALSE_RATIO
        print(f"{name:20} {ratio:8.1%}  {words.partition(': ')[2]}", flush=True)
    print(f"\n{'fault':17} {'meter':18} {'refused':>8} {'doubted':>8} {'silent':>7}  the first words of one")
    for fault in FAULTS:
        for name, case in METERS.items():
            seen = told(case, fault, max(20, asked.runs // 10), asked.seed)
            if seen != Told():
                wrong += seen.silent_count
                figures = f"{seen.refused_count:8} {seen.doubted_count:8} {seen.silent_count:7}"
                print(
                    f"{fault.__name__:17} {name:18} {figures}  {seen.example.partition(': ')[2]}", flush=True
                )
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
