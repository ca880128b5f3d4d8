"""What is known of a file system, to predict with: measured points, the numbers fitted to them, and how
wrong those have been.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from math import exp, inf, log
from typing import Any, Literal, cast

from perjoule.machine.untrusted import from_json, json_from
from perjoule.model import Direction, Json, Pattern
from perjoule.model.errors import CampaignError
from perjoule.model.units import MIB
from perjoule.prediction.bounds import Fleet, bound_bytes_per_s
from perjoule.prediction.fitting import Fit, draws, fit, pressing
from perjoule.prediction.observation import WAYS, Observation
from perjoule.prediction.validation import Level, Test, left_out, quantile_ratio

SUFFIX = ".json"
VERSION = 2  # of a profile; in version 1 numbers were fitted to a law that had reads written back
LEAST, MOST = 1e-12, 1e20  # of numbers in a file: no product of a few of them is 0 or infinite
# "trial": with what programs took to start and to report, and daemons without a load
CpuOf = Literal["window", "trial"]
# of all profiles of an earlier version, which don't say it
_PATTERN = Pattern(4 * MIB, "sequential", direct=False)
_UNLIMITED = ("at_once", "unit_bytes", "server_memory_bytes")
_POSITIVE = (
    *_UNLIMITED,
    *(field.name for field in fields(Fleet)),
    *("in_flight", "overlap", "on_disk_ratio", "fixed_s", "cpu_ratio"),
    *(
        "client_bytes",
        "in_flight_count",
        "throughput_bytes_per_s",
        "measured_bytes_per_s",
        "predicted_bytes_per_s",
    ),
)


@dataclass(frozen=True)
class Known:
    """One direction: the fit, fits to conditions drawn with replacement, and tests on points left out."""

    fit: Fit
    draws: tuple[Fit, ...]
    tests: tuple[Test, ...]  # of points left out

    def errors(self, level: Level) -> tuple[float, ...]:
        """Return ln(predicted / measured) at a level."""
        return tuple(test.error for test in self.tests if test.level == level)


@dataclass(frozen=True)
class Profile:
    """A file system as measured."""

    kind: str
    options: Mapping[str, Json]  # of the first trial: what is not set for a prediction
    release: str  # as its daemons said
    data_roles: tuple[str, ...]  # of the hosts that held data
    unit_bytes: float  # of a file, that lie on one group of hosts as a whole, as the driver declares
    emulated: bool  # whether the hosts were
    points: tuple[Observation, ...]
    known: Mapping[Direction, Known]
    pattern: Pattern = _PATTERN  # of the loads
    version: int = VERSION
    cpu_of: CpuOf = "trial"  # in which CPU time was counted; a profile of before does not say it

    @property
    def client_bytes(self) -> float:
        """What each client moved where it was measured; of several sizes the largest, by which rates are
        those that last.
        """
        return max(one.case.client_bytes for one in self.points)

    @property
    def in_flight_count(self) -> int:
        """The calls that each client had in flight where it was measured; of several numbers the smallest."""
        return round(min(one.case.in_flight_count for one in self.points))

    @property
    def digest(self) -> str:
        """A digest of what it was fitted to."""
        text = json.dumps([_digested(one) for one in self.points], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def _digested(one: Observation) -> Mapping[str, Any]:
    """Return a point as data; one call in flight is left out, as in profiles of an earlier version, and steps
    and bends of watts that its hardware has not.
    """
    data = asdict(one)
    if one.plant.steps is None:
        del data["plant"]["steps"]
    elif not one.plant.steps.cpu_w_per_cubed_mips:
        del data["plant"]["steps"]["cpu_w_per_cubed_mips"]
        del data["plant"]["steps"]["full_mips"]
    if one.case.in_flight_count == 1:
        del data["case"]["in_flight_count"]
    return data


def profile(
    kind: str,
    options: Mapping[str, Json],
    points: Sequence[Observation],
    *,
    release: str,
    data_roles: tuple[str, ...],
    unit_bytes: float,
    emulated: bool,
    pattern: Pattern = _PATTERN,
    cpu_of: CpuOf = "window",
) -> Profile:
    """Fit a profile. Raises CampaignError: there are too few points to learn from."""
    known: dict[Direction, Known] = {}
    for way in WAYS:
        own = [one for one in points if one.case.direction == way]
        if not own:
            continue
        counts = {float(one.case.fleet.clients_count) for one in own}
        if len(counts) < 2:
            raise CampaignError(
                f"{kind}, {way}: measured with one number of clients, which says nothing about others",
                next="measure two numbers of clients or more",
            )
        found = fit(own, unit_bytes)
        known[way] = Known(found, draws(own, unit_bytes, found), tuple(left_out(own, unit_bytes)))
    if not known:
        raise CampaignError(f"{kind}: no valid trial that a prediction can learn from")
    return Profile(
        kind, options, release, data_roles, unit_bytes, emulated, tuple(points), known, pattern, cpu_of=cpu_of
    )


def read(text: str, name: str) -> Profile:
    """Read a profile's file; one of an earlier version is fitted again to its points, which takes seconds.

    Raises CampaignError: it is not a profile, or its points differ from those that it was fitted to.
    """
    try:
        data: Json = json_from(text)
        if not isinstance(data, dict):
            raise ValueError("not a table")
        digest = data.pop("digest", None)
        found = from_json(Profile, data)
        _require_possible(asdict(found))
    except ValueError as error:
        raise CampaignError(
            f"not a profile: {error}", where=name, next="write one with `perjoule calibrate`"
        ) from None
    if digest != found.digest:
        raise CampaignError(
            "its points differ from those that it was fitted to", where=name, next="calibrate again"
        )
    return found if found.version == VERSION else _fitted_again(found)


def _fitted_again(earlier: Profile) -> Profile:
    return profile(
        earlier.kind,
        earlier.options,
        earlier.points,
        release=earlier.release,
        data_roles=earlier.data_roles,
        unit_bytes=earlier.unit_bytes,
        emulated=earlier.emulated,
        pattern=earlier.pattern,
        cpu_of=earlier.cpu_of,
    )


def _require_possible(value: Any, name: str = "") -> None:
    """Check that a profile's numbers can be computed with. Raises ValueError: one can't be."""
    if isinstance(value, Mapping):
        for key, one in cast("Mapping[str, Any]", value).items():
            _require_possible(one, key)
    elif isinstance(value, tuple | list):
        for one in cast("Sequence[Any]", value):
            _require_possible(one, name)
    elif isinstance(value, int | float):
        least = LEAST if name in _POSITIVE else -MOST
        if not least <= value <= MOST and not (value == inf and name in _UNLIMITED):
            raise ValueError(f"{name} is {value}, which is impossible")


@cache
def names() -> tuple[str, ...]:
    """List the profiles that come with perjoule."""
    there = files("perjoule.prediction").joinpath("profiles")
    return tuple(
        sorted(path.name.removesuffix(SUFFIX) for path in there.iterdir() if path.name.endswith(SUFFIX))
    )


@cache
def shipped(name: str) -> Profile:
    """Read a profile that comes with perjoule. Raises CampaignError: no profile has that name."""
    if name not in names():
        near = get_close_matches(name.lower(), names(), n=1)
        advice = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(names())}; or name a file"
        raise CampaignError(f'there is no profile "{name}"', next=advice)
    return read(files("perjoule.prediction").joinpath("profiles", f"{name}{SUFFIX}").read_text("utf-8"), name)


def band_ratio(known: Known, levels: Sequence[Level], share: float = 0.9) -> float:
    """Return the factor on either side of a prediction within which this share of points lay that were left
    out like it.

    With several levels their logarithms add up in quadrature. A level without enough points left out has the
    errors of all.
    """
    total = 0.0
    for level in levels:
        ratio = quantile_ratio(known.errors(level), share)
        if ratio == inf:
            ratio = quantile_ratio([test.error for test in known.tests], share)
        total += log(ratio) ** 2
    return exp(total**0.5)


def bound_shares(found: Profile) -> tuple[float, ...]:
    """Return each point's throughput over its bound."""
    return tuple(
        one.throughput_bytes_per_s
        / float(
            bound_bytes_per_s(pressing(found.known[one.case.direction].fit, one.case.flow), one.case.fleet)[0]
        )
        for one in found.points
    )
