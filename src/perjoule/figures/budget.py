"""Uncertainty of energies: the terms of each budget as a stack of variances, with the largest named."""

from collections.abc import Mapping, Sequence

from perjoule.figures.vega import FULL_WIDTH, Spec, labels, titled

Terms = Mapping[str, float]  # term -> relative standard uncertainty


def budget(budgets: Mapping[str, Terms], *, notes: Sequence[str] = ()) -> Spec:
    """Draw each budget's share of the variance by term, and next to it the total in % of the energy (one standard deviation)."""
    rows: list[Spec] = []
    whole: list[Spec] = []
    names = list(dict.fromkeys(name for terms in budgets.values() for name in terms))
    for title, terms in budgets.items():
        variance = sum(u**2 for u in terms.values())
        if not variance:
            continue
        rows += [
            {"what": title, "name": name, "share": u**2 / variance, "u": f"{100 * u:.2g} % of the energy"}
            for name, u in terms.items()
        ]
        whole.append({"what": title, "text": f"{100 * variance**0.5:.2g} %"})
    order = list(budgets)
    y: Spec = {"field": "what", "type": "nominal", "title": None, "sort": order}
    x: Spec = {"field": "share", "type": "quantitative", "title": "share of the variance", "axis": {"format": "%"}}
    bars: Spec = {
        "mark": {"type": "bar", "size": 16},
        "encoding": {
            "y": y,
            "x": {**x, "stack": "zero", "scale": {"domain": [0, 1]}},
            "color": labels(names, "component"),
            "order": {"field": "name", "sort": names},
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
