"""A printed number to its value and the range that its digits allow."""

import re
from dataclasses import dataclass
from typing import Literal

# How papers write units that perjoule.model.units spells otherwise; "KB" may mean 1000 or 1024 bytes and is
# read as 1000.
SPELLINGS = {"KB": "kB", "Mb/s": "Mbit/s", "Gb/s": "Gbit/s", "times": "", "RPM": "rpm"}
APPROXIMATE_RATIO = 0.05

_DIGITS = r"\d[\d,]*(?:\.\d+)?"
_FORM = re.compile(
    rf"\s*(?:(?P<sign>[<>~])\s*)?(?P<first>{_DIGITS})(?:\s*[–-]\s*(?P<last>{_DIGITS}))?(?P<more>(?:\s*±\s*{_DIGITS})*)(?P<unit>.*)"
)


@dataclass(frozen=True)
class Printed:
    """The value, the lowest and highest that would be printed the same, and the numbers after each ±; all
    in the printed unit.
    """

    sign: Literal["", "<", ">", "~"]
    value: float
    low: float
    high: float
    uncertainties: tuple[str, ...]  # digits
    unit: str


def half_unit(digits: str) -> float:
    """Return half a unit in the last printed place: "95.22" gives 0.005."""
    decimals = digits.partition(".")[2]
    return float(f"0.5e-{len(decimals)}")


def printed(text: str, unit: str = "", *, exact: bool = False) -> Printed:
    """Parse "95.22 MiB/s", "41.1 ± 0.1 ± 1.0 W", "6-9 %", "~75 %", "< 50 W".

    Args:
        text: as printed; "<" and ">" stand for at most and at least, "~" for about, a dash for from-to.
        unit: of a number that is printed without one, as in a table.
        exact: counts and nominal values, whose digits are exact.

    Raises:
        ValueError: not a number.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a printed number")
    first, last = match["first"].replace(",", ""), (match["last"] or match["first"]).replace(",", "")
    low, high = float(first), float(last)
    limit = exact or match["sign"] in ("<", ">")
    half_low, half_high = (0.0, 0.0) if limit else (half_unit(first), half_unit(last))
    if match["sign"] == "~":
        half_low = half_high = max(2 * half_low, APPROXIMATE_RATIO * low)
    behind = tuple(match_behind[0].replace(",", "") for match_behind in re.finditer(_DIGITS, match["more"]))
    written = match["unit"].strip() or unit
    sign = match["sign"] or ""
    assert sign in ("", "<", ">", "~")
    return Printed(
        sign, (low + high) / 2, low - half_low, high + half_high, behind, SPELLINGS.get(written, written)
    )
