"""Uncertainty of energies: the terms of each budget in % of the energy, and as a stack of variances, with
the largest named.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import hypot
from typing import TYPE_CHECKING

from perjoule.figures.vega import FULL_WIDTH, PERCENT, THEMES, Spec, labels, quantitative, titled, tooltip_of
from perjoule.model.calibration import calibrations
from perjoule.model.format import number, uncertainty_text
from perjoule.model.metrics import NET
from perjoule.model.units import clients_text
from perjoule.results.table import NAMES, PLACE, Table
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View

if TYPE_CHECKING:
    from perjoule.energy.budget import Budget
    from perjoule.summary.metered import MeteredTrial


Terms = Mapping[str, float]  # term -> relative standard uncertainty
OTHERS = "others"
TERMS_COUNT = len(THEMES["light"]["range"]["component"])  # a colour for each


def budget(budgets: Mapping[str, Terms], *, notes: Sequence[str] = ()) -> Spec:
    """Draw each budget's share of the variance by term, and next to it the total in % of the energy (one
    standard deviation).
    """
    rows: list[Spec] = []
    totals: list[Spec] = []
    names = _names(budgets)
    for title, terms in budgets.items():
        variance = sum(u**2 for u in terms.values())
        if not variance:
            continue
        parts = {name: terms[name] for name in names if name in terms}
        if lesser := [u for name, u in terms.items() if name not in names]:
            parts[OTHERS] = hypot(*lesser)
        rows += [
            {
                "what": title,
                "name": name,
                "order": order,
                "share": u**2 / variance,
                "u": f"{uncertainty_text(u)} % of the energy",
            }
            for order, (name, u) in enumerate(parts.items())
        ]
        totals.append({"what": title, "text": f"{uncertainty_text(variance**0.5)} %"})
    order = list(budgets)
    y: Spec = {"field": "what", "type": "nominal", "title": None, "sort": order}
    x = quantitative("share of the variance", field="share", axis={"labelExpr": PERCENT, "tickCount": 5})
    bars: Spec = {
        "mark": {"type": "bar", "size": 16},
        "encoding": {
            "y": y,
            "x": {**x, "stack": "zero", "scale": {"domain": [0, 1]}},
            "color": labels(
                [*names, *([OTHERS] if any(row["name"] == OTHERS for row in rows) else [])], "component"
            ),
            "order": {"field": "order"},
            "tooltip": tooltip_of(what="", name="term", u="standard uncertainty"),
        },
    }
    text: Spec = {
        "data": {"values": totals},
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
    largest_names = sorted(largest, key=lambda name: -largest[name])[: TERMS_COUNT - 1]
    return [name for name in largest if name in largest_names]


BOUNDARIES = ("net", "gross", "clients", "all", "dynamic", "controller")
BUDGETS_COUNT = 40  # in one figure
Key = tuple[str, str, str, int]  # file system, workload, direction, clients


def budget_table(metered: Sequence["MeteredTrial"]) -> Table:
    """Lay out the uncertainty budgets: for each cell and boundary each term in % of the energy, the mean
    of repetitions.
    """
    from perjoule.energy.budget import SHRINK
    from perjoule.measures.energies import UNBUDGETED

    rows: dict[tuple[Key, str], list[Budget]] = {}
    for trial in metered:
        for direction, energy in trial.energies.items():
            for kind in BOUNDARIES:
                if kind in energy.budgets and energy.grades.get(kind, energy.grade) not in UNBUDGETED:
                    rows.setdefault(((*trial.key[:2], direction, trial.key[2]), kind), []).append(
                        energy.budgets[kind]
                    )
    names = [
        name
        for name in SHRINK
        if any(t.name == name for budgets in rows.values() for b in budgets for t in b.terms)
    ]
    headers = (*PLACE, "energy", "mean J", "± %", "k", *names, "largest term", "unknown")
    laid = [_row(key, kind, budgets, names) for (key, kind), budgets in rows.items()]
    return Table(headers, tuple(laid), (*NAMES, "energy", "largest term", "unknown"))


def _row(key: Key, kind: str, budgets: Sequence["Budget"], names: Sequence[str]) -> tuple[str, ...]:
    from perjoule.energy.budget import SHRINK

    count = len(budgets)
    terms = relative(budgets)
    dominant = max(terms, key=lambda name: terms[name], default="")
    expanded = sum(b.expanded_j / b.value_j for b in budgets) / count
    unknown = dict.fromkeys(name for b in budgets for name in b.unknown)
    return (
        *(str(part) for part in key),
        kind,
        number(sum(b.value_j for b in budgets) / count),
        # its other errors would pass for all of them
        "unknown" if "accuracy" in unknown else uncertainty_text(expanded),
        number(sum(b.coverage_factor for b in budgets) / count),
        *(uncertainty_text(terms[name]) if name in terms else "–" for name in names),
        f"{dominant}: {SHRINK[dominant]}" if dominant else "–",
        ", ".join(unknown) or "–",
    )


def relative(budgets: Sequence["Budget"]) -> dict[str, float]:
    """Return each term's standard uncertainty as a share of the energy, the mean over budgets."""
    shares: dict[str, float] = {}
    for budget in budgets:
        for name in dict.fromkeys(t.name for t in budget.terms):
            share = hypot(*(t.standard_j for t in budget.terms if t.name == name)) / abs(budget.value_j)
            shares[name] = shares.get(name, 0.0) + share / len(budgets)
    return shares


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    from perjoule.measures.energies import UNBUDGETED
    from perjoule.statistics.cells import as_read

    shares = {
        ", ".join(
            (*trial.key[:2], *(() if direction in trial.key[1] else (direction,)), clients_text(trial.key[2]))
        ): relative([energy.budgets[NET]])
        for trial in sorted(content.metered, key=lambda trial: [as_read(str(part)) for part in trial.key])
        for direction, energy in trial.energies.items()
        if NET in energy.budgets and energy.grade not in UNBUDGETED and energy.budgets[NET].terms
    }
    if shares:
        of_one = "net energy of one trial each; right: one standard uncertainty in % of the energy"
        yield (
            "budget",
            budget(dict(list(shares.items())[:BUDGETS_COUNT]), notes=[of_one, *content.power_notes]),
        )


FLAG = Flag(
    "budget",
    help="Uncertainty budget of the energies, and power that the meters do not explain.",
    none="no energy here has an uncertainty budget: no meter states its errors",
    advice="see `perjoule docs uncertainty`",
    notes=lambda content: [
        f'meter "{meter}": calibrated {text}' for meter, text in calibrations(content.records).items()
    ],
)
VIEW = View(
    rank=190,
    flag=FLAG,
    title="Uncertainty of the energies",
    folded=True,
    tables=(
        Shown(
            lambda content: budget_table(content.metered),
            "Uncertainty of the energies",
            note="± is half of the 95 % interval of one trial and k its coverage factor; the terms are standard "
            "uncertainties in % of the energy, averaged over repetitions. Net: the servers; gross: with "
            "the switch; all: with the clients; dynamic: net without idle; controller: net without disks.",
        ),
    ),
    figures=_figures,
)
