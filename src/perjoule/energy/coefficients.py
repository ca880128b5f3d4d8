"""The uncertainty of modelled energy: each coefficient of the catalogue, times the sensitivity of the energy
to it.

The component series of a record give the model's inputs (see `perjoule.meters.modelled`). In a window of T
seconds in which a host's board took B joules and its disks D, the use of its CPU is (B - idle T) / (dynamic
T), the time in which its disks worked t = (D - T sum(idle)) / sum(active - idle), and the load on the supply
of efficiency n is B + D. So the sensitivities of the energy at the wall are

    idle of the board      T / n          idle of a disk      (T - t) / n        supply efficiency    -(B + D)
    / n^2 dynamic of the board   (B - idle T) / (dynamic n)         active of a disk   t / n      switch    T
    7-zip rating of the board   -(B - idle T) / (rating n), if a virtual host's capacity derives from it

    supply without load     T

times the coefficient's sigma. With a step s of a board, each window by itself has the use c of its mean power,
and the sensitivities to dynamic and step are c T / n and (min(1, cores c) - c) T / n; to that of a disk
(a - t) / n, awake for a: as long as its energy above idle allows.

A fitted coefficient moves with those assumed for the fit (`Value.follows`),
and all that were fitted to one load with the mean power of that load, whose sensitivity is theirs alone. All
hosts with the same board or disk share its error, and so do all trials.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import copysign

from perjoule.catalogue import Cluster, Node, Value
from perjoule.catalogue.coefficients import EFFICIENCY, LOAD, NO_LOAD, RATING, coefficients
from perjoule.catalogue.watts import TINY, board_use_ratio, step_and_bend_w
from perjoule.energy.amount import amount
from perjoule.energy.budget import Term
from perjoule.energy.coverage import SWITCH, SignedSeries
from perjoule.energy.hosts import hardware
from perjoule.energy.once import once
from perjoule.model import Record, Series, value_at

NOISE_RATIO = 1e-12  # of an energy: what sums of a million samples in another order may differ by
NOISE_J = 1e-9  # of an error: nothing that anybody measures
Window = tuple[float, float, float]  # begin and end in seconds, and the weight with which its energy counts

_TERMS = {  # how a coefficient is called in a budget, by the first words of its name
    "idle of board": "board idle",
    "dynamic of board": "board dynamic",
    RATING: "CPU rating",
    "idle of disk": "disk idle",
    "active of disk": "disk active",
    "step of board": "board step",
    "bend of board": "board bend",
    "step of disk": "disk step",
    NO_LOAD: "supply without load",
    EFFICIENCY: "supply",
    "switch": "switch",
    LOAD: "load",
}


@dataclass(frozen=True)
class _Use:
    """The energy of a host's components (J), over this time (s)."""

    length_s: float
    board_j: float
    disks_j: float


@dataclass(frozen=True, eq=False)
class ModelledHosts:
    """A trial's hosts as the model of watts has them, prepared once for the errors of any number of energies."""

    record: Record  # with its hardware
    series: Collection[Series]  # of the record; those of the boards and disks are the model's inputs

    def terms(self, parts: SignedSeries, windows: tuple[Window, ...]) -> tuple[Term, ...]:
        """List the uncertainty terms of a modelled energy, one for each coefficient with a sigma; none if
        undetermined.

        Args:
            parts: the series that make up the energy, with their signs.
            windows: those whose energies, each times its weight, make up the energy.
        """
        cluster = self._cluster
        if cluster is None:
            return ()
        efficiency = cluster.supply_efficiency.value
        length_s = sum(weight * (ended_s - began_s) for began_s, ended_s, weight in windows)
        slopes: dict[str, float] = defaultdict(float)
        for sign, part_series in parts:
            host, component = part_series.channel.host, part_series.channel.component
            if component == SWITCH:
                slopes["switch"] += sign * length_s
                continue
            if host not in self._nodes or component not in ("board", "disks", "supply"):
                return ()
            node = self._nodes[host]
            for weight, some in _apart(windows) if _is_bent(node) else ((1.0, windows),):
                # a host may lack one
                inputs = (self._components.get((host, part)) for part in ("board", "disks"))
                board_j, disks_j = (0.0 if of_part is None else _joules(of_part, some) for of_part in inputs)
                if board_j is None or disks_j is None:
                    return ()
                use = _Use(sum(by * (ended_s - began_s) for began_s, ended_s, by in some), board_j, disks_j)
                for name, slope in _slopes(component, node, use, efficiency, rated=self._rated):
                    slopes[name] += sign * weight * slope
        return tuple(self._terms(slopes))

    def _terms(self, slopes: defaultdict[str, float]) -> Iterator[Term]:
        fitted: dict[str, float] = defaultdict(float)
        for follower, coefficient in self._values.items():
            for name, by in coefficient.follows.items():
                fitted[name] += slopes[follower] * by
        for name, value in self._values.items():
            error_j = (slopes[name] + fitted[name]) * value.sigma
            if abs(error_j) > NOISE_J:
                kind, source = self._kinds[name]
                yield Term(
                    kind,
                    abs(error_j),
                    "modelled",
                    shared=True,
                    source=source,
                    sign=int(copysign(1, error_j)),
                )

    @cached_property
    def _cluster(self) -> Cluster | None:
        return hardware(self.record)

    @cached_property
    def _rated(self) -> bool:
        """Whether the hosts' CPU capacity derives from their boards' rating; a real host's is its number of
        cores.
        """
        return value_at(self.record.facts, "testbed", "machine_mips_per_core") is not None

    @cached_property
    def _nodes(self) -> Mapping[str, Node]:
        """The hardware of each host."""
        nodes = {node.name: node for node in self._cluster.nodes} if self._cluster else {}
        return {host.name: nodes[host.node] for host in self.record.hosts if host.node in nodes}

    @cached_property
    def _components(self) -> Mapping[tuple[str, str], Series]:
        return {
            (s.channel.host, s.channel.component): s for s in self.series if s.channel.grade == "modelled"
        }

    @cached_property
    def _values(self) -> Mapping[str, Value]:
        """The coefficients by name; a host whose capacity is its own cores knows nothing of a rating."""
        values = coefficients(self._cluster) if self._cluster else dict[str, Value]()
        return {name: value for name, value in values.items() if self._rated or not name.startswith(RATING)}

    @cached_property
    def _kinds(self) -> Mapping[str, tuple[str, str]]:
        """How each coefficient is called in a budget, and its source."""
        file = (self._cluster.file or self._cluster.name) if self._cluster else ""
        return {
            name: (
                next(kind for prefix, kind in _TERMS.items() if name.startswith(prefix)),
                f"{file}: {name}",
            )
            for name in self._values
        }


def _is_bent(node: Node) -> bool:
    """Return whether a host's power is no linear function of its use."""
    parts = (node.board, *node.disks)
    return node.board.bend_w is not None or any(part.step_w is not None for part in parts)


def _apart(windows: tuple[Window, ...]) -> Iterator[tuple[float, tuple[Window, ...]]]:
    """Return each window by itself with its weight, for what is not linear in their sum."""
    for began_s, ended_s, weight in windows:
        if ended_s > began_s:
            yield weight, ((began_s, ended_s, 1.0),)


@once
def _joules(series: Series, windows: tuple[Window, ...]) -> float | None:
    """Return the energy of a component over weighted windows; None if it is refused."""
    parts_j = [(weight, amount(series, began_s, ended_s).value) for began_s, ended_s, weight in windows]
    known_j = [weight * part_j for weight, part_j in parts_j if part_j is not None]
    return sum(known_j) if len(known_j) == len(parts_j) else None


def _slopes(
    component: str, node: Node, use: _Use, efficiency: float, *, rated: bool
) -> Iterator[tuple[str, float]]:
    """Return the sensitivity of a host component's energy to each coefficient, in joules by its unit."""
    if component == "supply":
        per_load = 1 / efficiency - 1
        for part in ("board", "disks"):
            yield from (
                (name, per_load * slope) for name, slope in _slopes(part, node, use, 1.0, rated=rated)
            )
        yield EFFICIENCY, -(use.board_j + use.disks_j) / efficiency**2
        yield NO_LOAD, use.length_s
    elif component == "board":
        board, (step_w, bend_w) = node.board, step_and_bend_w(node.board)
        dynamic_j = _beyond(use.board_j, board.idle_w.value * use.length_s)
        rated_j = dynamic_j
        yield f"idle of board {board.name}", use.length_s
        if step_w or bend_w:
            mean_w = board.idle_w.value + dynamic_j / use.length_s
            used_ratio = float(board_use_ratio(board, mean_w))
            awake_ratio = min(1.0, board.cores_count * used_ratio)
            if awake_ratio == 1:
                rated_j -= step_w * use.length_s  # which more capacity would not save
            bent_ratio = min(1.0, used_ratio)
            if bent_ratio < 1:
                rated_j += 2 * bend_w * bent_ratio**3 * use.length_s  # of which it saves thrice its share
            yield f"step of board {board.name}", (awake_ratio - used_ratio) * use.length_s
            yield f"bend of board {board.name}", (bent_ratio**3 - bent_ratio) * use.length_s
            yield f"dynamic of board {board.name}", used_ratio * use.length_s
        elif board.dynamic_w.value:
            yield f"dynamic of board {board.name}", dynamic_j / board.dynamic_w.value
        if rated:
            yield f"{RATING} {board.name}", -rated_j / board.mips.value
    else:
        more_w = sum(disk.active_w.value - disk.idle_w.value for disk in node.disks)
        idle_j = use.length_s * sum(disk.idle_w.value for disk in node.disks)
        steps_w = sum(disk.step_w.value for disk in node.disks if disk.step_w)
        beyond_j = _beyond(use.disks_j, idle_j)
        awake_s = min(use.length_s, beyond_j / steps_w) if steps_w else 0.0
        busy_s = (beyond_j - steps_w * awake_s) / max(more_w - steps_w, TINY) if more_w else 0.0
        for disk in node.disks:
            if disk.step_w is not None:
                yield f"step of disk {disk.name}", awake_s - busy_s
            yield f"idle of disk {disk.name}", use.length_s - busy_s
            yield f"active of disk {disk.name}", busy_s


def _beyond(energy_j: float, idle_j: float) -> float:
    """Return an energy beyond that of idling: 0 if it is only what rounding leaves, which differs between
    processors.
    """
    more_j = energy_j - idle_j
    return more_j if abs(more_j) > NOISE_RATIO * abs(idle_j) else 0.0
