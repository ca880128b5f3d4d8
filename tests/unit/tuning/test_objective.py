"""What a tuning is for: metrics in their better direction, and a limit on the power."""

from math import log

import pytest

from perjoule.model import Spec, Trial
from perjoule.model.errors import CampaignError
from perjoule.tuning.objective import objective, value
from readings import point_of

TRIAL = Trial(Spec("simulated"), Spec("simulated"), Spec("fio", label="load"), (), 2, 1)
POINT = point_of(
    TRIAL,
    "write",
    {"efficiency_bytes_per_j": 5e6, "edp_js": 40.0, "mean_w": 22.0, "throughput_bytes_per_s": 1e8},
)
ITEM = ("load", 2, "write")


@pytest.mark.parametrize(
    ("metric", "limit", "score"),
    [
        ("MiB/J", "", log(5e6)),
        ("EDP", "", -log(40.0)),
        ("MiB/s", "", log(1e8)),
        ("MiB/s", "25 W", log(1e8)),
        ("MiB/s", "20 W", log(1e8) - 10 * log(22 / 20)),
        ("EDP", "20000 mW", -log(40.0) - 10 * log(22 / 20)),
    ],
)
def test_a_score_is_a_logarithm_in_the_better_direction_less_what_exceeds_the_limit(
    metric: str, limit: str, score: float
) -> None:
    assert objective(metric, limit).scores([POINT]) == {ITEM: pytest.approx(score)}


def test_a_point_without_the_metric_or_the_power_has_no_score() -> None:
    bare = point_of(TRIAL, "write", {"throughput_bytes_per_s": 1e8, "edp_js": 0.0})
    assert objective("MiB/J").scores([bare]) == {}
    assert objective("EDP").scores([bare]) == {}
    assert objective("MiB/s", "20 W").scores([bare]) == {}
    assert objective("MiB/s").scores([bare]) == {ITEM: pytest.approx(log(1e8))}


def test_a_block_has_the_mean_of_all_its_items_or_no_value() -> None:
    scores = {ITEM: 2.0, ("load", 4, "write"): 3.0}
    assert value(scores, scores) == 2.5
    assert value(scores, [ITEM]) == 2.0
    assert value(scores, [*scores, ("load", 4, "read")]) is None


@pytest.mark.parametrize(
    ("metric", "limit", "sentence"),
    [
        ("MiB/j", "", '--for: no metric is called "MiB/j"; did you mean "MiB/J"?'),
        ("MiB/s", "20", '--within: "20" has no unit; write "20 W"'),
        ("MiB/s", "0 W", '--within: 0 W is not a positive power; write one such as "20 W"'),
    ],
)
def test_a_wrong_objective_is_refused(metric: str, limit: str, sentence: str) -> None:
    with pytest.raises(CampaignError) as error:
        objective(metric, limit)
    assert str(error.value) == sentence


def test_its_text_names_the_limit() -> None:
    assert objective("MiB/s", "20.5 W").text == "MiB/s within 20.5 W"
    assert objective("EDP").text == "EDP"
