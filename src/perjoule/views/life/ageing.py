"""Aged file systems: what each went through, and what it does over the same one that is new, where left of 1 is lower."""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from perjoule import model
from perjoule.figures.loads import load_names
from perjoule.figures.vega import FULL_WIDTH, Spec, labels, ratio_intervals, titled
from perjoule.model import Cell, Record, Worn, value_at
from perjoule.model.format import number, percent, span_text
from perjoule.model.metrics import COMPARED, metric_of
from perjoule.model.units import BYTES, clients_text
from perjoule.results.table import NAMES, PLACE, Table, pair_texts, place, row_text
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View


def figure(found: Sequence[Worn], *, notes: Sequence[str] = ()) -> Spec:
    """Draw the ratio of each pair with its interval, a panel for each metric, a row for each aged file system and load."""
    metrics = list(dict.fromkeys(one.metric for one in found))
    names = list(dict.fromkeys(one.aged.filesystem for one in found))
    ends = [end for one in found for end in (one.ratio.mean, one.ratio.low, one.ratio.high) if isfinite(end) and end > 0]
    domain = [min([*ends, 0.9]) / 1.05, max([*ends, 1.1]) * 1.05]
    loads = load_names((one.aged.workload, one.aged.direction) for one in found)
    several = len({one.aged.clients_count for one in found}) > 1
    rows = [_row(one, loads[one.aged.workload, one.aged.direction], several=several) for one in found]
    panels = [_panel(metric, [row for row in rows if row["metric"] == metric], names, domain) for metric in metrics]
    return titled({"vconcat": panels, "spacing": 18}, "Aged and new file systems", notes)


def _panel(metric: str, rows: Sequence[Spec], names: Sequence[str], domain: Sequence[float]) -> Spec:
    label = metric_of(metric).label
    x: Spec = {
        "type": "quantitative",
        "title": f"{label}, aged / new",
        "scale": {"type": "log", "domain": list(domain), "nice": False},
    }
    both: Spec = {
        "y": {"field": "row", "type": "nominal", "title": None, "sort": None},
        "yOffset": {"field": "name", "scale": {"domain": list(names)}},
        "color": labels(names, "category", columns=1),
    }
    shape: Spec = {"field": "name", "type": "nominal", "scale": {"domain": list(names), "range": "symbol"}, "legend": {}}
    told = {"name": "aged", "new": "new", "row": "load", "text": "ratio"}
    tooltip = [{"field": field, "title": title} for field, title in told.items()]
    layers: list[Spec] = [
        *ratio_intervals(x, both),
        {
            "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
            "encoding": {**both, "x": {"field": "value", **x}, "shape": shape, "tooltip": tooltip},
        },
    ]
    height = {"step": max(20, 9 * len(names)), "for": "position"}
    return {"width": FULL_WIDTH - 200, "height": height, "data": {"values": list(rows)}, "layer": layers}


def _row(one: Worn, load: str, *, several: bool) -> Spec:
    ratio, told = one.ratio, isfinite(one.ratio.high)
    return {
        "metric": one.metric,
        "row": f"{load}, {clients_text(one.aged.clients_count)}" if several else load,
        "name": one.aged.filesystem,
        "new": one.new.filesystem,
        "value": ratio.mean,
        "low": ratio.low if told else None,
        "high": ratio.high if told else None,
        "text": span_text(ratio),
    }


if TYPE_CHECKING:
    from perjoule.statistics.better import Verdict
    from perjoule.trial.ageing import Ageing


_WENT_THROUGH = ("file system", "full before", "full", "GiB usable", "files", "GiB written", "GiB deleted", "GiB overwritten")
_GIB = BYTES["GiB"]


def ageing_table(records: Sequence[Record]) -> Table:
    """Lay out what file systems went through before their trials, a row for each deployment; empty if all were new."""
    from perjoule.trial.ageing import ageing

    found = {(record.trial.filesystem.label, one.folder): one for record in records if (one := ageing(record))}
    rows = (_went_through(label, one) for (label, _), one in found.items())
    return Table((*_WENT_THROUGH, "rounds", "seed", "s", "kJ"), tuple(rows))


def _went_through(label: str, one: "Ageing") -> tuple[str, ...]:
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


def _compared(records: Sequence[Record], cells: Sequence[Cell]) -> "Iterator[tuple[Cell, Cell, str, Verdict]]":
    """Judge each aged cell against the new one that did the same work, in each metric that both have."""
    from perjoule.statistics.better import Judge

    judge = Judge(cells)
    servers_counts = {cell.filesystem: cell.servers_count for cell in cells}
    for new, aged in _pairs([record.trial.filesystem for record in records], servers_counts):
        for before, after in _same_work(cells, new, aged):
            for metric in (key for key in COMPARED if key in before.metrics and key in after.metrics):
                yield before, after, metric, judge.verdict(after, before, metric)


def _pairs(filesystems: Sequence[model.Spec], servers_counts: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Pair labels of file systems that differ in `aged` alone: the least full one, and each aged one of the others."""
    families: dict[str, dict[str, model.Spec]] = {}
    for spec in filesystems:
        options = {key: value for key, value in spec.options.items() if key not in ("aged", "seed")}
        where = spec.label.partition(" on ")[2]
        alike = repr((spec.kind, sorted(options.items()), where, servers_counts.get(spec.label)))
        families.setdefault(alike, {})[spec.label] = spec
    for family in families.values():
        first, *others = sorted(family, key=lambda label: (_full(family[label]), label))
        yield from ((first, other) for other in others if "aged" in family[other].options)


def _full(spec: model.Spec) -> float:
    try:
        return float(str(value_at(spec.options, "aged", "full") or 0).rstrip(" %"))
    except ValueError:
        return 0.0


def _same_work(cells: Sequence[Cell], new: str, aged: str) -> Iterator[tuple[Cell, Cell]]:
    work = {(cell.workload, cell.direction, cell.clients_count): cell for cell in cells if cell.filesystem == new}
    for cell in cells:
        if cell.filesystem == aged and (before := work.get((cell.workload, cell.direction, cell.clients_count))):
            yield before, cell


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if pairs := worn(content.records, content.cells):
        yield "ageing", figure(pairs, notes=["dashed: no difference; mean and 95 % interval", *content.power_notes])


VIEW = View(
    rank=150,
    flag=Flag(
        "aged",
        help="What file systems went through before their trials, and what that changed.",
        none="no file system here was aged",
        advice="see docs/how-to/aged.md",
    ),
    title="Aged and new",
    tables=(
        Shown(lambda content: wear_table(content.records, content.cells), "Aged and new"),
        Shown(
            lambda content: ageing_table(content.records),
            "What file systems went through",
            style="last",
            note="Aged: before the trials, clients filled the file system to this share of its usable capacity, and in each "
            "round deleted a third of the files, overwrote a quarter of another third, and filled it up again. s and kJ: "
            "from the first file to the last; kJ is of the servers, without switch and clients. Trials of one deployment "
            "share one ageing.",
        ),
    ),
    figures=_figures,
)
