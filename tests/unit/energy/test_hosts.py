"""Which hosts serve: peak, bounds, energy and bytes per user byte are of those, as the file system
declares them.
"""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from perjoule.drivers.protocols import Hosts
from perjoule.energy.hosts import data_hosts, held_by_clients, roles, server_names
from perjoule.execution.trial import Up
from perjoule.measures.points import points
from perjoule.model import Cell, HostFact, Interval
from perjoule.model.records import IMPORTED_BY
from perjoule.model.units import MIB
from perjoule.store.records import record_from, record_text
from perjoule.views.performance.throughput import throughput

NIC = 111.34 * MIB  # of every Odroid HC4, Table I of "Green Storage"; its disks can more
ODROIDS = (
    *(HostFact(f"storage-{n}", "storage", "A") for n in (1, 2)),
    HostFact("metadata-1", "metadata", "C"),
    HostFact("management-1", "management", "B"),
    *(HostFact(f"client-{n}", "client", "G") for n in (1, 2)),
)
LOCAL = ("client-1", "client-2")


def beside_a_cluster(made, held, *, rate, direction="write", clients_count=1):
    """A trial of 10 s at this rate (of each client) on a cluster of the catalogue, by a file system whose
    data lay there.
    """
    moved = made.results(*[(10.0, 20.0)] * clients_count, direction=direction, moved_bytes=int(rate * 10))
    return replace(made.record(moved=moved, cluster="odroid-hc4"), hosts=ODROIDS, data_hosts=tuple(held))


def judged(record, series=()):
    (point,) = points(record, series)
    return point


@pytest.mark.parametrize(
    ("held", "count"),
    [
        (("storage-1", "storage-2"), 2),
        # GlusterFS dispersed; roles = "both"; classes = "together"
        (("storage-1", "storage-2", "metadata-1"), 3),
        (("storage-1",), 1),  # NFS
    ],
)
def test_the_peak_is_that_of_the_hosts_that_hold_data(made, held, count):
    record = beside_a_cluster(made, held, rate=NIC * 0.6, clients_count=2)
    peak_count = min(count, 2)  # the networks of two clients bound three servers
    assert judged(record).metrics["tpp_bytes_per_s"] == pytest.approx(peak_count * NIC)
    assert judged(record).metrics["tpp_ratio"] == pytest.approx(1.2 / peak_count)
    above = any("times the theoretical peak performance" in doubt for doubt in judged(record).doubts)
    assert above == (count == 1)


def test_glusterfs_on_five_hosts_is_bound_by_four_clients_as_the_paper_says(made):
    five = tuple(HostFact(f"storage-{n}", "storage", "A") for n in (1, 2, 3, 4))
    four = tuple(HostFact(f"client-{n}", "client", "G") for n in (1, 2, 3, 4))
    hosts = (*five, HostFact("metadata-1", "metadata", "C"), *four)
    # Table II: 268.60 MiB/s of reads, of 445.36 MiB/s (Table I): 60.31 %
    record = beside_a_cluster(
        made, ("storage-1", "storage-2"), rate=268.60 * MIB / 4, clients_count=4, direction="read"
    )
    held = tuple(host.name for host in hosts[:5])
    metrics = judged(replace(record, hosts=hosts, data_hosts=held)).metrics
    assert metrics["tpp_bytes_per_s"] == pytest.approx(445.36 * MIB)
    assert metrics["tpp_ratio"] == pytest.approx(0.6031, abs=5e-5)


def test_a_host_with_data_and_unknown_hardware_leaves_no_peak(made):
    record = beside_a_cluster(made, ("storage-1", "metadata-1"), rate=NIC)
    strange = tuple(replace(h, node="of another perjoule") if h.role == "metadata" else h for h in ODROIDS)
    assert "tpp_ratio" not in judged(replace(record, hosts=strange)).metrics


def test_a_client_s_own_file_system_has_no_peak_and_no_network_beside_a_cluster(made):
    record = beside_a_cluster(made, LOCAL, rate=8 * NIC, direction="read")
    series = [made.counter(h.name, q, 0.0) for h in ODROIDS for q in ("network_received", "disk_read", "cpu")]
    series = [s for s in series if (s.channel.host, s.channel.quantity) != ("client-1", "disk_read")]
    series += [made.counter("client-1", "disk_read", 8 * NIC)]
    point = judged(record, series)
    assert "tpp_ratio" not in point.metrics
    assert point.doubts == ()


def test_reads_of_a_client_s_own_file_system_that_came_from_its_memory_are_doubted(made):
    record = beside_a_cluster(made, LOCAL, rate=NIC, direction="read")
    series = [made.counter(h.name, q, 0.0) for h in ODROIDS for q in ("network_received", "disk_read")]
    assert judged(record, series).doubts == (
        "the page cache served reads: the disks read 0 % of the bytes that clients read",
    )


def test_joules_of_idle_servers_do_not_belong_to_a_client_s_own_file_system(made):
    record = beside_a_cluster(made, LOCAL, rate=NIC)
    idle = [made.steady(h.name, 5.0) for h in ODROIDS if h.role != "client"]
    point = judged(record, idle)
    assert "energy_j" not in point.metrics
    assert "meter: no power of client-1" in point.doubts
    metered = [*idle, made.steady("client-1", 60.0), made.steady("client-2", 30.0)]
    # not client-2's, which had nothing to do
    assert judged(record, metered).metrics["energy_j"] == pytest.approx(600.0)


@pytest.mark.parametrize(
    ("held", "by_clients"),
    [(LOCAL, True), (("client-1",), True), (("storage-1",), False), (("storage-1", "client-1"), False)],
)
def test_clients_held_the_data_where_nobody_else_did(made, held, by_clients):
    record = beside_a_cluster(made, held, rate=NIC)
    assert held_by_clients(record) == by_clients
    outside = tuple(host for host in ODROIDS if host.role == "client")
    assert not held_by_clients(replace(record, hosts=outside, data_hosts=()))


def test_servers_with_data_stand_in_the_boundary_with_all_others_of_the_cluster(made):
    record = beside_a_cluster(made, ("storage-1",), rate=NIC / 2)
    assert server_names(record) == {"storage-1", "storage-2", "metadata-1", "management-1"}
    metered = [made.steady(h.name, 5.0) for h in ODROIDS if h.role != "client"]
    assert judged(record, metered).metrics["energy_j"] == pytest.approx(4 * 50)


def test_a_disk_of_a_host_with_data_is_among_the_devices(made):
    disks = [made.steady(f"storage-{n}", 2.0, component="disks") for n in (1, 2)]
    without = judged(beside_a_cluster(made, ("storage-1", "storage-2"), rate=NIC / 2), disks)
    assert without.metrics["device_energy_j"] == pytest.approx(40.0)
    brick = beside_a_cluster(made, ("storage-1", "storage-2", "metadata-1"), rate=NIC / 2)
    assert "device_energy_j" not in judged(brick, disks).metrics  # that of metadata-1 is missing


def test_one_plug_may_feed_the_disks_of_several_hosts(made):
    hosts = ("storage-1", "storage-2")
    alone = made.steady("", 4.0, component="disks")
    together = [replace(alone, channel=replace(alone.channel, covers=hosts))]
    record = beside_a_cluster(made, hosts, rate=NIC / 2)
    assert judged(record, together).metrics["device_energy_j"] == pytest.approx(40.0)
    twice = [*together, made.steady("storage-1", 2.0, component="disks")]
    assert "device_energy_j" not in judged(record, twice).metrics  # a disk would count twice


def test_what_is_counted_by_the_byte_leaves_idle_servers_out(made):
    assert set(roles(beside_a_cluster(made, LOCAL, rate=NIC))) == {"client"}
    assert set(roles(beside_a_cluster(made, ("storage-1",), rate=NIC))) == {
        "client",
        "storage",
        "metadata",
        "management",
        "servers",
    }


def test_a_record_that_does_not_say_where_data_lay_has_them_on_its_storage_hosts(made):
    record = beside_a_cluster(made, (), rate=NIC)
    assert data_hosts(record) == {"storage-1", "storage-2"}
    both = beside_a_cluster(made, (), rate=NIC / 2, clients_count=2)
    assert judged(both).metrics["tpp_bytes_per_s"] == pytest.approx(2 * NIC)
    alone = replace(record, hosts=tuple(h for h in ODROIDS if h.role == "client"), cluster="")
    assert data_hosts(alone) == set()
    assert data_hosts(replace(alone, environment={IMPORTED_BY: "perjoule 1"})) == {"client-1"}


def test_data_hosts_are_kept_with_the_record_and_one_written_before_reads_without(made):
    record = beside_a_cluster(made, ("storage-1", "metadata-1"), rate=NIC)
    assert record_from(record_text(record)).data_hosts == ("storage-1", "metadata-1")
    before = json.loads(record_text(record))
    del before["data_hosts"]
    assert record_from(json.dumps(before)) == replace(record, data_hosts=())


def test_the_figure_says_whose_each_peak_is():
    def cell(filesystem, peak):
        metrics = dict([peak, ("throughput_bytes_per_s", NIC)])
        return Cell(filesystem, "write", "write", 1, {m: Interval(v, v, v, (v,)) for m, v in metrics.items()})

    one, other = (("tpp_bytes_per_s", n * NIC) for n in (4, 5))
    assert "TPP 445.4 MiB/s" in str(throughput([cell("moosefs", one), cell("cephfs", one)]))
    several = str(throughput([cell("moosefs", one), cell("cephfs", one), cell("glusterfs", other)]))
    assert "TPP of moosefs, cephfs 445.4 MiB/s" in several
    assert "TPP of glusterfs 556.7 MiB/s" in several


@pytest.mark.parametrize(
    "held", [(), LOCAL, ("storage-1", "storage-2"), ("storage-1", "client-1"), ("client-2",)]
)
@pytest.mark.parametrize("servers", [True, False])
@pytest.mark.parametrize("clients_count", [1, 2])
def test_while_a_trial_runs_the_watts_are_those_of_the_hosts_whose_energy_it_will_have(
    made, held, servers, clients_count
):
    record = beside_a_cluster(made, held, rate=NIC, clients_count=clients_count)
    record = replace(record, hosts=tuple(host for host in ODROIDS if servers or host.role == "client"))
    hosts = Hosts(tuple(_named(host) for host in record.hosts))
    mounted: Any = SimpleNamespace(data_hosts=held)
    assert Up(hosts, mounted).serving(clients_count) == server_names(record)


def _named(host: HostFact) -> Any:
    return SimpleNamespace(name=host.name, role=host.role)
