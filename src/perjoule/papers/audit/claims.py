"""A paper's claims about its numbers in words: the best, above, rising, falling, holds."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf

from perjoule.papers.audit import axes, span
from perjoule.papers.audit.matching import named
from perjoule.papers.audit.recipe import AuditVerdict
from perjoule.papers.audit.span import Span, exactly
from perjoule.papers.facts import size_bytes
from perjoule.papers.published import Claim, Paper, PrintedNumber
from perjoule.papers.published.paper import Fact

RULES = {
    "best": "stated in words: the largest",
    "above": "stated in words: larger than",
    "rising": "stated in words: rising",
    "falling": "stated in words: falling",
    "holds": "stated in words: larger or smaller",
    "similar": "stated in words: similar",
    "bounded": "stated in words: within limits",
    "up to": "stated in words: at most",
    "wider": "stated in words: a ratio larger than another",
    "crossing": "stated in words: larger at the end",
    "only if": "stated in words: only if",
    "scatter": "stated in words: more scatter",
}


def verdicts(paper: Paper) -> list[AuditVerdict]:
    """Judge every claim of a paper by its own numbers."""
    return [_verdict(claim, paper) for claim in paper.claims]


def _verdict(claim: Claim, paper: Paper) -> AuditVerdict:
    among = named(paper.numbers, **claim.among)
    checked = _CHECKS[claim.rule](claim, among, paper) if claim.rule in _CHECKS else ()
    checks = list(checked)
    if claim.holds and not checks:
        first, sign, second = span.compare(claim.holds, lambda id: _span(paper.number(id)))
        holds = second.reaches(first) if sign == "<" else first.reaches(second)
        against, count = (
            ([] if holds else [f"{first.middle:.4g} {sign} {second.middle:.4g} does not hold"]),
            1,
        )
    else:
        against, count = [text for text in checks if text], len(checks)
    if not count:
        cause = f"the paper prints no numbers for it{axes.bounds_text(paper, claim.among.get('quantity'))}"
        return AuditVerdict("unchecked", RULES[claim.rule], claim.place, f'"{claim.text}"', cause=cause)
    kind = "disagrees" if len(against) > claim.allowed_count(count) else "agrees"
    cases = "; ".join(against[:3]) + (f"; and {len(against) - 3} more" if len(against) > 3 else "")
    of = f"{len(against)} of {count} cases" if against and count > 1 else ""
    return AuditVerdict(kind, RULES[claim.rule], claim.place, f'"{claim.text}"', recomputed=cases, of=of)


# Each yields "" for a case that is so, and words for one that is not.


def _best(claim: Claim, among: Sequence[PrintedNumber], _paper: Paper) -> Iterator[str]:
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


def _above(claim: Claim, among: Sequence[PrintedNumber], paper: Paper) -> Iterator[str]:
    for words, ratio in _ratios(claim, among, paper):
        yield "" if ratio.reaches(exactly(1.0)) else words


def _similar(claim: Claim, among: Sequence[PrintedNumber], paper: Paper) -> Iterator[str]:
    for words, ratio in _ratios(claim, among, paper):
        yield "" if ratio.meets(Span(1 / claim.within, claim.within)) else words


def _bounded(claim: Claim, among: Sequence[PrintedNumber], paper: Paper) -> Iterator[str]:
    limits = [
        span.evaluate(text, lambda id: _span(paper.number(id))) if text else Span(end, end)
        for text, end in ((claim.least, -inf), (claim.most, inf))
    ]
    for number in among:
        so = _span(number).meets(Span(limits[0].low, limits[1].high))
        yield "" if so else f"{number.name}: {number.printed}"


def _ratios(claim: Claim, among: Sequence[PrintedNumber], paper: Paper) -> Iterator[tuple[str, Span]]:
    """Compare numbers that are equal except for the claim's facts, over its factor."""
    factor = span.evaluate(claim.factor, lambda id: _span(paper.number(id)))
    for number in named(among, **claim.which):
        facts = {key: fact for key, fact in number.own.items() if key not in claim.which}
        for rival in named(among, **claim.than, **facts):
            words = f"{', '.join(str(f) for f in facts.values())}: {number.printed} against {rival.printed}"
            yield words, _span(number) / _span(rival) / factor


def _rising(claim: Claim, among: Sequence[PrintedNumber], _paper: Paper) -> Iterator[str]:
    for facts, group in _groups(claim, among):
        having = [number for number in group if claim.along in number.own]
        ordered = sorted(having, key=lambda number: size_bytes(number.own[claim.along]))
        for before, after in pairwise(ordered):
            if size_bytes(before.own[claim.along]) < size_bytes(after.own[claim.along]):
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


def _span(number: PrintedNumber) -> Span:
    return Span(number.low, number.high)


_CHECKS = {
    "best": _best,
    "above": _above,
    "rising": _rising,
    "falling": _rising,
    "similar": _similar,
    "bounded": _bounded,
}
