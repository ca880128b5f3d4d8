"""The command that lists hardware, file systems and countries by name: catalogue."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any, cast

import click

from perjoule import catalogue
from perjoule.catalogue import Cluster, Value
from perjoule.catalogue.quantities import Quantity
from perjoule.cli.parameters import completing, examples
from perjoule.cli.terminal.display import out, show_line
from perjoule.model.errors import CampaignError
from perjoule.model.format import estimate
from perjoule.model.options import option_name
from perjoule.model.units import BYTES, RATES, WATTS, bytes_text, counted, units_of
from perjoule.model.validation import neighbour
from perjoule.planning.measures import THROUGHPUT
from perjoule.planning.parts import shipped

# The tables of a need, as the list has them: the keys that tell one part from another.
_TABLES = {
    "server": (
        "boards and servers without data disks",
        ("title", "idle_at_wall", "idle_behind_supply", "dynamic_at_wall", "dynamic_behind_supply", "price"),
    ),
    "drive": ("disks", ("title", "technology", "read", "write")),
    "network": ("networks", ("goodput", "card_behind_supply")),
    "switch": ("switches", ("network", "ports", "watts_at_wall")),
    "filesystem": ("file systems", ("options",)),
    "technology": ("disks that state no price or carbon", ("price_per_tb", "embodied_per_tb")),
}
_OBVIOUS = ("title", "technology", "options")  # in a list, what needs no name


def _names() -> list[str]:
    return sorted({*catalogue.names(), *(name for table in _parts().values() for name in table)})


@click.command(
    "catalogue",
    short_help="List hardware and file systems by name, with sources.",
    epilog=examples(
        "perjoule catalogue",
        "perjoule catalogue odroid-hc4      all its values, each with its source",
    ),
)
@click.argument("name", required=False, shell_complete=completing(_names))
def catalogue_command(name: str | None) -> None:
    """List the hardware, file systems and countries that perjoule knows by name, or all values of NAME.

    Virtual hosts emulate clusters, and modelled watts are theirs; plans are made of all else. Each value has
    its uncertainty, its status (measured, datasheet, fitted, assumed) and its source. `perjoule docs plan`
    says how a need changes and adds parts.
    """
    parts = _parts()
    if name is None:
        _show(_list(parts))
        return
    if name not in (names := _names()):
        part = name.lower().replace(" ", "-")
        near, containing = neighbour(name, names), [each for each in names if part in each]
        advice = f'did you mean "{near}"?' if near else "perjoule catalogue lists all names"
        if len(containing) > 1:
            advice = f"names with it: {', '.join(containing)}"
        raise CampaignError(f'the catalogue has no "{name}"', next=advice)
    if name in catalogue.choices():
        _show(_about(catalogue.cluster(name)))
    for table, entries in parts.items():
        if name in entries:
            _show([f"{table} {name}", *_values(entries[name])])


def _parts() -> dict[str, Mapping[str, Any]]:
    """Return the tables of parts, by their names in a need; boards and drives also where no plan is made
    of them.
    """
    every: dict[str, Mapping[str, Any]] = {table: getattr(shipped(), table) for table in (*_TABLES, "grid")}
    return every | {"server": catalogue.servers_by_name(), "drive": catalogue.drives_by_name()}


def _list(parts: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    yield "clusters (cluster of a virtual testbed, --on of predict; boards with drives are clusters as well)"
    for cluster in map(catalogue.cluster, catalogue.names()):
        yield f"  {cluster.name}: {cluster.title}; {_totals(cluster)}"
    for table, (title, keys) in _TABLES.items():
        yield f"{title} ([{table}.NAME] of a need)"
        for name, part in parts[table].items():
            values = ((key, getattr(part, key)) for key in keys)
            text = (
                f"{'' if key in _OBVIOUS else f'{key} '}{_plain(key, value)}"
                for key, value in values
                if value is not None
            )
            yield f"  {name}: {', '.join(text)}"
    yield "carbon of electricity in gCO2e/kWh (grid of a need)"
    yield f"  {', '.join(f'{place} {grams:g}' for place, grams in parts['grid'].items())}"


def _show(lines: Iterable[str]) -> None:
    for line in lines:
        if line.startswith(" "):
            show_line(line)
        else:
            out.print(line, style="bold")


def _totals(cluster: Cluster) -> str:
    if not (servers_count := sum(node.count for node in catalogue.servers(cluster))):
        return "a machine whose own disks are loaded"
    idle_w, peak_w = (
        estimate(total(cluster, switch=False)) for total in (catalogue.idle_w, catalogue.peak_w)
    )
    capacity = bytes_text(catalogue.capacity_bytes(cluster))
    most = f"{estimate(cluster.highest_w.value)} W measured, " if cluster.highest_w else ""
    return (
        f"{counted(servers_count, 'server')}, {capacity}, {idle_w} W idle to {most}{peak_w} W fully used, "
        "without the switch"
    )


def _about(cluster: Cluster) -> Iterator[str]:
    """Describe a cluster: its nodes, and each value with its source."""
    yield f"cluster {cluster.name}"
    yield f"  {cluster.title}; {_totals(cluster)}"
    yield f"  source: {cluster.source}"
    for node in cluster.nodes:
        disks = "".join(
            f", {count} x {name}" for name, count in Counter(disk.name for disk in node.disks).items()
        )
        yield f"  {node.count} x {node.name} ({node.role}): {node.board.name}{disks}"
    yield _value("switch_w", cluster.switch_w)
    yield _value("supply_efficiency", cluster.supply_efficiency)
    for name, value in (("load_w", cluster.load_w), ("highest_w", cluster.highest_w)):
        if value is not None:
            yield _value(name, value)
    yield from (f"  {note}" for note in cluster.notes)
    for board in dict.fromkeys(node.board for node in cluster.nodes):
        yield from (f"board {board.name}", *_values(board))
    for disk in dict.fromkeys(disk for node in cluster.nodes for disk in node.disks):
        yield from (f"disk {disk.name}", *_values(disk))


def _values(part: object) -> Iterator[str]:
    """Describe a part: each of its values that is stated."""
    if isinstance(part, float):
        yield f"  {part:g} gCO2e/kWh"
        return
    for name, value in ((field.name, getattr(part, field.name)) for field in fields(cast("Any", part))):
        if value not in (None, False, "", {}) and name != "name":
            yield _value(name, value)


def _value(name: str, value: Any) -> str:
    """Write a value with its uncertainty, status and source, if it has them."""
    text = f"  {option_name(name)}: {_plain(name, value)}"
    match value:
        case Value():
            ends = (
                (_plain(name, value.low), _plain(name, value.high))
                if None not in (value.low, value.high)
                else ()
            )
            interval = f" ({' to '.join(ends)})" if ends else ""
            return (
                f"{text}{f' ± {_plain(name, value.sigma)}' if value.sigma else ''}{interval}, "
                f"{value.status}: {value.source}"
            )
        case Quantity():
            interval = (
                f" ({value.text(value.low)} to {value.text(value.high)})" if value.low < value.high else ""
            )
            return f"{text}{interval}, {value.status}: {value.source}"
        case _:
            return text


def _plain(name: str, value: Any) -> str:
    """Write a value without its source."""
    if isinstance(value, Mapping):
        return (
            ", ".join(f"{key} = {item}" for key, item in cast("Mapping[str, Any]", value).items())
            or "default"
        )
    if isinstance(value, tuple):
        return (" or " if name == "options" else ", ").join(
            _plain(name, item) for item in cast("tuple[Any, ...]", value)
        )
    units = units_of(name)
    match value:
        case Quantity():
            return value.text(value.value)
        case Value():
            return _plain(name, value.value)
        case bool() | str():
            return str(value)
        case _ if units is RATES:
            return THROUGHPUT.text(value)
        case _ if units is BYTES:
            return bytes_text(value)
        case _:
            return f"{estimate(value)} W" if units is WATTS else estimate(value)
