"""What `make kernels` boots and runs: its parts, its packages, what it makes of the reports, and the table
of all outcomes.
"""

import json
import os
import platform
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from perjoule import drivers
from places import ROOT
from tests.kernels import machine, outcomes, table
from tests.kernels.__main__ import main, run_here
from tests.kernels.image import LEFT_OUT, PROCESSORS, SECTIONS, Image, packages, requirements, wanted
from tests.kernels.machine import Gone
from tests.kernels.outcomes import KEPT, outcome, row_of
from tests.kernels.parts import PARTS

MIRROR = "test_a_mirror_counts_twice_where[zfs]"
LACK = "<properties><property name='lacks' value='this kernel has no zfs'/></properties>"
CASES = {
    "passed": '<testcase name="one"/>',
    "failed": '<testcase name="two"><failure message="no mount&#10;more"/></testcase>',
    "lacking": f"<testcase classname='tests.live.test_local_fs' name='{MIRROR}'>{LACK}</testcase>",
    "moosefs": '<testcase classname="tests.live.test_moosefs" name="test_it"/>',
    "skipped": '<testcase name="three"><skipped message="this kernel has no NFS"/></testcase>',
}


def report(folder: Path, *cases: str) -> Path:
    path = folder / "report.xml"
    path.write_text(f"<testsuites><testsuite>{''.join(cases)}</testsuite></testsuites>")
    return path


def test_each_part_runs_tests_that_are_there() -> None:
    for part in PARTS.values():
        assert all((ROOT / word).exists() for word in part.words if word.startswith("tests/")), part
    assert sum(part.minutes for part in PARTS.values() if part.default) < 40


@pytest.mark.parametrize("name", [name for name, part in PARTS.items() if "-k" in part.words])
def test_each_part_chooses_by_words_that_its_tests_have(name: str) -> None:
    """A test that is renamed would leave its part in silence, or leave the part without tests."""
    words = PARTS[name].words
    chosen = set(re.findall(r"[\w.]+", words[words.index("-k") + 1])) - {"and", "or", "not"}
    texts = "".join((ROOT / word).read_text() for word in words if word.endswith(".py"))
    kinds = {kind for family in outcomes.FAMILIES for kind in drivers.kinds(family)}
    assert {word for word in chosen if word not in texts} <= kinds


def test_ci_runs_a_part_that_fits_into_15_minutes() -> None:
    (part,) = re.findall(r"make kernels KERNELS=(\S+)", (ROOT / ".github/workflows/ci.yml").read_text())
    assert PARTS[part].minutes <= 15
    assert PARTS[part].whole


def test_a_part_on_this_machine_that_takes_too_long_is_interrupted_and_says_so(tmp_path: Path) -> None:
    program = (
        "import sys, time\ntry: time.sleep(60)\nexcept KeyboardInterrupt: open(sys.argv[1], "
        "'w').write('taken down')"
    )
    argv = shlex.join([sys.executable, "-c", program, str(tmp_path / "end")])
    with pytest.raises(Gone, match=r"it did not end within 0\.02 minutes"):
        run_here(f"exec {argv}", 1.2)
    assert (tmp_path / "end").read_text() == "taken down"
    run_here("exit 1", 10.0)  # tests failed, which their report says


@pytest.mark.parametrize(
    ("does", "why"),
    [
        ("echo panic; sleep 60", r"it did not boot within 0\.3 s; it last said:\npanic"),
        ("echo panic", r"the machine ended without an answer; it last said:\npanic"),
    ],
)
def test_a_machine_that_does_not_come_to_its_task_is_shown_with_the_last_lines_of_its_console(
    does: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_argv", lambda *_: ["sh", "-c", does])
    monkeypatch.setattr(machine, "BOOT_S", 0.3)
    image = Image(tmp_path, tmp_path, tmp_path, PROCESSORS["amd64"])
    with pytest.raises(Gone, match=why):
        machine.run(image, "true", tmp_path, within_s=60.0, show=print)


def test_the_module_of_a_build_beside_the_project_is_loaded_where_it_fits_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix, programs, ran = tmp_path / "a prefix", tmp_path / "programs", tmp_path / "ran"
    module = prefix / "lib/modules/6.1-mine/kernel/beegfs/beegfs.ko"
    module.parent.mkdir(parents=True)
    module.touch()
    programs.mkdir()
    for name, line in {
        "mount": "",
        "uname": "echo $KERNEL",
        "modinfo": "echo rdma_cm,ib_core",
        "modprobe": f'echo modprobe "$@" >> {ran}',
        "insmod": f'echo insmod "$@" >> {ran}',
    }.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PERJOULE_BEEGFS_PREFIX", str(prefix))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    for kernel in ("6.1-other", "6.1-mine"):
        assert not ran.exists()
        monkeypatch.setenv("KERNEL", kernel)
        text = machine._beside() + '[ "$PERJOULE_BEEGFS_PREFIX" = "$1" ]'
        subprocess.run(["sh", "-c", text, "sh", prefix], check=True)
    assert ran.read_text().splitlines() == ["modprobe -qa rdma_cm ib_core", f"insmod {module}"]


def test_a_part_passed_only_if_each_of_its_tests_ran_and_passed(tmp_path: Path) -> None:
    assert outcome(report(tmp_path, CASES["passed"])).passed(whole=True)
    for other in ("failed", "skipped", "lacking"):
        found = outcome(report(tmp_path, CASES["passed"], CASES[other]))
        assert not found.passed(whole=True)
        assert len(found.reasons) == 1
    assert outcome(report(tmp_path, CASES["skipped"])).reasons == ["skipped: three: this kernel has no NFS"]
    assert outcome(report(tmp_path, CASES["failed"])).reasons == ["failure: two: no mount"]


def test_elsewhere_what_is_lacking_is_not_a_failure(tmp_path: Path) -> None:
    found = outcome(report(tmp_path, CASES["passed"], CASES["skipped"], CASES["lacking"]))
    assert found.passed(whole=False)
    assert not outcome(report(tmp_path, CASES["passed"], CASES["failed"])).passed(whole=False)


@pytest.mark.parametrize("text", [None, "", "<testsuites>", "<testsuites/>"])
def test_a_report_that_lacks_tests_is_not_a_pass(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    if text is not None:
        path.write_text(text)
    assert not outcome(path).passed(whole=False)


@pytest.mark.parametrize(
    ("test", "row"),
    [
        ("live.test_moosefs::test_a", "filesystems/moosefs"),
        ("live.test_filesystem_contract::test_it_comes_up[glusterfs]", "filesystems/glusterfs"),
        ("live.test_filesystem_contract::test_the_driver_on_the_page_has_at_most_80_lines", ""),
        ("live.test_workload_contract::test_it_runs[fio]", "workloads/fio"),
        ("live.test_filesystem_contract::test_it_comes_up[nfs]", "filesystems/nfs"),
        ("live.test_nfs::test_ganesha_gives_back[4.2-sync]", "NFS by the kernel's client"),
        ("live.test_trial::test_a_campaign[nfs]", "NFS by the kernel's client"),
        ("live.test_nfs::test_a_client_in_user_space_gives_back", "filesystems/nfs"),
        ("live.test_orangefs_kernel::test_a", "OrangeFS by the kernel's client"),
        ("live.test_beegfs_kernel::test_a[ext4]", "BeeGFS by the kernel's client"),
        ("live.test_beegfs::test_a", "filesystems/beegfs"),
        ("live.test_virtual_delay::test_a", "latency of disks (dm-delay)"),
        ("live.test_local_fs::test_a_mirror_counts_twice_where[lvm]", "mirror beneath: lvm"),
        ("live.test_local_fs::test_a_mirror_gives_back_its_data[md]", "mirror beneath: md"),
        ("live.test_local_fs::test_what_is_written[f2fs-4 KiB]", "f2fs"),
        ("live.test_local_fs::test_servers_keep_their_data_on_what_lies_beneath[moosefs-f2fs]", "f2fs"),
        ("live.test_virtual_caps::test_a", "shares by cgroup v2"),
        ("live.test_slurm::test_a", "testbeds/slurm"),
        ("meters.test_slurm::test_a", "meters/slurm"),
        ("meters.test_hostile::test_a", ""),
        ("repository.test_kernels::test_b[live.test_nfs::test_a-NFS by the kernel's client]", ""),
        ("live.test_oracle::test_a", ""),
        ("unit.filesystems.test_moosefs::test_a", "unit tests"),
        ("unit.test_it::test_a[live.test_nfs::test_a]", "unit tests"),
        ("pipeline.test_simulated::test_a", "testbeds/simulated"),
    ],
)
def test_a_test_counts_for_the_driver_it_is_about(test: str, row: str) -> None:
    assert row_of(test) == row


def test_the_tables_show_what_ran_what_was_refused_and_why(tmp_path: Path) -> None:
    found = outcome(report(tmp_path, CASES["moosefs"], CASES["lacking"]))
    assert found.rows["filesystems/moosefs"] == {"passed": 1, "failed": [], "skipped": []}
    text = table.tables(
        {"here": {"about": ["6.1", "x86_64", "Debian 12", "Python 3.11"], "parts": {"live": found.rows}}}
    )
    assert "- `moosefs`: A 1\n" in text
    assert "- mirror beneath: zfs: A refused (1)\n" in text
    assert "\n- no report: CephFS by the kernel's client, " in text
    assert ", mirror beneath: md, " in text
    assert "1. this kernel has no zfs" in text


@pytest.mark.parametrize(
    ("passed", "skipped", "cell"),
    [
        (0, ["no module"], "refused (1)"),
        (17, ["no module"], "17, refused (1)"),
        (3, ["device starts no daemons"], "3"),
        (0, ["device: it holds no files"], "not applicable (1)"),
        (3, ["device starts no daemons", "no module"], "3, refused (1)"),
    ],
)
def test_what_was_refused_is_shown_beside_what_ran_but_not_what_never_applies(
    passed: int, skipped: list[str], cell: str
) -> None:
    rows = {"filesystems/device": {"passed": passed, "failed": [], "skipped": skipped}}
    text = table.tables(
        {"here": {"about": ["6.1", "x86_64", "Debian 12", "Python 3.11"], "parts": {"live": rows}}}
    )
    assert f"- `device`: A {cell}\n" in text


def test_a_campaign_counts_for_its_meter_too(tmp_path: Path) -> None:
    case = '<testcase classname="tests.live.test_trial" name="test_a_campaign[moosefs]"/>'
    found = outcome(report(tmp_path, case))
    assert {row for row, of in found.rows.items() if of["passed"] == 1} == {
        "filesystems/moosefs",
        "meters/system",
    }
    assert found.counts == {"passed": 1}


def test_what_failed_is_kept_until_a_later_run_of_that_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "KEPT", tmp_path / "kept.json")
    about = ["6.1", "x86_64", "Debian 12", "Python 3.11"]
    failed = '<testcase classname="tests.live.test_moosefs" name="test_it"><failure message="no"/></testcase>'
    other = CASES["moosefs"].replace("test_it", "test_other")
    for part, cases, shown in (
        ("all", (failed, other), "**1 failed**"),
        ("one", (other,), "**1 failed**"),
        ("again", (CASES["moosefs"],), "1"),
    ):
        outcomes.keep("here", about, part, outcome(report(tmp_path, *cases)))
        assert f"- `moosefs`: A {shown}\n" in table.tables(json.loads(outcomes.KEPT.read_text()))


def test_reports_of_this_machine_take_the_place_of_all_that_was_kept_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(outcomes, "KEPT", tmp_path / "kept.json")
    other = '<testcase classname="tests.live.test_cluster" name="test_b"/>'
    (tmp_path / "other").mkdir()
    reports = [str(report(tmp_path, CASES["moosefs"])), str(report(tmp_path / "other", other))]
    outcomes.keep("here", ["?"] * 4, "earlier", outcome(report(tmp_path / "other", CASES["moosefs"] * 5)))
    report(tmp_path / "other", other)
    monkeypatch.setattr("sys.argv", ["tests.kernels", "--read", *reports])
    assert main() == 0
    page = table.tables(json.loads(outcomes.KEPT.read_text()))
    assert "- `moosefs`: A 1\n" in page
    assert "- `cluster`: A 1\n" in page
    assert platform.release() in page
    assert "2 passed" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["tests.kernels", "--read", str(tmp_path / "none.xml")])
    assert main() == 1
    assert "none.xml" in capsys.readouterr().err
    assert table.tables(json.loads(outcomes.KEPT.read_text())) == page


def test_the_tables_of_the_kept_outcomes_have_every_driver() -> None:
    argv = [sys.executable, "-m", "tests.kernels.table"]
    written = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    assert written == table.tables(json.loads(KEPT.read_text()))
    for part in ("filesystems", "workloads", "testbeds", "meters"):
        assert all(f"`{kind}`" in written for kind in drivers.kinds(part))


def test_the_machine_has_the_packages_of_perjoule_and_a_kernel() -> None:
    inside = packages(*SECTIONS)
    assert {"fio", "moosefs-master", "ceph-common", "openssh-server", "linux-image-amd64", "mdadm"} <= set(
        inside
    )
    assert set(LEFT_OUT) < set(inside), "LEFT_OUT names packages that are on no list"
    assert "qemu-system-x86" in packages("kernels")
    more = packages(*{section for part in PARTS.values() for section in part.more})
    assert "zfs-dkms" in more
    assert not set(more) & set(inside), "what only some parts need is in every machine"


def test_on_another_processor_it_has_its_kernel_and_no_package_that_python_has_no_wheel_of() -> None:
    elsewhere = PROCESSORS["arm64"]
    inside = wanted(elsewhere)
    assert {"fio", "moosefs-master", "glusterfs-server", "linux-image-arm64"} <= set(inside)
    assert not {"linux-image-amd64", "ceph-osd", "slurm-wlm"} & set(inside)
    assert wanted(PROCESSORS["amd64"]) == [name for name in packages(*SECTIONS) if name not in LEFT_OUT]
    assert "taplo==" not in requirements(elsewhere)
    assert "taplo==" in requirements(PROCESSORS["amd64"])
    assert "pytest==" in requirements(elsewhere)
    assert all("==" in line for line in requirements(elsewhere).splitlines()), (
        "a file that another names is not beside it"
    )
