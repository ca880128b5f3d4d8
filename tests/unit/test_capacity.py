"""From a virtual testbed to watts: what share of its board's CPU a host uses is told by the testbed, never by this machine."""

import contextlib
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from perjoule import catalogue, drivers
from perjoule.errors import CampaignError
from perjoule.protocols import Counters, Hosts, Sink
from perjoule.testbeds import _cgroup, _host, _power, local, virtual

HC4 = catalogue.cluster("odroid-hc4")
MACHINE_MIPS = 4400.0  # per core, as `7zz b` would rate it
BOARD = HC4.nodes[0].board


class _Rack:
    """Makes the hosts of a run as a rack does, without namespaces."""

    def __init__(self, mode: str) -> None:
        self.run, self.hosts = SimpleNamespace(id="0badcafe"), ()

    def start(self, there: list, caps: dict, wanted: object) -> None:
        groups = _cgroup.Groups1("0badcafe")
        self.hosts = tuple(_host.VirtualHost(place, Path("/nowhere"), 1, groups, None) for place in there)
        self.caps = caps

    def cap_disks(self, scale: float) -> str:
        return "none"

    def counters(self) -> dict:
        return {}

    def close(self, *, remove: bool) -> None:
        pass


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual, "Rack", _Rack)
    monkeypatch.setattr(virtual, "clean", lambda: ())
    monkeypatch.setattr(virtual.Virtual, "checks", lambda self: ())
    monkeypatch.setattr(_power, "mips_per_core", lambda: _power.Rating(MACHINE_MIPS, "given by the test"))
    monkeypatch.setattr(virtual.os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr("os.cpu_count", lambda: 64)  # who falls back to the machine's cores is far off


@contextlib.contextmanager
def held(**options: object) -> Generator[Hosts]:
    with drivers.build("testbeds", "virtual", {"disk": "directory", **options}).hold(1) as hosts:  # type: ignore[attr-defined]
        yield hosts


class _Kept(Sink):
    def __init__(self) -> None:
        self.watts: dict[tuple[str, str], float] = {}

    def append(self, channel, t_s, value, duration_s=0.0) -> None:
        self.watts[channel.host, channel.component] = value


def board_w(hosts: Hosts, used_cores: float) -> float:
    """What the meter says of storage-1's board when every host uses so many of this machine's cores for two seconds."""
    for host in hosts.all:
        script = iter([Counters(1.0, 5.0, 0, 0, 0, 0), Counters(3.0, 5.0 + 2 * used_cores, 0, 0, 0, 0)])
        host.counters = script.__next__  # type: ignore[method-assign]
    kept = _Kept()
    with drivers.build("meters", "modelled", {"rate": "0.01 Hz"}).record(hosts, kept):  # type: ignore[attr-defined]
        pass
    return kept.watts["storage-1", "board"]


@pytest.mark.parametrize("scale", [0.2, 0.1, 1.0])
def test_a_virtual_board_that_does_half_of_what_it_can_draws_half_of_its_dynamic_watts(scale: float) -> None:
    half_cores = BOARD.mips.value * scale / MACHINE_MIPS / 2
    with held(scale=scale) as hosts:
        assert board_w(hosts, half_cores) == pytest.approx(BOARD.idle_w.value + BOARD.dynamic_w.value / 2, rel=1e-12)


def test_every_virtual_host_states_the_capacity_of_its_board() -> None:
    with held(scale=0.2) as hosts:
        wanted = {h.name: h.node.board.mips.value * 0.2 / MACHINE_MIPS for h in hosts.all if h.node}
        assert {h.name: h.cpu_capacity_cores for h in hosts.all} == pytest.approx(wanted)
        assert hosts.facts["cpu_cap_cores"] == pytest.approx({n: c for n, c in wanted.items() if c < 2})


def test_a_board_that_is_stronger_than_this_machine_is_used_by_what_the_whole_machine_is_worth_of_it() -> None:
    with held(cluster="reference-2", scale=1.0) as hosts:
        server = hosts.servers[0]
        assert server.node is not None
        board = server.node.board
        worth_cores = board.mips.value / MACHINE_MIPS
        assert worth_cores > 2  # it is stronger than the two cores that are here, and not capped
        assert "storage-1" in hosts.facts["cpu_cap_missing"]  # type: ignore[operator] # a list
        assert board_w(hosts, 2.0) == pytest.approx(board.idle_w.value + board.dynamic_w.value * 2 / worth_cores)


def test_watts_of_hosts_whose_cpu_is_not_capped_are_refused() -> None:
    with held(cpu_cap=False) as hosts, pytest.raises(CampaignError, match="no CPU capacity") as error:
        board_w(hosts, 0.1)
    assert "storage-1" in str(error.value)
    assert "cpu_cap = true" in str(error.value)


def test_watts_of_one_host_that_states_no_capacity_are_refused_too() -> None:
    with held() as hosts:
        hosts.servers[3].cpu_capacity_cores = None
        with pytest.raises(CampaignError, match=hosts.servers[3].name):
            board_w(hosts, 0.1)


def test_this_machine_itself_stands_for_no_hardware_of_the_catalogue() -> None:
    hosts = Hosts((local.LocalHost(Path("/nowhere")),))
    with pytest.raises(CampaignError, match="no cluster"):
        board_w(hosts, 0.1)
    with pytest.raises(CampaignError, match="stands for no hardware"):
        board_w(replace(hosts, cluster=HC4), 0.1)
