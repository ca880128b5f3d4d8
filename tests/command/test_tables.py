"""Tables of commands: at no width of a terminal is a number cut, or a column hidden unsaid."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from perjoule import campaign, store
from perjoule.cli import cli
from perjoule.cli.terminal import display
from perjoule.cli.terminal.tables import TableLines, laid_out
from perjoule.execution import runner
from perjoule.results.table import Table
from places import EXAMPLES, ROOT

WIDTHS = (80, 120, 200, 1000)  # the last is that of a pipe
NUMBER = re.compile(r"\d(?:[\d.,]*\d)?")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A slow and a fast file system, written and read twice."""
    text = (
        (EXAMPLES / "simulated.toml").read_text().replace('"slow"', '"a slow"').replace('"fast"', '"b fast"')
    )
    asked = campaign.parse(text, overrides=["clients=1"])
    results = store.create(tmp_path_factory.mktemp("measured") / "r", asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda notice: None)
    return results.folder


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Table, Sequence[str]]]:
    """All tables that are printed on a terminal of 80 columns, with what may be left out of each."""
    printed: list[tuple[Table, Sequence[str]]] = []

    def keeping(table: Table, width: int, spare: Sequence[str] = ()) -> TableLines:
        printed.append((table, spare))
        return laid_out(table, width, spare)

    monkeypatch.setattr(display, "laid_out", keeping)
    monkeypatch.setattr(display.out, "soft_wrap", False)
    monkeypatch.setattr(display.out, "width", 80)
    return printed


@pytest.mark.parametrize(
    ("words", "count"),
    [
        ("show DIR", 1),
        ("show DIR --joules --budget", 1),
        ("compare DIR DIR", 1),
        ("history DIR DIR", 1),
        ("audit DIR", 0),
        pytest.param("ledger", 3, marks=pytest.mark.slow),
        ("predict cephfs --on odroid-hc4 --clients 1,4 --watts", 2),
        pytest.param(f"plan {EXAMPLES}/needs/archive.toml", 1, marks=pytest.mark.slow),
        (f"tune {EXAMPLES}/tune.toml --for MiB/J --list", 1),
        (f"check {EXAMPLES}/simulated.toml --connect --list", 2),
        (f"doctor {EXAMPLES}/demo.toml", 0),
        ("doctor --all", 0),
        ("catalogue", 0),
        ("papers", 0),
        ("drivers", 0),
    ],
)
def test_no_number_is_cut_and_no_column_is_hidden_unsaid(
    words: str, count: int, measured: Path, tables: list[tuple[Table, Sequence[str]]]
) -> None:
    done = CliRunner().invoke(cli, words.replace("DIR", str(measured)).split())
    lines = done.stdout.splitlines()
    assert len(lines) > 1 and "…" not in done.stdout, done.output
    assert [line for line in lines if cell_len(line) > 80] == []
    assert len(tables) >= count
    for table, spare in tables:
        hidden = laid_out(table, 80, spare).hidden
        assert [
            name for name in hidden[:1] if f"not shown for lack of width: {name}" not in done.stdout
        ] == []
        for width in WIDTHS:
            holds(table, spare, width)


def holds(table: Table, spare: Sequence[str], width: int) -> None:
    layout = laid_out(table, width, spare)
    assert [line for line in (*layout.headers, *layout.rows) if cell_len(line) > width] == []
    shown = {*NUMBER.findall("\n".join((*layout.rows, layout.common)))}
    for index, header in enumerate(table.headers):
        if header in layout.hidden:
            assert header in spare
        else:
            numbers = {part for row in table.rows for part in NUMBER.findall(row[index])}
            assert numbers <= shown, (header, width)
    assert width < 1000 or not layout.hidden


@pytest.mark.parametrize(
    ("words", "header"),
    [
        ("predict cephfs --on odroid-hc4 --clients 1,4", "direction"),
        (f"plan {EXAMPLES}/needs/archive.toml", "cluster"),
    ],
)
def test_predictions_and_plans_are_tables_at_80_columns_and_no_records(
    words: str, header: str, tables: list[tuple[Table, Sequence[str]]]
) -> None:
    lines = CliRunner().invoke(cli, words.split()).stdout.splitlines()
    assert len(tables) == 1
    assert len([line for line in lines if header in line.split()]) == 1, lines[:8]


def test_every_table_of_a_command_is_laid_out_by_these_rules() -> None:
    files = [*(ROOT / "src/perjoule/cli").rglob("*.py")]
    assert [path.name for path in files if "rich.table" in path.read_text()] == []
    assert len(files) > 20


def test_a_table_has_a_block_for_each_load_with_the_best_first(measured: Path) -> None:
    """As in a pipe, where each row is a line."""
    lines = CliRunner().invoke(cli, ["show", str(measured)]).stdout.splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("b fast"))
    assert [" ".join(line.split()[:2]) for line in lines[first : first + 5]] == [
        "b fast",
        "a slow",
        "",
        "b fast",
        "a slow",
    ]
    assert "read" in lines[first] and "write" in lines[first + 3]
