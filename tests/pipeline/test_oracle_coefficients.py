"""The uncertainty of modelled joules is what a second calculation makes of the catalogue's coefficients
and the series.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commanded import printed
from oracle.coefficients import errors_j
from oracle.folder import Attempt, attempts
from oracle.made import HOSTS, Meter, make
from oracle.numbers import durable_s

RANGES_W = {"board": (5.0, 6.0), "disks": (2.0, 3.0), "supply": (1.5, 2.0)}
SERVERS = [host for host in HOSTS if host["role"] != "client"]
METERS = [
    Meter(
        host["name"], component, "window mean", grade="modelled", low_w=low_w, high_w=high_w, name="modelled"
    )
    for host in SERVERS
    for component, (low_w, high_w) in RANGES_W.items()
    if component != "disks" or host["role"] != "management"
]
SWITCH = Meter("", "switch", "window mean", grade="modelled", low_w=15.46, high_w=15.46, name="modelled")
# of the switch's samples, as the paper has it; one of them a minute is independent
DEVIATION_W, MINUTES = 1.13, 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("modelled") / "made"
    make(made, {"modelled": [*METERS, SWITCH]}, turns=[("write", 1), ("read", 1)])
    return made


def budgets(folder: Path) -> list[dict[str, Any]]:
    found = json.loads(printed("show", folder, "--json"))["budgets"]
    return [one for one in found if one["boundary"] in ("net", "gross")]


def window_s(attempt: Attempt) -> tuple[float, float]:
    results = attempt.record["outcome"]["results"]
    return min(r["began_s"] for r in results), durable_s(attempt, results)


def test_each_coefficient_makes_the_error_that_a_second_calculation_says(folder: Path) -> None:
    of = {attempt.name: attempt for attempt in attempts(folder)}
    found = budgets(folder)
    assert sorted(one["boundary"] for one in found) == ["gross", "gross", "net", "net"]
    for one in found:
        expected = errors_j(of[one["trial"]], *window_s(of[one["trial"]]), switch=one["boundary"] == "gross")
        # where the window cuts a sample
        told = sorted(term["standard_j"] for term in one["terms"] if term["name"] != "edges")
        assert told == pytest.approx(
            sorted(error_j for error_j in expected.values() if error_j > 1e-9), rel=1e-9
        )


def test_the_switch_is_as_uncertain_as_the_mean_of_its_samples_and_not_as_one_of_them(folder: Path) -> None:
    """The boards' idle watts are what it leaves of a total, so without the switch all of its error
    remains.
    """
    of = {attempt.name: attempt for attempt in attempts(folder)}
    for one in (one for one in budgets(folder) if one["boundary"] == "net"):
        began_s, ended_s = window_s(of[one["trial"]])
        (switch,) = (term["standard_j"] for term in one["terms"] if term["name"] == "switch")
        # two digits are kept
        assert switch == pytest.approx((ended_s - began_s) * DEVIATION_W / np.sqrt(MINUTES), rel=0.05)
