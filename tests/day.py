"""Of cases that differ little, `make test` runs some, and `make slow` the others."""

from collections.abc import Iterable

import pytest


def by_day(cases: Iterable[str], *day: str) -> list[object]:
    """Return the cases for `parametrize`: those of `day` run in `make test`."""
    every = [*cases]
    assert {*day} <= {*every}, "a case by day is not among the cases"
    return [case if case in day else pytest.param(case, marks=pytest.mark.slow) for case in every]
