"""Rules of gains: by how much one thing exceeds another."""

from collections.abc import Callable, Iterator, Sequence

from perjoule.papers.audit import span
from perjoule.papers.audit.matching import named
from perjoule.papers.audit.recipe import Recipe, Rule, Values, is_range
from perjoule.papers.audit.span import Span, exactly
from perjoule.papers.published import PrintedNumber


def efficiency_gain(gain: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """Over a system that draws less power, the gain in efficiency is at most that in throughput."""
    if gain.quantity != "gain" or gain.own.get("metric") != "efficiency":
        return
    same = {key: gain.own.get(key, "") for key in ("better", "worse", "direction")}
    gains = named(numbers, quantity="gain", metric="throughput", **same)
    savings = named(numbers, quantity="saving", metric="power", replaced=same["better"], by=same["worse"])
    times = [number for s in savings for number in numbers if number.id == s.own.get("times")]
    if not (gains and savings and len(times) == len(savings)):
        return
    # Several of the worse draw (1 - saving) of the better: how much more the better draws than one of them.
    if all(n.value / (1 - s.value) >= 1 for n, s in zip(times, savings, strict=True)):
        rule = "gain in efficiency <= gain in throughput, because the better one draws more power"
        yield Recipe(rule, gain, (gains[0], *times, *savings), lambda v: v(gains[0]), "at most")


def bounded_gain(gain: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """A gain of the best in throughput per watt, if power is known only to be between idle and peak."""
    if gain.quantity != "gain" or gain.own.get("metric") != "efficiency":
        return
    sides: list[tuple[list[PrintedNumber], PrintedNumber, PrintedNumber]] = []
    for side in (gain.own["better"], gain.own["worse"]):
        measured = named(numbers, quantity="throughput", direction=gain.own.get("direction", ""))
        rates = [
            n
            for n in measured
            if "what" not in n.own and side in (n.facts.get("configuration"), n.facts.get("cluster"))
        ]
        cluster = rates[0].facts.get("cluster", "") if rates else ""
        idle = named(numbers, quantity="power", cluster=cluster, state="idle", switch="without")
        peaks = named(numbers, quantity="power", cluster=cluster, state="peak")
        if not (rates and idle and peaks):
            return
        sides.append((rates, idle[0], peaks[0]))

    def compute(v: Values) -> Span:
        better, worse = (
            span.most(*map(v, rates)) / Span(v(idle).low, v(peak).high) for rates, idle, peak in sides
        )
        return better / worse - exactly(1.0)

    rule = "gain in throughput per watt, power between idle and peak"
    yield Recipe(rule, gain, tuple(n for rates, *powers in sides for n in (*rates, *powers)), compute)


def gain_over_others(gain: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """By how much the best exceeds the average of the others: the mean over the loads, each a range."""
    if gain.quantity != "gain" or not str(gain.own.get("over", "")).startswith("average"):
        return
    best = str(gain.own["beneath"]).split(", ")
    facts = {key: gain.own[key] for key in ("configuration", "direction", "block")}
    groups: list[tuple[list[PrintedNumber], list[PrintedNumber]]] = []
    for transfer in str(gain.own["transfers"]).split(", "):
        rates = named(numbers, quantity="throughput", transfer=transfer, **facts)
        for access in dict.fromkeys(n.own["access"] for n in rates):
            rates_of_access = [n for n in rates if n.own["access"] == access]
            groups.append(([n for n in rates_of_access if n.own["beneath"] in best], rates_of_access))
    if not groups:
        return

    def reading(among: Callable[[PrintedNumber, PrintedNumber], bool]) -> Callable[[Values], Span]:
        return lambda v: _over_cases(v, groups, among, is_range=is_range(gain))

    rule = "gain of the best over the average of the others"
    alternatives = (("the best counted into the average", reading(lambda _winner, _other: True)),)
    compute = reading(lambda winner, loser: loser.id != winner.id)
    inputs = tuple(n for _, rates_of_access in groups for n in rates_of_access)
    yield Recipe(
        rule, gain, inputs, compute, "within" if is_range(gain) else "equals", alternatives=alternatives
    )


def _over_cases(
    v: Values,
    groups: Sequence[tuple[list[PrintedNumber], list[PrintedNumber]]],
    among: Callable[[PrintedNumber, PrintedNumber], bool],
    *,
    is_range: bool,
) -> Span:
    """The gain in each case over the average of those for which it is stated; for a range both ends, else
    the mean.
    """
    gains: list[Span] = []
    for best, rates in groups:
        winner = max(best, key=lambda n: v(n).middle)
        rest_spans = [v(n) for n in rates if among(winner, n)]
        gains.append(v(winner) * exactly(len(rest_spans)) / span.total(*rest_spans) - exactly(1.0))
    if is_range:
        return Span(min(s.middle for s in gains), max(s.middle for s in gains))
    return span.total(*gains) / exactly(len(gains))


RULES: tuple[Rule, ...] = (efficiency_gain, bounded_gain, gain_over_others)
