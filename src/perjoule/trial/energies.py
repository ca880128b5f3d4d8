"""The joules of a window in every boundary that meters cover, in emulated time: of the servers, of the
clients, and of all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from perjoule.energy.baseline import OMITTED, UNSETTLED, dynamic
from perjoule.energy.budget import Budget
from perjoule.energy.choosing import REAL
from perjoule.energy.contradictions import margin_j
from perjoule.energy.power import Boundaries
from perjoule.model.doubts import METERS, SHARED, Doubt
from perjoule.model.metrics import NET
from perjoule.trial.reading import Reading
from perjoule.trial.same_devices import disagreements
from perjoule.trial.sides import sides


@dataclass(frozen=True)
class Energies:
    """Energies with their budgets by boundary, the grades of those that other meters know than the
    servers', and doubts.
    """

    budgets: Mapping[str, Budget] = field(default_factory=dict[str, Budget])
    grade: str = ""  # of the servers'
    source: str = ""
    grades: Mapping[str, str] = field(default_factory=dict[str, str])
    refused: Mapping[str, str] = field(default_factory=dict[str, str])  # boundary without an energy -> why
    unstated: tuple[str, ...] = ()  # boundaries of which a meter does not state its accuracy
    packages_j: float | None = None  # of the servers' processors, by their own counters
    doubts: tuple[Doubt, ...] = ()

    def grade_of(self, boundary: str) -> str:
        """Return the grade of a boundary's energy."""
        return self.grades.get(boundary, self.grade)


def energies(reading: Reading, began_s: float, ended_s: float, *, loaded: bool = True) -> Energies:
    """Return the energies of a window; only what is `loaded` has a dynamic one."""
    servers = reading.servers(began_s, ended_s)
    both = sides(reading, servers, began_s, ended_s)
    added = _added(reading, servers, began_s, ended_s) if loaded else ""
    parts = {NET: servers.net, "gross": servers.gross, "controller": servers.boards}
    parts |= {"dynamic": added} if isinstance(added, Budget) else {}
    parts |= {name: side.net for name, side in both.by_name.items()}
    a_joule_j = reading.dilation.emulated(1.0)
    budgets = {
        name: budget.times(a_joule_j)
        for name, budget in parts.items()
        if budget is not None and budget.value_j > 0
    }
    grades = {name: side.grade for name, side in both.by_name.items()}
    packages_j = reading.drawn_j(reading.metering.servers.packages, began_s, ended_s) or None
    doubts = [*servers.doubts, *(doubt for side in both.by_name.values() for doubt in side.doubts)]
    doubts += [*disagreements(reading, began_s, ended_s), *reading.counted_twice]
    if packages_j:
        if (
            servers.net is not None
            and servers.grade in REAL
            and packages_j > servers.net.value_j + margin_j(servers.net)
        ):
            servers_j = servers.net.value_j
            above = METERS.processors_above_servers(
                processors_j=packages_j, servers_j=servers_j, source=servers.source
            )
            doubts.append(above)
        doubts.append(METERS.processors_alone())
    # a cluster of others, with watts of its servers
    if reading.record.states and (NET in budgets or "gross" in budgets):
        doubts.append(SHARED.idle_watts())
    return Energies(
        budgets,
        servers.grade,
        servers.source,
        grades,
        {
            **both.refused,
            **({"dynamic": added} if isinstance(added, str) and added else {}),
            **_without_net(servers),
        },
        tuple(
            name
            for name, budget in budgets.items()
            if "accuracy" in budget.unknown and grades.get(name, servers.grade) in REAL
        ),
        packages_j and packages_j * a_joule_j,
        tuple(doubts),
    )


def _without_net(servers: Boundaries) -> dict[str, str]:
    """Say why the servers with the switch have an energy, and those without it have none."""
    if servers.net is not None or servers.gross is None or servers.parts is None:
        return {}
    if servers.parts.net:
        why = "that of one of their channels is refused"
    else:
        why = (
            f"{servers.source} counts them together with the switch (if it does not feed the switch, write "
            'covers = ["servers"] below its [[meter]]; if it does, add a [[meter]] of the switch, or its power: '
            'kind = "constant")'
        )
    return {NET: f"energy of the servers omitted: {why}; the gross_* metrics have that of servers and switch"}


def _added(reading: Reading, servers: Boundaries, began_s: float, ended_s: float) -> Budget | str:
    """Return what a load added to the net energy, or why it is omitted; "" without a net energy."""
    if servers.net is None:
        return ""
    channels = servers.parts.net if servers.parts else ()
    if (without := reading.idle(channels)) is None:
        return UNSETTLED
    added = dynamic(servers.net, without, length_s := ended_s - began_s)
    if added is not None and servers.grade == "modelled":
        idle_time = ((*w, -length_s / len(without.windows) / (w[1] - w[0])) for w in without.windows)
        added = added.and_terms(
            reading.modelled.terms(reading.signed(channels), ((began_s, ended_s, 1.0), *idle_time))
        )
    return OMITTED if added is None or added.value_j <= 0 else added
