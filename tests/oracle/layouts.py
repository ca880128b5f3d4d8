"""Which layout each read found, and how many of a row's differ: docs/explanations/how-numbers-are-made.md,
"Layouts".
"""

import json
from pathlib import Path
from typing import Any

from .folder import attempts

UNKNOWN = "not known"
Row = tuple[str, str, int]  # file system, workload, clients


def layouts(folder: Path) -> dict[Row, list[dict[str, Any]]]:
    """What each valid read's `layout.json` says, by row: `layout`, and `holders` with the hosts of each
    file.
    """
    rows: dict[Row, list[dict[str, Any]]] = {}
    for attempt in attempts(folder):
        file, trial = attempt.folder / "raw" / "layout.json", attempt.record["trial"]
        if file.exists():
            row = trial["filesystem"]["label"], trial["workload"]["label"], trial["clients_count"]
            rows.setdefault(row, []).append(json.loads(file.read_text()))
    return rows


def counts(folder: Path) -> set[tuple[str, ...]]:
    """Each row as `perjoule show --layouts` prints it: its name, its reads, its distinct layouts and
    placements.
    """
    return {(*map(str, row), str(len(reads)), *_distinct(reads)) for row, reads in layouts(folder).items()}


def _distinct(reads: list[dict[str, Any]]) -> tuple[str, str]:
    """Two layouts are one placement where their files, in order of name, lie on the same hosts; unknown
    where one's hosts are.
    """
    names = {read["layout"] for read in reads}
    places = {json.dumps([hosts for _, hosts in sorted(read["holders"].items())]) for read in reads}
    known = all(read["holders"] and all(read["holders"].values()) for read in reads)
    return str(len(names)), str(len(places)) if known else UNKNOWN
