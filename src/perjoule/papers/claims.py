"""Whether a paper's claims also hold in your measurements: they hold, they don't, or the data are inconclusive.

A claim consists of cases: one file system above another for each direction and number of clients, the best of a group against
the next, the steps along a fact. `statistics.better` judges each case, in the family of its pair in the campaign, and the mean
over all cases (along a fact: the last over the first) in the family of all claims with several cases. A claim does not hold if a
case or the mean is significantly reversed; else it holds if the mean is significantly as claimed. The ratio shown is the
deciding one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from perjoule.model import Cell, Interval
from perjoule.model.metrics import metric_of
from perjoule.model.units import clients_text
from perjoule.papers.audit import span
from perjoule.papers.audit.matching import named
from perjoule.papers.audit.span import Span
from perjoule.papers.facts import APART, SIZES, Measured, beside, size_bytes
from perjoule.papers.published import Claim, Paper
from perjoule.papers.published.paper import Fact
from perjoule.statistics.better import Judge, Verdict, work

Holds = Literal["holds here", "doesn't hold here", "can't tell"]
_IGNORED = ("place", "statistic")  # of a claim: where the paper's own numbers stand


@dataclass(frozen=True)
class Case:
    """One claimed inequality between two cells: the first is larger."""

    of: str
    larger: Measured
    smaller: Measured
    step: str = ""  # along a fact
    chain: int = 0  # which steps belong together

    @property
    def words(self) -> str:
        """The case's description."""
        return f"{self.of}, {self.step}" if self.step else self.of

    @property
    def pair(self) -> tuple[Cell, Cell]:
        """The cells."""
        return self.larger.cell, self.smaller.cell

    def verdict(self, judge: Judge, count: int) -> Verdict:
        """Judge it: among all that did the same work if both did, else among the cases of its claim."""
        return judge.verdict(*self.pair, self.larger.metric, None if work(self.larger.cell) == work(self.smaller.cell) else count)


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


def judged(paper: Paper, found: Sequence[Measured]) -> tuple[Judged, ...]:
    """Judge every claim of a paper by the measurements of one campaign."""
    judge = Judge(list({id(one.cell): one.cell for one in found}.values()))
    cases = {n: _cases(claim, paper, found) for n, claim in enumerate(paper.claims) if claim.rule != "holds"}
    pooled_count = sum(isinstance(own, list) and len(own) > 1 for own in cases.values())
    verdicts: list[Judged] = []
    for n, claim in enumerate(paper.claims):
        own = cases.get(n, "")
        if claim.rule == "holds":
            verdicts.append(_expression(claim, paper, found))
        elif isinstance(own, str):
            verdicts.append(Judged(claim, "can't tell", own))
        else:
            verdicts.append(_verdict(claim, own, judge, pooled_count))
    return tuple(verdicts)


def _verdict(claim: Claim, cases: Sequence[Case], judge: Judge, pooled_count: int) -> Judged:
    each = [(case, case.verdict(judge, len(cases))) for case in cases]
    against = [(case, one) for case, one in each if one.sign < 0]
    whole = each[0][1] if len(each) == 1 else judge.judged(_ends(cases, claim), cases[0].larger.metric, pooled_count)
    grades = sorted({one.cell.grade for case in cases for one in (case.larger, case.smaller) if _of_power(one)})
    if whole.refused:
        return Judged(claim, "can't tell", whole.refused, cases_count=len(cases), grade=", ".join(grades))
    verdict: Holds = "holds here" if whole.sign > 0 else "doesn't hold here" if whole.sign < 0 else "can't tell"
    decides, why = whole, "" if whole.sign else _why(whole)
    if against:
        verdict, decides = "doesn't hold here", min((one for _, one in against), key=lambda one: one.ratio.mean)
        why = f"reversed: {_shown([case.words for case, _ in against])}"
        if len(cases) > 1:
            why += f" ({len(against)} of {len(cases)} cases); over all cases the ratio is {whole.ratio.mean:.2f}"
    return Judged(claim, verdict, why, decides.ratio, decides.p, len(cases), ", ".join(grades))


def _why(one: Verdict) -> str:
    if not one.estimate.freedom:
        return "one repetition is not enough to tell"
    return "no significant difference of 2 % or more" + (f": {one.reason}" if one.reason else "")


def _of_power(one: Measured) -> bool:
    return metric_of(one.metric).energy


def _ends(cases: Sequence[Case], claim: Claim) -> list[tuple[Cell, Cell]]:
    """Return all cases; along a fact, its ends, because what lies between cancels."""
    if not claim.along:
        return [case.pair for case in cases]
    chains: dict[int, list[Case]] = {}
    for case in cases:
        chains.setdefault(case.chain, []).append(case)
    first, last = (0, -1) if claim.rule == "falling" else (-1, 0)
    return [(own[first].larger.cell, own[last].smaller.cell) for own in chains.values()]


def _cases(claim: Claim, paper: Paper, found: Sequence[Measured]) -> list[Case] | str:
    """Return the pairs of cells of a claim, or why nothing was measured for it."""
    wanted = {**_shared(claim, paper), **_facts(claim.among, paper)}
    among = [one for one in found if one.has(**wanted) and min(one.interval.values) > 0]
    sides = [side for side in (_facts(claim.which, paper), _facts(claim.than, paper)) if side]
    for side in sides or [wanted]:
        if not any(one.has(**side) for one in among):
            system = side.get("filesystem", wanted.get("filesystem"))
            if system is not None and not any(one.has(filesystem=system) for one in found):
                return _lacking(str(system), found)
            return _lacking(", ".join(map(str, {**wanted, **side}.values())), found)
    if claim.rule == "above":
        cases = _above(sides[0], sides[1], among)
    elif claim.rule == "best":
        cases = _best(claim, sides[0], among)
    else:
        cases = _along(claim, among)
    return cases or "nothing that the claim is about was measured"


def _lacking(what: str, found: Sequence[Measured]) -> str:
    """Say why there is no measurement of something. A simulated campaign has its names, and measures none of it."""
    if found and all(one.simulated for one in found):
        return f"everything was simulated, so {what} was not measured"
    return f"not measured: {what}"


def _facts(words: Mapping[str, Fact], paper: Paper) -> dict[str, Fact]:
    """Translate a claim's words into facts of measurements: a configuration is its file system, a cluster has its known name."""
    found = {key: fact for key, fact in words.items() if key not in (*_IGNORED, *APART)}
    if (of := words.get("configuration")) is not None:
        given = paper.configurations[str(of)]
        found |= {key: given[key] for key in ("filesystem",) if key in given}
    if "cluster" in words:
        found["cluster"] = words["cluster"]
    return found


def _shared(claim: Claim, paper: Paper) -> dict[str, Fact]:
    """Return the fact that all printed numbers of a claim share but the claim omits: their file system."""
    numbers = named(paper.numbers, **claim.among)
    systems = {one.facts.get("filesystem") for one in numbers}
    only = systems.pop() if len(numbers) > 1 and len(systems) == 1 else None
    return {} if only is None else {"filesystem": only}


def _above(which: Mapping[str, Fact], than: Mapping[str, Fact], among: Sequence[Measured]) -> list[Case]:
    """Pair cells that are equal except for the claim's facts."""
    different = {*which, *than}
    cases: list[Case] = []
    for one in (m for m in among if m.has(**which)):
        rest = {key: fact for key, fact in one.facts.items() if key not in different}
        cases += [Case(_case(one, different), one, other) for other in among if other.has(**than, **rest) and other is not one]
    return cases


def _best(claim: Claim, which: Mapping[str, Fact], among: Sequence[Measured]) -> list[Case]:
    """Pair the best of those named with the best of the others, in each group."""
    cases: list[Case] = []
    for group in _groups(claim, among):
        own = [one for one in group if one.has(**which)]
        others = [one for one in group if not one.has(**which)]
        if own and others:
            best, rival = (max(side, key=lambda one: one.interval.mean) for side in (own, others))
            cases.append(Case(f"{rival.words}, {rival.facts['direction']}", best, rival))
    return cases


def _along(claim: Claim, among: Sequence[Measured]) -> list[Case]:
    """Pair each step along a fact: for a rising one, the first is claimed to be smaller."""
    cases: list[Case] = []
    for chain, group in enumerate(_groups(claim, among)):
        ordered = sorted((one for one in group if claim.along in one.facts), key=lambda one: _size(claim.along, one))
        for one, after in pairwise(ordered):
            if _size(claim.along, one) < _size(claim.along, after):
                larger, smaller = (after, one) if claim.rule == "rising" else (one, after)
                step = f"{claim.along} {one.facts[claim.along]} to {after.facts[claim.along]}"
                of = f"{one.cell.filesystem}, {_case(one, {claim.along})}"
                cases.append(Case(of, larger, smaller, step, chain))
    return cases


def _groups(claim: Claim, among: Sequence[Measured]) -> list[list[Measured]]:
    """Group cells that are equal in the claim's facts; along a fact, in all others."""
    found: dict[object, list[Measured]] = {}
    for one in among:
        keys = [k for k in one.facts if k != claim.along] if claim.along else claim.per
        found.setdefault(tuple(str(one.facts.get(key, "")) for key in keys), []).append(one)
    return list(found.values())


def _size(along: str, one: Measured) -> float:
    fact = one.facts[along]
    return size_bytes(fact) if along in SIZES else float(fact)


def _case(one: Measured, different: set[str]) -> str:
    count = one.cell.clients_count
    clients = f", {clients_text(count)}" if "clients" not in different else ""
    return f"{one.cell.workload if one.cell.direction in one.cell.workload else one.cell.direction}{clients}"


def _expression(claim: Claim, paper: Paper, found: Sequence[Measured]) -> Judged:
    """Compare by the intervals of measurements of the same kind."""
    pairs = {pair.number.id: pair for pair in beside(paper, found)}
    lacking = [id for id in span.names(claim.holds) if id not in pairs]
    if lacking:
        of = paper.number(lacking[0])
        return Judged(claim, "can't tell", _lacking(f"{of.name} of {of.facts.get('cluster', of.place)}", found))

    def look(id: str) -> Span:
        interval = pairs[id].measured.interval
        return Span(interval.low, interval.high)

    left, sign, right = span.compare(claim.holds, look)
    below, above = (left, right) if sign == "<" else (right, left)
    if below.high < above.low:
        return Judged(claim, "holds here", "", cases_count=1)
    if below.low > above.high:
        return Judged(claim, "doesn't hold here", f"{left.middle:.4g} {sign} {right.middle:.4g} does not hold", cases_count=1)
    return Judged(claim, "can't tell", "the intervals overlap", cases_count=1)


def _shown(words: Sequence[str]) -> str:
    return "; ".join(words[:3]) + (f"; and {len(words) - 3} more" if len(words) > 3 else "")
