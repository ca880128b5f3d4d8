"""What another machine adds to bands, by hand: from what "green-storage" prints and what is predicted of it."""

import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.stats

from perjoule import catalogue
from perjoule.prediction import Target, elsewhere, predictions, shipped
from perjoule.prediction.published import Published, compared
from perjoule.prediction.scores import published_score
from perjoule.results.published import published_remarks

pytestmark = pytest.mark.heavy

MIB = 1024**2


@cache
def _found() -> tuple[Published, ...]:
    return tuple(one for one in compared() if one.basis == "profile")


def _by_definition(without: str = "") -> float:
    """Student's t of as many degrees of freedom as clusters, times the root of the mean square of the errors."""
    kept = [one for one in _found() if one.cluster != without]
    off = np.log([(one.value_bytes_per_s or np.nan) / one.printed_bytes_per_s for one in kept])
    t: Any = scipy.stats.t(df=len({one.cluster for one in kept}))
    return float(np.exp(t.isf(0.05) * np.sqrt(np.mean(off * off))))


@pytest.mark.parametrize("without", ["", "odroid-hc4", "reference-1", "reference-2"])
def test_the_factor_is_that_of_its_definition_and_knows_no_cluster_that_it_judges(without: str) -> None:
    assert elsewhere.band_factor(without) == pytest.approx(_by_definition(without))
    others = dict(elsewhere.errors())
    wrong = others | {without: (9.0, -9.0)} if without else others
    assert elsewhere.factor(wrong, without) == elsewhere.band_factor(without)


def test_two_clusters_by_hand() -> None:
    """Errors of ln 2, ln 2 and -ln 4: (1 + 1 + 4) / 3 = 2 times ln 2 squared; t of 2 degrees of freedom at 95 % is
    2.92.
    """
    found = elsewhere.factor({"a": (math.log(2), math.log(2)), "b": (-math.log(4),), "c": (7.0,)}, "c")
    assert found == pytest.approx(math.exp(2.919986 * math.sqrt(2) * math.log(2)))


def test_bands_hold_of_80_to_95_percent_of_what_is_printed_and_did_not_without_the_level() -> None:
    held = [one.range_bytes_per_s for one in _found()]
    inside = [
        low <= one.printed_bytes_per_s <= high
        for one, (low, high) in zip(_found(), filter(None, held), strict=True)
    ]
    score = published_score(compared())
    assert np.mean(inside) == score.held_ratio and 0.8 <= score.held_ratio <= 0.95
    assert score.emulated_held_ratio == 2 / 12


def test_each_band_is_that_of_emulation_and_the_level_in_quadrature_up_to_the_bound() -> None:
    for one in _found():
        assert one.value_bytes_per_s and one.range_bytes_per_s and one.emulated_bytes_per_s
        below = math.log(one.value_bytes_per_s / one.emulated_bytes_per_s[0])
        expected = math.hypot(below, math.log(_by_definition(one.cluster)))
        assert math.log(one.value_bytes_per_s / one.range_bytes_per_s[0]) == pytest.approx(expected)
        assert one.range_bytes_per_s[1] >= one.emulated_bytes_per_s[1]


def test_values_stay_and_watts_stay_between_idle_and_the_bounds() -> None:
    """Another machine moves bands alone, and a machine that is four times slower still idles."""
    real = Target(shipped("cephfs"), catalogue.cluster("odroid-hc4"), {})
    for wide, narrow in zip(
        predictions(real, [4], 128 * MIB),
        predictions(replace(real, memory=False), [4], 128 * MIB),
        strict=True,
    ):
        assert wide.throughput_bytes_per_s[1] < narrow.throughput_bytes_per_s[1]
        assert narrow.emulated_bytes_per_s is None
        assert wide.mean_w[1] > 0.95 * wide.idle_w
        assert elsewhere.NAME in wide.worth and elsewhere.NAME not in narrow.worth
    measured = replace(real, profile=replace(real.profile, emulated=False))
    assert all(elsewhere.NAME not in one.worth for one in predictions(measured, [4], 128 * MIB))


def test_simpler_models_are_a_rate_of_each_server_and_a_share_of_the_bound() -> None:
    wrong: dict[str, list[float]] = {"constant": [], "bound": []}
    for one in _found():
        others = [o for o in _found() if (o.cluster != one.cluster) and (o.direction == one.direction)]
        each = np.median([o.printed_bytes_per_s / o.servers_count for o in others]) * one.servers_count
        share = np.median([o.printed_bytes_per_s / (o.bound_bytes_per_s or np.nan) for o in others])
        wrong["constant"].append(abs(each / one.printed_bytes_per_s - 1))
        wrong["bound"].append(abs(share * (one.bound_bytes_per_s or np.nan) / one.printed_bytes_per_s - 1))
    found = published_score(compared()).simpler
    assert found == pytest.approx({name: float(np.median(own)) for name, own in wrong.items()})


def test_the_ledger_says_what_the_level_rests_on() -> None:
    said = next(
        iter([line for line in published_remarks(compared(), ()) if line.startswith("another machine")])
    )
    assert "12 numbers of 3 clusters" in said and "17 %" in said
