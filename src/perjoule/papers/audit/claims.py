"""A paper's claims about its numbers in words: the best, above, rising, falling, holds."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from perjoule.model.units import BYTES
from perjoule.papers.audit import axes, span
from perjoule.papers.audit.matching import named
from perjoule.papers.audit.recipe import Verdict
from perjoule.papers.audit.span import Span
from perjoule.papers.published import Claim, Number, Paper, printed
from perjoule.papers.published.paper import Fact

RULES = {
    "best": "stated in words: the largest",
    "above": "stated in words: larger than",
    "rising": "stated in words: rising",
    "falling": "stated in words: falling",
    "holds": "stated in words: larger or smaller",
}


def verdicts(paper: Paper) -> list[Verdict]:
    """Judge every claim of a paper by its own numbers."""
    return [_verdict(claim, paper) for claim in paper.claims]


def _verdict(claim: Claim, paper: Paper) -> Verdict:
    if claim.rule == "holds":
        left, sign, right = span.compare(claim.holds, lambda id: _span(paper.number(id)))
        holds = right.reaches(left) if sign == "<" else left.reaches(right)
        against, count = ([] if holds else [f"{left.middle:.4g} {sign} {right.middle:.4g} does not hold"]), 1
    else:
        among = named(paper.numbers, **claim.among)
        found = {"best": _best, "above": _above, "rising": _rising, "falling": _rising}[claim.rule](claim, among)
        checks = list(found)
        against, count = [words for words in checks if words], len(checks)
    if not count:
        cause = f"the paper prints no numbers for it{axes.words(paper, claim.among.get('quantity'))}"
        return Verdict("unchecked", RULES[claim.rule], claim.place, f'"{claim.text}"', cause=cause)
    kind = "disagrees" if against else "agrees"
    shown = "; ".join(against[:3]) + (f"; and {len(against) - 3} more" if len(against) > 3 else "")
    of = f"{len(against)} of {count} cases" if against and count > 1 else ""
    return Verdict(kind, RULES[claim.rule], claim.place, f'"{claim.text}"', recomputed=shown, of=of)


# Each yields "" for a case that is so, and words for one that is not.


def _best(claim: Claim, among: Sequence[Number]) -> Iterator[str]:
    for facts, group in _groups(claim, among):
        ours, best = named(group, **claim.which), max(group, key=lambda one: one.value)
        if ours:
            own = max(ours, key=lambda one: one.value)
            so = _span(own).reaches(_span(best))
            yield "" if so else f"{facts}: {own.printed} against {best.printed} ({_words(best, claim.which)})"


def _above(claim: Claim, among: Sequence[Number]) -> Iterator[str]:
    for one in named(among, **claim.which):
        rest = {key: fact for key, fact in one.own.items() if key not in claim.which}
        for other in named(among, **claim.than, **rest):
            so = _span(one).reaches(_span(other))
            yield "" if so else f"{', '.join(str(f) for f in rest.values())}: {one.printed} against {other.printed}"


def _rising(claim: Claim, among: Sequence[Number]) -> Iterator[str]:
    for facts, group in _groups(claim, among):
        having = [one for one in group if claim.along in one.own]
        ordered = sorted(having, key=lambda one: _size(one.own[claim.along]))
        for one, after in pairwise(ordered):
            if _size(one.own[claim.along]) < _size(after.own[claim.along]):
                low, high = (one, after) if claim.rule == "rising" else (after, one)
                so = _span(high).reaches(_span(low))
                steps = f"{claim.along} {one.own[claim.along]} to {after.own[claim.along]}"
                yield "" if so else f"{facts + ': ' if facts else ''}{steps}: {one.printed} to {after.printed}"


def _groups(claim: Claim, among: Sequence[Number]) -> list[tuple[str, list[Number]]]:
    found: dict[str, list[Number]] = {}
    for one in among:
        found.setdefault(", ".join(str(one.words.get(key, "")) for key in claim.per), []).append(one)
    return list(found.items())


def _words(one: Number, which: Mapping[str, Fact]) -> str:
    return ", ".join(str(one.words.get(key, "")) for key in which)


def _size(fact: Fact) -> float:
    """Order "64 KB" before "1 MB", and numbers as numbers."""
    if isinstance(fact, str):
        text = printed(fact)
        return text.value * BYTES.get(text.unit, 1.0)
    return float(fact)


def _span(one: Number) -> Span:
    return Span(one.low, one.high)
