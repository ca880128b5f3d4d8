"""A paper's claims about its numbers in words: the best, above, rising, falling, holds."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from perjoule.model.units import BYTES
from perjoule.papers.audit import axes, span
from perjoule.papers.audit.matching import named
from perjoule.papers.audit.recipe import AuditVerdict
from perjoule.papers.audit.span import Span
from perjoule.papers.published import Claim, Paper, PrintedNumber, printed
from perjoule.papers.published.paper import Fact

RULES = {
    "best": "stated in words: the largest",
    "above": "stated in words: larger than",
    "rising": "stated in words: rising",
    "falling": "stated in words: falling",
    "holds": "stated in words: larger or smaller",
}


def verdicts(paper: Paper) -> list[AuditVerdict]:
    """Judge every claim of a paper by its own numbers."""
    return [_verdict(claim, paper) for claim in paper.claims]


def _verdict(claim: Claim, paper: Paper) -> AuditVerdict:
    if claim.rule == "holds":
        first, sign, second = span.compare(claim.holds, lambda id: _span(paper.number(id)))
        holds = second.reaches(first) if sign == "<" else first.reaches(second)
        against, count = (
            ([] if holds else [f"{first.middle:.4g} {sign} {second.middle:.4g} does not hold"]),
            1,
        )
    else:
        among = named(paper.numbers, **claim.among)
        checked = {"best": _best, "above": _above, "rising": _rising, "falling": _rising}[claim.rule](
            claim, among
        )
        checks = list(checked)
        against, count = [text for text in checks if text], len(checks)
    if not count:
        cause = f"the paper prints no numbers for it{axes.bounds_text(paper, claim.among.get('quantity'))}"
        return AuditVerdict("unchecked", RULES[claim.rule], claim.place, f'"{claim.text}"', cause=cause)
    kind = "disagrees" if against else "agrees"
    cases = "; ".join(against[:3]) + (f"; and {len(against) - 3} more" if len(against) > 3 else "")
    of = f"{len(against)} of {count} cases" if against and count > 1 else ""
    return AuditVerdict(kind, RULES[claim.rule], claim.place, f'"{claim.text}"', recomputed=cases, of=of)


# Each yields "" for a case that is so, and words for one that is not.


def _best(claim: Claim, among: Sequence[PrintedNumber]) -> Iterator[str]:
    for facts, group in _groups(claim, among):
        ours, best = named(group, **claim.which), max(group, key=lambda number: number.value)
        if ours:
            ours_best = max(ours, key=lambda number: number.value)
            so = _span(ours_best).reaches(_span(best))
            yield (
                ""
                if so
                else f"{facts}: {ours_best.printed} against {best.printed} ({_words(best, claim.which)})"
            )


def _above(claim: Claim, among: Sequence[PrintedNumber]) -> Iterator[str]:
    for number in named(among, **claim.which):
        facts = {key: fact for key, fact in number.own.items() if key not in claim.which}
        for rival in named(among, **claim.than, **facts):
            so = _span(number).reaches(_span(rival))
            yield (
                ""
                if so
                else f"{', '.join(str(f) for f in facts.values())}: {number.printed} against {rival.printed}"
            )


def _rising(claim: Claim, among: Sequence[PrintedNumber]) -> Iterator[str]:
    for facts, group in _groups(claim, among):
        having = [number for number in group if claim.along in number.own]
        ordered = sorted(having, key=lambda number: _size(number.own[claim.along]))
        for before, after in pairwise(ordered):
            if _size(before.own[claim.along]) < _size(after.own[claim.along]):
                low, high = (before, after) if claim.rule == "rising" else (after, before)
                so = _span(high).reaches(_span(low))
                steps = f"{claim.along} {before.own[claim.along]} to {after.own[claim.along]}"
                yield (
                    ""
                    if so
                    else f"{facts + ': ' if facts else ''}{steps}: {before.printed} to {after.printed}"
                )


def _groups(claim: Claim, among: Sequence[PrintedNumber]) -> list[tuple[str, list[PrintedNumber]]]:
    groups: dict[str, list[PrintedNumber]] = {}
    for number in among:
        groups.setdefault(", ".join(str(number.words.get(key, "")) for key in claim.per), []).append(number)
    return list(groups.items())


def _words(number: PrintedNumber, which: Mapping[str, Fact]) -> str:
    return ", ".join(str(number.words.get(key, "")) for key in which)


def _size(fact: Fact) -> float:
    """Order "64 KB" before "1 MB", and numbers as numbers."""
    if isinstance(fact, str):
        text = printed(fact)
        return text.value * BYTES.get(text.unit, 1.0)
    return float(fact)


def _span(number: PrintedNumber) -> Span:
    return Span(number.low, number.high)
