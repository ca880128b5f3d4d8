"""How an audit finds numbers that belong together, holds one against others and prints what comes out."""

import pytest

from perjoule.papers.audit.matching import difference, named, partner, siblings
from perjoule.papers.audit.recipe import Recipe, is_range, text, uncertainty, unit_and_digits
from perjoule.papers.audit.span import Span, exactly
from perjoule.papers.audit.verdicts import judge
from perjoule.papers.published import PrintedNumber, Uncertainty
from typed import present


def number(
    id="n",
    printed="41.1 W",
    quantity="power",
    value=41.1,
    *,
    place="Table I",
    statistic="mean",
    unit=1.0,
    half=0.0,
    **own,
):
    return PrintedNumber(
        id, quantity, printed, value, value - half, value + half, unit, place, statistic, own, own
    )


@pytest.mark.parametrize(
    ("printed", "unit", "span", "said"),
    [
        ("41.1 W", 1.0, exactly(123.44), "123.4 W"),
        ("41.1 W", 1.0, exactly(100.04), "100.0 W"),
        ("41.1 W", 1.0, exactly(99.93), "99.93 W"),
        ("41.1 W", 1.0, exactly(-99.93), "-99.93 W"),
        ("41 W", 1.0, exactly(999.44), "999.4 W"),
        ("41 W", 1.0, exactly(1000.4), "1,000 W"),
        ("4.11 kW", 1000.0, exactly(9996.0), "9.996 kW"),
        ("41.1 W", 1.0, Span(10.0, 20.0), "10.0 to 20.0 W"),
        ("41.1 W", 1.0, Span(10.0, 10.02), "10.01 W"),
        ("41.1 ± 0.15 W", 1.0, exactly(123.44), "123.4 W"),
        ("6-9.5 %", 0.01, exactly(12.345), "1,234 %"),
        ("~174", 1.0, exactly(1743.2), "1,743"),
    ],
)
def test_a_result_is_printed_as_the_number_is_with_four_digits_at_least(printed, unit, span, said):
    assert text(span, number(printed=printed, unit=unit)) == said


@pytest.mark.parametrize(
    ("printed", "unit", "digits"),
    [
        ("< 41.1 W", "W", "41.1"),
        ("1,024 MiB/s", "MiB/s", "1,024"),
        ("6–9 %", "%", "6–9"),
        ("7", "", "7"),
        ("none", "", "none"),
    ],
)
def test_what_is_printed_is_digits_and_a_unit(printed, unit, digits):
    assert unit_and_digits(printed) == (unit, digits)
    assert is_range(number(printed=printed)) == ("–" in printed)


def test_what_stands_behind_each_plus_minus_is_a_number_of_its_own():
    kinds = (Uncertainty(0.1, 0.05, 0.15, "statistical"), Uncertainty(1.0, 0.95, 1.05, "systematic"))
    of = PrintedNumber(
        "p", "power", "41.1 ± 0.1 ± 1.0 W", 41.1, 41.0, 41.2, 1.0, "Table I", "mean", {}, {}, kinds
    )
    found = present(uncertainty(of, "systematic"))
    assert (found.id, found.printed, found.value, found.low, found.high) == (
        "p_systematic",
        "1.0 W",
        1.0,
        0.95,
        1.05,
    )
    assert (present(uncertainty(of, "statistical")).printed, uncertainty(of, "rounding")) == ("0.1 W", None)


@pytest.mark.parametrize(
    ("relation", "result", "slack", "holds"),
    [
        ("equals", (41.2, 41.3), 0.0, True),
        ("equals", (41.3, 41.4), 0.0, False),
        ("equals", (40.8, 40.9), 0.0, False),
        ("at most", (40.0, 41.0), 0.0, True),
        ("at most", (40.0, 40.9), 0.0, False),
        ("at most", (40.0, 40.9), 0.1, True),
        ("at least", (41.2, 42.0), 0.0, True),
        ("at least", (41.3, 42.0), 0.0, False),
        ("at least", (41.3, 42.0), 0.1, True),
        ("within", (41.0, 41.2), 0.0, True),
        ("within", (40.9, 41.1), 0.0, False),
        ("within", (41.1, 41.3), 0.0, False),
    ],
)
def test_a_number_from_41_0_to_41_2_keeps_what_it_touches(relation, result, slack, holds):
    one = PrintedNumber("n", "power", "41.1 W", 41.1, 41.0, 41.2, 1.0, "Table I", "mean", {}, {})
    assert Recipe("rule", one, (), lambda _: Span(*result), relation, slack).holds() == holds


def test_a_range_is_its_ends_where_others_are_one_value():
    ends, one = number(printed="6-9 %", value=0.075, unit=0.01), number("m", value=2.0, half=0.5)
    found = Recipe("rule", number("x"), (ends, one), lambda v: v(ends) * v(one))
    assert (found.central().low, found.central().high) == pytest.approx((0.12, 0.18))
    assert Recipe("rule", number("x"), (one,), lambda v: v(one)).result() == Span(1.5, 2.5)


# Finding


def test_a_partner_has_the_same_facts_and_statistic_and_that_of_the_same_place_comes_first():
    of = number("of", clients=1, boundary="gross")
    far, near = (
        number(place, "9 s", "duration", 9.0, place=place, clients=1, boundary="gross")
        for place in ("Table II", "Table I")
    )
    bare = number("bare", "9 s", "duration", 9.0, clients=1)
    other = number("other", "9 s", "duration", 9.0, statistic="maximum", clients=1, boundary="gross")
    assert partner(of, [of, other, bare, far, near], "duration") is near
    assert partner(of, [of, other, bare, far], "duration") is far
    assert partner(of, [of, other, bare, far], "duration", without=["boundary"]) is bare
    assert partner(of, [of, other], "duration") is None
    assert partner(of, [of], "power") is None


def test_siblings_differ_in_one_thing_and_the_nearest_come_first():
    of = number("of", clients=1, direction="write")
    others = {
        "a fact": number("a", clients=2, direction="write"),
        "two facts": number("b", clients=2, direction="read"),
        "a statistic": number("c", statistic="maximum", clients=1, direction="write"),
        "both": number("d", statistic="maximum", clients=2, direction="write"),
        "the place": number("e", place="Table II", clients=1, direction="write"),
        "a quantity": number("f", "9 s", "duration", clients=1, direction="write"),
        "one less": number("g", clients=1),
    }
    found = siblings(of, [of, *others.values()])
    assert [one.id for one in found] == ["e", "a", "c", "g"]
    said = {words: difference(of, one) for words, one in others.items()}
    assert said == {
        "a fact": "clients 2",
        "two facts": "clients 2",
        "a statistic": "maximum",
        "both": "clients 2",
        "the place": "Table II",
        "a quantity": "Table I",
        "one less": "no direction",
    }


def test_named_are_those_that_have_all_words():
    numbers = [
        number("a", clients=1),
        number("b", clients=1, direction="write"),
        number("c", clients=2, direction="write"),
    ]
    assert [one.id for one in named(numbers, clients=1)] == ["a", "b"]
    assert [
        one.id for one in named(numbers, quantity="power", place="Table I", direction="write", clients=2)
    ] == ["c"]


# Verdicts


@pytest.mark.parametrize(("count", "more"), [(6, ""), (7, " and 1 more"), (9, " and 3 more")])
def test_six_inputs_of_a_place_are_shown(count, more):
    inputs = tuple(number(f"i{n}", f"{n} W", value=float(n), place="Table II") for n in range(count))
    one = number("sum", "1 W", value=1.0)
    (found,) = judge([Recipe("rule", one, (*inputs, one), lambda _: exactly(1.0))], inputs)
    assert found.of == ", ".join(f"{n} W" for n in range(6)) + more + " (Table II), 1 W"


@pytest.mark.parametrize(
    ("relation", "shown"),
    [
        ("equals", "1.0 to 2.0 W"),
        ("within", "from 1.0 to 2.0 W"),
        ("at most", "at most 2.00 W"),
        ("at least", "at least 1.00 W"),
    ],
)
def test_of_a_bound_the_end_that_counts_is_shown(relation, shown):
    (found,) = judge([Recipe("rule", number(), (), lambda _: Span(1.0, 2.0), relation)], [])
    assert found.recomputed == shown


def test_only_a_number_that_does_not_follow_makes_others_rest_on_it():
    wrong, bound = (
        number("wrong", "3.0 W", value=3.0, half=0.05),
        number("bound", "3.0 W", value=3.0, half=0.05),
    )
    of_both = [number(f"of {one.id}", "6.0 W", value=6.0, half=0.05) for one in (wrong, bound)]
    recipes = [
        Recipe("rule", wrong, (), lambda _: exactly(2.0)),
        Recipe("rule", bound, (), lambda _: exactly(2.0), "at most"),
        *(
            Recipe("rule", of, (one,), lambda v, one=one: v(one) + v(one))
            for of, one in zip(of_both, (wrong, bound), strict=True)
        ),
    ]
    found = judge(recipes, [])
    assert [v.kind for v in found] == ["disagrees", "disagrees", "agrees", "agrees"]
    assert [v.rests_on for v in found] == [
        "",
        "",
        "rests on 3.0 W (Table I), which disagrees: 4.00 W without that",
        "",
    ]
