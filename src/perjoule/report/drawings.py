"""The figures of a report, and the texts below their titles."""

from collections.abc import Iterator, Sequence

from perjoule import catalogue
from perjoule.energy.baseline import OMITTED, UNSETTLED
from perjoule.energy.efficiency import capacity_bytes_per_idle_w
from perjoule.figures.ageing import ageing
from perjoule.figures.alignment import alignment
from perjoule.figures.boundaries import boundaries
from perjoule.figures.budget import budget
from perjoule.figures.capacity import capacity
from perjoule.figures.cost import cost
from perjoule.figures.dimuon import dimuon
from perjoule.figures.edp import edp
from perjoule.figures.efficiency import efficiency
from perjoule.figures.events import drawable as draws_events
from perjoule.figures.events import events
from perjoule.figures.idle import drawable as draws_idle
from perjoule.figures.idle import idle
from perjoule.figures.joules import drawable, joules
from perjoule.figures.overhead import overhead
from perjoule.figures.parts import drawable as draws_parts
from perjoule.figures.parts import parts
from perjoule.figures.power import power
from perjoule.figures.rebuild import drawable as draws_rebuild
from perjoule.figures.rebuild import rebuild
from perjoule.figures.replacement import replacement
from perjoule.figures.scaling import scaling
from perjoule.figures.throughput import throughput
from perjoule.figures.timeline import timeline
from perjoule.figures.users import users
from perjoule.figures.vega import Spec
from perjoule.measures.energies import UNBUDGETED
from perjoule.measures.fairness import mixes
from perjoule.model import Cell
from perjoule.model.metrics import metric_of
from perjoule.model.units import BYTES, clients_text
from perjoule.papers import published
from perjoule.report import paper_comparison
from perjoule.report.content import Content
from perjoule.report.paper_figures import paper_drawings
from perjoule.results.ageing import worn
from perjoule.results.joules import SIDES
from perjoule.results.limitations import simulated_notes
from perjoule.results.metered import relative
from perjoule.results.mixed_users import bars
from perjoule.results.proportionality import curves
from perjoule.results.scalability import growths
from perjoule.statistics.cells import as_read
from perjoule.statistics.proportionality import proportionality
from perjoule.statistics.scaling import scaling as scaled
from perjoule.statistics.stopping import widening_of

BUDGETS_COUNT = 40  # in one figure
ALIGNMENTS_COUNT = 6
LOADS = (0, 25, 50, 75, 100)  # %


def grades(found: Content, *, watts: bool) -> list[str]:
    """Return how the numbers of a figure were obtained."""
    notes = [*simulated_notes(found.cells)]
    if found.at_scale:
        notes.append(f"emulated at {found.at_scale}")
    if watts and found.modelled:
        notes.append("watts modelled")
    if watts and len(several := sorted({cell.grade for cell in found.cells if cell.grade})) > 1:
        notes.append(f"power of different grades ({', '.join(several)}), not to be ranked against each other")
    return [", ".join(notes)] if notes else []


def drawings(found: Content) -> Iterator[tuple[str, Spec]]:
    """Return the figures that the records allow, each with the name of its file."""
    cells, plain, power_notes = found.cells, grades(found, watts=False), grades(found, watts=True)
    metrics = {name for cell in cells for name in cell.metrics}
    interval = "mean, 95 % interval, and a small mark for each repetition"
    if found.held:
        yield (
            "beside",
            paper_comparison.drawing(published.paper(found.reproduces), found.held, f"Measured here and in {found.reproduces}"),
        )
    yield from paper_drawings(found, plain, power_notes)
    if "throughput_bytes_per_s" in metrics:
        yield "throughput", throughput(cells, notes=[interval, *plain])
    if "efficiency_bytes_per_j" in metrics:
        yield "efficiency", efficiency(cells, notes=[interval, *power_notes])
    if "edp_ratio" in metrics:
        power_of = f"^{found.edp_weight}" if found.edp_weight != 1 else ""
        yield "edp", edp(cells, notes=[f"energy × time{power_of} for the same work, divided by the lowest mean", *power_notes])
    if found.power:
        most = max(r.trial.clients_count for r in found.records)
        spread = f"samples of all repetitions with {clients_text(most)}; box: quartiles, diamond: mean"
        yield "power", power(found.power, notes=[spread, *power_notes])
    if any(name.startswith("cpu_") for name in metrics):
        most = max(cell.clients_count for cell in cells)
        chosen = [cell for cell in cells if cell.clients_count == most]
        yield "cost", cost(chosen, notes=[f"{clients_text(most)}; CPU time of the machine that ran them", *plain])
    most = max((cell.clients_count for cell in cells), default=0)
    if drawable(chosen := [cell for cell in cells if cell.clients_count == most]):
        yield "joules", joules(chosen, notes=[*_joules_notes(chosen, most), *plain])
    if draws_idle(chosen):
        yield "idle", idle(chosen, notes=["servers, clients and switch without a load; mean of the repetitions", *power_notes])
    if pairs := bars(mixes(found.points, widening_of(cells))):
        kept = "while a user's jobs ran: mean, 95 % interval, and a small mark for each repetition; fair is Jain's index"
        yield "users", users(pairs, axis=metric_of("throughput_bytes_per_s").unit.symbol, notes=[kept, *plain])
    if grown := growths(scaled(cells)):
        drawn = (
            "dashed: ideal from the smallest number; solid: the fitted law; mean, 95 % interval, a small mark for each repetition"
        )
        yield "scaling", scaling(grown, notes=[drawn, *power_notes])
    if loaded := proportionality(cells):
        drawn = "dashed: in proportion to load; mean, 95 % interval, a small mark for each repetition"
        title, axis = "Power against load", "load in % of the maximum"
        yield "proportionality", scaling(curves(loaded), title=title, axis=axis, ticks=LOADS, notes=[drawn, *power_notes])
    if draws_events(cells):
        stages = (
            "first and last event, and healthy, divide the load; stages of less than a second are left out; mean, 95 % interval"
        )
        yield "events", events(cells, notes=[stages, *power_notes])
    if draws_rebuild(cells):
        explained = "bar: mean and 95 % interval; tick, and number in brackets: what redundancy alone explains"
        yield "rebuild", rebuild(cells, notes=[explained, *plain])
    if aged := worn(found.records, cells):
        yield "ageing", ageing(aged, notes=["dashed: no difference; mean and 95 % interval", *power_notes])
    if found.overheads:
        most = max(r.trial.clients_count for r in found.records)
        shown = f"storage hosts together, one trial with {clients_text(most)} each; grey: the headline window, then the tail"
        yield "overhead", overhead(found.overheads, notes=[shown, *plain])
    if any(one.power_ratio for one in found.replacements):
        as_many = "as many machines as reach the server's throughput, fractions included; mean and 95 % interval"
        yield "replacement", replacement(found.replacements, notes=[as_many, *power_notes])
    if found.mass_spectrum:
        told = "pairs of opposite charge of one trial; below: standard errors, and the fit of a peak over a background"
        yield "dimuon", dimuon(found.mass_spectrum, notes=[told, *plain])
    shares = {
        ", ".join((*one.key[:2], *(() if direction in one.key[1] else (direction,)), clients_text(one.key[2]))): relative(
            [energy.budgets["net"]]
        )
        for one in sorted(found.metered, key=lambda one: [as_read(str(part)) for part in one.key])
        for direction, energy in one.energies.items()
        if "net" in energy.budgets and energy.grade not in UNBUDGETED and energy.budgets["net"].terms
    }
    if shares:
        of_one = "net energy of one trial each; right: one standard uncertainty in % of the energy"
        yield "budget", budget(dict(list(shares.items())[:BUDGETS_COUNT]), notes=[of_one, *power_notes])
    if covering := max(found.metered, key=lambda one: one.key[2], default=None):
        notes = ["power: mean over the measured window of one trial", *power_notes]
        yield "boundaries", boundaries(covering.devices, covering.bars, notes=notes)
    if (one := max(found.metered, key=lambda one: one.key[2], default=None)) and draws_parts(one.parts):
        what = f"{one.key[0]}, {one.key[1]}, {clients_text(one.key[2])}: the measured window of one trial; pale: an upper bound"
        yield "parts", parts(one.parts, notes=[what, *plain])
    if found.alignments:
        shown = "samples, with the load pattern's fit; below: how far the meter's clock is ahead, with 95 % intervals"
        yield "alignment", alignment(found.alignments[:ALIGNMENTS_COUNT], notes=[shown, *plain])
    if found.timelines:
        hit = "; and each event, and when the file system was healthy again" if any(r.events for r in found.records) else ""
        dashed = f"grey: the headline window; dashed: the end of a write's burst and of its write-back{hit}"
        yield "timeline", timeline(notes=[dashed, *power_notes])
    if any(catalogue.servers(catalogue.cluster(name)) for name in found.clusters if name in catalogue.names()):
        yield "capacity", _capacity(found.clusters)


def _joules_notes(cells: Sequence[Cell], clients_count: int) -> Iterator[str]:
    """Say how the energy of each side was obtained, and which one is missing."""
    clients = clients_text(clients_count)
    grades = {
        name: sorted({grade for cell in cells if f"{prefix}energy_j" in cell.metrics and (grade := cell.grade_of(name))})
        for name, prefix in SIDES.items()
    }
    told = [
        f"{whose} {'+'.join(found)}" for whose, found in (("servers", grades["net"]), ("clients", grades["clients"])) if found
    ]
    yield f"{clients}; headline window, mean of the repetitions" + (f"; power: {', '.join(told)}" if told else "")
    yield from dict.fromkeys(words for cell in cells for words in cell.omitted if words not in (OMITTED, UNSETTLED))


def _capacity(clusters: Sequence[str]) -> Spec:
    every = {name: catalogue.cluster(name) for name in catalogue.names()}
    named = {name: cluster for name, cluster in every.items() if catalogue.servers(cluster)}
    values = {c.title: capacity_bytes_per_idle_w(c) / BYTES["TiB"] for c in named.values()}
    highlighted = named[clusters[0]].title if clusters[0] in named else ""
    notes = ["raw capacity of the data disks per watt that the servers draw idle, without switch; from the catalogue"]
    return capacity(values, highlighted=highlighted, notes=notes)
