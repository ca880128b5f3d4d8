"""An answer in words and as data: the table of the terminal and of the page, and what `--json` prints."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import ceil

from perjoule.model.format import percent
from perjoule.model.units import counted
from perjoule.planning import measures
from perjoule.planning.answer import LEAST_REGRET, SURE_RATIO, Answer, Move, Row
from perjoule.planning.enumeration import Constraint
from perjoule.planning.measures import AIMS, Measure
from perjoule.planning.ranking import Change

SHOWN_COUNT = 12  # rows of the terminal
CHANGES_COUNT = 3  # for each aim
_SHOWN = (measures.THROUGHPUT, measures.IDLE, *AIMS)  # columns
_UNITS = {measure: measure.unit.symbol for measure in _SHOWN} | {
    measures.IDLE: f"{measures.IDLE.qualifier} {measures.IDLE.unit.symbol}"
}
HEADERS = ("#", "cluster", *_UNITS.values(), "meets", "regret", "best at")
SPARE = (_UNITS[measures.IDLE],)  # of them, what a narrow terminal can do without
WORDS = ("cluster", "best at")  # of them, those of columns that hold words
CONTRADICTED = "a measurement contradicts it"
_KEY_TEXTS = {  # of parts
    "active": "active power",
    "bend": "power that follows the cube of CPU use",
    "card": "power of the card",
    "card_embodied": "embodied carbon of the card",
    "card_price": "price of the card",
    "disks_per_year": "failing disks per year",
    "dynamic": "power of the CPUs at work above idle",
    "embodied": "embodied carbon",
    "embodied_per_tb": "embodied carbon by capacity",
    "goodput": "throughput",
    "idle": "idle power",
    "mean": "mean power",
    "mips": "CPU speed",
    "port": "throughput of all disks together",
    "price_per_tb": "price by capacity",
    "read": "read throughput",
    "read_cpu": "CPU work per byte read",
    "read_reached": "read throughput over its prediction",
    "rebuild": "share of a disk's throughput that makes lost data again",
    "stations at once, read": "servers that a client reads from at once",
    "stations at once, write": "servers that a client writes to at once",
    "step": "power that the least load adds",
    "supply_efficiency": "efficiency of the power supply",
    "sustained": "power at sustained writes",
    "sustained_write": "sustained write throughput",
    "watts": "power",
    "write": "write throughput",
    "write_cpu": "CPU work per byte written",
    "write_reached": "write throughput over its prediction",
}
_NAME_TEXTS = {"electricity": "price of electricity", "grid": "carbon of electricity"}
_SHARED = "failure"  # the part of what belongs to no part
TOTALS = f"{measures.ENERGY.unit.symbol}, {measures.MONEY.unit.symbol} and {measures.CARBON.unit.symbol}"


def shown(answer: Answer, count: int = SHOWN_COUNT) -> list[Row]:
    """Choose rows to show: every pick, and others spread evenly over the front."""
    picked = {row.id for row in answer.rows if row.picks}
    unpicked = [row.id for row in answer.rows if not row.picks]
    spread = unpicked[:: ceil(len(unpicked) / max(1, count - len(picked))) or 1]
    return [row for row in answer.rows if row.id in picked | {*spread}]


def cells(row: Row) -> tuple[str, ...]:
    """Lay a row out under HEADERS."""
    return (
        str(row.id),
        row.text,
        *(measure.number(row.values[measure].value) for measure in _SHOWN),
        f"{percent(row.meets_ratio)} %",
        f"{percent(row.regret_ratio)} %",
        CONTRADICTED if row.contradicted else ", ".join(row.picks),
    )


def banded(row: Row, measure: Measure) -> str:
    """Print a value of a row with its band: "412 (350 to 520) W"."""
    band = row.values[measure]
    return f"{measure.number(band.value)} ({measure.number(band.low)} to {measure.number(band.high)}) {measure.unit.symbol}"


def about(row: Row) -> Iterator[str]:
    """Describe a row in a few lines, each value with its band."""
    of = partial(banded, row)
    further = (
        f", {row.hosts_count - row.servers_count} more without disks"
        if row.hosts_count > row.servers_count
        else ""
    )
    yield f"{row.text}{further}; switches: {row.switches_count} x {row.switch_title}"
    yield (
        f"in a need: server {row.machine.server}, drive {row.machine.drive}, network {row.machine.network}, "
        f"filesystem {row.choice.filesystem}"
    )
    read, write = f"read {of(measures.READ)}", f"write {of(measures.WRITE)}"
    yield f"{read}, limited by {row.binds_read}; {write}, limited by {row.binds_write}"
    yield (
        f"idle {of(measures.IDLE)}, at the rates of the need {of(measures.PEAK)}; {of(measures.ENERGY)} "
        f"{measures.ENERGY.qualifier}"
    )
    per = [f"stored {of(measures.STORED)} (the idle cluster)"]
    if measures.MOVED in row.values:
        per += [f"moved {of(measures.MOVED)} (above idle)", f"together {of(measures.MOVED_WHOLE)} moved"]
    yield "; ".join(per)
    yield f"{of(measures.MONEY)}, of it {measures.PURCHASE.qualifier} {of(measures.PURCHASE)}"
    yield f"{of(measures.CARBON)}, of it {measures.EMBODIED.qualifier} {of(measures.EMBODIED)}"
    losses = row.values[measures.LOSSES]
    yield (
        f"loses data {losses.value:.1g} ({losses.low:.1g} to {losses.high:.1g}) times a year at most, by "
        "failures of whole disks; sectors that can't be read when they are needed are not counted"
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
    for measurement in sorted(row.measurements, key=lambda measurement: not measurement.contradicts):
        if measurement.contradicts:
            yield f"contradicted: {measurement.text}; here {banded(row, measurement.measure)} are predicted"
        else:
            yield f"may be as wrong: {measurement.text}"


def least_regret(answer: Answer) -> str:
    """Head the pick with least regret: of which candidates it has the least, where others have less."""
    if not _less_regretted(answer):
        return LEAST_REGRET
    sound = [row for row in answer.rows if not row.contradicted] or answer.rows
    least_ratio = min(SURE_RATIO, max(row.meets_ratio for row in sound))
    return f"{LEAST_REGRET} of those that meet the need in {percent(least_ratio)} % of the draws or more"


def _less_regretted(answer: Answer) -> list[Row]:
    best = answer.pick(LEAST_REGRET)
    return [row for row in answer.rows if row.regret_ratio < best.regret_ratio]


def less_regret(answer: Answer) -> str:
    """Name the candidates with less regret than the pick, and why they are not it; "" without any."""
    less_regretted = _less_regretted(answer)
    each = [
        f"candidate {row.id} ({percent(row.regret_ratio)} %) "
        + (
            f"is not picked: {CONTRADICTED}"
            if row.contradicted
            else f"meets the need in only {percent(row.meets_ratio)} % of the draws"
        )
        for row in less_regretted
    ]
    return f"less regret: {'; '.join(each)}" if each else ""


def quantity_text(name: str, titles: Mapping[str, str]) -> str:
    """Say in words what a quantity is that has its name from a part and its key: "CephFS: read throughput over its
    prediction".

    Args:
        name: "filesystem cephfs: read_reached".
        titles: of parts, as a `Space` has them.
    """
    part, _, key = name.rpartition(": ")
    text = _KEY_TEXTS.get(key, _NAME_TEXTS.get(key, key))
    return f"{titles.get(part, part)}: {text}" if part not in ("", _SHARED) else text


def change_text(change: Change, titles: Mapping[str, str]) -> str:
    """Say what it takes to change a ranking."""
    quantity = change.quantity
    side = "above" if change.above else "below"
    interval = f"now {quantity.text(quantity.value)}, {quantity.text(quantity.low)} to {quantity.text(quantity.high)}"
    return (
        f"least {change.aim}: {quantity_text(quantity.name, titles)} {side} {quantity.text(change.threshold)} ({interval}): "
        f"{change.then} instead of {change.best}"
    )


def main_changes(answer: Answer) -> list[Change]:
    """Return the changes of the ranking that are nearest, a few for each aim."""
    nearest: list[Change] = []
    for change in answer.changes:
        if sum(earlier.aim == change.aim for earlier in nearest) < CHANGES_COUNT:
            nearest.append(change)
    return sorted(nearest, key=lambda change: change.aim)


def move_text(move: Move) -> str:
    """Say which constraints to move, and to what."""
    steps = (
        f"remove {constraint.key}"
        if constraint.in_need(possible) <= 0  # data are lost more than once a year
        else f"{constraint.eased} {constraint.key} from {constraint.text(constraint.needed)} to {constraint.text(possible)}"
        for constraint, possible in move.constraints
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


def misses(row: Row, need_constraints: Sequence[Constraint]) -> list[str]:
    """Say what a candidate misses of a need."""
    missed: list[str] = []
    for constraint in need_constraints:
        reached = row.values[constraint.measure].value
        if (reached < constraint.needed) if constraint.least else (reached > constraint.needed):
            missed.append(
                f"{constraint.key} {constraint.text(reached)} instead of {constraint.text(constraint.needed)}"
            )
    return missed


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
        "measurements": [
            {**vars(measurement.published), "contradicts": measurement.contradicts}
            for measurement in row.measurements
        ],
        "values": {measure.key: band for measure, band in row.values.items()},
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
                "aim": change.aim,
                "quantity": change.quantity.name,
                "value": change.quantity.value,
                "threshold": change.threshold,
            }
            | {"above": change.above, "best": change.best, "then": change.then}
            for change in answer.changes
        ],
        "moves": [
            {
                "constraints": [
                    {"key": key.key, "asked": key.in_need(key.needed), "possible": key.in_need(possible)}
                    for key, possible in move.constraints
                ],
                "row": row_data(move.row),
            }
            for move in answer.moves
        ],
        "nearest": row_data(answer.nearest) if answer.nearest else None,
    }
