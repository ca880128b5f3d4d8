"""Measurements next to a paper's numbers: ratios, what differs in the configuration, and whether file systems rank alike.

A paper's maximum is compared with the measured maximum: an order statistic has no interval from the values of which it is the
largest, so the ratio's interval covers only the rounding of the printed digits. Any other number is compared with the mean.

    M. G. Kendall, A new measure of rank correlation, Biometrika 30 (1938), https://doi.org/10.2307/2332226
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations
from math import exp, inf, log, sqrt

from perjoule.model import Cell, Interval, Json, Record
from perjoule.model.metrics import metric_of
from perjoule.papers.audit import span
from perjoule.papers.audit.span import Span
from perjoule.papers.facts import Pair, same
from perjoule.papers.published import Paper
from perjoule.papers.published.paper import Fact
from perjoule.statistics.better import Judge, sample, work
from perjoule.statistics.cells import filesystem_names
from perjoule.statistics.contrast import contrast
from perjoule.trial.reading import emulated_scales

_RANKED_MOST_COUNT = 8  # up to which all orders are enumerated: 40320
_STANDARD_TO_95 = 1.96
_MATCHED = ("filesystem", "direction", "clients", "configuration", "of", "what", "workload")


@dataclass(frozen=True)
class Held:
    """A printed number next to the measured one, their ratio, and what differs between there and here."""

    pair: Pair
    ratio: Interval
    kind: str  # what is compared: "maximum of 5", "mean of 5"
    differs: tuple[str, ...]
    above: frozenset[str] = frozenset()  # file systems that did the same work and are significantly lower


@dataclass(frozen=True)
class Ranking:
    """File systems by the paper's numbers, the best first, and by the measured ones."""

    quantity: str
    of: str  # statistic, direction, clients
    published: tuple[str, ...]
    own: tuple[str, ...]
    apart: tuple[bool, ...]  # whether each of the own is significantly higher than the next
    tau: float
    p: float  # two-sided, exact
    least_p: float  # that so few can reach


def held(paper: Paper, pairs: Sequence[Pair], records: Sequence[Record], cells: Sequence[Cell] = ()) -> tuple[Held, ...]:
    """Compare each pair's measured value with the printed one; `cells` are all of the campaign."""
    judge = Judge(cells)
    of = {name: r for r in records if r.status == "valid" for name in filesystem_names(r.trial)}
    return tuple(
        _held(paper, pair, of.get(pair.measured.cell.filesystem), _above(pair, judge, cells))
        for pair in pairs
        if pair.number.value > 0
    )


def _above(pair: Pair, judge: Judge, cells: Sequence[Cell]) -> frozenset[str]:
    own, metric = pair.measured.cell, pair.measured.metric
    others = [c for c in cells if work(c) == work(own) and c is not own and metric in c.metrics]
    return frozenset(other.filesystem for other in others if judge.verdict(own, other, metric).sign > 0)


def _held(paper: Paper, pair: Pair, record: Record | None, above: frozenset[str]) -> Held:
    number, interval = pair.number, pair.measured.interval
    most = number.statistic.startswith("maximum")
    count = len(interval.values)
    mean = pair.value / number.value
    rounding = log(number.high / number.value) if number.value < number.high < inf else 0.0
    half = 0.0 if most else inf
    if not most and min(interval.values) > 0 and count > 1:
        own = contrast([(1, sample(pair.measured.cell, pair.measured.metric))]).ratio
        printed = sqrt(sum((_STANDARD_TO_95 * one.value / number.value) ** 2 for one in number.uncertainties))
        mean, half = own.mean / number.value, sqrt(log(own.high / own.mean) ** 2 + printed**2)
    half += rounding
    ratios = tuple(value / number.value for value in interval.values)
    ratio = Interval(mean, mean * exp(-half), mean * exp(half) if half < inf else inf, ratios)
    return Held(pair, ratio, f"{'maximum' if most else 'mean'} of {count}", tuple(_differences(paper, pair, record)), above)


def _differences(paper: Paper, pair: Pair, record: Record | None) -> Iterator[str]:
    number, measured = pair.number, pair.measured
    here: dict[str, Fact] = dict(measured.facts)
    if record is not None:
        here |= _told(record)
    for key, there in number.facts.items():
        if key not in _MATCHED and not (key in here and (here[key] == there or same(key, here[key], there))):
            yield f"{key}: {there} there, {here.get(key, 'not stated')} here"
    if "clients" not in number.facts:
        yield f"clients: not stated there, {measured.cell.clients_count} here"
    bounds = paper.bounds.get(str(number.facts.get("configuration", "")), {})
    servers = span.evaluate(bounds["servers"], lambda id: _span(paper, id)).middle if "servers" in bounds else 0
    if servers and servers != measured.cell.servers_count:
        yield f"servers: {servers:g} there, {measured.cell.servers_count} storage hosts here"
    if record is not None and (scales := emulated_scales([record])):
        yield f"scale: hardware there, emulated at {scales[0]:g} here"
    if measured.cell.grade and metric_of(measured.metric).energy:
        yield f"power: metered there, {measured.cell.grade} here"


def _told(record: Record) -> Mapping[str, Fact]:
    """Return the options as written, overridden by what the deployment reports."""
    reported = record.facts.get("filesystem")
    told: dict[str, Json] = {**record.trial.filesystem.options, **(reported if isinstance(reported, Mapping) else {})}
    return {key: str(one) for key, one in told.items() if isinstance(one, str | int | float)}


def _span(paper: Paper, id: str) -> Span:
    one = paper.number(id)
    return Span(one.low, one.high)


def rankings(found: Sequence[Held]) -> tuple[Ranking, ...]:
    """Compare the order of file systems wherever a paper has at least two of the same kind on one cluster."""
    groups: dict[tuple[str, ...], dict[str, Held]] = {}
    for one in found:
        number = one.pair.number
        facts = [f"{key} {fact}" for key, fact in number.own.items() if key not in ("configuration", "filesystem", "direction")]
        words = (str(number.facts.get("cluster", "")), str(number.facts.get("direction", "")), number.statistic, *facts)
        groups.setdefault((one.pair.measured.quantity, *words), {})[one.pair.measured.cell.filesystem] = one
    return tuple(_ranking(key, own) for key, own in groups.items() if len(own) > 1)


def _ranking(key: Sequence[str], own: Mapping[str, Held]) -> Ranking:
    there = {name: one.pair.number.value for name, one in own.items()}
    here = {name: one.pair.value for name, one in own.items()}
    tau, p, least_p = kendall(list(there.values()), list(here.values()))
    ordered = [tuple(sorted(values, key=lambda name: -values[name])) for values in (there, here)]
    of = ", ".join(word for word in key[1:] if word not in ("", "unknown"))
    apart = tuple(after in own[name].above for name, after in pairwise(ordered[1]))
    return Ranking(key[0], of, ordered[0], ordered[1], apart, tau, p, least_p)


def kendall(one: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """Return Kendall's tau-b, its exact two-sided p, and the least p that any order could have.

    Raises:
        ValueError: fewer than two values, or of different length.
    """
    if len(one) != len(other) or len(one) < 2:
        raise ValueError("a ranking needs two or more values on either side")
    ties = [sum(a == b for a, b in combinations(values, 2)) for values in (one, other)]
    pairs_count = len(one) * (len(one) - 1) // 2
    norm = sqrt((pairs_count - ties[0]) * (pairs_count - ties[1]))
    if not norm:
        return 0.0, 1.0, 1.0
    found = _concordance(one, other)
    if len(one) > _RANKED_MOST_COUNT:
        from scipy import stats  # slow to import, and rarely needed

        return found / norm, float(stats.kendalltau(one, other).pvalue), 0.0
    sums = [abs(_concordance(one, order)) for order in permutations(other)]
    return found / norm, sum(s >= abs(found) for s in sums) / len(sums), sums.count(max(sums)) / len(sums)


def _concordance(one: Sequence[float], other: Sequence[float]) -> int:
    pairs = combinations(range(len(one)), 2)
    return sum(((one[i] > one[j]) - (one[i] < one[j])) * ((other[i] > other[j]) - (other[i] < other[j])) for i, j in pairs)
