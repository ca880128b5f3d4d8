"""The text of a campaign as a document, with the line of every error in it."""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as File
from typing import Any, TypeGuard

from perjoule.campaign.lines import Path, key_lines, line_of
from perjoule.machine.untrusted import lies_in
from perjoule.model.errors import CampaignError, FileRefused, KeyRefused
from perjoule.model.validation import instead, neighbour

Table = dict[str, Any]  # as tomllib gives it
_KEY = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
# a campaign is a page; this keeps a wrong path (/dev/zero, an image) from filling the memory
LONGEST_BYTES = 1024**2
CAMPAIGNS = "`perjoule new` lists campaigns to start from"


def is_table(value: object) -> TypeGuard[Table]:
    """Return whether a value of a document is a table."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Return whether a value of a document is a list."""
    return isinstance(value, list)


@dataclass(frozen=True)
class CampaignSource:
    """The origin of a campaign: the line of each key, and the keys that the command line has changed."""

    name: str  # "" for drivers that the command line names
    lines: Mapping[Path, int]
    # the override that gave a key its value
    changed: Mapping[Path, str] = field(default_factory=dict[Path, str])
    folder: File | None = None  # where files lie that it names
    # files of the user's instead, by their names
    given: Mapping[str, str] = field(default_factory=dict[str, str])
    # with results, and read for them: nothing of it is started, so it may pass on what a run may not
    of_results: bool = False
    owner: int | None = None  # of its file (uid); None: it is no file

    def location(self, path: Path) -> str:
        """Return the place of a key or a table: its line, or the overrides that changed it."""
        line = line_of(path, self.lines)
        changes = dict.fromkeys(text for key, text in self.changed.items() if key[: len(path)] == path)
        return " ".join(f"--set {text}" for text in changes) or (
            f"{self.name} line {line}" if line else self.name
        )

    def error(self, path: Path, fault: str, next: str = "") -> CampaignError:
        """Make the error for a wrong key."""
        return KeyRefused(fault, where=self.location(path), next=next)


def text_of(
    path: File, kind: str = "campaign", advice: str = CAMPAIGNS, *, inside: File | None = None
) -> str:
    """Read a campaign file, or a file of another `kind`, which lies in the folder `inside` whatever leads there.

    Raises CampaignError, with the advice if there is no such file.
    """
    return owned_text_of(path, kind, advice, inside=inside)[0]


def owned_text_of(
    path: File, kind: str = "campaign", advice: str = CAMPAIGNS, *, inside: File | None = None
) -> tuple[str, int]:
    """Read a file as `text_of` does; return its owner (uid), too."""
    try:
        with path.open("rb") as file:
            owner = os.fstat(file.fileno()).st_uid
            if inside is not None and not lies_in(file.fileno(), inside.resolve()):
                advice = "copy what it leads to into the folder, if it may be published with results"
                raise FileRefused(f"a link leads out of {inside}", where=str(path), next=advice)
            content = file.read(LONGEST_BYTES + 1)
    except FileNotFoundError:
        near = _neighbour(path)
        meant = f'did you mean "{near}"?' if near else advice
        raise FileRefused("no such file", where=str(path), next=meant) from None
    except IsADirectoryError:
        raise FileRefused(
            f"this is a folder, not a {kind} file", where=str(path), next="name a .toml file in it"
        ) from None
    except OSError as error:
        raise FileRefused(
            f"can't be read ({error.strerror})", where=str(path), next="check the path and its permissions"
        ) from None
    if len(content) > LONGEST_BYTES:
        raise FileRefused(
            f"this is larger than 1 MiB, the limit of a {kind} file", where=str(path), next="check the path"
        )
    try:
        return content.decode("utf-8-sig"), owner
    except UnicodeDecodeError as error:
        raise FileRefused(
            f"this is not a text file (byte {error.start + 1})", where=str(path), next="check the path"
        ) from None


def _neighbour(path: File) -> str | None:
    """Return the file that was probably meant: of the same folder, or of the same name in a folder of
    another name.
    """
    folder = path.parent
    if not folder.is_dir():
        near = neighbour(folder.name, (file.parent.name for file in folder.parent.glob(f"*/{path.name}")))
        return str(folder.with_name(near) / path.name) if near else None
    near = neighbour(path.stem, (file.stem for file in folder.glob(f"*{path.suffix or '.toml'}")))
    return f"{near}{path.suffix or '.toml'}" if near else None


def read_toml(text: str, name: str) -> tuple[Table, CampaignSource]:
    """Read TOML. Raises CampaignError with the line and column of an error."""
    if not text.strip():
        raise FileRefused(
            "the file is empty", where=name, next="`perjoule new local` writes a short campaign"
        )
    try:
        return tomllib.loads(text), CampaignSource(name, key_lines(text))
    except RecursionError:
        raise FileRefused("this is nested too deeply", where=name, next="check the brackets") from None
    except ValueError as error:
        place = re.search(r" \(at line (\d+), column (\d+)\)$", str(error))
        position = f"{name} line {place[1]} column {place[2]}" if place else name
        message = str(error)[: place.start()] if place else str(error)
        if place and (twice := _twice(message, text.splitlines()[int(place[1]) - 1])):
            raise FileRefused(twice[0], where=f"{name} line {place[1]}", next=twice[1]) from None
        raise FileRefused(
            f"this is not valid TOML: {message[:1].lower()}{message[1:]}",
            where=position,
            next="check quotes and brackets there (https://toml.io)",
        ) from None


def _twice(message: str, line: str) -> tuple[str, str] | None:
    """Return what is on a line a second time, and what to do, if that is why tomllib refuses it."""
    key = line.partition("=")[0].strip()
    if message == "Cannot overwrite a value" and _KEY.fullmatch(key):
        return f"{key} is set twice", "remove one"
    if inline := re.fullmatch(r"Duplicate inline table key '(.+)'", message):
        return f"{inline[1]} is set twice", "remove one"
    if table := re.fullmatch(r"Cannot declare \('(\w+)',\) twice", message):
        several = (
            "a campaign has one"
            if table[1] == "testbed"
            else f"write each as [[{table[1]}]], in double brackets"
        )
        return f"[{table[1]}] is there twice", several
    return None


def override(
    document: Table,
    overrides: Sequence[str],
    source: CampaignSource,
    options: Mapping[str, Sequence[Sequence[str]]],
) -> CampaignSource:
    """Apply the command line's overrides ("filesystem.goal=2": in every table of that name that has the
    option).

    Args:
        document: is changed.
        overrides: "PATH=VALUE"; the value is TOML, or text if it is not valid TOML.
        source: the document's origin.
        options: the keys that can be set: for "" the top-level keys, for each table name its options.
    """
    changed = dict(source.changed)
    for text in overrides:
        key, equals, value_text = (part.strip() for part in text.partition("="))
        name, dot, option = (part.strip() for part in key.rpartition("."))
        example = KeyRefused(
            f'"{text}" changes nothing',
            where="--set",
            next="write it like filesystem.goal=2 or repetitions=1",
        )
        if not equals or not key or (dot and not option):
            raise example
        if name not in options:
            raise KeyRefused(
                f'nothing in this campaign is called "{name}"',
                where=f"--set {text}",
                next=instead(name, filter(None, options)),
            )
        taking = [n for n, keys in enumerate(options[name]) if option in keys]
        if not taking:
            known_keys = dict.fromkeys(known_key for keys in options[name] for known_key in keys)
            whose = f"no {name} {'of this campaign' if source.name else 'here'}" if name else "no campaign"
            raise KeyRefused(
                f'{whose} has "{option}"',
                where=f"--set {text}",
                next=_advice(option, list(known_keys), options),
            )
        for n in taking:
            path: Path = (name, n) if is_list(document.get(name)) else (name,) if name else ()
            table: Table = document[name][n] if len(path) == 2 else document[name] if name else document
            table[option] = value(value_text)
            changed[*path, option] = text
    return replace(source, changed=changed)


def _advice(option: str, known_keys: Sequence[str], options: Mapping[str, Sequence[Sequence[str]]]) -> str:
    owners = [
        f"{name}.{option}"
        for name, tables in options.items()
        if name and any(option in table for table in tables)
    ]
    if owners and neighbour(option, known_keys) is None:
        return f"did you mean {' or '.join(owners)}?"
    return instead(option, known_keys)


def value(text: str) -> object:
    """Read a value of the command line as TOML, or as text: the shell has removed the quotes from "1 GiB"."""
    try:
        document = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return document["value"] if len(document) == 1 else text
