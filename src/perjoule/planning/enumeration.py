"""All candidates of a space, computed at the values of all quantities and compared with the need."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import ceil
from typing import Literal

import numpy as np

from perjoule.planning import measures
from perjoule.planning.candidates import Space
from perjoule.planning.measures import OBJECTIVES, Measure
from perjoule.planning.need import Need
from perjoule.planning.outcome import EXACT, Outcome, columns, demands, fits, fleet, outcome, pressing
from perjoule.planning.quantities import Bools, Floats, Ints
from perjoule.prediction import RESOURCES, bound_bytes_per_s


@dataclass(frozen=True)
class Constraint:
    """A demand or a limit of the need; its strain is above 1 where it is not met."""

    key: str  # of the need
    measure: Measure
    needed: float

    @property
    def least(self) -> bool:
        """Whether it is needed as a minimum, else as a maximum."""
        return self.measure.better == "higher"

    @property
    def eased(self) -> Literal["lower", "raise"]:
        """How a need asks for less. Durability is computed as losses, and written as the chance of none."""
        return "lower" if self.least or self.measure is measures.LOSSES else "raise"

    def strain(self, computed: Outcome) -> Floats:
        """Return by what factor candidates miss it (above 1), or have to spare."""
        reached = computed[self.measure]
        return self.needed / reached if self.least else reached / self.needed

    def moved(self, reached: float) -> float:
        """Return the value of the need with which a candidate that reaches this just meets it."""
        return ceil(reached) if self.measure.integer else reached

    def in_need(self, value: float) -> float:
        """Return a value of its measure as the need has it, in SI units."""
        return 1 - value if self.measure is measures.LOSSES else value

    def text(self, value: float) -> str:
        """Print a value of it as a need may hold it: four digits, rounded to the side on which what
        reaches it still meets it.
        """
        four = Context(prec=4, rounding=ROUND_FLOOR if self.least else ROUND_CEILING)
        in_unit = value / self.measure.unit.per * (1 + EXACT if self.least else 1 - EXACT)
        rounded = four.create_decimal_from_float(in_unit)
        if self.measure is measures.LOSSES:
            if value == self.needed:  # as it was written
                return f"{100 * self.in_need(value):.15g} %"
            return f"{(100 * max(Decimal(), 1 - rounded)).normalize():f} %"
        return f"{ceil(in_unit) if self.measure.integer else float(rounded):.10g} {self.measure.unit.symbol}".rstrip()


@dataclass(frozen=True)
class Candidates:
    """Many candidates, in columns."""

    machine: Ints
    servers_count: Ints
    choice: Ints
    objectives: Floats  # (n, 4), each the better the lower
    strains: Floats  # (n, constraints)

    def __len__(self) -> int:
        return len(self.machine)

    def of(self, places: Ints) -> "Candidates":
        """Return some of them."""
        return Candidates(
            self.machine[places],
            self.servers_count[places],
            self.choice[places],
            self.objectives[places],
            self.strains[places],
        )

    @property
    def meets(self) -> Bools:
        """Which of them meet all constraints."""
        return np.all(self.strains <= 1, axis=1)


def constraints(need: Need) -> tuple[Constraint, ...]:
    """List what a need demands."""
    limits = need.limits
    bounds = [
        ("capacity", measures.CAPACITY, need.capacity_bytes),
        ("read", measures.SERVERS_READ, need.read_bytes_per_s),
        ("write", measures.SERVERS_WRITE, need.write_bytes_per_s),
        ("clients", measures.CLIENTS, need.clients_count),
        ("durability", measures.LOSSES, need.durability_ratio and 1 - need.durability_ratio),
        ("limits.power", measures.PEAK, limits.power_w),
        ("limits.money", measures.MONEY, limits.money and limits.money.value),
        ("limits.rack_units", measures.RACK_UNITS, limits.rack_units),
    ]
    return tuple(Constraint(key, measure, needed) for key, measure, needed in bounds if needed is not None)


def met(need: Need, computed: Outcome) -> Bools:
    """Return where all constraints hold."""
    holds = [
        constraint.needed <= computed[constraint.measure]
        if constraint.least
        else computed[constraint.measure] <= constraint.needed
        for constraint in constraints(need)
    ]
    return np.all(np.stack(holds), axis=0)


def all_candidates(space: Space, need: Need) -> Candidates:
    """Compute every candidate of a space, whether it meets the need or not."""
    need_constraints, machine_columns = constraints(need), columns(space)
    machines = np.arange(len(space.machines))[:, None]
    counts = space.counts[None, :]
    machine_columns = machine_columns.of(machines)
    shape = (len(machines), counts.shape[1])
    fitting = [fits(choice, machine_columns.drives_count, counts) for choice in space.choices]
    sizes = [int(np.count_nonzero(mask)) for mask in fitting]
    ends = np.cumsum(sizes)
    objectives, strains = np.empty((ends[-1], len(OBJECTIVES))), np.empty((ends[-1], len(need_constraints)))
    every = np.empty((3, ends[-1]), dtype=np.intp)
    world = space.book.values
    for number, (choice, mask, size, end) in enumerate(zip(space.choices, fitting, sizes, ends, strict=True)):
        rows = slice(end - size, end)
        computed = outcome(space, need, choice, machine_columns, counts, world)
        for column, objective in enumerate(OBJECTIVES):
            value = np.broadcast_to(computed[objective], shape)[mask]
            objectives[rows, column] = -value if objective.better == "higher" else value
        for column, constraint in enumerate(need_constraints):
            strains[rows, column] = np.broadcast_to(constraint.strain(computed), shape)[mask]
        every[0, rows] = np.broadcast_to(machines, shape)[mask]
        every[1, rows] = np.broadcast_to(counts, shape)[mask]
        every[2, rows] = number
    return Candidates(every[0], every[1], every[2], objectives, strains)


def outcomes(space: Space, need: Need, some: Candidates, world: Floats) -> Outcome:
    """Compute candidates again in one state of the world, or in many, shape (draws, quantities), each a
    row of the result.
    """
    machine_columns = columns(space)
    shape = (*world.shape[:-1], len(some))
    computed: Outcome = {}
    for number in map(int, np.unique(some.choice)):
        places = np.flatnonzero(some.choice == number)
        of_choice = outcome(
            space,
            need,
            space.choices[number],
            machine_columns.of(some.machine[places]),
            some.servers_count[places],
            world,
        )
        computed = computed or {measure: np.empty(shape) for measure in of_choice}
        for measure, values in of_choice.items():
            computed[measure][..., places] = values
    return computed


def bottleneck(space: Space, need: Need, some: Candidates) -> list[tuple[str, str]]:
    """Name the resource that binds each candidate's reading, and its writing."""
    machine_columns, world = columns(space), space.book.values
    worst = np.empty((2, len(some)), dtype=np.intp)
    for number in map(int, np.unique(some.choice)):
        places = np.flatnonzero(some.choice == number)
        machines = machine_columns.of(some.machine[places])
        hardware = fleet(need, machines.drives_count, machines.values(world), some.servers_count[places])
        choice = space.choices[number]
        for direction, (pace, demand) in enumerate(
            zip((choice.reading, choice.writing), demands(choice, world), strict=True)
        ):
            worst[direction, places] = bound_bytes_per_s(pressing(pace, demand), hardware)[1]
    return [(RESOURCES[read], RESOURCES[write]) for read, write in worst.T.tolist()]
