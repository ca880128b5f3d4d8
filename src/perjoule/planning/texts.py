"""An answer in words and as data: the table of the terminal and of the page, and what `--json` prints."""

from collections.abc import Iterator, Sequence
from functools import partial
from math import ceil

from perjoule.model.format import percent
from perjoule.model.units import counted
from perjoule.planning import measures
from perjoule.planning.answer import LEAST_REGRET, Answer, Move, Row
from perjoule.planning.enumeration import Constraint
from perjoule.planning.measures import AIMS, Measure
from perjoule.planning.ranking import Change

SHOWN_COUNT = 12  # rows of the terminal
CHANGES_COUNT = 3  # for each aim
_SHOWN = (measures.THROUGHPUT, measures.IDLE, *AIMS)  # columns
_UNITS = {one: one.unit.symbol for one in _SHOWN} | {
    measures.IDLE: f"{measures.IDLE.words} {measures.IDLE.unit.symbol}"
}
HEADERS = ("#", "servers", "each", "file system", *_UNITS.values(), "meets", "regret", "best at")
WORDS = ("each", "file system", "best at")  # of them, those of columns that hold words
CONTRADICTED = "a measurement contradicts it"
TOTALS = f"{measures.ENERGY.unit.symbol}, {measures.MONEY.unit.symbol} and {measures.CARBON.unit.symbol}"


def shown(answer: Answer, count: int = SHOWN_COUNT) -> list[Row]:
    """Choose rows to show: every pick, and others spread evenly over the front."""
    picked = {row.id for row in answer.rows if row.picks}
    others = [row.id for row in answer.rows if not row.picks]
    spread = others[:: ceil(len(others) / max(1, count - len(picked))) or 1]
    return [row for row in answer.rows if row.id in picked | {*spread}]


def cells(row: Row) -> tuple[str, ...]:
    """Lay a row out under HEADERS."""
    return (
        str(row.id),
        str(row.servers_count),
        f"{row.machine.server}, {row.machine.drives_count} x {row.machine.drive}, {row.machine.network}",
        row.choice.text,
        *(one.number(row.values[one].value) for one in _SHOWN),
        f"{percent(row.meets_ratio)} %",
        f"{percent(row.regret_ratio)} %",
        CONTRADICTED if row.contradicted else ", ".join(row.picks),
    )


def banded(row: Row, what: Measure) -> str:
    """Print a value of a row with its band: "412 (350 to 520) W"."""
    band = row.values[what]
    return (
        f"{what.number(band.value)} ({what.number(band.low)} to {what.number(band.high)}) {what.unit.symbol}"
    )


def about(row: Row) -> Iterator[str]:
    """Describe a row in a few lines, each value with its band."""
    of = partial(banded, row)
    further = (
        f", {row.hosts_count - row.servers_count} more without disks"
        if row.hosts_count > row.servers_count
        else ""
    )
    yield f"{row.text}{further}; {row.switches_count} x switch {row.switch}"
    read, write = f"read {of(measures.READ)}", f"write {of(measures.WRITE)}"
    yield f"{read}, where {row.binds_read} takes the longest; {write}, where {row.binds_write} does"
    yield (
        f"idle {of(measures.IDLE)}, at the rates of the need {of(measures.PEAK)}; {of(measures.ENERGY)} "
        f"{measures.ENERGY.words}"
    )
    per = [f"stored {of(measures.STORED)} (the idle cluster)"]
    if measures.MOVED in row.values:
        per += [f"moved {of(measures.MOVED)} (above idle)", f"together {of(measures.MOVED_WHOLE)} moved"]
    yield "; ".join(per)
    yield f"{of(measures.MONEY)}, of it {measures.PURCHASE.words} {of(measures.PURCHASE)}"
    yield f"{of(measures.CARBON)}, of it {measures.EMBODIED.words} {of(measures.EMBODIED)}"
    losses = row.values[measures.LOSSES]
    yield (
        f"loses data {losses.value:.1g} ({losses.low:.1g} to {losses.high:.1g}) times a year at most, by "
        "failures of disks"
    )
    yield f"least to spare: {row.tightest} ({percent(row.spare_ratio)} %); {sure_text(row)}"
    yield from measured_lines(row)


def sure_text(row: Row) -> str:
    """Say how sure a candidate is to meet the need, and how wrong it can be."""
    return (
        f"meets the need in {percent(row.meets_ratio)} % of the draws; regret {percent(row.regret_ratio)} %"
    )


def measured_lines(row: Row) -> Iterator[str]:
    """Say what was measured of the same servers and file system, where it differs from its prediction:
    what contradicts first.
    """
    for one in sorted(row.measurements, key=lambda one: not one.contradicts):
        if one.contradicts:
            yield f"contradicted: {one.text}; here {banded(row, one.what)} are predicted"
        else:
            yield f"may be as wrong: {one.text}"


def less_regret(answer: Answer) -> str:
    """Name the candidates with less regret than the pick, and why they are not it; "" without any."""
    best = answer.pick(LEAST_REGRET)
    others = [row for row in answer.rows if row.regret_ratio < best.regret_ratio]
    each = [
        f"candidate {row.id} ({percent(row.regret_ratio)} %) "
        + (
            f"is not picked: {CONTRADICTED}"
            if row.contradicted
            else f"meets the need in {percent(row.meets_ratio)} % of the draws alone"
        )
        for row in others
    ]
    return f"less regret: {'; '.join(each)}" if each else ""


def change_text(change: Change) -> str:
    """Say what it takes to change a ranking."""
    one = change.quantity
    side = "above" if change.above else "below"
    now = f"now {one.text(one.value)}, {one.text(one.low)} to {one.text(one.high)}"
    return (
        f"least {change.aim}: {one.name} {side} {one.text(change.threshold)} ({now}): {change.then} instead "
        f"of {change.best}"
    )


def main_changes(answer: Answer) -> list[Change]:
    """Return the changes of the ranking that are nearest, a few for each aim."""
    kept: list[Change] = []
    for change in answer.changes:
        if sum(one.aim == change.aim for one in kept) < CHANGES_COUNT:
            kept.append(change)
    return sorted(kept, key=lambda one: one.aim)


def move_text(move: Move) -> str:
    """Say which constraints to move, and to what."""
    steps = (
        f"remove {one.key}"
        if one.own(possible) <= 0  # data are lost more than once a year
        else f"{one.eased} {one.key} from {one.text(one.needed)} to {one.text(possible)}"
        for one, possible in move.constraints
    )
    return f"{' and '.join(steps)}: {move.row.text}"


def heading(answer: Answer) -> str:
    """Head the moves of a need that is impossible."""
    alone = all(len(move.constraints) == 1 for move in answer.moves)
    return "what to move, any of these:" if alone else "no single limit to move; any of these together:"


def most_tried(answer: Answer) -> str:
    """Say that more servers may do where candidates have as many as were tried; "" where none has."""
    most_count = answer.question.need.limits.servers_count
    rows = [row for row in (answer.nearest, *(move.row for move in answer.moves)) if row]
    if all(row.servers_count < most_count for row in rows):
        return ""
    return (
        f"at most {counted(most_count, 'server')} with data were tried: more may meet the need, if you "
        "raise limits.servers"
    )


def misses(row: Row, wanted: Sequence[Constraint]) -> list[str]:
    """Say what a candidate misses of a need."""
    found: list[str] = []
    for one in wanted:
        reached = row.values[one.what].value
        if (reached < one.needed) if one.least else (reached > one.needed):
            found.append(f"{one.key} {one.text(reached)} instead of {one.text(one.needed)}")
    return found


def row_data(row: Row) -> dict[str, object]:
    """Return a row as data for JSON, in SI units."""
    return {
        "id": row.id,
        "server": row.machine.server,
        "servers_count": row.servers_count,
        "further_hosts_count": row.hosts_count - row.servers_count,
        "drive": row.machine.drive,
        "drives_count": row.machine.drives_count,
        "network": row.machine.network,
        "switch": row.switch,
        "switches_count": row.switches_count,
        "filesystem": row.choice.filesystem,
        "options": row.choice.options,
        "redundancy": row.choice.redundancy.text,
        "binds": {"read": row.binds_read, "write": row.binds_write},
        "tightest": row.tightest,
        "spare_ratio": row.spare_ratio,
        "meets_ratio": row.meets_ratio,
        "regret_ratio": row.regret_ratio,
        "picks": row.picks,
        "contradicted": row.contradicted,
        "measurements": [{**vars(one.published), "contradicts": one.contradicts} for one in row.measurements],
        "values": {one.key: band for one, band in row.values.items()},
    }


def as_data(answer: Answer) -> dict[str, object]:
    """Return an answer as data for JSON, in SI units."""
    return {
        "need": answer.question.need.name,
        "candidates_count": answer.candidates_count,
        "possible_count": answer.possible_count,
        "rows": [row_data(row) for row in answer.rows],
        "changes": [
            {
                "aim": one.aim,
                "quantity": one.quantity.name,
                "value": one.quantity.value,
                "threshold": one.threshold,
            }
            | {"above": one.above, "best": one.best, "then": one.then}
            for one in answer.changes
        ],
        "moves": [
            {
                "constraints": [
                    {"key": key.key, "asked": key.own(key.needed), "possible": key.own(possible)}
                    for key, possible in one.constraints
                ],
                "row": row_data(one.row),
            }
            for one in answer.moves
        ],
        "nearest": row_data(answer.nearest) if answer.nearest else None,
    }
