"""Hostile meters: a read ends in time and in little memory; it is a gap and a sentence, and the meter comes back."""

import io
import time
import tracemalloc
from datetime import UTC, datetime
from http.client import HTTPMessage

import numpy as np
import pytest

import typed
from perjoule import drivers, simulators
from perjoule.drivers.boundary import Boundary
from perjoule.meters._metered import Metered
from perjoule.meters._tool import printed
from perjoule.model import Json, Spec
from perjoule.model.errors import PerjouleError, TransientError
from perjoule.model.units import MIB
from perjoule.model.waveform import Waveform
from perjoule.monitoring import recorder
from perjoule.simulators import ipmi, scpi
from perjoule.simulators._behaviour import HOSTILE, Behaviour
from perjoule.simulators._tcp import connections

TIMEOUT_S = 0.3
MOST_BYTES = 100 * 2**20
KINDS = ("shelly", "tasmota", "redfish", "prometheus", "scpi", "serial", "plugwise", "snmp_pdu", "quarch", "powersensor3")


def serve(kind, behaviour):
    if kind in ("scpi", "serial"):
        return scpi.serve(behaviour, cycle_s=0.02, line="tcp" if kind == "scpi" else "serial")
    return simulators.serve(kind, behaviour)


@pytest.mark.timeout(60)  # one by one, the bytes of an answer would take minutes
@pytest.mark.parametrize("fault", HOSTILE)
@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_answer_ends_in_time_and_in_little_memory(kind, fault):
    behaviour = Behaviour(Waveform("constant"), share_ratio=0.0)
    with serve(kind, behaviour) as table:
        options = {**table, "timeout": f"{TIMEOUT_S} s"}
        if kind == "plugwise":  # the limit is for each Circle
            options["circles"] = dict([*typed.table(table["circles"]).items()][:1])
        meter = drivers.meter(Spec(str(options.pop("kind")), options))
        assert isinstance(meter, Metered)
        with meter.connect(Boundary("it", "", "total")) as read:
            while not (heard := list(read())):  # nothing new since: an analyser's cycle
                time.sleep(0.01)
            assert np.isfinite([reading.value for reading in heard]).any()
            behaviour.faults, behaviour.share_ratio = (fault,), 1.0
            tracemalloc.start()
            try:
                with pytest.raises((PerjouleError, OSError, ValueError)) as told:
                    for _ in range(200):
                        list(read())
                        time.sleep(0.01)
                most_bytes = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
    assert most_bytes < MOST_BYTES
    assert str(told.value)


@pytest.mark.parametrize(
    ("kind", "fault"), [("shelly", "drip"), ("scpi", "endless line"), ("snmp_pdu", "garbage"), ("serial", "flood")]
)
def test_it_is_a_gap_with_a_sentence_and_the_meter_comes_back(listen, kind, fault):
    behaviour = Behaviour(Waveform("constant"), faults=(fault,), share_ratio=0.0, seed=2)

    def back(heard):
        behaviour.share_ratio = 0.1 if len(heard.samples) else 0.0
        value = heard.of("power")[1]
        return np.isnan(value).any() and np.isfinite(value[-1])

    with serve(kind, behaviour) as table:
        heard = listen({**table, "timeout": f"{TIMEOUT_S} s", "rate": "20 Hz"}, back, timeout_s=20)
    value = heard.of("power")[1]
    assert set(np.round(value[np.isfinite(value)])) == {60.0}
    assert "reads failed, the last with: " in heard.failures[0]


@pytest.mark.parametrize("fault", HOSTILE)
def test_looking_for_meters_ends_whatever_answers(fault):
    from perjoule.simulators._hostile import pour

    def handle(client, stop):
        pour(fault, client.sendall, stop)

    with connections(handle, "127.0.0.1", 0) as port:
        assert not [table for table in recorder.found([f"127.0.0.1:{port}"]) if str(table.get("address", "")).endswith(str(port))]


def test_a_login_is_sent_and_shown_to_no_other_service():
    from perjoule.meters._url import Place
    from perjoule.simulators._http import Answer, answering

    asked = []

    def elsewhere(path, headers):
        asked.append(headers)
        return Answer(b"{}")

    with answering(Behaviour(), elsewhere, "127.0.0.1", 0) as there:
        port = there.rpartition(":")[2]
        query = "/cm?user=admin&password=s3cret"
        aims = {
            "/host": (f"http://localhost:{port}{query}", "127.0.0.1 redirects to localhost, which is another host"),
            "/port": (f"http://127.0.0.1:{port}{query}", rf"redirects from http port \d+ to http port {port}$"),
            "/scheme": (f"gopher://x{query}", r"HTTP status 302 \(Found\)$"),
        }

        def found(path, headers):
            if path == "/shelly":
                return Answer(b'{"a": 1}')
            return Answer(b"", 302, {"Location": aims.get(path.partition("?")[0], ("/shelly", ""))[0]})

        with answering(Behaviour(), found, "127.0.0.1", 0) as here:
            place = Place(f"http://{here}", 5.0, headers={"Authorization": "Basic secret"})
            assert place.json("/near") == {"a": 1}
            for path, (_, said) in aims.items():
                with pytest.raises(OSError, match=said) as caught:
                    place.json(path + "?user=admin&password=s3cret")
                assert "s3cret" not in str(caught.value)
    assert not asked


def test_a_login_is_not_sent_without_encryption_after_it_was_sent_with():
    from urllib.request import Request

    from perjoule.meters._url import _OfHost

    secure = Request("https://bmc-1/", headers={"Authorization": "Basic secret"})
    with pytest.raises(OSError, match="bmc-1 redirects from https port 443 to http port 80"):
        _OfHost().redirect_request(secure, io.BytesIO(), 302, "Found", HTTPMessage(), "http://bmc-1/")
    plain = Request("http://bmc-1/", headers={"Authorization": "Basic secret"})
    followed = _OfHost().redirect_request(plain, io.BytesIO(), 302, "Found", HTTPMessage(), "https://bmc-1/")
    assert followed is not None
    assert followed.full_url == "https://bmc-1/"


ENDLESS = """#!/bin/sh
while :; do echo "Instantaneous power reading: 120 Watts of nothing, and so on, and so on"; done
"""


@pytest.fixture
def endless(tmp_path, monkeypatch):
    """A folder of programs that never stop printing."""
    for name in ("ipmitool", "nvme", "sstat", "scontrol"):
        (tmp_path / name).write_text(ENDLESS)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    return tmp_path


@pytest.mark.parametrize("timeout_s", [30.0, 0.001])
def test_a_tool_that_never_stops_printing_is_ended_in_little_memory(endless, timeout_s):
    tracemalloc.start()
    try:
        with pytest.raises(TransientError, match=r"^meter bmc: .*/nvme (printed more than 1 MiB|did not answer within 0.001 s)$"):
            printed([str(endless / "nvme"), "smart-log"], timeout_s=timeout_s, where="meter bmc")
        most_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most_bytes < 4 * MIB


@pytest.mark.parametrize("kind", ["ipmi", "slurm"])
def test_meters_that_start_such_a_tool_say_so(endless, kind):
    with ipmi.serve(Behaviour(Waveform("constant"))) as bmc:
        options = {"ipmi": {**bmc, "tool": str(endless / "ipmitool"), "timeout": "30 s"}, "slurm": {"job": "7"}}[kind]
        meter = drivers.meter(Spec(kind, {name: value for name, value in options.items() if name != "kind"}))
        assert isinstance(meter, Metered)
        with pytest.raises(TransientError, match="printed more than 1 MiB"), meter.connect(Boundary("it", "", "total")) as read:
            list(read())


ROW = f"2026-01-01T00:00:00Z,60.5,{200 * '-'}\n"
LOG: dict[str, Json] = {"time": ["t"], "value": "P", "unit": "W", "semantics": "instantaneous", "grade": "wall"}


def log_meter(path):
    made = drivers.meter(Spec("csv", {"path": str(path), **LOG}))
    assert isinstance(made, Metered)
    return made


def test_an_old_log_is_read_in_little_memory(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,P\n" + 40_000 * ROW)
    tracemalloc.start()
    try:
        with log_meter(path).connect(Boundary("it", "", "total")) as read:
            assert list(read()) == []
        most_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 8 * MIB
    assert most_bytes < 8 * MIB  # a chunk of it, as lines


def test_a_line_without_an_end_is_a_sentence_and_the_log_goes_on(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("t,P\n" + ROW)
    with log_meter(path).connect(Boundary("it", "", "total")) as read:
        with path.open("a") as file:
            file.write(2 * MIB * "x" + "\n")
        with pytest.raises(ValueError, match=r"^a line is longer than 1 MiB; it begins with 'xxxx"):
            list(read())
        with path.open("a") as file:
            file.write(f"{datetime.now(UTC).isoformat()},61.5\n")
        values = [reading.value for _ in range(3) for reading in heard(read)]
    assert values[-1] == 61.5


def heard(read):
    try:
        return list(read())
    except ValueError:  # the rest of that line
        return []
