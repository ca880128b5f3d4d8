"""A paper: frozen numbers in SI units, its statements about them, and the configurations that they
describe.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from perjoule.model import units

# What a number can be a number of, and in which units it may be printed.
QUANTITIES: dict[str, dict[str, float]] = {
    "throughput": units.RATES,
    "power": units.WATTS,
    "energy": units.JOULES,
    "efficiency": units.BYTES_PER_J,
    "energy-delay product": {"J s": 1.0},
    "capacity": units.BYTES,
    "capacity per watt": units.BYTES_PER_W,
    "size": units.BYTES,
    "memory": units.BYTES,
    "duration": units.SECONDS,
    "frequency": units.HERTZ,
    "rotation": {"rpm": 1 / 60},
    "voltage": {"V": 1.0},
    "current": {"A": 1.0},
    "cost": {"EUR": 1.0},
    "count": {"": 1.0},
    "share": units.RATIOS,  # of a whole
    "gain": units.RATIOS,  # how much more than another
    "saving": units.RATIOS,  # how much less than another
    "ratio": {"": 1.0},
    "length": {"inch": 0.0254},
    # of the servers, by the byte that users move
    "network received": {"": 1.0},
    "network sent": {"": 1.0},
    "disk read": {"": 1.0},
    "disk written": {"": 1.0},
    "disk use": units.RATIOS,  # of what the disks can do
}
NEARLY_ALL_PER_CASE = 5  # of which one may be reversed
Fact = str | int | float
FactPair = tuple[Mapping[str, Fact], Mapping[str, Fact]]  # which, than

# The inputs of a configuration's bounds on throughputs; each is an expression over ids.
BOUNDS = {
    "clients": "number of clients",
    "client_nic": "network of a client",
    "servers": "number of servers",
    "server_nic": "network of a server",
    "copies": "number of copies",
    "disks": "number of disks",
    "disk_write": "rate at which a disk writes",
    "disk_read": "rate at which a disk reads",
    "disk_copies": "number of copies on a server's own disks",
    "client_expansion": "bytes that a client sends for each byte that it writes",
    "in_flight": "number of requests that a client has in flight",
    "data": "bytes that are written or read",
    "client_memory": "memory of a client",
    "server_memory": "memory of a server",
    "processed": "bytes that are processed",
}


@dataclass(frozen=True)
class Uncertainty:
    """A number printed after ±, in SI units, with the range that its digits allow, and its meaning."""

    value: float
    low: float
    high: float
    kind: str


def _label(key: str, fact: Fact) -> str:
    """Return a fact in words: most words need no name of the fact."""
    if key == "switch":
        return f"{fact} the switch"
    if key == "clients" and isinstance(fact, int):
        return units.clients_text(fact)
    return fact if isinstance(fact, str) else f"{key} {fact:g}"


@dataclass(frozen=True)
class PrintedNumber:
    """A number as a paper prints it.

    `low` to `high` is the range that its printed digits allow: half a unit in the last place each way. An
    approximate number gets a whole unit in the last place, and at least 5 %. Counts and nominal values are
    exact.
    """

    id: str
    quantity: str  # a key of QUANTITIES
    printed: str  # with its unit: "95.22 MiB/s"
    value: float  # SI; of a range its middle
    low: float
    high: float
    unit: float  # what one of the printed unit is in SI
    place: str  # table or section
    statistic: str  # "mean", "maximum", ..., "unknown"
    facts: Mapping[str, Fact]  # what it belongs to
    own: Mapping[str, Fact]  # those of the facts that its configuration does not give
    uncertainties: tuple[Uncertainty, ...] = ()
    derived: str = ""  # what the paper says it follows from: an expression over ids
    unchecked: str = ""  # why it can't be recomputed
    note: str = ""
    source: str = ""  # the page that prints it, where that is not the paper
    date: str = ""  # of that page: "2023-08-08", or as much of it as is known

    @cached_property
    def words(self) -> Mapping[str, Fact]:
        """Its facts, with quantity, statistic and place among them."""
        return {**self.facts, "quantity": self.quantity, "statistic": self.statistic, "place": self.place}

    @property
    def extreme(self) -> str:
        """ "maximum" or "minimum" of whatever it is the extreme of; "" for any other statistic."""
        word = self.statistic.partition(" ")[0]
        return word if word in ("maximum", "minimum") else ""

    @property
    def name(self) -> str:
        """Its name in words."""
        facts = dict(self.own)
        of = f" of {facts.pop('of')}" if "of" in facts else ""
        pair = (
            [f"{facts.pop('better')} over {facts.pop('worse')}"]
            if {"better", "worse"} <= facts.keys()
            else []
        )
        labels = [
            *pair,
            *(_label(key, fact) for key, fact in facts.items()),
        ]
        return f"{self.quantity}{of} ({', '.join(labels)})" if labels else f"{self.quantity}{of}"


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper about its own numbers.

    Rules over the cases among the facts `among`, which include `quantity`, `statistic` and `place`:

    - "above": numbers with `which` are above those with `than`, all else equal; "best": the largest are those
      with `which`, in each group of equal facts `per`; "rising", "falling": along the fact `along`.
    - "similar": a number with `which` over one with `than` is within a factor `within` of 1; "up to": the
      largest of these ratios is.
    - "wider": the ratio of the first of `wider` to its second exceeds that of `narrower`.
    - "crossing": `which` is below `than` at the first value of `along`, and above it at the last.
    - "bounded": every number is at least `least` and at most `most`.
    - "only if": the first of each of `pairs` is above its second, and of none of `others`.
    - "scatter": repetitions of energy x time^w scatter more at the second of `weights` than at the first.
    - "holds": the comparison `holds` over ids.

    `cases` says how many may be reversed: in "nearly all" one in five, in "most" fewer than half. With a
    `factor`, or with `factors`, one for each of `pairs`, a ratio is one over this. A claim that the paper shows
    only in a figure, without numbers, can be checked only against measurements, or by bounds if it has `holds`
    too.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    place: str
    text: str
    rule: Literal[
        "best",
        "above",
        "rising",
        "falling",
        "similar",
        "up to",
        "wider",
        "crossing",
        "bounded",
        "only if",
        "scatter",
        "holds",
    ]
    holds: str = ""
    among: Mapping[str, Fact] = field(default_factory=dict[str, Fact])
    which: Mapping[str, Fact] = field(default_factory=dict[str, Fact])
    than: Mapping[str, Fact] = field(default_factory=dict[str, Fact])
    along: str = ""
    per: tuple[str, ...] = ()
    cases: Literal["all", "nearly all", "most"] = "all"
    factor: str = "1"  # an expression over ids, like the next and both limits
    factors: tuple[str, ...] = ()  # of each of `pairs`, instead of `factor`
    within: Annotated[float, Field(gt=1)] = 1.25
    least: str = ""
    most: str = ""
    wider: tuple[FactPair, ...] = ()  # one, or none; which over than
    narrower: tuple[FactPair, ...] = ()
    pairs: tuple[FactPair, ...] = ()
    others: tuple[FactPair, ...] = ()
    weights: tuple[int, ...] = ()
    needs: str = ""  # what a campaign would need, if none that comes with perjoule measures it
    unmodelled: str = ""  # why modelled watts can't tell
    emulated: str = ""  # what decides it there and hardly counts on emulated hosts

    def allowed_count(self, count: int) -> int:
        """Return how many of its cases may be reversed."""
        allowed = {"all": 0, "nearly all": count // NEARLY_ALL_PER_CASE, "most": (count - 1) // 2}
        return max(0, allowed[self.cases])

    @property
    def expressions(self) -> tuple[str, ...]:
        """All expressions over ids."""
        return self.holds, self.factor, *self.factors, self.least, self.most


@dataclass(frozen=True)
class Axis:
    """The axis of a figure, in SI units: what it shows lies between the first and the last tick, or a step
    beyond.

    Where the distance of ticks is not known, the step is 0.
    """

    quantity: str  # a key of QUANTITIES; of something normalized "ratio"
    first: float
    last: float
    step: float
    unit: str  # as printed
    scale: Literal["linear", "log"]
    status: Literal["bound"]

    @property
    def factor(self) -> float:
        """What one of the printed unit is in SI."""
        return QUANTITIES[self.quantity][self.unit]

    @property
    def words(self) -> str:
        """Its ends in words: "40 to 62 W"."""
        return f"{self.first / self.factor:g} to {self.last / self.factor:g} {self.unit}".strip()


@dataclass(frozen=True)
class Figure:
    """A figure of a paper that shows results.

    Of its values only the axis is known, and those that the paper prints elsewhere: `shows` has their facts.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    place: str  # "Figure 2"
    caption: str
    quantity: str  # a key of QUANTITIES
    axis: Axis | None = None  # of its values
    shows: Mapping[str, Fact] = field(default_factory=dict[str, Fact])  # the facts of printed numbers in it


@dataclass(frozen=True)
class Paper:
    """A paper.

    A configuration has facts (cluster, file system, version, ...), and bounds, which are expressions over
    ids.
    """

    name: str
    title: str
    authors: str
    reference: str
    year: int | None  # None where nothing printed says it
    doi: str
    numbers: tuple[PrintedNumber, ...]
    claims: tuple[Claim, ...]
    configurations: Mapping[str, Mapping[str, Fact]]
    bounds: Mapping[str, Mapping[str, str]]
    notes: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()  # that show results
    tables: tuple[str, ...] = ()  # places laid out in rows and columns
    # claims are made without a paper: each table names its page and date
    kind: Literal["paper", "claims"] = "paper"

    def number(self, id: str) -> PrintedNumber:
        """Find a number by its id. Raises KeyError."""
        return self._by_id[id]

    @cached_property
    def _by_id(self) -> Mapping[str, PrintedNumber]:
        return {number.id: number for number in self.numbers}

    def find(self, **facts: Fact) -> tuple[PrintedNumber, ...]:
        """List the numbers with all these facts, as in `find(quantity="throughput", direction="read")`."""
        return tuple(number for number in self.numbers if facts.items() <= number.words.items())

    def shown(self, figure: Figure) -> tuple[PrintedNumber, ...]:
        """List the printed numbers that a figure shows."""
        return self.find(**figure.shows) if figure.shows else ()

    def values(self, fact: str) -> tuple[str, ...]:
        """List the values of a fact over all numbers: the clusters, the file systems, ..."""
        return tuple(
            dict.fromkeys(str(number.facts[fact]) for number in self.numbers if fact in number.facts)
        )
