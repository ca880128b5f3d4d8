"""What the profiles that come with perjoule say of file systems, as quantities of a plan."""

from functools import cache
from statistics import median

from perjoule import prediction
from perjoule.catalogue.quantities import Quantity, exact
from perjoule.model import Direction, Redundancy
from perjoule.prediction import LEVELS, Law, Profile, band_ratio, bound_shares, ends, parameters

OTHER_CPU_RATIO = 2.0  # by which the work may differ on another CPU of the same rating, to either side


def server_cpu(filesystem: str, direction: Direction) -> Quantity | None:
    """Return 7-zip MIPS x seconds of the servers for each byte at their disks: the median of a profile's
    points.

    The interval holds all points, and what another CPU may need; see `perjoule docs plan`. None without such a
    profile.
    """
    found = _profile(filesystem, direction)
    if found is None:
        return None
    points = [one for one in found.points if one.case.direction == direction]
    works = [
        one.server_mips_s_per_byte / (one.case.flow.disk_read_ratio + one.case.flow.disk_written_ratio)
        for one in points
        if one.server_mips_s_per_byte > 0
    ]
    if not works:
        return None
    value = median(works)
    low, high = min(*works, value / OTHER_CPU_RATIO), max(*works, value * OTHER_CPU_RATIO)
    return Quantity(value, low, high, "measured", f"{_source(found)}, {len(works)} points")


def law(filesystem: str, direction: Direction, kept: Redundancy) -> Law | None:
    """Return the law by which `predict` would say how fast it is. None without a profile."""
    found = _profile(filesystem, direction)
    return found and prediction.law(found, direction, kept)


@cache
def trust(filesystem: str, direction: Direction) -> Quantity:
    """Return throughput over that of the law: 1, with the 90 % band of points that differed from all
    others at every level.
    """
    found = prediction.shipped(filesystem)
    ratio = band_ratio(found.known[direction], LEVELS)
    return Quantity(
        1.0, 1 / ratio, ratio, "measured", f"{_source(found)}, errors of points that were left out"
    )


@cache
def at_once(filesystem: str, direction: Direction) -> Quantity:
    """Return the stations that one client uses at once, as far apart as a profile's points let it be."""
    found = prediction.shipped(filesystem)
    number = next((one for one in parameters(found, direction) if one.name == "at_once"), None)
    if number is None:
        return exact(1.0, "a client that reads units which lie on one group of hosts as a whole")
    far = [fit.way.at_once for fit in ends(found, direction).get("at_once", ())] or [number.low, number.high]
    return Quantity(number.value, min(far), max(far), "fitted", _source(found))


@cache
def reached(direction: Direction) -> Quantity:
    """Return throughput over the bound of a file system without a profile: what the points of all profiles
    reach.
    """
    profiles = [prediction.shipped(name) for name in prediction.names()]
    shares = [
        share
        for found in profiles
        for share, one in zip(bound_shares(found), found.points, strict=True)
        if one.case.direction == direction
    ]
    source = f"{len(shares)} points of {', '.join(prediction.names())}"
    return Quantity(median(shares), min(shares), max(shares), "assumed", source)


def _profile(filesystem: str, direction: Direction) -> Profile | None:
    found = prediction.shipped(filesystem) if filesystem in prediction.names() else None
    return found if found and direction in found.known else None


def _source(found: Profile) -> str:
    return f"profile of {found.kind} {found.release} on {'emulated' if found.emulated else 'real'} hosts"
