"""Intervals over campaigns: drawn as they are, or cut off with an arrow, never left out."""

from math import inf
from typing import Any

import pytest

from perjoule.figures.history import CampaignMean, Panel, history


def drawn(*means: CampaignMean) -> tuple[list[dict[str, Any]], int]:
    (panel,) = history([Panel("one", means, ())], "MiB/s", len(means), "title", ())["concat"]
    arrows = sum("triangle" in str(layer["mark"]) for layer in panel["layer"])
    return panel["data"]["values"], arrows


def test_an_interval_is_drawn_whole_where_it_fits() -> None:
    rows, arrows = drawn(CampaignMean(1, "a", 40.0, 39.0, 41.0), CampaignMean(2, "b", 41.0, 40.0, 42.0))
    assert [(row["low"], row["high"]) for row in rows] == [(39.0, 41.0), (40.0, 42.0)]
    assert arrows == 0


def test_a_wide_interval_is_cut_off_with_arrows_and_never_looks_certain() -> None:
    rows, arrows = drawn(CampaignMean(1, "a", 40.0, 20.0, 60.0), CampaignMean(2, "b", 41.0, 40.0, 42.0))
    half = 1.5 * 0.05 * 41
    assert rows[0]["cut"] and (rows[0]["low"], rows[0]["high"]) == pytest.approx((40 - half, 40 + half))
    assert "cut" not in rows[1]
    assert arrows == 2


def test_one_repetition_has_no_interval() -> None:
    rows, _ = drawn(CampaignMean(1, "a", 40.0, -inf, inf), CampaignMean(2, "b", 41.0, 40.0, 42.0))
    assert "low" not in rows[0]
