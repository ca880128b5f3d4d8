"""All candidates of a space, computed at the values of all quantities and compared with the need."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from perjoule.planning.candidates import Space
from perjoule.planning.need import Need
from perjoule.planning.outcome import OBJECTIVES, Outcome, columns, demands, fits, fleet, outcome
from perjoule.planning.quantities import SPEED, Bools, Floats, Ints
from perjoule.prediction import RESOURCES, bound_bytes_per_s


@dataclass(frozen=True)
class Constraint:
    """A demand or a limit of the need; its strain is above 1 where it is not met."""

    key: str  # of the need
    what: str  # of an Outcome
    needed: float
    least: bool  # as a minimum, else a maximum
    unit: str
    per: float

    def strain(self, found: Outcome) -> Floats:
        """Return by what factor candidates miss it (above 1), or have to spare."""
        reached: Floats = getattr(found, self.what)
        return self.needed / reached if self.least else reached / self.needed

    def text(self, value: float) -> str:
        """Print a value of it."""
        return f"{value / self.per:.4g} {self.unit}".rstrip()

    def at(self, strain: float) -> float:
        """Return what a candidate of this strain reaches."""
        return self.needed / strain if self.least else self.needed * strain


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
            self.machine[places], self.servers_count[places], self.choice[places], self.objectives[places], self.strains[places]
        )

    @property
    def meets(self) -> Bools:
        """Which of them meet all constraints."""
        return np.all(self.strains <= 1, axis=1)


def constraints(need: Need) -> tuple[Constraint, ...]:
    """List what a need demands."""
    limits = need.limits
    found = [Constraint("capacity", "capacity_bytes", need.capacity_bytes, True, "TB", 1e12)]
    if need.read_bytes_per_s:
        found.append(Constraint("read", "read_bytes_per_s", need.read_bytes_per_s, True, SPEED.symbol, SPEED.per))
    if need.write_bytes_per_s:
        found.append(Constraint("write", "write_bytes_per_s", need.write_bytes_per_s, True, SPEED.symbol, SPEED.per))
    if need.durability_ratio:
        found.append(Constraint("durability", "losses_per_year", 1 - need.durability_ratio, False, "losses a year", 1))
    if limits.power_w:
        found.append(Constraint("limits.power", "peak_w", limits.power_w, False, "W", 1))
    if limits.money:
        found.append(Constraint("limits.money", "money_usd", limits.money.value, False, "USD", 1))
    if limits.rack_units:
        found.append(Constraint("limits.rack_units", "rack_units", limits.rack_units, False, "rack units", 1))
    return tuple(found)


def met(need: Need, found: Mapping[str, Floats]) -> Bools:
    """Return where all constraints hold, by the fields of an Outcome."""
    holds = [one.needed <= found[one.what] if one.least else found[one.what] <= one.needed for one in constraints(need)]
    return np.all(np.stack(holds), axis=0)


def all_candidates(space: Space, need: Need) -> Candidates:
    """Compute every candidate of a space, whether it meets the need or not."""
    wanted, there = constraints(need), columns(space)
    machines = np.arange(len(space.machines))[:, None]
    counts = space.counts[None, :]
    there = there.of(machines)
    shape = (len(machines), counts.shape[1])
    fitting = [fits(choice, there.drives_count, counts) for choice in space.choices]
    sizes = [int(np.count_nonzero(one)) for one in fitting]
    ends = np.cumsum(sizes)
    objectives, strains = np.empty((ends[-1], len(OBJECTIVES))), np.empty((ends[-1], len(wanted)))
    every = np.empty((3, ends[-1]), dtype=np.intp)
    world = space.book.values
    for number, (choice, mask, size, end) in enumerate(zip(space.choices, fitting, sizes, ends, strict=True)):
        rows = slice(end - size, end)
        found = outcome(space, need, choice, there, counts, world)
        for column, key in enumerate(OBJECTIVES):
            value = np.broadcast_to(getattr(found, key), shape)[mask]
            objectives[rows, column] = -value if key == OBJECTIVES[-1] else value
        for column, one in enumerate(wanted):
            strains[rows, column] = np.broadcast_to(one.strain(found), shape)[mask]
        every[0, rows] = np.broadcast_to(machines, shape)[mask]
        every[1, rows] = np.broadcast_to(counts, shape)[mask]
        every[2, rows] = number
    return Candidates(every[0], every[1], every[2], objectives, strains)


def outcomes(space: Space, need: Need, some: Candidates, world: Floats) -> dict[str, Floats]:
    """Compute candidates again in one state of the world, or in many, shape (draws, quantities), each a row of the result.

    Returns the fields of Outcome by name, in the order of the candidates.
    """
    there = columns(space)
    shape = (*world.shape[:-1], len(some))
    found = {key: np.empty(shape) for key in Outcome.__annotations__}
    for number in map(int, np.unique(some.choice)):
        places = np.flatnonzero(some.choice == number)
        one = outcome(space, need, space.choices[number], there.of(some.machine[places]), some.servers_count[places], world)
        for key, values in found.items():
            values[..., places] = getattr(one, key)
    return found


def bottleneck(space: Space, need: Need, some: Candidates) -> list[tuple[str, str]]:
    """Name the resource that binds each candidate's reading, and its writing."""
    there, world = columns(space), space.book.values
    worst = np.empty((2, len(some)), dtype=np.intp)
    for number in map(int, np.unique(some.choice)):
        places = np.flatnonzero(some.choice == number)
        hardware = fleet(need, there.of(some.machine[places]), some.servers_count[places], world)
        for direction, demand in enumerate(demands(space.choices[number], world)):
            worst[direction, places] = bound_bytes_per_s(demand, hardware)[1]
    return [(RESOURCES[read], RESOURCES[write]) for read, write in worst.T.tolist()]
