"""Finding related numbers by their facts."""

from collections.abc import Iterable, Sequence

from perjoule.papers.published import Number
from perjoule.papers.published.paper import Fact


def partner(of: Number, among: Iterable[Number], quantity: str, *, without: Sequence[str] = (), **facts: Fact) -> Number | None:
    """Find the number of another quantity with the same statistic and facts, except for some; one in the same place first."""
    wanted = {key: fact for key, fact in of.own.items() if key not in without} | facts
    found = [
        one
        for one in among
        if one.quantity == quantity and one.own == wanted and one.statistic == of.statistic and one.id != of.id
    ]
    return next((one for one in found if one.place == of.place), found[0] if found else None)


def siblings(of: Number, among: Iterable[Number]) -> list[Number]:
    """List numbers of the same quantity that differ in one thing: a fact, the statistic, or the place. The nearest first."""
    ranked: list[tuple[int, Number]] = []
    for one in among:
        if one.id == of.id or one.quantity != of.quantity:
            continue
        different = [key for key in one.own.keys() | of.own.keys() if one.own.get(key) != of.own.get(key)]
        count = len(different) + (one.statistic != of.statistic)
        if count <= 1:
            ranked.append((count, one))
    return [one for _, one in sorted(ranked, key=lambda r: r[0])]


def difference(of: Number, other: Number) -> str:
    """Name the fact in which another number differs."""
    for key in sorted(one for one in of.own.keys() | other.own.keys() if of.own.get(one) != other.own.get(one)):
        return f"{key} {other.own[key]}" if key in other.own else f"no {key}"
    return other.statistic if other.statistic != of.statistic else other.place


def named(among: Iterable[Number], **words: Fact) -> list[Number]:
    """List numbers with all these facts."""
    return [one for one in among if words.items() <= one.words.items()]
