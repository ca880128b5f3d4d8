"""Errors of meters between two campaigns, against the sum in quadrature by hand."""

from dataclasses import replace
from math import hypot

import pytest

from perjoule.model import Cell, Spec
from perjoule.statistics.better import sample
from perjoule.statistics.contrast import contrast
from perjoule.statistics.instruments import told_apart
from perjoule.statistics.intervals import interval

KEY = "efficiency_bytes_per_j"


def campaign(made, error, **options):
    """A campaign with a plug that may be wrong by this, and a model that may be wrong by 3 %."""
    trial = replace(made.trial(), meters=(Spec("shelly", options, "shelly"),))
    shared = {KEY: {"shelly: gain": -error, "odroid-hc4: idle of board odroid-hc4": 0.03}}
    cell = Cell("moosefs", "fio", "write", 1, {KEY: interval([5.0, 5.1, 4.9])}, shared=shared)
    return (cell,), (made.record(trial),)


@pytest.mark.parametrize(
    ("there", "error"),
    [
        ({"address": "10.0.0.1"}, 0.0),
        ({"address": "10.0.0.2"}, hypot(0.01, 0.01)),
        ({"name": "shelly", "address": "10.0.0.2"}, hypot(0.01, 0.01)),
    ],
)
def test_errors_of_meters_cancel_between_campaigns_only_if_they_are_the_same_meter(made, there, error):
    (first,), records = campaign(made, 0.01, address="10.0.0.1")
    cells, others = campaign(made, 0.01, **there)
    (second,) = told_apart(cells, others, records, "night")
    assert contrast([(1, sample(second, KEY)), (-1, sample(first, KEY))]).shared == pytest.approx(error**2)


def test_a_source_bears_the_name_of_the_campaign_whose_meter_it_is(made):
    _, records = campaign(made, 0.01, address="10.0.0.1")
    cells, others = campaign(made, 0.02, address="10.0.0.2")
    (told,) = told_apart(cells, others, records, "night")
    assert told.shared[KEY] == {"night: shelly: gain": -0.02, "odroid-hc4: idle of board odroid-hc4": 0.03}
    assert told_apart(cells, others, others, "night") == cells
