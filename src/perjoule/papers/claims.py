"""Whether a paper's claims also hold in your measurements: they hold, they don't, or the data are
inconclusive.

A claim consists of cases: one file system above another for each direction and number of clients, the best of
a group against the next, the steps along a fact. `statistics.better` judges each case, in the family of its
pair in the campaign, and the mean over all cases (along a fact: the last over the first) in the family of all
claims with several cases. A claim does not hold if a case or the mean is significantly reversed; else it
holds if the mean is significantly as claimed. The ratio shown is the deciding one.
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
from perjoule.papers.facts import APART, SIZES, MeasuredMetric, beside, size_bytes
from perjoule.papers.published import Claim, Paper
from perjoule.papers.published.paper import Fact
from perjoule.statistics.better import Judge, Verdict, work

Holds = Literal["holds here", "doesn't hold here", "can't tell"]
_IGNORED = ("place", "statistic")  # of a claim: where the paper's own numbers stand


@dataclass(frozen=True)
class ClaimCase:
    """One claimed inequality between two cells: the first is larger."""

    of: str
    larger: MeasuredMetric
    smaller: MeasuredMetric
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
        return judge.verdict(
            *self.pair,
            self.larger.metric,
            None if work(self.larger.cell) == work(self.smaller.cell) else count,
        )


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


def judged(paper: Paper, measurements: Sequence[MeasuredMetric]) -> tuple[Judged, ...]:
    """Judge every claim of a paper by the measurements of one campaign."""
    judge = Judge(list({id(measurement.cell): measurement.cell for measurement in measurements}.values()))
    cases = {
        n: _cases(claim, paper, measurements) for n, claim in enumerate(paper.claims) if claim.rule != "holds"
    }
    pooled_count = sum(isinstance(cases_of, list) and len(cases_of) > 1 for cases_of in cases.values())
    verdicts: list[Judged] = []
    for n, claim in enumerate(paper.claims):
        cases_of = cases.get(n, "")
        if claim.rule == "holds":
            verdicts.append(_expression(claim, paper, measurements))
        elif isinstance(cases_of, str):
            verdicts.append(Judged(claim, "can't tell", cases_of))
        else:
            verdicts.append(_verdict(claim, cases_of, judge, pooled_count))
    return tuple(verdicts)


def _verdict(claim: Claim, cases: Sequence[ClaimCase], judge: Judge, pooled_count: int) -> Judged:
    each = [(case, case.verdict(judge, len(cases))) for case in cases]
    against = [(case, verdict) for case, verdict in each if verdict.sign < 0]
    overall = (
        each[0][1]
        if len(each) == 1
        else judge.judged(_ends(cases, claim), cases[0].larger.metric, pooled_count)
    )
    grades = sorted(
        {
            measurement.cell.grade
            for case in cases
            for measurement in (case.larger, case.smaller)
            if _of_power(measurement)
        }
    )
    if overall.refused:
        return Judged(claim, "can't tell", overall.refused, cases_count=len(cases), grade=", ".join(grades))
    verdict: Holds = (
        "holds here" if overall.sign > 0 else "doesn't hold here" if overall.sign < 0 else "can't tell"
    )
    decides, why = overall, "" if overall.sign else _why(overall)
    if against:
        verdict, decides = (
            "doesn't hold here",
            min((reversal for _, reversal in against), key=lambda reversal: reversal.ratio.mean),
        )
        why = f"reversed: {_shown([case.words for case, _ in against])}"
        if len(cases) > 1:
            why += f" ({len(against)} of {len(cases)} cases); over all cases the ratio is {overall.ratio.mean:.2f}"
    return Judged(claim, verdict, why, decides.ratio, decides.p, len(cases), ", ".join(grades))


def _why(verdict: Verdict) -> str:
    if not verdict.estimate.freedom:
        return "one repetition is not enough to tell"
    return "no significant difference of 2 % or more" + (f": {verdict.reason}" if verdict.reason else "")


def _of_power(measurement: MeasuredMetric) -> bool:
    return metric_of(measurement.metric).energy


def _ends(cases: Sequence[ClaimCase], claim: Claim) -> list[tuple[Cell, Cell]]:
    """Return all cases; along a fact, its ends, because what lies between cancels."""
    if not claim.along:
        return [case.pair for case in cases]
    chains: dict[int, list[ClaimCase]] = {}
    for case in cases:
        chains.setdefault(case.chain, []).append(case)
    first, last = (0, -1) if claim.rule == "falling" else (-1, 0)
    return [(chain[first].larger.cell, chain[last].smaller.cell) for chain in chains.values()]


def _cases(claim: Claim, paper: Paper, measurements: Sequence[MeasuredMetric]) -> list[ClaimCase] | str:
    """Return the pairs of cells of a claim, or why nothing was measured for it."""
    clusters = paper.values("cluster")
    known = any(measurement.facts.get("cluster") in clusters for measurement in measurements)
    facts = {**_shared(claim, paper), **_facts(claim.among, paper, known=known)}
    if not known and facts.get("cluster") in clusters:
        del facts["cluster"]
    among = [
        measurement
        for measurement in measurements
        if measurement.has(**facts) and min(measurement.interval.values) > 0
    ]
    sides = [
        side
        for side in (
            _facts(claim.which, paper, known=known),
            _facts(claim.than, paper, known=known),
        )
        if side
    ]
    for side in sides or [facts]:
        if not any(measurement.has(**side) for measurement in among):
            system = side.get("filesystem", facts.get("filesystem"))
            if system is not None and not any(
                measurement.has(filesystem=system) for measurement in measurements
            ):
                return _lacking(str(system), measurements)
            return _lacking(", ".join(map(str, {**facts, **side}.values())), measurements)
    if claim.rule == "above":
        cases = _above(sides[0], sides[1], among)
    elif claim.rule == "best":
        cases = _best(claim, sides[0], among)
    else:
        cases = _along(claim, among)
    return cases or "nothing that the claim is about was measured"


def _lacking(system: str, measurements: Sequence[MeasuredMetric]) -> str:
    """Say why there is no measurement of something.

    A simulated campaign has its names, and measures none of it.
    """
    if measurements and all(measurement.simulated for measurement in measurements):
        return f"everything was simulated, so {system} was not measured"
    return f"not measured: {system}"


def _facts(claimed: Mapping[str, Fact], paper: Paper, *, known: bool) -> dict[str, Fact]:
    """Translate a claim's words into facts of measurements: a configuration is its file system, a cluster
    has its known name.

    Where clusters of the paper were measured (`known`), a configuration is also its cluster; hosts of one's
    own stand for any of them.
    """
    facts = {key: fact for key, fact in claimed.items() if key not in (*_IGNORED, *APART)}
    if (of := claimed.get("configuration")) is not None:
        given = paper.configurations[str(of)]
        facts |= {key: given[key] for key in ("filesystem", *(["cluster"] if known else [])) if key in given}
    if "cluster" in claimed:
        facts["cluster"] = claimed["cluster"]
    return facts


def _shared(claim: Claim, paper: Paper) -> dict[str, Fact]:
    """Return the fact that all printed numbers of a claim share but the claim omits: their file system."""
    numbers = named(paper.numbers, **claim.among)
    systems = {number.facts.get("filesystem") for number in numbers}
    only = systems.pop() if len(numbers) > 1 and len(systems) == 1 else None
    return {} if only is None else {"filesystem": only}


def _above(
    which: Mapping[str, Fact], than: Mapping[str, Fact], among: Sequence[MeasuredMetric]
) -> list[ClaimCase]:
    """Pair cells that are equal except for the claim's facts."""
    different = {*which, *than}
    cases: list[ClaimCase] = []
    for larger in (m for m in among if m.has(**which)):
        facts = {key: fact for key, fact in larger.facts.items() if key not in different}
        cases += [
            ClaimCase(_case(larger, different), larger, smaller)
            for smaller in among
            if smaller.has(**than, **facts) and smaller is not larger
        ]
    return cases


def _best(claim: Claim, which: Mapping[str, Fact], among: Sequence[MeasuredMetric]) -> list[ClaimCase]:
    """Pair the best of those named with the best of the others, in each group."""
    cases: list[ClaimCase] = []
    for group in _groups(claim, among):
        ours = [measurement for measurement in group if measurement.has(**which)]
        rivals = [measurement for measurement in group if not measurement.has(**which)]
        if ours and rivals:
            best, rival = (
                max(side, key=lambda measurement: measurement.interval.mean) for side in (ours, rivals)
            )
            cases.append(ClaimCase(f"{rival.words}, {rival.facts['direction']}", best, rival))
    return cases


def _along(claim: Claim, among: Sequence[MeasuredMetric]) -> list[ClaimCase]:
    """Pair each step along a fact: for a rising one, the first is claimed to be smaller."""
    cases: list[ClaimCase] = []
    for chain, group in enumerate(_groups(claim, among)):
        ordered = sorted(
            (before for before in group if claim.along in before.facts),
            key=lambda before: _size(claim.along, before),
        )
        for before, after in pairwise(ordered):
            if _size(claim.along, before) < _size(claim.along, after):
                larger, smaller = (after, before) if claim.rule == "rising" else (before, after)
                step = f"{claim.along} {before.facts[claim.along]} to {after.facts[claim.along]}"
                of = f"{before.cell.filesystem}, {_case(before, {claim.along})}"
                cases.append(ClaimCase(of, larger, smaller, step, chain))
    return cases


def _groups(claim: Claim, among: Sequence[MeasuredMetric]) -> list[list[MeasuredMetric]]:
    """Group cells that are equal in the claim's facts; along a fact, in all others."""
    groups: dict[object, list[MeasuredMetric]] = {}
    for measurement in among:
        keys = [k for k in measurement.facts if k != claim.along] if claim.along else claim.per
        groups.setdefault(tuple(str(measurement.facts.get(key, "")) for key in keys), []).append(measurement)
    return list(groups.values())


def _size(along: str, measurement: MeasuredMetric) -> float:
    fact = measurement.facts[along]
    return size_bytes(fact) if along in SIZES else float(fact)


def _case(measurement: MeasuredMetric, different: set[str]) -> str:
    cell = measurement.cell
    clients = f", {clients_text(cell.clients_count)}" if "clients" not in different else ""
    return f"{cell.workload if cell.direction in cell.workload else cell.direction}{clients}"


def _expression(claim: Claim, paper: Paper, measurements: Sequence[MeasuredMetric]) -> Judged:
    """Compare by the intervals of measurements of the same kind."""
    pairs = {pair.number.id: pair for pair in beside(paper, measurements)}
    lacking = [id for id in span.names(claim.holds) if id not in pairs]
    if lacking:
        of = paper.number(lacking[0])
        return Judged(
            claim, "can't tell", _lacking(f"{of.name} of {of.facts.get('cluster', of.place)}", measurements)
        )

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


def _shown(texts: Sequence[str]) -> str:
    return "; ".join(texts[:3]) + (f"; and {len(texts) - 3} more" if len(texts) > 3 else "")
