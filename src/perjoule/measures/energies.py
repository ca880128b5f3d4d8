"""A window's energy to numbers: each boundary with its power, its work per joule, and its uncertainty.

Each energy and each work per joule has half a 95 % interval, from all known errors of one trial, and the part
of it from the errors that all repetitions on the same meter share, which their scatter does not show. Shared
errors are also listed by source, so a comparison knows what cancels. The uncertainty of modelled power comes
from the sigmas of the catalogue's coefficients; nameplates have no known uncertainty.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from perjoule.model import Number, Numbers
from perjoule.model.merit import edp
from perjoule.model.metrics import EDP, J_S, MIB_PER_J, NET, OP_PER_J, PER_JOULE, J, Metric, W
from perjoule.model.metrics import ENERGY as ENERGY_KEY
from perjoule.model.metrics import POWER as POWER_KEY

if TYPE_CHECKING:
    from perjoule.energy.budget import Budget
    from perjoule.trial.energies import Energies
    from perjoule.trial.load import Load
    from perjoule.trial.reading import Reading

ENERGY = Metric("{boundary}" + ENERGY_KEY, "J", J, "energy of {boundary}", "lower", energy=True, headline=True,
                quantity="energy", budgeted=True)  # fmt: skip
POWER = Metric("{boundary}" + POWER_KEY, "W", W, "energy of {boundary} / duration", "lower", energy=True, headline=True,
               quantity="power")  # fmt: skip
EFFICIENCY = Metric("{boundary}" + PER_JOULE[0], "MiB/J", MIB_PER_J, "bytes moved / energy of {boundary}", "higher", energy=True,
                    together=True, headline=True, quantity="efficiency", budgeted=True)  # fmt: skip
OPERATIONS = Metric("{boundary}" + PER_JOULE[1], "op/J", OP_PER_J,
                    "operations / energy of {boundary}, of a load that moves no bytes", "higher", energy=True, together=True,
                    headline=True, budgeted=True)  # fmt: skip
EDP_OF_NET = Metric(EDP, "EDP", J_S, "energy x duration, of the servers without the switch", "lower", energy=True,
                    together=True, headline=True, quantity="energy-delay product")  # fmt: skip
EDP_HALF = Metric("edp_uncertainty_js", "EDP uncertainty", J_S, "half of the 95 % interval of the EDP of one trial", "lower",
                  energy=True, together=True)  # fmt: skip
METRICS = (ENERGY, POWER, EFFICIENCY, OPERATIONS, EDP_OF_NET, EDP_HALF)

TIMER_S = 1e-3  # to which a window's ends are known
UNBUDGETED = ("nameplate",)


@dataclass(frozen=True)
class Work:
    """The work of a window's joules, with its metric per joule: bytes or operations, in this (emulated) time.

    The work of an idle file system is to keep data: capacity times time. It has no energy-delay product, and
    no dynamic energy.
    """

    per_j: Metric | None  # None if it is not known
    count: float
    duration_s: float
    loaded: bool = True
    divisors: Mapping[Metric, float] = field(default_factory=dict[Metric, float])  # of joules


def work(load: "Load") -> Work:
    """Return the work of a load's headline window."""
    if load.idle:
        from perjoule.measures.idle import storing

        return storing(load)
    if load.moved_bytes:
        return Work(EFFICIENCY, load.moved_bytes, load.duration_s)
    return Work(OPERATIONS, load.operations_count, load.duration_s)


def measure(load: "Load") -> Numbers:
    """Return the energies of the headline window, and of processors and disks by their own meters."""
    numbers = of_window(load.reading, *load.window, work(load))
    disks = load.reading.metering.disks
    disks_j = load.reading.drawn_j(disks.net, *load.window) if disks else None
    return replace(
        numbers, by_key={**numbers.by_key, **_bare("device", disks_j and load.emulated(disks_j), work(load))}
    )


def of(load: "Load", boundary: str) -> Number:
    """Return the energy of a boundary in the headline window, for measures that divide it."""
    return load.numbers(measure).by_key.get(ENERGY.of(boundary).key, Number())


def of_window(reading: "Reading", began_s: float, ended_s: float, work: Work) -> Numbers:
    """Return the energy of a window in every boundary, and its work per joule."""
    from perjoule.trial.energies import energies

    energies_of = energies(reading, began_s, ended_s, loaded=work.loaded)
    by_key = {
        key: number
        for name, budget in energies_of.budgets.items()
        for key, number in _of(name, budget, energies_of, work)
    }
    if work.loaded and (net := energies_of.budgets.get(NET)) is not None:
        by_key |= _edp(net, _stated(NET, net, energies_of), reading.dilation.emulated(TIMER_S), work)
    # grades, and why an energy is missing, stand with the energies themselves
    servers = {NET: energies_of.grade} if energies_of.grade else {}
    for name in dict.fromkeys([*servers, *energies_of.budgets, *energies_of.grades, *energies_of.refused]):
        key = ENERGY.of(name).key
        by_key[key] = replace(
            by_key.get(key, Number()),
            grade={**energies_of.grades, **servers}.get(name, ""),
            source=energies_of.source if name == NET else "",
            unstated=name in energies_of.unstated,
            why_not=energies_of.refused.get(name, ""),
        )
    return Numbers({**by_key, **_bare("CPU package", energies_of.packages_j, work)}, energies_of.doubts)


def _of(boundary: str, budget: "Budget", energies: "Energies", work: Work) -> Iterator[tuple[str, Number]]:
    """Return the numbers of one boundary, by key."""
    uncertain = _stated(boundary, budget, energies)
    shared = budget.shared if uncertain else {}
    inverse = {source: -ratio for source, ratio in shared.items()}
    for metric, value, slope in _values(budget.value_j, work):
        errors = inverse if slope < 0 else shared
        number = Number(value, shared=errors)
        if uncertain and slope:
            number = Number(value, budget.expanded_j * abs(slope), budget.shared_j * abs(slope), errors)
        yield metric.of(boundary).key, number


def _values(energy_j: float, work: Work) -> Iterator[tuple[Metric, float, float]]:
    """Return each metric of an energy, its value, and what a joule more moves it by; 0 if it has no
    uncertainty of its own.
    """
    yield ENERGY, energy_j, 1.0
    yield POWER, energy_j / work.duration_s, 0.0
    if work.per_j:
        yield work.per_j, work.count / energy_j, -work.count / energy_j**2
    for metric, amount in work.divisors.items():
        yield metric, energy_j / amount, 1 / amount


def _bare(boundary: str, energy_j: float | None, work: Work) -> dict[str, Number]:
    """Return the numbers of a boundary without a budget."""
    return (
        {metric.of(boundary).key: Number(value) for metric, value, _ in _values(energy_j, work)}
        if energy_j
        else {}
    )


def _stated(boundary: str, budget: "Budget", energies: "Energies") -> bool:
    """Whether anything is known of an energy's errors."""
    return energies.grade_of(boundary) not in UNBUDGETED and bool(budget.terms)


def _edp(net: "Budget", uncertain: bool, timer_s: float, work: Work) -> dict[str, Number]:
    """Return the energy-delay product, which is uncertain by its power and by its time."""
    from perjoule.energy.budget import NORMAL, edp_uncertainty

    product_js = edp(net.value_j, work.duration_s)
    if not uncertain:
        return {EDP: Number(product_js)}
    ratio = edp_uncertainty(net.expanded_j / net.value_j, NORMAL * timer_s / work.duration_s)
    return {EDP: Number(product_js, shared=net.shared), EDP_HALF.key: Number(product_js * ratio)}
