"""Whether a stored value is what is computed now, but for rounding.

Another processor, or another numpy, adds up in another order. So a number may differ by a share of itself,
and by a far smaller share of the largest amount that it may be a difference of: 1e-18 J are 0 J. Whole
numbers, words and moments don't scale: whole numbers and words must be equal, and moments to a few steps of a
float.
"""

import json
from math import isfinite, ulp

import numpy as np

from perjoule.model import SAMPLE, Json, Series
from perjoule.model.units import spaced_percents

RATIO = 1e-9  # of a number
NOISE_RATIO = 1e-13  # of the largest amount that it is a difference of
MOMENT_ULPS = 16  # steps of a float that a moment may differ by: 4 us of UTC
MOMENTS = ("began_s", "ended_s", "t_s", "utc_s", "monotonic_s")


def close(stored: float, again: float, scale: float = 0.0) -> bool:
    """Return whether two numbers differ by rounding only; `scale` is the largest amount that they may be
    differences of.
    """
    if not (isfinite(stored) and isfinite(again)):
        return stored == again or (stored != stored and again != again)
    return abs(stored - again) <= max(RATIO * max(abs(stored), abs(again)), NOISE_RATIO * scale)


def differing(stored: Json, again: Json, scale: float = 1.0, path: str = "") -> str:
    """Return where two JSON values first differ, with both in full; "" if only by rounding."""
    match stored, again:
        case (bool(), _) | (_, bool()) | (int(), int()):
            same = stored == again and type(stored) is type(again)
        case ((int() | float()), (int() | float())):
            steps = MOMENT_ULPS * ulp(max(abs(stored), abs(again)))
            moment = path.rpartition(".")[2] in MOMENTS
            same = abs(stored - again) <= steps if moment else close(stored, again, scale)
        case str(), str():
            same = stored == again or spaced_percents(stored) == spaced_percents(again)
        case list(), list() if len(stored) == len(again):
            pairs = enumerate(zip(stored, again, strict=True))
            return next(
                (difference for n, (a, b) in pairs if (difference := differing(a, b, scale, f"{path}[{n}]"))),
                "",
            )
        case {"kind": kind, "text": text, **rest}, {"kind": str(), "text": str(), **named} if (
            rest != named and not rest
        ):
            older = {"kind": kind, "text": text}  # a doubt that was stored before doubts had ids
            return differing(older, {name: again[name] for name in older}, scale, path)
        case dict(), dict():
            names = (*stored, *(name for name in again if name not in stored))
            pairs = ((f"{path}.{n}".lstrip("."), *_both(stored, again, n, path)) for n in names)
            return next(
                (difference for below, a, b in pairs if (difference := differing(a, b, scale, below))), ""
            )
        case _:
            same = stored == again
    return "" if same else f"{path} is {_digits(stored)} and recomputed {_digits(again)}".lstrip()


def _both(stored: dict[str, Json], again: dict[str, Json], name: str, path: str) -> tuple[Json, Json]:
    """Return what two tables have under a name; where only one has an error that trials share, the other's
    is none.
    """
    nothing: Json = None
    if path.startswith("shared"):  # rounding makes of no error one of 1e-19, or none
        nothing = {} if isinstance(stored.get(name, again.get(name)), dict) else 0.0
    return stored.get(name, nothing), again.get(name, nothing)


def differing_rows(stored: Series, again: Series) -> str:
    """Return the first sample that differs in two series, with both in full; "" if only by rounding."""
    ours, theirs = stored.rows(), again.rows()
    if len(ours) != len(theirs):
        return f"{len(ours)} samples are stored and {len(theirs)} recomputed"
    if not len(ours):
        return ""
    size = np.fmax(np.abs(ours), np.abs(theirs))
    allowed = RATIO * size + NOISE_RATIO * np.fmax.reduce(size, axis=0, initial=0.0)
    allowed[:, [0, 3, 4]] = MOMENT_ULPS * np.spacing(size[:, [0, 3, 4]])
    allowed[:, 1] += MOMENT_ULPS * np.spacing(size[:, 0])  # a difference of moments
    same = (np.abs(ours - theirs) <= allowed) | (np.isnan(ours) & np.isnan(theirs)) | (ours == theirs)
    if same.all():
        return ""
    row, column = (int(number) for number in np.argwhere(~same)[0])
    name = SAMPLE[column]
    return (
        f"sample {row + 1}: {name} is {float(ours[row, column])!r} and recomputed "
        f"{float(theirs[row, column])!r}"
    )


def _digits(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:60]}..."
