"""Figures as wide as a journal's column, single or double: panels take what labels leave.

The report's page does the same in JavaScript for the width of a window.
"""

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Literal

from perjoule.figures.vega import Spec

Column = Literal["single", "double"]
PX = {"single": 336, "double": 688}  # 3.5 and 7.16 inches, as IEEE has them, at 96 px per inch
# px beside a panel at first, of a panel, -, that may stay free
_SIDES, _LEAST, _TRIES_COUNT, _SLACK = 80, 80, 4, 8
_LINES = r"split(replace(datum.label, regexp('(.{14,}?),? ', 'g'), '$1\n'), '\n')"  # of a long name
# px of a letter in a title and in a subtitle; of a bar whose name has several lines
_LETTER, _SMALL, _BAR = 7, 6.2, 42


def fitted(spec: Spec, column: Column, draw: Callable[[Spec], str]) -> Spec:
    """Return a figure as wide as a column.

    Args:
        spec: a whole figure with its data.
        column: single has its panels below each other.
        draw: returns it as SVG, whose width includes the labels.
    """
    narrow, over = _within(spec, PX[column], draw, stacked=column == "single")
    if over > 0 and column == "double":  # long names: panels have no room beside each other
        narrow, _ = _within(spec, PX[column], draw, stacked=True)
    return narrow


def _within(spec: Spec, width: int, draw: Callable[[Spec], str], *, stacked: bool) -> tuple[Spec, float]:
    """Return a figure of this width, and how much wider than that it still is (px)."""
    copy = deepcopy(spec)
    if stacked:
        _stack(copy)
    across, panels = _across(copy), list(_panels(copy))
    notes: list[str] = copy["title"].get("subtitle", [])
    copy["title"]["subtitle"] = [part for line in notes for part in _wrapped(line, width / _SMALL)]
    for panel in panels:
        panel["width"] = width // across - _SIDES
        heading: Spec = panel.get("title", {}) if panel is not copy else {}
        if isinstance(text := heading.get("text"), str):
            heading["text"] = _wrapped(text, width / across / _LETTER)
    _legends(copy, width / across - _SIDES)
    over = 0.0
    for _ in range(_TRIES_COUNT):
        match = re.search(r'<svg[^>]* width="([\d.]+)"', draw(copy))
        over = float(match[1]) - width if match else 0.0
        if -_SLACK <= over <= 0:
            break
        for panel in panels:
            panel["width"] = max(_LEAST, panel["width"] - int(-(-over // across)))
    return copy, over


def _inner(spec: Spec) -> list[Spec]:
    key = next((key for key in ("concat", "vconcat", "hconcat") if key in spec), "")
    inner: list[Spec] = spec[key] if key else []
    return inner


def _panels(spec: Spec) -> Iterator[Spec]:
    inner = _inner(spec)
    for inner_spec in inner:
        yield from _panels(inner_spec)
    if not inner:
        yield spec


def _across(spec: Spec) -> int:
    widest = max(map(_across, _inner(spec)), default=1)
    if "concat" in spec:
        return min(spec["columns"], len(spec["concat"])) * widest
    return sum(map(_across, spec["hconcat"])) if "hconcat" in spec else widest


def _stack(spec: Spec) -> None:
    """Put panels below each other, and names of bars into several lines."""
    if "hconcat" in spec:
        spec["vconcat"] = spec.pop("hconcat")
    if "concat" in spec:
        spec["columns"] = 1
    for inner_spec in _inner(spec):
        _stack(inner_spec)
    for layer in [spec, *spec.get("layer", [])]:
        y = layer.get("encoding", {}).get("y", {})
        if y.get("type") == "nominal":
            y["axis"] = {**(y.get("axis") or {}), "labelExpr": _LINES, "labelLineHeight": 12}
            height: object = spec.get("height")
            if isinstance(height, dict) and "for" not in height:
                spec["height"] = {"step": max(spec["height"]["step"], _BAR)}


def _legends(spec: Spec, width: float) -> None:
    """Give each legend as many columns as have room."""
    channels: list[tuple[Spec, Spec | None]] = [
        (encoding["color"], encoding.get("strokeDash"))
        for panel in _panels(spec)
        for layer in [panel, *panel.get("layer", [])]
        if "field" in (encoding := layer.get("encoding", {})).get("color", {})
        and encoding["color"].get("legend", {}) is not None
    ]
    longest = max(
        (len(str(name)) for color, _ in channels for name in color.get("scale", {}).get("domain", [])),
        default=0,
    )
    for color, dash in channels:
        color["legend"] = {
            **color.get("legend", {}),
            "columns": max(1, int(width // (_LETTER * longest + 32))),
        }
        if dash is not None:
            dash["legend"] = color["legend"]


def _wrapped(line: str, most: float) -> list[str]:
    lines: list[str] = []
    for part in line.split(" "):
        if lines and len(lines[-1]) + 1 + len(part) <= most:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return lines
