"""Measurements next to a paper's numbers: ratios, what differs in the configuration, and whether file systems
rank alike.

A paper's maximum is compared with the measured maximum: an order statistic has no interval from the values of
which it is the largest, so the ratio's interval covers only the rounding of the printed digits. Any other
number is compared with the mean.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, inf, log, sqrt

from perjoule.model import Cell, Interval, Json, Record, value_at
from perjoule.model.metrics import metric_of
from perjoule.papers.audit import span
from perjoule.papers.audit.span import Span
from perjoule.papers.facts import NumberPair, same
from perjoule.papers.published import Paper
from perjoule.papers.published.paper import Fact
from perjoule.statistics.better import Judge, sample, work
from perjoule.statistics.cells import filesystem_names
from perjoule.statistics.contrast import contrast
from perjoule.statistics.ranks import kendall
from perjoule.trial.reading import emulated_scales

_STANDARD_TO_95 = 1.96
_MATCHED = ("filesystem", "direction", "clients", "configuration", "of", "what", "workload")


@dataclass(frozen=True)
class NumberComparison:
    """A printed number next to the measured one, their ratio, and what differs between there and here."""

    pair: NumberPair
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


def held(
    paper: Paper, pairs: Sequence[NumberPair], records: Sequence[Record], cells: Sequence[Cell] = ()
) -> tuple[NumberComparison, ...]:
    """Compare each pair's measured value with the printed one; `cells` are all of the campaign."""
    judge = Judge(cells)
    of = {name: r for r in records if r.status == "valid" for name in filesystem_names(r.trial)}
    return tuple(
        _held(paper, pair, of.get(pair.measured.cell.filesystem), _above(pair, judge, cells))
        for pair in pairs
        if pair.number.value > 0
    )


def _above(pair: NumberPair, judge: Judge, cells: Sequence[Cell]) -> frozenset[str]:
    cell, metric = pair.measured.cell, pair.measured.metric
    rivals = [c for c in cells if work(c) == work(cell) and c is not cell and metric in c.metrics]
    return frozenset(rival.filesystem for rival in rivals if judge.verdict(cell, rival, metric).sign > 0)


def _held(paper: Paper, pair: NumberPair, record: Record | None, above: frozenset[str]) -> NumberComparison:
    number, interval = pair.number, pair.measured.interval
    extreme = number.extreme
    count = len(interval.values)
    mean = pair.value / number.value
    rounding = log(number.high / number.value) if number.value < number.high < inf else 0.0
    half = 0.0 if extreme else inf
    if not extreme and min(interval.values) > 0 and count > 1:
        estimate = contrast([(1, sample(pair.measured.cell, pair.measured.metric))]).ratio
        printed = sqrt(
            sum(
                (_STANDARD_TO_95 * uncertainty.value / number.value) ** 2
                for uncertainty in number.uncertainties
            )
        )
        mean, half = estimate.mean / number.value, sqrt(log(estimate.high / estimate.mean) ** 2 + printed**2)
    half += rounding
    ratios = tuple(value / number.value for value in interval.values)
    ratio = Interval(mean, mean * exp(-half), mean * exp(half) if half < inf else inf, ratios)
    return NumberComparison(
        pair,
        ratio,
        f"{extreme or 'mean'} of {count}",
        tuple(_differences(paper, pair, record)),
        above,
    )


def _differences(paper: Paper, pair: NumberPair, record: Record | None) -> Iterator[str]:
    number, measured = pair.number, pair.measured
    here: dict[str, Fact] = dict(measured.facts)
    if record is not None:
        here |= _told(record)
    for key, printed in number.facts.items():
        if key not in _MATCHED and not (
            key in here and (here[key] == printed or same(key, here[key], printed))
        ):
            yield f"{key}: {printed} there, {here.get(key, 'not stated')} here"
    if "clients" not in number.facts:
        yield f"clients: not stated there, {measured.cell.clients_count} here"
    bounds = paper.bounds.get(str(number.facts.get("configuration", "")), {})
    servers = (
        span.evaluate(bounds["servers"], lambda id: _span(paper, id)).middle if "servers" in bounds else 0
    )
    # a brick may lie on a host of another role
    holders_count = len(record.data_hosts) if record is not None and record.data_hosts else 0
    if servers and servers not in (measured.cell.servers_count, holders_count):
        yield f"servers: {servers:g} there, {measured.cell.servers_count} storage hosts here"
    if record is not None and (scales := emulated_scales([record])):
        yield f"scale: hardware there, emulated at {scales[0]:g} here"
    if measured.cell.grade and metric_of(measured.metric).energy:
        yield f"power: metered there, {measured.cell.grade} here"


def _told(record: Record) -> Mapping[str, Fact]:
    """Return the options as written, overridden by what the deployment reports."""
    reported = record.facts.get("filesystem")
    options: dict[str, Json] = {
        **record.trial.filesystem.options,
        **(reported if isinstance(reported, Mapping) else {}),
    }
    # no fact of a measurement: a claim compares clusters with and without
    network = {"replication_network": "own"} if value_at(record.facts, "testbed", "cluster_network") else {}
    texts = {key: str(option) for key, option in options.items() if isinstance(option, str | int | float)}
    return network | texts


def _span(paper: Paper, id: str) -> Span:
    number = paper.number(id)
    return Span(number.low, number.high)


def rankings(comparisons: Sequence[NumberComparison]) -> tuple[Ranking, ...]:
    """Compare the order of file systems wherever a paper has at least two of the same kind on one cluster."""
    groups: dict[tuple[str, ...], dict[str, NumberComparison]] = {}
    for comparison in comparisons:
        number = comparison.pair.number
        facts = [
            f"{key} {fact}"
            for key, fact in number.own.items()
            if key not in ("configuration", "filesystem", "direction")
        ]
        labels = (
            str(number.facts.get("cluster", "")),
            str(number.facts.get("direction", "")),
            number.statistic,
            *facts,
        )
        groups.setdefault((comparison.pair.measured.quantity, *labels), {})[
            comparison.pair.measured.cell.filesystem
        ] = comparison
    return tuple(_ranking(key, rows) for key, rows in groups.items() if len(rows) > 1)


def _ranking(key: Sequence[str], rows: Mapping[str, NumberComparison]) -> Ranking:
    printed = {name: comparison.pair.number.value for name, comparison in rows.items()}
    here = {name: comparison.pair.value for name, comparison in rows.items()}
    tau, p, least_p = kendall(list(printed.values()), list(here.values()))
    ordered = [tuple(sorted(values, key=lambda name: -values[name])) for values in (printed, here)]
    of = ", ".join(label for label in key[1:] if label not in ("", "unknown"))
    apart = tuple(after in rows[name].above for name, after in pairwise(ordered[1]))
    return Ranking(key[0], of, ordered[0], ordered[1], apart, tau, p, least_p)
