"""How many layouts a row's reads found is counted as a second calculation counts it, from the raw files of
a results folder.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from commanded import printed
from oracle.layouts import UNKNOWN, counts
from oracle.made import Meter, make

Holders = dict[str, list[str]]
FIRST: Holders = {"client-1.data": ["storage-1"], "client-2.data": ["storage-2"]}
EXCHANGED: Holders = {"client-1.data": ["storage-2"], "client-2.data": ["storage-1"]}
ELSEWHERE: Holders = {"client-1.data": ["storage-3"], "client-2.data": ["storage-2"]}
UNSAID: Holders = {"client-1.data": [], "client-2.data": []}
ROWS: dict[str, list[tuple[str, Holders]]] = {  # what each of three repetitions found
    "each its own": [("a", FIRST), ("b", EXCHANGED), ("c", ELSEWHERE)],
    "one twice": [("a", FIRST), ("b", ELSEWHERE), ("a", FIRST)],
    "new files on the same hosts": [("a", FIRST), ("b", FIRST), ("c", FIRST)],
    "hosts unsaid": [("a", UNSAID), ("b", UNSAID), ("c", UNSAID)],
    "nothing located": [("a", FIRST), ("b", {}), ("c", {})],
}
EXPECTED = {
    "each its own": ("3", "3", "3"),
    "one twice": ("3", "2", "2"),
    "new files on the same hosts": ("3", "3", "1"),
    "hosts unsaid": ("3", "3", UNKNOWN),
    "nothing located": ("3", "3", UNKNOWN),
}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three reads of each row, a fourth that failed, one that failed and was read again, and a write that
    read nothing.
    """
    folder = tmp_path_factory.mktemp("layouts") / "made"
    turns = [("read", 1), ("read", 2), ("read", 3), ("read", 4), ("write", 1)]
    make(folder, {name: [Meter("", "total", "counter")] for name in ROWS}, turns=turns)
    for first in sorted(folder.glob("trials/*-fio-read-*/attempt-1")):
        trial = json.loads((first / "record.json").read_text())["trial"]
        finds = [*ROWS[trial["filesystem"]["label"]], ("failed", EXCHANGED)][trial["repetition"] - 1]
        _lay_out(first, *finds)
        if first.parent.name.startswith("one-twice") and trial["repetition"] == 1:
            shutil.copytree(first, second := first.with_name("attempt-2"))
            _lay_out(first, "failed", EXCHANGED)
            _end(first, "failed")
            _end(second, "valid")
        elif finds[0] == "failed":
            _end(first, "failed")
    return folder


def _lay_out(attempt: Path, layout: str, holders: Holders) -> None:
    (attempt / "raw").mkdir(exist_ok=True)
    (attempt / "raw" / "layout.json").write_text(json.dumps({"layout": layout, "holders": holders}))


def _end(attempt: Path, status: str) -> None:
    """Write how an attempt ended: in its record, and as the last line of the journal."""
    number = int(attempt.name.removeprefix("attempt-"))
    record = json.loads((attempt / "record.json").read_text())
    (attempt / "record.json").write_text(json.dumps(record | {"status": status, "attempt": number}))
    line = {"trial": attempt.parent.name, "attempt": number, "status": status, "files": {}}
    with (attempt.parents[2] / "journal.jsonl").open("a") as journal:
        journal.write(json.dumps(line) + "\n")


def shown(folder: Path) -> list[tuple[str, ...]]:
    """The lines of both tables that a user sees, by column."""
    lines = printed("show", folder, "--layouts").splitlines()
    return [tuple(re.split(r"\s{2,}", line.strip())) for line in lines if line.strip()]


def test_the_layouts_and_placements_of_each_row_are_what_a_second_count_of_the_raw_files_says(
    read: Path,
) -> None:
    lines = shown(read)
    header = lines.index(("file system", "workload", "clients", "reads", "layouts", "placements"))
    assert set(lines[header + 1 :]) == counts(read)


def test_distinct_layouts_are_counted_and_not_reads_and_unknown_hosts_are_no_placement(read: Path) -> None:
    assert {row[0]: row[3:] for row in counts(read)} == EXPECTED
