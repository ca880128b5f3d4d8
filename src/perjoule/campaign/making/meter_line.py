"""A [[meter]] table in one line, for a command: "shelly://10.0.0.7", "rapl:", "csv:plug.csv?unit=W&grade=wall".

    KIND:PLACE?OPTION=VALUE&OPTION=VALUE

The driver says which options a place is (`Meter.located`). Values are TOML, or text; "drives.a" is the key "a" of
the table `drives`; a character that would end its part is written as in a URL ("%26" for "&").
"""

import re
from collections.abc import Mapping
from typing import get_origin
from urllib.parse import quote, unquote

from perjoule import drivers
from perjoule.campaign.describe import suggested
from perjoule.campaign.source import Table, is_list, value
from perjoule.drivers.protocols import Meter
from perjoule.model import Json, option_name
from perjoule.model.errors import CampaignError

_LINE = re.compile(r"([A-Za-z][A-Za-z0-9_+-]*):(?://)?([^?]*)(?:\?(.*))?", re.DOTALL)
_QUOTED = re.compile(
    r"(['\"])(.*)\1", re.DOTALL
)  # as a value of TOML, or once more than the shell takes away
_WEB = ("http", "https")


def is_meter_line(text: str) -> bool:
    """Return whether a text is such a line, and no kind or file."""
    return _LINE.fullmatch(text) is not None


def meter_table(line: str) -> Table:
    """Return the table that a line stands for, unchecked except for its kind.

    Raises CampaignError: the line is none, or no meter is of its kind.
    """
    parts = _LINE.fullmatch(line)
    if parts is None:
        raise CampaignError(
            "this is no meter",
            where=f"--meter {line}",
            next="write KIND:ADDRESS, as in shelly://192.168.1.50",
        )
    kind, place, options = parts[1].lower(), unquote(_QUOTED.sub(r"\2", parts[2])), parts[3] or ""
    if kind not in drivers.kinds("meters"):
        host = place.partition("/")[0].rpartition("@")[2]
        if kind in _WEB:
            advice = f"write its kind, as in shelly://{host}; `perjoule meters list {host}` looks what it is"
        elif kind == "mqtt":
            advice = f"a Tasmota's broker is tasmota://{host}?topic=TOPIC; of another plug, record messages in a CSV log"
        else:
            advice = suggested(kind, ["meter"])
        raise CampaignError(f'no meter is of the kind "{kind}"', where=f"--meter {line}", next=advice)
    driver = drivers.driver_class("meters", kind)
    assert issubclass(driver, Meter)
    if not place and "address" not in options and _needs_address(driver):
        raise CampaignError(
            f"{kind} needs an address", where=f"--meter {line}", next=f"write it, as in {kind}://192.168.1.50"
        )
    try:
        table: Table = {"kind": kind, **driver.located(place)}
    except ValueError as error:
        raise CampaignError(
            str(error), where=f"--meter {line}", next=f"see `perjoule drivers {kind}`"
        ) from None
    for option in filter(None, options.split("&")):
        key, equals, text = option.partition("=")
        if not (key and equals):
            raise CampaignError(
                f'"{option}" is no option', where=f"--meter {line}", next="write OPTION=VALUE, joined by &"
            )
        name, _, inner = unquote(key).partition(".")
        if inner:
            table.setdefault(name, {})[inner] = unquote(text)
        else:
            table[name] = _value(driver, name, unquote(text))
    return table


def require_whole(table: Table, line: str) -> None:
    """Check that no options of the meter of a line are missing, all at once. Raises CampaignError."""
    kind = str(table["kind"])
    lacking = [
        option_name(option)
        for option, field in drivers.options(drivers.driver_class("meters", kind)).items()
        if field.is_required() and option_name(option) not in table
    ]
    if len(lacking) > 1:  # one alone is refused with its choices
        raise CampaignError(
            f"meter {kind} lacks {', '.join(lacking)}",
            where=f"--meter {line}",
            next=f"add ?{'&'.join(f'{option}=...' for option in lacking)}; `perjoule drivers {kind}` explains them",
        )


def meter_line(table: Mapping[str, Json]) -> str:
    """Write a table as such a line."""
    options = {key: table[key] for key in table if key not in ("kind", "address")}
    query = "&".join(f"{quote(key)}={quote(str(option), safe='/')}" for key, option in options.items())
    place = quote(str(table.get("address", "")), safe=":/[]@")
    return f"{table['kind']}:{'//' if place else ''}{place}{'?' if query else ''}{query}"


def _value(driver: type[Meter], name: str, text: str) -> object:
    """Return an option's value: TOML, or text; one value of a list is a list."""
    given = value(text)
    listed = any(
        get_origin(field.annotation) is tuple and option_name(option) == name
        for option, field in drivers.options(driver).items()
    )
    return [given] if listed and not is_list(given) else given


def _needs_address(driver: type[Meter]) -> bool:
    field = drivers.options(driver).get("address")
    return field is not None and field.is_required()
