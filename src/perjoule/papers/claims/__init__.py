"""Whether a paper's claims also hold in your measurements: they hold, they don't, or the data are
inconclusive.

A claim consists of cases (`cases`): one file system above another for each direction and number of clients, the
best of a group against the next, the steps along a fact. What decides, its rule says (`rules`). Writes are
judged by what their load reports at its end, as in papers, and once more until disks held the data.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from perjoule.papers.audit import span
from perjoule.papers.audit.span import Span, exactly
from perjoule.papers.claims import rules
from perjoule.papers.claims.cases import Among, ClaimCase, lacking
from perjoule.papers.claims.rules import Holds, Judged
from perjoule.papers.facts import MeasuredMetric, beside
from perjoule.papers.published import Claim, Paper
from perjoule.statistics.better import Judge

__all__ = ["ClaimCase", "Holds", "Judged", "judged"]

_NOTHING = "nothing that the claim is about was measured"
_BY_NUMBER = ("bounded", "scatter")  # rules about measurements, not about pairs


def judged(paper: Paper, measurements: Sequence[MeasuredMetric]) -> tuple[Judged, ...]:
    """Judge every claim of a paper by the measurements of one campaign."""
    reported = _judged(paper, measurements)
    writes = [n for n, verdict in enumerate(reported) if verdict.reported]
    until_durable = [measurement.until_durable for measurement in measurements]
    durable = dict(zip(writes, _judged(paper, until_durable, writes), strict=True)) if writes else {}
    return tuple(replace(verdict, durable=durable.get(n)) for n, verdict in enumerate(reported))


def _judged(
    paper: Paper, measurements: Sequence[MeasuredMetric], only: Sequence[int] | None = None
) -> tuple[Judged, ...]:
    judge = Judge(list({id(measurement.cell): measurement.cell for measurement in measurements}.values()))
    among_of = [_among(claim, paper, measurements) for claim in paper.claims]
    cases_of = [_cases(among) for among in among_of]
    several_count = sum(
        isinstance(cases, list) and len(cases) > 1 and among.claim.rule in _ORDERED
        for among, cases in zip(among_of, cases_of, strict=True)
    )
    verdicts = (
        _believed(_verdict(among_of[n], cases_of[n], judge, several_count))
        for n in (range(len(paper.claims)) if only is None else only)
    )
    emulated = any(measurement.emulated for measurement in measurements)
    return tuple(_cautioned(verdict) if emulated else verdict for verdict in verdicts)


def _among(claim: Claim, paper: Paper, measurements: Sequence[MeasuredMetric]) -> Among:
    return Among(claim, paper, measurements, _factor(claim.factor, paper))


def _factor(text: str, paper: Paper) -> float:
    return span.evaluate(text, lambda id: exactly(paper.number(id).value)).middle


_ORDERED = ("best", "above", "rising", "falling", "wider")
_JUDGES = {
    **dict.fromkeys(_ORDERED, rules.ordered),
    "crossing": rules.crossing,
    "similar": rules.similar,
    "up to": rules.up_to,
    "only if": rules.only_if,
}


def _cases(among: Among) -> list[ClaimCase] | str:
    """Return the pairs of cells of a claim, or why nothing was measured for it."""
    claim = among.claim
    if claim.rule == "holds":
        return []
    if why := among.lacking():
        return why
    if claim.rule in _BY_NUMBER:
        return []
    if claim.rule == "best":
        cases = among.best()
    elif claim.rule in ("rising", "falling"):
        cases = among.stepped()
    elif claim.rule == "crossing":
        cases = among.crossed()
    elif claim.rule == "wider":
        cases = among.widened()
    else:
        pairs = claim.pairs or ((claim.which, claim.than),)
        own = [_factor(text, among.paper) for text in claim.factors] or [among.factor] * len(pairs)
        cases = [case for pair, factor in zip(pairs, own, strict=True) for case in among.paired(pair, factor)]
    return cases or _NOTHING


def _verdict(among: Among, cases: list[ClaimCase] | str, judge: Judge, several_count: int) -> Judged:
    claim, paper = among.claim, among.paper
    if claim.rule == "holds":
        pairs = {pair.number.id: pair for pair in beside(paper, among.every)}
        missing = [id for id in span.names(claim.holds) if id not in pairs]
        if missing:
            of = paper.number(missing[0])
            what = f"{of.name} of {of.facts.get('cluster', of.place)}"
            return _unmeasured(claim, lacking(what, among.every))
        used = [pairs[id] for id in span.names(claim.holds)]
        clusters = {str(pair.number.facts["cluster"]) for pair in used if "cluster" in pair.number.facts}
        # hosts of one's own stand for any cluster of the paper, but not for two at once
        if len({pair.measured.facts.get("cluster") for pair in used}) < len(clusters):
            return _unmeasured(claim, lacking(" and ".join(sorted(clusters)), among.every))
        return _marked(rules.expression(claim, pairs), [pair.measured for pair in used])
    if isinstance(cases, str):
        return _unmeasured(claim, cases)
    if claim.rule == "scatter":
        return _marked(rules.scatter(among, among.measured), among.measured)
    if claim.rule == "bounded":
        limits = [
            span.evaluate(text, lambda id: _span(paper, id)) if text else Span(end, end)
            for text, end in ((claim.least, -inf), (claim.most, inf))
        ]
        return _marked(rules.bounded(among, among.measured, *limits), among.measured)
    verdict = _JUDGES[claim.rule](among, cases, judge, several_count)
    return _marked(verdict, [m for case in cases for _, m in case.terms])


def _marked(verdict: Judged, used: Sequence[MeasuredMetric]) -> Judged:
    """Add the grades of the power in it, and whether it is about writes as their load reports them."""
    return replace(verdict, grade=rules.grades(used), reported=any(m.durable for m in used))


def _unmeasured(claim: Claim, why: str) -> Judged:
    return Judged(claim, "can't tell", f"{why}; it needs {claim.needs}" if claim.needs else why)


def _believed(verdict: Judged) -> Judged:
    """Return the verdict, unless it rests on modelled watts that the paper itself contradicts."""
    if not verdict.claim.unmodelled or "modelled" not in verdict.grade:
        return verdict
    return replace(verdict, verdict="can't tell", why=verdict.claim.unmodelled)


def _cautioned(verdict: Judged) -> Judged:
    """Add what emulated hosts lack of what decides the claim in the paper."""
    if not verdict.cases_count or not verdict.claim.emulated:
        return verdict
    caution = f"emulated: {verdict.claim.emulated}"
    return replace(verdict, why=f"{verdict.why}; {caution}" if verdict.why else caution)


def _span(paper: Paper, id: str) -> Span:
    number = paper.number(id)
    return Span(number.low, number.high)
