"""Where the joules went: pieces that add up, each from a meter that measures it, or one that is not split."""

from dataclasses import replace

import numpy as np
import pytest

from perjoule import catalogue
from perjoule.measures.points import points
from perjoule.model import HostFact

SERVERS, CLIENTS = ("storage-1", "storage-2", "metadata-1"), ("client-1", "client-2")
HC4 = catalogue.cluster("odroid-hc4")
NODES = {"storage": "A", "metadata": "C", "client": "G"}


def wall(made, servers_w=10.0, clients_w=40.0):
    return [made.steady(h, servers_w) for h in SERVERS] + [made.steady(h, clients_w) for h in CLIENTS]


def rapl(made, hosts, power_w=3.0):
    t_s = np.arange(0.0, 30.5, 0.5)
    of = [made.channel(host, "package-0", "energy", "counter", "component", "rapl") for host in hosts]
    return [made.series(one, t_s, power_w * t_s) for one in of]


def disks(made, hosts=("storage-1", "storage-2"), grade="component"):
    return [made.steady(host, 2.0, component="disks", grade=grade, meter="probe") for host in hosts]


def pieces(made, series, record=None):
    (point,) = points(record or made.record(), series)
    found = {
        key.removeprefix("part_").removesuffix("_j"): v
        for key, v in point.metrics.items()
        if key.startswith("part_")
    }
    whole_j = point.metrics.get("all_energy_j", point.metrics.get("energy_j", 0.0)) + found.get(
        "network", 0.0
    )
    assert sum(found.values()) == pytest.approx(whole_j)
    return found


def test_counters_of_processors_and_probes_of_disks_split_both_sides(made):
    switch = made.steady("", 5.0, component="switch")
    assert pieces(
        made, [*wall(made), *rapl(made, (*SERVERS, *CLIENTS)), *disks(made), switch]
    ) == pytest.approx(
        {
            "client_cpu": 60,
            "client_rest": 740,
            "network": 50,
            "server_cpu": 90,
            "server_rest": 170,
            "disks": 40,
        }
    )


def test_what_is_unknown_of_a_side_is_not_split(made):
    assert pieces(made, wall(made)) == pytest.approx({"unsplit": 1100})
    assert pieces(made, [*wall(made), *rapl(made, SERVERS)]) == pytest.approx(
        {"server_cpu": 90, "unsplit": 210 + 800}
    )
    assert pieces(made, [*wall(made), *disks(made)]) == pytest.approx({"disks": 40, "unsplit": 260 + 800})
    assert pieces(made, [*wall(made), *rapl(made, CLIENTS)]) == pytest.approx(
        {"client_cpu": 60, "client_rest": 740, "unsplit": 300}
    )
    assert pieces(made, [*wall(made), *rapl(made, CLIENTS[:1])]) == pytest.approx({"unsplit": 1100})


@pytest.mark.parametrize("grade", ["nameplate", "simulated"])
def test_counters_of_processors_split_no_energy_that_nobody_measured(made, grade):
    series = [made.steady(host, 10.0, grade=grade, meter="label") for host in SERVERS]
    assert pieces(made, [*series, *rapl(made, SERVERS), *disks(made)]) == pytest.approx({"unsplit": 300})


def test_hosts_that_serve_their_own_load_count_as_servers(made):
    record = made.record()
    results = tuple(
        replace(one, host=host) for one, host in zip(record.outcome.results, SERVERS[:2], strict=True)
    )
    record = replace(record, outcome=replace(record.outcome, results=results))
    assert pieces(
        made, [*wall(made), *rapl(made, (*SERVERS, *CLIENTS)), *disks(made)], record
    ) == pytest.approx({"server_cpu": 90, "server_rest": 170, "disks": 40})


def test_modelled_disks_split_no_measured_energy(made):
    assert pieces(made, [*wall(made), *rapl(made, SERVERS), *disks(made, grade="modelled")]) == pytest.approx(
        {"server_cpu": 90, "unsplit": 210 + 800}
    )


def test_meters_that_contradict_each_other_split_nothing(made):
    assert pieces(made, [*wall(made), *rapl(made, SERVERS, 11.0), *disks(made)]) == pytest.approx(
        {"unsplit": 1100}
    )


def test_a_meter_of_both_sides_is_not_split(made):
    strip = made.steady("", 110.0, component="group")
    strip = replace(strip, channel=replace(strip.channel, covers=(*SERVERS, *CLIENTS)))
    assert pieces(made, [strip, *rapl(made, (*SERVERS, *CLIENTS)), *disks(made)]) == pytest.approx(
        {"unsplit": 1100}
    )


def test_a_side_without_energy_is_in_no_piece(made):
    servers = [one for one in wall(made) if one.channel.host in SERVERS]
    assert pieces(made, [*servers, *rapl(made, (*SERVERS, *CLIENTS)), *disks(made)]) == pytest.approx(
        {"server_cpu": 90, "server_rest": 170, "disks": 40}
    )
    assert pieces(made, []) == {}


def modelled(made, *, cluster="odroid-hc4", scale=1.0):
    def of(host, component, power_w):
        return made.steady(host, power_w, component=component, grade="modelled", meter="modelled")

    series = [of(host, "board", 5.0) for host in SERVERS] + [of(host, "supply", 1.5) for host in SERVERS]
    series += [of(host, "disks", 2.0) for host in SERVERS] + [of(host, "board", 50.0) for host in CLIENTS]
    hosts = tuple(HostFact(h.name, h.role, NODES[h.role]) for h in made.record().hosts)
    return replace(made.record(cluster=cluster, scale=scale), hosts=hosts), [*series, of("", "switch", 15.0)]


def test_modelled_watts_split_into_what_the_model_is_made_of(made):
    record, series = modelled(made, scale=0.5)
    assert pieces(made, series, record) == pytest.approx(
        {
            "client_cpu": 2 * (50 - 30) * 5,
            "client_rest": 2 * 30 * 5,
            "network": 75,
            "server_cpu": 3 * (5 - 4.3) * 5,
            "server_rest": 3 * (4.3 + 1.5) * 5,
            "disks": 30,
        }
    )


def test_modelled_servers_without_disks_have_no_joules_of_disks(made):
    record, series = modelled(made)
    found = pieces(made, [one for one in series if one.channel.component != "disks"], record)
    assert "disks" not in found
    assert found["server_rest"] == pytest.approx(3 * (4.3 + 1.5) * 10)


def test_modelled_watts_of_unknown_hardware_have_no_processors(made):
    record, series = modelled(made, cluster="sold-long-ago")
    assert pieces(made, series, record) == pytest.approx(
        {"disks": 60, "network": 150, "unsplit": 3 * 65 + 1000}
    )


def quiet_clients(made, seed, above_w):
    """Clients that work until second 5 and then draw so much more than idle, sampled at odd moments; the
    load begins later.
    """
    record, series = modelled(made, scale=0.5)
    rng = np.random.default_rng(seed)
    t_s = np.sort(rng.uniform(-30.0, 60.0, 400))
    power_w = np.where(t_s < 5, rng.uniform(31.0, 60.0, t_s.size), 30 + above_w)
    own = [
        made.series(one.channel, t_s, power_w, np.diff(t_s, prepend=t_s[0] - 0.2))
        if one.channel.component == "board" and one.channel.host in CLIENTS
        else one
        for one in series
    ]
    return pieces(made, own, record)


@pytest.mark.parametrize("seed", range(5))
def test_rounding_is_not_energy_of_clients_that_did_nothing(made, seed):
    assert "client_cpu" not in quiet_clients(made, seed, 0.0)
    assert quiet_clients(made, seed, 0.1)["client_cpu"] == pytest.approx(2 * 0.1 * 5, rel=1e-12)


@pytest.mark.parametrize(("ratio", "told"), [(0.97e-6, False), (1.03e-6, True)])
def test_a_piece_below_a_millionth_of_all_is_left_out(made, ratio, told):
    """Of 1005 J: 255 of servers, 600 of idle clients and 150 of the switch, in wall time."""
    found = quiet_clients(made, 1, ratio * 1005 / (2 * 10))
    assert ("client_cpu" in found) == told
