"""The bounds, against a green-storage cluster worked out by hand."""

import numpy as np
import pytest

from perjoule.model import Flow
from perjoule.prediction import RESOURCES, Demand, Fleet, bound_bytes_per_s, times_s_per_byte
from perjoule.prediction.bounds import Number

MIB = 1024**2
# Two copies, forwarded from server to server: each user byte is received twice, sent on once and written
# twice.
TWO_COPIES = Flow(client_sent_ratio=1, storage_received_ratio=2, storage_sent_ratio=1, disk_written_ratio=2)


def _fleet(servers_count: Number = 4, clients_count: float = 4, mips: float = 4000) -> Fleet:
    return Fleet(servers_count, 100 * MIB, mips, 300 * MIB, 200 * MIB, clients_count, 100 * MIB, 50_000)


def test_the_busier_direction_of_the_servers_networks_bounds_two_copies() -> None:
    found, worst = bound_bytes_per_s(Demand(TWO_COPIES), _fleet())
    assert found == pytest.approx(200 * MIB)  # 4 x 100 MiB/s received, half of it a second copy
    assert RESOURCES[int(worst)] == "server network"


def test_one_client_can_send_no_more_than_its_network() -> None:
    found, worst = bound_bytes_per_s(Demand(TWO_COPIES), _fleet(clients_count=1))
    assert found == pytest.approx(100 * MIB)
    assert RESOURCES[int(worst)] == "client network"


def test_a_slow_cpu_bounds_by_its_rating() -> None:
    # 4 servers of 1000 MIPS do 50 MiB/s
    demand = Demand(TWO_COPIES, server_mips_s_per_byte=4 * 1000 / (50 * MIB))
    assert bound_bytes_per_s(demand, _fleet(mips=1000))[0] == pytest.approx(50 * MIB)
    assert bound_bytes_per_s(demand, _fleet(mips=2000))[0] == pytest.approx(100 * MIB)


def test_disks_read_and_write_in_turn() -> None:
    flow = Flow(disk_written_ratio=1, disk_read_ratio=1)
    found = times_s_per_byte(Demand(flow), _fleet(servers_count=1))["disks"]
    assert found == pytest.approx(1 / (200 * MIB) + 1 / (300 * MIB))


def test_many_clusters_are_bounded_at_once() -> None:
    counts = np.array([2.0, 4.0, 8.0])
    found, worst = bound_bytes_per_s(Demand(TWO_COPIES), _fleet(servers_count=counts, clients_count=4))
    assert found == pytest.approx(np.array([100, 200, 400]) * MIB)
    assert [RESOURCES[n] for n in worst] == ["server network", "server network", "client network"]
