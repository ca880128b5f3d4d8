"""Which file system is measured on which testbed: each on [testbed], but for the options that its own
`testbed` changes; and by which workloads, see `access`.

[[filesystem]]
kind = "moosefs"
testbed = {servers = 4}
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perjoule.campaign.access import fits
from perjoule.campaign.lines import Path
from perjoule.campaign.source import CampaignSource, Table, is_table
from perjoule.campaign.tables import OWN_TESTBED, TableRow, rows
from perjoule.model import Spec
from perjoule.model.validation import written


@dataclass(frozen=True)
class FileSystemPair:
    """A file system on a testbed, and what loads it."""

    testbed: Spec
    filesystem: Spec  # its label names the testbed, too, if it is measured on several
    path: Path  # of the file system's table
    workloads: tuple[Spec, ...]  # that it offers what they need


def testbeds(
    document: Table, place: CampaignSource
) -> tuple[Sequence[TableRow], Mapping[Path, Sequence[TableRow]]]:
    """Build all testbeds, each once, and say on which of them each table of a file system is measured.

    Raises CampaignError.
    """
    shared = rows("testbed", ("testbed",), document["testbed"], place)
    beds = list(shared)
    of: dict[Path, Sequence[TableRow]] = {}
    for number, table in enumerate(document["filesystem"]):
        path: Path = ("filesystem", number)
        overrides = _own(table, path, place)
        made = (
            rows("testbed", (*path, OWN_TESTBED), {**document["testbed"], **overrides}, place)
            if overrides
            else shared
        )
        of[path] = [next((bed for bed in beds if bed.options == row.options), row) for row in made]
        beds += [row for row in of[path] if not any(row is bed for bed in beds)]
    return [row for row in beds if any(row is bed for mine in of.values() for bed in mine)], of


def pairs(
    rows_of: Mapping[str, Sequence[TableRow]],
    parts: Mapping[str, Sequence[Spec]],
    of: Mapping[Path, Sequence[TableRow]],
) -> tuple[FileSystemPair, ...]:
    """Return all pairs, testbed by testbed.

    Args:
        rows_of: the rows of "testbed", "filesystem" and "workload".
        parts: the same, named.
        of: on which testbeds each table of a file system is measured.
    """
    testbed_specs = list(zip(rows_of["testbed"], parts["testbed"], strict=True))
    filesystems = list(zip(rows_of["filesystem"], parts["filesystem"], strict=True))
    workloads = list(zip(rows_of["workload"], parts["workload"], strict=True))
    specs_by_path = {
        path: [spec for row, spec in testbed_specs if any(row is bed for bed in mine)]
        for path, mine in of.items()
    }
    return tuple(
        FileSystemPair(
            testbed,
            replace(filesystem, label=_label(filesystem, testbed, specs_by_path[row.path])),
            row.path,
            tuple(workload for load_row, workload in workloads if fits(row, load_row)),
        )
        for _, testbed in testbed_specs
        for row, filesystem in filesystems
        if testbed in specs_by_path[row.path]
    )


def _own(filesystem: Table, path: Path, place: CampaignSource) -> Table:
    """Return the options of the testbed that a file system changes.

    Raises CampaignError: that is not a table of options.
    """
    overrides = filesystem.get(OWN_TESTBED, {})
    if not is_table(overrides):
        raise place.error(
            (*path, OWN_TESTBED),
            f"testbed = {written(overrides)} is not a table",
            "write testbed = {servers = 4}",
        )
    for key in ("kind", "label"):
        if key in overrides:
            fault = f"a file system changes options of [testbed], not its {key}"
            raise place.error((*path, OWN_TESTBED, key), fault, f"remove {key}")
    return overrides


def _label(filesystem: Spec, testbed: Spec, testbeds: Sequence[Spec]) -> str:
    """Return a file system's label, with what distinguishes its testbeds if there are several: tables show
    only file systems.
    """
    if len(testbeds) == 1:
        return filesystem.label
    options_beside_servers = [
        {key: value for key, value in bed.options.items() if key != "servers"} for bed in testbeds
    ]
    servers = testbed.options.get("servers")
    if any(options != options_beside_servers[0] for options in options_beside_servers):
        return f"{filesystem.label} on {testbed.label}"
    return f"{filesystem.label}, {servers} server{'' if servers == 1 else 's'}"
