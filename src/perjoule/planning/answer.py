"""The answer to a need: the front with its bands, what to pick by each aim and with least regret, or the
nearest possible.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from perjoule.planning import measures
from perjoule.planning.candidates import Choice, EquippedServer, Space, space
from perjoule.planning.contradictions import Measurement, measurements
from perjoule.planning.enumeration import (
    Candidates,
    Constraint,
    all_candidates,
    bottleneck,
    constraints,
    met,
    outcomes,
)
from perjoule.planning.front import front
from perjoule.planning.measures import AIMS, Measure
from perjoule.planning.need import DAY_S, YEAR_S, Need, Question
from perjoule.planning.outcome import Outcome
from perjoule.planning.parts import stand_in
from perjoule.planning.quantities import Bools, Floats
from perjoule.planning.ranking import Change, changes

DRAWS_COUNT = 400
SEED = 1
BAND = (5.0, 95.0)  # percentiles
MOVES_COUNT = 5
LEAST_REGRET = "least regret"
SURE_RATIO = 0.9  # of the draws in which the pick with least regret meets the need


@dataclass(frozen=True)
class Banded:
    """A value, and the 5th and 95th percentile of its draws."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """One candidate."""

    # in the order of the front, from 1: by energy, those that a measurement contradicts behind the others
    id: int
    machine: EquippedServer
    choice: Choice
    servers_count: int
    hosts_count: int
    switch: str
    switch_title: str
    switches_count: int
    values: Mapping[Measure, Banded]
    binds_read: str  # a resource
    binds_write: str
    tightest: str  # the constraint with least to spare
    spare_ratio: float  # of it: 0.1 is a tenth more than needed
    meets_ratio: float  # share of draws in which all constraints hold
    regret_ratio: float  # 95th percentile over draws of the worst aim's distance from its best
    picks: tuple[str, ...]  # "energy", "least regret", ...
    measurements: tuple[Measurement, ...]  # of the same servers and file system, where the profile was wrong

    @property
    def contradicted(self) -> bool:
        """Whether a measurement contradicts what is predicted of it: it is picked only if all are, and
        comes after the others.
        """
        return any(measurement.contradicts for measurement in self.measurements)

    @property
    def text(self) -> str:
        """A short form: "5 x Odroid HC4, 2 x Seagate Exos X12 12 TB each, 1 GbE, MooseFS 2 copies"."""
        server, drive, network = self.machine.titles
        return (
            f"{self.servers_count} x {server}, {self.machine.drives_count} x {drive} each, {network}, "
            f"{self.choice.text}"
        )


@dataclass(frozen=True)
class Move:
    """Constraints that, moved to what a candidate reaches and all others kept, make a need possible."""

    constraints: tuple[tuple[Constraint, float], ...]
    row: Row


@dataclass(frozen=True)
class Answer:
    """What a need comes to.

    Without rows it is impossible, and `moves` and `nearest` say how near one gets.
    """

    question: Question
    space: Space
    candidates_count: int
    possible_count: int
    rows: tuple[Row, ...]
    changes: tuple[Change, ...]
    moves: tuple[Move, ...]
    nearest: Row | None

    def pick(self, name: str) -> Row:
        """Return the row of a pick."""
        return next(row for row in self.rows if name in row.picks)


def answer(question: Question, draws_count: int = DRAWS_COUNT) -> Answer:
    """Answer a need. Raises CampaignError if the parts leave no candidate."""
    need, design_space = question.need, space(question)
    every = all_candidates(design_space, need)
    possible = np.flatnonzero(every.meets)
    if not len(possible):
        moves, nearest = _impossible(question, design_space, every, draws_count)
        return Answer(question, design_space, len(every), 0, (), (), moves, nearest)
    best = every.of(possible[front(every.objectives[possible])])
    best = best.of(np.argsort(best.objectives[:, 0], kind="stable"))
    front_rows = list(_rows(question, design_space, best, draws_count))
    sound = [n for n, row in enumerate(front_rows) if not row.contradicted] or [*range(len(front_rows))]
    rows = (
        replace(row, id=n)
        for n, row in enumerate(sorted(front_rows, key=lambda row: row.contradicted), start=1)
    )
    turned = changes(design_space, need, best.of(np.array(sound)))
    return Answer(question, design_space, len(every), len(possible), tuple(rows), turned, (), None)


def derived(need: Need, outcome: Outcome) -> Outcome:
    """Return joules by what was stored and moved: of the idle cluster, of the load above it, and of both
    together.

    TB and years are those of the need, not what a candidate could hold.
    """
    tb_years = need.capacity_bytes / measures.TB.per * need.years
    moved_tib = (
        (need.read_per_day_bytes + need.written_per_day_bytes)
        * need.years
        * YEAR_S
        / DAY_S
        / measures.TIB.per
    )
    energy_j, idle_j = outcome[measures.ENERGY], outcome[measures.IDLE_ENERGY]
    by = {measures.STORED: idle_j / tb_years, measures.STORED_WHOLE: energy_j / tb_years}
    return (
        by | {measures.MOVED: (energy_j - idle_j) / moved_tib, measures.MOVED_WHOLE: energy_j / moved_tib}
        if moved_tib
        else by
    )


def regrets(aims: Floats, meets: Bools) -> Floats:
    """Return the regret of candidates: how much worse than the best of a draw is the worst of their aims, at
    its 95th percentile.

    Where the best costs nothing, such as money of hardware that one has, none is worse by 0 % and all others
    without a limit.

    Args:
        aims: shape (draws, candidates, aims), each the better the lower.
        meets: shape (draws, candidates): only candidates that meet the need in a draw count as its best.
    """
    best: Floats = np.min(np.where(meets[..., None], aims, np.inf), axis=1, keepdims=True)
    best = np.where(np.isfinite(best), best, np.min(aims, axis=1, keepdims=True))
    with np.errstate(divide="ignore", invalid="ignore"):
        worst: Floats = np.max(np.where(aims == best, 0.0, aims / best - 1), axis=2)
        regret_ratios = np.percentile(worst, BAND[1], axis=0)  # between two infinite ones it is undefined
    return np.asarray(np.where(np.isnan(regret_ratios), np.inf, regret_ratios), dtype=np.float64)


def _rows(question: Question, design_space: Space, some: Candidates, draws_count: int) -> Iterator[Row]:
    need, servers = question.need, question.parts.server
    need_constraints = constraints(need)
    central = outcomes(design_space, need, some, design_space.book.values)
    drawn = outcomes(design_space, need, some, design_space.book.draws(draws_count, SEED))
    central, drawn = central | derived(need, central), drawn | derived(need, drawn)
    meets = met(need, drawn)
    sure = meets.mean(axis=0)
    bands = {measure: np.percentile(values, BAND, axis=0) for measure, values in drawn.items()}
    measured = [
        tuple(
            measurements(
                stand_in(server := design_space.machines[int(some.machine[n])].server, servers[server]),
                design_space.choices[int(some.choice[n])],
                int(some.servers_count[n]),
                {rate: float(central[rate][n]) for rate in (measures.READ, measures.WRITE)},
            )
        )
        for n in range(len(some))
    ]
    sound = np.array(
        [
            not any(measurement.contradicts for measurement in row_measurements)
            for row_measurements in measured
        ]
    )
    sound |= not sound.any()
    regret = regrets(np.stack([drawn[aim] for aim in AIMS], axis=-1), meets & sound)
    picks = _picks(central, sure, regret, sound)
    binding = bottleneck(design_space, need, some)
    for n in range(len(some)):
        machine, choice = (
            design_space.machines[int(some.machine[n])],
            design_space.choices[int(some.choice[n])],
        )
        hosts_count = int(some.servers_count[n]) + choice.further_hosts_count
        switches = design_space.switches[machine.network]
        tightest = int(np.argmax(some.strains[n]))
        yield Row(
            n + 1,
            machine,
            choice,
            int(some.servers_count[n]),
            hosts_count,
            switch := switches.names[int(switches.choice[hosts_count])],
            design_space.titles[f"switch {switch}"],
            int(switches.count[hosts_count]),
            {
                measure: Banded(float(central[measure][n]), float(low[n]), float(high[n]))
                for measure, (low, high) in bands.items()
            },
            *binding[n],
            need_constraints[tightest].key,
            float(1 / some.strains[n, tightest] - 1),
            float(sure[n]),
            float(regret[n]),
            tuple(name for name, place in picks.items() if place == n),
            measured[n],
        )


def _picks(central: Outcome, sure: Floats, regret: Floats, sound: Bools) -> dict[str, int]:
    """Choose a row by each aim, and the one with least regret of those that are sure to meet the need, or of
    the surest.

    Of the sound ones: of candidates that no measurement contradicts.
    """
    picks = {aim.name: int(np.argmin(np.where(sound, central[aim], np.inf))) for aim in AIMS}
    picks[measures.THROUGHPUT.name] = int(np.argmax(np.where(sound, central[measures.THROUGHPUT], -np.inf)))
    enough = sound & (sure >= min(SURE_RATIO, sure[sound].max()))
    picks[LEAST_REGRET] = int(np.argmin(np.where(enough, regret, np.inf)))
    return picks


def _impossible(
    question: Question, design_space: Space, every: Candidates, draws_count: int
) -> tuple[tuple[Move, ...], Row]:
    """Find the fewest constraints to move, and how far: one set of them for each candidate that misses no
    more than these.

    Of the candidates that miss the same constraints, and of all for `nearest`, the one whose worst miss is
    smallest counts; of those with the same worst miss, such as too few clients, the one whose next miss is
    smallest.
    """
    need_constraints = constraints(question.need)
    missed = every.strains > 1
    order = np.lexsort(np.sort(every.strains, axis=1).T)  # the last key, the worst miss, counts most
    misses_count = missed[order].sum(axis=1)
    few = order[misses_count == misses_count.min()]
    firsts = np.sort(np.unique(missed[few], axis=0, return_index=True)[1])[:MOVES_COUNT]
    places = [int(place) for place in few[firsts]]
    rows = list(_rows(question, design_space, every.of(np.array([*places, order[0]])), draws_count))
    moves = (
        Move(
            tuple(
                (constraint, constraint.moved(row.values[constraint.measure].value))
                for constraint, miss in zip(need_constraints, misses, strict=True)
                if miss
            ),
            row,
        )
        for misses, row in zip(missed[places], rows, strict=False)
    )
    return tuple(moves), rows[-1]
