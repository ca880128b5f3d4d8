"""Results computed from a series: once each, and freed with it."""

import gc
import weakref
from types import SimpleNamespace

import numpy as np

from perjoule.energy.once import once
from perjoule.energy.terms import budget
from perjoule.measures.points import points
from perjoule.model import Series


class Found:
    """A result."""


def test_a_result_is_computed_once_for_each_series_and_arguments(made: SimpleNamespace) -> None:
    asked: list[tuple[Series, float]] = []

    @once
    def computed(series: Series, began_s: float, *, quiet: tuple[float, ...] = ()) -> Found:
        asked.append((series, began_s))
        return Found()

    # the same samples
    one, other = (made.stating("window mean", np.arange(9.0), 50.0, 1.0) for _ in range(2))
    found = [computed(one, 1.0), computed(other, 1.0), computed(one, 2.0), computed(one, 1.0, quiet=(3.0,))]
    assert len({id(each) for each in found}) == 4
    assert [
        computed(one, 1.0),
        computed(other, 1.0),
        computed(one, 2.0),
        computed(one, 1.0, quiet=(3.0,)),
    ] == found
    assert asked == [(one, 1.0), (other, 1.0), (one, 2.0), (one, 1.0)]


def test_a_result_is_freed_with_its_series(made: SimpleNamespace) -> None:
    @once
    def computed(series: Series) -> Found:
        return Found()

    series = made.stating("window mean", np.arange(9.0), 50.0, 1.0)
    seen = weakref.ref(computed(series))
    assert seen() is not None
    del series
    gc.collect()
    assert seen() is None


def test_analysis_keeps_no_series_alive(made: SimpleNamespace) -> None:
    t_s = np.arange(0.0, 30.0)
    series = [
        made.stating(semantics, t_s, 50.0 * t_s if semantics == "counter" else 50.0 + t_s % 2, 1.0)
        for semantics in ("counter", "window mean", "instantaneous", "average")
    ]
    seen = [weakref.ref(one) for one in series]
    points(made.record(), series)
    assert len([budget(one, 5.0, 25.0) for one in series]) == 4
    del series
    gc.collect()
    assert [ref() for ref in seen] == [None] * 4
