import itertools
import random
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

from perjoule import catalogue, drivers
from perjoule.catalogue import Node, Value
from perjoule.drivers.protocols import Counters, Host, Hosts, Meter, Sink
from perjoule.meters import modelled
from perjoule.meters._sampler import JITTER, moments, sampling
from perjoule.model import Channel, Spec
from perjoule.model.errors import CampaignError, TransientError

HC4 = catalogue.cluster("odroid-hc4")
STORAGE, METADATA, MANAGEMENT, CLIENT = HC4.nodes
# so seldom that only the samples at the beginning and at the end of a block are taken
SELDOM = {"rate": "0.01 Hz"}


@dataclass
class Kept(Sink):
    samples: list[tuple[Channel, float, float, float]] = field(default_factory=list)

    def append(
        self,
        channel: Channel,
        t_s: float,
        value: float,
        duration_s: float = 0.0,
        asked_s: float = nan,
        arrived_s: float = nan,
    ) -> None:
        self.samples.append((channel, t_s, value, duration_s))

    def values(self, host: str, component: str = "all", quantity: str = "power") -> list[float]:
        return [
            v
            for c, _, v, _ in self.samples
            if (c.host, c.component, c.quantity) == (host, component, quantity)
        ]


class Scripted(Host):
    """A host that reads out its script, one reading a call; an exception in it is raised."""

    def __init__(
        self,
        name: str,
        node: catalogue.Node | None,
        script: Sequence[Counters | Exception],
        cores: float | None = 1.0,
    ):
        self.name, self.node, self.cpu_capacity_cores = name, node, cores
        self.role = node.role if node else "storage"
        self.address, self.directory = "", Path("/nonexistent")
        self._script: Iterator[Counters | Exception] = iter(script)

    def counters(self) -> Counters:
        reading = next(self._script)
        if isinstance(reading, Exception):
            raise reading
        return reading

    def _nothing(self, *_: object, **__: object) -> NoReturn:
        raise AssertionError("a meter has no business with this")

    run = spawn = put = read = tell = disk = drop_caches = _nothing


def record(kind: str, hosts: Hosts, **options: str) -> tuple[Kept, Sequence[str]]:
    kept = Kept()
    meter = drivers.build("meters", kind, options)
    assert isinstance(meter, Meter)
    with meter.record(hosts, kept) as doubts:
        pass
    return kept, doubts


# --- sampling
# -------------------------------------------------------------------------------------------------------------------


def test_samples_keep_the_rate_but_never_a_strict_period():
    planned = [next_s for next_s, _ in zip(moments(100.0, 0.2, random.Random(1)), range(1000), strict=False)]
    offsets = [(moment_s - 100.0) / 0.2 - index for index, moment_s in enumerate(planned, start=1)]
    assert max(map(abs, offsets)) <= JITTER + 1e-9
    assert max(offsets) - min(offsets) > 0.7
    assert all(later > sooner for sooner, later in itertools.pairwise(planned))


def sampled(
    rate_hz: float, count: int, sample: Callable[[], None] = lambda: None
) -> tuple[list[float], Sequence[str]]:
    taken: list[float] = []
    enough = threading.Event()

    def take() -> None:
        taken.append(time.monotonic())
        sample()
        if len(taken) > count:
            enough.set()

    with sampling("test", rate_hz, take) as doubts:
        assert enough.wait(10)
    return taken, doubts


def test_a_hundred_samples_at_1_khz_take_a_tenth_of_a_second_at_least():
    taken, _ = sampled(1000, 100)
    assert taken[100] - taken[0] > 0.095


def test_the_block_is_sampled_at_both_ends_and_stops_at_once_however_long_the_period():
    taken: list[float] = []
    with sampling("test", 0.001, lambda: taken.append(time.monotonic())):
        assert len(taken) == 1
    assert len(taken) == 2


def test_a_sampler_that_can_not_keep_up_says_so():
    def slow() -> None:
        threading.Event().wait(0.01)

    _, doubts = sampled(1000, 5, sample=slow)
    assert len(doubts) == 1
    assert "samples left out" in doubts[0]


def test_a_fault_in_the_thread_is_raised_in_the_block_that_it_belongs_to():
    calls: list[int] = []

    def fail_later() -> None:
        calls.append(1)
        if len(calls) > 1:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), sampling("test", 0.01, fail_later):
        pass


def test_what_the_block_raises_comes_before_a_fault_of_the_sampler():
    calls: list[int] = []

    def fail_later() -> None:
        calls.append(1)
        if len(calls) > 1:
            raise ZeroDivisionError

    with pytest.raises(TransientError), sampling("test", 0.01, fail_later):
        raise TransientError("a daemon died")


def test_no_thread_is_left():
    before = threading.active_count()
    sampled(1000, 3)
    assert threading.active_count() == before


# --- system
# ---------------------------------------------------------------------------------------------------------------------


def test_counters_are_recorded_as_the_host_keeps_them():
    host = Scripted(
        "storage-1",
        STORAGE,
        [Counters(10.0, 1.5, 100, 200, 300, 400), Counters(11.0, 2.5, 101, 202, 303, 404, None, 7)],
    )
    kept, doubts = record("system", Hosts((host,)), **SELDOM)
    assert kept.values("storage-1", quantity="cpu") == [1.5, 2.5]
    assert kept.values("storage-1", quantity="switches") == [7]
    assert kept.values("storage-1", quantity="network_received") == [100, 101]
    assert kept.values("storage-1", quantity="network_sent") == [200, 202]
    assert kept.values("storage-1", quantity="disk_read") == [300, 303]
    assert kept.values("storage-1", quantity="disk_written") == [400, 404]
    assert {(t, d) for _, t, _, d in kept.samples} == {(10.0, 0.0), (11.0, 0.0)}
    assert {(c.semantics, c.grade) for c, *_ in kept.samples} == {("counter", "counter")}
    assert {c.quantity: c.unit for c, *_ in kept.samples} == {
        "cpu": "s", "switches": "1", "network_received": "B", "network_sent": "B", "disk_read": "B", "disk_written": "B",
    }  # fmt: skip
    assert doubts == []


def test_what_a_host_can_not_tell_is_a_gap_and_not_a_zero():
    host = Scripted(
        "storage-1", STORAGE, [Counters(10.0, cpu_s=1.0), Counters(11.0, cpu_s=None, network_sent_bytes=7)]
    )
    kept, _ = record("system", Hosts((host,)), **SELDOM)
    assert [(c.quantity, t, v) for c, t, v, _ in kept.samples] == [
        ("cpu", 10.0, 1.0),
        ("network_sent", 11.0, 7.0),
    ]


def test_a_host_that_fails_costs_its_own_samples_only_and_is_doubted():
    ill = Scripted("storage-1", STORAGE, [Counters(1.0, 1.0), TransientError("no answer", where="storage-1")])
    well = Scripted("storage-2", STORAGE, [Counters(1.0, 1.0), Counters(2.0, 2.0)])
    kept, doubts = record("system", Hosts((ill, well)), **SELDOM)
    assert kept.values("storage-1", quantity="cpu") == [1.0]
    assert kept.values("storage-2", quantity="cpu") == [1.0, 2.0]
    assert doubts == ["system: 1 of 2 readings of storage-1 failed, the last with: storage-1: no answer"]


def test_clients_have_counters_too():
    readings = [Counters(1.0, 1.0), Counters(2.0, 2.0)]
    kept, _ = record("system", Hosts((Scripted("client-1", CLIENT, readings),)), **SELDOM)
    assert kept.values("client-1", quantity="cpu") == [1.0, 2.0]


# --- modelled
# -------------------------------------------------------------------------------------------------------------------


def test_half_used_cpus_and_half_used_disks_give_exactly_the_catalogues_watts():
    write_bytes_per_s = sum(d.write_bytes_per_s.value for d in STORAGE.disks)
    before = Counters(100.0, 50.0, disk_read_bytes=0, disk_written_bytes=7)
    after = Counters(
        110.0,
        50.0 + 10 * 0.4 * 0.5,
        disk_read_bytes=0,
        disk_written_bytes=7 + round(10 * write_bytes_per_s / 2),
    )
    watts = host_w(STORAGE, before, after, capacity_cores=0.4)
    assert watts == pytest.approx({"board": 6.105, "disks": 2 * 1.755, "supply": 9.615 * 0.25})


def test_reads_and_writes_share_the_disks():
    read, written = (
        2 * disk.value / 4 for disk in (STORAGE.disks[0].read_bytes_per_s, STORAGE.disks[0].write_bytes_per_s)
    )
    before = Counters(1.0, 0.0, disk_read_bytes=0, disk_written_bytes=0)
    after = Counters(2.0, 0.0, disk_read_bytes=round(read), disk_written_bytes=round(written))
    assert host_w(STORAGE, before, after)["disks"] == pytest.approx(2 * (0.85 + 0.905))


@pytest.mark.parametrize("lacking", ["disk_read_bytes", "disk_written_bytes"])
def test_disk_bytes_that_are_unknown_count_as_none(lacking):
    before = Counters(1.0, 0.0, disk_read_bytes=0, disk_written_bytes=0)
    known = host_w(STORAGE, before, Counters(2.0, 0.4, disk_read_bytes=0, disk_written_bytes=0))
    unknown = Counters(2.0, 0.4, disk_read_bytes=0, disk_written_bytes=0)
    assert host_w(STORAGE, before, replace(unknown, **{lacking: None})) == known


def test_a_slowed_testbed_draws_the_watts_of_the_cluster_that_it_stands_for():
    written = 0.2 * 0.5 * sum(d.write_bytes_per_s.value for d in STORAGE.disks)
    before, after = (Counters(t_s, 0.0, 0, 0, 0, bytes_) for t_s, bytes_ in ((1.0, 0), (2.0, round(written))))
    assert host_w(STORAGE, before, after, scale=0.2)["disks"] == pytest.approx(2 * (0.85 + 0.905))


def test_work_that_is_counted_in_bursts_has_all_its_joules():
    """Half of what it can do in a second, of which counters show nothing for 0.8 s and all in the last 0.2
    s.
    """
    half = round(sum(d.write_bytes_per_s.value for d in STORAGE.disks) / 2)
    kept = Kept()
    model = modelled._Model(Hosts((), cluster=HC4), HC4, {"storage-1": STORAGE}, {"storage-1": 1.0}, kept)
    for t_s, cpu_s, written in ((1.0, 0.0, 0), (1.8, 0.0, 0), (2.0, 0.5, half)):
        model.take({"storage-1": Counters(t_s, cpu_s, 0, 0, 0, written)})
    joules = {
        one: sum(v * d for c, _, v, d in kept.samples if c.component == one) for one in ("board", "disks")
    }
    assert joules == pytest.approx({"board": 4.3 + 3.61 / 2, "disks": 2 * (0.85 + 1.81 / 2)})
    assert list(model.doubts()) == []


@pytest.mark.parametrize(
    ("seconds", "scale", "doubted"),
    [(9, 1.0, False), (11, 1.0, True), (9, 0.1, False), (99, 0.1, False), (101, 0.1, True)],
)
def test_hardware_that_is_faster_than_its_rating_is_doubted(seconds: int, scale: float, doubted: bool):
    """Ten percent too fast: after 10 s it has done a second's work more than it can; at a scale of 0.1
    after 100 s.
    """
    most = 1.1 * scale * sum(d.write_bytes_per_s.value for d in STORAGE.disks)
    model = modelled._Model(
        Hosts((), cluster=HC4, scale=scale), HC4, {"storage-1": STORAGE}, {"storage-1": 1.0}, Kept()
    )
    for second in range(seconds + 1):
        model.take({"storage-1": Counters(float(second), 0.0, 0, 0, 0, round(second * most))})
    said = "modelled: the disks of storage-1 did more than the catalogue's can: its ratings are too low"
    assert list(model.doubts()) == [said] * doubted


def test_writes_of_an_ssd_whose_steady_state_is_known_are_doubted_as_fresh() -> None:
    steady = replace(STORAGE.disks[0], sustained_w=Value(6.0, "made up", "assumed"))
    nodes = {"storage-1": replace(STORAGE, disks=(steady,))}
    (doubt,) = modelled._Model(Hosts((), cluster=HC4), HC4, nodes, {"storage-1": 1.0}, Kept()).doubts()
    assert "writes of wd-black-1tb as fresh, 2.66 W; in the steady state it takes 6.00 W" in doubt


def host_w(
    node: Node, before: Counters, after: Counters, *, capacity_cores: float = 1.0, scale: float = 1.0
) -> Mapping[modelled.Component, float]:
    return modelled.host_w(
        node, HC4, modelled.use_ratios(node, before, after, capacity_cores=capacity_cores, scale=scale)
    )


def cluster(use_ratio: float, *, clients: int = 1) -> Hosts:
    """All hosts of the HC4 cluster, each used to this ratio for the two seconds between its two readings."""
    hosts: list[Host] = []
    for node in HC4.nodes:
        for number in range(clients if node.role == "client" else node.count):
            written = round(2 * use_ratio * sum(d.write_bytes_per_s.value for d in node.disks))
            script = [Counters(1.0, 0.0, 0, 0, 0, 0), Counters(3.0, 2 * 0.8 * use_ratio, 0, 0, 0, written)]
            hosts.append(Scripted(f"{node.role}-{number + 1}", node, script, cores=0.8))
    return Hosts(tuple(hosts), cluster=HC4)


# Idle as the paper prints it; at full use 6 boards x 3.61 W, 8 hard disks x 1.81 W and 2 SSDs x 2 W more, at
# 80 % of the wall's.
@pytest.mark.parametrize(("use_ratio", "without_w", "with_w"), [(0.0, 40.9, 56.36), (1.0, 91.075, 106.535)])
def test_the_modelled_cluster_takes_the_papers_watts_idle_and_all_of_its_dynamic_watts_at_most(
    use_ratio: float, without_w: float, with_w: float
):
    kept, doubts = record("modelled", cluster(use_ratio), **SELDOM)
    cluster_w = [(c.component, v) for c, _, v, _ in kept.samples if not c.host.startswith("client")]
    assert sum(v for _, v in cluster_w) == pytest.approx(with_w)
    assert sum(v for component, v in cluster_w if component != "switch") == pytest.approx(without_w)
    assert doubts == []


def test_modelled_watts_are_window_means_with_their_real_durations_and_say_that_they_are_modelled():
    kept, _ = record("modelled", cluster(0.5), **SELDOM)
    assert {(c.semantics, c.grade, c.unit, c.quantity) for c, *_ in kept.samples} == {
        ("window mean", "modelled", "W", "power")
    }
    assert {(t, d) for c, t, _, d in kept.samples if c.host} == {(3.0, 2.0)}
    assert {c.component for c, *_ in kept.samples if c.host == "storage-1"} == {"board", "disks", "supply"}
    assert {c.component for c, *_ in kept.samples if c.host == "management-1"} == {"board", "supply"}


def test_clients_of_known_hardware_are_modelled_at_the_wall_without_the_losses_of_the_servers_supply():
    kept, _ = record("modelled", cluster(0.5, clients=2), **SELDOM)
    clients_w = {(c.host, c.component): v for c, _, v, _ in kept.samples if c.host.startswith("client")}
    assert clients_w == pytest.approx({(f"client-{n}", "board"): 30 + 65 / 2 for n in (1, 2)})


def test_clients_of_unknown_hardware_have_no_watts_and_refuse_nobody_elses():
    known = cluster(0.5).all
    strange = [
        Scripted("client-7", None, [], cores=0.8),
        Scripted("client-8", known[-1].node, [], cores=None),
    ]
    strange[0].role = "client"
    kept, doubts = record("modelled", Hosts((*known, *strange), cluster=HC4), **SELDOM)
    assert {c.host for c, *_ in kept.samples if c.host.startswith("client")} == {"client-1"}
    assert doubts == []


def test_clients_without_servers_are_fed_by_the_supply_and_read_once_a_sample():
    alone = tuple(host for host in cluster(0.5).all if host.role == "client")
    kept, _ = record("modelled", Hosts(alone, cluster=HC4), **SELDOM)
    assert {c.component for c, *_ in kept.samples if c.host == "client-1"} == {"board", "supply"}


def test_a_failed_reading_widens_the_next_window_so_that_no_energy_is_lost():
    script = [Counters(1.0, 0.0), OSError("gone"), Counters(5.0, 1.6)]
    host = Scripted("management-1", MANAGEMENT, script, cores=0.8)
    kept, failed = Kept(), threading.Event()
    counters = host.counters

    def watched() -> Counters:
        try:
            return counters()
        except OSError:
            failed.set()
            raise

    host.counters = watched
    with drivers.meter(Spec("modelled", {"rate": "2 Hz"})).record(
        Hosts((host,), cluster=HC4), kept
    ) as doubts:
        assert failed.wait(5)
    assert [(t, v, d) for c, t, v, d in kept.samples if c.component == "board"] == [
        (5.0, pytest.approx(6.105), 4.0)
    ]
    assert doubts == ["modelled: 1 of 3 readings of management-1 failed, the last with: gone"]


def test_a_counter_that_runs_backwards_gives_a_gap():
    before, after = Counters(1.0, 5.0, 0, 0, 0, 0), Counters(2.0, 4.0, 0, 0, 0, 0)
    assert host_w(STORAGE, before, after) == {}


def test_a_host_that_can_not_tell_its_cpu_time_has_no_watts_and_is_doubted():
    kept, doubts = record(
        "modelled",
        Hosts((Scripted("storage-1", STORAGE, [Counters(1.0), Counters(2.0)]),), cluster=HC4),
        **SELDOM,
    )
    assert {c.component for c, *_ in kept.samples} == {"switch"}
    assert "modelled: no power of storage-1: CPU time is unknown" in doubts


def test_disk_bytes_that_are_unknown_count_as_none_and_are_doubted():
    script = [Counters(1.0, 0.0, disk_read_bytes=0), Counters(2.0, 0.0, disk_read_bytes=0)]
    kept, doubts = record("modelled", Hosts((Scripted("storage-1", STORAGE, script),), cluster=HC4), **SELDOM)
    assert kept.values("storage-1", "disks") == [pytest.approx(1.7)]
    assert doubts == ["modelled: disk writes of storage-1 are unknown and count as zero: a lower bound"]


def test_the_disks_of_a_host_without_any_are_not_missed():
    _, doubts = record(
        "modelled",
        Hosts((Scripted("management-1", MANAGEMENT, [Counters(1.0, 0.0), Counters(2.0, 0.0)]),), cluster=HC4),
        **SELDOM,
    )
    assert doubts == []


def test_a_testbed_without_hardware_in_the_catalogue_is_refused():
    with pytest.raises(CampaignError, match="no cluster in it; give the testbed a cluster"):
        record("modelled", Hosts((Scripted("storage-1", STORAGE, []),)))
    with pytest.raises(CampaignError, match="storage-1 stands for no hardware"):
        record("modelled", Hosts((Scripted("storage-1", None, []),), cluster=HC4))


def test_hosts_whose_power_states_were_set_are_not_those_of_the_catalogue():
    host = Scripted("storage-1", STORAGE, [])
    host.check_power = lambda: None
    with pytest.raises(
        CampaignError, match="the watts of storage-1 in the power states of this campaign; use a power meter"
    ):
        record("modelled", Hosts((host,), cluster=HC4))


def test_a_supply_without_loss_loses_nothing():
    lossless = replace(HC4, supply_efficiency=replace(HC4.supply_efficiency, value=1.0))
    watts = modelled.host_w(MANAGEMENT, lossless, {"board": 0.0})
    assert watts == pytest.approx({"board": 4.3, "supply": 0.0})


# --- all
# ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", drivers.kinds("meters"))
def test_the_documented_example_of_a_meter_is_one(kind: str):
    module = __import__(f"perjoule.meters.{kind}", fromlist=["EXAMPLE"])
    (table,) = tomllib.loads(module.EXAMPLE)["meter"]
    assert isinstance(drivers.build("meters", table.pop("kind"), table), Meter)
    assert "https://" in module.__doc__


def test_the_switch_draws_its_power_over_the_time_from_round_to_round(monkeypatch):
    moments_s = iter([10.0, 14.0, 15.0])
    monkeypatch.setattr(modelled, "time", SimpleNamespace(monotonic=lambda: next(moments_s)))
    kept = Kept()
    model = modelled._Model(Hosts((), cluster=HC4), HC4, {}, {}, kept)
    for _ in range(3):
        model.take({})
    assert [(t, v, d) for _, t, v, d in kept.samples] == [
        (14.0, HC4.switch_w.value, 4.0),
        (15.0, HC4.switch_w.value, 1.0),
    ]


@pytest.mark.parametrize(
    ("of", "rate"), [("disk_read_bytes", "read_bytes_per_s"), ("disk_written_bytes", "write_bytes_per_s")]
)
def test_disks_work_by_what_a_host_read_and_by_what_it_wrote(of: str, rate: str):
    most = sum(getattr(disk, rate).value for disk in STORAGE.disks)
    before = Counters(1.0, 0.0, 0, 0, 0, 0)
    found = host_w(STORAGE, before, replace(before, t_s=3.0, **{of: round(most)}))
    idle_w, active_w = (
        sum(getattr(disk, of).value for disk in STORAGE.disks) for of in ("idle_w", "active_w")
    )
    assert found["disks"] == pytest.approx((idle_w + active_w) / 2)
