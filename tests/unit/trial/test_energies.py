"""The joules of a window in all boundaries, by hand: servers of 10 W each, and 50 W under a load from 10 to 20 s."""

from dataclasses import replace

import numpy as np
import pytest

from perjoule.energy.baseline import OMITTED, UNSETTLED
from perjoule.model import ClusterState, Specification
from perjoule.model.doubts import METERS, SHARED
from perjoule.trial.energies import energies
from readings import over

SERVERS, CLIENTS = ("storage-1", "storage-2", "metadata-1"), ("client-1", "client-2")


def loaded(made, hosts, idle_w=10.0, load_w=50.0, grade="wall", meter="meter", **stated):
    """Means of half a second, of a meter that states this."""
    t_s = np.arange(0.5, 30.25, 0.5)
    power_w = np.where((t_s > 10) & (t_s <= 20), load_w, idle_w)
    channels = [made.channel(host, semantics="window mean", grade=grade, meter=meter) for host in hosts]
    known = [replace(channel, specification=Specification(**stated)) for channel in channels]
    return [made.series(channel, t_s, power_w, 0.5) for channel in known]


def packages(made, power_w=3.0):
    t_s = np.arange(0.0, 30.5, 0.5)
    of = [made.channel(host, "package-0", "energy", "counter", "component", "rapl") for host in SERVERS]
    return [made.series(channel, t_s, power_w * t_s) for channel in of]


def of_load(made, series, *, scale=1.0, tail_s=4.0, counts=True):
    return energies(over(made.record(scale=scale, tail_s=tail_s), series), 10.0, 20.0, loaded=counts)


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_each_boundary_has_its_joules_in_emulated_time_and_the_load_what_it_added(made, scale):
    grade = "wall" if scale == 1 else "simulated"
    series = [
        *loaded(made, SERVERS, grade=grade),
        *loaded(made, CLIENTS, 30.0, 70.0, grade=grade),
        made.steady("", 5.0, component="switch", grade=grade),
    ]
    found = of_load(made, series, scale=scale)
    assert {name: budget.value_j for name, budget in found.budgets.items()} == pytest.approx(
        {
            "net": 3 * 500 * scale,
            "gross": (3 * 500 + 50) * scale,
            "dynamic": 3 * 400 * scale,
            "clients": 2 * 700 * scale,
            "all": (3 * 500 + 2 * 700) * scale,
        }
    )
    assert dict(found.refused) == {}
    assert (found.grade, found.packages_j) == (grade, None)


def test_what_is_no_load_has_added_nothing_and_lacks_nothing(made):
    found = of_load(made, loaded(made, SERVERS), counts=False)
    assert "dynamic" not in {**found.budgets, **found.refused}


def test_why_a_load_has_no_joules_of_its_own(made):
    assert of_load(made, loaded(made, SERVERS), tail_s=0.0).refused["dynamic"] == UNSETTLED
    # 10 W before, and 50 W after: the mean of both, 30 W, is wrong by 40 / sqrt(12) W, of 20 W
    t_s = np.arange(0.5, 30.25, 0.5)
    rising = [replace(one, value=np.where(t_s > 10, 50.0, 10.0)) for one in loaded(made, SERVERS)]
    assert of_load(made, rising).refused["dynamic"] == OMITTED
    falling = [replace(one, value=np.where(t_s > 10, 10.0, 50.0)) for one in loaded(made, SERVERS)]
    assert of_load(made, falling).refused["dynamic"] == OMITTED  # less than idle
    assert "dynamic" not in of_load(made, []).refused


@pytest.mark.parametrize(
    ("servers", "clients", "unstated"),
    [
        ({"gain_ratio": 0.01}, {"gain_ratio": 0.01}, set()),
        ({"gain_ratio": 0.01}, {}, {"clients", "all"}),
        ({}, {"offset": 0.1}, {"net", "dynamic", "all"}),
        ({}, {}, {"net", "dynamic", "clients", "all"}),
    ],
)
@pytest.mark.parametrize("grades", [("wall", "BMC"), ("simulated", "simulated"), ("wall", "simulated")])
def test_boundaries_of_real_meters_that_state_no_accuracy_are_named(made, servers, clients, unstated, grades):
    series = [
        *loaded(made, SERVERS, grade=grades[0], meter="a", **servers),
        *loaded(made, CLIENTS, grade=grades[1], meter="b", **clients),
    ]
    found = of_load(made, series)
    real = {"wall": {"net", "dynamic"}, "simulated": set()}[grades[0]]
    real |= {"clients", "all"} if grades[1] == "BMC" else set()
    assert set(found.unstated) == unstated & real
    worse = grades[1]
    of_boundary = {"net": grades[0], "dynamic": grades[0], "clients": worse, "all": worse}
    assert of_boundary.keys() <= found.budgets.keys()
    assert {name: found.grade_of(name) for name in of_boundary} == of_boundary


def test_processors_alone_are_a_doubt_beside_their_joules(made):
    found = of_load(made, [*loaded(made, SERVERS), *packages(made)])
    assert found.packages_j == pytest.approx(3 * 30)
    assert [doubt.id for doubt in found.doubts] == [METERS.processors_alone.id]
    alone = of_load(made, packages(made))
    assert (alone.packages_j, dict(alone.budgets)) == (pytest.approx(90), {})
    assert METERS.processors_above_servers.id not in [doubt.id for doubt in alone.doubts]
    nameplate = [made.steady(host, 2.0, grade="nameplate", meter="label") for host in SERVERS]
    assert METERS.processors_above_servers.id not in [
        doubt.id for doubt in of_load(made, [*nameplate, *packages(made)]).doubts
    ]


@pytest.mark.parametrize("of_others", [True, False])
def test_idle_watts_of_a_cluster_that_others_run_are_a_doubt_where_its_servers_are_metered(made, of_others):
    state = ClusterState(asked_s=9.0, version="16.2.15", redundancy=None, health="HEALTH_OK", lacks="")
    quiet = replace(made.record(tail_s=4.0), states=(state, state) if of_others else ())

    def doubted(*series):
        found = energies(over(quiet, series), 10.0, 20.0)
        return SHARED.idle_watts.id in [doubt.id for doubt in found.doubts]

    switch = made.steady("", 5.0, component="switch", grade="wall")
    assert doubted(*loaded(made, SERVERS)) is of_others
    assert doubted(*loaded(made, SERVERS), *loaded(made, CLIENTS), switch) is of_others
    assert not doubted(*loaded(made, CLIENTS))
    assert not doubted()
