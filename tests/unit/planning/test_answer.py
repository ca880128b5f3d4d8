import re

import numpy as np
import pytest

from perjoule import planning
from perjoule.cli.terminal.json_output import plain
from perjoule.model.errors import CampaignError
from perjoule.planning.answer import Move
from perjoule.planning.enumeration import Constraint, constraints
from perjoule.planning.measures import (
    AIMS,
    CAPACITY,
    CLIENTS,
    EMBODIED,
    LOSSES,
    MONEY,
    RACK_UNITS,
    THROUGHPUT,
    Measure,
)
from perjoule.planning.texts import as_data, misses, most_tried, move_text, quantity_text
from places import EXAMPLES


@pytest.fixture(scope="module")
def found():
    return planning.answer(planning.read(EXAMPLES / "needs" / "archive.toml"), draws_count=100)


def test_every_candidate_of_the_front_meets_the_need(found) -> None:
    assert len(found.rows) > 5
    for row in found.rows:
        values = {what.key: one.value for what, one in row.values.items()}
        assert values["capacity_bytes"] >= 100e12
        assert values["read_bytes_per_s"] >= 400 * 2**20 and values["write_bytes_per_s"] >= 200 * 2**20
        assert values["peak_w"] <= 800 and values["rack_units"] <= 20
        assert row.choice.redundancy.tolerated_count >= 1
        assert row.spare_ratio >= 0


def test_no_candidate_of_the_front_is_worse_than_another_at_everything(found) -> None:
    aims = np.array(
        [[*(row.values[aim].value for aim in AIMS), -row.values[THROUGHPUT].value] for row in found.rows]
    )
    for own in aims:
        assert not ((aims <= own).all(axis=1) & (aims < own).any(axis=1)).any()


def test_the_picks_are_the_lowest_of_the_front(found) -> None:
    for aim in AIMS:
        assert found.pick(aim.name).values[aim].value == min(
            row.values[aim].value for row in found.rows if not row.contradicted
        )
    best = found.pick("least regret")
    sure = [row for row in found.rows if row.meets_ratio >= 0.9 and not row.contradicted]
    assert best.regret_ratio == min(row.regret_ratio for row in sure)


def test_what_changes_a_ranking_is_said_in_words_and_not_by_the_keys_of_files(found) -> None:
    for quantity in found.space.book.quantities:
        part, _, key = quantity.name.rpartition(": ")
        text = quantity_text(quantity.name, {})
        assert "_" not in text and (not part or part == "failure" or text.startswith(f"{part}: "))
        if part and key != "price":  # which is the word itself
            assert not text.endswith(f": {key}"), "a key alone is no word"
    assert quantity_text("filesystem cephfs: read_reached", {}) == (
        "filesystem cephfs: read throughput over its prediction"
    )


def test_bands_hold_the_value_and_the_contested_carbon_of_ssds_reaches_the_answer() -> None:
    text = (EXAMPLES / "needs" / "archive.toml").read_text() + '\n[choose]\ndrives = ["m2-4tb"]\n'
    row = planning.answer(
        planning.parse(text.replace("power = ", "servers = 1000\npower = ")), draws_count=400
    ).pick("carbon")
    band = row.values[EMBODIED]
    assert band.low < band.value < band.high
    assert band.high / band.low > 5


ARCHIVE = (EXAMPLES / "needs" / "archive.toml").read_text()
ASKED = {
    "read": r'read = ".*iB/s"',
    "limits.power": 'power = ".*"',
    "capacity": 'capacity = ".*"',
    "limits.rack_units": "rack_units = .*",
    "clients": "clients = .*",
}


def need_of(read: str, power: str, clients_count: int) -> str:
    text = ARCHIVE.replace('"400 MiB/s"', f'"{read}"').replace('"800 W"', f'"{power}"')
    return text.replace("clients = 8", f"clients = {clients_count}")


def set_to(text: str, key: str, value: str) -> str:
    quoted = value if key in ("limits.rack_units", "clients") else f'"{value}"'
    new, count = re.subn(ASKED[key], f"{key.rpartition('.')[2]} = {quoted}", text, count=1)
    assert count == 1
    return new


def moved(text: str, move, slack_ratio: float) -> str:
    units = {"read": " B/s", "limits.power": " W", "capacity": " B"}
    for one, possible in move.constraints:
        value = possible * (1 - slack_ratio if one.least else 1 + slack_ratio)
        text = set_to(text, one.key, f"{value:.6f}{units.get(one.key, '')}")
    return text


def test_an_impossible_need_is_answered_by_the_limits_to_move_and_the_nearest() -> None:
    tight = need_of("8 GiB/s", "20 W", 8)
    found = planning.answer(planning.parse(tight), draws_count=5)
    assert found.rows == () and found.nearest is not None and found.moves
    assert {one.key for move in found.moves for one, _ in move.constraints} >= {"limits.power"}
    for move in found.moves:
        assert planning.answer(planning.parse(moved(tight, move, 1e-4)), draws_count=5).rows
        if len(move.constraints) == 1:  # and not by less
            assert not planning.answer(planning.parse(moved(tight, move, -1e-3)), draws_count=5).rows


@pytest.mark.parametrize("clients_count", [1, 8])
def test_10_gib_per_s_within_20_w_names_the_clients_to_add_and_the_nearest(clients_count: int) -> None:
    """10 GiB/s through networks of 1121 MiB/s each take 9.13 clients."""
    text = need_of("10 GiB/s", "20 W", clients_count)
    found = planning.answer(planning.parse(text), draws_count=5)
    assert found.rows == () and found.nearest is not None and found.moves
    for move in found.moves:
        assert move_text(move).startswith(
            f"raise clients from {clients_count} to 10 and raise limits.power from 20 W to "
        )
        steps = re.findall(r"(?:raise|lower) (\S+) from .*? to ([\d. ]+(?: W)?)(?= and |: )", move_text(move))
        assert len(steps) == len(move.constraints)
        printed = text
        for key, value in steps:
            printed = set_to(printed, key, value)
        assert planning.answer(planning.parse(printed), draws_count=5).rows, "what is printed is enough"
        assert not planning.answer(planning.parse(set_to(printed, "clients", "9")), draws_count=5).rows
    missed = " ".join(misses(found.nearest, constraints(found.question.need)))
    assert f"clients 10 instead of {clients_count}" in missed


def test_only_the_clients_are_to_move_where_only_they_are_too_few() -> None:
    found = planning.answer(planning.parse(need_of("2 GiB/s", "20 kW", 1)), draws_count=5)
    assert [move_text(move).partition(":")[0] for move in found.moves] == ["raise clients from 1 to 2"]


def test_a_durability_that_is_out_of_reach_is_lowered_to_what_a_need_may_hold(small) -> None:
    text = small.replace("failures = 1", 'failures = 1\ndurability = "99.99999999 %"')
    found = planning.answer(planning.parse(text), draws_count=5)
    place = [move_text(move).split()[1] for move in found.moves].index("durability")
    step = re.match(r"lower durability from 99\.99999999 % to (\d+\.\d+ %): ", move_text(found.moves[place]))
    assert step, move_text(found.moves[place])
    assert planning.answer(planning.parse(text.replace("99.99999999 %", step[1])), draws_count=5).rows, (
        "what is printed is enough"
    )
    missed = misses(found.moves[place].row, constraints(found.question.need))
    assert (
        len(missed) == 1
        and missed[0].startswith("durability 99.")
        and missed[0].endswith(" % instead of 99.99999999 %")
    )
    data = plain(as_data(found))["moves"][place]
    (asked,) = data["constraints"]
    assert asked["key"] == "durability" and asked["asked"] == pytest.approx(0.9999999999, abs=1e-14)
    assert asked["possible"] == pytest.approx(float(step[1][:-2]) / 100, abs=1e-12)


def test_a_durability_is_removed_where_data_are_lost_more_than_once_a_year(found) -> None:
    lost = Constraint("durability", LOSSES, 0.1)
    assert lost.text(3.0) == "0 %"
    assert move_text(Move(((lost, 3.0),), found.rows[0])).startswith("remove durability: ")


def test_a_need_that_more_servers_might_meet_says_how_many_were_tried() -> None:
    large = ARCHIVE.replace("100 TB", "100 PB").replace("[limits]", "[limits]\nservers = 40")
    found = planning.answer(planning.parse(large), draws_count=5)
    assert (
        most_tried(found)
        == "at most 40 servers with data were tried: more may meet the need, if you raise limits.servers"
    )
    assert most_tried(planning.answer(planning.parse(need_of("10 GiB/s", "20 W", 8)), draws_count=5)) == ""


@pytest.mark.parametrize(
    ("failures_count", "servers_count", "text"),
    [
        (
            1,
            1,
            "limits.servers: data that survive 1 failed storage hosts need 2 servers or more; raise "
            "limits.servers to 2",
        ),
        (
            5,
            9,
            "small: no file system to choose from survives the failure of 5 storage hosts; lower failures "
            "to 2",
        ),
    ],
)
def test_a_need_without_any_candidate_says_what_to_change(
    small, failures_count: int, servers_count: int, text: str
) -> None:
    need = (
        small.replace("failures = 1", f"failures = {failures_count}")
        + f"\n[limits]\nservers = {servers_count}\n"
    )
    with pytest.raises(CampaignError) as found:
        planning.answer(planning.parse(need), draws_count=5)
    assert str(found.value).startswith(text)


def test_beyond_a_threshold_another_design_is_best_and_before_it_the_same(small) -> None:
    """Two disks alike but for carbon: one has 5 kg, the other 4 to 8 kg, at 6 kg now: below 5 kg it is
    best.
    """
    other = small[small.index("[drive.disk]") : small.index("[failure]")].replace(
        "[drive.disk]", "[drive.other]"
    )
    other = other.replace(
        'embodied = "5 kg"',
        'embodied = { value = "6 kg", low = "4 kg", high = "8 kg", status = "assumed", source = "a guess" }',
    )
    other = other.replace('price = "50 USD"', 'price = "49 USD"')
    text = small.replace('drives = ["disk"]', 'drives = ["disk", "other"]') + other
    change, *more = (
        one for one in planning.answer(planning.parse(text), draws_count=5).changes if one.aim == "carbon"
    )
    assert more == []
    assert (change.quantity.name, change.above) == ("drive other: embodied", False)
    assert change.threshold == pytest.approx(5, rel=1e-4)
    assert "with disk" in change.best and "with other" in change.then


@pytest.mark.parametrize(
    ("what", "value", "text"),
    [
        (MONEY, 11671.2, "11680 USD"),  # a limit: at least as much money
        (MONEY, 20.0, "20 USD"),
        (MONEY, 0.3, "0.3 USD"),
        (CAPACITY, 6.7999e12, "6.799 TB"),  # a demand: at most as much capacity
        (CAPACITY, 6.8e12, "6.8 TB"),
        (THROUGHPUT, 10 * 2**30, "10240 MiB/s"),
        (CLIENTS, 9.135, "10"),
        (RACK_UNITS, 24.25, "24.25"),
        (CLIENTS, 12345, "12345"),
    ],
)
def test_a_limit_is_printed_such_that_moving_it_there_is_enough(
    what: Measure, value: float, text: str
) -> None:
    assert Constraint("key", what, 1.0).text(value) == text
