"""Text files that a campaign names by a path relative to itself: their text is part of the campaign and is
kept with it.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path as File
from typing import get_args

from perjoule.campaign.lines import Path
from perjoule.campaign.source import CampaignSource, is_table, text_of
from perjoule.model import Spec
from perjoule.model.errors import CampaignError
from perjoule.model.options import AttachedText
from perjoule.model.validation import written

OWN_NAMES = (
    "trials",
    "lock",
    "results.json",
    "journal.jsonl",
    "progress.jsonl",
    "campaign.toml",
    "table.json",
    "report.html",
)  # of a results folder


def takes_file(annotation: object) -> bool:
    """Return whether an option is written as the path of a text file."""
    return any(AttachedText in (part, *get_args(part)) for part in (annotation, *get_args(annotation)))


def attached(path: Path, option: str, value: object, source: CampaignSource) -> Mapping[str, str]:
    """Read the file that an option names, inside the campaign's folder, if the user gives none of that name.

    Raises:
        CampaignError: the file is missing, or outside the folder.
    """
    name = File(value) if isinstance(value, str) else None
    if (
        name is None
        or name.is_absolute()
        or ".." in name.parts
        or not name.parts
        or name.parts[0] in OWN_NAMES
    ):
        advice = f'write a path relative to the campaign\'s folder, such as {option} = "my.fio"'
        raise source.error(
            (*path, option), f"{option} = {written(value)} is not a file in the campaign's folder", advice
        )
    if str(name) in source.given:
        return {"name": str(name), "text": source.given[str(name)]}
    folder = source.folder or File()
    file = folder / name
    if file.exists() and not file.is_file():  # a pipe would never end
        raise source.error((*path, option), f"{option} = {written(value)} is not a file", "name a text file")
    try:
        # whoever wrote the campaign could have a file of the user's published, or shown in an error
        return {"name": str(name), "text": text_of(file, "text", "check the path", inside=folder)}
    except CampaignError as error:
        raise source.error(
            (*path, option), f"{option} = {written(value)}: {error.what}", error.next
        ) from None


def files_of(specs: Iterable[Spec]) -> Mapping[str, str]:
    """Return all files that drivers' options name: text by name."""
    tables = (value for spec in specs for value in spec.options.values() if is_table(value))
    return {str(table["name"]): str(table["text"]) for table in tables if set(table) == {"name", "text"}}
