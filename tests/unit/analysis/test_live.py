"""The watts while a run is watched: those of the boundary in the table."""

from perjoule.analysis.live import servers_w
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
