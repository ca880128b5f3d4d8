"""The JSON Schema of a campaign file, for editors, generated from the drivers' own fields."""

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Any

from pydantic import TypeAdapter

from perjoule import drivers
from perjoule.campaign.events import EVENT, EVENTS, EventTable
from perjoule.campaign.header import Header
from perjoule.campaign.tables import NAMES, OWN_TESTBED, fields_of, table_class, takes_list
from perjoule.drivers.protocols import Command
from perjoule.model import Json, option_name
from perjoule.model.units import exact_text, units_of

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"

# what an editor shows of an option, whichever form its value has
_ABOVE = ("title", "description", "default")


def schema() -> Mapping[str, Json]:
    """Describe a whole campaign file, draft 2020-12, for editors: the output of `perjoule drivers
    --schema`.
    """
    header = described(Header)
    header["required"] = [f"{name}" for name in NAMES[:3]]
    definitions: Schema = header.pop("$defs", {})
    for name in NAMES:
        tables: dict[str, Schema] = {}
        for kind in drivers.usable(f"{name}s"):
            table = driver_schema(name, kind)
            definitions |= table.pop("$defs", {})
            definitions[f"{name}-{kind}"] = table
            tables[kind] = table
        table_schema: Schema = {"type": "object", **_by_kind(name, tables)}
        header["properties"][name] = (
            table_schema if name == "testbed" else {"type": "array", "minItems": 1, "items": table_schema}
        )
    happening = {kind: driver_schema(EVENT, kind) for kind in drivers.usable(EVENTS)}
    definitions |= {f"{EVENT}-{kind}": table for kind, table in happening.items()}
    header["properties"][EVENT] = {
        "type": "array",
        "minItems": 1,
        "items": {"type": "object", **_by_kind(EVENT, happening)},
    }
    title = "perjoule campaign"
    return {"$schema": DRAFT, **header, "title": title, "$defs": definitions}


def _by_kind(name: str, tables: dict[str, Schema]) -> Schema:
    """Choose the one table that a `kind` means, so that a wrong option is reported by itself.

    `oneOf` would report that the whole table matches none of all kinds. Editors (taplo) look for completions
    in `anyOf`, not behind `then`: hence all tables stand there too, beside one that allows everything.
    """
    kinds: Schema = {"enum": list(tables), "description": "The driver; `perjoule drivers` lists all."}
    choice: Schema = {"properties": {"kind": kinds}, "required": ["kind"]}
    for kind, table in reversed(tables.items()):
        condition: Schema = {"properties": {"kind": {"const": kind}}, "required": ["kind"]}
        if kind in table["properties"]:  # implied by the option of that name
            condition = {"anyOf": [condition, {"required": [kind], "not": {"required": ["kind"]}}]}
        choice = {"if": condition, "then": _reference(name, kind), "else": choice}
    return {**choice, "anyOf": [{}, *(_reference(name, kind) for kind in tables)]}


def _reference(name: str, kind: str) -> Schema:
    return {"$ref": f"#/$defs/{name}-{kind}"}


def driver_schema(name: str, kind: str) -> Schema:
    """Describe the table of one driver; an option that takes one value also accepts a list."""
    if name == EVENT:
        return event_schema(kind)
    table = described(drivers.driver_class(f"{name}s", kind), f"{name}-{kind}-")
    for option, (_, info) in fields_of(name, kind).items():
        if info.description:
            table["properties"][option]["description"] = _joined(info.description)
        if not takes_list(info.annotation):
            table["properties"][option] = _spanning(table["properties"][option])
            if inner := table_class(info.annotation):
                _span(table["$defs"][f"{name}-{kind}-{inner.__name__}"]["properties"], inner)
    label = {"type": "string", "description": "How tables and figures name it."}
    in_order = {option: table["properties"][option] for option in fields_of(name, kind)}
    testbed_option: Schema = {
        OWN_TESTBED: {
            "type": "object",
            "description": "Options of [testbed] that are others for this file system alone.",
        }
    }
    common = {"kind": {"const": kind}, "label": label, **(testbed_option if name == "filesystem" else {})}
    table["properties"] = common | in_order
    implied = kind in table["properties"]  # by the option of that name
    table["required"] = [*([] if implied else ["kind"]), *table.get("required", [])]
    return table


def event_schema(kind: str) -> Schema:
    """Describe the table of one kind of event: what all have, and its own options."""
    table, kind_schema = described(EventTable), described(drivers.event_class(kind))
    table["properties"] |= {"kind": {"const": kind}, **kind_schema["properties"]}
    table["required"] += kind_schema.get("required", [])
    if issubclass(drivers.event_class(kind), Command):
        del table["properties"]["host"]
    else:
        table["required"].append("host")
        del table["properties"]["host"]["default"]
    return table


def described(cls: type, prefix: str = "") -> Schema:
    """Return the schema of a dataclass of options, with defaults as people write them; `prefix` begins its
    tables' names.
    """
    options_schema = TypeAdapter(cls).json_schema(ref_template=f"#/$defs/{prefix}{{model}}")
    if "$defs" in options_schema:
        options_schema["$defs"] = {
            f"{prefix}{model}": definition for model, definition in options_schema["$defs"].items()
        }
    for info in drivers.options(cls).values():
        inner = table_class(info.annotation)
        # a value's schema may be its own
        if inner and (table := options_schema.get("$defs", {}).get(f"{prefix}{inner.__name__}")):
            _speak(table, inner)
    _speak(options_schema, cls)
    for table in (options_schema, *options_schema.get("$defs", {}).values()):
        if "description" in table:
            table["description"] = _joined(table["description"])
    return options_schema


def _speak(options_schema: Schema, cls: type) -> None:
    """Write the defaults of a dataclass of options as people do, and describe its options."""
    for base in reversed(cls.__mro__):
        for field, text in _docstrings(base).items():
            options_schema["properties"][option_name(field)]["description"] = text
    for field in drivers.options(cls):
        option = options_schema["properties"].get(option_name(field), {})
        units = units_of(field)
        if units is not None and isinstance(option.get("default"), int | float):
            option["default"] = exact_text(option["default"], units)
        if option.get("default", 0) is None:
            del option["default"]


@cache  # reading source takes most of the time of a schema, and drivers share their bases
def _docstrings(cls: type) -> Mapping[str, str]:
    """Give the docstring below each field; pydantic would read the source of every class of options that
    is imported.
    """
    docstrings: dict[str, str] = {}
    parsed = ast.parse(dedent(inspect.getsource(cls))).body[0] if is_dataclass(cls) else None
    for statement in pairwise(parsed.body if isinstance(parsed, ast.ClassDef) else ()):
        match statement:
            case ast.AnnAssign(target=ast.Name(id=field)), ast.Expr(value=ast.Constant(value=str(text))):
                docstrings[field] = _joined(inspect.cleandoc(text))
            case _:
                pass
    return docstrings


def _joined(text: str) -> str:
    """Join the lines of each paragraph: where an editor breaks them is its own business."""
    return re.sub(r"(?<!\n)\n(?![\n-])", " ", text)


def _span(properties: Schema, inner: type) -> None:
    """Let the options of an option's own table span the matrix, too."""
    for field, info in drivers.options(inner).items():
        if not takes_list(info.annotation):
            properties[option_name(field)] = _spanning(properties[option_name(field)])


def _spanning(option: Schema) -> Schema:
    single = {key: value for key, value in option.items() if key not in _ABOVE}
    above = {key: value for key, value in option.items() if key in _ABOVE}
    return {**above, "anyOf": [single, {"type": "array", "items": single, "minItems": 1}]}
