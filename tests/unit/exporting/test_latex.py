"""The table for a paper: what TeX would print of it is what the terminal's table has."""

import re
from itertools import pairwise

import pytest

from perjoule.exporting.latex import as_latex, latex_text
from perjoule.model import Cell
from perjoule.results.table import best_first, graded_table
from perjoule.statistics.intervals import interval

# What TeX prints of commands, by The TeXbook, appendix B, and LaTeX's own (Lamport, LaTeX, 2nd edition, 3.2).
COMMANDS = {
    "textbackslash": "\\",
    "textasciicircum": "^",
    "textasciitilde": "~",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textasciigrave": "`",
}
MATHS = {r"\pm": "±", r"\times": "×", r"\mu": "µ", "-": "−"}
TOKEN = re.compile(r"\\([A-Za-z]+)\{\}|\\([{}$&#%_])|\$([^$]+)\$|(---?)|\{(.?)\}|([^\\{}$&#%_^~])")
HOSTILE = r"\input{/etc/passwd} 50 % of $HOME & more_#1^2~[*] a--b---c `x` <|> “é”"


def printed(source: str) -> str:
    """What TeX prints of a line; fails at anything that it would obey."""
    line, at = "", 0
    while at < len(source):
        token = TOKEN.match(source, at)
        assert token, source[at:]
        command, character, maths, dash, grouped, plain = token.groups()
        if dash is not None:
            line += {"--": "–", "---": "—"}[dash]
        elif command is not None:
            line += COMMANDS[command]
        elif maths is not None:
            line += MATHS[maths]
        else:
            line += next(part for part in (character, grouped, plain) if part is not None)
        at = token.end()
    return line


def rows_of(text: str) -> list[list[str]]:
    lines = [line.strip() for line in text.splitlines() if line.endswith(r"\\")]
    return [re.split(r"(?<!\\)&", line.removesuffix(r"\\")) for line in lines]


def cell(name: str, *rates: float, grade: str = "wall") -> Cell:
    metrics = {
        "throughput_bytes_per_s": interval(rates),
        "mean_w": interval([20.0 + rate / 1e9 for rate in rates]),
    }
    return Cell(name, "fio write 1 MiB", "write", 2, metrics, grade=grade)


@pytest.mark.parametrize(
    "text", [HOSTILE, "3.21 ± 0.13", "402 (110–412) ± ?", "2 × 4+1, 5 µs, −3", "-", "a-b", "–", ""]
)
def test_every_text_is_printed_as_it_is(text: str) -> None:
    assert printed(as_latex(text)) == text


def test_what_can_t_be_printed_and_ends_of_lines_are_left_out() -> None:
    assert as_latex("a\nb\tc\x1b[31m\u202e") == "a b c{[}31m"


def test_the_table_has_the_rows_of_the_terminal_the_best_first_and_the_grade_of_each() -> None:
    cells = [cell("moosefs", 1e8, 1.1e8, 1.2e8), cell(HOSTILE, 2e8, 2.1e8, 2.2e8, grade="modelled")]
    text = latex_text(cells, "50 % & more", ["watts modelled"])
    laid_out = graded_table(best_first(cells))
    assert [[printed(entry.strip()) for entry in row] for row in rows_of(text)] == [
        list(row) for row in (laid_out.headers, *laid_out.rows)
    ]
    assert [row[0] for row in laid_out.rows] == [HOSTILE, "moosefs"]
    assert [row[-1] for row in laid_out.rows] == ["modelled", "wall"]
    assert r"\caption{50 \% \& more; watts modelled. Means of n repetitions" in text


def test_its_environments_and_braces_are_balanced_and_each_entry_has_a_column() -> None:
    text = latex_text([cell(HOSTILE, 1e8, 1.1e8), cell("[*]", 9e7)], HOSTILE)
    depths = [0]
    for character in re.sub(r"\\[{}]", "", text):
        depths.append(depths[-1] + {"{": 1, "}": -1}.get(character, 0))
    assert min(depths) == depths[-1] == 0
    opened: list[str] = []
    for way, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if way == "begin":
            opened.append(name)
        else:
            assert opened.pop() == name
    assert not opened
    columns = re.search(r"\\begin\{tabular\}\{([lr]+)\}", text)
    assert columns is not None
    assert {len(row) for row in rows_of(text)} == {len(columns[1])}
    rules = [line.strip() for line in text.splitlines() if line.strip().endswith("rule")]
    assert rules == [r"\toprule", r"\midrule", r"\bottomrule"]
    for before, after in pairwise(text.splitlines()):  # which would be an argument of the end of a row
        assert not (before.endswith(r"\\") and after.strip().startswith(("[", "*")))
