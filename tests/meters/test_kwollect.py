"""Kwollect: rows of one node and one device, with their own times and never twice."""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from pydantic import ValidationError

from grid_api import LOGIN, grid_api
from perjoule import drivers
from perjoule.drivers.boundary import Boundary
from perjoule.drivers.protocols import Hosts
from perjoule.meters import kwollect
from perjoule.meters.kwollect import Kwollect, stored
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.waveform import Waveform
from perjoule.simulators import kwollect as simulator
from perjoule.simulators._behaviour import Behaviour
from places import transcript
from scripted import ScriptedHost
from unit.meters.test_meters import Kept

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


def nodes_of_grid5000(facts) -> Hosts:
    hosts = [ScriptedHost(name) for name in ("taurus-1", "taurus-2")]
    for host in hosts:
        host.role = "storage"
    return Hosts(tuple(hosts), facts={"grid5000": facts})


def on_servers(tmp_path):
    (tmp_path / "password").write_text(LOGIN[1])
    table: dict[str, Any] = {
        "on": ["servers"],
        "rate": "50 Hz",
        "user": LOGIN[0],
        "password_file": str(tmp_path / "password"),
    }
    made = drivers.build("meters", "kwollect", table)
    assert isinstance(made, Kwollect)
    return made


def test_hosts_of_the_testbed_are_nodes_each_with_its_own_watts(tmp_path):
    """None is named twice: the testbed says where to ask, and for which nodes."""
    meter, kept = on_servers(tmp_path), Kept()
    with grid_api(tmp_path) as site:
        hosts = nodes_of_grid5000({"metrics": f"{site.url}/sites/lyon/metrics"})
        with meter.record(hosts, kept) as doubts:
            pass
        assert {path for _, path in site.requests} == {"/sites/lyon/metrics"}
    assert doubts == []
    assert {name: set(kept.values(name, quantity="power")) for name in ("taurus-1", "taurus-2")} == {
        "taurus-1": {101.0},
        "taurus-2": {202.0},
    }
    assert {(c.component, c.grade, c.semantics) for c, *_ in kept.samples} == {("all", "wall", "average")}
    assert [outlet.feeds for outlet in meter.outlets(hosts)] == ["taurus-1", "taurus-2"]
    assert meter.named == {"on": ("servers",)}
    assert meter.answers() == ()


def test_a_host_that_kwollect_does_not_know_is_refused_with_its_name(tmp_path):
    with grid_api(tmp_path) as site, pytest.raises(MachineError, match="no wattmetre_power_watt of taurus-2"):
        del site.power_w["taurus-2"]
        hosts = nodes_of_grid5000({"metrics": f"{site.url}/sites/lyon/metrics"})
        with on_servers(tmp_path).record(hosts, Kept()):
            pass


def test_a_node_without_news_does_not_make_queries_grow(tmp_path, monkeypatch):
    now_s = [1_800_000_000.0]
    monkeypatch.setattr(kwollect, "time", lambda: now_s[0])
    monkeypatch.setattr(kwollect, "monotonic_s", lambda utc_s: utc_s)
    queries = []

    def send(self, path):
        queries.append(parse_qs(urlsplit(path).query))
        rows = [row(now_s[0], name) for name in ("taurus-1", "taurus-2")[: 2 if len(queries) == 1 else 1]]
        return json.dumps(rows).encode(), {}

    monkeypatch.setattr(kwollect.Place, "send", send)
    meter = drivers.build("meters", "kwollect", {"address": "http://127.0.0.1", "on": ["servers"]})
    assert isinstance(meter, Kwollect)
    with meter._of_hosts(nodes_of_grid5000({})).connect(Boundary("kwollect", "", "group")) as read:
        for _ in range(3):
            list(read())
            now_s[0] += 400
    assert [query["nodes"] for query in queries] == [["taurus-1,taurus-2"]] * 3
    began_s = 1_800_000_000
    assert [int(query["start_time"][0]) for query in queries] == [
        began_s - 120,
        began_s + 400 - 180,
        began_s + 800 - 180,
    ]


def row(utc_s, node):
    labels = {"_device_orig": ["wattmetre1-port1"]}
    return {"timestamp": utc_s, "device_id": node, "metric_id": METRIC, "value": 90.0, "labels": labels}


def test_hosts_of_another_testbed_need_the_address(tmp_path):
    with (
        pytest.raises(
            CampaignError, match="these hosts are not of Grid'5000; use testbed grid5000, or set address"
        ),
        on_servers(tmp_path).record(Hosts((ScriptedHost("a"),)), Kept()),
    ):
        pass


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({}, "it has node and on, or neither"),
        ({"node": "taurus-7", "on": ["servers"]}, "it has node and on, or neither"),
        ({"on": ["servers"], "covers": ["servers"]}, "on already names the hosts"),
        ({"node": "taurus-7"}, "node needs the address"),
    ],
)
def test_a_meter_is_of_a_node_or_of_hosts(options, match):
    with pytest.raises(ValidationError, match=match):
        drivers.build("meters", "kwollect", options)
