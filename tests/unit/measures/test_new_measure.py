"""The measure and the view of docs/how-to/new-measure.md, dropped into their folders."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from perjoule.store import open_results
from places import ROOT

PAGE = ROOT / "docs" / "how-to" / "new-measure.md"
MOST_LINES = 60
KEY, LABEL = "energy_per_file_j", "J/file"
CAMPAIGN = """
name = "files"
clients = 2
repetitions = 3
settle = "100 ms"
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
throughput = ["80 MiB/s", "120 MiB/s"]
[[workload]]
kind = "simulated"
size = "8 MiB"
[[meter]]
kind = "simulated"
waveform = "constant"
rate = "200 Hz"
"""
DROPPED_IN = """
import sys
import perjoule.measures, perjoule.views
for package in (perjoule.measures, perjoule.views):
    package.__path__.append(sys.argv.pop(1))
"""
COMMAND = f"{DROPPED_IN}\nfrom perjoule.cli import main\nmain()"
POINTS = f"""{DROPPED_IN}
import json
from pathlib import Path
from perjoule.measures.points import points
from perjoule.store import open_results
results = open_results(Path(sys.argv[1]))
of_trials = [point.metrics for record in results.latest() for point in points(record, results.series(record))]
print(json.dumps(of_trials))
"""


FOLDERS = ("measures", "views")


def on_the_page() -> list[str]:
    """Return the measure and its view."""
    return [block.partition("```")[0] for block in PAGE.read_text().split("```python\n")[1:]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the measure, and results that were run with it."""
    top = tmp_path_factory.mktemp("measure")
    for name, module in zip(FOLDERS, on_the_page(), strict=True):
        (top / name).mkdir()
        (top / name / "files.py").write_text(module)
    (top / "campaign.toml").write_text(CAMPAIGN)
    ran(COMMAND, top, "run", "campaign.toml", "--into", "results")
    return top


def ran(program: str, top: Path, *arguments: str) -> str:
    """Run a program or a command of perjoule's with the measure, and return its output."""
    argv = [sys.executable, "-c", program, *(str(top / name) for name in FOLDERS), *arguments]
    done = subprocess.run(
        argv, cwd=top, env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_keeps_its_promise_of_lines() -> None:
    lines_count = sum(len(module.splitlines()) for module in on_the_page())
    assert 10 < lines_count <= MOST_LINES


def test_every_point_has_its_number(folder: Path) -> None:
    of_trials = json.loads(ran(POINTS, folder, "results"))
    assert len(of_trials) == 6
    for metrics in of_trials:
        assert metrics[KEY] == pytest.approx(metrics["energy_j"] / 2, rel=1e-12)


def test_the_table_the_export_and_comparisons_have_it(folder: Path) -> None:
    table = json.loads((folder / "results" / "table.json").read_text())
    rows = [row["filesystem"] for row in table["cells"]]
    assert [len(row["metrics"][KEY]["values"]) for row in table["cells"]] == [3, 3]
    ran(COMMAND, folder, "export", "results", "--csv", "files.csv")
    assert sum(f",{KEY},J," in line for line in (folder / "files.csv").read_text().splitlines()) == 6 + 2
    assert LABEL in ran(COMMAND, folder, "compare", "results", "--between", *rows, "--metric", LABEL)


def test_its_view_is_an_option_of_show_a_table_and_a_figure_of_the_report(folder: Path) -> None:
    shown = ran(COMMAND, folder, "show", "results", "--files")
    assert LABEL in shown and "120" in shown
    ran(COMMAND, folder, "report", "results")
    report = (folder / "results" / "report.html").read_text()
    assert "<h3>Joules per file</h3>" in report
    assert 'id="per-file"' in report


def test_the_docs_list_it(folder: Path) -> None:
    assert f"- `{KEY}`, {LABEL} †‡ ({LABEL}, lower): net energy / files\n" in ran(
        COMMAND, folder, "docs", "metrics"
    )


def test_without_the_file_there_is_no_such_number(folder: Path) -> None:
    from perjoule.measures.points import points

    results = open_results(folder / "results")
    of_trials = [point for record in results.latest() for point in points(record, results.series(record))]
    assert len(of_trials) == 6 and not any(KEY in point.metrics for point in of_trials)
