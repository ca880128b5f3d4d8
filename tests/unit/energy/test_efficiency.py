from dataclasses import replace

import pytest

from perjoule import catalogue
from perjoule.energy.efficiency import capacity_bytes_per_idle_w, network_bytes_per_s, peak_bytes_per_s
from perjoule.model import HostFact, Record


def test_capacity_per_watt_is_that_of_the_paper():
    assert capacity_bytes_per_idle_w(catalogue.cluster("odroid-hc4")) / 2**40 == pytest.approx(
        0.178, abs=0.0005
    )


def hosts(servers: str, clients_count: int, *, node: str = "G") -> tuple[HostFact, ...]:
    """Hosts of the Odroid HC4 cluster: a letter for the node of each server with data."""
    found = [
        HostFact(f"server-{n}", "metadata" if name == "C" else "storage", name)
        for n, name in enumerate(servers)
    ]
    return (*found, *(HostFact(f"client-{n}", "client", node) for n in range(clients_count)))


def loaded(made, there: tuple[HostFact, ...], names: list[str], held: tuple[str, ...]) -> Record:
    """A trial in which these hosts loaded."""
    (one, *_) = made.record(moved=made.results((0.0, 10.0))).outcome.results
    outcome = replace(made.record().outcome, results=tuple(replace(one, host=name) for name in names))
    return replace(
        made.record(), cluster="odroid-hc4", hardware=None, hosts=there, data_hosts=held, outcome=outcome
    )


@pytest.mark.parametrize(
    ("servers", "clients_count", "node", "mib_per_s"),
    [
        ("AAAA", 4, "G", 4 * 111.34),
        # GlusterFS: "bound by the network throughput of the clients", section V-C b
        ("AAAAC", 4, "G", 4 * 111.34),
        ("AAAAC", 5, "G", 5 * 111.34),
        ("AAAAC", 8, "G", 5 * 111.34),
        ("AAAA", 1, "G", 111.34),
        ("AAAAC", 4, "", 5 * 111.34),  # clients of unknown hardware bound nothing
    ],
)
def test_the_theoretical_peak_is_the_least_of_servers_and_clients(
    made, servers, clients_count, node, mib_per_s
):
    there = hosts(servers, clients_count, node=node)
    held = tuple(host.name for host in there if host.role != "client")
    record = loaded(made, there, [host.name for host in there if host.role == "client"], held)
    assert peak_bytes_per_s(record) == pytest.approx(mib_per_s * 2**20)
    # By the definition of the docs, from the catalogue alone.
    boards = {one.name: one for one in catalogue.cluster("odroid-hc4").nodes}
    of_servers = sum(
        min(
            boards[name].board.nic_bytes_per_s.value,
            sum(disk.write_bytes_per_s.value for disk in boards[name].disks),
        )
        for name in servers
    )
    of_clients = clients_count * boards["G"].board.nic_bytes_per_s.value if node else float("inf")
    assert peak_bytes_per_s(record) == pytest.approx(min(of_servers, of_clients))


def test_only_clients_that_load_bound_the_peak(made):
    """Else the same trial had another peak in a campaign with more clients, or after a resume."""
    there = hosts("AAAA", 4)
    held = tuple(host.name for host in there if host.role != "client")
    assert peak_bytes_per_s(loaded(made, there, ["client-0"], held)) == pytest.approx(111.34 * 2**20)
    # no client's network
    assert peak_bytes_per_s(loaded(made, there, [*held], held)) == pytest.approx(4 * 111.34 * 2**20)


@pytest.mark.parametrize(
    ("names", "held", "nics_count"),
    [
        (["client-0"], ["server-0"], 1),
        (["client-0", "client-1"], ["server-0"], 2),
        (["client-0"], ["server-0", "client-1"], 1),
        (["client-1"], ["server-0", "client-1"], None),
        (["client-0", "client-1"], ["client-1"], None),
        (["server-1"], ["server-0"], None),  # a server without data
        (["client-0", "elsewhere"], ["server-0"], None),
    ],
)
def test_a_network_lies_between_data_and_clients_that_hold_none(made, names, held, nics_count):
    record = loaded(made, hosts("AA", 2), names, tuple(held))
    expected = None if nics_count is None else pytest.approx(nics_count * 111.34 * 2**20)
    assert network_bytes_per_s(record, names) == expected
