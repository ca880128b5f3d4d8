"""Physical bounds of throughputs, from a paper's configuration: networks, disks, copies, requests in
flight.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from perjoule.papers.audit import span
from perjoule.papers.audit.recipe import AuditVerdict, Recipe, Relation, Values, text
from perjoule.papers.audit.rules import slack
from perjoule.papers.audit.span import Span, exactly
from perjoule.papers.published import Paper, PrintedNumber
from perjoule.papers.published.paper import BOUNDS as SAID

Expressions = dict[str, str]


@dataclass(frozen=True)
class Bound:
    """A bound on throughput: its inputs, its defaults for missing ones, and its directions."""

    words: str
    needs: tuple[str, ...]
    most: Callable[[Callable[[str], Span]], Span]
    directions: tuple[str, ...] = ("write", "read")


# `one` gives a fact that a configuration may leave out: one of each.
BOUNDS = (
    Bound(
        "throughput x what clients encode <= network of the clients",
        ("clients", "client_nic"),
        lambda f: f("clients") * f("client_nic") / f("client_expansion"),
        ("write",),
    ),
    Bound(
        "throughput <= network of the clients",
        ("clients", "client_nic"),
        lambda f: f("clients") * f("client_nic"),
        ("read",),
    ),
    Bound(
        "throughput x copies received <= network of the servers",
        ("servers", "server_nic", "copies"),
        lambda f: f("servers") * f("server_nic") / f("copies") / f("client_expansion"),
        ("write",),
    ),
    Bound(
        "throughput <= network of the servers",
        ("servers", "server_nic"),
        lambda f: f("servers") * f("server_nic"),
        ("read",),
    ),
    Bound(
        "throughput x copies <= disks",
        ("disks", "disk_write", "copies"),
        lambda f: f("disks") * f("disk_write") / f("copies") / f("disk_copies") / f("client_expansion"),
        ("write",),
    ),
    Bound("throughput <= disks", ("disks", "disk_read"), lambda f: f("disks") * f("disk_read"), ("read",)),
    Bound(
        "throughput <= requests in flight, each at one server's network",
        ("clients", "in_flight", "server_nic"),
        lambda f: f("clients") * f("in_flight") * f("server_nic"),
    ),
)
OPTIONAL = ("client_expansion", "disk_copies")
TOLD_COPIES = 4  # more is implausible
FEATURES = ("in_flight",)  # only bounds where a configuration has them


def recipes(paper: Paper) -> list[Recipe]:
    """List the bounds that every measured throughput of a paper must keep, as far as its configuration is
    stated.
    """
    of_throughput = [recipe for number in _measured(paper) for recipe in _of(number, paper)]
    return of_throughput + [
        recipe for number in paper.find(quantity="energy") for recipe in _power(number, paper)
    ]


def _measured(paper: Paper) -> list[PrintedNumber]:
    """Return measured throughputs; a number that is printed twice is taken once, from the table."""
    numbers = [
        n
        for n in paper.find(quantity="throughput")
        if {"direction", "configuration"} <= n.own.keys() and "what" not in n.own
    ]
    numbers.sort(key=lambda n: not n.place.startswith("Table"))
    once = {
        (n.statistic, *sorted((key, str(fact)) for key, fact in n.own.items())): n.id
        for n in reversed(numbers)
    }
    return [n for n in numbers if n.id in once.values()]


def _power(number: PrintedNumber, paper: Paper) -> Iterator[Recipe]:
    """Require that energy over the time of the bytes at the printed rate is between the part's lowest and
    highest power.
    """
    expression = paper.bounds.get(str(number.facts.get("configuration", "")), {}).get("processed")
    rate = next(
        (
            n
            for n in paper.find(quantity="throughput", place=number.place)
            if {**n.own, "what": ""} == {**number.own, "what": ""}
        ),
        None,
    )
    if not expression or rate is None:
        return
    size = paper.number(expression)
    same = {key: number.facts[key] for key in ("cluster", "part") if key in number.facts}
    ends: tuple[tuple[str, Relation, Callable[..., Span]], ...] = (
        ("minimum", "at least", span.least),
        ("maximum", "at most", span.most),
    )
    for statistic, relation, choose in ends:
        powers = paper.find(quantity="power", statistic=statistic, **same)
        if powers:
            rule = f"energy {relation} the {statistic} power x bytes / rate"
            yield Recipe(
                rule,
                number,
                (size, rate, *powers),
                _energy(size, rate, powers, choose),
                relation,
                slack(number),
            )


def _energy(
    size: PrintedNumber, rate: PrintedNumber, powers: tuple[PrintedNumber, ...], choose: Callable[..., Span]
) -> Callable[[Values], Span]:
    return lambda v: choose(*(v(power) for power in powers)) * v(size) / v(rate)


def _of(number: PrintedNumber, paper: Paper) -> Iterator[Recipe]:
    expressions = _expressions(number, paper)
    for bound in BOUNDS:
        if number.own["direction"] in bound.directions and all(need in expressions for need in bound.needs):
            yield _recipe(number, bound, expressions, paper)


def _expressions(number: PrintedNumber, paper: Paper) -> Expressions:
    expressions = dict(paper.bounds.get(str(number.own["configuration"]), {}))
    if "clients" in number.own:
        expressions["clients"] = str(number.own["clients"])
    if number.facts.get("replication_network") == "own":
        expressions["copies"] = "1"
    return expressions


def _recipe(number: PrintedNumber, bound: Bound, expressions: Expressions, paper: Paper) -> Recipe:
    used = [expressions[need] for need in (*bound.needs, *OPTIONAL) if need in expressions]
    inputs = tuple(
        paper.number(id) for id in dict.fromkeys(id for expression in used for id in span.names(expression))
    )
    by_id = {number.id: number for number in inputs}

    def most(v: Values) -> Span:
        return bound.most(lambda fact: span.evaluate(expressions.get(fact, "1"), lambda id: v(by_id[id])))

    return Recipe(bound.words, number, inputs, most, "at most", slack(number))


def unknown(paper: Paper) -> Iterator[AuditVerdict]:
    """List bounds that can't be checked, and their missing inputs; if copies are not stated, how many
    would fit.
    """
    missing: dict[tuple[str, str], list[PrintedNumber]] = {}
    for number in _measured(paper):
        expressions = _expressions(number, paper)
        for bound in BOUNDS:
            lacking = tuple(need for need in bound.needs if need not in expressions)
            if number.own["direction"] in bound.directions and lacking and not set(lacking) & set(FEATURES):
                missing.setdefault(
                    (bound.words, " and the ".join(SAID[need] for need in lacking)), []
                ).append(number)
    for (rule, lacking), numbers in missing.items():
        fits = "" if lacking != SAID["copies"] else _copies_that_fit(numbers, rule, paper)
        names = ", ".join(dict.fromkeys(str(n.own["configuration"]) for n in numbers))
        throughputs = f"{len(numbers)} throughput{'s' * (len(numbers) > 1)} ({names})"
        yield AuditVerdict(
            "unchecked",
            rule,
            numbers[0].place,
            throughputs,
            cause=f"the {lacking} {'are' * (' and ' in lacking) or 'is'} not given{fits}",
        )
    yield from _caches(paper)


def _copies_that_fit(numbers: list[PrintedNumber], rule: str, paper: Paper) -> str:
    bound = next(b for b in BOUNDS if b.words == rule)
    room = [
        _recipe(number, bound, {**_expressions(number, paper), "copies": "1"}, paper).central().middle
        / number.value
        for number in numbers
    ]
    return f"; no more than {min(room):.2f} would fit" if min(room) < TOLD_COPIES else ""


def _caches(paper: Paper) -> Iterator[AuditVerdict]:
    """List data that fit into memory, because they may not have come from disks."""
    for configuration, expressions in paper.bounds.items():
        if "data" not in expressions:
            continue
        volume = paper.number(expressions["data"])
        for whose, count in (("client", "clients"), ("server", "servers")):
            if f"{whose}_memory" not in expressions or (
                paper.configurations[configuration].get("direct_io") == "yes" and whose == "client"
            ):
                continue
            each = paper.number(expressions[f"{whose}_memory"])
            memory = (
                span.evaluate(expressions[count], lambda id: exactly(paper.number(id).value)).middle
                * each.value
            )
            if volume.value < 2 * memory:
                much = text(exactly(memory), each)
                cause = (
                    f"{volume.printed} against {much} of {whose}s' memory: caches may have served a part of "
                    "it"
                )
                yield AuditVerdict(
                    "unchecked",
                    "throughput is that of disks",
                    volume.place,
                    f"throughputs of {configuration}",
                    cause=cause,
                )
