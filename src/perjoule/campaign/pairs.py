"""Which file system is measured on which testbed: each on [testbed], but for the options that its own
`testbed` changes.

[[filesystem]]
kind = "moosefs"
testbed = {servers = 4}
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perjoule.campaign.lines import Path
from perjoule.campaign.source import CampaignSource, Table, is_table
from perjoule.campaign.tables import OWN_TESTBED, TableRow, rows
from perjoule.model import Spec
from perjoule.model.validation import written


@dataclass(frozen=True)
class FileSystemPair:
    """A file system on a testbed."""

    testbed: Spec
    filesystem: Spec  # its label names the testbed, too, if it is measured on several
    path: Path  # of the file system's table


def testbeds(
    document: Table, place: CampaignSource
) -> tuple[Sequence[TableRow], Mapping[Path, Sequence[TableRow]]]:
    """Build all testbeds, each once, and say on which of them each table of a file system is measured.

    Raises CampaignError.
    """
    shared = rows("testbed", ("testbed",), document["testbed"], place)
    found = list(shared)
    of: dict[Path, Sequence[TableRow]] = {}
    for number, table in enumerate(document["filesystem"]):
        path: Path = ("filesystem", number)
        own = _own(table, path, place)
        made = rows("testbed", (*path, OWN_TESTBED), {**document["testbed"], **own}, place) if own else shared
        of[path] = [next((one for one in found if one.options == row.options), row) for row in made]
        found += [row for row in of[path] if not any(row is one for one in found)]
    return [row for row in found if any(row is one for mine in of.values() for one in mine)], of


def pairs(
    rows_of: Mapping[str, Sequence[TableRow]],
    parts: Mapping[str, Sequence[Spec]],
    of: Mapping[Path, Sequence[TableRow]],
) -> tuple[FileSystemPair, ...]:
    """Return all pairs, testbed by testbed.

    Args:
        rows_of: the rows of "testbed" and "filesystem".
        parts: the same, named.
        of: on which testbeds each table of a file system is measured.
    """
    named = list(zip(rows_of["testbed"], parts["testbed"], strict=True))
    filesystems = list(zip(rows_of["filesystem"], parts["filesystem"], strict=True))
    there = {
        path: [spec for row, spec in named if any(row is one for one in mine)] for path, mine in of.items()
    }
    return tuple(
        FileSystemPair(
            testbed, replace(filesystem, label=_label(filesystem, testbed, there[row.path])), row.path
        )
        for _, testbed in named
        for row, filesystem in filesystems
        if testbed in there[row.path]
    )


def _own(filesystem: Table, path: Path, place: CampaignSource) -> Table:
    """Return the options of the testbed that a file system changes.

    Raises CampaignError: that is not a table of options.
    """
    own = filesystem.get(OWN_TESTBED, {})
    if not is_table(own):
        raise place.error(
            (*path, OWN_TESTBED), f"testbed = {written(own)} is not a table", "write testbed = {servers = 4}"
        )
    for key in ("kind", "label"):
        if key in own:
            what = f"a file system changes options of [testbed], not its {key}"
            raise place.error((*path, OWN_TESTBED, key), what, f"remove {key}")
    return own


def _label(filesystem: Spec, testbed: Spec, testbeds: Sequence[Spec]) -> str:
    """Return a file system's label, with what distinguishes its testbeds if there are several: tables show
    only file systems.
    """
    if len(testbeds) == 1:
        return filesystem.label
    others = [{key: value for key, value in one.options.items() if key != "servers"} for one in testbeds]
    servers = testbed.options.get("servers")
    if any(options != others[0] for options in others):
        return f"{filesystem.label} on {testbed.label}"
    return f"{filesystem.label}, {servers} server{'' if servers == 1 else 's'}"
