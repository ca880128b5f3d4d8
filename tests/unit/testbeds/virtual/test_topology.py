"""Which hosts a virtual cluster has, and with what: of the Odroid cluster, four storage nodes of two disks, one
metadata node, one management node without disks, and clients.
"""

import pytest
from pydantic import ValidationError

from perjoule import catalogue, drivers
from perjoule.model import Spec
from perjoule.model.errors import CampaignError
from perjoule.testbeds.virtual import Virtual
from perjoule.testbeds.virtual.topology import places

CLUSTER = catalogue.cluster("odroid-hc4")
NIC = 116748451.84


def test_servers_come_first_with_addresses_in_a_row():
    hosts = places(CLUSTER, clients_count=2, servers_count=None, scale=0.5)
    assert [host.name for host in hosts] == [
        *(f"storage-{n}" for n in (1, 2, 3, 4)),
        *("metadata-1", "management-1", "client-1", "client-2"),
    ]
    assert [host.address for host in hosts] == [f"10.99.0.{n}" for n in range(2, 10)]
    assert {host.goodput_bytes_per_s for host in hosts} == {NIC / 2}
    (plain,) = {
        (
            h.cpu_capacity_cores,
            h.memory_bytes,
            h.disks_count,
            h.cluster_address,
            h.cluster_goodput_bytes_per_s,
        )
        for h in hosts
    }
    assert plain == (None, None, 1, "", 0.0)


@pytest.mark.parametrize("count", [1, 3, 4, 6])
def test_other_numbers_of_servers_are_of_storage_hosts(count):
    hosts = places(CLUSTER, clients_count=1, servers_count=count, scale=1.0)
    assert [host.role for host in hosts] == [*["storage"] * count, "metadata", "management", "client"]


def test_cores_memory_disks_and_a_second_network_are_the_boards():
    """4911 MIPS at a fifth of the speed on cores of 1000; 4 GiB by half; twice the network among servers."""
    hosts = places(
        CLUSTER,
        clients_count=1,
        servers_count=1,
        scale=0.2,
        machine_mips_per_core=1000.0,
        memory_ratio=0.5,
        disks_apart=True,
        cluster_network_ratio=2.0,
    )
    storage, metadata, management, client = hosts
    assert storage.cpu_capacity_cores == pytest.approx(4911 * 0.2 / 1000, rel=0.02)
    assert (storage.memory_bytes, client.memory_bytes) == (2 * 1024**3, 4 * 1024**3)
    assert [host.disks_count for host in hosts] == [2, 2, 1, 1]
    assert (metadata.cluster_address, client.cluster_address) == ("10.98.0.3", "")
    assert management.cluster_goodput_bytes_per_s == pytest.approx(NIC * 0.4)
    assert client.cluster_goodput_bytes_per_s == 0.0


def test_more_hosts_than_a_machine_bears_are_refused():
    assert len(places(CLUSTER, clients_count=28, servers_count=100, scale=1.0)) == 130
    for clients_count, servers_count in ((29, 100), (129, None)):
        with pytest.raises(CampaignError, match="129 hosts are too many for one machine"):
            places(CLUSTER, clients_count=clients_count, servers_count=servers_count, scale=1.0)


def test_by_default_a_cluster_is_as_its_file_says():
    """As fast, as large and with a network that loses nothing; a sparse disk has 8 GiB."""
    plain = Virtual()
    ratios = {
        name: value
        for name, value in vars(plain).items()
        if name.endswith("_ratio") and value is not None and name != "loss_ratio"
    }
    assert ratios.keys() == {
        *("scale_ratio", "server_cpu_ratio", "server_network_ratio", "server_disk_ratio", "memory_ratio")
    }
    assert set(ratios.values()) == {1.0}
    assert (plain.loss_ratio, plain.latency_s, plain.disk_size_bytes) == (0.0, None, 8_589_934_592)


@pytest.mark.parametrize(
    ("option", "possible", "impossible"),
    [
        ("scale", (0.001, 1.0), (0.0, 1.001, -0.1)),
        ("servers", (1,), (0, -1)),
        ("server_cpu", (0.01, 100.0), (0.0, 100.1)),
        ("server_network", (0.01, 100.0), (0.0, 100.1)),
        ("server_disk", (0.01, 100.0), (0.0, 100.1)),
        ("cluster_network", (0.01, 100.0), (0.0, 100.1)),
        ("latency", ("1 us", "10 s"), ("0 s", "10.1 s")),
        ("loss", ("0 %", "99.9 %"), ("100 %",)),
        ("disk_latency", ("1 ms", "1 s", "catalogue"), ("0 s", "1.01 s")),
        ("memory", ("1 %", "100 %"), ("0 %",)),
    ],
)
def test_options_are_those_that_hardware_may_have(option, possible, impossible):
    for value in possible:
        drivers.testbed(Spec("virtual", {option: value}))
    for value in impossible:
        with pytest.raises(ValidationError):
            drivers.testbed(Spec("virtual", {option: value}))
