"""Which numbers of a profile its points determine, and how far from its value each of the others may be."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from math import inf

import numpy as np
from numpy.typing import NDArray

from perjoule.energy.once import once
from perjoule.model import Direction
from perjoule.prediction.bounds import Demand
from perjoule.prediction.fitting import NUMBERS, Fit, Works, jobs, moved
from perjoule.prediction.power import Plant, mean_w
from perjoule.prediction.profile import Profile
from perjoule.prediction.queueing import Job, duration_s

# the end of a parameter's 90 % interval over its begin, above which nothing is known of it
IDENTIFIED_RATIO = 4.0
SEEN_RATIO = 0.01
STEP_COUNT = 4  # steps in a factor of two
SHARES = ("on_disk_ratio", "cpu_ratio")
BESIDE = "CPU time beside the load"
BESIDE_RATIO = (
    # by which CPU time of whole trials was at most more than that of the load, of loads of seconds (fio: 1.4
    # to 1.9)
    2.0
)
WORKS = ("client_mips_s_per_byte", "server_mips_s_per_byte")


@dataclass(frozen=True)
class Parameter:
    """A number of a fit, with its 90 % interval over draws; identified if the points say what it is."""

    name: str
    value: float
    low: float
    high: float
    identified: bool


def parameters(found: Profile, direction: Direction) -> tuple[Parameter, ...]:
    """List the numbers of a direction.

    One is identified if its interval's ends are within a factor of IDENTIFIED_RATIO (of a share near 1: of
    its distance to 1) and, unless it was counted, if twice or half of it would move the throughput of a
    measured point by SEEN_RATIO or more.
    """
    known, measured = found.known[direction], _measured(found, direction)
    listed: list[Parameter] = []
    whole, read = found.unit_bytes < inf, direction == "read"
    # two follow from how units lie
    unused = {"in_flight": whole, "at_once": whole and read, "on_disk_ratio": read}
    for name in (*(name for name in NUMBERS if not unused.get(name)), *WORKS):
        value = _value(known.fit, name)
        low, high = (
            float(end) for end in np.quantile([_value(draw, name) for draw in known.draws], [0.05, 0.95])
        )
        near = (1 - high, 1 - low) if name in SHARES and value > 1 / 2 else (low, high)
        sure = near[0] > 0 and near[1] <= IDENTIFIED_RATIO * near[0]
        seen = name in WORKS or any(
            _seen(known.fit, _off(known.fit, name, by), measured) for by in (0.5, 2.0)
        )
        listed.append(Parameter(name, value, low, high, sure and seen))
    return tuple(listed)


@once
def ends(found: Profile, direction: Direction) -> Mapping[str, tuple[Fit, Fit]]:
    """Return, for each number that is not identified, fits in which it is as small and as large as it may be.

    That is half and twice of it (of a share: of its odds; of `overlap`: of what it is above 1), or further as
    long as the throughput of no measured point moves by SEEN_RATIO. Of CPU work that was counted over whole
    trials, it is all and the load's.
    """
    fit, measured = found.known[direction].fit, _measured(found, direction)
    names = [one.name for one in parameters(found, direction) if not one.identified]
    found_ends = {name: (_end(fit, name, 1 / 2, measured), _end(fit, name, 2.0, measured)) for name in names}
    return found_ends | ({BESIDE: (fit, _inside(found, direction))} if found.cpu_of == "trial" else {})


def counted_ratios(found: Profile, direction: Direction) -> NDArray[np.float64]:
    """Return the servers' CPU work that points have over that in the window, as modelled watts of the window
    say.

    Those are linear in it, but where a board has a step or bend: such points tell nothing. What disks took of
    them is computed by the bytes of the layout. Shape (P,), of points with power.
    """
    ratios: list[float] = []
    for one in found.points:
        if one.mean_w is None or one.case.direction != direction or _is_bent(one.plant):
            continue
        disks_only = Demand(one.case.flow)
        more_w = one.mean_w - float(mean_w(one.plant, disks_only, one.throughput_bytes_per_s))
        inside = more_w / one.throughput_bytes_per_s / one.plant.joules_per_mips_s
        ratios += [one.server_mips_s_per_byte / inside] if inside > 0 else []
    return np.array(ratios)


def _is_bent(plant: Plant) -> bool:
    """Return whether watts are no linear function of the work of CPUs."""
    return plant.steps is not None and bool(plant.steps.cpu_w or plant.steps.cpu_w_per_cubed_mips)


def _inside(found: Profile, direction: Direction) -> Fit:
    """Return a fit without the CPU work that its trials did beside the load, as far as it may be."""
    fit, ratios = found.known[direction].fit, counted_ratios(found, direction)
    servers_ratio = max(1.0, float(np.median(ratios))) if found.emulated and ratios.size else BESIDE_RATIO
    works = fit.works
    return replace(
        fit,
        works=Works(
            works.client_mips_s_per_byte / BESIDE_RATIO, works.server_mips_s_per_byte / servers_ratio
        ),
    )


def _end(fit: Fit, name: str, ratio: float, measured: Job) -> Fit:
    before = fit
    for steps_count in count(STEP_COUNT):
        end = _off(fit, name, ratio ** (steps_count / STEP_COUNT))
        if name in WORKS or end == before or _seen(fit, end, measured):
            return end
        before = end
    raise AssertionError  # a number has a largest and a smallest value


def _off(fit: Fit, name: str, ratio: float) -> Fit:
    if name in WORKS:
        return replace(fit, works=replace(fit.works, **{name: ratio * _value(fit, name)}))
    return replace(fit, way=moved(fit.way, name, ratio))


def _seen(fit: Fit, other: Fit, measured: Job) -> bool:
    changes = np.abs(np.log(duration_s(other.way, measured) / duration_s(fit.way, measured)))
    return float(np.max(changes)) >= SEEN_RATIO


def _value(fit: Fit, name: str) -> float:
    return float(getattr(fit.works if name in WORKS else fit.way, name))


def _measured(found: Profile, direction: Direction) -> Job:
    cases = dict.fromkeys(one.case for one in found.points if one.case.direction == direction)
    return jobs(found.known[direction].fit, tuple(cases), found.unit_bytes)
