"""What reads found: the layout of each repetition, and how many of a row's were placed differently."""

from collections.abc import Sequence

from perjoule.model import Trial
from perjoule.results.table import PLACE, Table
from perjoule.store import Results
from perjoule.store.layouts import Layout, kept_layout
from perjoule.views.view import Flag, Shown, View

_UNKNOWN = "not known"


def layouts(results: Results) -> Sequence[tuple[Trial, Layout]]:
    """Return the layout that each valid read found, in order of time; trials of older versions have none."""
    trial_layouts: list[tuple[Trial, Layout]] = []
    for record in results.latest():
        if record.status == "valid" and (layout := kept_layout(results.folder_of(record) / "raw")):
            trial_layouts.append((record.trial, layout))
    return trial_layouts


def layout_tables(results: Results) -> tuple[Table, Table]:
    """Lay out each read with its layout, and each row with how many distinct ones its repetitions read;
    empty without reads.
    """
    trial_layouts = layouts(results)
    each = tuple(
        (*_place(trial), str(trial.repetition), layout.layout, layout.placement or _UNKNOWN)
        for trial, layout in trial_layouts
    )
    rows: dict[tuple[str, ...], list[Layout]] = {}
    for trial, layout in trial_layouts:
        rows.setdefault(_place(trial), []).append(layout)
    counted = tuple(
        (
            *place,
            str(len(row_layouts)),
            str(len({layout.layout for layout in row_layouts})),
            _placements(row_layouts),
        )
        for place, row_layouts in rows.items()
    )
    place = tuple(header for header in PLACE if header != "direction")
    return (
        Table((*place, "repetition", "layout", "held by"), each, (*place, "layout", "held by")),
        Table((*place, "reads", "layouts", "placements"), counted),
    )


def _placements(of: Sequence[Layout]) -> str:
    """Count the distinct ones; where hosts are unknown nobody can."""
    if not all(layout.located for layout in of):
        return _UNKNOWN
    return str(len({tuple(layout.holders.values()) for layout in of}))


def _place(trial: Trial) -> tuple[str, ...]:
    return trial.filesystem.label, trial.workload.label, str(trial.clients_count)


VIEW = View(
    rank=260,
    flag=Flag(
        "layouts",
        help="Which hosts held the files of each read: every repetition has a layout of its own.",
        none="no trial here read files that this version laid out",
        advice="see `perjoule docs how-numbers-are-made`",
    ),
    tables=(
        Shown(lambda content: layout_tables(content.results)[0]),
        Shown(lambda content: layout_tables(content.results)[1]),
    ),
)
