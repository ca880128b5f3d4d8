"""Steps, losses without load and steady states, by hand: docs/explanations/how-numbers-are-made.md, "Modelled
watts".
"""

from dataclasses import replace

import numpy as np
import pytest

from perjoule import catalogue
from perjoule.catalogue import watts
from perjoule.catalogue.coefficients import coefficients
from perjoule.model import Flow
from perjoule.model.errors import CampaignError
from perjoule.prediction.bounds import Demand
from perjoule.prediction.power import dynamic_w, mean_w, parts_w, plant
from perjoule.prediction.uncertain import moved

SOURCED = 'status = "assumed", source = "made up"'
FILE = f"""
title = "Boxes"
source = "made up"
switch_at_wall = {{ value = "0 W", {SOURCED} }}

[board.box]
cores = 4
mips = {{ value = 1000, {SOURCED} }}
nic = {{ value = "100 MB/s", {SOURCED} }}
idle_behind_supply = {{ value = "4 W", {SOURCED} }}
dynamic_behind_supply = {{ value = "8 W", {SOURCED} }}
step_behind_supply = {{ value = "2 W", sigma = "0.5 W", {SOURCED} }}
supply_efficiency = {{ value = 0.8, {SOURCED} }}
supply_no_load_at_wall = {{ value = "1.2 W", sigma = "0.3 W", {SOURCED} }}

[drive.stick]
technology = "nvme"
capacity = {{ value = "1 TB", {SOURCED} }}
read = {{ value = "400 MB/s", {SOURCED} }}
write = {{ value = "200 MB/s", {SOURCED} }}
idle_behind_supply = {{ value = "1 W", {SOURCED} }}
active_behind_supply = {{ value = "5 W", {SOURCED} }}
step_behind_supply = {{ value = "0.5 W", {SOURCED} }}
sustained_write = {{ value = "50 MB/s", {SOURCED} }}
sustained_behind_supply = {{ value = "7 W", sigma = "1 W", {SOURCED} }}

[[node]]
name = "data"
role = "storage"
count = 3
board = "box"
drives = {{ stick = 2 }}

[[node]]
name = "client"
role = "client"
count = 1
board = "box"
"""
BOXES = catalogue.read(FILE, "boxes", "boxes.toml")
BENT = catalogue.read(
    FILE.replace(
        "[drive.stick]", f'bend_behind_supply = {{ value = "4 W", sigma = "1 W", {SOURCED} }}\n[drive.stick]'
    ),
    "boxes",
    "boxes.toml",
)
BOX, CLIENT = BOXES.nodes
COUNTS = {"data": 3}
# of four cores of 1000 MIPS in all; each keeps its board awake alone
BOARD_W = [(0.0, 4.0), (0.1, 4 + 2 * 0.4 + 6 * 0.1), (0.25, 4 + 2 + 6 * 0.25), (0.5, 4 + 2 + 3), (1.0, 12.0)]
DISKS_W = [(0.0, 2.0), (0.1, 2 * (1 + 0.5 + 3.5 * 0.1)), (1.0, 10.0)]


@pytest.mark.parametrize(("use", "by_hand_w"), BOARD_W)
def test_the_first_core_at_work_takes_the_step(use: float, by_hand_w: float) -> None:
    assert watts.board_w(BOX.board, use) == pytest.approx(by_hand_w)
    assert watts.board_use_ratio(BOX.board, by_hand_w) == pytest.approx(use)


# of 8 W, 2 are the step and 4 grow with the cube
@pytest.mark.parametrize(
    ("use", "by_hand_w"),
    [
        (0.0, 4.0),
        (0.1, 4 + 2 * 0.4 + 2 * 0.1 + 4 * 0.001),
        (0.5, 4 + 2 + 2 * 0.5 + 4 * 0.125),
        (1.0, 12.0),
        (1.5, 12 + 6 * 0.5),
    ],
)
def test_the_bend_follows_the_cube_of_cpu_use_up_to_all_of_it(use: float, by_hand_w: float) -> None:
    board = BENT.nodes[0].board
    assert watts.board_w(board, use) == pytest.approx(by_hand_w)
    assert watts.board_use_ratio(board, by_hand_w) == pytest.approx(use, abs=1e-9)
    assert watts.board_use_ratio(board, np.array([by_hand_w, 12.0])) == pytest.approx([use, 1.0], abs=1e-9)


def test_a_bend_without_a_step_or_a_straight_part_has_its_use() -> None:
    bent = replace(BENT.nodes[0].board, step_w=None)
    assert watts.board_w(bent, 0.5) == pytest.approx(4 + 4 * 0.5 + 4 * 0.125)
    assert watts.board_use_ratio(bent, 4 + 4 * 0.5 + 4 * 0.125) == pytest.approx(0.5)
    all_of_it = replace(bent, bend_w=replace(bent.dynamic_w))
    assert watts.board_use_ratio(all_of_it, 4 + 8 * 0.125) == pytest.approx(0.5, abs=1e-6)


def test_predicted_watts_follow_the_cube_of_the_work_of_each_host() -> None:
    """60 MB/s take 1800 of 3000 MIPS: each board is at 60 %, awake, and 2 W of it straight and 4 by the cube."""
    demand = Demand(Flow(disk_read_ratio=1), server_mips_s_per_byte=3e-5)
    boards_w = 3 * (4 + 2 + 2 * 0.6 + 4 * 0.6**3)
    disks_w = 6 * (1 + 0.5 + 3.5 * 60e6 / (6 * 400e6))
    by_hand = (boards_w + disks_w) / 0.8 + 3 * 1.2
    assert float(mean_w(plant(BENT, COUNTS), demand, 60e6)) == pytest.approx(by_hand)
    parts = parts_w(BENT, COUNTS, demand, 60e6)
    assert parts["CPUs at work"] == pytest.approx((boards_w - 12) / 0.8)
    assert sum(parts.values()) == pytest.approx(by_hand)
    assert float(dynamic_w(plant(BENT, COUNTS), demand, 0.0)) == 0


@pytest.mark.parametrize(("use", "by_hand_w"), DISKS_W)
def test_disks_take_their_step_as_soon_as_bytes_move(use: float, by_hand_w: float) -> None:
    assert watts.disks_w(BOX.disks, use) == pytest.approx(by_hand_w)
    assert watts.disks_w(BOX.disks, np.array([use, use])) == pytest.approx([by_hand_w] * 2)
    assert float(watts.disks_use_ratio(BOX.disks, by_hand_w)) == pytest.approx(use, abs=1e-9)


def test_a_supply_loses_a_share_of_its_load_and_what_it_takes_without() -> None:
    found = watts.host_w(BOX, BOXES, {"board": 0.5, "disks": 0.1})
    assert found["supply"] == pytest.approx((9 + 3.7) * 0.25 + 1.2)
    assert catalogue.idle_w(BOXES, switch=False) == pytest.approx(3 * ((4 + 2) / 0.8 + 1.2))
    assert catalogue.peak_w(BOXES, switch=False) == pytest.approx(3 * ((12 + 10) / 0.8 + 1.2))
    assert CLIENT.board.idle_w.value == pytest.approx(4 / 0.8 + 1.2)  # at the wall, with its own supply


def test_hardware_without_these_terms_has_the_watts_of_before() -> None:
    plain = replace(BOX.board, step_w=None)
    assert watts.board_w(plain, 0.1) == 4.0 + 8.0 * 0.1
    disks = tuple(replace(disk, step_w=None) for disk in BOX.disks)
    assert watts.disks_w(disks, 0.1) == pytest.approx(2 * (1 + 4 * 0.1))


@pytest.mark.parametrize(("rate", "awake"), [(15e6, 0.6), (60e6, 1.0)])
def test_predicted_watts_are_the_sum_over_hosts(rate: float, awake: float) -> None:
    """A byte takes 3e-5 MIPS s: 15 MB/s take 450 of 3000 MIPS, 15 % of 12 cores, which keeps 0.6 of 3 awake."""
    demand = Demand(Flow(disk_read_ratio=1), server_mips_s_per_byte=3e-5)
    use, disks_use = rate * 3e-5 / 3000, rate / (6 * 400e6)
    boards_w = 3 * (4 + 2 * awake + 6 * use)
    disks_w = 6 * (1 + 0.5 + 3.5 * disks_use)
    by_hand = (boards_w + disks_w) / 0.8 + 3 * 1.2
    assert float(mean_w(plant(BOXES, COUNTS), demand, rate)) == pytest.approx(by_hand)
    assert sum(parts_w(BOXES, COUNTS, demand, rate).values()) == pytest.approx(by_hand)
    assert float(dynamic_w(plant(BOXES, COUNTS), demand, 0.0)) == 0


def test_sustained_writes_take_the_steady_states_watts() -> None:
    """75 MB/s of the 300 that six sticks write in their steady state: a quarter of what that adds."""
    demand = Demand(Flow(disk_written_ratio=1))
    steady = plant(catalogue.sustained(BOXES), COUNTS)
    by_hand = (3 * 4 + 6 * (1 + 0.5 + 5.5 / 4)) / 0.8 + 3 * 1.2
    assert float(mean_w(steady, demand, 75e6)) == pytest.approx(by_hand)


def test_a_cluster_without_a_steady_state_is_refused() -> None:
    with pytest.raises(CampaignError, match="no disk of odroid-hc4 states its sustained writes"):
        catalogue.sustained(catalogue.cluster("odroid-hc4"))


def test_terms_have_uncertainties_of_their_own() -> None:
    assert {"step of board box", "supply without load"} <= moved(BOXES).keys()
    assert moved(catalogue.sustained(BOXES))["active of disk stick"].nodes[0].disks[0].active_w.value == 8
    assert {"step of board box", "step of disk stick", "supply without load"} <= coefficients(BOXES).keys()
    bends = {"bend of board box", "bend of board box-client"}
    assert moved(BENT).keys() - moved(BOXES).keys() == bends
    bent = moved(BENT)["bend of board box"].nodes[0].board.bend_w
    assert bent and bent.value == 5
    assert coefficients(BENT).keys() - coefficients(BOXES).keys() == bends


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"2 W", sigma', '"9 W", sigma', "step_behind_supply is more than dynamic_behind_supply"),
        (
            "[drive.stick]",
            f'bend_behind_supply = {{ value = "7 W", {SOURCED} }}\n[drive.stick]',
            "bend_behind_supply is more than what step_behind_supply leaves of dynamic_behind_supply",
        ),
        ('"50 MB/s"', '"250 MB/s"', "sustained_write is more than write"),
        ("sustained_write", "# sustained_write", "states one of sustained_write and its watts"),
        (
            "[board.box]\n",
            f'[board.box]\nidle_at_wall = {{ value = "6 W", {SOURCED} }}\n',
            "idle_at_wall already has",
        ),
    ],
)
def test_impossible_terms_are_refused(old: str, new: str, complaint: str) -> None:
    text = FILE.replace(old, new, 1)
    with pytest.raises(CampaignError, match=complaint):
        catalogue.read(text, "boxes", "boxes.toml")
