"""Rules that apply wherever facts match: how numbers of energy studies derive from one another. None knows a paper."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from perjoule import catalogue
from perjoule.papers.audit import gains, span
from perjoule.papers.audit.matching import named, partner
from perjoule.papers.audit.recipe import Recipe, Relation, Rule, Values, uncertainty
from perjoule.papers.audit.span import Span, exactly
from perjoule.papers.published import QUANTITIES, Number

SPREAD_FACTOR = 10.0  # more than quadrature, rounding and steady power can explain


def recipes(numbers: Sequence[Number]) -> list[Recipe]:
    """List every derivation of a number from others."""
    return [recipe for one in numbers for rule in RULES for recipe in rule(one, numbers)]


def stated(one: Number, numbers: Sequence[Number]) -> Iterator[Recipe]:
    """The paper's own derivation, kept with the number as `derived`."""
    if one.derived:
        by_id = {other.id: other for other in numbers}
        ids = span.names(one.derived)
        yield Recipe("as stated", one, tuple(by_id[i] for i in ids), lambda v: span.evaluate(one.derived, lambda i: v(by_id[i])))


def share_of_peak(one: Number, numbers: Sequence[Number]) -> Iterator[Recipe]:
    """Percentage of TPP = throughput / TPP; and at most 100 %."""
    if one.quantity != "share" or one.own.get("of") != "TPP" or one.derived:
        return
    rate, tpp = partner(one, numbers, "throughput", without=["of"]), _tpp(one, numbers)
    if rate is not None and tpp is not None:
        yield Recipe("share of TPP = throughput / TPP", one, (rate, tpp), lambda v: v(rate) / v(tpp))


def below_peak(one: Number, numbers: Sequence[Number]) -> Iterator[Recipe]:
    """A measured throughput is at most the TPP."""
    tpp = _tpp(one, numbers) if _measured(one) else None
    if tpp is not None:
        yield Recipe("throughput <= TPP", one, (tpp,), lambda v: v(tpp), "at most", slack(one))


def peak(one: Number, numbers: Sequence[Number]) -> Iterator[Recipe]:
    """TPP = nodes x min(network, sum of their devices): T. L. Erxleben et al., "Green Storage", section V-D."""
    if one.words.get("what") != "TPP" or "node" not in one.own:
        return
    where = {key: one.words[key] for key in ("place", "cluster", "node")}
    network, nodes = named(numbers, **where, what="network"), named(numbers, **where, what="nodes")
    devices, counts = named(numbers, **where, what="device"), named(numbers, **where, what="devices")
    pairs = [(d, c) for d in devices for c in counts if d.own["device"] == c.own["device"]]
    if network and nodes and pairs:
        inputs = (network[0], nodes[0], *(n for pair in pairs for n in pair))

        def compute(v: Values) -> Span:
            return v(nodes[0]) * span.least(v(network[0]), span.total(*(v(d) * v(c) for d, c in pairs)))

        yield Recipe("TPP = nodes x min(network, devices x device)", one, inputs, compute)


def below_line_rate(one: Number, numbers: Sequence[Number]) -> Iterator[Recipe]:
    """The throughput of a network is at most its line rate."""
    if one.own.get("what") == "network":
        for line in named(numbers, what="line rate", cluster=one.facts.get("cluster", ""))[:1]:
            yield Recipe("network <= line rate", one, (line,), lambda v, line=line: v(line), "at most")


def sum_of_parts(one: Number, numbers: Sequence[Number]) -> Iterator[Recipe]:
    """A whole is the sum of its parts; extremes of parts need not coincide. Uncertainties add in quadrature."""
    names = str(one.own.get("part", "")).split(" + ")
    parts = [part for name in names if len(names) > 1 and (part := partner(one, numbers, one.quantity, part=name))]
    if len(names) < 2 or len(parts) < len(names):
        return
    relation: Relation = "at least" if one.statistic == "minimum" else "at most" if one.statistic == "maximum" else "equals"
    yield Recipe("whole = sum of parts", one, tuple(parts), lambda v: span.total(*(v(part) for part in parts)), relation)
    for kind in (u.kind for u in one.uncertainties):
        whole, behind = uncertainty(one, kind), [uncertainty(part, kind) for part in parts]
        there = [number for number in behind if number is not None]
        if whole is not None and len(there) == len(parts):
            yield Recipe("± = root of the sum of squares", whole, tuple(there), _quadrature(there))


def between_extremes(one: Number, numbers: Sequence[Number]) -> Iterator[Recipe]:
    """A mean lies between the minimum and the maximum of the same."""
    if one.statistic != "mean":
        return
    ends: tuple[tuple[str, Relation], ...] = (("minimum", "at least"), ("maximum", "at most"))
    for statistic, relation in ends:
        end = partner(replace(one, statistic=statistic), numbers, one.quantity)
        if end is not None:
            yield Recipe(f"mean {relation} the {statistic}", one, (end,), lambda v, end=end: v(end), relation)


def peak_above_idle(one: Number, numbers: Sequence[Number]) -> Iterator[Recipe]:
    """A cluster's peak power is at least its idle power."""
    if one.quantity == "power" and one.own.get("state") == "peak":
        for idle in named(numbers, quantity="power", state="idle", cluster=one.facts.get("cluster", "")):
            if "component" in idle.own:
                continue
            yield Recipe("peak power >= idle power", one, (idle,), lambda v, idle=idle: v(idle), "at least")


def between_parts(one: Number, numbers: Sequence[Number]) -> Iterator[Recipe]:
    """A mean over everything lies between the means of its cases."""
    cases = [
        other
        for other in numbers
        if one.quantity == other.quantity
        and one.statistic == other.statistic == "mean"
        and len(other.own) == len(one.own) + 1
        and one.own.items() <= other.own.items()
    ]
    if len(cases) > 1:
        words = "mean over all cases lies between theirs"
        yield Recipe(words, one, tuple(cases), lambda v: span.least(*(v(c) for c in cases)), "at least")
        yield Recipe(words, one, tuple(cases), lambda v: span.most(*(v(c) for c in cases)), "at most")


def repeats(one: Number, numbers: Sequence[Number]) -> Iterator[Recipe]:
    """The same number printed twice must be equal; the table counts as the original."""
    if not one.own or one.derived:
        return
    for other in numbers:
        if other.id == one.id:
            return  # a later one has this as its first
        same = other.quantity == one.quantity and other.own == one.own and other.statistic == one.statistic
        if same and not other.derived:
            first, second = (one, other) if one.place.startswith("Table") else (other, one)
            yield Recipe("the same number elsewhere", second, (first,), lambda v, first=first: v(first))
            return


def efficiency(one: Number, numbers: Sequence[Number]) -> Iterator[Recipe]:
    """Efficiency = throughput / power, energy = power x duration, energy-delay product = energy x duration."""
    ways: dict[str, tuple[str, str, str, Callable[[Span, Span], Span]]] = {
        "efficiency": ("throughput", "power", "efficiency = throughput / power", lambda a, b: a / b),
        "energy": ("power", "duration", "energy = power x duration", lambda a, b: a * b),
        "energy-delay product": ("energy", "duration", "energy-delay product = energy x duration", lambda a, b: a * b),
    }
    if one.quantity not in ways:
        return
    first, second, words, how = ways[one.quantity]
    found = [
        partner(one, numbers, quantity) or partner(one, numbers, quantity, without=["boundary"]) for quantity in (first, second)
    ]
    a, b = found
    if a is not None and b is not None:
        yield Recipe(words, one, (a, b), lambda v: how(v(a), v(b)))


def capacity_per_watt(one: Number, numbers: Sequence[Number]) -> Iterator[Recipe]:
    """Capacity per watt = raw capacity of the data disks, by the catalogue, / power in the same state."""
    cluster = str(one.facts.get("cluster", ""))
    if one.quantity != "capacity per watt" or one.derived or cluster not in catalogue.names():
        return
    found = named(numbers, quantity="power", cluster=cluster, state=one.facts.get("state", ""))
    power = sorted((n for n in found if "component" not in n.own), key=lambda n: n.own.get("switch") != "without")
    if not power:
        return
    kinds = [
        (count, disk)
        for node in catalogue.cluster(cluster).nodes
        if node.role == "storage"
        for count in [_made(one, "count", f"nodes {node.name}", node.count, "")]
        for disk in [
            _made(one, "capacity", f"disks of a node {node.name}", sum(d.capacity_bytes.value for d in node.disks), "TB")
        ]
    ]
    inputs = (power[0], *(n for kind in kinds for n in kind))
    yield Recipe(
        "capacity per watt = capacity of the data disks / power",
        one,
        inputs,
        lambda v: span.total(*(v(count) * v(disk) for count, disk in kinds)) / v(power[0]),
    )


def spread_alike(one: Number, numbers: Sequence[Number]) -> Iterator[Recipe]:
    """Energy and rate of the same runs over the same bytes spread alike, because energy is power times bytes over rate."""
    if one.quantity != "energy":
        return
    rate = next((n for n in numbers if _rate_of(one, n)), None)
    of_energy = uncertainty(one, "statistical")
    of_rate = uncertainty(rate, "statistical") if rate else None
    if rate is not None and of_energy is not None and of_rate is not None and of_energy.value > 0:
        most = exactly(SPREAD_FACTOR)
        yield Recipe(
            f"the rate spreads as the energy does, within a factor of {SPREAD_FACTOR:g}",
            of_rate,
            (of_energy, one, rate),
            lambda v: most * v(of_energy) / v(one) * v(rate),
            "at most",
        )


def _quadrature(there: Sequence[Number]) -> Callable[[Values], Span]:
    return lambda v: span.quadrature(*(v(number) for number in there))


def _measured(one: Number) -> bool:
    return one.quantity == "throughput" and "direction" in one.own and one.own.get("what") is None


def slack(one: Number) -> float:
    """Return the tolerance of a bound that the printed ± allows."""
    return sum(u.value for u in one.uncertainties)


def _tpp(one: Number, numbers: Sequence[Number]) -> Number | None:
    found = named(numbers, quantity="throughput", what="TPP", cluster=one.facts.get("cluster", ""))
    return min(found, key=lambda n: "node" in n.own, default=None)


def _rate_of(one: Number, other: Number) -> bool:
    own = {key: fact for key, fact in other.own.items() if key != "what"}
    return other.quantity == "throughput" and other.place == one.place and own == dict(one.own)


def _made(like: Number, quantity: str, what: str, value: float, unit: str) -> Number:
    """Return a number of the catalogue as if it had been printed."""
    factor = QUANTITIES[quantity][unit]
    return replace(
        like,
        id=f"{like.id}: {what}",
        quantity=quantity,
        printed=f"{value / factor:.12g} {unit}".strip(),
        value=value,
        low=value,
        high=value,
        unit=factor,
        place="catalogue",
        own={"what": what},
        derived="",
    )


RULES: tuple[Rule, ...] = (
    stated,
    share_of_peak,
    below_peak,
    peak,
    below_line_rate,
    sum_of_parts,
    between_extremes,
    peak_above_idle,
    between_parts,
    repeats,
    efficiency,
    capacity_per_watt,
    spread_alike,
    *gains.RULES,
)
