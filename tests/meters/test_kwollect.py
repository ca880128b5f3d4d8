"""Kwollect: rows of one node and one device, with their own times and never twice."""

import json
from typing import Any

import numpy as np
import pytest

from perjoule.meters.kwollect import Kwollect, stored
from perjoule.model.errors import MachineError
from perjoule.model.waveform import Waveform
from perjoule.simulators import kwollect as simulator
from perjoule.simulators._behaviour import Behaviour
from places import transcript

METRIC = "wattmetre_power_watt"


def said() -> list[Any]:
    return json.loads(transcript("kwollect", "taurus-7.json"))


def test_rows_of_a_node_oldest_first_in_utc():
    # 2025-07-22 11:05:25 UTC
    assert stored(said(), "taurus-7", METRIC) == [(1753182324.5, 131.7), (1753182325.0, 90.18)]
    assert stored(said(), "taurus-11", METRIC) == [(1738503577.003778, 69.4)]
    assert stored(said(), "taurus-7", "bmc_node_power_watt") == []
    seconds = [{**said()[0], "timestamp": 1718892920.005984}]
    assert stored(seconds, "taurus-7", METRIC) == [(1718892920.005984, 90.18)]


def test_two_supplies_of_a_node_are_refused():
    """Each row is the power of one: the node's is their sum, and neither of them."""
    two = [said()[0], {**said()[1], "labels": {"_device_orig": ["wattmetre2-port7"]}}]
    with pytest.raises(ValueError, match=r"2 devices feed taurus-7 .*wattmetre1-port6.*wattmetre2-port7"):
        stored(two, "taurus-7", METRIC)


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        ({"message": "no"}, "no list of rows"),
        ([{**said()[0], "timestamp": "2025-07-22T13:05:25"}], "has no time zone"),
        ([{**said()[0], "timestamp": None}], "Invalid isoformat"),
        ([{**said()[0], "value": "much"}], "is no number"),
    ],
)
def test_other_answers_are_refused(answer, match):
    with pytest.raises(ValueError, match=match):
        stored(answer, "taurus-7", METRIC)


def test_each_sample_is_taken_once_and_at_its_own_time(listen):
    truth = Waveform("sine", 40, 400, period_s=7.3)
    with simulator.serve(Behaviour(truth)) as table:
        heard = listen({**table, "rate": "50 Hz"}, lambda heard: len(heard.samples) > 30)
    t_s, watts = heard.of("power")
    assert (np.diff(t_s) > 0).all()
    assert np.ptp(watts) > 0
    (channel,) = {channel for channel, *_ in heard.samples}
    assert (channel.grade, channel.semantics) == ("wall", "average")


def test_a_node_without_rows_is_refused_with_its_name(listen):
    with (
        simulator.serve(Behaviour()) as table,
        pytest.raises(MachineError, match="no wattmetre_power_watt of x-1"),
    ):
        listen({**table, "node": "x-1"}, any)


def test_a_place_is_a_url():
    assert Kwollect.located("api.example.org/metrics") == {"address": "https://api.example.org/metrics"}
    assert Kwollect.located("http://127.0.0.1/m") == {"address": "http://127.0.0.1/m"}
