"""Tables of energy and power: budgets by cell, and where meters differ."""

from collections.abc import Sequence
from math import hypot
from statistics import fmean

from perjoule.energy.alignment import expected, offset
from perjoule.energy.budget import SHRINK, Budget
from perjoule.figures.alignment import Found
from perjoule.measures.energies import UNBUDGETED
from perjoule.measures.same_devices import Unexplained
from perjoule.model import DRIVE, PartEnergy, Series
from perjoule.model.format import number, percent, uncertainty_text
from perjoule.results.table import NAMES, PLACE, Table
from perjoule.store import Results
from perjoule.store.patterns import LoadPattern
from perjoule.summary.computing import of_trial
from perjoule.summary.metered import Metered

KINDS = ("net", "gross", "clients", "all", "dynamic", "controller")
Key = tuple[str, str, str, int]  # file system, workload, direction, clients


def alignments(patterns: Sequence[tuple[LoadPattern, Sequence[Series]]]) -> tuple[Found, ...]:
    """Find each load pattern in each channel of power or energy recorded with it; channels that show none are left out."""
    found: list[Found] = []
    for index, (load, series) in enumerate(patterns, start=1):
        for one in series:
            if one.channel.quantity in ("power", "energy") and (seen := offset(one, load.edges_s)) is not None:
                t_s, watts, fit_w = expected(one, load.edges_s, seen)
                times_s = t_s - seen.offset_s - load.edges_s[0]
                near = (times_s > -2) & (times_s < load.edges_s[-1] - load.edges_s[0] + 2)
                told = [[float(v) for v in values[near]] for values in (times_s, watts, fit_w)]
                at_s = seen.at_s - sum(patterns[0][0].edges_s) / len(patterns[0][0].edges_s)
                channel = one.channel.name
                title = f"{channel}, pattern {index}"
                found.append(Found(title, channel, told[0], told[1], told[2], at_s, seen.offset_s, seen.uncertainty_s))
    return tuple(found)


def every_metered(results: Results) -> tuple[Metered, ...]:
    """Return what meters said of each valid trial of a results folder."""
    return tuple(one for record in results.latest() if (one := of_trial(results, record).metered))


def budget_table(found: Sequence[Metered]) -> Table:
    """Lay out the uncertainty budgets: for each cell and boundary each term in % of the energy, the mean of repetitions."""
    rows: dict[tuple[Key, str], list[Budget]] = {}
    for one in found:
        for direction, energy in one.energies.items():
            for kind in KINDS:
                if kind in energy.budgets and energy.grades.get(kind, energy.grade) not in UNBUDGETED:
                    rows.setdefault(((*one.key[:2], direction, one.key[2]), kind), []).append(energy.budgets[kind])
    names = [name for name in SHRINK if any(t.name == name for budgets in rows.values() for b in budgets for t in b.terms)]
    headers = (*PLACE, "energy", "J", "± %", "k", *names, "largest term", "unknown")
    laid = [_row(key, kind, budgets, names) for (key, kind), budgets in rows.items()]
    return Table(headers, tuple(laid), (*NAMES, "energy", "largest term", "unknown"))


def _row(key: Key, kind: str, budgets: Sequence[Budget], names: Sequence[str]) -> tuple[str, ...]:
    count = len(budgets)
    terms = relative(budgets)
    dominant = max(terms, key=lambda name: terms[name], default="")
    expanded = sum(b.expanded_j / b.value_j for b in budgets) / count
    unknown = dict.fromkeys(what for b in budgets for what in b.unknown)
    return (
        *(str(part) for part in key),
        kind,
        number(sum(b.value_j for b in budgets) / count),
        uncertainty_text(expanded),
        number(sum(b.coverage_factor for b in budgets) / count),
        *(uncertainty_text(terms[name]) if name in terms else "–" for name in names),
        f"{dominant}: {SHRINK[dominant]}" if dominant else "–",
        ", ".join(unknown) or "–",
    )


def relative(budgets: Sequence[Budget]) -> dict[str, float]:
    """Return each term's standard uncertainty as a share of the energy, the mean over budgets."""
    found: dict[str, float] = {}
    for budget in budgets:
        for name in dict.fromkeys(t.name for t in budget.terms):
            share = hypot(*(t.standard_j for t in budget.terms if t.name == name)) / abs(budget.value_j)
            found[name] = found.get(name, 0.0) + share / len(budgets)
    return found


def parts_table(found: Sequence[Metered]) -> Table:
    """Lay out the joules of each measured part of each host: the mean over repetitions, or the largest bound."""
    rows: dict[tuple[str, ...], list[PartEnergy]] = {}
    for one in found:
        for part in one.parts:
            place = (*map(str, one.key), part.host, part.part.removeprefix(DRIVE), part.meter, part.grade)
            rows.setdefault(place, []).append(part)
    headers = ("file system", "workload", "clients", "host", "part", "meter", "power", "J", "W")
    laid = tuple((*place, *_joules(several)) for place, several in rows.items())
    return Table(headers, laid, {*headers} - {"clients", "J", "W"})


def _joules(several: Sequence[PartEnergy]) -> tuple[str, str]:
    known = [(part.energy_j, part.mean_w) for part in several if part.energy_j is not None and part.mean_w is not None]
    bounds = [part.most_j for part in several if part.most_j is not None]
    if len(known) == len(several):
        return number(fmean(joules for joules, _ in known)), number(fmean(watts for _, watts in known))
    if len(bounds) == len(several):
        return f"at most {number(max(bounds))}", "–"
    return "–", "–"


def unexplained_table(found: Sequence[Metered]) -> Table:
    """Lay out the difference between a meter and others that cover the same devices, the mean over trials."""
    seen: dict[tuple[str, tuple[str, ...]], list[Unexplained]] = {}
    for one in found:
        for pair in one.unexplained:
            seen.setdefault((pair.whole, pair.parts), []).append(pair)
    rows: list[tuple[str, ...]] = []
    for (whole, parts), pairs in seen.items():
        count = len(pairs)
        whole_w, parts_w = sum(p.whole_w for p in pairs) / count, sum(p.parts_w for p in pairs) / count
        share = percent((whole_w - parts_w) / whole_w, 1) if whole_w else "–"
        rows.append((whole, ", ".join(parts), number(whole_w), number(parts_w), number(whole_w - parts_w), share, str(count)))
    words = ("meter", "others of the same devices")
    return Table((*words, "W", "sum in W", "unexplained W", "%", "trials"), tuple(rows), words)
