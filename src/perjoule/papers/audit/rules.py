"""Rules that apply wherever facts match: how numbers of energy studies derive from one another.

None knows a paper.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from perjoule import catalogue
from perjoule.papers.audit import gains, span
from perjoule.papers.audit.matching import named, partner
from perjoule.papers.audit.recipe import Recipe, Relation, Rule, Values, uncertainty
from perjoule.papers.audit.span import Span, exactly
from perjoule.papers.published import QUANTITIES, PrintedNumber

SPREAD_FACTOR = 10.0  # more than quadrature, rounding and steady power can explain


def recipes(numbers: Sequence[PrintedNumber]) -> list[Recipe]:
    """List every derivation of a number from others."""
    return [recipe for number in numbers for rule in RULES for recipe in rule(number, numbers)]


def stated(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """The paper's own derivation, kept with the number as `derived`."""
    if number.derived:
        by_id = {original.id: original for original in numbers}
        ids = span.names(number.derived)
        yield Recipe(
            "as stated",
            number,
            tuple(by_id[i] for i in ids),
            lambda v: span.evaluate(number.derived, lambda i: v(by_id[i])),
        )


def share_of_peak(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """Percentage of TPP = throughput / TPP; and at most 100 %."""
    if number.quantity != "share" or number.own.get("of") != "TPP" or number.derived:
        return
    rate, tpp = partner(number, numbers, "throughput", without=["of"]), _tpp(number, numbers)
    if rate is not None and tpp is not None:
        yield Recipe("share of TPP = throughput / TPP", number, (rate, tpp), lambda v: v(rate) / v(tpp))


def below_peak(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """A measured throughput is at most the TPP."""
    tpp = _tpp(number, numbers) if _measured(number) else None
    if tpp is not None:
        yield Recipe("throughput <= TPP", number, (tpp,), lambda v: v(tpp), "at most", slack(number))


def peak(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """TPP = nodes x min(network, sum of their devices): T. L.

    Erxleben et al., "Green Storage", section V-D.
    """
    if number.words.get("what") != "TPP" or "node" not in number.own:
        return
    node_facts = {key: number.words[key] for key in ("place", "cluster", "node")}
    network, nodes = named(numbers, **node_facts, what="network"), named(numbers, **node_facts, what="nodes")
    devices, counts = (
        named(numbers, **node_facts, what="device"),
        named(numbers, **node_facts, what="devices"),
    )
    pairs = [(d, c) for d in devices for c in counts if d.own["device"] == c.own["device"]]
    if network and nodes and pairs:
        inputs = (network[0], nodes[0], *(n for pair in pairs for n in pair))

        def compute(v: Values) -> Span:
            return v(nodes[0]) * span.least(v(network[0]), span.total(*(v(d) * v(c) for d, c in pairs)))

        yield Recipe("TPP = nodes x min(network, devices x device)", number, inputs, compute)


def below_line_rate(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """The throughput of a network is at most its line rate."""
    if number.own.get("what") == "network":
        for line in named(numbers, what="line rate", cluster=number.facts.get("cluster", ""))[:1]:
            yield Recipe("network <= line rate", number, (line,), lambda v, line=line: v(line), "at most")


def sum_of_parts(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """A whole is the sum of its parts; extremes of parts need not coincide.

    Uncertainties add in quadrature.
    """
    names = str(number.own.get("part", "")).split(" + ")
    parts = [
        part
        for name in names
        if len(names) > 1 and (part := partner(number, numbers, number.quantity, part=name))
    ]
    if len(names) < 2 or len(parts) < len(names):
        return
    relation: Relation = (
        "at least"
        if number.statistic == "minimum"
        else "at most"
        if number.statistic == "maximum"
        else "equals"
    )
    yield Recipe(
        "whole = sum of parts",
        number,
        tuple(parts),
        lambda v: span.total(*(v(part) for part in parts)),
        relation,
    )
    for kind in (u.kind for u in number.uncertainties):
        total, behind = uncertainty(number, kind), [uncertainty(part, kind) for part in parts]
        parts_behind = [number for number in behind if number is not None]
        if total is not None and len(parts_behind) == len(parts):
            yield Recipe(
                "± = root of the sum of squares", total, tuple(parts_behind), _quadrature(parts_behind)
            )


def between_extremes(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """A mean lies between the minimum and the maximum of the same."""
    if number.statistic != "mean":
        return
    ends: tuple[tuple[str, Relation], ...] = (("minimum", "at least"), ("maximum", "at most"))
    for statistic, relation in ends:
        end = partner(replace(number, statistic=statistic), numbers, number.quantity)
        if end is not None:
            yield Recipe(
                f"mean {relation} the {statistic}", number, (end,), lambda v, end=end: v(end), relation
            )


def peak_above_idle(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """A cluster's peak power is at least its idle power."""
    if number.quantity == "power" and number.own.get("state") == "peak":
        for idle in named(numbers, quantity="power", state="idle", cluster=number.facts.get("cluster", "")):
            if "component" in idle.own:
                continue
            yield Recipe(
                "peak power >= idle power", number, (idle,), lambda v, idle=idle: v(idle), "at least"
            )


def between_parts(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """A mean over everything lies between the means of its cases."""
    cases = [
        case
        for case in numbers
        if number.quantity == case.quantity
        and number.statistic == case.statistic == "mean"
        and len(case.own) == len(number.own) + 1
        and number.own.items() <= case.own.items()
    ]
    if len(cases) > 1:
        rule = "mean over all cases lies between theirs"
        yield Recipe(rule, number, tuple(cases), lambda v: span.least(*(v(c) for c in cases)), "at least")
        yield Recipe(rule, number, tuple(cases), lambda v: span.most(*(v(c) for c in cases)), "at most")


def repeats(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """The same number printed twice must be equal; the table counts as the original."""
    if not number.own or number.derived:
        return
    for original in numbers:
        if original.id == number.id:
            return  # a later one has this as its first
        same = (
            original.quantity == number.quantity
            and original.own == number.own
            and original.statistic == number.statistic
        )
        if same and not original.derived:
            first, second = (number, original) if number.place.startswith("Table") else (original, number)
            yield Recipe("the same number elsewhere", second, (first,), lambda v, first=first: v(first))
            return


def efficiency(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """Efficiency = throughput / power, energy = power x duration, EDP = energy x duration."""
    ways: dict[str, tuple[str, str, str, Callable[[Span, Span], Span]]] = {
        "efficiency": ("throughput", "power", "efficiency = throughput / power", lambda a, b: a / b),
        "energy": ("power", "duration", "energy = power x duration", lambda a, b: a * b),
        "energy-delay product": (
            "energy",
            "duration",
            "energy-delay product = energy x duration",
            lambda a, b: a * b,
        ),
    }
    if number.quantity not in ways:
        return
    first, second, rule, how = ways[number.quantity]
    operands = [
        partner(number, numbers, quantity) or partner(number, numbers, quantity, without=["boundary"])
        for quantity in (first, second)
    ]
    a, b = operands
    if a is not None and b is not None:
        yield Recipe(rule, number, (a, b), lambda v: how(v(a), v(b)))


def capacity_per_watt(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """Capacity per watt = raw capacity of the data disks, by the catalogue, / power in the same state."""
    cluster = str(number.facts.get("cluster", ""))
    if number.quantity != "capacity per watt" or number.derived or cluster not in catalogue.names():
        return
    powers = named(numbers, quantity="power", cluster=cluster, state=number.facts.get("state", ""))
    power = sorted(
        (n for n in powers if "component" not in n.own), key=lambda n: n.own.get("switch") != "without"
    )
    if not power:
        return
    kinds = [
        (count, disk)
        for node in catalogue.cluster(cluster).nodes
        if node.role == "storage"
        for count in [_made(number, "count", f"nodes {node.name}", node.count, "")]
        for disk in [
            _made(
                number,
                "capacity",
                f"disks of a node {node.name}",
                sum(d.capacity_bytes.value for d in node.disks),
                "TB",
            )
        ]
    ]
    inputs = (power[0], *(n for kind in kinds for n in kind))
    yield Recipe(
        "capacity per watt = capacity of the data disks / power",
        number,
        inputs,
        lambda v: span.total(*(v(count) * v(disk) for count, disk in kinds)) / v(power[0]),
    )


def spread_alike(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> Iterator[Recipe]:
    """Energy and rate of the same runs over the same bytes spread alike, because energy is power times
    bytes over rate.
    """
    if number.quantity != "energy":
        return
    rate = next((n for n in numbers if _rate_of(number, n)), None)
    of_energy = uncertainty(number, "statistical")
    of_rate = uncertainty(rate, "statistical") if rate else None
    if rate is not None and of_energy is not None and of_rate is not None and of_energy.value > 0:
        most = exactly(SPREAD_FACTOR)
        yield Recipe(
            f"the rate spreads as the energy does, within a factor of {SPREAD_FACTOR:g}",
            of_rate,
            (of_energy, number, rate),
            lambda v: most * v(of_energy) / v(number) * v(rate),
            "at most",
        )


def _quadrature(numbers: Sequence[PrintedNumber]) -> Callable[[Values], Span]:
    return lambda v: span.quadrature(*(v(number) for number in numbers))


def _measured(number: PrintedNumber) -> bool:
    return number.quantity == "throughput" and "direction" in number.own and number.own.get("what") is None


def slack(number: PrintedNumber) -> float:
    """Return the tolerance of a bound that the printed ± allows."""
    return sum(u.value for u in number.uncertainties)


def _tpp(number: PrintedNumber, numbers: Sequence[PrintedNumber]) -> PrintedNumber | None:
    peaks = named(numbers, quantity="throughput", what="TPP", cluster=number.facts.get("cluster", ""))
    return min(peaks, key=lambda n: "node" in n.own, default=None)


def _rate_of(energy: PrintedNumber, rate: PrintedNumber) -> bool:
    rate_facts = {key: fact for key, fact in rate.own.items() if key != "what"}
    return rate.quantity == "throughput" and rate.place == energy.place and rate_facts == dict(energy.own)


def _made(like: PrintedNumber, quantity: str, name: str, value: float, unit: str) -> PrintedNumber:
    """Return a number of the catalogue as if it had been printed."""
    factor = QUANTITIES[quantity][unit]
    return replace(
        like,
        id=f"{like.id}: {name}",
        quantity=quantity,
        printed=f"{value / factor:.12g} {unit}".strip(),
        value=value,
        low=value,
        high=value,
        unit=factor,
        place="catalogue",
        own={"what": name},
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
