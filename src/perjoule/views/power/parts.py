"""Joules by part of each host: drives, processors, GPUs, boards; a pale bar is an upper bound."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from perjoule.figures.vega import FULL_WIDTH, Spec, labels, layered, quantitative, titled, tooltip_of
from perjoule.model import DRIVE, PartEnergy
from perjoule.model.format import any_number, number
from perjoule.model.units import clients_text
from perjoule.results.table import Table
from perjoule.views.content import Content
from perjoule.views.power.joules import FLAG
from perjoule.views.view import Shown, View

if TYPE_CHECKING:
    from perjoule.summary.metered import MeteredTrial


ROW = 22
PARTS_COUNT = 40  # drawn: those with the most joules
PALE = 0.35


def parts(energies: Sequence[PartEnergy], *, notes: Sequence[str] = ()) -> Spec:
    """Draw a bar for each part in the given order, with its joules and watts; those that are refused are
    left out.
    """
    joules_known = [part for part in energies if _joules(part) is not None]
    most = sorted(joules_known, key=lambda part: -(_joules(part) or 0.0))[:PARTS_COUNT]
    drawn = [part for part in joules_known if part in most]
    metered = Counter((part.host, part.part) for part in drawn)
    rows = [_row(part, several=metered[part.host, part.part] > 1) for part in drawn]
    if len(drawn) < len(joules_known):
        notes = [*notes, f"the {len(drawn)} of {len(joules_known)} parts with the most joules"]
    largest_j = max((row["value"] for row in rows), default=0.0)
    y: Spec = {"field": "bar", "type": "nominal", "title": None, "sort": None}
    x = quantitative("energy in J", field="value", scale={"domainMax": 1.25 * largest_j})
    tooltip = tooltip_of(bar="", meter="", name="grade", text="energy")
    bars: Spec = {
        "mark": {"type": "bar", "height": 14},
        "encoding": {
            "x": x,
            "y": y,
            "color": labels(list(dict.fromkeys(part.grade for part in drawn)), "category", title="power is"),
            "opacity": {"condition": {"test": "datum.bound", "value": PALE}, "value": 1},
            "tooltip": tooltip,
        },
    }
    text: Spec = {
        "mark": {"type": "text", "align": "left", "dx": 5, "fontSize": 11},
        "encoding": {"x": x, "y": y, "text": {"field": "text"}},
    }
    spec = layered(rows, [bars, text], FULL_WIDTH - 150, {"step": ROW})
    return titled(spec, "One trial's joules by device", notes)


def drawable(energies: Sequence[PartEnergy]) -> bool:
    """Whether any part has joules or a bound."""
    return any(_joules(part) is not None for part in energies)


def _joules(part: PartEnergy) -> float | None:
    return part.most_j if part.energy_j is None else part.energy_j


def _row(part: PartEnergy, *, several: bool) -> Spec:
    value_j = _joules(part)
    name = f"{part.host} {part.part.removeprefix(DRIVE)}" + (f", {part.meter}" if several else "")
    text = (
        f"at most {_number(value_j)} J"
        if part.mean_w is None
        else f"{_number(value_j)} J, {_number(part.mean_w)} W"
    )
    return {
        "bar": name,
        "value": value_j,
        "text": text,
        "name": part.grade,
        "meter": part.meter,
        "bound": part.energy_j is None,
    }


def _number(value: float | None) -> str:
    return "" if value is None else any_number(value)


def parts_table(metered: Sequence["MeteredTrial"]) -> Table:
    """Lay out the joules of each measured part of hosts: the mean over repetitions, or the largest bound."""
    rows: dict[tuple[str, ...], list[PartEnergy]] = {}
    for trial in metered:
        for part in trial.parts:
            place = (*map(str, trial.key), part.host, part.part.removeprefix(DRIVE), part.meter, part.grade)
            rows.setdefault(place, []).append(part)
    headers = ("file system", "workload", "clients", "host", "part", "meter", "power", "J", "W")
    laid = tuple((*place, *_joules_texts(several)) for place, several in rows.items())
    return Table(headers, laid, {*headers} - {"clients", "J", "W"})


def _joules_texts(several: Sequence[PartEnergy]) -> tuple[str, str]:
    exact = [
        (part.energy_j, part.mean_w)
        for part in several
        if part.energy_j is not None and part.mean_w is not None
    ]
    bounds = [part.most_j for part in several if part.most_j is not None]
    if len(exact) == len(several):
        return number(fmean(joules for joules, _ in exact)), number(fmean(watts for _, watts in exact))
    if len(bounds) == len(several):
        return f"at most {number(max(bounds))}", "–"
    return "–", "–"


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    trial = max(content.metered, key=lambda trial: trial.key[2], default=None)
    if trial and drawable(trial.parts):
        filesystem, workload, clients_count = trial.key
        of = (
            f"{filesystem}, {workload}, {clients_text(clients_count)}: the measured window of one trial; "
            "pale: an upper bound"
        )
        yield "parts", parts(trial.parts, notes=[of, *content.notes])


VIEW = View(
    rank=210,
    flag=FLAG,
    title="Joules by device",
    folded=True,
    tables=(
        Shown(
            lambda content: parts_table(content.metered),
            "Joules by device",
            note="Measured parts of hosts, the mean over repetitions: they may overlap, and two meters may measure the same "
            'one, so they don\'t add up. "At most": only the power state of a drive is known, which bounds '
            "its power.",
        ),
    ),
    figures=_figures,
)
