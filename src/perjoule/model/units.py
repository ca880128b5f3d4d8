"""The only module that knows prefixes: reads "4 MiB", prints "3.2 MiB/J". Everywhere else, values are SI."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

_BINARY = {f"{p}iB": 1024**n for n, p in enumerate(("K", "M", "G", "T", "P"), start=1)}
_DECIMAL = {f"{p}B": 1000**n for n, p in enumerate(("k", "M", "G", "T", "P"), start=1)}
BYTES: dict[str, float] = {"B": 1, **_BINARY, **_DECIMAL}
BITS: dict[str, float] = {f"{p}bit": 1000**n / 8 for n, p in enumerate(("", "k", "M", "G", "T"))}
RATES: dict[str, float] = {f"{unit}/s": factor for unit, factor in (BYTES | BITS).items()}
SECONDS: dict[str, float] = {"us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86400}
HERTZ: dict[str, float] = {"Hz": 1, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9}
WATTS: dict[str, float] = {"mW": 1e-3, "W": 1, "kW": 1e3, "MW": 1e6}
VOLTS: dict[str, float] = {"mV": 1e-3, "V": 1}
JOULES: dict[str, float] = {"J": 1, "kJ": 1e3, "Wh": 3600, "kWh": 3.6e6}
RATIOS: dict[str, float] = {"%": 0.01}
USD: dict[str, float] = {"USD": 1, "kUSD": 1e3}
KILOGRAMS: dict[str, float] = {"g": 1e-3, "kg": 1, "t": 1e3}
_G_PER_KWH = dict.fromkeys(("g/kWh", "gCO2/kWh", "gCO2e/kWh"), 1e-3 / 3.6e6)  # of carbon dioxide equivalent
KG_PER_J: dict[str, float] = {**_G_PER_KWH, "kg/kWh": 1 / 3.6e6}
USD_PER_J: dict[str, float] = {"USD/kWh": 1 / 3.6e6, "USD/MWh": 1 / 3.6e9}
# MiB/J and MiB/s per W are the same
BYTES_PER_J: dict[str, float] = {f"{unit}/J": factor for unit, factor in BYTES.items()}
BYTES_PER_W: dict[str, float] = {f"{unit}/W": factor for unit, factor in BYTES.items()}

_QUANTITY = re.compile(r"\s*([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(\S*)\s*")
_TERM = re.compile(r"\s*\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*[a-z]+\s*")  # of a duration in several terms
_MOST_LETTERS = 1000  # matching takes their square
MIB = 1024**2
MEANT_BYTES = {p.lower(): f"{p}iB" for p in ("K", "M", "G", "T", "P")}  # as fio, IOR and dd write them


def quantity(text: object, units: dict[str, float], *, bare: bool = False) -> float:
    """Read a number with its unit, for example `quantity("4 MiB", BYTES)`.

    Args:
        text: the text from a user.
        units: the units allowed, each with its factor to SI.
        bare: whether a number without a unit is taken as SI.

    Raises:
        ValueError: the number or the unit is missing, or the unit is not in `units`.
    """
    example = next((u for u in ("MiB", "MiB/s", "s", "Hz", "W", "%") if u in units), next(iter(units)))
    if isinstance(text, int | float) and not isinstance(text, bool):
        if bare:
            return _finite(text, text)
        raise ValueError(f'{text} has no unit (write "{_meant(str(text), example, units)}")')
    match = _QUANTITY.fullmatch(text) if isinstance(text, str) and len(text) <= _MOST_LETTERS else None
    if match is None:
        text_shown = repr(text)
        text_shown = text_shown if len(text_shown) <= _MOST_LETTERS else f"{text_shown[:40]}..."
        raise ValueError(f'{text_shown} is not a number with a unit (as in "4 {example}")')
    number, unit = match.groups()
    if not unit:
        if bare:
            return _finite(float(number), text)
        raise ValueError(f'"{number}" has no unit (write "{_meant(number, example, units)}")')
    if unit not in units:
        meant = next((u for u in units if u.lower() == unit.lower()), None)
        if meant is not None:
            raise ValueError(f'unknown unit "{unit}" (write "{number} {meant}")')
        if units is BYTES and unit.lower() in MEANT_BYTES:
            raise ValueError(f'unknown unit "{unit}" (write "{number} {MEANT_BYTES[unit.lower()]}")')
        raise ValueError(f'unknown unit "{unit}" (known: {", ".join(units)})')
    return _finite(float(number) * units[unit], text)


def _meant(number: str, example: str, units: dict[str, float]) -> str:
    """Suggest a unit for a number without one: a large size is taken as bytes, as other tools do."""
    value = _finite(float(number), number)
    if "iB" in example and 1024 <= value < math.inf:
        return exact_text(value, units)
    return f"{number} {example}"


def _finite(value: float, text: object) -> float:
    try:
        number = float(value)
    except OverflowError:  # an integer of more than 308 digits
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{str(text)[:40]!r} is too large")
    return number


def seconds(text: object) -> float:
    """Read a duration, in one term or several: "90 s", "3 min 20 s". Raises ValueError."""
    terms = _TERM.findall(text) if isinstance(text, str) and len(text) <= _MOST_LETTERS else []
    return (
        sum(quantity(term, SECONDS) for term in terms)
        if terms and "".join(terms) == text
        else quantity(text, SECONDS)
    )


def _option(example: str, units: dict[str, float], read: Callable[[object], float]) -> tuple[Any, ...]:
    """Return a validator that reads such an option with `read`, and a schema of its form for editors."""
    pattern = rf"^\s*[0-9.eE+-]+\s*({'|'.join(units)})"
    return BeforeValidator(read), WithJsonSchema(
        {"type": "string", "pattern": pattern, "examples": [example]}
    )


# Types for the options of drivers: a person writes "4 MiB", the field holds 4194304.
Bytes = Annotated[
    int, *_option("4 MiB", BYTES, lambda text: round(quantity(text, BYTES))), Field(gt=0, le=2**60)
]
Seconds = Annotated[float, *_option("60 s", SECONDS, seconds), Field(gt=0)]
SecondsOrZero = Annotated[float, *_option("24 h", SECONDS, seconds), Field(ge=0)]
Hertz = Annotated[float, *_option("5 Hz", HERTZ, lambda text: quantity(text, HERTZ)), Field(gt=0)]
# of a CPU
ClockHertz = Annotated[float, *_option("1.2 GHz", HERTZ, lambda text: quantity(text, HERTZ)), Field(gt=0)]
Watts = Annotated[float, *_option("40.9 W", WATTS, lambda text: quantity(text, WATTS))]
Volts = Annotated[float, *_option("2.5 V", VOLTS, lambda text: quantity(text, VOLTS))]
Joules = Annotated[float, *_option("1 kJ", JOULES, lambda text: quantity(text, JOULES))]
BytesPerSecond = Annotated[
    float, *_option("111.34 MiB/s", RATES, lambda text: quantity(text, RATES)), Field(gt=0)
]
Ratio = Annotated[
    float,
    BeforeValidator(lambda text: quantity(text, RATIOS, bare=True)),
    Field(ge=0, le=1),
    WithJsonSchema({"type": ["string", "number"], "examples": ["70 %", 0.7]}),
]
# A share of a reading that may be wrong: below 1, since whoever writes 1 means 1 %.
RelativeError = Annotated[Ratio, Field(lt=1)]

# A field's name ends in its unit.
OF_SUFFIX = {
    "_bytes_per_s": RATES,
    "_bytes": BYTES,
    "_s": SECONDS,
    "_hz": HERTZ,
    "_w": WATTS,
    "_v": VOLTS,
    "_j": JOULES,
}


def units_of(field: str) -> dict[str, float] | None:
    """Return the units in which an option is written whose field ends in one ("transfer_bytes"), or None."""
    return next((units for suffix, units in OF_SUFFIX.items() if field.endswith(suffix)), None)


def _scaled(value: float, steps: dict[str, float]) -> str:
    unit, factor = next(
        ((u, f) for u, f in reversed(steps.items()) if abs(value) >= f), next(iter(steps.items()))
    )
    return f"{value / factor:.4g} {unit}"


def bytes_text(count: float) -> str:
    """Print a byte count with a binary prefix: `4194304` gives "4 MiB"."""
    return _scaled(count, {"B": 1, **_BINARY})


def exact_text(value: float, units: dict[str, float]) -> str:
    """Print so that `quantity` reads exactly the same number (below 2**53): `exact_text(4194304, BYTES)`
    gives "4 MiB".
    """
    base = next(unit for unit, factor in units.items() if factor == 1)
    if value == 0:
        return f"0 {base}"
    texts = [f"{value / factor:.12g} {unit}" for unit, factor in units.items()]
    return min(
        (text for text in texts if quantity(text, units) == value), key=len, default=f"{value!r} {base}"
    )


def seconds_text(duration_s: float) -> str:
    """Print a duration in a readable form: "1.2 ms", "0.8 s", "42 s", "3 min 20 s", "2 h 5 min"."""
    if 0 < duration_s < 0.1:
        return f"{duration_s * 1e3:.2g} ms" if duration_s >= 9.95e-4 else f"{duration_s * 1e6:.2g} us"
    if duration_s < 9.95:
        return f"{duration_s:.2g} s"
    if round(duration_s) < 60:
        return f"{duration_s:.0f} s"
    if round(duration_s) < 3600:
        minutes, rest_s = divmod(round(duration_s), 60)
        return f"{minutes} min {rest_s} s"
    hours, minutes = divmod(round(duration_s / 60), 60)
    return f"{hours} h {minutes} min"


def spaced_percents(text: str) -> str:
    """Write "5%" in a text as "5 %": other tools, and the perjoule that stored it, may have left the space
    out.
    """
    return re.sub(r"(?<=\d)%(?!\w)", " %", text)


def counted(count: int, noun: str) -> str:
    """Print "1 trial", "2 trials"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def clients_text(count: int) -> str:
    """Print a number of clients: "1 client", "4 clients"."""
    return counted(count, "client")


def listed(items: Sequence[str]) -> str:
    """Join words: "a, b and c"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""
