"""The share on disk is printed as a second calculation has it, without decimals."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import commanded
from oracle.folder import attempts
from oracle.made import HOSTS, Meter, make
from oracle.numbers import durable_ratio, durable_s

SERVERS = [host["name"] for host in HOSTS if host["role"] != "client"]
ROWS = ("first", "second", "third")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("on-disk") / "made"
    meter = Meter("", "group", "window mean", covers=SERVERS)
    make(made, {name: [meter] for name in ROWS}, turns=[("write", 1), ("write", 2), ("write", 3)])
    return made


def calculated(folder: Path) -> dict[str, list[float]]:
    """The shares of each row's repetitions."""
    found: dict[str, list[float]] = {name: [] for name in ROWS}
    for attempt in attempts(folder):
        results = attempt.record["outcome"]["results"]
        share = durable_ratio(attempt, max(r["ended_s"] for r in results), durable_s(attempt, results))
        found[attempt.record["trial"]["filesystem"]["label"]].append(share)
    return found


def printed(folder: Path) -> dict[str, str]:
    """The column "% on disk" of `perjoule show`, by file system; these rows print means."""
    lines = commanded.printed("show", folder).splitlines()
    header, *lines = (re.split(r"\s{2,}", line.strip()) for line in lines if "  " in line)
    rows = {line[0]: line for line in lines if line[0] in ROWS}
    assert not any("[" in cell for line in rows.values() for cell in line)
    return {name: line[header.index("% on disk")] for name, line in rows.items()}


def test_the_share_on_disk_is_the_mean_of_the_second_calculation_without_decimals(folder: Path) -> None:
    shares = calculated(folder)
    assert all(0.1 < share < 0.99 for row in shares.values() for share in row)
    assert printed(folder) == {name: f"{100 * np.mean(row):.0f}" for name, row in shares.items()}


def test_the_machine_readable_share_keeps_all_digits(folder: Path) -> None:
    shown = json.loads(commanded.printed("show", folder, "--json"))["rows"]
    rows = {row["filesystem"]: row["metrics"]["durable_ratio"] for row in shown}
    assert {name: row["values"] for name, row in rows.items()} == {
        name: pytest.approx(row, rel=1e-9) for name, row in calculated(folder).items()
    }
