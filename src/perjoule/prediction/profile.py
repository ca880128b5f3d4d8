"""What is known of a file system, to predict with: measured points, the numbers fitted to them, and how wrong those have been."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from math import exp, inf, log
from typing import Any, cast

import numpy as np

from perjoule.machine.untrusted import from_json, json_from
from perjoule.model import Direction, Json
from perjoule.model.errors import CampaignError
from perjoule.prediction.bounds import Fleet, bound_bytes_per_s
from perjoule.prediction.fitting import Fit, draws, fit, pressing
from perjoule.prediction.fitting import throughput_bytes_per_s as rate
from perjoule.prediction.observation import WAYS, Observation
from perjoule.prediction.validation import Level, Test, left_out, quantile_ratio

IDENTIFIED_RATIO = 4.0  # the end of a parameter's 90 % interval over its begin, above which nothing is known of it
SEEN_RATIO = 0.01
SUFFIX = ".json"
LEAST, MOST = 1e-12, 1e20  # of numbers in a file: no product of a few of them is 0 or infinite
_UNLIMITED = ("at_once", "unit_bytes", "server_memory_bytes")
_POSITIVE = (
    *_UNLIMITED,
    *(field.name for field in fields(Fleet)),
    *("in_flight", "overlap", "on_disk_ratio", "fixed_s", "cpu_ratio"),
    *("client_bytes", "throughput_bytes_per_s", "measured_bytes_per_s", "predicted_bytes_per_s"),
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
    version: int = 1  # of this format

    @property
    def digest(self) -> str:
        """A digest of what it was fitted to."""
        text = json.dumps([asdict(one) for one in self.points], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def profile(
    kind: str,
    options: Mapping[str, Json],
    points: Sequence[Observation],
    *,
    release: str,
    data_roles: tuple[str, ...],
    unit_bytes: float,
    emulated: bool,
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
    return Profile(kind, options, release, data_roles, unit_bytes, emulated, tuple(points), known)


@dataclass(frozen=True)
class Parameter:
    """A number of a fit, with its 90 % interval over draws; identified if the points say what it is."""

    name: str
    value: float
    low: float
    high: float
    identified: bool


WAY = ("in_flight", "overlap", "on_disk_ratio", "fixed_s", "at_once", "cpu_ratio")
SHARES = ("on_disk_ratio", "cpu_ratio")
WORKS = ("client_mips_s_per_byte", "server_mips_s_per_byte")


def parameters(found: Profile, direction: Direction) -> tuple[Parameter, ...]:
    """List the numbers of a direction.

    One is identified if its interval's ends are within a factor of IDENTIFIED_RATIO (of a share near 1: of its distance to 1)
    and, unless it was counted, if twice or half of it would move the throughput of a measured point by SEEN_RATIO or more.
    """
    known = found.known[direction]
    points = [one for one in found.points if one.case.direction == direction]
    listed: list[Parameter] = []
    whole = found.unit_bytes < inf  # then these follow from how units lie
    unused = {"in_flight", "at_once"} if whole and direction == "read" else {"in_flight"} if whole else set[str]()
    for name in (*(name for name in WAY if name not in unused), *WORKS):
        part = "way" if name in WAY else "works"
        value = float(getattr(getattr(known.fit, part), name))
        drawn = np.array([float(getattr(getattr(draw, part), name)) for draw in known.draws])
        low, high = (float(end) for end in np.quantile(drawn, [0.05, 0.95]))
        near = (1 - high, 1 - low) if name in SHARES and value > 1 / 2 else (low, high)
        sure = near[0] > 0 and near[1] <= IDENTIFIED_RATIO * near[0]
        listed.append(Parameter(name, value, low, high, sure and (name in WORKS or _seen(found, known.fit, name, points))))
    return tuple(listed)


def _seen(found: Profile, fitted: Fit, name: str, points: Sequence[Observation]) -> bool:
    value = float(getattr(fitted.way, name))
    least = 1.0 if name == "overlap" else 0.0
    others = [min(1.0, 2 * value) if name in SHARES else 2 * value, max(least, value / 2)]
    moved = [replace(fitted, way=replace(fitted.way, **{name: other})) for other in others]
    changes = (
        abs(log(rate(other, one.case, found.unit_bytes) / rate(fitted, one.case, found.unit_bytes)))
        for other in moved
        for one in points
    )
    return max(changes) >= SEEN_RATIO


def read(text: str, name: str) -> Profile:
    """Read a profile's file. Raises CampaignError: it is not a profile, or its points differ from those that it was fitted to."""
    try:
        data: Json = json_from(text)
        if not isinstance(data, dict):
            raise ValueError("not a table")
        digest = data.pop("digest", None)
        found = from_json(Profile, data)
        _require_possible(asdict(found))
    except ValueError as error:
        raise CampaignError(f"not a profile: {error}", where=name, next="write one with `perjoule calibrate`") from None
    if digest != found.digest:
        raise CampaignError("its points differ from those that it was fitted to", where=name, next="calibrate again")
    return found


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
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in there.iterdir() if path.name.endswith(SUFFIX)))


@cache
def shipped(name: str) -> Profile:
    """Read a profile that comes with perjoule. Raises CampaignError: no profile has that name."""
    if name not in names():
        near = get_close_matches(name.lower(), names(), n=1)
        advice = f'did you mean "{near[0]}"?' if near else f"known: {', '.join(names())}; or name a file"
        raise CampaignError(f'there is no profile "{name}"', next=advice)
    return read(files("perjoule.prediction").joinpath("profiles", f"{name}{SUFFIX}").read_text("utf-8"), name)


def band_ratio(known: Known, levels: Sequence[Level], share: float = 0.9) -> float:
    """Return the factor on either side of a prediction within which this share of points lay that were left out like it.

    With several levels their logarithms add up in quadrature. A level without enough points left out lends the next one's.
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
        / float(bound_bytes_per_s(pressing(found.known[one.case.direction].fit, one.case.flow), one.case.fleet)[0])
        for one in found.points
    )
