"""What is listed by hand for each driver, in the README of docs/ and for apt: what lacks is named with its
line.
"""

from collections.abc import Mapping

import pytest

from perjoule import drivers
from places import ROOT
from tests.kernels.image import packages

README, DEBIAN = ("docs/README.md", "setup/debian-packages")
ROWS = {
    "testbeds": "testbeds",
    "filesystems": "file systems",
    "workloads": "workloads",
    "meters": "meters",
    "events": "events",
}
BROUGHT_ALONG = {"ceph-base", "glusterfs-cli"}  # by packages that are listed
DRIVERS = [(part, kind) for part in drivers.PROTOCOLS for kind in drivers.kinds(part)]


def line_of(name: str, head: str) -> tuple[int, str]:
    """The first line of a file that begins so, with its number."""
    numbered = enumerate((ROOT / name).read_text().splitlines(), 1)
    return next((number, line) for number, line in numbered if line.startswith(head))


def lacks_its_row(part: str, kind: str) -> str:
    """What to write where in the README if a driver is not in it."""
    number, row = line_of(README, f"| {ROWS[part]} |")
    return "" if f"`{kind}`" in row else f"{README}:{number}: add `{kind}` to the row of {ROWS[part]}"


def lacks_packages(runs: Mapping[str, Mapping[str, str]]) -> str:
    """The lines to add to the list of packages for what a file system runs, and where; an address is of none."""
    brought = {*packages("base", "filesystems"), *BROUGHT_ALONG}
    named = {package for by in runs.values() for package in by.values() if "/" not in package}
    lacking = sorted(named - brought)
    number, _ = line_of(DEBIAN, "# [tests]")
    return (
        "\n".join([f"{DEBIAN}:{number}: add above this line, at the end of [filesystems]:", *lacking])
        if lacking
        else ""
    )


@pytest.mark.parametrize(("part", "kind"), DRIVERS, ids=[f"{part}-{kind}" for part, kind in DRIVERS])
def test_the_readme_names_every_driver(part: str, kind: str) -> None:
    lacking = lacks_its_row(part, kind)
    assert not lacking, lacking


@pytest.mark.parametrize("kind", drivers.kinds("filesystems"))
def test_what_a_file_system_runs_is_installed_with_the_others(kind: str) -> None:
    lacking = lacks_packages(getattr(drivers.driver_class("filesystems", kind), "runs", {}))
    assert not lacking, lacking


def test_what_a_new_file_system_lacks_is_named_with_its_line() -> None:
    rows = (ROOT / README).read_text().splitlines()
    number = next(n for n, row in enumerate(rows, 1) if row.startswith("| file systems | `moosefs`"))
    assert (
        lacks_its_row("filesystems", "newfs")
        == f"docs/README.md:{number}: add `newfs` to the row of file systems"
    )
    lines = (ROOT / DEBIAN).read_text().splitlines()
    end = next(n for n, line in enumerate(lines, 1) if line.startswith("# [tests]"))
    runs = {
        "storage": {"newd": "newfs-server", "ssh-keygen": "openssh-client"},
        "client": {"new": "newfs", "chromedriver": "chromium", "newest": "https://new.example/docs"},
    }
    place = f"setup/debian-packages:{end}: add above this line, at the end of [filesystems]:"
    assert lacks_packages(runs) == f"{place}\nchromium\nnewfs\nnewfs-server", "openssh-client is in [base]"
