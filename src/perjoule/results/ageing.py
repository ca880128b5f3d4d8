"""Tables of aged file systems: what each went through, and what it does compared with a new one."""

from collections.abc import Iterator, Sequence

from perjoule.measures.ageing import Ageing, ageing
from perjoule.model import Cell, Record, Spec, Worn, value_at
from perjoule.model.format import number, percent
from perjoule.model.metrics import COMPARED, metric_of
from perjoule.model.units import BYTES
from perjoule.results.table import NAMES, PLACE, Table, pair_texts, place, row_text
from perjoule.statistics.better import Judge, Verdict

_WENT_THROUGH = ("file system", "full before", "full", "GiB usable", "files", "GiB written", "GiB deleted", "GiB overwritten")
_GIB = BYTES["GiB"]


def ageing_table(records: Sequence[Record]) -> Table:
    """Lay out what file systems went through before their trials, a row for each deployment; empty if all were new."""
    found = {(record.trial.filesystem.label, one.folder): one for record in records if (one := ageing(record))}
    rows = (_went_through(label, one) for (label, _), one in found.items())
    return Table((*_WENT_THROUGH, "rounds", "seed", "s", "kJ"), tuple(rows))


def _went_through(label: str, one: Ageing) -> tuple[str, ...]:
    shares = (f"{percent(share, 1)} %" for share in (one.full_before_ratio, one.full_ratio))
    sizes = (number(count / _GIB) for count in (one.written_bytes, one.deleted_bytes, one.overwritten_bytes))
    energy = "–" if one.energy_j is None else number(one.energy_j / 1e3)
    last = (str(one.overwrites_count), str(one.seed), number(one.duration_s), energy)
    return (label, *shares, number(one.usable_bytes / _GIB), str(one.files_count), *sizes, *last)


def wear_table(records: Sequence[Record], cells: Sequence[Cell]) -> Table:
    """Lay out aged file systems over the same one that is new, or least full; empty if no two differ in their age alone."""
    rows: list[tuple[str, ...]] = []
    for before, after, metric, found in _compared(records, cells):
        values = (row_text(cell, metric) for cell in (before, after))
        ratio = ("–", "–") if found.refused else pair_texts(found)
        rows.append((*place(after), metric_of(metric).label, *values, *ratio, found.sentence(before.filesystem)))
    headers = (*PLACE, "metric", "new", "aged", "aged / new (95 %)", "p", "verdict")
    return Table(headers, tuple(rows), (*NAMES, "metric", "verdict"))


def worn(records: Sequence[Record], cells: Sequence[Cell]) -> tuple[Worn, ...]:
    """Return the rows of `wear_table` that have a ratio."""
    found = _compared(records, cells)
    return tuple(Worn(new, aged, metric, verdict.ratio) for new, aged, metric, verdict in found if not verdict.refused)


def _compared(records: Sequence[Record], cells: Sequence[Cell]) -> Iterator[tuple[Cell, Cell, str, Verdict]]:
    """Judge each aged cell against the new one that did the same work, in each metric that both have."""
    judge = Judge(cells)
    for new, aged in _pairs([record.trial.filesystem for record in records]):
        for before, after in _same_work(cells, new, aged):
            for metric in (key for key in COMPARED if key in before.metrics and key in after.metrics):
                yield before, after, metric, judge.verdict(after, before, metric)


def _pairs(filesystems: Sequence[Spec]) -> Iterator[tuple[str, str]]:
    """Pair labels of file systems that have all options but `aged` in common: the least full one, and each of the others."""
    families: dict[str, dict[str, float]] = {}
    for spec in filesystems:
        options = {key: value for key, value in spec.options.items() if key not in ("aged", "seed")}
        where = spec.label.partition(" on ")[2]
        families.setdefault(repr((spec.kind, sorted(options.items()), where)), {})[spec.label] = _full(spec)
    for family in families.values():
        first, *others = sorted(family, key=lambda label: (family[label], label))
        yield from ((first, other) for other in others)


def _full(spec: Spec) -> float:
    try:
        return float(str(value_at(spec.options, "aged", "full") or 0).rstrip(" %"))
    except ValueError:
        return 0.0


def _same_work(cells: Sequence[Cell], new: str, aged: str) -> Iterator[tuple[Cell, Cell]]:
    work = {(cell.workload, cell.direction, cell.clients_count): cell for cell in cells if cell.filesystem == new}
    for cell in cells:
        if cell.filesystem == aged and (before := work.get((cell.workload, cell.direction, cell.clients_count))):
            yield before, cell
