"""The closed network, against mean value analysis step by step, printed measurements of a cluster, and cases by hand."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import inf

import numpy as np
import pytest

from perjoule import published
from perjoule.model import WHOLE_FILE, Flow
from perjoule.prediction.bounds import Demand, Fleet
from perjoule.prediction.queueing import Spread, Way, duration_s, fallen_count, job, waiting_ratio

MIB = 1024**2
ONE_COPY = Flow(client_sent_ratio=1, storage_received_ratio=1, disk_written_ratio=1)
READ = Flow(client_received_ratio=1, storage_sent_ratio=1, disk_read_ratio=1)
FLEET = Fleet(4.0, 100.0 * MIB, 1e4, 300.0 * MIB, 200.0 * MIB, 2.0, 1000.0 * MIB, 1e6)
WAY = Way(in_flight=3.0, overlap=50.0, on_disk_ratio=1.0, fixed_s=0.0)


def _mean_value_analysis(transfers_count: int, services_s: Sequence[float]) -> float:
    """Return transfers per second of a closed network, by the recursion over the number of transfers.

    A transfer spends `services_s` at each station, on average.
    """
    queue = [0.0] * len(services_s)
    rate = 0.0
    for count in range(1, transfers_count + 1):
        residence_s = [service_s * (1 + waiting) for service_s, waiting in zip(services_s, queue, strict=True)]
        rate = count / sum(residence_s)
        queue = [rate * seconds for seconds in residence_s]
    return rate


@pytest.mark.parametrize("clients_count", [1, 2, 5])
@pytest.mark.parametrize("servers_count", [1, 4, 12])
def test_the_law_is_that_of_exact_mean_value_analysis(clients_count: int, servers_count: int) -> None:
    fleet = replace(FLEET, clients_count=float(clients_count), servers_count=float(servers_count))
    found_s = duration_s(WAY, job(Demand(READ), fleet, Spread(1), 100 * MIB))
    rate = clients_count * 100 * MIB / float(found_s)
    # A transfer of one byte takes 1 / (100 MiB/s) at a station, and there are 3 of each client.
    exact = _mean_value_analysis(3 * clients_count, [1 / (servers_count * 100 * MIB)] * servers_count)
    assert rate == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("transfers_count", [1, 2, 6, 40])
@pytest.mark.parametrize(
    "shares", [(4 / 3, 4 / 3, 2 / 3, 2 / 3), (1.5, 0.5), (1.2,) * 5 + (0.8,) * 5, (2, 2, 0, 0), (4, 0, 0, 0)]
)
def test_unequal_shares_wait_as_exact_mean_value_analysis_says(shares: Sequence[float], transfers_count: int) -> None:
    """Schweitzer's approximation is within 3 % of it, and exact for a single transfer and where the used stations are equal."""
    found = float(waiting_ratio(np.array(float(transfers_count)), float(len(shares)), max(shares)))
    exact = _mean_value_analysis(transfers_count, [share / len(shares) for share in shares])
    alike = transfers_count == 1 or len(set(shares) - {0}) == 1
    assert len(shares) / exact == pytest.approx(found, rel=1e-9 if alike else 0.03)


def test_with_many_transfers_the_fullest_station_sets_the_pace() -> None:
    for stations, fullest in ((4.0, 1.3), (1.0, 1.25), (100.0, 7.0)):
        assert float(waiting_ratio(np.array(1e9), stations, fullest)) == pytest.approx(fullest, rel=1e-6)


def test_the_cubieboards_reads_are_predicted_with_nothing_fitted() -> None:
    """12 boards at 94.1 Mb/s, 16 reads of each client in flight (what `rados bench` does by default)."""
    paper = published.paper("cubieboard")
    printed = {
        one.facts["clients"]: one.value
        for one in paper.numbers
        if one.quantity == "throughput" and one.place.startswith("Table") and one.facts.get("direction") == "read"
    }
    assert len(printed) >= 5
    board = Fleet(12.0, 94.1e6 / 8, 1e6, inf, inf, 1.0, 125e6, 1e9)
    for clients, measured in printed.items():
        count = float(str(clients))
        fleet = replace(board, clients_count=count)
        way = replace(WAY, in_flight=16.0)
        found = count * 1e9 / float(duration_s(way, job(Demand(READ), fleet, Spread(1), 1e9)))
        assert found == pytest.approx(measured, rel=0.05)


def test_a_client_that_uses_one_host_at_a_time_is_as_fast_as_that_host() -> None:
    fleet = replace(FLEET, clients_count=1.0)
    found_s = duration_s(replace(WAY, at_once=1.0), job(Demand(READ), fleet, Spread(1), 100 * MIB))
    assert float(found_s) == pytest.approx(1.0)


def test_copies_are_one_station_of_several_hosts() -> None:
    alone_s = duration_s(WAY, job(Demand(READ), replace(FLEET, servers_count=2.0), Spread(1), 100 * MIB))
    pairs_s = duration_s(WAY, job(Demand(READ), FLEET, Spread(2), 100 * MIB))
    assert float(pairs_s) == pytest.approx(float(alone_s) / 2)  # as many stations, each of twice the speed


def test_what_memory_holds_is_written_back_afterwards() -> None:
    lazy = Way(in_flight=1e6, overlap=50.0, on_disk_ratio=0.0, fixed_s=0.25)
    found_s = duration_s(lazy, job(Demand(ONE_COPY), FLEET, Spread(1), 200 * MIB))
    # 400 MiB over 4 networks of 100 MiB/s, then over 4 disks of 200 MiB/s.
    assert float(found_s) == pytest.approx(0.25 + 1.0 + 0.5, rel=1e-4)


def test_memory_holds_a_fifth_of_itself_at_most() -> None:
    small = replace(FLEET, server_memory_bytes=100.0 * MIB)
    assert float(job(Demand(ONE_COPY), small, Spread(1), 400 * MIB).most_left_ratio) == pytest.approx(4 * 20 / 800)
    assert float(job(Demand(ONE_COPY), FLEET, Spread(1), 400 * MIB).most_left_ratio) == 1.0


def test_cpu_work_that_holds_nothing_up_costs_no_time() -> None:
    """4 boards of 10,000 MIPS do 100 MIPS seconds for each MiB: 400 MiB/s with all of the work."""
    work = Demand(READ, server_mips_s_per_byte=100 / MIB)
    flying = replace(WAY, in_flight=1e6)
    slow = replace(FLEET, server_network_bytes_per_s=800.0 * MIB)
    for share, rate in ((1.0, 400.0), (0.5, 800.0)):
        found_s = duration_s(replace(flying, cpu_ratio=share), job(work, slow, Spread(1), 100 * MIB))
        assert float(found_s) == pytest.approx(200 / rate, rel=1e-3)


def test_two_copies_fill_memory_twice_as_fast() -> None:
    small = replace(FLEET, server_memory_bytes=100.0 * MIB)
    copies = Demand(replace(ONE_COPY, disk_written_ratio=2))
    assert float(job(copies, small, Spread(1), 400 * MIB).most_left_ratio) == pytest.approx(4 * 20 / 1600)


def test_the_fullest_host_is_written_back_last() -> None:
    lazy = Way(in_flight=1e6, overlap=50.0, on_disk_ratio=0.0, fixed_s=0.0)
    one = replace(FLEET, clients_count=1.0)
    chunks = Spread(1, unit_bytes=100.0 * MIB)
    found_s = duration_s(lazy, job(Demand(ONE_COPY), one, chunks, 200 * MIB))
    # A chunk of 100 MiB each over two networks of 100 MiB/s, then on two disks of 200 MiB/s.
    assert float(found_s) == pytest.approx(1.0 + 0.5, rel=1e-4)


def test_the_busiest_host_sets_the_pace_when_all_are_saturated() -> None:
    """A code 4+1 that is read from four of five hosts gives what four hosts give, as GlusterFS did: 220 of 4 x 55.7 MiB/s."""
    five = replace(FLEET, servers_count=5.0, clients_count=8.0)
    code = Spread(5, uneven_ratio=5 / 4)
    found_s = duration_s(replace(WAY, in_flight=1e6), job(Demand(READ), five, code, 100 * MIB))
    assert 800 / float(found_s) == pytest.approx(400, rel=1e-4)
    few = replace(five, clients_count=0.5, client_network_bytes_per_s=100.0 * MIB)  # their own network is slower
    found_s = duration_s(replace(WAY, in_flight=1e6), job(Demand(READ), few, code, 100 * MIB))
    assert 50 / float(found_s) == pytest.approx(50, rel=1e-4)


def test_whole_units_are_dealt_out_in_turn() -> None:
    chunks = Spread(1, unit_bytes=64.0 * MIB)
    one = replace(FLEET, clients_count=1.0)
    assert float(job(Demand(ONE_COPY), one, chunks, 128 * MIB).fullest_ratio) == pytest.approx(2.0)  # 2 chunks on 2 of 4 hosts
    three = replace(FLEET, clients_count=3.0)
    assert float(job(Demand(ONE_COPY), three, chunks, 128 * MIB).fullest_ratio) == pytest.approx(2 * 4 / 6)  # two hosts have 2
    assert float(job(Demand(ONE_COPY), three, Spread(1), 128 * MIB).fullest_ratio) == 1.0


@pytest.mark.parametrize(("files_count", "hosts_count"), [(1, 4), (2, 4), (4, 4), (3, 2), (5, 3)])
def test_whole_files_fall_where_a_hash_says(files_count: int, hosts_count: int) -> None:
    """Against the mean of the fullest host over every way in which the files can lie."""
    ways = list(product(range(hosts_count), repeat=files_count))
    fullest = sum(max(Counter(way).values()) for way in ways) / len(ways)
    fleet = replace(FLEET, clients_count=float(files_count), servers_count=float(hosts_count))
    found = job(Demand(READ), fleet, Spread(1, unit_bytes=WHOLE_FILE), 128 * MIB)
    assert float(found.fullest_ratio) == pytest.approx(fullest * hosts_count / files_count)


def test_many_files_are_placed_as_a_simulation_places_them() -> None:
    for units, stations in ((1000, 20), (150, 150), (99, 3)):
        drawn = np.random.default_rng(3).multinomial(units, [1 / stations] * stations, size=4000)
        assert float(fallen_count(units, stations)) == pytest.approx(float(drawn.max(axis=1).mean()), rel=0.01)


def test_many_clusters_are_solved_at_once() -> None:
    counts = np.array([1.0, 2.0, 4.0])
    together = duration_s(WAY, job(Demand(READ), replace(FLEET, clients_count=counts), Spread(1), MIB))
    alone = [float(duration_s(WAY, job(Demand(READ), replace(FLEET, clients_count=c), Spread(1), MIB))) for c in counts]
    assert together == pytest.approx(alone)
