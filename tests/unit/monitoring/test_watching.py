"""What a watcher sees of a run: rates and watts as the table has them, how it ended, and nothing made up."""

import json
import os
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from socket import create_connection, socket
from urllib.parse import quote, urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families

from measured import CAMPAIGN, STEADY, measured
from perjoule import campaign, store
from perjoule.execution import runner
from perjoule.machine import processes
from perjoule.machine.serving import SERVED_COUNT, LimitedServer
from perjoule.model import Channel
from perjoule.model.errors import MachineError
from perjoule.model.units import MIB
from perjoule.monitoring import exporter, server
from perjoule.monitoring.watching import SILENT_S, ResultsWatch, plain
from perjoule.store import progress
from perjoule.store.progress import Line, LoadHost, ProgressFile, RunningLoad, RunProcess, State
from places import ROOT

QUICK = 'repetitions = 2\nsettle = "5 ms"\nquiet = 0'
HOSTS = (
    LoadHost("storage-1", "storage", 2.0),
    LoadHost("client-1", "client", 4.0),
    LoadHost("client-2", "client", 4.0),
)
LOAD = RunningLoad("x", "x-1", "x", "write", 2, 3, 0.5, HOSTS, ("client-1", "client-2"), ("storage-1",))
CHANNELS = (
    Channel("modelled", "storage-1", "board", "power", "W", "window mean", "modelled"),
    Channel("modelled", "storage-1", "disks", "power", "W", "window mean", "modelled"),
    Channel("modelled", "", "switch", "power", "W", "window mean", "modelled"),
    Channel("system", "client-1", "all", "network_sent", "B", "counter", "counter"),
    Channel("system", "client-2", "all", "network_received", "B", "counter", "counter"),
    Channel("system", "storage-1", "all", "cpu", "s", "counter", "counter"),
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server ends at once: two dozen do here."""
    monkeypatch.setattr(server, "STOP_S", 0.01)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store.create(tmp_path / "results", "name = 'x'", "x")
    return tmp_path / "results"


@pytest.fixture
def file(folder: Path) -> Iterator[ProgressFile]:
    with closing(ProgressFile(folder)) as opened:
        opened.append(Line(run=RunProcess(progress.VERSION, processes.own(), "tried", time.time())))
        opened.append(Line(load=LOAD))
        opened.append(Line(channels=CHANNELS))
        yield opened


def state(t_s: float, *values: float, utc_s: float | None = None) -> Line:
    samples = tuple((number, t_s - 0.1, value) for number, value in enumerate(values))
    return Line(
        state=State(
            t_s, time.time() if utc_s is None else utc_s, "measure", 95.0, 4, 10, 300.0, samples, ("a gap",)
        )
    )


def test_rates_are_of_the_emulated_clock_and_watts_of_the_servers_without_the_switch(
    folder: Path, file: ProgressFile
) -> None:
    file.append(state(100.0, 10.0, 2.0, 8.5, 0.0, 1e9, 7.0))
    file.append(state(102.0, 11.0, 2.5, 8.5, 20 * MIB, 1e9 + 10 * MIB, 8.0))
    seen = ResultsWatch(folder).snapshot()
    assert seen.rates == {"client-1": 20 * MIB, "client-2": 10 * MIB}  # in 2 s, which are one emulated
    assert seen.power and (seen.power.watts, seen.power.grade) == (13.5, "modelled")
    # no meter covers clients
    assert {name: one.watts for name, one in seen.powers.items()} == {"net": 13.5, "gross": 22.0}
    assert plain(seen)["others"] == ["with the switch: 22.00\N{NO-BREAK SPACE}W"]
    assert (seen.state, seen.phase, seen.phase_s, seen.kept_count, seen.trials_count) == (
        "running",
        "measure",
        7.0,
        4,
        10,
    )
    assert seen.trial == "x, write, 2 clients, repetition 3"
    assert seen.doubts == ("a gap",)
    charts = {chart.title: chart.lines for chart in seen.charts}
    assert charts["Network of each client"] == {"client-1": [None, 20.0], "client-2": [None, 10.0]}
    assert charts["Power of the servers"] == {
        "servers": [12.0, 13.5],
        "board": [10.0, 11.0],
        "disks": [2.0, 2.5],
    }
    assert charts["CPU, mean of each role"] == {"storage": [None, 25.0]}  # 1 s in 2 s on 2 cores
    assert list(seen.times_s) == [-2.0, 0.0]
    assert ("storage-1", "storage", "25 %", "–", "–", "13.50") in seen.hosts.rows
    assert plain(seen)["hosts"]["words"] == ("host", "role")


def test_the_watts_of_a_load_are_of_one_choice_of_channels_from_its_first_moment_to_its_last(
    folder: Path, file: ProgressFile
) -> None:
    """Definition: those that its table will have.

    A better meter that answers late leaves a gap before, no watts of a model.
    """
    file.append(Line(load=replace(LOAD, scale=1.0)))
    file.append(Line(channels=(Channel("plug", "storage-1", "all", "power", "W", "window mean", "wall"),)))
    file.append(state(100.0, 10.0, 2.0, 8.5, 0.0, 0.0, 7.0))
    file.append(state(102.0, 11.0, 2.5, 8.5, 0.0, 0.0, 8.0, 16.0))
    seen = ResultsWatch(folder).snapshot()
    assert seen.power and (seen.power.watts, seen.power.grade) == (16.0, "wall")
    assert {chart.title: chart.lines for chart in seen.charts}["Power of the servers"] == {
        "servers": [None, 16.0]
    }


def test_a_counter_that_fell_back_is_a_gap(folder: Path, file: ProgressFile) -> None:
    file.append(state(100.0, 10.0, 2.0, 8.5, 5e9, 5e9, 7.0))
    file.append(state(101.0, 10.0, 2.0, 8.5, 1.0, 1.0, 0.5))
    seen = ResultsWatch(folder).snapshot()
    assert seen.rates == {}
    assert ("storage-1", "storage", "–", "–", "–", "12.00") in seen.hosts.rows


def test_of_many_clients_lowest_mean_and_highest_are_drawn(folder: Path, file: ProgressFile) -> None:
    names = [f"c-{number}" for number in range(20)]
    sent = [Channel("system", name, "all", "network_sent", "B", "counter", "counter") for name in names]
    file.append(
        Line(
            load=replace(
                LOAD, hosts=tuple(LoadHost(name, "client") for name in names), clients=tuple(names), scale=1.0
            )
        )
    )
    file.append(Line(channels=tuple(sent)))
    for t_s in (1.0, 2.0):
        samples = tuple((len(CHANNELS) + number, t_s, number * MIB * t_s) for number in range(20))
        file.append(Line(state=State(t_s, time.time(), "measure", 0.0, 0, 1, 1.0, samples)))
    chart = ResultsWatch(folder).snapshot().charts[0]
    assert chart.lines == {"highest of 20": [None, 19.0], "mean": [None, 9.5], "lowest": [None, 0.0]}


@pytest.mark.parametrize(
    ("ended", "process", "age_s", "state_"),
    [
        ("done", {}, 0.0, "done"),
        ("the disk is full", {}, 0.0, "stopped"),
        ("", {}, 3600.0, "running"),  # a state is late, and the process is there
        ("", {"birth_ticks": 1}, 0.0, "killed"),
        ("", {"boot": "elsewhere"}, SILENT_S - 5, "running"),
        ("", {"boot": "elsewhere"}, SILENT_S + 5, "silent"),
    ],
)
def test_how_a_run_ended_is_known(
    folder: Path, ended: str, process: dict[str, str], age_s: float, state_: str
) -> None:
    with closing(ProgressFile(folder)) as file:
        file.append(Line(run=RunProcess(progress.VERSION, replace(processes.own(), **process), "tried", 0.0)))
        file.append(Line(load=LOAD))
        file.append(Line(channels=CHANNELS))
        file.append(state(1.0, 10.0, 2.0, 8.5, 0.0, 0.0, 0.0, utc_s=time.time() - age_s))
        if ended:
            file.append(Line(ended=ended))
    seen = ResultsWatch(folder).snapshot()
    assert seen.state == state_
    assert (seen.power is None) == (state_ in ("done", "stopped", "killed"))  # no watts of a run that is over
    assert ("perjoule resume" in seen.said) == (state_ in ("stopped", "killed"))


def test_without_progress_the_results_are_shown_nevertheless(tmp_path: Path) -> None:
    results = measured(tmp_path / "results", QUICK, meter=STEADY)
    (results.folder / progress.NAME).unlink()
    seen = ResultsWatch(results.folder).snapshot()
    assert (seen.state, seen.name, seen.kept_count) == ("none", "small", 2)
    assert len(seen.measured.results.rows) == 1
    assert len(seen.measured.last) == 2


def test_doubts_that_differ_in_numbers_alone_are_one_line_with_its_rows(tmp_path: Path) -> None:
    asked = campaign.parse(
        CAMPAIGN.format(top=f"{QUICK}\nclients = 2", size="8 MiB", meter=STEADY).replace("80 MiB", "400 MiB")
    )
    results = store.create(tmp_path / "results", asked.text, asked.name)
    runner.run(asked, results, lambda event: None)
    cached = [
        line for line in ResultsWatch(results.folder).snapshot().measured.doubts if "a cache served" in line
    ]
    assert len(cached) == 1
    assert cached[0].endswith(
        "times what its network can carry: a cache served the write; and 1 more like it (the only row)"
    )


def test_damage_is_reported_and_the_results_are_shown(tmp_path: Path) -> None:
    results = measured(tmp_path / "results", QUICK, meter=STEADY)
    (results.folder / progress.NAME).write_bytes(os.urandom(1000) + b"\n")
    seen = ResultsWatch(results.folder).snapshot()
    assert seen.state == "damaged" and "line 1" in seen.said
    assert seen.kept_count == 2


def test_a_run_writes_its_progress_and_it_is_not_part_of_the_results(tmp_path: Path) -> None:
    results = measured(tmp_path / "results", QUICK, meter=STEADY)
    seen = ResultsWatch(results.folder).snapshot()
    assert (seen.state, seen.kept_count, seen.trials_count) == ("done", 2, 2)
    found = progress.read(results.folder)
    assert {at.phase for _, at in found.states} >= {"prepare", "baseline", "measure", "tail", "kept"}
    assert any(at.samples for _, at in found.states)


@pytest.fixture
def page(folder: Path, file: ProgressFile) -> Iterator[str]:
    file.append(state(100.0, 10.0, 2.0, 8.5, 0.0, 1e9, 7.0))
    file.append(state(102.0, 11.0, 2.5, 8.5, 20 * MIB, 1e9 + 10 * MIB, 8.0))
    with server.serving(server.Page(ResultsWatch(folder).snapshot, "t" * 32), "127.0.0.1", 0) as url:
        yield url


def asked(url: str, **headers: str) -> str:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        return answer.read().decode()


@pytest.mark.parametrize(
    "place", ["", "data", "metrics", "?token=", "data?token=" + "t" * 31, "data?token=" + "ü" * 32, "etc"]
)
def test_without_the_token_nothing_is_shown(page: str, place: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        asked(page.partition("?")[0] + quote(place, safe="?=&"))
    assert refused.value.code == 403
    assert b"tried" not in refused.value.read()


def test_the_page_asks_nothing_of_others_and_its_data_are_json(page: str) -> None:
    html = asked(page)
    assert "http://" not in html.replace("http://www.w3.org/2000/svg", "") and "https://" not in html
    data = json.loads(asked(page.replace("/?", "/data?")))
    assert (data["state"], data["watts"], data["rate"]) == ("running", "13.50 W", "30.00 MiB/s")


def test_one_who_sends_nothing_and_one_who_sends_rubbish_do_not_stop_others(page: str) -> None:
    where = urlsplit(page)
    with (
        create_connection((where.hostname or "", where.port or 0)),
        create_connection((where.hostname or "", where.port or 0)) as bad,
    ):
        bad.sendall(os.urandom(70_000) + b"\r\n\r\n")
        assert json.loads(asked(page.replace("/?", "/data?")))["state"] == "running"


def slow(url: str, stack: ExitStack, count: int) -> list[socket]:
    """Connections that have sent the beginning of a request, and a byte of it from time to time."""
    where = urlsplit(url)
    those = [
        stack.enter_context(create_connection((where.hostname or "", where.port or 0))) for _ in range(count)
    ]
    for connection in those:
        connection.sendall(b"GET / HTTP/1.0\r\nX-Slow: ")
    return those


def test_many_slow_connections_do_not_hold_the_page_shut(page: str) -> None:
    with ExitStack() as stack:
        those = slow(page, stack, 3 * SERVED_COUNT)
        for _ in range(5):
            for connection in those:
                with suppress(OSError):
                    connection.sendall(b"x")
            assert json.loads(asked(page.replace("/?", "/data?")))["state"] == "running"


def test_many_slow_connections_do_not_hold_the_meters_shut() -> None:
    with exporter.serving(dict, "127.0.0.1", 0) as url, ExitStack() as stack:
        slow(url, stack, 3 * SERVED_COUNT)
        threads_count = threading.active_count()
        assert "perjoule_power_watts" in asked(url)
        assert threads_count < 2 * SERVED_COUNT


def test_a_slow_connection_ends_although_each_byte_of_it_comes_in_time(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LimitedServer, "patience_s", 0.5)
    with ExitStack() as stack:
        (connection,) = slow(page, stack, 1)
        connection.settimeout(0.05)
        ended, bytes_count = False, 0
        while not ended and bytes_count < 100:  # one in 50 ms: longer than a request may take
            with suppress(TimeoutError):
                connection.sendall(b"x")
                bytes_count += 1
                ended = connection.recv(1) == b""
        assert ended


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
def test_the_page_answers_questions_alone(method: str, page: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(urllib.request.Request(page, method=method), timeout=10)
    assert refused.value.code == 501
    refused.value.read()


def test_prometheus_reads_the_campaign_beside_its_meters(page: str) -> None:
    text = asked(page.partition("?")[0] + "metrics", Authorization="Bearer " + "t" * 32)
    found = {
        (one.name, *sorted(one.labels.values())): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }
    assert found["perjoule_run_up", "tried"] == 1
    assert found["perjoule_trials", "left", "tried"] == 6
    assert found["perjoule_trials", "tried", "valid"] == 4
    assert found["perjoule_client_bytes_per_second", "client-1", "tried"] == 20 * MIB
    assert found["perjoule_boundary_watts", "modelled", "net", "tried"] == 13.5
    assert found["perjoule_boundary_watts", "gross", "modelled", "tried"] == 22.0
    assert found["perjoule_phase_seconds", "2", "3", "measure", "tried", "write", "x"] == pytest.approx(
        7.0, abs=5
    )
    assert found["perjoule_power_watts", "", "", "modelled", "modelled", "switch"] == 8.5
    samples = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(samples) == len(set(samples))  # Prometheus refuses the same series twice


def test_the_dashboard_queries_everything_that_is_exported_and_nothing_else(
    folder: Path, file: ProgressFile
) -> None:
    file.append(Line(channels=(replace(CHANNELS[0], quantity="energy", unit="J", semantics="counter"),)))
    for t_s in (100.0, 102.0):
        file.append(state(t_s, 10.0, 2.0, 8.5, t_s, t_s, t_s, t_s))
    families = list(
        text_string_to_metric_families(exporter.campaign_text(ResultsWatch(folder).snapshot()).decode())
    )
    exported = {sample.name: set(sample.labels) for one in families for sample in one.samples}
    dashboard = json.loads((ROOT / "docs" / "assets" / "grafana.json").read_text())
    queries = [target for panel in dashboard["panels"] for target in panel["targets"]]
    asked_for = {name for query in queries for name in re.findall(r"perjoule_[a-z_]+", query["expr"])}
    assert asked_for == set(exported)
    for query in queries:
        (name,) = re.findall(r"perjoule_[a-z_]+", query["expr"])
        asked_labels = re.findall(r"{{(\w+)}}", query["legendFormat"]) + re.findall(
            r"[{,] ?([a-z]+)=~", query["expr"]
        )
        assert set(asked_labels) <= exported[name], query
    for variable in dashboard["templating"]["list"][1:]:
        name, label = re.findall(r"label_values\((\w+).*, (\w+)\)", variable["query"])[0]
        assert label in exported[name]
    places = [tuple(panel["gridPos"][key] for key in "xywh") for panel in dashboard["panels"]]
    cells = [(x + i, y + j) for x, y, w, h in places for i in range(w) for j in range(h)]
    # of Grafana's columns: none overlap
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(places)
    assert "__inputs" not in dashboard  # imports without edits: the data source is a variable


# What Grafana's schema requires of a panel: https://github.com/grafana/grafana-foundation-sdk (Go, v0.0.22,
# read strictly).
_STAT = (
    "colorMode",
    "graphMode",
    "justifyMode",
    "orientation",
    "percentChangeColorMode",
    "reduceOptions",
    "showPercentChange",
)
_OPTIONS = {"stat": {*_STAT, "textMode", "wideLayout"}, "timeseries": {"legend", "tooltip"}}


def test_the_dashboard_has_all_that_grafanas_schema_requires() -> None:
    dashboard = json.loads((ROOT / "docs" / "assets" / "grafana.json").read_text())
    assert {"schemaVersion", "annotations", "editable", "templating", "time", "title", "uid"} <= set(
        dashboard
    )
    for panel in dashboard["panels"]:
        assert _OPTIONS[panel["type"]] == set(panel["options"]), panel["title"]
        if panel["type"] == "timeseries":
            assert {"calcs", "displayMode", "placement", "showLegend"} == set(panel["options"]["legend"])
        letters = [target["refId"] for target in panel["targets"]]
        assert len(letters) == len(set(letters))
        assert {target["datasource"]["uid"] for target in panel["targets"] if "datasource" in target} <= {
            "${datasource}"
        }
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


def test_a_campaign_whose_name_is_markup_is_text_everywhere(folder: Path) -> None:
    evil = '<script>alert(1)</script>"}\n'
    with closing(ProgressFile(folder)) as file:
        file.append(Line(run=RunProcess(progress.VERSION, processes.own(), evil, 0.0)))
        file.append(Line(load=LOAD))
        file.append(Line(channels=CHANNELS))
        file.append(state(1.0, 10.0, 2.0, 8.5, 0.0, 0.0, 0.0))
    seen = ResultsWatch(folder).snapshot()
    assert plain(seen)["name"] == evil  # the page sets it as text: tests/browser/test_watch.py
    families = list(text_string_to_metric_families(exporter.campaign_text(seen).decode()))
    assert {
        sample.labels["campaign"] for one in families for sample in one.samples if "campaign" in sample.labels
    } == {evil}


def test_a_taken_port_is_reported_and_an_earlier_one_is_only_a_wish(folder: Path) -> None:
    page = server.Page(ResultsWatch(folder).snapshot, "t" * 32)
    with server.serving(page, "127.0.0.1", 0) as first:
        taken = urlsplit(first).port or 0
        with pytest.raises(MachineError, match="can't listen"), server.serving(page, "127.0.0.1", taken):
            pass
        with server.serving(page, "127.0.0.1", 0, taken) as second:
            assert urlsplit(second).port != taken


def test_the_address_of_a_folder_is_remembered_for_this_user_alone(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    port, token = server.remembered(folder)
    assert port == 0 and len(token) == 32 and server.remembered(folder)[1] != token
    server.remember(folder, f"http://127.0.0.1:4711/?token={token}")
    assert server.remembered(folder) == (4711, token)
    (kept,) = (tmp_path / "cache" / "perjoule" / "live").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.write_text("damaged")
    assert server.remembered(folder)[0] == 0


@pytest.mark.parametrize(
    ("address", "loopback"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False)]
)
def test_an_address_that_others_reach_is_known(address: str, loopback: bool) -> None:
    assert server.is_loopback(address) is loopback
