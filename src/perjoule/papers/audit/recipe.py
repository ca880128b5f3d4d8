"""The derivation of a printed number from others, and the verdict on it."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from perjoule.papers.audit.span import Span, exactly
from perjoule.papers.published import PrintedNumber, printed

Values = Callable[[PrintedNumber], Span]
Relation = Literal["equals", "at most", "at least", "within"]


@dataclass(frozen=True)
class Recipe:
    """A number, its inputs, and the rule that derives it.

    A bound is "at most" or "at least"; "within" means that all cases lie in a printed range. `alternatives`
    are other readings of the rule, each in words, for the search for a cause.
    """

    rule: str
    subject: PrintedNumber
    inputs: tuple[PrintedNumber, ...]
    compute: Callable[[Values], Span]
    relation: Relation = "equals"
    slack: float = 0.0  # of a bound, in SI units: what the subject's own ± leaves open
    alternatives: tuple[tuple[str, Callable[[Values], Span]], ...] = ()

    def result(self, changed: Mapping[str, Span] | None = None) -> Span:
        """Compute with the ranges that the printed digits allow; `changed` replaces inputs, by id."""
        new = changed or {}
        return self.compute(lambda number: new.get(number.id) or Span(number.low, number.high))

    def central(self, changed: Mapping[str, Span] | None = None) -> Span:
        """Compute with the digits as printed: a single value, unless the rule itself gives a range."""
        new = changed or {}
        return self.compute(lambda number: new.get(number.id) or _as_printed(number))

    def holds(self, changed: Mapping[str, Span] | None = None, printed: Span | None = None) -> bool:
        """Return whether the printed and the recomputed number can be equal, or keep the bound."""
        printed = printed or Span(self.subject.low - self.slack, self.subject.high + self.slack)
        result = self.result(changed)
        match self.relation:
            case "equals":
                return printed.meets(result)
            case "within":
                return printed.low <= result.low and result.high <= printed.high
            case "at most":
                return result.reaches(printed)
            case "at least":
                return printed.reaches(result)


Rule = Callable[
    [PrintedNumber, Sequence[PrintedNumber]], Iterator[Recipe]
]  # how a number follows from those among which it stands


@dataclass(frozen=True)
class AuditVerdict:
    """The audit's verdict on one number or sentence."""

    kind: Literal["disagrees", "agrees", "unchecked"]
    rule: str
    place: str
    what: str
    id: str = ""
    printed: str = ""
    recomputed: str = ""  # with "at most" or "at least" before a bound
    of: str = ""  # what was put in
    cause: str = ""  # the likely one of a disagreement; why something can't be checked
    rests_on: str = ""  # what it becomes where it was computed from a number that disagrees


def _as_printed(number: PrintedNumber) -> Span:
    """Return one value, or the ends of a printed range."""
    if not is_range(number):
        return exactly(number.value)
    ends = printed(number.printed, exact=True)
    return Span(ends.low * number.unit, ends.high * number.unit)


def is_range(number: PrintedNumber) -> bool:
    """Return whether a range like "6-9 %" was printed."""
    return any(dash in number.printed for dash in "-–")


_SPLIT = re.compile(r"[<>~]?\s*(?P<digits>(?! )[\d.,–± -]*\d)\s*(?P<unit>.*)")


def unit_and_digits(printed: str) -> tuple[str, str]:
    """Split "41.1 ± 0.1 W" into "W" and "41.1 ± 0.1"."""
    match = _SPLIT.fullmatch(printed.strip())
    return (match["unit"], match["digits"]) if match else ("", printed)


def text(span: Span, like: PrintedNumber) -> str:
    """Print a span in the unit of a number, with its decimals; with one more if that leaves few digits."""
    unit, digits = unit_and_digits(like.printed)
    decimals = len(re.split("[ –±-]", digits)[0].partition(".")[2])
    low, high = (f"{value / like.unit:,.{decimals}f}" for value in (span.low, span.high))
    if low == high and abs(span.low / like.unit) < 10 ** (3 - decimals):
        low = high = f"{span.middle / like.unit:,.{decimals + 1}f}"
    return f"{low if low == high else f'{low} to {high}'} {unit}".strip()


def uncertainty(of: PrintedNumber, kind: str) -> PrintedNumber | None:
    """Return the number printed after ± as a number of its own."""
    unit, digits = unit_and_digits(of.printed)
    for margin, behind in zip(of.uncertainties, digits.split("±")[1:], strict=False):
        if margin.kind == kind:
            return replace(
                of,
                id=f"{of.id}_{kind}",
                printed=f"{behind.strip()} {unit}".strip(),
                value=margin.value,
                low=margin.low,
                high=margin.high,
                own={**of.own, "±": kind},
                uncertainties=(),
            )
    return None
