"""The watts while a run is watched: those of the boundary in the table."""

from perjoule.analysis.live import boundaries, servers_w
from perjoule.model import Channel, Grade

SERVERS = frozenset({"s-1", "s-2"})


def channel(host: str, component: str, grade: Grade = "modelled", meter: str = "modelled") -> Channel:
    return Channel(meter, host, component, "power", "W", "instantaneous", grade)


def test_boards_and_disks_of_the_servers_count_and_neither_switch_nor_clients() -> None:
    latest = {channel(host, part): watts for host in ("s-1", "s-2") for part, watts in (("board", 10.0), ("disks", 2.5))}
    latest |= {channel("", "switch"): 8.0, channel("c-1", "board"): 30.0}
    assert servers_w(latest, SERVERS, 0.2) == (25.0, "modelled")


def test_a_meter_of_the_whole_counts_less_the_switch_and_before_a_model() -> None:
    latest = {channel("", "total", "wall", "lmg"): 100.0, channel("", "switch", "wall", "lmg"): 12.0}
    latest |= {channel(host, "board"): 10.0 for host in SERVERS}
    assert servers_w(latest, SERVERS, 1.0) == (88.0, "wall")


def test_real_watts_say_nothing_of_an_emulated_cluster() -> None:
    assert (
        servers_w({channel("", "total", "wall", "lmg"): 100.0, channel("", "switch", "wall", "lmg"): 12.0}, SERVERS, 0.2) is None
    )


def test_watts_of_some_servers_are_not_those_of_all() -> None:
    assert servers_w({channel("s-1", "board"): 10.0}, SERVERS, 1.0) is None


def watts(latest: dict[Channel, float], clients: frozenset[str], scale: float = 1.0) -> dict[str, tuple[float | None, str]]:
    found = boundaries(latest, SERVERS, clients, scale)
    return {name: (one.watts(latest), one.grade) for name, one in found.items()}


def test_each_boundary_has_its_own_parts_and_grade() -> None:
    latest = {channel(host, "board"): 10.0 for host in SERVERS}
    latest |= {channel("", "switch"): 8.0, channel("c-1", "board"): 30.0, channel("c-2", "board"): 31.0}
    whole = {"net": (20.0, "modelled"), "gross": (28.0, "modelled"), "clients": (30.0, "modelled"), "all": (50.0, "modelled")}
    assert watts(latest, frozenset({"c-1"})) == whole
    latest[channel("c-1", "all", "wall", "plug")] = 33.0  # the best grade that covers all of a boundary, and none is mixed
    assert watts(latest, frozenset({"c-1"})) == whole | {"clients": (33.0, "wall")}


def test_a_client_that_also_serves_has_no_boundary_apart() -> None:
    latest = {channel(host, "board"): 10.0 for host in SERVERS}
    assert set(watts(latest, frozenset({"s-1"}))) == {"net"}


def test_clients_of_servers_that_nobody_named_are_not_the_servers() -> None:
    latest = {channel("c-1", "board"): 30.0, channel("c-2", "board"): 31.0, channel("", "switch"): 8.0}
    found = boundaries(latest, frozenset(), frozenset({"c-1", "c-2"}), 1.0)
    assert {name: one.watts(latest) for name, one in found.items()} == {"clients": 61.0}
    assert servers_w(latest, frozenset(), 1.0) is None
