"""The watts while a run is watched: those of the boundary in the table."""

from dataclasses import replace

import pytest

from perjoule.energy.choosing import Roles
from perjoule.measures.points import points
from perjoule.model import Channel, Grade, Quantity
from perjoule.trial.live import boundaries, client_rate, rates, roles, servers_w, totals
from perjoule.trial.reading import Dilation

SERVERS = frozenset({"s-1", "s-2"})
ROLES = {"s-1": "storage", "s-2": "storage", "c-1": "client", "c-2": "client"}


def channel(host: str, component: str, grade: Grade = "modelled", meter: str = "modelled") -> Channel:
    return Channel(meter, host, component, "power", "W", "instantaneous", grade)


def hosts(*clients: str, scale: float = 1.0, servers: frozenset[str] = SERVERS) -> Roles:
    return roles(servers, clients, ROLES, Dilation(scale))


def test_boards_and_disks_of_the_servers_count_and_neither_switch_nor_clients() -> None:
    latest = {
        channel(host, part): watts
        for host in ("s-1", "s-2")
        for part, watts in (("board", 10.0), ("disks", 2.5))
    }
    latest |= {channel("", "switch"): 8.0, channel("c-1", "board"): 30.0}
    assert servers_w(latest, hosts(scale=0.2)) == (25.0, "modelled")


def test_a_meter_of_the_whole_counts_less_the_switch_and_before_a_model() -> None:
    latest = {channel("", "total", "wall", "lmg"): 100.0, channel("", "switch", "wall", "lmg"): 12.0}
    latest |= {channel(host, "board"): 10.0 for host in SERVERS}
    assert servers_w(latest, hosts()) == (88.0, "wall")


def test_real_watts_say_nothing_of_an_emulated_cluster() -> None:
    latest = {channel("", "total", "wall", "lmg"): 100.0, channel("", "switch", "wall", "lmg"): 12.0}
    assert servers_w(latest, hosts(scale=0.2)) is None


def test_watts_of_some_servers_are_not_those_of_all() -> None:
    assert servers_w({channel("s-1", "board"): 10.0}, hosts()) is None


def watts(latest: dict[Channel, float], *clients: str) -> dict[str, tuple[float | None, str]]:
    found = boundaries(latest, hosts(*clients))
    return {name: (one.watts(latest), one.grade) for name, one in found.items()}


def test_each_boundary_has_its_own_parts_and_grade() -> None:
    latest = {channel(host, "board"): 10.0 for host in SERVERS}
    latest |= {channel("", "switch"): 8.0, channel("c-1", "board"): 30.0, channel("c-2", "board"): 31.0}
    whole = {
        "net": (20.0, "modelled"),
        "gross": (28.0, "modelled"),
        "clients": (30.0, "modelled"),
        "all": (50.0, "modelled"),
    }
    assert watts(latest, "c-1") == whole
    # the best grade of each side, the worse one of their sum
    latest[channel("c-1", "all", "wall", "plug")] = 33.0
    assert watts(latest, "c-1") == whole | {"clients": (33.0, "wall"), "all": (53.0, "modelled")}


def test_a_client_that_also_serves_has_no_boundary_apart() -> None:
    latest = {channel(host, "board"): 10.0 for host in SERVERS}
    assert watts(latest, "s-1") == {"net": (20.0, "modelled"), "all": (20.0, "modelled")}


def test_clients_that_hold_data_store_unless_all_hosts_are_clients() -> None:
    assert hosts("c-1", servers=SERVERS | {"c-1"}).storing == {"c-1"}
    assert hosts("c-1").storing == frozenset()
    clients = {"c-1": "client", "c-2": "client"}
    assert roles({"c-1"}, ["c-2"], clients, Dilation(1.0)).storing == frozenset()


def test_clients_of_servers_that_nobody_named_are_not_the_servers() -> None:
    latest = {channel("c-1", "board"): 30.0, channel("c-2", "board"): 31.0, channel("", "switch"): 8.0}
    outside = hosts("c-1", "c-2", servers=frozenset())
    found = boundaries(latest, outside)
    assert {name: one.watts(latest) for name, one in found.items()} == {"clients": 61.0}
    assert servers_w(latest, outside) is None


def test_a_meter_of_servers_and_switch_together_comes_before_a_model_as_in_the_table(made) -> None:
    """Definition: the grade is the best that covers the servers, with the switch or without it; no other
    one completes it.
    """
    servers = ("storage-1", "storage-2", "metadata-1")
    series = [
        made.steady("", 50.0, component="total"),
        *(made.steady(h, 9.0, grade="modelled", meter="model") for h in servers),
    ]
    record = made.record()
    (point,) = points(record, series)
    of = roles(servers, ("client-1", "client-2"), {host.name: host.role for host in record.hosts}, Dilation())
    found = boundaries([one.channel for one in series], of)
    assert ({name: one.grade for name, one in found.items()}, point.grade) == ({"gross": "wall"}, "wall")
    assert "gross_energy_j" in point.metrics
    assert "energy_j" not in point.metrics


def test_a_state_makes_up_no_boundary() -> None:
    latest = {replace(channel(host, "all", "wall"), semantics="state"): 10.0 for host in SERVERS}
    assert servers_w(latest, hosts()) is None


def test_rates_are_what_counters_grew_by_since_the_moment_before() -> None:
    power, plug = channel("s-1", "all"), Channel("plug", "s-1", "all", "energy", "J", "counter", "wall")
    cpu = Channel("system", "s-1", "all", "cpu", "s", "counter", "counter")
    watts_of_plug = replace(plug, quantity="power", unit="W")
    found = rates(
        [
            {power: (1.0, 50.0), plug: (1.0, 100.0), cpu: (1.0, 3.0)},
            {power: (1.5, 60.0), plug: (3.0, 180.0), cpu: (1.5, 3.25)},
            {plug: (3.0, 180.0), cpu: (2.0, 3.0)},  # nothing new, and a counter that fell
            {plug: (3.0009, 181.0), cpu: (4.0, 3.0)},  # not even a millisecond later
            {plug: (3.00195, 181.6), cpu: (4.5, 3.0)},
        ]
    )
    assert found == [
        {power: 50.0},
        {power: 60.0, watts_of_plug: 40.0, cpu: 0.5},
        {},
        {cpu: 0.0},
        {watts_of_plug: pytest.approx(0.6 / 0.00105), cpu: 0.0},
    ]
    assert rates([]) == []


def test_rates_add_up_by_host_and_quantity() -> None:
    def sent(host: str, component: str, quantity: Quantity = "network_sent") -> Channel:
        return Channel("system", host, component, quantity, "B", "counter", "counter")

    values = {
        sent("s-1", "eth0"): 3.0,
        sent("s-1", "eth1"): 4.0,
        sent("s-2", "eth0"): 5.0,
        sent("s-1", "eth0", "network_received"): 6.0,
    }
    assert totals(values) == {
        ("s-1", "network_sent"): 7.0,
        ("s-2", "network_sent"): 5.0,
        ("s-1", "network_received"): 6.0,
    }


def test_a_client_moves_what_the_busier_way_of_its_network_does_in_emulated_time() -> None:
    ways = {("c-1", "network_sent"): 10.0, ("c-1", "network_received"): 30.0, ("c-2", "network_sent"): 7.0}
    half = Dilation(0.5)
    assert [client_rate(ways, host, half) for host in ("c-1", "c-2", "c-3")] == [60.0, 14.0, None]
