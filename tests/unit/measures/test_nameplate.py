"""What is moved per rated watt, against a sum by hand."""

from dataclasses import replace

import pytest

from perjoule.measures.points import points
from perjoule.model.metrics import NAMEPLATE_W

KEY = "bytes_per_s_per_nameplate_w"


def rated(made, rated_w, moved_bytes=1000):
    record = made.record(moved=made.results((10.0, 20.0), (10.0, 20.0), moved_bytes=moved_bytes))
    record = replace(record, outcome=replace(record.outcome, measured={NAMEPLATE_W: rated_w}))
    (point,) = points(record, [])
    return point.metrics.get(KEY)


def test_bytes_are_divided_by_the_time_and_by_the_watts_of_the_ratings(made):
    assert rated(made, 4.0) == pytest.approx(2000 / 10 / 4)


def test_without_ratings_or_bytes_there_is_none(made):
    assert rated(made, 0.0) is None
    assert rated(made, 4.0, moved_bytes=0) is None
    (point,) = points(made.record(), [])
    assert KEY not in point.metrics
