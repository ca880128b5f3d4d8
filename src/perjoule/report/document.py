"""Parts that HTML pages share: the offline frame with figures, tables, and places for drawings."""

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from string import Template

from perjoule.figures import vega


def document(title: str, body: str, figures: Mapping[str, vega.Spec], timelines: Mapping[str, object] | None = None) -> str:
    """Return the whole page; a figure is drawn in the place that `drawn` makes for its name, "timeline" with those of trials."""
    data = {"name": title, "figures": figures, "themes": vega.THEMES, "timelines": timelines or {}}
    return Template(_asset("page.html")).substitute(
        title=escape(f"{title}: perjoule"),
        css=_asset("page.css"),
        body=body,
        data=json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),  # "<!--<script>" would swallow it
        library=vega.javascript().replace("</script", "<\\/script"),
        script=_asset("page.js"),
    )


def drawn(name: str) -> str:
    """Return a figure's place."""
    tools = f'<div class="tools"><button data-save="{name}">save as SVG</button></div>'
    return f'<figure id="{name}"><div class="drawing"></div>{tools}</figure>'


def html_table(headers: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[bool]) -> str:
    """Return a table that sorts by a click; text columns are left-aligned."""
    marks = [' class="word"' if word else "" for word in words]
    head = "".join(f"<th{mark}>{escape(text)}</th>" for text, mark in zip(headers, marks, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td{mark}>{escape(text)}</td>' for text, mark in zip(row, marks, strict=True))}</tr>" for row in rows
    )
    return f'<div class="scroll"><table class="sortable"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def html_list(lines: Iterable[str]) -> str:
    """Return a list that breaks long names where necessary."""
    return f'<ul style="overflow-wrap: anywhere">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>'


def _asset(name: str) -> str:
    return (files(__package__ or "perjoule.report") / name).read_text(encoding="utf-8")
