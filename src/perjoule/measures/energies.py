"""A window's energy to metrics: each boundary with its power, its work per joule, and its uncertainty.

Each energy and each work per joule has two more metrics, half a 95 % interval each: "uncertainty", from all known errors of one
trial, and "shared_uncertainty", from the errors that all repetitions on the same meter share, which their scatter does not show.
Shared errors are also listed by source, so a comparison knows what cancels. The uncertainty of modelled power comes from the
sigmas of the catalogue's coefficients; nameplates have no known uncertainty.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from perjoule.energy.baseline import OMITTED, UNSETTLED, dynamic, idle
from perjoule.energy.budget import NORMAL, Budget, edp_uncertainty
from perjoule.energy.choosing import REAL
from perjoule.energy.coefficients import coefficient_terms
from perjoule.energy.contradictions import margin_j
from perjoule.energy.power import Boundaries, joules
from perjoule.measures.same_devices import disagreements
from perjoule.measures.sides import sides
from perjoule.measures.split import split_j
from perjoule.model.doubts import METERS, Doubt
from perjoule.model.format import number
from perjoule.model.merit import edp
from perjoule.model.metrics import NET, metric_of
from perjoule.trial.reading import Reading

TIMER_S = 1e-3  # to which a window's ends are known
UNBUDGETED = ("nameplate",)


@dataclass(frozen=True)
class Work:
    """The work of a window's joules, with its metric per joule: bytes or operations, in this (emulated) time.

    The work of an idle file system is to keep data: capacity times time. It has no energy-delay product, and no dynamic energy.
    """

    per_j: str  # "efficiency_bytes_per_j", "operations_per_j", "usable_bytes_per_w"; "" if that is not known
    count: float
    duration_s: float
    loaded: bool = True
    divisors: Mapping[str, float] = field(default_factory=dict[str, float])  # of joules, by metric


@dataclass(frozen=True)
class Energies:
    """Metrics of a window, the budgets behind them by boundary, and their doubts."""

    metrics: Mapping[str, float]
    budgets: Mapping[str, Budget] = field(default_factory=dict[str, Budget])
    grade: str = ""
    source: str = ""
    doubts: tuple[Doubt, ...] = ()
    shared: Mapping[str, Mapping[str, float]] = field(default_factory=dict[str, Mapping[str, float]])  # as `Point.shared`
    omitted: Mapping[str, str] = field(default_factory=dict[str, str])  # as `Point.omitted`
    grades: Mapping[str, str] = field(default_factory=dict[str, str])  # as `Point.grades`
    unstated: tuple[str, ...] = ()  # as `Point.unstated`


def energies(reading: Reading, began_s: float, ended_s: float, work: Work) -> Energies:
    """Return the energy of a window in every boundary that meters cover: of the servers, of the clients, and of all."""
    dilation = reading.dilation
    found = reading.servers(began_s, ended_s)
    both = sides(reading, found, began_s, ended_s)
    added = _added(reading, found, began_s, ended_s) if work.loaded else ""
    parts = {"net": found.net, "gross": found.gross, "controller": found.boards}
    parts |= {"dynamic": added} if isinstance(added, Budget) else {}
    known = {name: one for name, one in parts.items() if one is not None and one.value_j > 0} | {
        name: one.net for name, one in both.named.items() if one.net is not None and one.net.value_j > 0
    }
    budgets = {name: one.times(dilation.emulated(1.0)) for name, one in known.items()}
    grades = {name: one.grade for name, one in both.named.items()}
    metrics: dict[str, float] = {}
    shared: dict[str, Mapping[str, float]] = {}
    for name, one in budgets.items():
        prefix = "" if name == "net" else f"{name}_"
        metrics |= energy_metrics(prefix, one.value_j, work)
        if grades.get(name, found.grade) not in UNBUDGETED and one.terms:
            metrics |= _uncertainties(prefix, one, work)
            shared |= _shared(prefix, one, work)
    if work.loaded and (net := budgets.get("net")) is not None:
        metrics["edp_js"] = edp(net.value_j, work.duration_s)
        shared |= {"edp_js": shared["energy_j"]} if "energy_j" in shared else {}
        if found.grade not in UNBUDGETED and net.terms:
            time_ratio = dilation.emulated(TIMER_S) / work.duration_s
            metrics["edp_uncertainty_js"] = metrics["edp_js"] * edp_uncertainty(net.expanded_j / net.value_j, NORMAL * time_ratio)
    doubts = [*found.doubts, *(doubt for one in both.named.values() for doubt in one.doubts)]
    undynamic = {"dynamic": added} if isinstance(added, str) and added else {}
    omitted = {**both.refused, **undynamic, **_without_net(found)}
    unstated = tuple(name for name, one in budgets.items() if "accuracy" in one.unknown and grades.get(name, found.grade) in REAL)
    doubts += disagreements(reading, began_s, ended_s)
    packages_j = joules(reading.signed(reading.metering.servers.packages), began_s, ended_s)
    if packages_j:
        if found.net is not None and found.grade in REAL and packages_j > found.net.value_j + margin_j(found.net):
            more = f"are more than the {number(found.net.value_j)} J of their servers"
            doubts.append(
                METERS.doubt(f"{number(packages_j)} J of the processors (RAPL) {more} by {found.source}: one of them is wrong")
            )
        metrics |= energy_metrics("cpu_package_", dilation.emulated(packages_j), work)
        doubts.append(METERS.doubt("cpu_package_* are joules of the processors alone (RAPL), not of a whole server"))
    metrics |= {key: dilation.emulated(part_j) for key, part_j in split_j(reading, found, both, began_s, ended_s).items()}
    return Energies(metrics, budgets, found.grade, found.source, tuple(doubts), shared, omitted, grades, unstated)


def energy_metrics(prefix: str, energy_j: float, work: Work) -> dict[str, float]:
    """Return the metrics of one boundary: energy, mean power, and work per joule, and joules per divisor."""
    metrics = {f"{prefix}energy_j": energy_j, f"{prefix}mean_w": energy_j / work.duration_s}
    if work.per_j:
        metrics[f"{prefix}{work.per_j}"] = work.count / energy_j
    return metrics | {f"{prefix}{key}": energy_j / amount for key, amount in work.divisors.items()}


def _shared(prefix: str, one: Budget, work: Work) -> dict[str, Mapping[str, float]]:
    """Return the errors that all repetitions share in energy, mean power and work per joule of one boundary."""
    if not (found := one.shared):
        return {}
    shared: dict[str, Mapping[str, float]] = {f"{prefix}{key}": found for key in ("energy_j", "mean_w", *work.divisors)}
    if work.per_j:
        shared[f"{prefix}{work.per_j}"] = {source: -ratio for source, ratio in found.items()}
    return shared


def _without_net(found: Boundaries) -> dict[str, str]:
    """Say why the servers with the switch have an energy, and those without it have none."""
    if found.net is not None or found.gross is None or found.parts is None:
        return {}
    if found.parts.net:
        why = "that of one of their channels is refused"
    else:
        why = f"{found.source} counts them together with the switch (cover the servers alone, or meter the switch as well)"
    return {NET: f"energy of the servers omitted: {why}; the gross_* metrics have that of servers and switch"}


def _added(reading: Reading, found: Boundaries, began_s: float, ended_s: float) -> Budget | str:
    """Return what a load added to the net energy, or why it is omitted; "" without a net energy."""
    if found.net is None:
        return ""
    net = reading.signed(found.parts.net) if found.parts else ()
    if (without := idle(reading.record, net)) is None:
        return UNSETTLED
    added = dynamic(found.net, without, length_s := ended_s - began_s)
    if added is not None and found.grade == "modelled":
        idle_time = ((*w, -length_s / len(without.windows) / (w[1] - w[0])) for w in without.windows)
        added = added.and_terms(coefficient_terms(reading.record, reading.series, net, ((began_s, ended_s, 1.0), *idle_time)))
    return OMITTED if added is None or added.value_j <= 0 else added


def _uncertainties(prefix: str, one: Budget, work: Work) -> dict[str, float]:
    # what a joule more or less moves each of these by
    moves = {"energy_j": 1.0} | {key: 1 / amount for key, amount in work.divisors.items()}
    moves |= {work.per_j: work.count / one.value_j**2} if work.per_j else {}
    found: dict[str, float] = {}
    for key, by in moves.items():
        of = metric_of(f"{prefix}{key}")
        found |= {of.uncertainty: one.expanded_j * by} if one.expanded_j else {}
        found |= {of.shared_uncertainty: one.shared_j * by} if one.shared_j else {}
    return found
