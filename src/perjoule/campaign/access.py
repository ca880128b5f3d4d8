"""Which workload is measured on which file system: each on all that offer what it needs, so that one campaign
compares folders with buckets.
"""

import itertools
import os
from collections.abc import Iterator, Sequence

from perjoule.campaign.lines import Path
from perjoule.campaign.source import CampaignSource, Table, is_list, is_table
from perjoule.campaign.tables import TableRow
from perjoule.drivers.protocols import FileSystem, NamesCluster, Need, RemakesPools, Workload
from perjoule.machine.strangers import callers

SECRETS = frozenset(
    {"password_file", "secret"}
)  # options that name files whose content, or a digest, is sent


def fits(filesystem: TableRow, workload: TableRow) -> bool:
    """Say whether a file system offers what a workload needs."""
    assert isinstance(filesystem.driver, FileSystem)
    return _need(workload) in (filesystem.driver.offers, "nothing")


def check_access(
    filesystems: Sequence[TableRow], workloads: Sequence[TableRow], place: CampaignSource
) -> None:
    """Check that every workload has a file system, and every file system a workload, and that no workload deletes
    what is others'. Raises CampaignError.
    """
    for workload in workloads:
        if not any(fits(filesystem, workload) for filesystem in filesystems):
            need = _need(workload)
            fault = f"workload {workload.kind} needs {need}, and no filesystem here offers them"
            raise place.error(workload.path, fault, f"add a file system that offers {need}, or remove it")
    for filesystem in filesystems:
        if not any(fits(filesystem, workload) for workload in workloads):
            assert isinstance(filesystem.driver, FileSystem)
            offers = filesystem.driver.offers
            fault = f"filesystem {filesystem.kind} offers {offers}, and no workload here needs them"
            raise place.error(filesystem.path, fault, f"add a workload that needs {offers}, or remove it")
    for filesystem, workload in itertools.product(filesystems, workloads):
        remakes = isinstance(workload.driver, RemakesPools) and workload.driver.remakes_pools
        if remakes and isinstance(filesystem.driver, NamesCluster) and fits(filesystem, workload):
            fault = (
                f"workload {workload.kind} makes and deletes pools, and that of filesystem {filesystem.kind} is "
                "others'"
            )
            raise place.error((*workload.path, "operation"), fault, "choose another operation")


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
            if key in SECRETS:
                yield (*path, key)
            yield from _secrets(option, (*path, key))
    elif is_list(value):
        for number, option in enumerate(value):
            yield from _secrets(option, (*path, number))


def _need(workload: TableRow) -> Need:
    """Return what a workload needs: data of its own lie in folders."""
    assert isinstance(workload.driver, Workload)
    needs = workload.driver.needs
    return "folders" if needs == "nothing" and workload.driver.stored_bytes(1) else needs
