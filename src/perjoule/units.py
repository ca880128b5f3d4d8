"""The only file that knows prefixes: reads "4 MiB", prints "3.2 MiB/J". Inside perjoule everything is SI."""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

_BINARY = {f"{p}iB": 1024**n for n, p in enumerate(("K", "M", "G", "T", "P"), start=1)}
_DECIMAL = {f"{p}B": 1000**n for n, p in enumerate(("k", "M", "G", "T", "P"), start=1)}
BYTES: dict[str, float] = {"B": 1, **_BINARY, **_DECIMAL}
BITS: dict[str, float] = {f"{p}bit": 1000**n / 8 for n, p in enumerate(("", "k", "M", "G", "T"))}
RATES: dict[str, float] = {f"{unit}/s": factor for unit, factor in (BYTES | BITS).items()}
SECONDS: dict[str, float] = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}
HERTZ: dict[str, float] = {"Hz": 1, "kHz": 1e3}
WATTS: dict[str, float] = {"mW": 1e-3, "W": 1, "kW": 1e3}
RATIOS: dict[str, float] = {"%": 0.01}

_QUANTITY = re.compile(r"\s*([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(\S*)\s*")
MIB = 1024**2


def quantity(text: object, units: dict[str, float], *, bare: bool = False) -> float:
    """Read a number with its unit, for example `quantity("4 MiB", BYTES)`.

    Args:
        text: what a person wrote.
        units: the units allowed, each with its factor to SI.
        bare: whether a number without a unit is taken as SI.

    Raises:
        ValueError: no number, no unit, or a unit that is not among `units`.
    """
    example = next((u for u in ("MiB", "MiB/s", "s", "Hz", "W", "%") if u in units), next(iter(units)))
    if isinstance(text, int | float) and not isinstance(text, bool):
        if bare:
            return float(text)
        raise ValueError(f'{text} has no unit (write "{text} {example}")')
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f'{text!r} is not a number with a unit (as in "4 {example}")')
    number, unit = match.groups()
    if not unit:
        if bare:
            return float(number)
        raise ValueError(f'"{number}" has no unit (write "{number} {example}")')
    if unit not in units:
        raise ValueError(f'unknown unit "{unit}" (known: {", ".join(units)})')
    return float(number) * units[unit]


def _bytes(text: object) -> object:
    return round(quantity(text, BYTES)) if isinstance(text, str) else quantity(text, BYTES)


# Types for the options of drivers: a person writes "4 MiB", the field holds 4194304.
Bytes = Annotated[int, BeforeValidator(_bytes), Field(gt=0), WithJsonSchema({"type": "string", "examples": ["4 MiB"]})]
Seconds = Annotated[
    float,
    BeforeValidator(lambda text: quantity(text, SECONDS)),
    Field(gt=0),
    WithJsonSchema({"type": "string", "examples": ["60 s"]}),
]
Hertz = Annotated[
    float,
    BeforeValidator(lambda text: quantity(text, HERTZ)),
    Field(gt=0),
    WithJsonSchema({"type": "string", "examples": ["5 Hz"]}),
]
Watts = Annotated[
    float,
    BeforeValidator(lambda text: quantity(text, WATTS)),
    WithJsonSchema({"type": "string", "examples": ["40.9 W"]}),
]
BytesPerSecond = Annotated[
    float,
    BeforeValidator(lambda text: quantity(text, RATES)),
    Field(gt=0),
    WithJsonSchema({"type": "string", "examples": ["111.34 MiB/s"]}),
]


def _scaled(value: float, steps: dict[str, float]) -> str:
    unit, factor = next(((u, f) for u, f in reversed(steps.items()) if abs(value) >= f), next(iter(steps.items())))
    return f"{value / factor:.4g} {unit}"


def bytes_text(count: float) -> str:
    """Print a byte count with a binary prefix: `4194304` gives "4 MiB"."""
    return _scaled(count, {"B": 1, **_BINARY})


def seconds_text(duration_s: float) -> str:
    """Print a duration as people say it: "0.8 s", "42 s", "3 min 20 s", "2 h 5 min"."""
    if duration_s < 10:
        return f"{duration_s:.2g} s"
    minutes, seconds = divmod(round(duration_s), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
