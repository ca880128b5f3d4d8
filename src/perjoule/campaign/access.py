"""Which workload is measured on which file system: each on all that offer what it needs, so that one campaign
compares folders with buckets.
"""

import itertools
from collections.abc import Sequence
from typing import get_args

from perjoule.campaign.source import CampaignSource
from perjoule.campaign.tables import TableRow
from perjoule.drivers.protocols import (
    Access,
    FileSystem,
    NamesCluster,
    RemakesPools,
    RunsUnmounted,
    Workload,
)

MOUNTED: tuple[Access, ...] = ("folders", "devices")  # what clients mount or map


def fits(filesystem: TableRow, workload: TableRow) -> bool:
    """Say whether a file system offers what a workload needs."""
    assert isinstance(filesystem.driver, FileSystem)
    return filesystem.driver.offers in _accesses(workload)


def check_access(
    filesystems: Sequence[TableRow], workloads: Sequence[TableRow], place: CampaignSource
) -> None:
    """Check that every workload has a file system, and every file system a workload, and that no workload deletes
    what is others'. Raises CampaignError.
    """
    for workload in workloads:
        if not any(fits(filesystem, workload) for filesystem in filesystems):
            need = " or ".join(_accesses(workload))
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


def _accesses(workload: TableRow) -> tuple[Access, ...]:
    """Return what a workload can do with, any of them: data of its own lie in folders."""
    driver = workload.driver
    assert isinstance(driver, Workload)
    if driver.needs != "nothing":
        return (driver.needs,)
    if driver.stored_bytes(1):
        return ("folders",)
    return MOUNTED if isinstance(driver, RunsUnmounted) and driver.runs_unmounted else get_args(Access)
