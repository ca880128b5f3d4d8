"""What the first screen of a report names."""

import pytest

from perjoule.model.doubts import KINDS
from perjoule.report.page import _named
from perjoule.results.limitations import DoubtGroup


@pytest.mark.parametrize(("count", "more"), [(1, ""), (2, ""), (3, "; and 1 more"), (7, "; and 5 more")])
def test_the_first_screen_names_the_two_kinds_of_doubt_that_can_cost_most(count: int, more: str) -> None:
    said = _named([DoubtGroup(kind, ()) for kind in KINDS[:count]])
    assert said == "; ".join(kind.title for kind in KINDS[: min(count, 2)]) + more
