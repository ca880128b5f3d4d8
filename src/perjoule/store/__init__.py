"""A results folder: append a Record, read Records. Versioned, atomic, never overwritten; safe to kill at any
moment.

    results.json                      format version, the campaign's name and overrides
    campaign.toml                     the campaign as it was read; next to it, the files that it names
    journal.jsonl                     one line per kept attempt: the commit point
    lock                              held (flock) while perjoule works on the folder
    trials/<trial id>/attempt-<n>/    record.json, series.parquet, raw/, logs/
    set-aside/<trial id>-attempt-<n>/ attempts that the journal does not list
    joined/<name>.csv, .clock.json    recordings from other computers, and the offsets of their clocks
    table.json                        the numbers of the last report
    progress.jsonl                    what the run under way is doing (`perjoule.store.progress`): no part of
    the results summary/                          numbers computed from all this, kept for the next reader
    (`perjoule.summary`)

A partial attempt is in `trials/<trial id>/partial-<n>/`, marked as ours and closed to others, and is renamed
when it is kept.
"""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from perjoule.machine.untrusted import from_json, json_of, text_of
from perjoule.model import Json
from perjoule.model.errors import FolderOfOthers, MachineError, NewerFormat
from perjoule.model.records import FORMAT
from perjoule.store.attempt import Attempt
from perjoule.store.disk import spoken
from perjoule.store.journal import JournalEntry
from perjoule.store.place import entered, make_folders
from perjoule.store.results import Results, digest_of

__all__ = ["Attempt", "JournalEntry", "Results", "create", "open_results"]

SHOWN_COUNT = 3  # results folders that an error names
NO_FILES: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Head:
    """The content of results.json."""

    version: int
    name: str = ""
    overrides: tuple[str, ...] = ()
    format: str = ""
    campaign: str = ""  # the digest of its text, overrides and files; "" before format 2
    conditions: Mapping[str, float] = field(default_factory=dict[str, float])


def create(
    folder: Path,
    campaign_text: str,
    name: str,
    overrides: tuple[str, ...] = (),
    files: Mapping[str, str] = NO_FILES,
) -> Results:
    """Make a results folder, or open it if it already holds this very campaign with the same overrides.

    Raises:
        MachineError: it holds something else, can't be written, or the disk is full.
    """
    if (folder / "results.json").exists():
        results = open_results(folder)
        same_files = all(
            (folder / file).is_file() and (folder / file).read_text() == text for file, text in files.items()
        )
        if (results.campaign_text, results.overrides) != (campaign_text, overrides) or not same_files:
            raise FolderOfOthers(
                "this results folder belongs to another campaign",
                where=str(folder),
                next="choose another folder, or continue the one in it with `perjoule resume`",
            )
        return results
    with spoken(folder):
        make_folders(folder)
    with spoken(folder), entered(folder) as place:
        # An earlier create that was killed may have left the files below; results.json, written last, is what
        # counts.
        ours = {"campaign.toml", "journal.jsonl", "trials", *(Path(file).parts[0] for file in files)}
        foreign = place.names - ours - {f"{name}.partial" for name in ours | {"results.json"}}
        if foreign:
            raise FolderOfOthers(
                f'the folder is not empty (it holds "{min(foreign)}") and is not a results folder',
                where=str(folder),
                next="choose a new or empty folder",
            )
        with place.made("trials"):
            pass
        for file, text in {"campaign.toml": campaign_text, **files, "journal.jsonl": ""}.items():
            place.put(file, text)
        digest = digest_of(campaign_text, overrides, files)
        head = {
            "format": "perjoule results",
            "version": FORMAT,
            "name": name,
            "overrides": overrides,
            "campaign": digest,
        }
        place.put("results.json", json.dumps(head) + "\n")
    return Results(folder, campaign_text, overrides, digest)


def open_results(folder: Path) -> Results:
    """Open a results folder to read it, or (with `hold`) to add to it.

    Raises:
        MachineError: it is not a results folder, or it is damaged, unreadable, or of a newer version.
    """
    if not (folder / "results.json").is_file():
        raise _refusal(folder)
    with spoken(folder / "results.json"):
        stored: object = json_of(folder / "results.json")
        version = cast("dict[str, Any]", stored).get("version") if isinstance(stored, dict) else None
        if version is None:
            raise ValueError("it has no version")
        if version not in range(1, FORMAT + 1):
            raise NewerFormat(
                f"results of format version {version}, but this perjoule reads versions up to {FORMAT}",
                where=str(folder),
            )
        head = from_json(Head, cast("Json", stored))
    with spoken(folder / "campaign.toml"):
        text = text_of(folder / "campaign.toml")
    results = Results(folder, text, head.overrides, head.campaign, head.conditions)
    results.entries()
    return results


def _refusal(folder: Path) -> MachineError:
    """Say what is at a path that should be a results folder, and what may have been meant."""
    around, quoted = (folder if folder.is_dir() else folder.parent), shlex.quote(str(folder))
    fault = "this is not a results folder (no results.json in it)"
    advice = "name the folder that `perjoule run` printed"
    candidates = sorted(path.parent.name for path in around.glob("*/results.json"))
    if folder.is_dir() and candidates:
        advice = f"name one below it: {', '.join(str(folder / name) for name in candidates[:SHOWN_COUNT])}"
    elif folder.is_file() and folder.suffix == ".toml":
        fault, advice = "this is a campaign, not a results folder", f"run it with `perjoule run {quoted}`"
    elif folder.is_file() and folder.suffix == ".zip":
        unpacked = shlex.quote(str(folder.with_suffix("")))
        fault, advice = (
            "this is a file, not a results folder",
            f"unpack a bundle with `unzip {quoted} -d {unpacked}`",
        )
    elif not folder.exists():
        fault = "no such folder"
        if folder.suffix == ".zip":
            fault, candidates = "no such file", [path.name for path in around.glob("*.zip")]
        if near := get_close_matches(folder.name, candidates, n=1):
            advice = f'did you mean "{around / near[0]}"?'
    return MachineError(fault, where=str(folder), next=advice)
