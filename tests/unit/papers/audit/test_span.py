"""Arithmetic of what printed digits leave open, by hand."""

from itertools import permutations
from math import inf

import pytest

from perjoule.papers.audit import span
from perjoule.papers.audit.span import Span, exactly


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("a + b", 5, 10),
        ("b - a", 2, 7),
        ("a * b", 4, 16),
        ("b / a", 2, 8),
        ("c * d", -6, 8),
        ("c - d", -5, 5),
        ("a / c", -inf, inf),
        ("a / e", -inf, inf),
        ("a / f", -inf, inf),
        ("min(b, g)", 2, 5),
        ("max(a, g)", 2, 5),
        ("abs(c)", 0, 2),
        ("abs(d)", 0, 4),
        ("abs(f)", 0, 3),
        ("abs(e)", 0, 3),
        ("abs(0 - b)", 4, 8),
        ("abs(a / 2)", 0.5, 1),
        ("abs(0 - a / 2)", 0.5, 1),
        ("2 * a - 0.5", 1.5, 3.5),
    ],
)
def test_every_operation_gives_the_lowest_and_the_highest(text, low, high):
    spans = {"a": (1, 2), "b": (4, 8), "c": (-1, 2), "d": (-3, 4), "e": (0, 3), "f": (-3, 0), "g": (2, 5)}
    found = span.evaluate(text, lambda id: Span(*map(float, spans[id])))
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-12)


@pytest.mark.parametrize(
    ("of", "low", "high"),
    [
        (span.least, 1, 4),
        (span.most, 3, 8),
        (span.between, 1, 8),
        (span.total, 7, 18),
        (span.quadrature, 19**0.5, 116**0.5),
    ],
)
def test_what_is_made_of_several_spans_is_the_same_in_any_order(of, low, high):
    for spans in permutations((Span(1.0, 6.0), Span(3.0, 4.0), Span(3.0, 8.0))):
        found = of(*spans)
        assert (found.low, found.high) == pytest.approx((low, high))


def test_sums_extremes_and_roots_are_of_all():
    spans = Span(3.0, 6.0), Span(4.0, 8.0), Span(0.0, 9.0)
    assert (span.total(*spans), span.least(*spans), span.most(*spans)) == (
        Span(7.0, 23.0),
        Span(0.0, 6.0),
        Span(4.0, 9.0),
    )
    assert span.quadrature(*spans[:2]) == Span(5.0, 10.0)


def test_the_middle_of_what_has_no_end_is_its_other_end():
    assert [s.middle for s in (Span(1.0, 4.0), Span(-inf, 5.0), Span(2.0, inf))] == [2.5, 5.0, 2.0]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("beyond", "reaches"), [(0.0, True), (0.95e-6, True), (1.05e-6, False)])
def test_one_reaches_the_other_but_for_a_billionth_of_rounding(sign, beyond, reaches):
    high, low = Span(-5000.0, sign * 1000.0), Span(sign * 1000.0 + beyond, 5000.0)
    assert (high.reaches(low), high.meets(low), low.reaches(high)) == (reaches, reaches, True)


def test_nothing_reaches_nothing():
    assert exactly(0.0).meets(exactly(0.0))
    assert not exactly(0.0).reaches(exactly(1e-12))


def test_names_are_those_of_numbers_in_their_order_once():
    assert span.names("max(b, a) - abs(b) * c / 2") == ("b", "a", "c")


@pytest.mark.parametrize("text", ["a < b < c", "a == b", "a <= b", "a + b"])
def test_two_things_are_compared_and_by_nothing_else(text):
    with pytest.raises(ValueError, match="does not compare"):
        span.compare(text, lambda _: exactly(1.0))
