"""Where a simpler model says no less than a law, by hand and from the files of the profiles."""

import json
from collections.abc import Sequence
from dataclasses import astuple
from statistics import median
from typing import Any

import pytest

from perjoule.prediction import names, shipped
from perjoule.prediction.scores import Rival, rival
from perjoule.prediction.validation import Level, Test
from places import SOURCES

SIMPLER = ("constant", "linear", "USL", "bound")


def _tests(law: Sequence[float], bound: Sequence[float], *, level: Level = "clients") -> list[Test]:
    """Tests of points of 100 B/s each, predicted so by the law and by a share of the bound; the others are
    twice as high.
    """
    return [
        Test(level, 1.0, 100.0, predicted, None, 0.0, dict.fromkeys(SIMPLER, 200.0) | {"bound": share}, 0.0)
        for predicted, share in zip(law, bound, strict=True)
    ]


def test_a_simpler_model_is_a_rival_if_its_median_error_is_no_larger_than_the_laws() -> None:
    law = (110.0, 80.0, 101.0)  # off by 10, 20 and 1 %
    nearer = rival(_tests(law, (91.0, 140.0, 100.0)))
    assert nearer is not None
    assert astuple(nearer) == ("bound", pytest.approx(0.09), pytest.approx(0.10))
    assert rival(_tests(law, law)) is not None, "neither is better"
    assert rival(_tests(law, (89.0, 100.0, 112.0))) is None


def test_a_law_is_judged_by_the_points_of_all_levels_together() -> None:
    worse = _tests((130.0, 130.0), (110.0, 110.0), level="size")
    assert rival(worse) is not None
    assert rival([*worse, *_tests((101.0, 101.0, 101.0), (120.0, 120.0, 120.0), level="hardware")]) is None


def test_a_law_that_was_not_tested_or_not_beside_simpler_models_has_no_rival() -> None:
    assert rival([]) is None
    assert rival([Test("clients", 1.0, 100.0, 300.0, None, 0.0, {}, 0.0)]) is None


def test_both_errors_are_told() -> None:
    assert Rival("bound", 0.15, 0.185).text == (
        "of points left out the law errs by 18.5 % (median), a constant share of the bound by 15.0 %"
    )


@pytest.mark.parametrize("name", names())
def test_a_profile_has_rivals_where_its_file_says_so(name: str) -> None:
    data = json.loads((SOURCES / "prediction" / "profiles" / f"{name}.json").read_text())
    for direction, known in shipped(name).known.items():
        rows = data["known"][direction]["tests"]

        def error(model: str, rows: list[dict[str, Any]] = rows) -> float:
            """Of a simpler model, or of the law."""
            said = [{"law": row["predicted_bytes_per_s"], **row["others_bytes_per_s"]}[model] for row in rows]
            pairs = zip(said, (row["measured_bytes_per_s"] for row in rows), strict=True)
            return median(abs(predicted / measured - 1) for predicted, measured in pairs)

        best, simpler_model = min(SIMPLER, key=error), rival(known.tests)
        if error(best) > error("law"):
            assert simpler_model is None, direction
        else:
            assert simpler_model is not None, direction
            assert astuple(simpler_model) == (best, pytest.approx(error(best)), pytest.approx(error("law")))


@pytest.mark.parametrize("name", ["cephfs", "glusterfs", "moosefs", "orangefs"])
def test_the_laws_that_plans_choose_by_have_no_rival(name: str) -> None:
    assert [direction for direction, known in shipped(name).known.items() if rival(known.tests)] == []
