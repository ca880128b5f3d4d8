"""What decides a claim of each rule: its cases, their intervals, and how many may be against it.

All intervals of a claim's cases hold together in 95 % (Bonferroni), except where a pair is judged like the same
pair elsewhere. The definitions are in docs/explanations/how-numbers-are-made.md, "Claims".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log
from statistics import geometric_mean
from typing import Literal

from perjoule.model import Interval
from perjoule.model.metrics import DURATION, ENERGY, metric_of
from perjoule.papers.audit import span
from perjoule.papers.audit.span import Span
from perjoule.papers.claims.cases import Among, ClaimCase, contrasted, lacking, words
from perjoule.papers.facts import MeasuredMetric, NumberPair
from perjoule.papers.published import Claim
from perjoule.statistics.better import Judge, Verdict, sample
from perjoule.statistics.contrast import contrast
from perjoule.statistics.spread import Spreads, spread_ratio

Holds = Literal["holds here", "doesn't hold here", "can't tell"]
ONCE = "one repetition is not enough to tell"


@dataclass(frozen=True)
class Judged:
    """A claim and its verdict here."""

    claim: Claim
    verdict: Holds
    why: str  # in words: the objection, or why it is inconclusive
    ratio: Interval | None = None  # what is claimed to be larger over the other: the deciding ratio
    p: float | None = None
    cases_count: int = 0
    grade: str = ""  # of the power in it
    reported: bool = False  # some numbers in it are of writes as their load reports them
    durable: "Judged | None" = (
        None  # of writes as their load reports them: the same until disks held the data
    )


def ordered(among: Among, cases: Sequence[ClaimCase], judge: Judge, pooled_count: int) -> Judged:
    """Judge that each first is larger: reversed if more are than may be, else by the mean over all."""
    claim = among.claim
    each = [(case, case.verdict(judge, len(cases))) for case in cases]
    against = [(case, verdict) for case, verdict in each if verdict.sign < 0]
    overall = each[0][1] if len(each) == 1 else _over_all(among, cases, judge, pooled_count)
    if overall.refused:
        return Judged(claim, "can't tell", overall.refused, cases_count=len(cases))
    verdict: Holds = (
        "holds here" if overall.sign > 0 else "doesn't hold here" if overall.sign < 0 else "can't tell"
    )
    decides, why = overall, "" if overall.sign else _why(overall)
    if against:
        why = f"reversed: {_shown([case.words for case, _ in against])}"
        if len(cases) > 1:
            why += f" ({len(against)} of {len(cases)} cases); over all cases the ratio is {overall.ratio.mean:.2f}"
    if len(against) > claim.allowed_count(len(cases)):
        verdict, decides = (
            "doesn't hold here",
            min((reversal for _, reversal in against), key=lambda reversal: reversal.ratio.mean),
        )
    return Judged(claim, verdict, why, decides.ratio, decides.p, len(cases))


def crossing(among: Among, cases: Sequence[ClaimCase], judge: Judge, _pooled_count: int) -> Judged:
    """Judge that the larger one changes: every end must be as claimed."""
    each = [(case, contrasted(judge, case.terms, len(cases))) for case in cases]
    return _each(among, each, lambda verdict: verdict.sign, "not so at the end")


def similar(among: Among, cases: Sequence[ClaimCase], judge: Judge, _pooled_count: int) -> Judged:
    """Judge that ratios are within a factor of 1, by where their intervals lie."""
    each = [(case, contrasted(judge, case.terms, len(cases), case.factor)) for case in cases]
    return _each(among, each, lambda verdict: placed(verdict.ratio, among.claim.within), _beyond(among.claim))


def up_to(among: Among, cases: Sequence[ClaimCase], judge: Judge, _pooled_count: int) -> Judged:
    """Judge that the largest ratio is within a factor of the claimed one."""
    each = [(case, contrasted(judge, case.terms, len(cases), case.factor)) for case in cases]
    told = [(case, verdict) for case, verdict in each if not verdict.refused]
    ratios = [verdict.ratio for _, verdict in told]
    if len(told) < len(each) or not all(verdict.estimate.freedom for _, verdict in told):
        return _each(among, each, lambda _verdict: 0, "")
    ends = (max(getattr(ratio, end) for ratio in ratios) for end in ("mean", "low", "high"))
    mean, low, high = ends
    largest = Interval(mean, low, high, (mean,))
    case = max(told, key=lambda of: of[1].ratio.mean)[0]
    sign = placed(largest, among.claim.within)
    why = f"the largest is {mean * case.factor:.2f} ({case.words}), claimed is {case.factor:.2f}"
    if not sign:
        why += f"; its interval reaches beyond {_factor(among.claim)} of that"
    return Judged(among.claim, _VERDICTS[sign], why, largest, None, len(cases))


def only_if(among: Among, _cases: Sequence[ClaimCase], judge: Judge, _pooled_count: int) -> Judged:
    """Judge that each of some pairs is larger over all its cases, and none of the others."""
    claim = among.claim
    sides = [*((pair, True) for pair in claim.pairs), *((pair, False) for pair in claim.others)]
    each: list[tuple[ClaimCase, Verdict]] = []
    signs: list[int] = []
    for pair, is_larger in sides:
        cases = among.paired(pair)
        if not cases:
            return Judged(claim, "can't tell", lacking(_names(pair), among.every))
        verdict = contrasted(judge, _mean([case.terms for case in cases]), len(sides))
        if verdict.word == "no relevant difference":
            signs.append(int(not is_larger))
        else:
            signs.append(verdict.sign if is_larger else -verdict.sign)
        each.append((replace(cases[0], of=f"{_names(pair)}, {len(cases)} loads"), verdict))
    found = iter(signs)
    return _each(among, each, lambda _verdict: next(found), "not so")


def bounded(among: Among, measured: Sequence[MeasuredMetric], least: Span, most: Span) -> Judged:
    """Judge that every number lies within limits, by where its interval lies, with the error that all of its
    repetitions share.
    """
    inside, beyond = 0, list[MeasuredMetric]()
    limited = [m for m in measured if len(m.interval.values) > 1]
    for measurement in limited:
        repetitions = sample(measurement.cell, measurement.metric)
        interval = contrast([(1.0, repetitions)]).interval(len(limited))
        inside += interval.low >= least.low and interval.high <= most.high
        if interval.high < least.low or interval.low > most.high:
            beyond.append(measurement)
    claim, count = among.claim, len(measured)
    if not limited:
        return Judged(claim, "can't tell", ONCE if measured else "", cases_count=count)
    unit = metric_of(limited[0].metric).unit
    named = f"{least.low / unit.per:.4g} to {most.high / unit.per:.4g} {unit.symbol}".strip()
    why = "" if inside >= count - claim.allowed_count(count) else f"intervals reach beyond {named}"
    verdict: Holds = "can't tell" if why else "holds here"
    if beyond:
        texts = [f"{words(m)}: {m.interval.mean / unit.per:.4g}" for m in beyond]
        why = f"not within {named}: {_shown(texts)} ({len(beyond)} of {count} cases)"
    if len(beyond) > claim.allowed_count(count):
        verdict = "doesn't hold here"
    return Judged(claim, verdict, why, None, None, count)


def scatter(among: Among, measured: Sequence[MeasuredMetric]) -> Judged:
    """Judge that repetitions of energy x time^w scatter more at the second weight than at the first."""
    claim = among.claim
    first, second = claim.weights
    energies, times = (
        [m.cell.metrics.get(metric_of(key).burst if m.durable else key) for m in measured]
        for key in (ENERGY, DURATION)
    )
    spreads: list[Spreads] = []
    for energy, time in zip(energies, times, strict=True):
        if energy and time and len(energy.values) == len(time.values) > 1:
            pairs = [
                (log(e) + first * log(t), log(e) + second * log(t))
                for e, t in zip(energy.values, time.values, strict=True)
            ]
            spreads.append(Spreads(pairs))
    ratio, p = spread_ratio(spreads)
    if ratio is None:
        return Judged(claim, "can't tell", ONCE, cases_count=len(measured))
    sign = (ratio.low > 1) - (ratio.high < 1)
    why = (
        "" if sign > 0 else "the scatter falls" if sign else "the interval of the scatters' ratio includes 1"
    )
    return Judged(claim, _VERDICTS[sign], why, ratio, p, len(spreads))


def expression(claim: Claim, pairs: Mapping[str, NumberPair]) -> Judged:
    """Compare by the intervals of measurements of the same kind."""

    def look(id: str) -> Span:
        interval = pairs[id].measured.interval
        return Span(interval.low, interval.high)

    first, sign, second = span.compare(claim.holds, look)
    below, above = (first, second) if sign == "<" else (second, first)
    if below.high < above.low:
        return Judged(claim, "holds here", "", cases_count=1)
    if below.low > above.high:
        return Judged(
            claim,
            "doesn't hold here",
            f"{first.middle:.4g} {sign} {second.middle:.4g} does not hold",
            cases_count=1,
        )
    return Judged(claim, "can't tell", "the intervals overlap", cases_count=1)


def grades(measured: Sequence[MeasuredMetric]) -> str:
    """Return the grades of the power in these numbers."""
    return ", ".join(sorted({m.cell.grade for m in measured if metric_of(m.metric).energy}))


def placed(ratio: Interval, within: float) -> Literal[-1, 0, 1]:
    """Return 1 if the interval lies within a factor of 1, -1 if it lies outside, else 0."""
    if ratio.low >= 1 / within and ratio.high <= within:
        return 1
    return -1 if ratio.low > within or ratio.high < 1 / within else 0


_VERDICTS: Mapping[int, Holds] = {1: "holds here", -1: "doesn't hold here", 0: "can't tell"}


def _each(
    among: Among,
    each: Sequence[tuple[ClaimCase, Verdict]],
    sign_of: Callable[[Verdict], int],
    objection: str,
) -> Judged:
    """Judge case by case: all that must be so are, or more than may be are not."""
    claim, count = among.claim, len(each)
    if refused := next((verdict.refused for _, verdict in each if verdict.refused), ""):
        return Judged(claim, "can't tell", refused, cases_count=count)
    if not all(verdict.estimate.freedom for _, verdict in each):
        return Judged(claim, "can't tell", ONCE, cases_count=count)
    signs = [(case, verdict, sign_of(verdict)) for case, verdict in each]
    against = [(case, verdict) for case, verdict, sign in signs if sign < 0]
    open_count = sum(sign == 0 for *_, sign in signs)
    allowed = claim.allowed_count(count)
    verdict: Holds = (
        "doesn't hold here"
        if len(against) > allowed
        else "holds here"
        if len(against) + open_count <= allowed
        else "can't tell"
    )
    _, decides = max(against or each, key=lambda of: abs(of[1].estimate.value))
    of_all = (
        f"{open_count} of {count} cases are inconclusive"
        if count > 1
        else "its interval has the limit inside"
    )
    why = of_all if verdict == "can't tell" else ""
    if against:
        why = f"{objection}: {_shown([case.words for case, _ in against])} ({len(against)} of {count} cases)"
    return Judged(claim, verdict, why, decides.ratio, decides.p, count)


def _over_all(among: Among, cases: Sequence[ClaimCase], judge: Judge, count: int) -> Verdict:
    factor = geometric_mean(case.factor for case in cases)
    return contrasted(judge, _mean(among.ends(cases)), count, factor)


def _mean(each: Sequence[Sequence[tuple[float, MeasuredMetric]]]) -> list[tuple[float, MeasuredMetric]]:
    return [(weight / len(each), measured) for terms in each for weight, measured in terms]


def _why(verdict: Verdict) -> str:
    if not verdict.estimate.freedom:
        return ONCE
    return "no significant difference of 2 % or more" + (f": {verdict.reason}" if verdict.reason else "")


def _beyond(claim: Claim) -> str:
    return f"not within {_factor(claim)}"


def _factor(claim: Claim) -> str:
    return f"a factor of {claim.within:g}"


def _names(pair: Sequence[Mapping[str, object]]) -> str:
    return " over ".join(", ".join(map(str, side.values())) for side in pair)


def _shown(texts: Sequence[str]) -> str:
    return "; ".join(texts[:3]) + (f"; and {len(texts) - 3} more" if len(texts) > 3 else "")
