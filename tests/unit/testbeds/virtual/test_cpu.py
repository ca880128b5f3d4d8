"""From a virtual testbed to watts: what share of its board's CPU a host uses comes from the testbed, never
by this machine.
"""

import contextlib
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from perjoule import catalogue, drivers
from perjoule.drivers.protocols import Check, Counters, Hosts
from perjoule.model import Disk, Json, Spec
from perjoule.model.errors import CampaignError, MachineError
from perjoule.monitoring.recorder import Memory
from perjoule.testbeds import _delay, local, virtual
from perjoule.testbeds._delay import Delay
from perjoule.testbeds.virtual import cgroup, cpu
from perjoule.testbeds.virtual import host as _host
from perjoule.testbeds.virtual.network import Link
from perjoule.testbeds.virtual.topology import CatalogueHost
from typed import as_written

HC4 = catalogue.cluster("odroid-hc4")
MACHINE_MIPS = 4400.0  # per core, as `7zz b` would rate it
BOARD = HC4.nodes[0].board


class _Rack:
    """Makes the hosts of a run as a rack does, without namespaces."""

    last: "_Rack"

    def __init__(self, mode: str, link: Link, delays: dict[str, Delay]) -> None:
        self.run, self.hosts = SimpleNamespace(id="0badcafe"), ()
        self.mode, self.link, self.delays, self.kept = mode, link, delays, False
        self.removed: bool | None = None
        self.disk: Disk | None = None
        _Rack.last = self

    def start(self, there: list[CatalogueHost], caps: dict[str, float], wanted: Disk | None) -> None:
        groups = cgroup.Groups1("0badcafe")
        self.hosts = tuple(_host.VirtualHost(place, Path("/nowhere"), 1, groups, None) for place in there)
        self.caps, self.disk = caps, wanted

    def cap_disks(self, scale: float) -> str:
        return f"io.max at {scale:g}"

    def keep(self) -> None:
        self.kept = True

    def counters(self) -> dict[str, Counters]:
        return {}

    def close(self, *, remove: bool) -> None:
        self.removed = remove


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual, "Rack", _Rack)
    monkeypatch.setattr(virtual, "clean", lambda: ())
    monkeypatch.setattr(virtual.Virtual, "checks", lambda self: ())
    monkeypatch.setattr(cpu, "mips_per_core", lambda: cpu.Rating(MACHINE_MIPS, "given by the test"))
    monkeypatch.setattr(virtual.os, "sched_getaffinity", {0: {0, 1}}.__getitem__)  # of this process
    monkeypatch.setattr("os.cpu_count", lambda: 64)  # who falls back to the machine's cores is far off


@contextlib.contextmanager
def held(**options: Json) -> Generator[Hosts]:
    with drivers.testbed(Spec("virtual", {"disk": "directory", **options})).hold(1) as hosts:
        yield hosts


def board_w(hosts: Hosts, used_cores: float) -> float:
    """What the meter says of storage-1's board when every host uses this many of this machine's cores for
    two seconds.
    """
    for host in hosts.all:
        script = iter([Counters(1.0, 5.0, 0, 0, 0, 0), Counters(3.0, 5.0 + 2 * used_cores, 0, 0, 0, 0)])
        host.counters = script.__next__
    kept = Memory()
    with drivers.meter(Spec("modelled", {"rate": "0.01 Hz"})).record(hosts, kept):
        pass
    (board,) = (
        one for one in kept.series() if (one.channel.host, one.channel.component) == ("storage-1", "board")
    )
    return board.value[-1]


@pytest.mark.parametrize("scale", [0.2, 0.1, 1.0])
def test_a_virtual_board_that_does_half_of_what_it_can_draws_half_of_its_dynamic_watts(scale: float) -> None:
    half_cores = BOARD.mips.value * scale / MACHINE_MIPS / 2
    with held(scale=scale) as hosts:
        assert board_w(hosts, half_cores) == pytest.approx(
            BOARD.idle_w.value + BOARD.dynamic_w.value / 2, rel=1e-12
        )


def test_the_time_of_our_ended_programs_is_that_of_user_and_system(monkeypatch: pytest.MonkeyPatch) -> None:
    used = SimpleNamespace(ru_utime=3.0, ru_stime=2.0)
    monkeypatch.setattr(cpu.resource, "getrusage", lambda who: used)
    assert cpu._used_s()[2] == 5.0


def test_every_virtual_host_states_the_capacity_of_its_board() -> None:
    with held(scale=0.2) as hosts:
        wanted = {h.name: h.node.board.mips.value * 0.2 / MACHINE_MIPS for h in hosts.all if h.node}
        assert {h.name: h.cpu_capacity_cores for h in hosts.all} == pytest.approx(wanted)
        assert hosts.facts["cpu_cap_cores"] == pytest.approx({n: c for n, c in wanted.items() if c < 2})


def test_a_board_that_is_stronger_than_this_machine_is_used_by_what_the_whole_machine_is_worth_of_it() -> (
    None
):
    with held(cluster="reference-2", scale=1.0) as hosts:
        server = hosts.servers[0]
        assert server.node is not None
        board = server.node.board
        worth_cores = board.mips.value / MACHINE_MIPS
        assert worth_cores > 2  # it is stronger than the two cores that are here, and not capped
        assert "storage-1" in str(hosts.facts["cpu_cap_missing"])
        assert board_w(hosts, 2.0) == pytest.approx(
            board.idle_w.value + board.dynamic_w.value * 2 / worth_cores
        )


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


def test_facts_say_what_was_capped_and_how_much_of_this_machine_that_asks_for() -> None:
    with held(scale=0.2, disk="ext4") as hosts:
        cores = [h.node.board.mips.value * 0.2 / MACHINE_MIPS for h in hosts.all if h.node]
        assert hosts.facts["cpu_demand_ratio"] == pytest.approx(sum(min(c, 2) for c in cores) / 2)
        assert hosts.facts["cpu_cap_missing"] == sorted(
            h.name for h in hosts.all if (h.cpu_capacity_cores or 0) >= 2
        )
        assert (hosts.facts["machine_mips_per_core"], hosts.facts["disk_cap"]) == (
            MACHINE_MIPS,
            "io.max at 0.2",
        )
        assert (hosts.scale, hosts.facts["disk"]) == (0.2, "ext4")
        assert str(hosts.facts["network_cap"]).endswith("at 0.2 of the catalogue's TCP goodput")
        assert _Rack.last.caps == hosts.facts["cpu_cap_cores"]
        assert _Rack.last.disk == as_written(Disk, kind="ext4", size="8 GiB")
    with held(cpu_cap=False, disk_cap=False) as hosts:
        assert hosts.facts["cpu_cap"] == hosts.facts["disk_cap"] == "none: not requested"
        assert (
            not {"machine_mips_per_core", "cpu_cap_cores", "network_delay", "network_delay_s"}
            & hosts.facts.keys()
        )
        assert (hosts.scale, len(hosts.servers), _Rack.last.disk) == (1.0, 6, None)


def test_latency_is_dilated_half_in_each_direction_and_recorded() -> None:
    with held(cpu_cap=False, latency="2 ms", loss="1 %", scale=0.5) as hosts:
        assert _Rack.last.link == Link(0.002, 0.01)
        assert (hosts.facts["network_delay_s"], hosts.facts["network_loss_ratio"]) == (0.002, 0.01)


def test_a_latency_delays_all_disks_and_that_of_the_catalogue_only_hard_disks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with held(cpu_cap=False, scale=0.5, disk_latency="8 ms") as hosts:
        assert _Rack.last.delays == {host.name: Delay(16) for host in hosts.all}
        assert hosts.facts["disk_delay"] == "dm-delay above each loop device, of whole milliseconds"
        assert hosts.facts["disk_delay_s"] == {host.name: 0.016 for host in hosts.all}
    for lack, words in (
        ("", "dm-delay above each loop device, of whole milliseconds, for loads at random"),
        ("no", "none: no"),
    ):
        monkeypatch.setattr(_delay, "lacking", lambda lack=lack: lack)
        monkeypatch.setattr(virtual, "lacking", lambda lack=lack: lack)
        with held(cpu_cap=False, scale=0.5, servers=1, disk_latency="catalogue") as hosts:
            # 12 ms and half a turn of 4.2 ms, twice as long
            assert _Rack.last.delays == {"storage-1": Delay(32, at_random=True)}
            assert (hosts.facts["disk_delay"], hosts.facts["disk_delay_s"]) == (words, {"storage-1": 0.032})


def test_a_machine_stronger_than_all_boards_caps_each_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual.os, "sched_getaffinity", {0: set(range(64))}.__getitem__)
    with held(scale=1.0) as hosts:
        assert hosts.facts["cpu_cap_missing"] == []
        assert _Rack.last.caps == {h.name: h.cpu_capacity_cores for h in hosts.all}


@pytest.mark.parametrize(
    ("keep", "fails", "removed"), [(False, False, True), (True, False, False), (True, True, True)]
)
def test_hosts_outlive_the_block_only_where_asked_and_where_it_did_not_fail(
    keep: bool, fails: bool, removed: bool
) -> None:
    built = drivers.testbed(Spec("virtual", {"disk": "directory"}))
    assert isinstance(built, virtual.Virtual)
    with contextlib.suppress(RuntimeError), built.hold(1, keep=keep):
        if fails:
            raise RuntimeError
    rack = _Rack.last
    assert (rack.mode, rack.kept, rack.removed) == ("keep" if keep else "run", keep, removed)


@pytest.mark.parametrize(
    ("needed", "ok", "refused"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_only_what_is_needed_and_missing_stops_a_testbed(
    monkeypatch: pytest.MonkeyPatch, needed: bool, ok: bool, refused: bool
) -> None:
    monkeypatch.setattr(
        virtual.Virtual, "checks", lambda self: (Check("tc", ok, "detail", "fix", needed=needed),)
    )
    if refused:
        with pytest.raises(MachineError, match="tc: detail"), held():
            pass
    else:
        with held():
            pass


def test_one_server_and_the_full_speed_are_possible() -> None:
    with held(scale=1, servers=1, disk_size="1 GiB", disk="xfs") as hosts:
        assert [h.name for h in hosts.servers if h.name.startswith("storage")] == ["storage-1"]
        assert _Rack.last.disk == as_written(Disk, kind="xfs", size="1 GiB")
