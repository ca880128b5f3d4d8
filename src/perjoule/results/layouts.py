"""Tables of what reads found: the layout of each repetition, and how many of a row's were placed differently."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perjoule.machine.untrusted import read_as
from perjoule.model import Trial
from perjoule.results.table import PLACE, Table
from perjoule.store import Results

RAW = "layout.json"  # in a trial's raw folder; `execution.layouts` writes it


@dataclass(frozen=True)
class Layout:
    """The name of a layout, and the hosts that hold each of its files, as far as the file system says."""

    layout: str
    holders: Mapping[str, tuple[str, ...]]

    @property
    def placement(self) -> str:
        """Files with their hosts."""
        return "; ".join(f"{file}: {', '.join(hosts) or '?'}" for file, hosts in sorted(self.holders.items()))


def layouts(results: Results) -> Sequence[tuple[Trial, Layout]]:
    """Return the layout that each valid read found, in order of time; trials of older versions have none."""
    found: list[tuple[Trial, Layout]] = []
    for record in results.latest():
        file = results.folder_of(record) / "raw" / RAW
        if record.status == "valid" and file.exists():
            found.append((record.trial, read_as(Layout, file)))
    return found


def layout_tables(results: Results) -> tuple[Table, Table]:
    """Lay out each read with its layout, and each row with how many distinct ones its repetitions read; empty without reads."""
    found = layouts(results)
    each = tuple((*_place(trial), str(trial.repetition), one.layout, one.placement or "not known") for trial, one in found)
    rows: dict[tuple[str, ...], list[Layout]] = {}
    for trial, one in found:
        rows.setdefault(_place(trial), []).append(one)
    counted = tuple(
        (*place, str(len(own)), str(len({one.layout for one in own})), str(len({tuple(one.holders.values()) for one in own})))
        for place, own in rows.items()
    )
    place = tuple(header for header in PLACE if header != "direction")
    return (
        Table((*place, "repetition", "layout", "held by"), each, (*place, "layout", "held by")),
        Table((*place, "reads", "layouts", "placements"), counted),
    )


def _place(trial: Trial) -> tuple[str, ...]:
    return trial.filesystem.label, trial.workload.label, str(trial.clients_count)
