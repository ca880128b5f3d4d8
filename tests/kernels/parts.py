"""Which tests run in the virtual machine, in parts that each fit some minutes, and what came of them."""

import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

CONTRACT = "tests/live/test_filesystem_contract.py"


@dataclass(frozen=True)
class Part:
    """Tests by pytest's words, and what they are about."""

    about: str
    words: tuple[str, ...]
    minutes: int
    in_ci: bool = True


PARTS = {
    "nfs": Part("NFS by the kernel's client, from Ganesha and from the kernel", ("tests/live/test_nfs.py",), 10),
    "cephfs": Part("CephFS by the kernel's client", ("tests/live/test_cephfs.py", "-k", "reads_what_another_wrote"), 8),
    "local-fs": Part("md and LVM mirrors, f2fs and what else lies on disks", ("tests/live/test_local_fs.py",), 15),
    "nfs-contract": Part("what every file system must do, by NFS", (CONTRACT, "-k", "nfs"), 10, in_ci=False),
    "moosefs": Part("what every file system must do, by MooseFS", (CONTRACT, "-k", "moosefs"), 15, in_ci=False),
}


@dataclass
class Outcome:
    """The results of a part's tests, by name, and the reasons of those that did not pass."""

    counts: Counter[str] = field(default_factory=Counter[str])
    reasons: list[str] = field(default_factory=list[str])

    @property
    def whole(self) -> bool:
        """Whether tests ran, and every one passed: a skipped one is what this machine is there to run."""
        return self.counts["passed"] > 0 and self.counts.keys() <= {"passed"}


def outcome(report: Path) -> Outcome:
    """Read JUnit's report of pytest. A file that is missing or broken is an outcome without tests."""
    found = Outcome()
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        found.reasons.append(f"no report: {error}")
        return found
    for case in cases:
        what = next((child for child in case if child.tag in ("failure", "error", "skipped")), None)
        found.counts["passed" if what is None else what.tag] += 1
        if what is not None:
            words = what.get("message", "").partition("\n")[0]
            found.reasons.append(f"{what.tag}: {case.get('name')}: {words}")
    return found
