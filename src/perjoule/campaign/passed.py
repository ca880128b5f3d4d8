"""What a campaign's tables pass on to programs, daemons and configuration files, whatever the driver: looked
at once, as written.

Drivers' options have rules in their types (`model.options.passed_on`); here is the one that holds for all of
them. None holds for the campaign of results that are only read.
"""

from collections.abc import Iterator

from perjoule.campaign.lines import Path
from perjoule.campaign.source import CampaignSource, Table, is_list, is_table
from perjoule.model.permitted import control_character
from perjoule.model.validation import written


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
