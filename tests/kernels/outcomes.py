"""What came of the tests on each platform, by driver: read from pytest's reports, kept in outcomes.json,
shown in a table.
"""

import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perjoule import drivers

KEPT = Path(__file__).with_name("outcomes.json")
# the property by which a test that passes says what it could not try, as in `record_property("lacks", "no
# md")`
LACKS = "lacks"
FAMILIES = ("filesystems", "workloads", "testbeds", "meters")
FOLDERS = ("live", "meters", "pipeline")  # those of unit tests start nothing, and belong to no driver
UNIT = "unit tests"
# Test files that are not named after their driver. The first driver of the name is meant elsewhere:
# filesystems before workloads.
NAMED = {
    "test_local_fs": "filesystems/local",
    "test_rados_bench": "workloads/rados",
    "test_device_study": "workloads/device",
    "test_overwrite": "workloads/device",
    "test_virtual_sigkill": "testbeds/virtual",
    "test_cluster_faults": "testbeds/cluster",
    "test_slurm": "testbeds/slurm",
    "test_simulated": "testbeds/simulated",
}
CONTRACTS = {
    "test_filesystem_contract": "filesystems",
    "test_workload_contract": "workloads",
    "test_trial": "filesystems",
    "test_simulator_contract": "meters",
}
# What a driver can do only on some kernels is a row of its own: its tests by their names.
APART = {
    "CephFS by the kernel's client": r"test_cephfs::.*kernels_client_reads",
    # the contract mounts it in user space
    "NFS by the kernel's client": r"(test_nfs::|test_trial::.*\[nfs\])",
    "OrangeFS by the kernel's client": r"test_orangefs_kernel::",
    "BeeGFS by the kernel's client": r"test_beegfs_kernel::",
    "f2fs": r"test_local_fs::.*f2fs",
    "latency and loss of links (netem)": r"test_virtual_links::",
    "latency of disks (dm-delay)": r"test_virtual_delay::",
    "memory caps": r"test_virtual_memory::",
    "shares by cgroup v2": r"test_virtual_caps::",
    **{
        f"mirror beneath: {way}": rf"test_local_fs::test_a_mirror_.*\[{way}\]" for way in ("md", "lvm", "zfs")
    },
}
MEANT = {
    "filesystems/nfs": r"test_nfs::.*user_space",
    **APART,
    "testbeds/local": r"test_local_fs::.*(of_this_machine|named_device)",
    "meters/modelled": r"test_virtual::.*board_draws",
}
# Campaigns by which meters are tested besides what the campaign is about.
ALSO = {"meters/system": r"live\.test_trial::", "meters/simulated": r"pipeline\.test_simulated::"}


@dataclass
class Outcome:
    """The results of tests, by name, and the reasons of those that did not pass."""

    counts: Counter[str] = field(default_factory=Counter[str])
    reasons: list[str] = field(default_factory=list[str])
    rows: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    unrun: list[str] = field(default_factory=list[str])
    tests: set[str] = field(default_factory=set[str])

    def passed(self, *, whole: bool) -> bool:
        """Return whether tests ran and none failed; with `whole` also that each ran."""
        return (
            self.counts["passed"] > 0
            and self.counts.keys() <= {"passed", "skipped"}
            and not (whole and self.unrun)
        )


def outcome(*reports: Path) -> Outcome:
    """Read JUnit's reports of pytest. If a file is missing or broken, it is an outcome without tests."""
    found = Outcome()
    try:
        cases = [case for report in reports for case in ElementTree.parse(report).iter("testcase")]
    except (OSError, ElementTree.ParseError) as error:
        found.reasons.append(f"no report: {error}")
        return found
    for case in cases:
        what = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
        lack = next(
            (child.get("value", "") for child in case.iter("property") if child.get("name") == LACKS), ""
        )
        kind = what.tag if what is not None else "skipped" if lack else "passed"
        words = lack if what is None else what.get("message", "").partition("\n")[0]
        found.counts[kind] += 1
        if kind == "skipped":
            found.unrun.append(str(case.get("name")))
        if kind != "passed":
            found.reasons.append(f"{kind}: {case.get('name')}: {words}")
        name = f"{str(case.get('classname')).removeprefix('tests.')}::{case.get('name')}"
        found.tests.add(name)
        for driver in (row_of(name), *(row for row, pattern in ALSO.items() if re.match(pattern, name))):
            row = found.rows.setdefault(driver, {"passed": 0, "failed": [], "skipped": []})
            if kind == "passed":
                row["passed"] += 1
            elif kind == "skipped":
                row["skipped"] = sorted({*row["skipped"], words})
            else:
                row["failed"].append(name)
    return found


def row_of(test: str) -> str:
    """Return the driver that a test ("live.test_fio::test_a") is about, as family/kind, or a row of
    `APART`, `UNIT`, or "".
    """
    path, _, name = test.partition("::")
    folder, _, module = path.rpartition(".")
    if path.partition(".")[0] == "unit":
        return UNIT
    if folder not in FOLDERS:  # a test of this file may have such a name among its parameters
        return ""
    if row := next((row for row, pattern in MEANT.items() if re.search(pattern, test)), ""):
        return row
    kind = module.removeprefix("test_")
    if family := CONTRACTS.get(module):
        kind = name.partition("[")[2].rstrip("]").partition("-")[0]
        return f"{family}/{kind}" if kind in drivers.kinds(family) else ""
    if folder == "meters":
        return f"meters/{kind}" if kind in drivers.kinds("meters") else ""
    return NAMED.get(module) or next(
        (f"{family}/{kind}" for family in FAMILIES if kind in drivers.kinds(family)), ""
    )


def keep(platform: str, about: list[str], part: str, found: Outcome, *, alone: bool = False) -> None:
    """Keep the outcome of a part on a platform instead of the one before, and of what failed there in other
    parts.

    With `alone` it takes the place of all other parts on that platform.
    """
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    entry = kept.setdefault(platform, {})
    if alone:
        entry["parts"] = {}
    entry["about"] = about
    for rows in entry.get("parts", {}).values():
        for row in rows.values():
            row["failed"] = [test for test in row["failed"] if test not in found.tests]
    entry.setdefault("parts", {})[part] = {row: found.rows[row] for row in sorted(found.rows) if row}
    KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
