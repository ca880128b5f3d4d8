"""The closed network, against mean value analysis step by step, printed measurements of a cluster, and
cases by hand.
"""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import product
from math import inf

import numpy as np
import pytest

from perjoule.model import WHOLE_FILE, Flow
from perjoule.papers import published
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
        residence_s = [
            service_s * (1 + waiting) for service_s, waiting in zip(services_s, queue, strict=True)
        ]
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
def test_unequal_shares_wait_as_exact_mean_value_analysis_says(
    shares: Sequence[float], transfers_count: int
) -> None:
    """Schweitzer's approximation is within 3 % of it, and exact for a single transfer and where the used
    stations are equal.
    """
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
        if one.quantity == "throughput"
        and one.place.startswith("Table")
        and one.facts.get("direction") == "read"
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


def test_copies_of_whole_units_are_one_station_of_several_hosts() -> None:
    unit_bytes = 1.0 * MIB  # dealt out evenly
    alone_s = duration_s(
        WAY, job(Demand(ONE_COPY), replace(FLEET, servers_count=2.0), Spread(1, unit_bytes), 100 * MIB)
    )
    pairs_s = duration_s(WAY, job(Demand(ONE_COPY), FLEET, Spread(2, unit_bytes), 100 * MIB))
    assert float(pairs_s) == pytest.approx(float(alone_s) / 2)  # as many stations, each of twice the speed


@pytest.mark.heavy
@pytest.mark.parametrize("copies_count", [1, 2, 3])
@pytest.mark.parametrize("flying_count", [1, 3, 12])
def test_copies_that_are_passed_on_visit_one_host_after_another(copies_count: int, flying_count: int) -> None:
    """Against a simulation: a transfer is served by a random host, then by another, as often as it has
    copies.
    """
    dice = np.random.default_rng(copies_count)
    waiting: list[deque[int]] = [deque() for _ in range(4)]
    ready: list[tuple[float, int]] = []
    visits = [0] * flying_count
    now_s = 0.0

    def arrive(transfer: int, host: int) -> None:
        waiting[host].append(transfer)
        if len(waiting[host]) == 1:
            heappush(ready, (now_s + float(dice.exponential()), host))

    for transfer in range(flying_count):
        arrive(transfer, int(dice.integers(4)))
    served_count = 0
    while served_count < 20_000:
        now_s, host = heappop(ready)
        transfer = waiting[host].popleft()
        if waiting[host]:
            heappush(ready, (now_s + float(dice.exponential()), host))
        visits[transfer] = (visits[transfer] + 1) % copies_count
        others = [other for other in range(4) if other != host or not visits[transfer]]
        arrive(transfer, others[int(dice.integers(len(others)))])
        served_count += 1
    simulated = served_count / now_s / 4  # share of the time that hosts work
    way = replace(WAY, in_flight=float(flying_count))
    one = replace(FLEET, clients_count=1.0, client_network_bytes_per_s=1e12)
    flow = Flow(client_sent_ratio=1, storage_received_ratio=copies_count, disk_written_ratio=0)
    found_s = float(duration_s(way, job(Demand(flow), one, Spread(copies_count), 400 * MIB)))
    assert copies_count / found_s == pytest.approx(simulated, rel=0.06)  # 400 MiB on four hosts of 100 MiB/s


def test_what_memory_holds_is_written_back_afterwards() -> None:
    lazy = Way(in_flight=1e6, overlap=50.0, on_disk_ratio=0.0, fixed_s=0.25)
    found_s = duration_s(lazy, job(Demand(ONE_COPY), FLEET, Spread(1), 200 * MIB))
    # 400 MiB over 4 networks of 100 MiB/s, then over 4 disks of 200 MiB/s.
    assert float(found_s) == pytest.approx(0.25 + 1.0 + 0.5, rel=1e-4)


@pytest.mark.parametrize("on_disk_ratio", [0.0, 0.5, 1.0])
def test_a_read_leaves_nothing_to_be_written_back(on_disk_ratio: float) -> None:
    """200 MiB each of two clients from 4 disks of 300 MiB/s behind networks of 1000 MiB/s, every stage
    beside the others.
    """
    way = Way(in_flight=1e6, overlap=50.0, on_disk_ratio=on_disk_ratio, fixed_s=0.0)
    wide = replace(FLEET, server_network_bytes_per_s=1000.0 * MIB, client_network_bytes_per_s=1000.0 * MIB)
    reads = job(Demand(replace(READ, disk_read_ratio=1.0)), wide, Spread(1, read=True), 200 * MIB)
    assert float(duration_s(way, reads)) == pytest.approx(400 / 1200, rel=1e-3)


def test_memory_holds_a_fifth_of_itself_at_most() -> None:
    small = replace(FLEET, server_memory_bytes=100.0 * MIB)
    assert float(job(Demand(ONE_COPY), small, Spread(1), 400 * MIB).most_left_ratio) == pytest.approx(
        4 * 20 / 800
    )
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
    """A code 4+1 that is read from four of five hosts gives what four hosts give, as GlusterFS did: 220 of
    4 x 55.7 MiB/s.
    """
    five = replace(FLEET, servers_count=5.0, clients_count=8.0)
    code = Spread(5, uneven_ratio=5 / 4)
    found_s = duration_s(replace(WAY, in_flight=1e6), job(Demand(READ), five, code, 100 * MIB))
    assert 800 / float(found_s) == pytest.approx(400, rel=1e-4)
    # their own network is slower
    few = replace(five, clients_count=0.5, client_network_bytes_per_s=100.0 * MIB)
    found_s = duration_s(replace(WAY, in_flight=1e6), job(Demand(READ), few, code, 100 * MIB))
    assert 50 / float(found_s) == pytest.approx(50, rel=1e-4)


def test_of_a_code_a_whole_file_is_read_from_as_many_hosts_as_parts_of_data() -> None:
    """As GlusterFS reads 4+1 from four of five hosts (its busiest sent 1.25 times the mean), whichever it
    leaves out.
    """
    five = replace(FLEET, servers_count=5.0)
    code = Spread(5, WHOLE_FILE, read=True, parts_ratio=5 / 4)
    assert float(job(Demand(READ), five, code, 100 * MIB).fullest_ratio) == pytest.approx(5 / 4)
    # another four each time
    assert float(job(Demand(READ), five, replace(code, unit_bytes=inf), 100 * MIB).fullest_ratio) == 1.0


def test_whole_units_are_dealt_out_in_turn() -> None:
    chunks = Spread(1, unit_bytes=64.0 * MIB)
    one = replace(FLEET, clients_count=1.0)
    # 2 chunks on 2 of 4 hosts
    assert float(job(Demand(ONE_COPY), one, chunks, 128 * MIB).fullest_ratio) == pytest.approx(2.0)
    three = replace(FLEET, clients_count=3.0)
    # two hosts have 2
    assert float(job(Demand(ONE_COPY), three, chunks, 128 * MIB).fullest_ratio) == pytest.approx(2 * 4 / 6)
    assert float(job(Demand(ONE_COPY), three, Spread(1), 128 * MIB).fullest_ratio) == 1.0


@pytest.mark.parametrize(("files_count", "hosts_count"), [(1, 4), (2, 4), (2, 2), (4, 4), (3, 2), (5, 3)])
def test_whole_files_fall_where_a_hash_says(files_count: int, hosts_count: int) -> None:
    """Against every way in which the files can lie: on the fullest host there are no more in half of them."""
    ways = product(range(hosts_count), repeat=files_count)
    counts = sorted(max(Counter(way).values()) for way in ways)
    fullest = counts[(len(counts) - 1) // 2]
    fleet = replace(FLEET, clients_count=float(files_count), servers_count=float(hosts_count))
    found = job(Demand(READ), fleet, Spread(1, unit_bytes=WHOLE_FILE), 128 * MIB)
    assert float(found.fullest_ratio) == pytest.approx(fullest * hosts_count / files_count)


def test_many_files_are_placed_as_a_simulation_places_them() -> None:
    for units, stations in ((1000, 20), (150, 150), (99, 3)):
        drawn = np.random.default_rng(3).multinomial(units, [1 / stations] * stations, size=4000)
        wanted = np.quantile(drawn.max(axis=1), 0.5, method="inverted_cdf")
        assert float(fallen_count(units, stations)) == pytest.approx(float(wanted), abs=1)


def test_calls_in_flight_are_as_many_transfers_and_change_nothing_where_all_are_at_one_station() -> None:
    there = replace(FLEET, clients_count=2.0)
    for way, more in (
        (Way(2.0, 5.0, 1.0, 0.0), Way(8.0, 5.0, 1.0, 0.0)),
        (Way(9e9, 5.0, 1.0, 0.0, 1.0), Way(9e9, 5.0, 1.0, 0.0, 4.0)),
    ):
        four = duration_s(way, job(Demand(READ), there, Spread(1), 1e9, 4.0))
        assert four == pytest.approx(float(duration_s(more, job(Demand(READ), there, Spread(1), 1e9))))
        assert four < duration_s(way, job(Demand(READ), there, Spread(1), 1e9))
        whole = Spread(1, 64 * 2**20, read=True)
        assert duration_s(way, job(Demand(READ), there, whole, 1e9, 4.0)) == duration_s(
            way, job(Demand(READ), there, whole, 1e9)
        )


def test_very_many_files_fall_almost_evenly_and_need_no_memory() -> None:
    """Their excess over the mean is some standard deviations of a station, as of 4 independent normal
    numbers.
    """
    one = np.random.default_rng(5).standard_normal((200_000, 4)).max(axis=1)
    for mean in (0.9e8, 1.1e8, 1e19):
        excess = (float(fallen_count(4 * mean, 4)) - mean) / np.sqrt(mean)
        assert excess == pytest.approx(float(np.median(one)), abs=0.02), mean


def _read_in_turn(stations: Sequence[int], flying_count: int, transfers_count: int, seed: int) -> float:
    """Return how long clients take for files of as many transfers, all of a client's on its own station, in
    services.

    Each client keeps some transfers in flight; a station serves one after the other, each in a random time of
    mean 1.
    """
    dice = np.random.default_rng(seed)
    waiting: dict[int, deque[int]] = {station: deque() for station in stations}
    for client, station in enumerate(stations):
        waiting[station].extend([client] * flying_count)
    left = [transfers_count - flying_count] * len(stations)
    ready = [(float(dice.exponential()), station) for station in waiting]
    heapify(ready)
    now_s = 0.0
    while ready:
        now_s, station = heappop(ready)
        client = waiting[station].popleft()
        if left[client]:
            left[client] -= 1
            waiting[station].append(client)
        if waiting[station]:
            heappush(ready, (now_s + float(dice.exponential()), station))
    return now_s


@pytest.mark.parametrize("flying_count", [1, 4])
@pytest.mark.parametrize("stations", [(0, 1), (0, 0, 1), (0, 0, 0, 1), (0, 1, 2, 2)])
def test_whole_files_take_what_the_fullest_station_takes_however_many_transfers_fly(
    stations: tuple[int, ...], flying_count: int
) -> None:
    """Against a simulation of their queues; independent transfers over four stations would take up to four
    times as long.
    """
    took = float(np.mean([_read_in_turn(stations, flying_count, 400, seed) for seed in range(5)])) / 400
    fullest = max(Counter(stations).values())
    fleet = replace(FLEET, clients_count=float(len(stations)), client_network_bytes_per_s=1e12)
    lies = Spread(1, WHOLE_FILE, read=True)
    uneven = fullest * 4 / len(stations) / float(job(Demand(READ), fleet, lies, 100 * MIB).fullest_ratio)
    found_s = duration_s(
        replace(WAY, in_flight=float(flying_count)),
        job(Demand(READ), fleet, replace(lies, uneven_ratio=uneven), 100 * MIB),
    )
    assert float(found_s) == pytest.approx(fullest, rel=1e-3)  # files of 100 MiB, stations of 100 MiB/s
    assert took == pytest.approx(fullest, rel=0.1)


def test_a_reader_of_chunks_is_no_faster_than_one_host_but_a_writer_may_be() -> None:
    one = replace(FLEET, clients_count=1.0)
    reading = job(Demand(READ), one, Spread(1, 25.0 * MIB, read=True), 100 * MIB)
    writing = job(Demand(ONE_COPY), one, Spread(1, 25.0 * MIB), 100 * MIB)
    assert float(duration_s(WAY, reading)) == pytest.approx(1.0, rel=1e-3)  # one of four hosts at 100 MiB/s
    assert float(duration_s(WAY, writing)) == pytest.approx(0.25, rel=0.01)


def test_many_clusters_are_solved_at_once() -> None:
    counts = np.array([1.0, 2.0, 4.0])
    together = duration_s(WAY, job(Demand(READ), replace(FLEET, clients_count=counts), Spread(1), MIB))
    alone = [
        float(duration_s(WAY, job(Demand(READ), replace(FLEET, clients_count=c), Spread(1), MIB)))
        for c in counts
    ]
    assert together == pytest.approx(alone)
