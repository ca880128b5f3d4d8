"""What the profiles that come with perjoule say of file systems, as quantities of a plan."""

from functools import cache
from math import exp, hypot, log
from statistics import median

from perjoule import prediction
from perjoule.catalogue.quantities import Quantity, exact
from perjoule.model import Direction, Redundancy
from perjoule.prediction import LEVELS, Law, Profile, band_ratio, bound_shares, ends, parameters, scores
from perjoule.prediction.elsewhere import band_factor

_MACHINE = "of another machine what papers printed (perjoule ledger)"
OTHER_CPU_RATIO = 2.0  # by which the work may differ on another CPU of the same rating, to either side


def server_cpu(filesystem: str, direction: Direction) -> Quantity | None:
    """Return 7-zip MIPS x seconds of the servers for each byte at their disks: the median of a profile's
    points.

    The interval holds all points, and what another CPU may need; see `perjoule docs plan`. None without such a
    profile.
    """
    profile = _profile(filesystem, direction)
    if profile is None:
        return None
    points = [point for point in profile.points if point.case.direction == direction]
    works = [
        point.server_mips_s_per_byte / (point.case.flow.disk_read_ratio + point.case.flow.disk_written_ratio)
        for point in points
        if point.server_mips_s_per_byte > 0
    ]
    if not works:
        return None
    value = median(works)
    low, high = min(*works, value / OTHER_CPU_RATIO), max(*works, value * OTHER_CPU_RATIO)
    return Quantity(value, low, high, "measured", f"{_source(profile)}, {len(works)} points")


def law(filesystem: str, direction: Direction, redundancy: Redundancy) -> Law | None:
    """Return the law by which `predict` would say how fast it is. None without a profile."""
    profile = _profile(filesystem, direction)
    return profile and prediction.law(profile, direction, redundancy)


@cache
def rival(filesystem: str, direction: Direction) -> scores.Rival | None:
    """Return the simpler model that erred no more than this law about points left out. None without one, or
    without a profile.
    """
    profile = _profile(filesystem, direction)
    return profile and scores.rival(profile.known[direction].tests)


@cache
def trust(filesystem: str, direction: Direction) -> Quantity:
    """Return throughput over that of the law: 1, with the 90 % band of points that differed from all
    others at every level, and of another machine than those emulated.
    """
    profile = prediction.shipped(filesystem)
    ratio = band_ratio(profile.known[direction], LEVELS)
    source = f"{_source(profile)}, errors of points that were left out"
    if profile.emulated:
        ratio, source = _with_machine(ratio), f"{source}; {_MACHINE}"
    return Quantity(1.0, 1 / ratio, ratio, "measured", source)


@cache
def at_once(filesystem: str, direction: Direction) -> Quantity:
    """Return the stations that one client uses at once, as far apart as a profile's points let it be."""
    profile = prediction.shipped(filesystem)
    number = next(
        (parameter for parameter in parameters(profile, direction) if parameter.name == "at_once"), None
    )
    if number is None:
        return exact(1.0, "a client that reads units which lie on one group of hosts as a whole")
    far = [fit.way.at_once for fit in ends(profile, direction).get("at_once", ())] or [
        number.low,
        number.high,
    ]
    return Quantity(number.value, min(far), max(far), "fitted", _source(profile))


@cache
def reached(direction: Direction) -> Quantity:
    """Return throughput over the bound of a file system without a profile: what the points of all profiles
    reach.
    """
    profiles = [prediction.shipped(name) for name in prediction.names()]
    shares = [
        share
        for profile in profiles
        for share, point in zip(bound_shares(profile), profile.points, strict=True)
        if point.case.direction == direction
    ]
    value, source = median(shares), f"{len(shares)} points of {', '.join(prediction.names())}; {_MACHINE}"
    low = value / _with_machine(value / min(shares))
    return Quantity(value, low, max(shares), "assumed", source)  # faster than its bound it is nowhere


def _with_machine(ratio: float) -> float:
    """Return a band with what another machine adds: their logarithms add up in quadrature."""
    return exp(hypot(log(ratio), log(band_factor())))


def _profile(filesystem: str, direction: Direction) -> Profile | None:
    profile = prediction.shipped(filesystem) if filesystem in prediction.names() else None
    return profile if profile and direction in profile.known else None


def _source(profile: Profile) -> str:
    return (
        f"profile of {profile.kind} {profile.release} on {'emulated' if profile.emulated else 'real'} hosts"
    )
