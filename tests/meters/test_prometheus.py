"""Prometheus: declared meaning, one series and no other, samples with their own times and never twice."""

import json
import math
import socketserver
import threading
import time
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from perjoule import drivers
from perjoule.drivers.boundary import boundary
from perjoule.drivers.protocols import Hosts
from perjoule.meters.prometheus import Prometheus, exposition
from perjoule.meters.prometheus.exposition import exposed
from perjoule.model.errors import PerjouleError
from perjoule.model.waveform import Waveform
from perjoule.simulators import prometheus as simulator
from places import TRANSCRIPTS
from typed import as_written, present

SAID = TRANSCRIPTS / "prometheus"
WAVE = Waveform("sine", 20.0, 80.0, 1.0)
PAGE = (SAID / "metrics.txt").read_text()
DECLARED = {"unit": "W", "semantics": "instantaneous", "grade": "wall"}


def test_a_page_is_read_by_name_and_labels():
    sample, kind, _ = exposition.exposed(PAGE, simulator.POWER, {"room": "lab"})
    assert (sample.value, sample.utc_s, kind) == (42.0, 1790000002.0, "gauge")
    assert exposition.exposed(PAGE, simulator.POWER, {"socket": "2"})[0] == exposition.ExposedNumber(1.5)
    assert exposition.exposed(PAGE, simulator.ENERGY, {})[1] == "counter"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('x{a="b"} 1e3', 1e3),
        ('x{ a = "b" , } +Inf', math.inf),
        ('x{a="b",c="}\\"{ \\\\ 5"} 7 1790000000000', 7.0),
        ('x{a="b"}\t-2.5', -2.5),
    ],
)
def test_lines_may_look_odd(line, value):
    assert exposition.exposed(f"# HELP x {{\n{line}\nx2 9\n", "x", {"a": "b"})[0].value == value


@pytest.mark.parametrize(
    "line", ["x 1_0", "x 1 2 3", 'x{a="b" c="d"} 1', 'x{a="b",a="c"} 1', 'x{a="b"} 1 # {} 2']
)
def test_a_malformed_line_of_the_metric_is_not_a_reading(line):
    with pytest.raises(ValueError, match="line is malformed"):
        exposition.exposed(f"{line}\n", "x", {})
    assert exposition.exposed(f"y{line}\nx 7\n", "x", {})[0].value == 7.0


def test_escapes_in_labels_are_undone():
    assert exposition.selector(r'x{a="\"\\\n"}') == ("x", {"a": '"\\\n'})


@pytest.mark.parametrize("text", ["", "x{", "x{a=b}", "rate(x[5m])", "x{a='b'}", "5x"])
def test_what_is_not_a_selector_is_refused(text):
    with pytest.raises(ValueError, match="names no metric"):
        exposition.selector(text)
    with pytest.raises(ValueError, match="names no metric"):
        drivers.build(
            "meters", "prometheus", {"address": "http://127.0.0.1/metrics", "metric": text, **DECLARED}
        )


def test_two_series_are_not_guessed_between_and_none_is_reported():
    with pytest.raises(ValueError, match=r'2 series .* room="lab", socket="1"; room="hall", socket="2"'):
        exposition.exposed(PAGE, simulator.POWER, {})
    with pytest.raises(ValueError, match="no series of simulated_power_watts"):
        exposition.exposed(PAGE, simulator.POWER, {"room": "attic"})


def test_an_answer_of_a_server_is_samples_in_order():
    samples = exposition.queried(json.loads((SAID / "query.json").read_text()))
    assert [(s.value, present(s.utc_s) - 1790000000) for s in samples] == [
        (40.0, 0.0),
        (41.0, 1.0),
        (42.0, 2.0),
    ]
    with pytest.raises(ValueError, match="query failed: invalid parameter"):
        exposition.queried(json.loads((SAID / "query-error.json").read_text()))


@pytest.mark.parametrize("data", [None, 3, {"resultType": "matrix"}, {"resultType": "matrix", "result": [7]}])
def test_an_answer_of_another_form_is_refused(data):
    with pytest.raises(ValueError, match="not have the form of the query API"):
        exposition.queried({"status": "success", "data": data})
    for series in ({}, {"values": 4}, {"values": [3]}, {"values": [[1.0, None]]}):
        with pytest.raises(ValueError, match="not have the form"):
            exposition.queried({"status": "success", "data": {"resultType": "matrix", "result": [series]}})


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"unit": "J"}, "do not go together"),
        ({"semantics": "counter"}, "do not go together"),
        ({"semantics": "window mean"}, "needs its window"),
        ({"grade": None}, "grade"),
    ],
)
def test_what_is_not_declared_or_contradicts_itself_is_refused(declared, words):
    options = {key: value for key, value in {**DECLARED, **declared}.items() if value is not None}
    with pytest.raises(ValueError, match=words):
        drivers.build("meters", "prometheus", {"address": "http://127.0.0.1", "metric": "x", **options})


@pytest.mark.parametrize("server", [False, True])
def test_the_watts_are_those_of_the_waveform_each_sample_once(listen, noted, server):
    behaviour = noted(WAVE)
    with simulator.serve(behaviour, server=server) as options:
        began_s = time.monotonic()
        heard = listen({**options, "rate": "50 Hz"}, lambda h: len(h.samples) > 15)
        ended_s = time.monotonic()
    t_s, watts = heard.of()
    assert behaviour.told(watts, lambda said: round(said.power_w, 6))
    assert (np.diff(t_s) > 0).all()
    assert began_s - 0.01 < t_s[0] < t_s[-1] < ended_s + 0.01
    near_w = [WAVE.power_w(t) for t in t_s]  # dated by the exporter, to the millisecond
    assert watts == pytest.approx(near_w, abs=2.0)


def test_a_counter_is_read_in_its_unit(listen, noted, monkeypatch):
    monkeypatch.setattr(simulator, "ENERGY", "simulated_energy_total")  # whose name states no unit
    behaviour = noted(WAVE)
    with simulator.serve(behaviour) as options:
        asked = {
            **options,
            "metric": simulator.ENERGY,
            "unit": "kWh",
            "semantics": "counter",
            "rate": "50 Hz",
        }
        heard = listen(asked, lambda h: len(h.samples) > 5)
    assert behaviour.told(heard.of("energy")[1], lambda said: round(said.energy_j * 3.6e6, 6))
    assert heard.samples[0][0].unit == "J"


def test_a_gauge_declared_a_counter_is_refused(listen, noted, monkeypatch):
    monkeypatch.setattr(simulator, "POWER", "simulated_power")
    with (
        simulator.serve(noted(WAVE)) as options,
        pytest.raises(PerjouleError, match=r"is a gauge; set unit and semantics"),
    ):
        listen({**options, "unit": "J", "semantics": "counter"}, lambda h: True)


@pytest.mark.parametrize("server", [False, True])
def test_a_clock_that_jumped_dates_nothing(listen, noted, server):
    with (
        simulator.serve(noted(WAVE, faults=("clock jump",), share_ratio=1.0), server=server) as options,
        pytest.raises(PerjouleError, match=r"its clock is at least 3\d\d\d s ahead"),
    ):
        listen({**options, "rate": "50 Hz"}, lambda h: True)


def test_what_smells_of_power_is_found_but_its_meaning_is_left_to_declare(noted):
    with simulator.serve(noted(WAVE)) as options:
        found = Prometheus.discover([str(options["address"]), "127.0.0.1:1"])
    assert [table["metric"] for table in found] == [simulator.ENERGY, simulator.POWER]


@pytest.mark.parametrize("server", [False, True])
@pytest.mark.parametrize("fault", ["late", "duplicate", "missing", "frozen", "nan", "spike", "disconnect"])
def test_a_fault_is_a_gap_or_nothing_new(listen, noted, fault, server):
    behaviour = noted(WAVE, faults=(fault,), share_ratio=0.0, late_s=0.9, away_s=0.1)
    lost = fault in ("late", "missing", "disconnect")

    def told(heard):
        behaviour.share_ratio = 0.2  # the request at the beginning is answered
        watts = heard.of()[1]
        if fault in ("frozen", "duplicate"):
            return len(watts) > 8
        odd = np.isnan(watts) | (watts > 1000)
        return odd.any() and not odd[-1]

    with simulator.serve(behaviour, server=server) as options:
        heard = listen({**options, "rate": "40 Hz", "timeout": "0.6 s" if lost else "30 s"}, told)
    t_s, watts = heard.of()
    assert behaviour.told([w for w in watts if not math.isnan(w)], lambda said: round(said.power_w, 6))
    if not lost:
        assert not heard.failures
        assert (np.diff(t_s) > 0).all()  # nothing is counted twice


@contextmanager
def torn_pages(header, body):
    """An exporter that sends this much of a page and hangs up; `header` says how long the page is."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            while self.rfile.readline().strip():
                pass
            self.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + header + b"\r\n" + body)

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/metrics"
        finally:
            server.shutdown()
            thread.join()


CUT = b"# TYPE power gauge\npower 12"  # of "power 120.5\n"


@pytest.mark.parametrize(
    ("header", "body"),
    [
        (b"Content-Length: 31\r\n", CUT),
        (b"Content-Length: 31\r\n", CUT + b"\n"),
        (b"Content-Length: 27\r\n", CUT),
        (b"Transfer-Encoding: chunked\r\n", b"1b\r\n" + CUT + b"\r\n"),
        (b"Transfer-Encoding: chunked\r\n", b"1f\r\n" + CUT),
        (b"", CUT),
    ],
    ids=[
        "length",
        "length, at a line",
        "length of the part",
        "chunks without an end",
        "within a chunk",
        "no length",
    ],
)
def test_a_page_that_was_cut_inside_a_number_is_not_a_reading(header, body):
    with torn_pages(header, body) as address:
        meter = as_written(Prometheus, address=address, metric="power", **DECLARED)
        with (
            meter.connect(boundary("prometheus", ("servers",), Hosts(()))) as read,
            pytest.raises((OSError, ValueError), match=r"truncated|cut off"),
        ):
            list(read())


@pytest.mark.parametrize("end", [b"power 120.5\n", b"power 120.5\n# EOF"])
def test_a_page_that_is_whole_is_read_however_its_end_is_marked(end):
    page = b"# TYPE power gauge\n" + end
    for header, body in (
        (b"Content-Length: %d\r\n" % len(page), page),
        (b"Content-Length: \xb2\r\n", page),  # a digit to Python, and no number
        (b"Content-Length: " + b"9" * 5000 + b"\r\n", page),
        (b"Transfer-Encoding: chunked\r\n", b"%x\r\n%s\r\n0\r\n\r\n" % (len(page), page)),
        (b"", page),
    ):
        with torn_pages(header, body) as address:
            meter = as_written(Prometheus, address=address, metric="power", **DECLARED)
            with meter.connect(boundary("prometheus", ("servers",), Hosts(()))) as read:
                assert [reading.value for reading in read()] == [120.5]


@pytest.mark.parametrize(
    ("metric", "unit", "named_unit"),
    [
        ('node_hwmon_power_average_watt{chip="a"}', "kW", "watt"),
        ("scaph_host_energy_microjoules", "J", "microjoules"),
        ("node_rapl_package_joules_total", "Wh", "joules"),
        ("ups_power_VA", "W", "VA"),
        ("homeassistant_sensor_energy_kwh", "Wh", "kwh"),
    ],
)
def test_a_metric_whose_name_states_another_unit_is_refused(metric, unit, named_unit):
    semantics = "average" if unit in ("W", "kW") else "counter"
    options = {
        "address": "http://192.0.2.1/metrics",
        "metric": metric,
        "grade": "wall",
        "semantics": semantics,
    }
    with pytest.raises(ValueError, match=f'is in {named_unit}, and unit is "{unit}"'):
        drivers.build("meters", "prometheus", {**options, "unit": unit})


@pytest.mark.parametrize(
    ("description", "described_unit"),
    [
        ("HELP m Total energy consumption since boot (in mJ).", "mJ"),  # as of NVIDIA's exporter
        ("HELP m Power measurement on the whole host, in microwatts", "uW"),
        ("HELP m Energy of the package in joules", ""),
        ("HELP m Joules used in total", ""),
        ("HELP m_other Energy in mJ", ""),
        ("UNIT m millijoules", "mJ"),
        ("UNIT m joules", ""),
    ],
)
def test_a_metric_that_is_described_in_another_unit_is_refused(description, described_unit):
    page = f"# {description}\n# TYPE m counter\nm 9.5\n".encode()
    options = {"unit": "J", "semantics": "counter", "grade": "component"}
    with torn_pages(b"Content-Length: %d\r\n" % len(page), page) as address:
        meter = as_written(Prometheus, address=address, metric="m", **options)
        with meter.connect(boundary("prometheus", ("servers",), Hosts(()))) as read:
            if described_unit:
                with pytest.raises(PerjouleError, match=f'described as in {described_unit}, and unit is "J"'):
                    list(read())
            else:
                assert [reading.value for reading in read()] == [9.5]


@pytest.mark.parametrize(
    ("unit", "joules", "semantics"),
    [("uJ", 3.0, "counter"), ("kJ", 3e9, "counter"), ("MJ", 3e12, "counter"), ("uW", 3.0, "average")],
)
def test_millionths_and_thousands_are_units(unit, joules, semantics):
    options = {
        "address": "http://192.0.2.1/metrics",
        "metric": "m",
        "unit": unit,
        "semantics": semantics,
        "grade": "wall",
    }
    built: Any = drivers.build("meters", "prometheus", options)
    assert built.factor * 3e6 == pytest.approx(joules)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "line", ["m" + " " * 200_000 + "_", "m 1" + " " * 200_000 + "x", 'm{a="' + "x" * 200_000]
)
def test_a_line_that_is_long_and_malformed_holds_nothing_up(line):
    """Its form is matched while nothing else of perjoule runs."""
    with pytest.raises(ValueError, match="the exporter's line is malformed"):
        exposed(f"{line}\n", "m", {})
