"""The JSON Schema of a need, for editors, generated from the fields of needs and parts."""

from collections.abc import Mapping
from typing import Any

from perjoule.campaign.schema import DRAFT, described
from perjoule.model import Json
from perjoule.planning.need import INNER, Need
from perjoule.planning.parts import Parts


def schema() -> Mapping[str, Json]:
    """Describe a need with its own parts, draft 2020-12: the output of `perjoule plan --schema`."""
    need_schema, tables = described(Need), described(Parts)
    definitions: dict[str, Any] = need_schema.pop("$defs")
    for name, part in tables.pop("$defs").items():
        # a known part is changed key by key
        definitions[name] = {key: value for key, value in part.items() if key != "required"}
    for name, table in tables["properties"].items():
        need_table = need_schema["properties"].get(name)
        need_schema["properties"][name] = (
            {**need_table, "anyOf": [*need_table["anyOf"], table]} if need_table else table
        )
    for name in INNER:
        del need_schema["properties"][name]["default"]
    needed: dict[str, Any] = {
        "required": ["capacity"],
        "anyOf": [{"required": ["read"]}, {"required": ["write"]}],
    }
    return {"$schema": DRAFT, **need_schema, **needed, "title": "perjoule need", "$defs": definitions}
