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
from typing import Any, NamedTuple, cast

from perjoule.model.errors import CampaignError

# of the environment: folders of the user's, with boards/, drives/, switches/ and clusters/
OWN = "PERJOULE_CATALOGUE"
Table = dict[str, Any]
_SIDES = ("_at_wall", "_behind_supply")
_SHIPPED = "catalogue file "  # before the folder and name of a file that comes with perjoule
_TABLES = {"boards": "board", "drives": "drive", "switches": "network", "parts": ""}


class CatalogueFile(NamedTuple):
    """A file of the catalogue."""

    table: str  # of which it is an entry; "" if it has tables of its own
    name: str
    text: str
    origin: str  # as messages name it: its path, if it is the user's


def places() -> tuple[str, ...]:
    """Return the user's folders, as the environment names them."""
    return tuple(filter(None, os.environ.get(OWN, "").split(":")))


def tables() -> Mapping[str, Table]:
    """Return what the files say, by table and name: "board", "drive", "network", "switch", and those of
    parts/.

    Raises:
        CampaignError: a file of the user's is not TOML, or has the name of another.
    """
    return _tables(places())[0]


def file_of(table: str, name: str) -> CatalogueFile:
    """Return the file that describes an entry of `tables()`. Raises CampaignError as it does."""
    return _tables(places())[1][table, name]


def clusters() -> Mapping[str, CatalogueFile]:
    """Return the file of each cluster by the cluster's name: the file's own, or those of its variants.

    Raises:
        CampaignError: one of the user's has the name of another, or of a board that makes a cluster.
    """
    return _clusters(places())


@cache
def _tables(
    user_folders: tuple[str, ...],
) -> tuple[Mapping[str, Table], Mapping[tuple[str, str], CatalogueFile]]:
    tables_by_name: dict[str, Table] = {"board": {}, "drive": {}, "network": {}, "switch": {}}
    origins: dict[tuple[str, str], CatalogueFile] = {}
    for file in _read(user_folders, _TABLES):
        written = toml(file.text, file.origin)
        if not file.table:
            for table, part in _parts(written):
                origins = {**dict.fromkeys(((table, name) for name in part), file), **origins}
            merge(tables_by_name, written)
            continue
        if file.table == "network":
            for switch, part in _parts(written.pop("switch", {})):
                _enter(origins, ("switch", switch), file)
                tables_by_name["switch"][switch] = {"network": file.name, **part}
        if file.table != "network" or file.name not in tables_by_name[file.table] or written:
            _enter(origins, (file.table, file.name), file)
            tables_by_name[file.table][file.name] = written
    return tables_by_name, origins


@cache
def _clusters(user_folders: tuple[str, ...]) -> Mapping[str, CatalogueFile]:
    files_by_name: dict[tuple[str, str], CatalogueFile] = {}
    for file in _read(user_folders, {"clusters": "cluster"}):
        for name in _variants(file.text) or [file.name]:
            _enter(files_by_name, ("cluster", name), file)
    tables_by_name, origins = _tables(user_folders)
    for name, board in tables_by_name["board"].items():
        entered = ("cluster", name) in files_by_name and "drives" in board
        if entered and any(map(_is_own, (origins["board", name], files_by_name["cluster", name]))):
            _enter(files_by_name, ("cluster", name), origins["board", name])
    return {name: file for (_, name), file in files_by_name.items()}


def _is_own(file: CatalogueFile) -> bool:
    return not file.origin.startswith(_SHIPPED)


def _variants(text: str) -> list[str]:
    try:
        variants = toml(text, "").get("variant")
    except CampaignError:  # whoever reads the file says so
        return []
    return [*variants] if isinstance(variants, dict) else []


def _read(user_folders: tuple[str, ...], kinds: Mapping[str, str]) -> Iterator[CatalogueFile]:
    """Read the files of folders; "parts" are perjoule's alone."""
    shipped = files("perjoule.catalogue")
    for root in (shipped, *map(Path, user_folders)):
        if root is not shipped and not root.is_dir():
            raise CampaignError(
                f"{root} is not a folder", where=OWN, next="name folders, with : between them"
            )
        for folder, table in kinds.items():
            subfolder: Traversable = root / folder
            if not subfolder.is_dir() or (root is not shipped and not table):
                continue
            for path in sorted(subfolder.iterdir(), key=lambda path: path.name):
                if path.name.endswith(".toml"):
                    origin = f"{_SHIPPED}{folder}/{path.name}" if root is shipped else str(path)
                    yield CatalogueFile(table, path.name.removesuffix(".toml"), _text(path, origin), origin)


def _text(path: Traversable, origin: str) -> str:
    if not path.is_file():  # a pipe or a device may never end
        raise CampaignError("it is not a file", where=origin, next="remove it")
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CampaignError(f"it can't be read: {error}", where=origin) from None


def toml(text: str, origin: str) -> Table:
    """Read a file's text. Raises CampaignError: it is not TOML."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # TOMLDecodeError, or a number of thousands of digits
        raise CampaignError(f"not TOML: {error}", where=origin) from error


def _parts(written: object) -> Iterator[tuple[str, Table]]:
    if isinstance(written, Mapping):
        for name, part in cast("Mapping[str, object]", written).items():
            yield name, cast("Table", part) if isinstance(part, dict) else {}


def _enter(into: dict[tuple[str, str], CatalogueFile], key: tuple[str, str], file: CatalogueFile) -> None:
    if key in into:
        message = f'the catalogue has "{key[1]}" twice, also in {into[key].origin}'
        raise CampaignError(message, where=file.origin, next="give it another name")
    into[key] = file


def merge(into: Table, new: Mapping[str, Any]) -> None:
    """Change tables key by key.

    A quantity replaces the one before, whichever side of the supply that is for.
    """
    for key in new:
        for side, opposite in (_SIDES, _SIDES[::-1]):
            if key.endswith(side) and (beside := f"{key.removesuffix(side)}{opposite}") not in new:
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
