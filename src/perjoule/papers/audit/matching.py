"""Finding related numbers by their facts."""

from collections.abc import Iterable, Sequence

from perjoule.papers.published import PrintedNumber
from perjoule.papers.published.paper import Fact


def partner(
    of: PrintedNumber,
    among: Iterable[PrintedNumber],
    quantity: str,
    *,
    without: Sequence[str] = (),
    **facts: Fact,
) -> PrintedNumber | None:
    """Find the number of another quantity with the same statistic and facts, except for some; one in the
    same place first.
    """
    facts_of_partner = {key: fact for key, fact in of.own.items() if key not in without} | facts
    partners = [
        number
        for number in among
        if number.quantity == quantity
        and number.own == facts_of_partner
        and number.statistic == of.statistic
        and number.id != of.id
    ]
    return next(
        (number for number in partners if number.place == of.place), partners[0] if partners else None
    )


def siblings(of: PrintedNumber, among: Iterable[PrintedNumber]) -> list[PrintedNumber]:
    """List numbers of the same quantity that differ in one thing: a fact, the statistic, or the place.

    The nearest first.
    """
    ranked: list[tuple[int, PrintedNumber]] = []
    for number in among:
        if number.id == of.id or number.quantity != of.quantity:
            continue
        different = [
            key for key in number.own.keys() | of.own.keys() if number.own.get(key) != of.own.get(key)
        ]
        count = len(different) + (number.statistic != of.statistic)
        if count <= 1:
            ranked.append((count, number))
    return [number for _, number in sorted(ranked, key=lambda r: r[0])]


def difference(of: PrintedNumber, sibling: PrintedNumber) -> str:
    """Name the fact in which another number differs."""
    for key in sorted(
        fact for fact in of.own.keys() | sibling.own.keys() if of.own.get(fact) != sibling.own.get(fact)
    ):
        return f"{key} {sibling.own[key]}" if key in sibling.own else f"no {key}"
    return sibling.statistic if sibling.statistic != of.statistic else sibling.place


def named(among: Iterable[PrintedNumber], **words: Fact) -> list[PrintedNumber]:
    """List numbers with all these facts."""
    return [number for number in among if words.items() <= number.words.items()]
