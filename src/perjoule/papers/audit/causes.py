"""The likely cause of a disagreement: a search over common slips."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil, floor, isfinite

from perjoule.papers.audit.matching import difference, siblings
from perjoule.papers.audit.recipe import Recipe, unit_and_digits
from perjoule.papers.audit.span import Span, exactly
from perjoule.papers.published import PrintedNumber

BYTES = ("throughput", "capacity", "capacity per watt", "size", "memory", "efficiency")
# The factor by which confused units make a number of bytes too large; reversed, too small.
CONFUSED = {
    8.0: ("bits", "bytes"),
    1.024: ("kB", "KiB"),
    1.024**2: ("MB", "MiB"),
    1.024**3: ("GB", "GiB"),
    1.024**4: ("TB", "TiB"),
}
SHIFTED = {
    10.0: "the decimal point one place off",
    100.0: "the decimal point two places off",
    1000.0: "a prefix wrong by 1000",
}
LEAST_DIGITS = 3  # fewer are too easily alike


def likely(recipe: Recipe, recipes: Sequence[Recipe], numbers: Sequence[PrintedNumber]) -> str:
    """Name the first slip that explains a printed number and leaves most of it right; "" if none does."""
    ways = (
        _bound_causes(recipe, recipes, numbers)
        if recipe.relation in ("at most", "at least")
        else _causes(recipe, numbers)
    )
    return next(ways, "")


def _causes(recipe: Recipe, numbers: Sequence[PrintedNumber]) -> Iterator[str]:
    yield from _readings(recipe)
    if recipe.relation == "equals":
        yield from _factors(recipe)
        yield from _substituted(recipe, numbers, elsewhere=True)
        yield from _digits(recipe)
        yield from _copied(recipe, numbers)
        yield from _counts(recipe)
        yield from _substituted(recipe, numbers)
        yield from _switch(recipe, numbers)
        yield from _operands(recipe)


def _factors(recipe: Recipe) -> Iterator[str]:
    result, printed = recipe.result(), Span(recipe.subject.low, recipe.subject.high)
    for factor, (small, large) in CONFUSED.items() if recipe.subject.quantity in BYTES else ():
        if (result * exactly(factor)).meets(printed):
            yield f"{small} printed as {large}"
        if (result / exactly(factor)).meets(printed):
            yield f"{large} printed as {small}"
    for factor, slip in SHIFTED.items():
        if (result * exactly(factor)).meets(printed) or (result / exactly(factor)).meets(printed):
            yield slip


def _digits(recipe: Recipe) -> Iterator[str]:
    """Truncation; or one wrong digit, or two, compared with the recomputed number in print."""
    central = recipe.central().middle / recipe.subject.unit
    digits = unit_and_digits(recipe.subject.printed)[1].split("±")[0].strip().replace(",", "")
    if not digits.replace(".", "").isdigit() or not isfinite(central):
        return
    decimals = len(digits.partition(".")[2])
    step = 10.0**-decimals if decimals else 10.0 ** (len(digits) - len(digits.rstrip("0")))
    if floor(central / step) == round(float(digits) / step):
        yield "cut off, not rounded"
    right = f"{central:.{decimals}f}"
    if len(right) == len(digits) and len(digits.replace(".", "")) >= LEAST_DIGITS:
        places = [index for index, (a, b) in enumerate(zip(digits, right, strict=True)) if a != b]
        if len(places) == 1:
            yield f"one digit: {digits} for {right}"
        if (
            len(places) == 2
            and digits[places[0]] == right[places[1]]
            and digits[places[1]] == right[places[0]]
        ):
            yield f"two digits exchanged: {digits} for {right}"


def _copied(recipe: Recipe, numbers: Sequence[PrintedNumber]) -> Iterator[str]:
    for sibling in siblings(recipe.subject, numbers):
        if sibling.printed == recipe.subject.printed and sibling.own != recipe.subject.own:
            yield f"the number of {difference(recipe.subject, sibling)} printed again"


def _counts(recipe: Recipe) -> Iterator[str]:
    """Hosts, disks or copies miscounted: by one, left out, or each kind counted once."""
    counts = [count for count in recipe.inputs if count.quantity == "count"]
    for count in counts:
        for value in dict.fromkeys((1.0, count.value - 1, count.value + 1)):
            if value not in (0, count.value) and recipe.holds({count.id: exactly(value)}):
                yield f"{value:g} instead of {count.printed} {count.own.get('what', 'of them')}"
    if len(counts) > 1 and recipe.holds({count.id: exactly(1.0) for count in counts}):
        yield "each kind counted once"


def _substituted(
    recipe: Recipe, numbers: Sequence[PrintedNumber], *, elsewhere: bool = False
) -> Iterator[str]:
    """Another row, column or statistic; or the same number as printed elsewhere."""
    for number in recipe.inputs:
        for sibling in siblings(number, numbers):
            same = (sibling.own, sibling.statistic) == (number.own, number.statistic)
            if (
                same == elsewhere
                and sibling.id != recipe.subject.id
                and recipe.holds({number.id: Span(sibling.low, sibling.high)})
            ):
                instead = f"{sibling.printed} ({difference(number, sibling)})"
                yield f"computed with {instead} instead of {number.printed} ({difference(sibling, number)})"


def _operands(recipe: Recipe) -> Iterator[str]:
    subject, result = recipe.subject, recipe.result()
    printed = Span(subject.low, subject.high)
    if (exactly(subject.unit**2) / result).meets(printed) or (exactly(0.0) - result).meets(printed):
        yield "operands exchanged"
    if subject.quantity in ("gain", "ratio", "share"):
        # 274 % of it is 174 % more
        for shift, slip in ((1.0, "the whole counted in"), (-1.0, "the whole left out")):
            if (result + exactly(shift)).meets(printed):
                yield slip


def _switch(recipe: Recipe, numbers: Sequence[PrintedNumber]) -> Iterator[str]:
    for switch in (component for component in numbers if component.own.get("component") == "switch"):
        for number in recipe.inputs:
            if number.quantity == "power" and number.facts.get("cluster") == switch.facts.get("cluster"):
                for sign, how in ((1, "with the switch"), (-1, "without the switch")):
                    if recipe.holds({number.id: exactly(number.value + sign * switch.value)}):
                        yield f"{number.printed} taken {how}"


def _readings(recipe: Recipe) -> Iterator[str]:
    for slip, compute in recipe.alternatives:
        if replace(recipe, compute=compute).holds():
            yield slip


def _bound_causes(
    recipe: Recipe, recipes: Sequence[Recipe], numbers: Sequence[PrintedNumber]
) -> Iterator[str]:
    """For a broken bound: exchanged with another number, or how many more of something would satisfy it."""
    printed = Span(recipe.subject.low, recipe.subject.high)
    for sibling in siblings(recipe.subject, numbers):
        theirs = Span(sibling.low, sibling.high)
        its = [r for r in recipes if r.subject.id == sibling.id and r.rule == recipe.rule]
        if its and recipe.holds(printed=theirs) and all(r.holds(printed=printed) for r in its):
            yield f"exchanged with {sibling.printed} ({difference(recipe.subject, sibling)})"
    for number in recipe.inputs:
        if number.quantity == "count" and recipe.relation == "at most":
            needed = ceil(number.value * recipe.subject.low / recipe.central().middle)
            if recipe.holds({number.id: exactly(needed)}):
                yield f"would take {needed} {number.own.get('what', 'of them')}, not {number.printed}"
