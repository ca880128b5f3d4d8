"""A part's power as a number: what is left of a meter of everything, and how well that is known."""

from dataclasses import replace
from math import hypot, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.energy.amount import amount
from perjoule.energy.baseline import dynamic, idle
from perjoule.energy.choosing import Chooser, Roles, parts_of
from perjoule.energy.coefficients import ModelledHosts
from perjoule.energy.power import added
from perjoule.energy.terms import budget
from perjoule.meters.constant import Constant
from perjoule.model import Channel, Phase, Series, Specification
from typed import as_written

SERVERS = frozenset({"storage-1", "storage-2"})
TABLE = {"kind": "constant", "power": "15.46 W", "uncertainty": "1.13 W"}


def test_it_is_the_switch_at_each_moment_and_says_that_it_was_not_measured(listen):
    heard = listen(TABLE, lambda heard: len(heard.samples) >= 2)
    (channel,) = {sample[0] for sample in heard.samples}
    assert (channel.host, channel.component, channel.grade, channel.semantics) == (
        "",
        "switch",
        "wall",
        "window mean",
    )
    assert {sample[2] for sample in heard.samples} == {15.46}
    (_, began_s, _, _), *later = [(None, heard.samples[0][1] - heard.samples[0][3], 0, 0), *heard.samples]
    for _, t_s, _, duration_s in later:
        assert t_s - duration_s == pytest.approx(began_s, abs=1e-9)  # without a gap
        began_s = t_s
    assert heard.doubts == [
        "constant: 15.46 ± 1.13 W of the switch are a number, and were not measured in this trial"
    ]


def steady(channel: Channel, watts: float, *, until_s: float = 100.0) -> Series:
    t_s = np.arange(1.0, until_s + 1.0)
    return Series(channel, t_s, np.ones_like(t_s), np.full_like(t_s, watts), t_s, t_s)


def parts(watts: float = 53.0):
    """The paper's own way: one analyser at the supply of everything, and the switch's idle power as a
    number.
    """
    everything = Channel(
        "scpi", "", "total", "power", "W", "window mean", "wall", specification=Specification(gain_ratio=1e-3)
    )
    switch = Channel(
        "constant", "", "switch", "power", "W", "window mean", "wall", specification=Specification(sigma=1.13)
    )
    return steady(everything, watts + 15.46), steady(switch, 15.46)


def test_the_net_energy_is_the_gross_one_less_the_number_with_its_term():
    everything, switch = parts()
    found = parts_of("wall", [everything.channel, switch.channel], SERVERS, SERVERS)
    assert {(sign, one.meter) for sign, one in found.net} == {(1, "scpi"), (-1, "constant")}
    assert [(sign, one.meter) for sign, one in found.gross] == [(1, "scpi")]
    assert found.grade == "wall"
    whole, constant = (budget(one, 10.0, 60.0) for one in (everything, switch))
    assert whole is not None and constant is not None
    assert whole.value_j - constant.value_j == pytest.approx(53.0 * 50)
    assert [(term.name, term.standard_j, term.shared) for term in constant.terms] == [
        ("stated number", pytest.approx(1.13 * 50), True)
    ]
    assert constant.unknown == ()
    assert constant.expanded_j == pytest.approx(1.959964 * 1.13 * 50)  # a normal error, not a limit
    assert constant.shared == {"constant: stated number": pytest.approx(1.13 / 15.46)}


def test_a_meter_that_reads_the_switch_comes_before_a_number():
    """However uncertain it is: it was there, and the number was not."""
    everything, number = (one.channel for one in parts())
    plug = Channel("kasa", "", "switch", "power", "W", "average", "wall")
    servers = Roles(servers=SERVERS, cluster=SERVERS, hosts=SERVERS)
    for channels, meters in (
        ((everything, plug, number), {"scpi", "kasa"}),
        ((everything, number), {"scpi", "constant"}),
        ((replace(everything, grade="PDU"), number), {"scpi", "constant"}),
    ):
        chosen = Chooser(servers, channels, None).best(SERVERS)
        assert chosen.parts is not None
        assert {one.meter for _, one in chosen.parts.net} == meters
        assert chosen.grade == channels[0].grade
    alone = Chooser(servers, (number,), None).best(SERVERS)
    assert [doubt.id for doubt in alone.doubts] == ["meters.none_covers"]


def test_a_number_is_not_judged_as_a_reading():
    """Equal samples are no frozen meter, and a window between two of them has its energy."""
    everything, switch = parts()
    assert amount(switch, 10.0, 90.0).doubts == ()
    between = amount(switch, 10.1, 10.9)
    assert between.doubts == ()
    assert between.value == pytest.approx(15.46 * 0.8)
    channels = parts_of("wall", [everything.channel, switch.channel], SERVERS, SERVERS)
    t_s = np.linspace(1.0, 100.0, 2000)
    often = Series(everything.channel, t_s, np.full(2000, 99 / 1999), np.full(2000, 68.46), t_s, t_s)
    series = {one.channel: one for one in (often, switch)}
    record: Any = SimpleNamespace(cluster="", hardware=None, hosts=(), data_hosts=(), phases=[])
    net = added(ModelledHosts(record, tuple(series.values())), series, channels, 10.0, 13.0)
    assert not any("power samples" in doubt for doubt in net.doubts)


def test_a_number_adds_nothing_to_the_error_of_what_a_load_adds():
    everything, switch = parts()
    record: Any = SimpleNamespace(
        phases=[Phase("baseline", 0.0, 20.0), Phase("measure", 20.0, 80.0), Phase("tail", 80.0, 100.0)]
    )
    signed = ((1, everything), (-1, switch))
    rest = idle(record, signed)
    assert rest is not None
    assert rest.mean_w == pytest.approx(53.0)
    assert rest.standard_w == pytest.approx(0.0, abs=1e-6)
    whole = budget(replace(everything, value=everything.value + 10.0), 20.0, 80.0)
    constant = budget(switch, 20.0, 80.0)
    assert whole is not None and constant is not None
    net = replace(whole, value_j=whole.value_j - constant.value_j, terms=(*whole.terms, *constant.terms))
    added = dynamic(net, rest, 60.0)
    assert added is not None
    assert added.value_j == pytest.approx(10.0 * 60)
    assert "stated number" not in {term.name for term in added.terms}
    assert net.standard_j == pytest.approx(hypot(1.13 * 60, 1e-3 * whole.value_j / sqrt(3)), rel=1e-6)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"power": "0 W"}, "greater than 0"),
        ({"uncertainty": "-1 W"}, "greater than or equal to 0"),
        ({"grade": "PDU"}, "grade"),  # it takes that of the meter from which it is subtracted
        ({"covers": ["storage-1"]}, "covers"),
    ],
)
def test_a_number_that_is_none_and_one_for_a_host_are_refused(wrong, said):
    assert as_written(Constant, power="15.46 W", uncertainty="1.13 W").power_w == 15.46
    with pytest.raises(ValidationError, match=said):
        drivers.build("meters", "constant", {**{k: v for k, v in TABLE.items() if k != "kind"}, **wrong})


def test_its_uncertainty_has_to_be_stated():
    with pytest.raises(ValidationError, match="uncertainty"):
        drivers.build("meters", "constant", {"power": "15.46 W"})
