"""The second calculation shares nothing with the first, and is right where the answer is known."""

import ast
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from oracle.energy import joules
from oracle.students import inside, quantile
from places import TESTS

MODULES = sorted((TESTS / "oracle").glob("*.py"))
ALLOWED = {
    "functools",
    "json",
    "dataclasses",
    "pathlib",
    "typing",
    "collections",
    "hashlib",
    "statistics",
    "tomllib",
    "subprocess",
    "sys",
    "tempfile",
    "numpy",
    "pandas",
}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.stem)
def test_it_imports_only_itself_numpy_pandas_and_the_standard_library(module: Path) -> None:
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            assert {name.name.split(".")[0] for name in node.names} <= ALLOWED
        elif isinstance(node, ast.ImportFrom) and node.level != 1:
            assert (node.module or "").split(".")[0] in ALLOWED
        elif isinstance(node, ast.Call):
            assert "import" not in ast.unparse(node.func)


@pytest.mark.parametrize(
    ("freedom", "t"), [(1, 12.706204736174), (2, 4.302652729749), (3, 3.182446305284), (9, 2.262157162798)]
)
def test_its_student_quantiles_are_those_of_printed_tables(freedom: int, t: float) -> None:
    assert quantile(freedom) == pytest.approx(t, rel=1e-10)
    assert inside(t, freedom) == pytest.approx(0.95, abs=1e-12)


def samples(semantics: str, values: list[float], durations_s: list[float]) -> pd.DataFrame:
    t_s = np.cumsum(durations_s)
    return pd.DataFrame(
        {"t_s": t_s, "duration_s": durations_s, "value": values, "semantics": semantics, "more": ""}
    )


def test_a_window_mean_counts_by_the_part_of_its_window_inside() -> None:
    assert joules(samples("window mean", [10, 20, 30], [1, 1, 1]), 0.5, 2.5) == pytest.approx(5 + 20 + 15)


def test_a_counter_is_straight_between_its_readings() -> None:
    assert joules(samples("counter", [0, 10, 30], [1, 1, 1]), 1.5, 2.5) == pytest.approx(5 + 10)


def test_instantaneous_power_is_integrated_by_the_trapezoid() -> None:
    assert joules(samples("instantaneous", [0, 10, 30], [0.5, 0.5, 0.5]), 0.5, 1.5) == pytest.approx(2.5 + 10)


def test_a_window_covered_by_less_than_95_percent_has_no_energy() -> None:
    assert np.isnan(joules(samples("window mean", [10, 20, 30], [1, 1, 1]), 0, 3.2))
    assert joules(samples("window mean", [10, 20, 30], [1, 1, 1]), 0, 3.1) == pytest.approx(62)
