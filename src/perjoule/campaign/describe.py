"""The possible content of a campaign: drivers, their options, their examples."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from textwrap import wrap
from typing import Any

from perjoule import drivers
from perjoule.campaign.events import EVENT, EVENTS, read_event
from perjoule.campaign.header import Header
from perjoule.campaign.schema import described, driver_schema
from perjoule.campaign.source import CampaignSource, is_list
from perjoule.campaign.tables import NAMES, OWN_TESTBED, rows, tunables, where_mounted
from perjoule.drivers.protocols import Event, FileSystem, Meter, Testbed, Workload
from perjoule.model.errors import CampaignError
from perjoule.model.validation import instead, written

WIDTH = 110
LISTED = (*NAMES, EVENT)
MOST_SUGGESTED = 3  # drivers whose description has a word
_HEADLINE_ENDS = re.compile(r"[,:.]? ?https?://|(?<=[\w`)\"])\. ")  # at an address, or a sentence's end


def example(part: str, kind: str) -> Testbed | FileSystem | Workload | Meter | Event:
    """Build a driver from its own example (the first one, if the example spans several)."""
    name = part.removesuffix("s")
    if part == EVENTS:
        table = tomllib.loads(drivers.example_of(f"{name}s", kind))[name][0]
        return drivers.event(read_event(table, (name,), CampaignSource(f"the example of {kind}", {})))
    table = tomllib.loads(drivers.example_of(f"{name}s", kind))[name]
    driver = rows(
        name, (name,), table[0] if is_list(table) else table, CampaignSource(f"the example of {kind}", {})
    )[0].driver
    assert isinstance(driver, Testbed | FileSystem | Workload | Meter)
    return driver


def describe(kind: str | None = None) -> Iterator[str]:
    """Describe all drivers in lines, or one kind with its options (wherever that name is a driver).

    Raises CampaignError: there is no such driver, or, after its lines, its example is not valid.
    """
    if kind is None:
        listed = [(name, driver_kind) for name in LISTED for driver_kind in drivers.usable(f"{name}s")]
        width = max(len(driver_kind) for _, driver_kind in listed)
        for name in LISTED:
            yield f"[[{name}]]" if name != "testbed" else "[testbed]"
            yield from (
                f"  {driver_kind:{width}}  {headline(name, driver_kind)}{_of(name, driver_kind)}"
                for which, driver_kind in listed
                if which == name
            )
        return
    all_kinds = [(name, driver_kind) for name in LISTED for driver_kind in drivers.kinds(f"{name}s")]
    if mounted := where_mounted(kind):
        raise CampaignError(mounted[0], next=mounted[1])
    if kind not in {driver_kind for _, driver_kind in all_kinds}:
        raise CampaignError(f'unknown driver "{kind}"', next=suggested(kind, LISTED))
    for name, driver_kind in all_kinds:
        if driver_kind == kind:
            yield from _driver_lines(name, kind)


def _driver_lines(name: str, kind: str) -> Iterator[str]:
    yield from (f"{name} {kind}{_of(name, kind)}", "", *about(name, kind).splitlines(), "")
    for option in options(name, kind):
        indent = "  " + "    " * option.depth_count
        yield f"{indent}{option.name} = {option.default}    {option.takes}"
        deeper = f"{indent}    "
        yield from wrap(option.description, WIDTH, initial_indent=deeper, subsequent_indent=deeper)
        yield from (
            f"{deeper}tuned: {line}"
            for line in (() if option.depth_count else tuned(name, kind, option.name))
        )
    yield from (f"  ports: {line}" for line in ports(name, kind))
    yield from ("", *example_text(name, kind).splitlines(), "")
    example(f"{name}s", kind)  # of another package, no test of ours has held it


def ports(name: str, kind: str) -> Iterator[str]:
    """Yield the TCP ports on which a file system's daemons listen, a line for each place."""
    driver = example(f"{name}s", kind) if name == "filesystem" else None
    if isinstance(driver, FileSystem):
        for place, place_ports in driver.ports().items():
            yield f"{place} {', '.join(f'{port.text} {port.program}' for port in place_ports)}"


def _of(name: str, kind: str) -> str:
    package = drivers.package_of(f"{name}s", kind)
    return f" (of {package})" if package else ""


def about(name: str, kind: str) -> str:
    """Return what a driver is, in Markdown."""
    return (drivers.module_of(f"{name}s", kind).__doc__ or "").strip()


def headline(name: str, kind: str) -> str:
    """Return what a driver is: its first sentence, up to an address."""
    paragraph = " ".join(about(name, kind).partition("\n\n")[0].split())
    return _HEADLINE_ENDS.split(paragraph, maxsplit=1)[0].rstrip(".,:")


def suggested(unknown: str, of: Sequence[str]) -> str:
    """Return what to write for an unknown driver: one with a name like it, or those that its word describes.

    Args:
        unknown: as "mqtt", which is no driver's name.
        of: the names of tables: "meter".
    """
    usable = [(name, kind) for name in of for kind in drivers.usable(f"{name}s")]
    kinds = dict.fromkeys(kind for _, kind in usable)
    mention = re.compile(rf"\b{re.escape(unknown)}(?:'?s)?\b", re.IGNORECASE)
    described = [(name, kind) for name, kind in usable if mention.search(about(name, kind))]
    if not 0 < len(described) <= MOST_SUGGESTED or get_close_matches(unknown.lower(), kinds, cutoff=0.75):
        return instead(unknown, kinds)
    return f"perhaps {' or '.join(f'{kind} ({headline(name, kind)})' for name, kind in described)}?"


def example_text(name: str, kind: str) -> str:
    """Return a driver's own example, in TOML."""
    return drivers.example_of(f"{name}s", kind)


@dataclass(frozen=True)
class DescribedOption:
    """An option of a driver, in words."""

    name: str
    default: str  # "..." if the option is needed
    takes: str
    description: str
    depth_count: int  # of tables around it inside the driver's own


def options(name: str, kind: str) -> Iterator[DescribedOption]:
    """Yield every option of a driver, each table's before those of the tables inside it."""
    schema = driver_schema(name, kind)
    return _options(schema, schema.get("$defs", {}), 0)


def top_keys() -> Iterator[DescribedOption]:
    """Yield every key above the tables of a campaign, each table's before those inside it."""
    schema = described(Header)
    return _options(schema, schema.get("$defs", {}), 0)


def tuned(name: str, kind: str, option: str) -> Iterator[str]:
    """Yield the values of an option that `perjoule tune` tries, a line for each key of a table."""
    for (first, *inner_keys), _, mark in tunables(name, kind):
        if first == option:
            yield " ".join((*inner_keys, ", ".join(map(written, mark.values)) or "what the hosts offer"))


def _options(
    schema: dict[str, Any], definitions: dict[str, Any], depth_count: int
) -> Iterator[DescribedOption]:
    needed = schema.get("required", [])
    for option, option_schema in schema["properties"].items():
        if option in ("kind", "label", OWN_TESTBED) and "const" in schema["properties"].get("kind", {}):
            continue
        default = (
            written(option_schema["default"])
            if "default" in option_schema
            else "..."
            if option in needed
            else "(none)"
        )
        value_schema = option_schema["anyOf"][0] if "anyOf" in option_schema else option_schema
        yield DescribedOption(
            option,
            default,
            _takes(value_schema),
            " ".join(option_schema.get("description", "").split()),
            depth_count,
        )
        for inner in value_schema.get("anyOf", [value_schema]):
            if "$ref" in inner:
                yield from _options(
                    definitions[inner["$ref"].removeprefix("#/$defs/")], definitions, depth_count + 1
                )


def _takes(option_schema: dict[str, Any]) -> str:
    """Return the values of an option, in a word or two."""
    if "anyOf" in option_schema:
        return " or ".join(
            dict.fromkeys(_takes(choice) for choice in option_schema["anyOf"] if choice.get("type") != "null")
        )
    if "enum" in option_schema:
        return " | ".join(map(written, option_schema["enum"]))
    if "const" in option_schema:
        return written(option_schema["const"])
    if option_schema.get("examples"):
        return f"such as {written(option_schema['examples'][0])}"
    bounds = [
        f"{preposition} {option_schema[key]}"
        for key, preposition in (("minimum", "from"), ("exclusiveMinimum", "above"), ("maximum", "to"))
        if key in option_schema
    ]
    type_texts = {
        "integer": "a whole number",
        "number": "a number",
        "boolean": "true | false",
        "string": "text",
        "array": "a list",
    }
    return " ".join([type_texts.get(option_schema.get("type", ""), "a table"), *bounds])
