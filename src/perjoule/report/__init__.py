"""Records and figures to one HTML file that works offline, and to SVG and PDF."""

import os
from collections.abc import Sequence
from pathlib import Path

from perjoule.figures import rendering, vega
from perjoule.figures.columns import Column, fitted
from perjoule.report.index import entry, index
from perjoule.report.page import page
from perjoule.store import Results
from perjoule.store.place import OpenFolder, entered, replace_file
from perjoule.summary import mark_report
from perjoule.views import drawings
from perjoule.views.content import Content
from perjoule.views.performance import timeline

__all__ = ["figures", "write", "write_index"]


def write(results: Results, target: Path) -> Path:
    """Write the report of a results folder, and keep its table for `perjoule verify`."""
    content = Content(results)
    results.keep_table(content.cells)
    text = page(content, os.path.relpath(results.folder, target.parent))
    if target == results.folder / "report.html":
        with results.place() as place:
            place.put(target.name, text)
        mark_report(results)
    else:
        replace_file(target, text)
    return target


def write_index(several: Sequence[Results], target: Path) -> Path:
    """Write a page over many results folders, and the missing reports among them."""
    for results in several:
        if not (results.folder / "report.html").exists():
            write(results, results.folder / "report.html")
    replace_file(
        target, index(target.absolute().parent.name, [entry(results, target) for results in several])
    )
    return target


def figures(results: Results, folder: Path, column: Column = "double") -> tuple[Path, ...]:
    """Write every figure as SVG and as PDF, in the light theme, as wide as a journal's column."""
    content = Content(results)
    folder.mkdir(parents=True, exist_ok=True)
    with entered(folder) as place:  # which may have links of a stranger's in it
        return tuple(
            path
            for name, spec in _complete(content)
            for path in _draw(name, fitted(spec, column, rendering.svg), place)
        )


def _complete(content: Content) -> Sequence[tuple[str, vega.Spec]]:
    line = next(iter(content.timelines.values()), None)
    drawn = dict(drawings(content))
    if line is not None:
        drawn[timeline.NAME] = timeline.completed(drawn[timeline.NAME], line)
    return list(drawn.items())


def _draw(name: str, spec: vega.Spec, folder: OpenFolder) -> tuple[Path, Path]:
    svg, pdf = f"{name}.svg", f"{name}.pdf"
    folder.put(svg, rendering.svg(spec), durably=False)
    folder.put(pdf, rendering.pdf(spec), durably=False)
    return folder.path / svg, folder.path / pdf
