"""What a run is doing, and what it has found so far, read from its results folder alone."""

import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from perjoule import store, views
from perjoule.machine import processes
from perjoule.machine.untrusted import UNEXPECTED, words
from perjoule.model import Channel, Reality, least_real, trial_text
from perjoule.model.errors import PerjouleError
from perjoule.model.format import number
from perjoule.model.metrics import IDLE, PER_JOULE, POWER, RATES, metric_of
from perjoule.model.units import seconds_text
from perjoule.monitoring import drawing
from perjoule.results.limitations import SIMULATED, limitations, simulated_notes
from perjoule.results.table import COLUMNS, WHERE_MEASURED, Table, point_text, table
from perjoule.store import Results, progress
from perjoule.store.progress import Progress, RunningLoad
from perjoule.summary.computing import of_trial
from perjoule.trial import live
from perjoule.views.content import Content

SHOWN_S = 300.0  # of the charts
SHOWN_COUNT = 900  # states at most: one a second, and one with each event
# since the last state of a run whose process can't be seen, after which it is no longer called running
SILENT_S = 15.0
LAST_COUNT = 8  # trials that were kept last
KEPT = (*RATES, *PER_JOULE, *IDLE, POWER)  # columns of the table; the report shows the others, too
LEFT_OUT = frozenset(
    ("max", *(metric_of(key).label for key, _ in (*COLUMNS, *WHERE_MEASURED) if key not in KEPT))
)
# boundaries beside the net one
OTHERS = {"gross": "with the switch", "clients": "clients", "all": "servers and clients"}
NOTHING = RunningLoad("")
NO_RUN = "no run is under way here, and none has left a trace of its progress"


@dataclass(frozen=True)
class ViewPart:
    """What is shown of a view."""

    title: str
    intro: str
    tables: Sequence[tuple[str, Table, str]]  # its name, and the note below it
    lines: Sequence[str]


@dataclass(frozen=True)
class MeasuredSoFar:
    """What a results folder holds so far."""

    kept_count: int = 0
    failed_count: int = 0
    results: Table = drawing.NO_TABLE
    parts: Sequence[ViewPart] = ()
    last: Sequence[tuple[str, str, bool]] = ()  # trial, its numbers or why it failed, whether it failed
    doubts: Sequence[str] = ()
    notes: Sequence[str] = ()
    report: bool = False
    reality: Reality = "real"


@dataclass(frozen=True)
class RunSnapshot:
    """All that the page shows at one moment."""

    name: str
    folder: str
    state: str  # "running", "done", "stopped", "killed", "silent", "none", "damaged"
    said: str  # the same in a sentence
    measured: MeasuredSoFar
    load: RunningLoad = NOTHING
    trial: str = ""
    phase: str = ""
    phase_s: float = 0.0
    kept_count: int = 0
    trials_count: int = 0
    left_s: float = 0.0
    age_s: float = 0.0  # of the last state
    times_s: Sequence[float] = ()  # of the charts, until now: the last one is 0 or less
    charts: Sequence[drawing.Chart] = ()
    # bytes per s of each client that loads
    rates: Mapping[str, float] = field(default_factory=dict[str, float])
    # by the name of the boundary
    powers: Mapping[str, drawing.ShownPower] = field(default_factory=dict[str, drawing.ShownPower])
    # age_s, value
    channels: Mapping[Channel, tuple[float, float]] = field(
        default_factory=dict[Channel, tuple[float, float]]
    )
    hosts: Table = drawing.NO_TABLE
    meters: Table = drawing.NO_TABLE
    doubts: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def mark(self) -> str:
        """What stands above all numbers: that what is under way, or was kept, is simulated."""
        return SIMULATED if least_real((self.load.reality, self.measured.reality)) == "simulated" else ""

    @property
    def power(self) -> drawing.ShownPower | None:
        """The watts of the servers, without the switch."""
        return self.powers.get("net")


class ResultsWatch:
    """Reads a results folder again and again; what has not changed is computed once.

    Changes nothing in it.
    """

    def __init__(self, folder: Path) -> None:
        self._results = store.open_results(folder)
        self._seen: tuple[int, ...] = ()
        self._measured = MeasuredSoFar()

    def snapshot(self) -> RunSnapshot:
        """Return the present state."""
        folder = self._results.folder
        measured = self._read()
        name = _name(self._results)
        try:
            return _seen(progress.read(folder), folder, measured)
        except FileNotFoundError:
            return RunSnapshot(name, str(folder), "none", NO_RUN, measured, kept_count=measured.kept_count)
        except (OSError, *UNEXPECTED) as error:
            sentence = f"the progress of this run can't be read: {words(error)}"
            return RunSnapshot(
                name, str(folder), "damaged", sentence, measured, kept_count=measured.kept_count
            )

    def _read(self) -> MeasuredSoFar:
        """Read the results, if a trial was kept or a report written since the last time."""
        try:
            paths = (self._results.journal, self._results.folder / "report.html")
            state = tuple(
                of for path in paths if path.exists() for of in (path.stat().st_size, path.stat().st_mtime_ns)
            )
            if state != self._seen:
                self._measured = _measured(self._results)
                self._seen = state
        except (PerjouleError, OSError) as error:
            self._measured = MeasuredSoFar(doubts=(f"the results can't be read: {error}",))
        return self._measured


def _name(results: Results) -> str:
    from perjoule.summary.campaign import name_of

    try:
        return name_of(results)
    except PerjouleError:
        return results.folder.name


def _measured(results: Results) -> MeasuredSoFar:
    entries = results.entries()
    if not entries:
        return MeasuredSoFar()
    content = Content(results)
    summary_of = content.summary
    laid = table(summary_of.cells)
    columns = [at for at, header in enumerate(laid.headers) if header not in LEFT_OUT]
    columns_shown = [tuple(row[at] for at in columns) for row in (laid.headers, *laid.rows)]
    final = {entry.trial: entry for entry in entries}
    last: list[tuple[str, str, bool]] = []
    for entry in entries[-LAST_COUNT:]:
        record = results.record(entry)
        failed = record.status == "failed"
        text = (
            record.reason
            if failed
            else ", ".join(point_text(point) for point in of_trial(results, record).points)
        )
        last.insert(0, (record.trial.text, text or "kept", failed))
    doubts = (line for group in limitations(summary_of.cells, summary_of.doubts) for line in group.lines)
    return MeasuredSoFar(
        len(final),
        sum(entry.status == "failed" for entry in final.values()),
        Table(columns_shown[0], tuple(columns_shown[1:]), laid.words),
        tuple(_part(section) for section in views.sections(content) if not section.view.folded),
        last,
        tuple(f"{line.text}{line.more} ({line.rows})" for line in doubts),
        (
            *simulated_notes(summary_of.cells),
            *(
                f"emulated at scale {scale:g}: all numbers are in emulated time"
                for scale in summary_of.scales
            ),
        ),
        (results.folder / "report.html").exists(),
        least_real(cell.reality for cell in summary_of.cells),
    )


def _part(section: views.Section) -> ViewPart:
    tables = tuple((view_table.name, laid, view_table.note) for view_table, laid in section.tables)
    return ViewPart(section.view.title, section.intro, tables, section.lines)


def _seen(progress: Progress, folder: Path, measured: MeasuredSoFar) -> RunSnapshot:
    if not progress.states:
        state, sentence = _state(progress, 0.0, folder)
        return RunSnapshot(
            progress.run.name, str(folder), state, sentence, measured, kept_count=measured.kept_count
        )
    load, last = progress.states[-1]
    age_s = max(0.0, time.time() - last.utc_s)
    state, sentence = _state(progress, age_s, folder)
    states = [(one, at) for one, at in progress.states[-SHOWN_COUNT:] if at.t_s >= last.t_s - SHOWN_S]
    moments = [drawing.moment(progress.channels, at) for _, at in states]
    values = live.rates(moments)
    totals, choices = live.totals(values[-1]), drawing.choices(states, values)
    running = state in ("running", "silent")
    rates = {client: live.client_rate(totals, client, drawing.dilation(load)) for client in load.clients}
    latest = {channel: (last.t_s - t_s, value) for channel, (t_s, value) in moments[-1].items()}
    return RunSnapshot(
        name=progress.run.name,
        folder=str(folder),
        state=state,
        said=sentence,
        measured=measured,
        load=load,
        trial=trial_text(load.filesystem, load.workload, load.clients_count, load.repetition)
        if load.trial
        else load.text,
        phase=last.phase if running else "",
        phase_s=max(0.0, last.t_s - last.phase_began_s),
        kept_count=last.kept_count,
        trials_count=last.trials_count,
        left_s=last.left_s,
        age_s=age_s,
        times_s=[round(at.t_s - last.t_s, 1) for _, at in states],
        charts=drawing.charts(states, choices, values),
        rates={client: rate for client, rate in rates.items() if rate is not None} if running else {},
        powers=drawing.powers(load, choices, values[-1]) if running else {},
        channels=drawing.graded(load, latest) if running else {},
        hosts=drawing.hosts(load, values[-1]) if running else drawing.NO_TABLE,
        meters=drawing.meters(drawing.graded(load, values[-1])) if running else drawing.NO_TABLE,
        doubts=last.doubts if running else (),
        notes=progress.notes,
    )


def _state(progress: Progress, age_s: float, folder: Path) -> tuple[str, str]:
    again = f"continue with: perjoule resume {shlex.quote(str(folder))}"
    if progress.ended == "done":
        return "done", "the run is complete"
    if progress.ended:
        return "stopped", f"the run stopped: {progress.ended}; {again}"
    alive = processes.alive(progress.run.process)
    process = f"process {progress.run.process.pid} on {progress.run.process.host}"
    if alive is False:
        return "killed", f"the run was killed ({process} is gone) {seconds_text(age_s)} ago; {again}"
    if alive is None and age_s > SILENT_S:
        return "silent", f"no sign of life from {process} for {seconds_text(age_s)}"
    return "running", f"{process}"


def plain(snapshot: RunSnapshot) -> dict[str, Any]:
    """Return a snapshot as JSON data for the page."""
    drawn_apart = {"load", "channels", "rates", "powers"}  # in other fields, as text
    content = {name: value for name, value in vars(snapshot).items() if name not in drawn_apart}
    content["charts"] = [asdict(chart) for chart in snapshot.charts]
    content |= {name: asdict(content[name]) for name in ("measured", "hosts", "meters")}
    rate = sum(snapshot.rates.values())
    content["mark"] = snapshot.mark
    content["rate"] = f"{number(rate / drawing.RATE.per)} {drawing.RATE.symbol}" if snapshot.rates else ""
    content["watts"] = f"{number(snapshot.power.watts)} W" if snapshot.power else ""
    content["grade"] = f"{snapshot.power.grade}, without the switch" if snapshot.power else ""
    powers = ((label, snapshot.powers[name]) for name, label in OTHERS.items() if name in snapshot.powers)
    content["others"] = [f"{label}: {number(power.watts)}\N{NO-BREAK SPACE}W" for label, power in powers]
    content["left"] = seconds_text(snapshot.left_s) if snapshot.left_s else ""
    return content
