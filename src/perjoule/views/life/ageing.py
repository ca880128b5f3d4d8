"""Aged file systems: what each went through, and what it does over the same one that is new, where left of
1 is lower.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from perjoule import model
from perjoule.figures.loads import load_names
from perjoule.figures.vega import FULL_WIDTH, Spec, labels, quantitative, ratio_intervals, titled
from perjoule.model import Cell, Record, Worn, value_at
from perjoule.model.format import number, percent, span_text
from perjoule.model.metrics import COMPARED, metric_of
from perjoule.model.units import BYTES, clients_text
from perjoule.results.table import NAMES, PLACE, Table, pair_texts, place, row_text
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View


def figure(worn: Sequence[Worn], *, notes: Sequence[str] = ()) -> Spec:
    """Draw the ratio of each pair with its interval, a panel for each metric, a row for each aged file
    system and load.
    """
    metrics = list(dict.fromkeys(pair.metric for pair in worn))
    names = list(dict.fromkeys(pair.aged.filesystem for pair in worn))
    ends = [
        end
        for pair in worn
        for end in (pair.ratio.mean, pair.ratio.low, pair.ratio.high)
        if isfinite(end) and end > 0
    ]
    domain = [min([*ends, 0.9]) / 1.05, max([*ends, 1.1]) * 1.05]
    loads = load_names((pair.aged.workload, pair.aged.direction) for pair in worn)
    several = len({pair.aged.clients_count for pair in worn}) > 1
    rows = [_row(pair, loads[pair.aged.workload, pair.aged.direction], several=several) for pair in worn]
    panels = [
        _panel(metric, [row for row in rows if row["metric"] == metric], names, domain) for metric in metrics
    ]
    return titled({"vconcat": panels, "spacing": 18}, "Aged and new file systems", notes)


def _panel(metric: str, rows: Sequence[Spec], names: Sequence[str], domain: Sequence[float]) -> Spec:
    label = metric_of(metric).label
    x = quantitative(f"{label}, aged / new", scale={"type": "log", "domain": list(domain), "nice": False})
    both: Spec = {
        "y": {"field": "row", "type": "nominal", "title": None, "sort": None},
        "yOffset": {"field": "name", "scale": {"domain": list(names)}},
        "color": labels(names, "category", columns=1),
    }
    fields = {"name": "aged", "new": "new", "row": "load", "text": "ratio"}
    tooltip = [{"field": field, "title": title} for field, title in fields.items()]
    layers: list[Spec] = [
        *ratio_intervals(x, both),
        {
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": {
                **both,
                "x": {"field": "value", **x},
                "shape": labels(names, "symbol"),
                "tooltip": tooltip,
            },
        },
    ]
    height = {"step": max(20, 9 * len(names)), "for": "position"}
    return {"width": FULL_WIDTH - 200, "height": height, "data": {"values": list(rows)}, "layer": layers}


def _row(pair: Worn, load: str, *, several: bool) -> Spec:
    ratio, bounded = pair.ratio, isfinite(pair.ratio.high)
    return {
        "metric": pair.metric,
        "row": f"{load}, {clients_text(pair.aged.clients_count)}" if several else load,
        "name": pair.aged.filesystem,
        "new": pair.new.filesystem,
        "value": ratio.mean,
        "low": ratio.low if bounded else None,
        "high": ratio.high if bounded else None,
        "text": span_text(ratio),
    }


if TYPE_CHECKING:
    from perjoule.statistics.better import Verdict
    from perjoule.trial.ageing import AgeingFact


_WENT_THROUGH = (
    "file system",
    "full before",
    "full",
    "GiB usable",
    "files",
    "GiB written",
    "GiB deleted",
    "GiB overwritten",
)
_GIB = BYTES["GiB"]


def ageing_table(records: Sequence[Record]) -> Table:
    """Lay out what file systems went through before their trials, a row for each deployment; empty if all
    were new.
    """
    from perjoule.trial.ageing import ageing

    by_folder = {
        (record.trial.filesystem.label, age.folder): age for record in records if (age := ageing(record))
    }
    rows = (_went_through(label, age) for (label, _), age in by_folder.items())
    return Table((*_WENT_THROUGH, "rounds", "seed", "s", "kJ"), tuple(rows))


def _went_through(label: str, age: "AgeingFact") -> tuple[str, ...]:
    shares = (f"{percent(share, 1)} %" for share in (age.full_before_ratio, age.full_ratio))
    sizes = (number(count / _GIB) for count in (age.written_bytes, age.deleted_bytes, age.overwritten_bytes))
    energy = "–" if age.energy_j is None else number(age.energy_j / 1e3)
    last = (str(age.overwrites_count), str(age.seed), number(age.duration_s), energy)
    return (label, *shares, number(age.usable_bytes / _GIB), str(age.files_count), *sizes, *last)


def wear_table(records: Sequence[Record], cells: Sequence[Cell]) -> Table:
    """Lay out aged file systems over the same one that is new, or least full; empty if no two differ in
    their age alone.
    """
    rows: list[tuple[str, ...]] = []
    for before, after, metric, verdict in _compared(records, cells):
        values = (row_text(cell, metric) for cell in (before, after))
        ratio = ("–", "–") if verdict.refused else pair_texts(verdict)
        rows.append(
            (*place(after), metric_of(metric).label, *values, *ratio, verdict.sentence(before.filesystem))
        )
    headers = (*PLACE, "metric", "new", "aged", "aged / new (95 %)", "p", "verdict")
    return Table(headers, tuple(rows), (*NAMES, "metric", "verdict"))


def worn(records: Sequence[Record], cells: Sequence[Cell]) -> tuple[Worn, ...]:
    """Return the rows of `wear_table` that have a ratio."""
    compared = _compared(records, cells)
    return tuple(
        Worn(new, aged, metric, verdict.ratio)
        for new, aged, metric, verdict in compared
        if not verdict.refused
    )


def _compared(
    records: Sequence[Record], cells: Sequence[Cell]
) -> "Iterator[tuple[Cell, Cell, str, Verdict]]":
    """Judge each aged cell against the new one that did the same work, in each metric that both have."""
    from perjoule.statistics.better import Judge

    judge = Judge(cells)
    servers_counts = {cell.filesystem: cell.servers_count for cell in cells}
    for new, aged in _pairs([record.trial.filesystem for record in records], servers_counts):
        for before, after in _same_work(cells, new, aged):
            for metric in (key for key in COMPARED if key in before.metrics and key in after.metrics):
                yield before, after, metric, judge.verdict(after, before, metric)


def _pairs(filesystems: Sequence[model.Spec], servers_counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Pair labels of file systems that differ in `aged` alone: the least full one, and each aged one of
    the others.
    """
    families: dict[str, dict[str, model.Spec]] = {}
    for spec in filesystems:
        options = {key: value for key, value in spec.options.items() if key not in ("aged", "seed")}
        place = spec.label.partition(" on ")[2]
        alike = repr((spec.kind, sorted(options.items()), place, servers_counts.get(spec.label)))
        families.setdefault(alike, {})[spec.label] = spec
    for family in families.values():
        first, *older = sorted(family, key=lambda label: (_full(family[label]), label))
        yield from ((first, old) for old in older if "aged" in family[old].options)


def _full(spec: model.Spec) -> float:
    try:
        return float(str(value_at(spec.options, "aged", "full") or 0).rstrip(" %"))
    except ValueError:
        return 0.0


def _same_work(cells: Sequence[Cell], new: str, aged: str) -> Iterator[tuple[Cell, Cell]]:
    work = {
        (cell.workload, cell.direction, cell.clients_count): cell for cell in cells if cell.filesystem == new
    }
    for cell in cells:
        if cell.filesystem == aged and (
            before := work.get((cell.workload, cell.direction, cell.clients_count))
        ):
            yield before, cell


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if pairs := worn(content.records, content.cells):
        yield (
            "ageing",
            figure(pairs, notes=["dashed: no difference; mean and 95 % interval", *content.power_notes]),
        )


VIEW = View(
    rank=150,
    flag=Flag(
        "aged",
        help="What file systems went through before their trials, and what that changed.",
        none="no file system here was aged",
        advice="see `perjoule docs aged`",
    ),
    title="Aged and new",
    tables=(
        Shown(lambda content: wear_table(content.records, content.cells), "Aged and new"),
        Shown(
            lambda content: ageing_table(content.records),
            "What file systems went through",
            style="last",
            note="Aged: before the trials, clients filled the file system to this share of its usable capacity, and in each "
            "round deleted a third of the files, overwrote a quarter of another third, and filled it up "
            "again. s and kJ: from the first file to the last; kJ is of the servers, without switch and "
            "clients. Trials of one deployment share one ageing.",
        ),
    ),
    figures=_figures,
)
