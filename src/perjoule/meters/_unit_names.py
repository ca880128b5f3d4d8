"""Units of power and energy as columns, metrics and cells name them, in any place of a name, with any prefix, and in
other scripts.
"""

import re
from collections.abc import Iterator
from unicodedata import normalize

from perjoule.model.units import JOULES, WATTS

FACTORS = {**WATTS, **JOULES, "uW": 1e-6, "uJ": 1e-6, "mJ": 1e-3, "MJ": 1e6}
_PREFIXES = "da|[numcdhkMGT]"
_SYMBOL = re.compile(
    rf"(?:{_PREFIXES})?(?:Wh|W|J)|[numkMG]?(?:VAh|VA|varh|var|V|A|Hz)|%|BTU/hr?|BTU|kcal/h|hp"
)
_WORD = re.compile(
    r"(nano|micro|milli|centi|deci|hecto|kilo|mega|giga|[ukmM])?(watt|joule)s?(?:[ -]?(h)(?:ou)?rs?)?",
    re.IGNORECASE,
)
_OF_WORDS = {
    "nano": "n",
    "micro": "u",
    "milli": "m",
    "centi": "c",
    "deci": "d",
    "hecto": "h",
    "kilo": "k",
    "mega": "M",
    "giga": "G",
    "watt": "W",
    "joule": "J",
    "h": "h",
}
_OF_ANY_CASE = {  # of others, m is milli and M mega
    "w": "W",
    "kw": "kW",
    "wh": "Wh",
    "kwh": "kWh",
    "kwhs": "kWh",
    "ws": "J",
    "kws": "kJ",
}
_POWERS_AND_ENERGIES = {unit.lower() for unit in (*FACTORS, "mWh", "MWh", "GWh", "GW")}
_ELSEWHERE = {  # in other scripts, the longer before those that end as they do
    "\u043a\u0412\u0442\u00b7\u0447": "kWh",  # Russian
    "\u0412\u0442\u00b7\u0447": "Wh",
    "\u043a\u0412\u0442": "kW",
    "\u043c\u0412\u0442": "mW",
    "\u041c\u0412\u0442": "MW",
    "\u0412\u0442": "W",
    "\u5343\u74e6\u65f6": "kWh",  # Chinese
    "\u5343\u74e6": "kW",
    "\u6beb\u74e6": "mW",
    "\u74e6\u65f6": "Wh",
    "\u74e6": "W",
    "\u30ad\u30ed\u30ef\u30c3\u30c8": "kW",  # Japanese
    "\u30ef\u30c3\u30c8": "W",
    "\ud0ac\ub85c\uc640\ud2b8": "kW",  # Korean
    "\uc640\ud2b8": "W",
}
_MOST_LETTERS = 200
_BRACKETS = re.compile(r"[\[(]([^\[\]()]{1,24})[\])]")
_BETWEEN = re.compile(r"[\s\u00b7\u22c5*]+")  # the parts of a unit
# a letter alone is a name of phases and places, too
_AT_END = re.compile(r".*_([A-Za-z]+)|(?:.*[^A-Za-z0-9_\u00b5\u03bc])?([A-Za-z\u00b5\u03bc]{2,}|W)")
# a small letter may end the word before it: "rackW" and "cpuW" are in W
_CAMEL = re.compile(
    r".*(?i:power|energy|total|load|leistung)([kmu](?:Wh?|J))"
    r"|.*?[a-z]((?:[KM]?W|Kw)h?|[KM]J|(?:Kilo|Milli|Micro)?(?:Watt|Joule)s?)"
)
_INSIDE = re.compile(
    r"(?<![A-Za-z])((?:[kK][wW]h?|[mMu]Wh?|mwh?|Wh|[kmuM]J)|(?:[Mm]icro|[Mm]illi|[Kk]ilo)?(?:[Ww]att|[Jj]oule)s?)"
    r"(?![A-Za-z0-9])"
)
_TEN = r"(?:0[.,]0*1|1/10+|[x\u00d7*] ?(?:10+|0[.,]0*1))"
_TENTHS = re.compile(
    rf"{_TEN} ?k?W(?![A-Za-z])|(?<![A-Za-z])k?W ?(?:[x\u00d7*] ?(?:10+|0[.,]0*1)|/ ?10+)(?![\dA-Za-z])"
)
_OTHER_POWERS = {  # by the unit that they have
    "VA": re.compile(r"ap?parent|scheinleistung", re.IGNORECASE),
    "var": re.compile(r"r[e\u00e9]acti|reattiv|blindleistung", re.IGNORECASE),
}


def symbol(text: str) -> str:
    """Return the symbol of a unit of power or energy that a text names ("Watts", "KWh"), or else the text."""
    text = _latin(text)
    if word := _WORD.fullmatch(text):
        text = "".join(_OF_WORDS.get(part.lower(), part) for part in word.groups() if part)
    return _OF_ANY_CASE.get(text.lower(), text)


def other_unit(column: str, unit: str) -> str:
    """Return the unit that a column's name states, as in "P (kW)", "Pwr.kW", "power_kw_mean" or "microwatts"; "" if it
    states none, or this one.
    """
    name = _ending(column)
    if scaled := _TENTHS.search(name):
        return scaled[0]
    if other_power := next((of for of, form in _OTHER_POWERS.items() if form.search(name)), ""):
        return other_power
    for named_unit, exact in _named(name):
        stated_unit = symbol(named_unit)
        if exact:
            return "" if stated_unit == unit else stated_unit
        return named_unit if stated_unit.lower() != unit.lower() else ""
    return ""


def names_a_unit(column: str) -> bool:
    """Return whether a column's name states a unit."""
    return any(_named(_ending(column)))


def _named(name: str) -> Iterator[tuple[str, bool]]:
    """Yield the units in a name, the surest first, and whether m and M are surely milli and mega there."""
    bracketed = [_BETWEEN.sub("", content) for content in reversed(_BRACKETS.findall(name))]
    for content in sorted(bracketed, key=lambda text: symbol(text) not in FACTORS):  # "P [W] (A)": of phase A
        if _SYMBOL.fullmatch(symbol(content)):
            yield content, True
    end = _AT_END.fullmatch(name.removesuffix("_total"))
    at_end = next(filter(None, end.groups()), "") if end else ""
    is_symbol = len(at_end) > 1 and _SYMBOL.fullmatch(at_end)
    if is_symbol or _WORD.fullmatch(at_end) or symbol(at_end).lower() in _POWERS_AND_ENERGIES:
        yield at_end, False
    if camel := _CAMEL.fullmatch(name):
        yield camel[1] or camel[2], False
    if inside := _INSIDE.findall(name):
        yield inside[-1], False


def _ending(column: str) -> str:
    """Return the end of a name, as matching it takes the square of its letters."""
    return _latin(column[-_MOST_LETTERS:])[-_MOST_LETTERS:]


def _latin(text: str) -> str:
    """Return a text with the units of other scripts, and letters and brackets of full width, in ASCII."""
    text = normalize("NFKC", text).replace("\u03bc", "u")  # which is what NFKC makes of the micro sign
    for foreign_unit, unit in _ELSEWHERE.items():
        text = text.replace(foreign_unit, unit)
    return text
