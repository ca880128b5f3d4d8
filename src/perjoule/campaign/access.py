"""Which workload is measured on which file system: each on all that offer what it needs, so that one campaign
compares folders with buckets.
"""

import itertools
from collections.abc import Sequence

from perjoule.campaign.source import CampaignSource
from perjoule.campaign.tables import TableRow
from perjoule.drivers.protocols import FileSystem, NamesCluster, Need, RemakesPools, Workload


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


def _need(workload: TableRow) -> Need:
    """Return what a workload needs: data of its own lie in folders."""
    assert isinstance(workload.driver, Workload)
    needs = workload.driver.needs
    return "folders" if needs == "nothing" and workload.driver.stored_bytes(1) else needs
