"""Every number of a plan, computed again from docs/how-to/plan.md with round inputs, and no code of
perjoule.
"""

import json
import re
from fractions import Fraction
from itertools import product
from math import ceil
from statistics import median

import numpy as np
import pytest

from perjoule import planning
from perjoule.planning import measures
from perjoule.planning.answer import regrets
from perjoule.planning.candidates import space
from perjoule.planning.enumeration import all_candidates, outcomes
from perjoule.prediction import Demand, Fleet
from places import SOURCES

DAYS = 2 * 365.25
YEARS_S = DAYS * 86400


def row_of(text: str, servers_count: int = 3, disks_count: int = 2) -> planning.Row:
    found = planning.answer(planning.parse(text), draws_count=20)
    return next(
        r
        for r in found.rows
        if (r.servers_count, r.machine.drives_count) == (servers_count, disks_count)
        and r.choice.redundancy.copies_count == 2
    )


def test_three_boxes_with_two_disks_each_and_two_copies(small) -> None:
    """Three boxes hold data, one is the master; four ports: one switch."""
    values = {what.key: one.value for what, one in row_of(small).values.items()}
    idle_w = 4 * (10 + 1 / 0.5) + 6 * 2 / 0.5 + 8
    # A byte that is read leaves one box and one disk; one that is written arrives at two, and one of them
    # passes it on.
    read_w = 3 * 5 * (50e6 * 1e-6 / 3000) + 6 * (4 - 2) / 0.5 * (50e6 / 600e6)
    write_w = 3 * 5 * (20e6 * 2e-6 / 3000) + 6 * (4 - 2) / 0.5 * (2 * 20e6 / 600e6)
    idle_j = idle_w * YEARS_S
    energy_j = idle_j + DAYS * (read_w * 6 * 3600 + write_w * 2 * 3600)
    purchase_usd, embodied_kg = 4 * (100 + 10) + 6 * 50 + 40, 4 * (10 + 1) + 6 * 5 + 20
    moved_tib = DAYS * (50e6 * 6 * 3600 + 20e6 * 2 * 3600) / 2**40
    assert values == pytest.approx({
        # three networks; six disks behind three ports of 150 MB/s could read 450
        "read_bytes_per_s": 3 * 100e6,
        "write_bytes_per_s": 3 * 100e6 / 2,
        "servers_read_bytes_per_s": 300e6,
        "servers_write_bytes_per_s": 150e6,
        "needed_clients_count": 50e6 / 1e9,  # a client sends a byte that is written once
        # six hours at 50, two hours at 20
        "throughput_bytes_per_s": (300e6 + 40e6) / (300e6 / 300e6 + 40e6 / 150e6),
        "capacity_bytes": 6e12 * 0.8 / 2,
        # A disk holds 0.8 TB, made again at half of 100 MB/s; then no disk of the other two boxes may fail.
        "losses_per_year": 6 * 0.02 * 4 * 0.02 * (0.8e12 / 50e6) / (365.25 * 86400),
        "rack_units": 4 + 1,
        "idle_w": idle_w,
        "peak_w": idle_w + read_w,
        "idle_j": idle_j,
        "energy_j": energy_j,
        "purchase_usd": purchase_usd,
        "money_usd": purchase_usd + energy_j * 0.36 / 3.6e6,
        "embodied_kg": embodied_kg,
        "carbon_kg": embodied_kg + energy_j * 0.36 / 3.6e6,
        "stored_j_per_tb_year": idle_j / (2.3 * 2),
        "energy_j_per_tb_year": energy_j / (2.3 * 2),
        "moved_j_per_tib": (energy_j - idle_j) / moved_tib,
        "energy_j_per_tib": energy_j / moved_tib,
    })  # fmt: skip


def test_more_hosts_than_ports_take_another_switch_and_one_that_joins_them(small) -> None:
    """Four boxes and a master: five ports, so two switches of four ports and a third between them."""
    row = row_of(small.replace('"2.3 TB"', '"3.1 TB"'), servers_count=4)
    assert row.switches_count == 3
    assert row.values[measures.IDLE].value == pytest.approx(5 * 12 + 8 * 4 + 3 * 8)


def test_a_room_multiplies_all_watts(small) -> None:
    plain, cooled = row_of(small).values, row_of(small.replace("years = 2", "years = 2\npue = 1.5")).values
    for what in (measures.IDLE, measures.PEAK, measures.IDLE_ENERGY, measures.ENERGY):
        assert cooled[what].value == pytest.approx(1.5 * plain[what].value)


def test_a_slow_processor_bounds_reads(small) -> None:
    """1000 MIPS at 1e-4 MIPS s per byte: 10 MB/s a box; six of them read the 60 MB/s of which 50 are
    needed.
    """
    row = row_of(small.replace("read_cpu = 1e-6", "read_cpu = 1e-4"), servers_count=6, disks_count=1)
    assert row.values[measures.READ].value == pytest.approx(60e6)
    assert (row.binds_read, row.binds_write) == ("server CPU", "server network")


def test_the_network_of_clients_bounds_rates_and_says_how_many_it_takes(small) -> None:
    """Two clients of 30 MB/s: 60 MB/s, of which 50 are read; GlusterFS's send a byte to both copies, so
    they write 30.
    """
    slow = small.replace('client_network = "1 GB/s"', 'client_network = "30 MB/s"')
    values = row_of(slow).values
    assert values[measures.READ].value == pytest.approx(60e6) and values[
        measures.SERVERS_READ
    ].value == pytest.approx(300e6)
    assert values[measures.CLIENTS].value == pytest.approx(50 / 30)
    for old, new in (
        ('["moosefs"]', '["glusterfs"]'),
        ("filesystem.moosefs", "filesystem.glusterfs"),
        ('"50 MB/s"', '"30 MB/s"'),
    ):
        slow = slow.replace(old, new)
    row = row_of(slow)
    assert row.values[measures.WRITE].value == pytest.approx(30e6)
    assert row.values[measures.CLIENTS].value == pytest.approx(2 * 20 / 30)
    assert row.binds_write == "client network"


def test_ports_bound_disks_behind_a_fast_network(small) -> None:
    """Two disks of 100 MB/s behind a port of 150 MB/s, in three boxes; a byte that is written goes to two
    of them.
    """
    row = row_of(small.replace('goodput = "100 MB/s"', 'goodput = "900 MB/s"'))
    assert row.values[measures.READ].value == pytest.approx(3 * 150e6)
    assert row.values[measures.WRITE].value == pytest.approx(3 * 150e6 / 2)
    assert (row.binds_read, row.binds_write) == ("disks", "disks")


def test_steps_bends_losses_without_load_and_the_steady_state_are_in_a_plans_watts(small) -> None:
    """As above: of 5 W dynamic 2 are a step and 1.5 a bend, of 4 W active 1; a supply takes 1.5 W; sustained writes 50 MB/s at
    6 W. A core of two of a box of 1000 MIPS is awake for as long as either works.
    """
    text = small.replace(
        'idle_at_wall = "10 W"', 'idle_behind_supply = "5 W"\nsupply_no_load_at_wall = "1.5 W"'
    )
    text = text.replace('dynamic_at_wall = "5 W"', 'dynamic_at_wall = "5 W"\nTERMS\ncores = 2')
    text = text.replace("TERMS", 'step_at_wall = "2 W"\nbend_at_wall = "1.5 W"')
    text = text.replace(
        'active_behind_supply = "4 W"',
        'active_behind_supply = "4 W"\nstep_behind_supply = "1 W"\nsustained_write = "50 MB/s"\n'
        'sustained_behind_supply = "6 W"',
    )
    values = row_of(text).values
    idle_w = 4 * (5 / 0.5 + 1.5 + 1 / 0.5) + 6 * 2 / 0.5 + 8
    assert values[measures.IDLE].value == pytest.approx(idle_w)

    def load_w(use: float, disks_use: float, active_w: float) -> float:
        boards_w = 3 * (2 * min(1, 2 * use) + 1.5 * use + 1.5 * use**3)
        return boards_w + 6 * (1 + (active_w - 2 - 1) * disks_use) / 0.5

    read_w = load_w(50e6 * 1e-6 / 3000, 50e6 / 600e6, 4)
    write_w = load_w(20e6 * 2e-6 / 3000, 2 * 20e6 / 300e6, 6)
    assert values[measures.PEAK].value == pytest.approx(idle_w + max(read_w, write_w))
    energy_j = idle_w * YEARS_S + DAYS * (read_w * 6 * 3600 + write_w * 2 * 3600)
    assert values[measures.ENERGY].value == pytest.approx(energy_j)
    assert values[measures.SERVERS_WRITE].value == pytest.approx(3 * 100e6 / 2)  # networks still bind


def fullest(files_count: int, stations_count: int) -> int:
    """How many files the fullest station has at most in half of all cases, by listing every case."""
    cases = list(product(range(stations_count), repeat=files_count))
    counts = [max(case.count(station) for station in case) for case in cases]
    return next(
        n
        for n in range(1, files_count + 1)
        if Fraction(sum(one <= n for one in counts), len(cases)) >= Fraction(1, 2)
    )


def waiting(flying: float, shares: list[float]) -> float:
    """How much longer m transfers take than if all stations worked all the time: Schweitzer's equations,
    solved by bisection.
    """

    def held(rate: float) -> float:
        return sum(rate * h / (1 - rate * h * (flying - 1) / flying) for h in shares)

    low, high = 0.0, min(1.0, flying / (flying - 1)) / max(shares) if flying > 1 else flying / sum(shares)
    for _ in range(200):
        low, high = (middle, high) if held(middle := (low + high) / 2) < flying else (low, middle)
    return 1 / low


TWO_COPIES = {"moosefs": "goal = 2", "glusterfs": 'layout = "replicated"', "cephfs": "copies = 2"}


@pytest.mark.parametrize("name", TWO_COPIES)
@pytest.mark.parametrize("direction", ["read", "write"])
def test_a_profile_says_what_six_boxes_reach_for_three_clients_with_a_file_of_a_gib_each(
    small: str, name: str, direction: str
) -> None:
    """Two copies, two disks each; by the law of docs/explanations/prediction.md, of perjoule with the
    profile's numbers alone.

    A byte that is read leaves one box and one disk; one that is written arrives at two, and is on two disks.
    """
    data = json.loads((SOURCES / f"prediction/profiles/{name}.json").read_text())
    fit = data["known"][direction]["fit"]
    way = fit["way"]
    n, clients, copies = 6, 3, 1 if direction == "read" else 2
    network_s = copies / (n * 100e6)
    cpu_s = way["cpu_ratio"] * copies * 1e-6 / (n * 1000)
    disks_s = copies / (n * 150e6)  # two behind a port
    p = way["overlap"]
    served_s = (network_s**p + cpu_s**p + disks_s**p) ** (1 / p)
    uneven = median(
        ratio for kept, ratio in fit["uneven"] if (kept["copies_count"], kept["data_count"]) == (2, 0)
    )
    if name == "cephfs":  # every object has another group: all transfers wait for all six
        slow, fast = [uneven] * 3, [2 - uneven] * 3
        wait = max(waiting(clients * way["in_flight"], slow + fast), n / min(n, clients * way["at_once"]))
    else:
        stations, at_once = n // copies, 1.0 if direction == "read" else way["at_once"]
        units = {"moosefs": clients * 16, "glusterfs": clients}[name]  # chunks of 64 MiB, whole files
        full = ceil(units / stations) if name == "moosefs" else fullest(units, stations)
        wait = max(uneven * full * stations / units, stations / min(stations, clients * at_once))
    expected = 2**30 * clients / (way["fixed_s"] + 2**30 * clients * served_s * wait)
    text = small.replace("clients = 2", f"clients = {clients}").replace('["moosefs"]', f'["{name}"]')
    text = text.replace("[filesystem.moosefs]", f"[filesystem.{name}]\noptions = [{{ {TWO_COPIES[name]} }}]")
    text = text.replace("read_reached = 1\nwrite_reached = 1\n", "")
    row = row_of(
        text.replace('"2.3 TB"', '"4.5 TB"')
        .replace('"50 MB/s"', '"5 MB/s"')
        .replace('"20 MB/s"', '"5 MB/s"'),
        6,
    )
    found = row.values[measures.SERVERS_READ if direction == "read" else measures.SERVERS_WRITE]
    assert found.value == pytest.approx(expected, rel=1e-6)
    assert found.low < found.value < found.high


def test_a_client_that_uses_two_stations_at_once_is_as_fast_as_these(small: str) -> None:
    """Of CephFS's 16 hosts: half the time of one host, and longer than what few transfers in flight wait
    for all of them.
    """
    question = planning.parse(
        small.replace("moosefs", "cephfs").replace("read_reached = 1\nwrite_reached = 1\n", "")
    )
    choice = next(one for one in space(question).choices if one.redundancy.copies_count == 2)
    law = choice.writing.law
    assert law is not None
    hardware = Fleet(16.0, 100e6, 1000.0, 150e6, 150e6, 1.0, 1e9, 1.0)
    alone, two, all_of_them = (
        float(law.served_s_per_byte(Demand(choice.amplification.write), hardware, 2**40, at_once))
        for at_once in (1.0, 2.0, 16.0)
    )
    assert alone / two == pytest.approx(2, rel=1e-3)
    assert all_of_them < two


def test_servers_are_judged_by_as_many_clients_as_the_rates_take(small: str) -> None:
    """50 MB/s through networks of 5 MB/s take ten clients, whose transfers the servers then have, whatever
    the need has.
    """
    text = small.replace('client_network = "1 GB/s"', 'client_network = "5 MB/s"').replace(
        '"20 MB/s"', '"10 MB/s"'
    )
    text = text.replace("read_reached = 1\nwrite_reached = 1\n", "")

    def served(clients_count: int) -> list[float]:
        question = planning.parse(text.replace("clients = 2", f"clients = {clients_count}"))
        there = space(question)
        some = all_candidates(there, question.need)
        return outcomes(there, question.need, some, there.book.values)[measures.SERVERS_READ].tolist()

    assert served(2) == served(10) != served(11)


def test_without_times_the_rates_weigh_the_mix(small) -> None:
    row = row_of(small.replace('read = "6 h"\nwrite = "2 h"', ""))
    assert row.values[measures.THROUGHPUT].value == pytest.approx(70e6 / (50e6 / 300e6 + 20e6 / 150e6))
    assert measures.MOVED not in row.values


def test_a_band_is_that_of_the_one_uncertain_value(small) -> None:
    """The purchase is exact but for the boxes: 100 USD, 50 to 400. Half of the draws lie below the value."""
    text = small.replace(
        'price = "100 USD"',
        'price = { value = "100 USD", low = "50 USD", high = "400 USD", status = "assumed", source = "a '
        'guess" }',
    )
    found = planning.answer(planning.parse(text), draws_count=4000)
    row = next(r for r in found.rows if (r.servers_count, r.machine.drives_count) == (3, 2))
    band = row.values[measures.PURCHASE]
    assert band.value == 780
    # 5 % of draws lie in the first tenth of the way from 50 to 100, by logarithms, and 5 % in the last tenth
    # from 100 to 400
    assert band.low == pytest.approx(380 + 4 * 50 * 2**0.1, rel=0.02)
    assert band.high == pytest.approx(380 + 4 * 100 * 4**0.9, rel=0.02)


def test_each_further_copy_takes_a_further_disk_to_lose_data(small) -> None:
    found = planning.answer(planning.parse(small.replace("failures = 1", "failures = 2")), draws_count=5)
    row = next(row for row in found.rows if row.choice.redundancy.copies_count == 3)
    count, rebuilding_years = row.servers_count * row.machine.drives_count, 0.8e12 / 50e6 / (365.25 * 86400)
    others = count - row.machine.drives_count
    expected = count * 0.02 * (others * 0.02 * rebuilding_years) * (others * 0.02 * rebuilding_years / 2)
    assert row.values[measures.LOSSES].value == pytest.approx(expected)


def test_a_durability_leaves_only_what_loses_data_as_seldom(small) -> None:
    lost = row_of(small).values[measures.LOSSES].value
    kept, refused = (
        small.replace("failures = 1", f"failures = 1\ndurability = {1 - ratio * lost:.12f}")
        for ratio in (1.01, 0.99)
    )
    assert row_of(kept).values[measures.LOSSES].value == pytest.approx(lost)
    rows = planning.answer(planning.parse(refused), draws_count=5).rows
    assert all(row.values[measures.LOSSES].value < lost for row in rows)


def test_regret_is_the_worst_aim_over_its_best_and_only_those_that_meet_the_need_are_best() -> None:
    aims = np.array([[[10.0, 30.0], [20.0, 20.0], [5.0, 5.0]]])
    assert regrets(aims, np.array([[True, True, False]])).tolist() == pytest.approx(
        [30 / 20 - 1, 20 / 10 - 1, 5 / 10 - 1]
    )
    assert regrets(aims, np.array([[False, False, False]])).tolist() == pytest.approx(
        [30 / 5 - 1, 20 / 5 - 1, 0]
    )


def test_where_the_best_costs_nothing_it_has_no_regret_and_any_cost_has_one_without_a_limit() -> None:
    aims = np.zeros((3, 3, 2))
    aims[:, :, 0] = [10.0, 20.0, 10.0]
    aims[:, 2, 1] = 7.0
    assert regrets(aims, np.ones((3, 3), dtype=np.bool_)).tolist() == [0, 1, np.inf]


def test_hardware_that_one_has_in_a_room_without_a_bill_has_a_regret(small) -> None:
    free = re.sub(r'"\d+ USD"', '"0 USD"', small).replace("0.36 USD/kWh", "0 USD/kWh")
    rows = planning.answer(planning.parse(free), draws_count=5).rows
    assert rows and all(row.values[measures.MONEY].value == 0 and row.regret_ratio >= 0 for row in rows)
