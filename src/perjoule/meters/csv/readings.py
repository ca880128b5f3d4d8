"""What readings together show of how they are declared: as power or a counter, in one unit, of one meter. Of a whole log,
or of a trial.
"""

from math import nan
from typing import TYPE_CHECKING

import numpy as np

from perjoule.drivers.protocols import Sink
from perjoule.meters.csv.several import in_turns, mixture
from perjoule.model import Channel
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.series import Floats

if TYPE_CHECKING:
    from perjoule.meters.csv import Csv

LEAST_FALLS_COUNT, MOST_FALLS_RATIO = 3, 0.2  # of steps down, that are no resets of a counter
# of a counter that is read at each of its steps: how many readings, of which each is above the one before, as those of a
# power are not by chance; which share of them; and by how much of their mean its steps scatter
RISES_COUNT, RISES_RATIO, SCATTER_RATIO = 20, 0.9, 1.0
# of one that is read more often than it steps: how many steps, how evenly they come, and their share of what it counted
STEPS_COUNT, EVEN_RATIO, SHARE_RATIO = 8, 0.3, 0.1
# of a number before which, or behind which, one is in the thousandfold unit: how many times as large it is, and how large
THOUSAND_RATIOS, THOUSANDS = (800.0, 1250.0), (500.0, 2000.0)
SHORT_COUNT = 12  # rows, of which intervals may rise by chance
INTERVALS_W = (0.1, 20_000.0)  # what energies of intervals make, if they are that
# readings that rise, those of each meter in turns, and how far apart these are: too little to be sure, and too much for chance
FEW_RISES_COUNT, FEW_TURNS_COUNT, SLIGHT_TURNS_RATIO = 8, 6, 0.003
MOST_KEPT_COUNT = 100_000  # of a trial


def contradiction(meter: "Csv", values: Floats) -> tuple[str, str]:
    """Return what the numbers (W, J) of a log show against its declaration, and what to do; ("", "") if nothing."""
    readings = values[np.isfinite(values)]
    if meter.counts == "energy" and meter.range_j is None and _falls(readings):
        fault = "its energies fall as steps of a counter don't: they are of intervals, not energy so far"
        return fault, "import the counter, or the power"
    if meter.counts == "power" and not meter.names_unit:
        if _is_counter(meter, readings, RISES_COUNT):
            fault = f'its numbers only rise, as those of a counter of energy do, and unit is "{meter.unit}"'
            return fault, 'declare semantics = "counter" and its unit, or import the power'
        if _switches(readings / meter.factor):
            fault = "its numbers jump by a factor of 1000: the meter changed its unit, and nothing says where"
            return fault, "export the unit with each number"
    return "", ""


def doubts(meter: "Csv", t_s: Floats, values: Floats) -> tuple[Doubt, ...]:
    """Doubt readings that are too few, or too little apart, to tell another meaning from the declared one: a counter that
    may be energies of intervals, a power that may be a counter, or of several meters in turns.
    """
    is_number = np.isfinite(values)
    readings, ended_s = values[is_number], t_s[is_number]
    if meter.counts == "energy":
        return _of_energies(meter, ended_s, readings)
    if not meter.names_unit and _is_counter(meter, readings, FEW_RISES_COUNT):
        return (METERS.only_rises(meter=meter.label, count=len(readings)),)
    if _one_meter(meter) and (np.diff(ended_s) > 0).all():
        count = in_turns(readings, least_count=FEW_TURNS_COUNT, least_ratio=SLIGHT_TURNS_RATIO)
        return (METERS.in_turns(meter=meter.label, meters_count=count),) if count else ()
    return ()


def of_trial(meter: "Csv", t_s: Floats, values: Floats) -> tuple[Doubt, ...]:
    """Doubt the readings of a trial by all that a whole log would be refused or doubted for."""
    fault, _ = contradiction(meter, values)
    if not fault and _one_meter(meter):
        fault = mixture(t_s, values)
    if fault:
        return (METERS.not_as_declared(meter=meter.label, fault=fault),)
    return doubts(meter, t_s, values)


class KeptReadings(Sink):
    """Keeps the times and numbers of samples that it passes on, to be judged together."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.t_s: list[float] = []
        self.values: list[float] = []

    def append(
        self,
        channel: Channel,
        t_s: float,
        value: float,
        duration_s: float = 0.0,
        asked_s: float = nan,
        arrived_s: float = nan,
    ) -> None:
        """Take one sample."""
        self._sink.append(channel, t_s, value, duration_s, asked_s, arrived_s)
        if len(self.values) < MOST_KEPT_COUNT:
            self.t_s.append(t_s)
            self.values.append(value)


def _one_meter(meter: "Csv") -> bool:
    """Return whether each row is said to be a power of the same thing."""
    return meter.counts == "power" and not meter.by and not meter.changes_only


def _of_energies(meter: "Csv", ended_s: Floats, energies_j: Floats) -> tuple[Doubt, ...]:
    if meter.range_j is not None or not 2 < len(energies_j) <= SHORT_COUNT:
        return ()
    least_w, most_w = INTERVALS_W
    intervals_w = float(np.median(energies_j[1:] / np.maximum(np.diff(ended_s), 1e-9)))
    if not least_w <= intervals_w <= most_w or energies_j[-1] - energies_j[0] > abs(energies_j[0]):
        return ()
    return (METERS.counter_or_intervals(meter=meter.label, rows_count=len(energies_j), power_w=intervals_w),)


def _falls(energies_j: Floats) -> bool:
    """Return whether energies fall too often for a counter that is reset now and then."""
    steps_j = np.diff(energies_j)
    falls_count = int((steps_j < 0).sum())
    return falls_count >= LEAST_FALLS_COUNT and falls_count > MOST_FALLS_RATIO * int((steps_j != 0).sum())


def _is_counter(meter: "Csv", readings: Floats, least_count: int) -> bool:
    """Return whether numbers are energy so far: at least so many rise from each to the next, or in equal steps at equal
    intervals. An average may rise for as long as it averages.
    """
    steps = np.diff(readings)
    if meter.semantics == "average" or len(readings) < least_count or steps.min() < 0:
        return False
    places = np.flatnonzero(steps)
    rises = steps[places]
    if len(rises) >= RISES_RATIO * len(steps):
        return bool(rises.std() <= SCATTER_RATIO * rises.mean())
    if len(rises) < STEPS_COUNT or rises.sum() > SHARE_RATIO * abs(readings[-1]):
        return False
    between = np.diff(places)
    return bool(np.allclose(rises, rises[0], rtol=0.01) and between.std() <= EVEN_RATIO * between.mean())


def _switches(readings: Floats) -> bool:
    """Return whether a number is in another unit than the one before it."""
    sizes = np.abs(readings)
    low, high = np.minimum(sizes[1:], sizes[:-1]), np.maximum(sizes[1:], sizes[:-1])
    (least_ratio, most_ratio), (least, most) = THOUSAND_RATIOS, THOUSANDS
    return bool(
        ((high >= least_ratio * low) & (high <= most_ratio * low) & (high >= least) & (high <= most)).any()
    )
