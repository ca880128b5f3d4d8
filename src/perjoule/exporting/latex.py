"""The table of a campaign's rows for a paper: LaTeX with booktabs.

S. Fear, Publication quality tables in LaTeX, https://ctan.org/pkg/booktabs
"""

import re
from collections.abc import Sequence

from perjoule.model import Cell
from perjoule.results.table import INTERVALS, best_first, graded_table

# What LaTeX would obey: characters of its own, what follows the end of a row, dashes in a row, and what some
# fonts lack.
_WRITTEN = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    **{character: f"\\{character}" for character in "{}$&#%_"},
    **{character: f"{{{character}}}" for character in "[*"},
    "-": "-{}",
    "–": "--",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "µ": r"$\mu$",
}
_OBEYED = re.compile(
    f"-(?=-)|[{re.escape(''.join(character for character in _WRITTEN if character != '-'))}]"
)


def latex_text(cells: Sequence[Cell], name: str, notes: Sequence[str] = ()) -> str:
    """Lay out the rows as a table float, the best of each load first; a preamble needs the package booktabs.

    Args:
        cells: of a campaign.
        name: the campaign's, which begins the caption.
        notes: what its watts are, after that.
    """
    laid_out = graded_table(best_first(cells))
    columns = "".join("l" if header in laid_out.words else "r" for header in laid_out.headers)
    headers, *rows = (
        f"    {' & '.join(map(as_latex, row))} \\\\\n" for row in (laid_out.headers, *laid_out.rows)
    )
    caption = "; ".join((name, *notes))
    return (
        "\\begin{table}\n"
        f"  \\caption{{{as_latex(caption)}. {as_latex(INTERVALS)}}}\n"
        "  \\centering\n"
        f"  \\begin{{tabular}}{{{columns}}}\n"
        f"    \\toprule\n{headers}    \\midrule\n{''.join(rows)}    \\bottomrule\n"
        "  \\end{tabular}\n"
        "\\end{table}\n"
    )


def as_latex(text: str) -> str:
    """Write a text so that LaTeX prints it as it is, in one line; what can't be printed is left out."""
    line = "".join(character for character in " ".join(text.split()) if character.isprintable())
    return _OBEYED.sub(lambda obeyed: _WRITTEN[obeyed[0]], line)
