"""A panel of stacked bars of pieces, each with its total at its end."""

from collections.abc import Mapping, Sequence

from perjoule.figures.vega import FULL_WIDTH, Spec, labels, layered, tooltip_of

ROW = 26


def stacked(
    rows: Sequence[Spec], totals: Sequence[Spec], title: str, names: Sequence[str], fields: Mapping[str, str]
) -> Spec | None:
    """Draw rows with "bar", "name" of the piece, "order" and "value"; None without any.

    Args:
        rows: the pieces.
        totals: for each bar its "value", and the "text" at its end.
        title: of the horizontal axis.
        names: of all pieces, which determine their colours.
        told: what a tooltip says besides: title by field.
    """
    if not rows:
        return None
    drawn = {row["name"] for row in rows}
    y: Spec = {"field": "bar", "type": "nominal", "title": None, "sort": None}
    x: Spec = {"field": "value", "type": "quantitative", "title": title}
    x["scale"] = {"domainMax": 1.08 * max(total["value"] for total in totals)}  # room for the text
    tooltip = tooltip_of(bar="", name="piece")
    tooltip += [{"field": field, "title": heading} for field, heading in fields.items()]
    bars: Spec = {
        "mark": {"type": "bar", "height": 16},
        "encoding": {
            "x": x,
            "y": y,
            "order": {"field": "order"},
            "color": labels(names, "piece", values=[name for name in names if name in drawn]),
            "tooltip": tooltip,
        },
    }
    text: Spec = {
        "data": {"values": totals},
        "mark": {"type": "text", "align": "left", "dx": 5, "fontSize": 11},
        "encoding": {"x": x, "y": y, "text": {"field": "text"}},
    }
    return layered(rows, [bars, text], FULL_WIDTH - 150, {"step": ROW})
