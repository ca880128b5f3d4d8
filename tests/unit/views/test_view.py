"""A view is one file: the command, the report and its figures find it on disk, and finding it imports
nothing that computes.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from measured import STEADY, measured
from perjoule.store import Results
from places import SOURCES

MADE_UP = '''
"""Joules by repetition: a view that no other file names."""

from collections.abc import Iterator

from perjoule.figures.vega import Spec, titled
from perjoule.results.table import PLACE, Table, cell_text, place
from perjoule.views.content import Content
from perjoule.views.now import Now
from perjoule.views.view import Flag, Live, Shown, View


def _table(content: Content) -> Table:
    rows = ((*place(cell), cell_text(cell, "energy_j")) for cell in content.cells)
    return Table((*PLACE, "joules of a repetition"), tuple(rows))


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    values = [{"joules": joules} for cell in content.cells for joules in cell.metrics["energy_j"].values]
    bar = {"data": {"values": values}, "mark": "bar", "encoding": {"x": {"field": "joules", "type": "quantitative"}}}
    yield "made-up", titled(bar, "Joules of repetitions", content.power_notes)


def _now(now: Now) -> dict[str, float]:
    return {"hosts": float(len(now.load.hosts))}


VIEW = View(
    rank=85,
    flag=Flag("made-up", help="Joules of each repetition.", none="no energy is known here", advice="see docs/how-to/meters.md"),
    title="A made-up section",
    tables=(Shown(_table, "Joules of repetitions", note="A note of its own."),),
    figures=_figures,
    live=Live("A made-up chart", "hosts", _now),
)
'''
WATCHED = """
import json, sys, time
from contextlib import closing
from pathlib import Path
from perjoule.machine import processes
from perjoule.monitoring.watching import ResultsWatch, plain
from perjoule.store import progress
from perjoule.store.progress import Line, LoadHost, ProgressFile, RunningLoad, RunProcess, State
folder = Path(sys.argv[1])
with closing(ProgressFile(folder)) as file:
    file.append(Line(run=RunProcess(progress.VERSION, processes.own(), "tried", time.time())))
    file.append(Line(load=RunningLoad("x", hosts=(LoadHost("s", "storage"), LoadHost("c", "client")))))
    file.append(Line(state=State(1.0, time.time(), "measure", 0.0, 1, 2, 9.0)))
print(json.dumps(plain(ResultsWatch(folder).snapshot())))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return measured(tmp_path_factory.mktemp("made-up") / "one", 'settle = "100 ms"', meter=STEADY)


def run(sources: Path, *arguments: str) -> str:
    """What Python prints with perjoule as it is in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(sources)}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_file_alone_is_an_option_of_show_a_section_a_figure_and_on_the_live_page(
    results: Results, tmp_path: Path
) -> None:
    # compiled, but without what another process is about to compile
    shutil.copytree(SOURCES, tmp_path / "perjoule", ignore=shutil.ignore_patterns("*.pyc.*"))
    (tmp_path / "perjoule" / "views" / "power" / "made_up.py").write_text(MADE_UP)
    folder = str(results.folder)
    assert "Joules of each repetition." in run(tmp_path, "-m", "perjoule", "show", "--help")
    assert "joules of a repetition" in run(tmp_path, "-m", "perjoule", "show", folder, "--made-up")
    run(tmp_path, "-m", "perjoule", "report", folder)
    page = (results.folder / "report.html").read_text()
    for text in (
        "<h3>A made-up section</h3>",
        "A note of its own.",
        '<figure id="made-up">',
        "Joules of repetitions",
    ):
        assert text in page
    run(tmp_path, "-m", "perjoule", "report", folder, "--figures", str(tmp_path / "figures"))
    assert {path.name for path in (tmp_path / "figures").glob("made-up.*")} == {"made-up.svg", "made-up.pdf"}
    watched = json.loads(run(tmp_path, "-c", WATCHED, folder))
    assert {"title": "A made-up chart", "unit": "hosts", "lines": {"hosts": [2.0]}} in watched["charts"]
    part = next(part for part in watched["measured"]["parts"] if part["title"] == "A made-up section")
    ((name, table, note),) = part["tables"]
    assert (name, note) == ("Joules of repetitions", "A note of its own.")
    assert table["headers"][-1] == "joules of a repetition" and table["rows"]


def test_to_find_views_imports_neither_what_computes_nor_hardware_papers_and_drivers() -> None:
    libraries = "numpy", "scipy", "pyarrow", "jinja2", "vl_convert"
    heavy = {*libraries, "perjoule.catalogue", "perjoule.papers", "perjoule.drivers"}
    code = f"import sys; from perjoule import views; print(len(views.every()), {heavy} & sys.modules.keys())"
    count, _, imported = run(SOURCES.parent, "-c", code).partition(" ")
    assert int(count) > 20
    assert imported.strip() == "set()"
