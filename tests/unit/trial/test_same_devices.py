"""Meters of the same devices: each host draws the same power all the time, and each meter states by how many
watts it may be wrong.
"""

from dataclasses import replace
from math import hypot
from typing import Any

import pytest

from perjoule.model import Specification
from perjoule.trial.same_devices import disagreements, unexplained
from readings import over

OFFSET_W = 2.0
MARGIN_W = 0.95 * OFFSET_W  # of an error that is evenly distributed, 95 % are below that
HOSTS = ("storage-1", "storage-2")


def metered(made, host, power_w, meter="strip", grade="wall", covers=(), **words):
    series = made.steady(
        host, power_w, component="group" if covers else "all", meter=meter, grade=grade, **words
    )
    specification = Specification(offset=OFFSET_W)
    return replace(series, channel=replace(series.channel, covers=covers, specification=specification))


def apart(made, *series) -> list[dict[str, Any]]:
    """What is doubted of a window of 10 s."""
    return [dict(doubt.values) for doubt in disagreements(over(made.record(), series), 10.0, 20.0)]


@pytest.mark.parametrize(
    ("grades", "least_w", "most_w"),
    [
        (("wall", "wall"), 100.0, 100.0),
        (("BMC", "BMC"), 100.0, 100.0),
        (("simulated", "simulated"), 100.0, 100.0),
        (("wall", "BMC"), 75.0, 100.0),  # which is behind the supply
        (("PDU", "BMC"), 75.0, 100.0),
        (("wall", "PDU"), 75.0, 100.0),
        (("wall", "modelled"), None, None),
    ],
)
def test_two_meters_of_a_host_differ_by_their_errors_and_what_a_supply_loses(made, grades, least_w, most_w):
    error_w = hypot(MARGIN_W, MARGIN_W)
    for limit_w, sign in ((least_w, -1), (most_w, 1)):
        for by_w, told in ((-0.01, False), (0.01, True)):
            other_w = 60.0 if limit_w is None else limit_w + sign * (error_w + by_w)
            doubts = apart(
                made,
                metered(made, "storage-1", 100.0, "first", grades[0]),
                metered(made, "storage-1", other_w, "other", grades[1]),
            )
            if not told or limit_w is None:
                assert doubts == []
                continue
            (values,) = doubts
            watts = (values["power_w"], values["others_w"], values["error_w"])
            assert watts == pytest.approx((100.0, other_w, error_w))
            assert values["more_count"] == 0


@pytest.mark.parametrize(
    ("grade", "grades", "lost_ratio"),
    [
        ("wall", ("wall", "wall"), 0.0),
        ("wall", ("BMC", "BMC"), 0.0),
        ("wall", ("BMC", "wall"), 0.0),
        ("BMC", ("wall", "wall"), 0.25),
        ("BMC", ("BMC", "wall"), 0.25),
        ("BMC", ("BMC", "BMC"), 0.0),
    ],
)
def test_a_meter_of_several_hosts_shows_no_less_than_theirs_and_may_show_more(
    made, grade, grades, lost_ratio
):
    parts = [
        metered(made, *of, f"plug {of[0]}", g)
        for of, g in zip(zip(HOSTS, (60.0, 40.0), strict=True), grades, strict=True)
    ]
    error_w = hypot(MARGIN_W, 2 * MARGIN_W)
    least_w = 100 - lost_ratio * 100 - error_w
    for total_w, told in ((least_w - 0.01, True), (least_w + 0.01, False), (150.0, False)):
        total = metered(made, "", total_w, "strip", grade, covers=HOSTS)
        doubts = apart(made, total, *parts)
        assert [values["others_w"] for values in doubts] == [pytest.approx(100.0)] * told
        assert [values["error_w"] for values in doubts] == [pytest.approx(error_w)] * told


def test_of_pairs_of_the_same_two_meters_the_farthest_is_named_and_the_others_are_counted(made):
    series = [
        metered(made, host, watts, meter)
        for host, both_w in (("storage-1", (50, 60)), ("storage-2", (50, 80)), ("metadata-1", (50, 30)))
        for meter, watts in zip(("first", "other"), both_w, strict=True)
    ]
    third = [metered(made, "client-1", watts, meter) for meter, watts in (("first", 50.0), ("third", 20.0))]
    found = {values["more_count"]: values for values in apart(made, *series, *third)}
    assert {count: abs(v["power_w"] - v["others_w"]) for count, v in found.items()} == {
        2: pytest.approx(30),
        0: pytest.approx(30),
    }
    assert "storage-2" in found[2]["channel"]
    assert "client-1" in found[0]["channel"]


@pytest.mark.parametrize("ends", [0, 1, 2])
def test_an_energy_that_is_refused_is_compared_with_none(made, ends):
    """The samples of one of three meters end within the window."""
    watts = (("", 200.0, "strip"), ("storage-1", 60.0, "a"), ("storage-2", 40.0, "b"))
    for ended_s in (15.0, 30.0):
        series = [
            metered(
                made,
                *of,
                covers=HOSTS if number == 0 else (),
                ended_s=ended_s if number == ends else 30.0,
            )
            for number, of in enumerate(watts)
        ]
        compared = unexplained(over(made.record(), series), 10.0, 20.0)
        if ended_s == 30.0:
            (found,) = compared
            assert (found.total, *found.parts) == tuple(one.channel.name for one in series)
            assert (found.total_w, found.parts_w) == pytest.approx((200.0, 100.0))
        else:
            assert compared == ()
        low = [replace(series[0], value=series[0].value / 10), *series[1:]]
        assert len(apart(made, *low)) == (ended_s == 30.0)
