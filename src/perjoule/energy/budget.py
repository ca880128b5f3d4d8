"""The uncertainty budget of an energy, according to the GUM: a list of terms, their sum, and a 95 % interval.

    JCGM 100:2008, Guide to the expression of uncertainty in measurement,
    https://www.bipm.org/en/committees/jc/jcgm/publications

Standard uncertainties add up in quadrature, except for those that meters of one name share (accuracy,
latency, clock), which add up linearly, because the same error is in all of them. The 95 % interval is that of
the largest rectangular term convolved with all others as one normal of Student's t with the degrees of
freedom of Welch and Satterthwaite (EA-4/02 M:2022, section S9: if a rectangular term dominates, 2 standard
uncertainties would promise too little).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import copysign, erf, exp, hypot, inf, pi, sqrt

from perjoule.statistics.distributions import CONFIDENCE_RATIO, student_quantile

NORMAL = 1.959964  # 95 % of a normal lie within this many standard deviations
LARGE_RATIO = 0.2  # of a dynamic energy, above which its uncertainty refuses it

# What would make a term smaller.
SHRINK = {
    "accuracy": "a meter of a better class, a smaller range, or a calibration",
    "stated number": "metering this part while the load runs",
    "resolution": "a smaller range, a finer meter, or a longer window",
    "noise": "a longer window, or more samples",
    "under-sampling": "sampling more often, or a meter that integrates",
    "edges": "sampling more often, or idle time around the window",
    "request": "a meter that answers faster, or a longer window",
    "delay": "a meter that answers faster, or idle time around the window",
    "latency": "idle time around the window, or a measured latency (`perjoule meters align`)",
    "clock": "aligning the meter's clock (`perjoule meters align`)",
    "update": "a longer window, or a meter that updates more often",
    "gaps": "a meter that loses no samples",
    "baseline": "a longer idle time before and after, or more load above idle",
    "board idle": "measuring a board that idles",
    "board dynamic": "measuring a board under load",
    "board step": "measuring a board with one core at work",
    "load": "metering the cluster under load",
    "CPU rating": "running 7-zip on the board",
    "disk idle": "measuring a disk that idles",
    "disk active": "measuring a disk under load",
    "disk step": "measuring a disk that hardly works",
    "supply": "measuring the power supply's losses",
    "supply without load": "measuring the power supply without load",
    "switch": "measuring the switch",
}


@dataclass(frozen=True)
class Term:
    """One source of error of an energy, as a standard uncertainty in joules."""

    name: str  # a key of SHRINK
    standard_j: float
    meter: str = ""
    shared: bool = False  # the same error is in every window of this meter
    repeated: bool = False  # the same error is in every repetition of this window, and in no other one
    rectangular: bool = False  # anything within sqrt(3) of it is as likely, and nothing beyond
    freedom: float = inf  # degrees of freedom
    # the part of it that is a wrong factor, which cancels in a ratio of two energies of one meter
    factor_j: float = 0.0
    # of a shared one, what is wrong: "odroid-hc4: idle of board odroid-hc4"; "" where meter and name say it
    source: str = ""
    sign: int = 1  # of a shared one, whether the energy rises or falls with it


@dataclass(frozen=True)
class Budget:
    """An energy (J) with its uncertainty terms; `unknown` lists what the meter does not state, so no term
    covers it.
    """

    value_j: float
    terms: tuple[Term, ...] = ()
    unknown: tuple[str, ...] = ()

    @cached_property
    def standard_j(self) -> float:
        """The combined standard uncertainty."""
        return hypot(*(term.standard_j for term in self.terms))

    @cached_property
    def expanded_j(self) -> float:
        """Half of the 95 % interval."""
        return expanded(self.terms)

    @cached_property
    def shared_j(self) -> float:
        """Half of the 95 % interval of the errors that repetitions on one meter share, and do not show."""
        return expanded([term for term in self.terms if term.shared or term.repeated])

    @property
    def coverage_factor(self) -> float:
        """The k of the GUM: expanded over standard uncertainty."""
        return self.expanded_j / self.standard_j if self.standard_j else NORMAL

    @property
    def dominant(self) -> Term | None:
        """The largest term."""
        return max((t for t in self.terms if t.standard_j > 0), key=lambda t: t.standard_j, default=None)

    @property
    def freedom(self) -> float:
        """Effective degrees of freedom, after Welch and Satterthwaite."""
        return freedom(self.terms)

    def times(self, factor: float) -> "Budget":
        """Return the same in another time or unit."""
        terms = tuple(
            replace(t, standard_j=t.standard_j * factor, factor_j=t.factor_j * factor) for t in self.terms
        )
        return Budget(self.value_j * factor, terms, self.unknown)

    @cached_property
    def shared(self) -> dict[str, float]:
        """Return the errors that repetitions share, by source: signed relative standard uncertainties."""
        errors: dict[str, float] = {}
        for term in self.terms:
            if not (term.shared or term.repeated):
                continue
            if term.name == "accuracy":
                pieces = {
                    f"{term.meter}: gain": term.factor_j,
                    f"{term.meter}: offset": term.standard_j - term.factor_j,
                }
            else:
                pieces = {term.source or f"{term.meter}: {term.name}": term.sign * term.standard_j}
            for source, error_j in pieces.items():
                if error_j:
                    errors[source] = errors.get(source, 0.0) + error_j / self.value_j
        return errors

    def and_terms(self, terms: Sequence[Term]) -> "Budget":
        """Return the same with additional terms."""
        return replace(self, terms=(*self.terms, *terms))

    def sharing(self, names: Sequence[str]) -> "Budget":
        """Return the same with these terms alone."""
        return replace(self, terms=tuple(t for t in self.terms if t.name in names))


def freedom(terms: Sequence[Term]) -> float:
    """Return the effective degrees of freedom of terms, after Welch and Satterthwaite (GUM, G.4)."""
    below = sum(t.standard_j**4 / t.freedom for t in terms if t.freedom < inf)
    return hypot(*(t.standard_j for t in terms)) ** 4 / below if below else inf


def expanded(terms: Sequence[Term]) -> float:
    """Return half of the 95 % interval of a sum of errors."""
    flat = max((t for t in terms if t.rectangular), key=lambda t: t.standard_j, default=None)
    remaining = [t for t in terms if t is not flat]
    count = freedom(remaining)
    student = student_quantile(max(count, 1.0)) if count < inf else NORMAL
    spread = hypot(*(t.standard_j for t in remaining)) * student / NORMAL
    return folded(sqrt(3) * flat.standard_j if flat else 0.0, spread)


def folded(half: float, spread: float) -> float:
    """Return half of the 95 % interval of the sum of a rectangular error within +-half and a normal one of
    this deviation.
    """
    if spread <= 1e-9 * half or not half:
        return NORMAL * spread if not half else CONFIDENCE_RATIO * half

    def upto(z: float) -> float:  # the integral of erf(z / sqrt(2)) / 2
        return z * erf(z / sqrt(2)) / 2 + exp(-z * z / 2) / sqrt(2 * pi)

    def within(bound: float) -> float:
        return spread / half * (upto((bound + half) / spread) - upto((bound - half) / spread))

    return _root(lambda bound: within(bound) - CONFIDENCE_RATIO, 0.0, half + NORMAL * spread)


def _root(rising: Callable[[float], float], low: float, high: float) -> float:
    while low < (middle := (low + high) / 2) < high:  # until no number lies between them
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return middle


def combined(parts: Sequence[tuple[int, Budget]]) -> Budget:
    """Add and subtract energies.

    Errors that meters of one name share add up linearly among those that are added, and among those that are
    subtracted; whether they would cancel between these two is unknown.
    """
    shared: dict[tuple[str, str, int], list[Term]] = {}
    independent: dict[tuple[str, bool], list[Term]] = {}
    for sign, part in parts:
        for term in part.terms:
            (
                shared.setdefault((term.name, term.meter, sign), [])
                if term.shared
                else independent.setdefault((term.name, term.repeated), [])
            ).append(term)
    terms: list[Term] = []
    for group in shared.values():
        total = replace(
            group[0],
            standard_j=sum(t.standard_j for t in group),
            factor_j=sum(t.factor_j for t in group),
            sign=int(copysign(1, sum(t.sign * t.standard_j for t in group))),
        )
        terms.append(total)
    for group in independent.values():
        meters = {t.meter for t in group}
        total = replace(group[0], standard_j=hypot(*(t.standard_j for t in group)), freedom=freedom(group))
        terms.append(
            replace(
                total,
                rectangular=total.rectangular and len(group) == 1,
                meter=meters.pop() if len(meters) == 1 else "",
            )
        )
    unknown = dict.fromkeys(name for _, part in parts for name in part.unknown)
    return Budget(sum(sign * part.value_j for sign, part in parts), tuple(terms), tuple(unknown))


def edp_uncertainty(power_ratio: float, time_ratio: float, weight: int = 1) -> float:
    """Return the relative standard uncertainty of E * t^w = P * t^(w+1) from those of power and time,
    which are independent.
    """
    return hypot(power_ratio, (weight + 1) * time_ratio)
