"""perjoule compare as a user has it: what changed first, refusals, exit codes for CI, pages, programs."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from commanded import command

CAMPAIGN = """
name = "compared"
repetitions = 3
seed = 1
settle = "5 ms"
quiet = 0
order = "interleaved"
[testbed]
kind = "simulated"
cluster = "odroid-hc4"
[[filesystem]]
kind = "simulated"
label = "one"
throughput = ["{throughput}"]
[[filesystem]]
kind = "simulated"
label = "other"
throughput = "60 MiB/s"
[[workload]]
kind = "simulated"
operation = "read"  # what real disks take to hold a write is not simulated
size = "2 MiB"
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same but for the speed of one file system."""
    place = tmp_path_factory.mktemp("compared")
    for name, throughput in (("before", "80 MiB/s"), ("after", "50 MiB/s")):
        (place / f"{name}.toml").write_text(CAMPAIGN.format(throughput=throughput))
        done = command("run", place / f"{name}.toml", "--into", place / name)
        assert done.returncode == 0, done.stderr
    return place / "before", place / "after"


def test_what_is_not_declared_is_listed_and_refused(folders: tuple[Path, Path]) -> None:
    found = command("compare", *folders)
    assert found.returncode == 2
    assert "filesystem.throughput: 80 MiB/s -> 50 MiB/s (NOT DECLARED)" in found.stdout
    assert "--change filesystem.throughput" in found.stderr
    assert "ratio" not in found.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "before", "after", "--any-change"),
        pytest.param(("history", "before", "after"), marks=pytest.mark.slow),
        pytest.param(("export", "after", "--csv", "a.csv"), marks=pytest.mark.slow),
    ],
)
def test_a_table_needs_nothing_that_draws_a_page(folders: tuple[Path, Path], words: tuple[str, ...]) -> None:
    """The report's figures and templates take longer to import than all else that these commands do."""
    argv = [sys.executable, "-X", "importtime", "-m", "perjoule", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, cwd=folders[0].parent)
    imported = {
        line.rpartition("|")[2].strip()
        for line in done.stderr.splitlines()
        if line.startswith("import time:")
    }
    assert "perjoule.summary" in imported
    assert imported.isdisjoint({"perjoule.report", "vl_convert", "jinja2"})


def test_what_is_declared_is_compared_and_a_limit_decides_the_exit_code(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    declared = ("compare", *folders, "--change", "filesystem.throughput")
    page = tmp_path / "comparison.html"
    found = command(*declared, "--fail-if", "MiB/s < -5 %", "--report", page)
    assert found.returncode == 1, found.stderr
    assert "significantly worse than before" in found.stdout
    assert "the same in both" not in found.stdout
    assert (
        "environment: declared, but the same in both" in command(*declared, "--change", "environment").stdout
    )
    assert "--fail-if MiB/s < -5 %: broken in 1" in found.stdout
    assert command(*declared, "--fail-if", "MiB/s > 20 %").returncode == 0
    assert command(*declared, "--fail-if", "op/s > 20 %").returncode == 2  # nothing here counts operations
    html = page.read_text()
    assert "after over before" in html
    assert "http://" not in html.split("<script")[0]


def test_limits_are_a_junit_report_with_a_case_for_each_row(
    folders: tuple[Path, Path], tmp_path: Path
) -> None:
    limits = ("--fail-if", "MiB/s < -5 %", "--fail-if", "MiB/s > 20 %")
    target = tmp_path / "limits.xml"
    done = command("compare", *folders, "--change", "filesystem.throughput", *limits, "--junit", target)
    assert done.returncode == 1, done.stderr
    suite = ElementTree.parse(target).getroot()[0]
    assert suite.get("name") == "after over before"
    outcomes = {(case.get("classname"), [child.tag for child in case] == ["failure"]) for case in suite}
    assert ("MiB/s < -5 %", True) in outcomes and ("MiB/s > 20 %", True) not in outcomes
    for key, tag in (
        ("tests", "testcase"),
        ("failures", "testcase/failure"),
        ("skipped", "testcase/skipped"),
    ):
        assert int(suite.get(key, "")) == len(suite.findall(tag))
    (broken, *_) = suite.findall("testcase/failure")
    assert "significantly worse than before" in broken.get("message", "")
    nothing = command("compare", *folders, "--change", "filesystem.throughput", "--junit", target)
    assert nothing.returncode == 2 and "--junit has nothing to judge; add --fail-if" in nothing.stderr


def test_whatever_differs_is_a_doubt_with_any_change(folders: tuple[Path, Path]) -> None:
    found = command("compare", *folders, "--any-change", "--json")
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert "comparison.undeclared" in [doubt["id"] for doubt in told["doubts"]]
    assert {row["filesystem"] for row in told["rows"]} >= {"other"}
    assert {row["method"] for row in told["rows"]} == {"Welch"}


def test_file_systems_of_one_folder_that_took_turns_are_compared(folders: tuple[Path, Path]) -> None:
    labels = [record["trial"]["filesystem"]["label"] for record in records(folders[0])]
    found = command("compare", folders[0], "--between", *dict.fromkeys(sorted(labels)))
    assert found.returncode == 0, found.stderr
    assert "significantly" in found.stdout
    assert "not measured in turns" not in found.stdout


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in folder.glob("trials/*/attempt-1/record.json")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "choose exactly one comparison target"),
        (("--with", "green-storage", "--any-change"), "--with combines only with"),
        (("--with", "green-storage"), "all of it was simulated, which is not compared"),
        (("--with", "gren-storage"), 'did you mean "green-storage"'),
        (("--between", "one", "two"), 'no file system is called "'),
    ],
)
def test_what_can_not_be_compared_is_answered_in_one_sentence(
    folders: tuple[Path, Path], words: tuple[str, ...], said: str
) -> None:
    found = command("compare", folders[0], *words)
    assert found.returncode == 2
    assert said in found.stderr
    assert "Traceback" not in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1
