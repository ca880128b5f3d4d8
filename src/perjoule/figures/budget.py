"""Uncertainty of energies: the terms of each budget as a stack of variances, with the largest named."""

from collections.abc import Mapping, Sequence
from math import hypot

from perjoule.figures.vega import FULL_WIDTH, PERCENT, THEMES, Spec, labels, titled
from perjoule.model.format import uncertainty_text

Terms = Mapping[str, float]  # term -> relative standard uncertainty
OTHERS = "others"
TERMS_COUNT = len(THEMES["light"]["range"]["component"])  # a colour for each


def budget(budgets: Mapping[str, Terms], *, notes: Sequence[str] = ()) -> Spec:
    """Draw each budget's share of the variance by term, and next to it the total in % of the energy (one standard deviation)."""
    rows: list[Spec] = []
    whole: list[Spec] = []
    names = _names(budgets)
    for title, terms in budgets.items():
        variance = sum(u**2 for u in terms.values())
        if not variance:
            continue
        parts = {name: terms[name] for name in names if name in terms}
        if lesser := [u for name, u in terms.items() if name not in names]:
            parts[OTHERS] = hypot(*lesser)
        rows += [
            {"what": title, "name": name, "order": order, "share": u**2 / variance, "u": f"{uncertainty_text(u)} % of the energy"}
            for order, (name, u) in enumerate(parts.items())
        ]
        whole.append({"what": title, "text": f"{uncertainty_text(variance**0.5)} %"})
    order = list(budgets)
    y: Spec = {"field": "what", "type": "nominal", "title": None, "sort": order}
    x: Spec = {
        "field": "share",
        "type": "quantitative",
        "title": "share of the variance",
        "axis": {"labelExpr": PERCENT, "tickCount": 5},
    }
    bars: Spec = {
        "mark": {"type": "bar", "size": 16},
        "encoding": {
            "y": y,
            "x": {**x, "stack": "zero", "scale": {"domain": [0, 1]}},
            "color": labels([*names, *([OTHERS] if any(row["name"] == OTHERS for row in rows) else [])], "component"),
            "order": {"field": "order"},
            "tooltip": [{"field": "what"}, {"field": "name", "title": "term"}, {"field": "u", "title": "standard uncertainty"}],
        },
    }
    text: Spec = {
        "data": {"values": whole},
        "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": 11},
        "encoding": {"y": y, "x": {"datum": 1, "type": "quantitative"}, "text": {"field": "text"}},
    }
    size: Spec = {"width": FULL_WIDTH - 120, "height": {"step": 26}, "data": {"values": rows}}
    return titled({**size, "layer": [bars, text]}, "Uncertainty of the energies", notes)


def _names(budgets: Mapping[str, Terms]) -> list[str]:
    """Return the terms that have a colour of their own: all, or those with the largest shares anywhere."""
    largest: dict[str, float] = {}
    for terms in budgets.values():
        variance = sum(u**2 for u in terms.values()) or 1.0
        for name, u in terms.items():
            largest[name] = max(largest.get(name, 0.0), u**2 / variance)
    if len(largest) <= TERMS_COUNT:
        return list(largest)
    kept = sorted(largest, key=lambda name: -largest[name])[: TERMS_COUNT - 1]
    return [name for name in largest if name in kept]
