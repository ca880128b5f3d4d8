"""The files of the catalogue as tables: those that come with perjoule, and those of folders that the user
names.

boards/ and drives/ have one file each, switches/ one for each network, clusters/ one for each cluster or
several variants of one; parts/ has what plans need beside hardware.
"""

import os
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, cast

from perjoule.model.errors import CampaignError

# of the environment: folders of the user's, with boards/, drives/, switches/ and clusters/
OWN = "PERJOULE_CATALOGUE"
Table = dict[str, Any]
_SIDES = ("_at_wall", "_behind_supply")


def places() -> tuple[str, ...]:
    """Return the user's folders, as the environment names them."""
    return tuple(filter(None, os.environ.get(OWN, "").split(":")))


def origin(name: str) -> str:
    """Name a file in messages."""
    return f"catalogue file {name}.toml"


def tables() -> Mapping[str, Table]:
    """Return what the files say, by table and name: "board", "drive", "network", "switch", and those of
    parts/.

    Raises:
        CampaignError: a file of the user's is not TOML, or has the name of another.
    """
    return _tables(places())


def clusters() -> Mapping[str, tuple[str, str]]:
    """Return the file of each cluster, and its text, by the cluster's name: the file's own, or those of
    its variants.
    """
    return _clusters(places())


@cache
def _tables(own: tuple[str, ...]) -> Mapping[str, Table]:
    tables_by_name: dict[str, Table] = {"board": {}, "drive": {}, "network": {}, "switch": {}}
    for table, name, text in _read(own, {"boards": "board", "drives": "drive", "switches": "network"}):
        written = toml(text, origin(name))
        if table == "network":
            for switch, part in _parts(written.pop("switch", {})):
                _enter(tables_by_name["switch"], switch, {"network": name, **part})
        if table != "network" or name not in tables_by_name[table] or written:
            _enter(tables_by_name[table], name, written)
    for path in sorted((files("perjoule.catalogue") / "parts").iterdir(), key=lambda path: path.name):
        if path.name.endswith(".toml"):
            merge(tables_by_name, tomllib.loads(path.read_text("utf-8")))
    return tables_by_name


@cache
def _clusters(own: tuple[str, ...]) -> Mapping[str, tuple[str, str]]:
    tables_by_name: dict[str, tuple[str, str]] = {}
    for _, file, text in _read(own, {"clusters": "cluster"}):
        for name in _variants(text) or [file]:
            _enter(tables_by_name, name, (file, text))
    return tables_by_name


def _variants(text: str) -> list[str]:
    try:
        variants = toml(text, "").get("variant")
    except CampaignError:  # whoever reads the file says so
        return []
    return [*variants] if isinstance(variants, dict) else []


def _read(own: tuple[str, ...], kinds: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Give each file's table, name and text."""
    for root in (files("perjoule.catalogue"), *map(Path, own)):
        if isinstance(root, Path) and not root.is_dir():
            raise CampaignError(
                f"{root} is not a folder", where=OWN, next="name folders, with : between them"
            )
        for folder, table in kinds.items():
            there: Traversable = root / folder
            for path in sorted(there.iterdir(), key=lambda path: path.name) if there.is_dir() else ():
                if path.name.endswith(".toml"):
                    yield table, path.name.removesuffix(".toml"), _text(path)


def _text(path: Traversable) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CampaignError(f"it can't be read: {error}", where=str(path)) from None


def toml(text: str, where: str) -> Table:
    """Read a file's text. Raises CampaignError: it is not TOML."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, or a number of thousands of digits
        raise CampaignError(f"not TOML: {error}", where=where) from error


def _parts(written: object) -> Iterator[tuple[str, Table]]:
    if isinstance(written, Mapping):
        for name, part in cast("Mapping[str, object]", written).items():
            yield name, cast("Table", part) if isinstance(part, dict) else {}


def _enter(into: dict[str, Any], name: str, new: object) -> None:
    if name in into:
        message = f'the catalogue has "{name}" twice'
        raise CampaignError(message, where=origin(name), next="give it another name")
    into[name] = new


def merge(into: Table, new: Mapping[str, Any]) -> None:
    """Change tables key by key.

    A quantity replaces the one before, whichever side of the supply that is for.
    """
    for key in new:
        for side, other in (_SIDES, _SIDES[::-1]):
            if key.endswith(side) and (beside := f"{key.removesuffix(side)}{other}") not in new:
                into.pop(beside, None)
    for key, value in new.items():
        table: object = into.get(key)
        if (
            isinstance(table, dict)
            and isinstance(value, Mapping)
            and "value" not in table
            and "value" not in value
        ):
            merge(cast("Table", table), cast("Mapping[str, Any]", value))
        elif isinstance(value, Mapping):
            into[key] = {}
            merge(into[key], cast("Mapping[str, Any]", value))
        else:
            into[key] = value
