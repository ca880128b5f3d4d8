"""What a campaign's tables pass on to programs, daemons and configuration files, whatever the driver: looked
at once, as written.

Drivers' options have rules in their types (`model.options.passed_on`); here are those that hold for all of
them. None holds for the campaign of results that are only read.
"""

import os
from collections.abc import Iterator

from perjoule.campaign.lines import Path
from perjoule.campaign.source import CampaignSource, Table, is_list, is_table
from perjoule.machine.strangers import callers
from perjoule.model.permitted import control_character
from perjoule.model.validation import written

# options that name files whose content, or a digest of it, is sent to a server, besides all that end in "_file"
SECRETS = frozenset({"secret", "credentials"})
_SENT_NOWHERE = frozenset({"scheduler_file"})


def require_one_line(path: Path, options: Table, source: CampaignSource) -> None:
    """Check that no key or value of a table has a control character, which would end a line of a
    configuration file or hide one.

    Raises:
        CampaignError: one has, with the line.
    """
    for option, value in options.items():
        for text in _texts({option: value}):
            if character := control_character(text):
                fault = f"{option} has a control character ({character}) in {written(text)}"
                raise source.error((*path, option), fault, "write it in one line, without tabs")


def _texts(value: object) -> Iterator[str]:
    """Yield all texts in a value of TOML, keys included."""
    if isinstance(value, str):
        yield value
    elif is_table(value):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif is_list(value):
        for inner in value:
            yield from _texts(inner)


def check_passwords(document: Table, place: CampaignSource) -> None:
    """Check that a campaign of another user's names no file that would be sent to a server that it names, too, as a
    password or as a digest of one. Raises CampaignError.
    """
    if place.owner in (None, 0, os.geteuid(), *callers()):
        return
    for path in _secrets(document):
        fault = f"{place.name} belongs to another user (uid {place.owner}), and would have a file of yours sent to a server"
        raise place.error(path, fault, "copy it, once you have read it")


def _secrets(value: object, path: Path = ()) -> Iterator[Path]:
    """Yield the places of options that name files with secrets."""
    if is_table(value):
        for key, option in value.items():
            if key in SECRETS or (
                isinstance(option, str) and key.endswith("_file") and key not in _SENT_NOWHERE
            ):
                yield (*path, key)
            yield from _secrets(option, (*path, key))
    elif is_list(value):
        for number, option in enumerate(value):
            yield from _secrets(option, (*path, number))
