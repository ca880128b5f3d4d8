"""Of two rows, what one meter gets wrong in both cancels in their ratio: as a second calculation makes of
the same files.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from commanded import printed
from day import by_day
from oracle import shared
from oracle.better import ratio
from oracle.folder import Attempt, attempts
from oracle.made import HOSTS, Meter, make
from oracle.numbers import directions, numbers

SERVERS = [host["name"] for host in HOSTS if host["role"] != "client"]
GAIN_RATIO = 0.08
STATED = {"gain_ratio": GAIN_RATIO, "offset": 12.0}
PDU = Meter("", "group", "window mean", covers=SERVERS, low_w=59, high_w=60, specification=STATED, name="pdu")
MORE = replace(PDU, low_w=118, high_w=120)
NO_OFFSET = {"gain_ratio": GAIN_RATIO}
COUNTER = replace(PDU, semantics="counter", low_w=118, high_w=120)
OUTLETS = [replace(PDU, host=host, component="all", covers=(), low_w=19, high_w=20) for host in SERVERS]
CASES = {
    "one meter": ([PDU], [MORE]),
    "one meter of a gain alone": (
        [replace(PDU, specification=NO_OFFSET)],
        [replace(MORE, specification=NO_OFFSET)],
    ),
    "a counter and a power of one meter": ([PDU], [COUNTER]),
    "one meter of each host and of all": (OUTLETS, [MORE]),
    "two meters": ([PDU], [replace(MORE, name="another pdu")]),
    "two meters, of each host and of all": (OUTLETS, [replace(MORE, name="another pdu")]),
    "no accuracy": ([replace(PDU, specification={})], [replace(MORE, specification={})]),
}
COUNT, APART_S = 4, 100.0
Found = tuple[float, float, float]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A campaign of a case, made when it is first wanted: a first and a second file system took turns."""

    @cache
    def made(case: str) -> Path:
        folder = tmp_path_factory.mktemp("shared") / "made"
        first, second = CASES[case]
        make(folder, {"first": first, "second": second}, turns=[("write", n + 1) for n in range(COUNT)])
        for file in folder.glob("trials/*/attempt-1/record.json"):
            record = json.loads(file.read_text())
            turn = 2 * record["trial"]["repetition"] + (record["trial"]["filesystem"]["label"] == "second")
            record["clock"]["utc_s"] += turn * APART_S
            file.write_text(json.dumps(record))
        return folder

    return made


def compared(folder: Path) -> dict[str, Any]:
    """What `perjoule compare` says of the work per joule of the second against the first."""
    words = ("compare", folder, "--between", "first", "second", "--any-change", "--metric", "MiB/J", "--json")
    (row,) = json.loads(printed(*words))["rows"]
    return row


def calculated(folder: Path) -> Found:
    """The same by the second calculation."""
    rows: dict[str, list[Attempt]] = {}
    for attempt in attempts(folder):
        rows.setdefault(attempt.record["trial"]["filesystem"]["label"], []).append(attempt)
    tables = {name: pd.DataFrame([_trial(attempt) for attempt in row]) for name, row in rows.items()}
    same = shared.variance(*(shared.of_row(rows[name]) for name in ("first", "second")))
    return ratio(tables, "second", "first", same)


def _trial(attempt: Attempt) -> dict[str, float]:
    clock, results = attempt.record["clock"], attempt.record["outcome"]["results"]
    times_s = [
        clock["utc_s"] + moment_s - clock["monotonic_s"]
        for r in results
        for moment_s in (r["began_s"], r["ended_s"])
    ]
    value = numbers(attempt, "write", directions(attempt)["write"])["efficiency_bytes_per_j"]
    return {"value": value, "began_s": min(times_s), "ended_s": max(times_s)}


@pytest.mark.parametrize("case", by_day(CASES, "one meter", "two meters"))
def test_a_comparison_has_the_interval_of_the_second_calculation(
    folder_of: Callable[[str], Path], case: str
) -> None:
    folder = folder_of(case)
    found = compared(folder)
    assert (found["method"], found["comparisons_count"]) == ("Welch", 1)
    assert (found["ratio"], found["low"], found["high"]) == pytest.approx(calculated(folder), rel=1e-9)


def test_a_wrong_factor_cancels_where_one_meter_meters_both_and_widens_where_two_do(
    folder_of: Callable[[str], Path],
) -> None:
    def of_rows(case: str) -> list[shared.Sources]:
        measured = attempts(folder_of(case))
        labels = ("first", "second")
        return [
            shared.of_row([a for a in measured if a.record["trial"]["filesystem"]["label"] == name])
            for name in labels
        ]

    assert shared.variance(*of_rows("one meter of a gain alone")) == pytest.approx(0.0, abs=1e-18)
    assert shared.variance(*of_rows("two meters")) > 2 * (GAIN_RATIO**2 / 3)
