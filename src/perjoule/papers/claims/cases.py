"""The cases of a paper's claim in the measurements of a campaign: what is compared with what."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise, product
from math import log

from perjoule.model import Cell
from perjoule.model.units import clients_text
from perjoule.papers.audit.matching import named
from perjoule.papers.facts import APART, BY_NAME, SIZES, MeasuredMetric, size_bytes
from perjoule.papers.published import Claim, Paper
from perjoule.papers.published.paper import Fact, FactPair
from perjoule.statistics import better
from perjoule.statistics.better import Judge, Verdict, refusal, refused_verdict, work

_IGNORED = ("place", "statistic")  # of a claim: where the paper's own numbers stand
_CHOSEN = frozenset({"beneath", "block"})  # of a file system whose campaign names what lies beneath
Terms = Sequence[tuple[float, MeasuredMetric]]  # weights of logarithms


@dataclass(frozen=True)
class ClaimCase:
    """One claimed inequality between two cells: the first is larger.

    With `over`, the first over the second is larger than the first of `over` over its second.
    """

    of: str
    larger: MeasuredMetric
    smaller: MeasuredMetric
    step: str = ""  # along a fact
    chain: int | None = None  # which steps belong together
    factor: float = 1.0  # by which the first is claimed to be larger
    over: tuple[MeasuredMetric, MeasuredMetric] | None = None

    @property
    def words(self) -> str:
        """The case's description."""
        return f"{self.of}, {self.step}" if self.step else self.of

    @property
    def pair(self) -> tuple[Cell, Cell]:
        """The cells."""
        return self.larger.cell, self.smaller.cell

    @property
    def terms(self) -> Terms:
        """What is added up, as logarithms."""
        over = ((-1.0, self.over[0]), (1.0, self.over[1])) if self.over else ()
        return ((1.0, self.larger), (-1.0, self.smaller), *over)

    def verdict(self, judge: Judge, count: int) -> Verdict:
        """Judge it: among all that did the same work if both did, else among the cases of its claim."""
        plain = self.factor == 1 and not self.over and self.larger.metric == self.smaller.metric
        if not plain:
            return contrasted(judge, self.terms, count, self.factor)
        return judge.verdict(
            *self.pair,
            self.larger.metric,
            None if work(self.larger.cell) == work(self.smaller.cell) else count,
        )


def contrasted(judge: Judge, terms: Terms, count: int, factor: float = 1.0) -> Verdict:
    """Judge a product of powers of measurements over a factor, among `count` comparisons."""
    for metric in dict.fromkeys(measurement.metric for _, measurement in terms):
        cells = [measurement.cell for _, measurement in terms if measurement.metric == metric]
        if why := refusal(cells, metric):
            return refused_verdict(why)
    samples = [(weight, judge.sample(measured.cell, measured.metric)) for weight, measured in terms]
    pair = terms[0][1].cell, terms[1][1].cell
    found = better.verdict(samples, terms[0][1].metric, count, pair)
    return replace(found, estimate=replace(found.estimate, value=found.estimate.value - log(factor)))


@dataclass(frozen=True)
class Among:
    """The measurements that a claim is about."""

    claim: Claim
    paper: Paper
    every: Sequence[MeasuredMetric]
    factor: float = 1.0

    @cached_property
    def facts(self) -> Mapping[str, Fact]:
        """The facts that all of them have. Hosts of one's own stand for any cluster of the paper."""
        shared = _shared(self.claim, self.paper) if self.claim.rule not in _ACROSS else {}
        facts = {**shared, **self.translated(self.claim.among)}
        clusters = self.paper.values("cluster")
        if facts.get("cluster") in clusters and self._clusters.isdisjoint(clusters):
            del facts["cluster"]
        return facts

    @cached_property
    def measured(self) -> list[MeasuredMetric]:
        """Those with positive values that were not simulated, of a part too if a side of the claim names it."""
        of_sides = [{key: side[key] for key in BY_NAME if key in side} for side in self.sides()]
        asked = [{**self.facts, **of_side} for of_side in ({}, *of_sides)]
        real = (m for m in self.every if not m.simulated)
        return [m for m in real if any(m.has(**facts) for facts in asked) and min(m.interval.values) > 0]

    def translated(self, claimed: Mapping[str, Fact]) -> dict[str, Fact]:
        """Translate a claim's words into facts of measurements.

        A configuration is its file system, on its cluster if something was measured there, or if the claim is
        about two clusters. A side is of the window, the part and the samples that the claim names.
        """
        of_claim = {key: self.claim.among[key] for key in BY_NAME if claimed and key in self.claim.among}
        facts = {key: fact for key, fact in {**of_claim, **claimed}.items() if key not in (*_IGNORED, *APART)}
        if (of := claimed.get("configuration")) is not None:
            given = self.paper.configurations[str(of)]
            facts |= {key: given[key] for key in ("filesystem",) if key in given}
            if "cluster" in given and (self._clusters_differ or given["cluster"] in self._clusters):
                facts["cluster"] = given["cluster"]
        if "cluster" in claimed:
            facts["cluster"] = claimed["cluster"]
        return facts

    @cached_property
    def _clusters(self) -> set[Fact]:
        return {m.facts["cluster"] for m in self.every if "cluster" in m.facts}

    @cached_property
    def _clusters_differ(self) -> bool:
        named_sides = [side for side in (self.claim.which, self.claim.than) if "configuration" in side]
        given = [self.paper.configurations[str(side["configuration"])] for side in named_sides]
        return len({of["cluster"] for of in given if "cluster" in of}) > 1

    def sides(self) -> list[dict[str, Fact]]:
        """Return the facts of each side that must have been measured."""
        claim = self.claim
        pairs = (*claim.wider, *claim.narrower, *claim.pairs, *claim.others)
        claimed = (claim.which, claim.than, *(side for pair in pairs for side in pair))
        return [side for side in map(self.translated, claimed) if side]

    def lacking(self) -> str:
        """Say what was not measured; "" if all sides were."""
        for side in self.sides() or [dict(self.facts)]:
            if not any(m.has(**side) for m in self.measured):
                system = side.get("filesystem", self.facts.get("filesystem"))
                if system is not None and not any(m.has(filesystem=system) for m in self.every):
                    return lacking(str(system), self.every)
                return lacking(", ".join(map(str, {**self.facts, **side}.values())), self.every)
        return ""

    def paired(self, pair: FactPair, factor: float | None = None) -> list[ClaimCase]:
        """Pair cells that are equal except for the claim's facts; `factor` is the pair's own."""
        which, than = map(self.translated, pair)
        factor = self.factor if factor is None else factor
        different = {*which, *than, *self._of_one_side(which, than)}
        across = "quantity" in different
        smaller_of: dict[object, list[MeasuredMetric]] = {}
        for smaller in (m for m in self.measured if m.has(**than)):
            smaller_of.setdefault(_alike(smaller, different, across=across), []).append(smaller)
        return [
            ClaimCase(_case(larger, different), larger, smaller, factor=factor)
            for larger in self.measured
            if larger.has(**which)
            for smaller in smaller_of.get(_alike(larger, different, across=across), ())
            if smaller is not larger
        ]

    def _of_one_side(self, which: Mapping[str, Fact], than: Mapping[str, Fact]) -> set[str]:
        """Name what lies beneath servers' data if it was chosen on one side alone: it is that file system's own."""
        having = [
            {key for m in self.measured if m.has(**side) for key in _CHOSEN & m.facts.keys()}
            for side in (which, than)
        ]
        return having[0] ^ having[1]

    def widened(self) -> list[ClaimCase]:
        """Set each pair of the wider ones against the narrower of the same work."""
        return [
            replace(wide, over=(narrow.larger, narrow.smaller))
            for wider, narrower in product(self.claim.wider, self.claim.narrower)
            for wide, narrow in product(self.paired(wider), self.paired(narrower))
            if work(wide.larger.cell) == work(narrow.larger.cell)
        ]

    def crossed(self) -> list[ClaimCase]:
        """Return the first and the last pair along the fact: at the first, the other is claimed to be larger."""
        chains: dict[object, list[ClaimCase]] = {}
        for case in self.paired((self.claim.which, self.claim.than)):
            if self.claim.along in case.larger.facts:
                chains.setdefault(_key(case.larger, self.claim.along), []).append(case)
        cases: list[ClaimCase] = []
        for chain in chains.values():
            chain.sort(key=lambda case: _size(self.claim.along, case.larger))
            if len(chain) > 1:
                first, last = chain[0], chain[-1]
                cases += [replace(first, larger=first.smaller, smaller=first.larger), last]
        return cases

    def best(self) -> list[ClaimCase]:
        """Pair the best of those named with the best of the others, in each group."""
        cases: list[ClaimCase] = []
        which = self.translated(self.claim.which)
        for group in self._groups():
            ours = [measurement for measurement in group if measurement.has(**which)]
            rivals = [measurement for measurement in group if not measurement.has(**which)]
            if ours and rivals:
                best, rival = (
                    max(side, key=lambda measurement: measurement.interval.mean) for side in (ours, rivals)
                )
                cases.append(ClaimCase(f"{rival.words}, {rival.window}", best, rival))
        return cases

    def stepped(self) -> list[ClaimCase]:
        """Pair each step along a fact: for a rising one, the first is claimed to be smaller."""
        claim = self.claim
        cases: list[ClaimCase] = []
        for chain, group in enumerate(self._groups()):
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

    def ends(self, cases: Sequence[ClaimCase]) -> list[Terms]:
        """Return what decides over all cases: all; along a fact, its ends, because what lies between cancels."""
        if not self.claim.along:
            return [case.terms for case in cases]
        chains: dict[int | None, list[ClaimCase]] = {}
        for case in cases:
            chains.setdefault(case.chain, []).append(case)
        first, last = (0, -1) if self.claim.rule == "falling" else (-1, 0)
        return [((1.0, chain[first].larger), (-1.0, chain[last].smaller)) for chain in chains.values()]

    def _groups(self) -> list[list[MeasuredMetric]]:
        """Group cells that are equal in the claim's facts; along a fact, in all others."""
        groups: dict[object, list[MeasuredMetric]] = {}
        for measurement in self.measured:
            along, per = self.claim.along, self.claim.per
            key = (
                _key(measurement, along)
                if along
                else tuple(str(measurement.facts.get(fact, "")) for fact in per)
            )
            groups.setdefault(key, []).append(measurement)
        return list(groups.values())


_ACROSS = ("wider", "only if")  # rules that name all their facts


def lacking(system: str, measurements: Sequence[MeasuredMetric]) -> str:
    """Say why there is no measurement of something.

    A simulated campaign has its names, and measures none of it.
    """
    if measurements and all(measurement.simulated for measurement in measurements):
        return f"everything was simulated, so {system} was not measured"
    return f"not measured: {system}"


def words(measurement: MeasuredMetric) -> str:
    """Describe a measurement among those of other file systems."""
    return f"{measurement.cell.filesystem}, {_case(measurement, set())}"


def _shared(claim: Claim, paper: Paper) -> dict[str, Fact]:
    """Return the fact that all printed numbers of a claim share but the claim omits: their file system."""
    numbers = named(paper.numbers, **claim.among)
    systems = {number.facts.get("filesystem") for number in numbers}
    only = systems.pop() if len(numbers) > 1 and len(systems) == 1 else None
    return {} if only is None else {"filesystem": only}


def _alike(measurement: MeasuredMetric, different: set[str], *, across: bool) -> object:
    """Return what two that are compared have in common."""
    facts = tuple(sorted((key, str(fact)) for key, fact in measurement.facts.items() if key not in different))
    return facts if across else (measurement.quantity, facts)


def _key(measurement: MeasuredMetric, along: str) -> object:
    return tuple(str(fact) for key, fact in measurement.facts.items() if key != along)


def _size(along: str, measurement: MeasuredMetric) -> float:
    fact = measurement.facts[along]
    return size_bytes(fact) if along in SIZES else float(fact)


def _case(measurement: MeasuredMetric, different: set[str]) -> str:
    cell = measurement.cell
    clients = f", {clients_text(cell.clients_count)}" if "clients" not in different else ""
    return f"{cell.workload if measurement.window in cell.workload else measurement.window}{clients}"
