"""A claim in words, against numbers made for it: what agrees, what doesn't, and the words for those."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from perjoule.papers.audit.claims import verdicts
from perjoule.papers.published import Claim, Paper, PrintedNumber


def number(id: str, value: float, **own: Any) -> PrintedNumber:
    """A throughput, as good as printed to whole units."""
    return PrintedNumber(
        id, "throughput", f"{value:g}", value, value - 0.5, value + 0.5, 1.0, "Table I", "mean", own, own
    )


def judged(rule: Any, *numbers: PrintedNumber, **words: Any) -> tuple[str, str, str]:
    by_id = {one.id: one for one in numbers}
    claim = Claim("section I", "so it is", rule, among={"quantity": "throughput"}, **words)
    paper = SimpleNamespace(claims=(claim,), numbers=numbers, figures=(), number=by_id.__getitem__)
    (verdict,) = verdicts(cast("Paper", paper))
    assert (verdict.place, verdict.what) == ("section I", '"so it is"')
    return verdict.kind, verdict.recomputed, verdict.of


def table(**rates: tuple[float, ...]) -> tuple[PrintedNumber, ...]:
    """Rates of file systems, at one, two ... clients."""
    return tuple(
        number(f"{name}_{clients}", rate, filesystem=name, clients=clients)
        for name, of_clients in rates.items()
        for clients, rate in enumerate(of_clients, start=1)
    )


def test_the_best_of_a_group_is_the_largest_of_it():
    one = {"which": {"filesystem": "a"}}
    assert judged("best", *table(a=(10, 50), b=(40, 30)), **one) == ("agrees", "", "")
    lost = judged("best", *table(a=(10, 50), b=(40, 52)), **one)
    assert lost == ("disagrees", ": 50 against 52 (b)", "")
    assert judged("best", *table(a=(10, 50), b=(40, 51)), **one)[0] == "agrees"  # as printed, it may be 50.5
    per = judged("best", *table(a=(10, 50), b=(40, 30)), per=("clients",), **one)
    assert per == ("disagrees", "1: 10 against 40 (b)", "1 of 2 cases")
    assert judged("best", *table(b=(40, 30)), **one)[0] == "unchecked"


def test_above_is_the_ratio_of_numbers_that_are_else_equal_over_a_factor():
    words = {"which": {"filesystem": "a"}, "than": {"filesystem": "b"}}
    rates = table(a=(60, 100, 90), b=(40, 90, 100), c=(500, 500, 500))
    assert judged("above", *rates, **words) == ("disagrees", "3: 90 against 100", "1 of 3 cases")
    assert judged("above", *rates, **words, cases="most")[0] == "agrees"
    assert judged("above", *rates, **words, cases="nearly all")[0] == "disagrees"
    twice = judged("above", *rates, **words, factor="2")
    assert twice[1:] == ("1: 60 against 40; 2: 100 against 90; 3: 90 against 100", "3 of 3 cases")


@pytest.mark.parametrize(
    ("rate", "kind"), [(92, "agrees"), (90, "agrees"), (89, "agrees"), (88, "disagrees")]
)
def test_what_may_be_equal_as_printed_is_not_below(rate: float, kind: str):
    """89 may be 89.5, as 90 may."""
    words = {"which": {"filesystem": "a"}, "than": {"filesystem": "b"}}
    assert judged("above", *table(a=(rate,), b=(90,)), **words)[0] == kind


def test_of_many_cases_three_are_named():
    words = {"which": {"filesystem": "a"}, "than": {"filesystem": "b"}}
    for count, more in ((3, ""), (4, "; and 1 more"), (6, "; and 3 more")):
        _, cases, of = judged("above", *table(a=(10,) * count, b=(20,) * count), **words)
        assert cases == "; ".join(f"{n}: 10 against 20" for n in (1, 2, 3)) + more
        assert of == f"{count} of {count} cases"


@pytest.mark.parametrize(
    ("rate", "kind"), [(125, "agrees"), (127, "disagrees"), (80, "agrees"), (78, "disagrees")]
)
def test_similar_is_within_a_quarter_either_way(rate: float, kind: str):
    words = {"which": {"filesystem": "a"}, "than": {"filesystem": "b"}}
    assert judged("similar", *table(a=(rate,), b=(100,)), **words)[0] == kind


def test_bounded_is_between_a_least_and_a_most():
    rates = table(a=(40, 50, 61))
    assert judged("bounded", *rates, least="a_1", most="a_3")[0] == "agrees"
    assert judged("bounded", *rates, least="a_2")[1:] == ("throughput (a, 1 client): 40", "1 of 3 cases")
    assert judged("bounded", *rates, most="a_2")[1:] == ("throughput (a, 3 clients): 61", "1 of 3 cases")


def test_rising_and_falling_are_from_each_value_to_the_next():
    assert judged("rising", *table(a=(10, 20, 30)), along="clients")[0] == "agrees"
    fallen = judged("rising", *table(a=(10, 30, 20)), along="clients")
    assert fallen == ("disagrees", "clients 2 to 3: 30 to 20", "1 of 2 cases")
    assert judged("falling", *table(a=(30, 20, 10)), along="clients")[0] == "agrees"
    risen = judged("falling", *table(a=(30, 10, 20), b=(9, 8, 7)), along="clients", per=("filesystem",))
    assert risen == ("disagrees", "a: clients 2 to 3: 10 to 20", "1 of 4 cases")
    sized = (number("m", 30, size="1 MB"), number("k", 20, size="64 KB"), number("n", 99, clients=4))
    assert judged("rising", *sized, along="size")[0] == "agrees"
    alike = (number("m", 30, size="1 MB", clients=1), number("k", 20, size="1 MB", clients=2))
    assert judged("falling", *alike, along="size")[0] == "unchecked"


def test_a_comparison_of_ids_holds_or_not():
    rates = table(a=(40, 50))
    assert judged("holds", *rates, holds="a_2 > a_1") == ("agrees", "", "")
    assert judged("holds", *rates, holds="a_2 < a_1") == ("disagrees", "50 < 40 does not hold", "")
    assert judged("holds", *rates, holds="a_1 < a_2")[0] == "agrees"
    assert judged("holds", *rates, holds="a_1 > a_2")[0] == "disagrees"
