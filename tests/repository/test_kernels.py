"""What `make kernels` boots and runs: its parts, its packages, and what it makes of the reports."""

from pathlib import Path

import pytest

from places import ROOT
from tests.kernels.image import LEFT_OUT, SECTIONS, packages
from tests.kernels.parts import PARTS, outcome

CASES = {
    "passed": '<testcase name="one"/>',
    "failed": '<testcase name="two"><failure message="no mount&#10;more"/></testcase>',
    "skipped": '<testcase name="three"><skipped message="this kernel has no NFS"/></testcase>',
}


def report(folder: Path, *cases: str) -> Path:
    path = folder / "report.xml"
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    return path


def test_each_part_runs_tests_that_are_there() -> None:
    for part in PARTS.values():
        assert (ROOT / part.words[0]).is_file(), part
    assert sum(part.minutes for part in PARTS.values() if part.in_ci) < 40, "the limits of CI's parts must fit its 90 minutes"


def test_a_part_passed_only_if_each_of_its_tests_ran_and_passed(tmp_path: Path) -> None:
    assert outcome(report(tmp_path, CASES["passed"])).whole
    for other in ("failed", "skipped"):
        found = outcome(report(tmp_path, CASES["passed"], CASES[other]))
        assert not found.whole
        assert len(found.reasons) == 1
    assert outcome(report(tmp_path, CASES["skipped"])).reasons == ["skipped: three: this kernel has no NFS"]
    assert outcome(report(tmp_path, CASES["failed"])).reasons == ["failure: two: no mount"]


@pytest.mark.parametrize("text", [None, "", "<testsuites>", "<testsuites/>"])
def test_a_report_that_lacks_tests_is_no_pass(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    if text is not None:
        path.write_text(text)
    assert not outcome(path).whole


def test_the_machine_has_the_packages_of_perjoule_and_a_kernel() -> None:
    inside = packages(*SECTIONS)
    assert {"fio", "moosefs-master", "ceph-common", "openssh-server", "linux-image-amd64", "mdadm"} <= set(inside)
    assert set(LEFT_OUT) < set(inside), "LEFT_OUT names packages that are on no list"
    assert "qemu-system-x86" in packages("kernels")
