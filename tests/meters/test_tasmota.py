"""Tasmota over HTTP, and over MQTT through a real mosquitto."""

import json
import math
import shutil
import socket
import subprocess
import time

import numpy as np
import pytest

from perjoule.meters.tasmota import Tasmota, decimals_step, readings
from perjoule.model.errors import MachineError
from perjoule.model.waveform import Waveform
from perjoule.simulators import tasmota as simulator
from perjoule.simulators._behaviour import Behaviour
from places import TRANSCRIPTS

SAID = TRANSCRIPTS / "tasmota"
SINE = Waveform("sine", 40, 4000, period_s=7.3)
MOSQUITTO = shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin")


@pytest.fixture
def broker(tmp_path):
    """A mosquitto of our own, as host and port."""
    if MOSQUITTO is None:
        pytest.skip("mosquitto is not installed (apt install mosquitto)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    configuration = tmp_path / "mosquitto.conf"
    configuration.write_text(f"listener {port} 127.0.0.1\nallow_anonymous true\nuser root\n")
    with subprocess.Popen(
        [MOSQUITTO, "-c", configuration], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        deadline_s = time.monotonic() + 5
        while True:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert time.monotonic() < deadline_s
            assert process.poll() is None
            time.sleep(0.01)
        yield {"address": "127.0.0.1", "port": port, "process": process}
        process.terminate()
        process.wait(5)


def place(broker):
    return {key: broker[key] for key in ("address", "port")}


@pytest.mark.parametrize(
    ("name", "power_w", "energy_j"),
    [
        ("status-10.json", 41, 3.185 * 3.6e6),
        ("status-10-fine.json", 41.317, 0.18512 * 3.6e6),
        ("sensor.json", 86, 11.931 * 3.6e6),
        ("three-phases.json", 612 + 588 + 604, 4.512 * 3.6e6),
    ],
)
def test_watts_and_kilowatt_hours_as_it_says_them(name, power_w, energy_j):
    assert readings(json.loads((SAID / name).read_text())) == pytest.approx((power_w, energy_j))


def test_nothing_is_no_number_and_no_meter_is_refused():
    assert all(map(math.isnan, readings({"ENERGY": {"Power": None, "Total": None}})))
    with pytest.raises(ValueError, match="no energy meter"):
        readings({"StatusSNS": {"Time": "2026-01-01T00:00:00"}})


def test_the_step_is_that_of_the_decimals():
    assert decimals_step({"EnergyRes": 3}, "EnergyRes") == pytest.approx(0.001)
    assert decimals_step({"Command": "Unknown"}, "EnergyRes") is None


def test_over_http_it_is_read_right(listen, stepping, judge, tmp_path):
    (tmp_path / "password").write_text("a b&c\n")
    with simulator.serve(Behaviour(SINE, now_s=stepping)) as table:
        heard = listen(
            {**table, "rate": "100 Hz", "timeout": "30 s", "password_file": str(tmp_path / "password")},
            lambda heard: len(heard.samples) > 80,
        )
        assert Tasmota.discover([str(table["address"])]) == (
            {"kind": "tasmota", "address": table["address"]},
        )
    judge(heard, SINE, step_w=0.1, step_j=36)
    stated = {channel.quantity: channel.specification.resolution for channel, *_ in heard.samples}
    assert stated == pytest.approx({"power": 0.1, "energy": 36.0})


def test_over_mqtt_it_is_read_right(listen, stepping, judge, broker):
    with simulator.serve(Behaviour(SINE, now_s=stepping), **place(broker), topic="plug") as table:
        heard = listen({**table, "rate": "100 Hz", "timeout": "30 s"}, lambda heard: len(heard.samples) > 50)
    judge(heard, SINE, step_w=0.1, step_j=36)


def test_what_it_says_unasked_is_enough_and_what_a_broker_kept_is_too_old(listen, broker):
    client = pytest.importorskip(
        "paho.mqtt.publish", reason="paho-mqtt is missing (.venv/bin/pip install 'perjoule[meters]')"
    )
    kept = json.dumps({"ENERGY": {"Power": 999, "Total": 9.9}})
    client.single("tele/plug/SENSOR", kept, retain=True, hostname=broker["address"], port=broker["port"])
    behaviour = Behaviour(Waveform("constant"))
    with simulator.serve(behaviour, **place(broker), topic="plug", tele_s=0.02) as table:
        heard = listen({**table, "rate": "20 Hz", "ask": False}, lambda heard: len(heard.samples) > 20)
    assert set(heard.of("power")[1]) == {60.0}


@pytest.mark.parametrize("fault", ["missing", "late", "disconnect"])
@pytest.mark.parametrize("topic", ["", "plug"])
def test_what_does_not_come_in_time_is_a_gap_and_the_plug_comes_back(listen, fault, topic, request):
    behaviour = Behaviour(
        Waveform("constant"), faults=(fault,), share_ratio=0.2, seed=3, late_s=0.4, away_s=0.2
    )
    at = place(request.getfixturevalue("broker")) if topic else {}

    def back_again(heard):
        valid = np.isfinite(heard.of("power")[1])
        return len(valid) and valid[-1] and not valid[:-3].all()

    with simulator.serve(behaviour, **at, topic=topic) as table:
        heard = listen({**table, "rate": "100 Hz", "timeout": "250 ms"}, back_again)
    values = heard.of("power")[1]
    assert set(values[np.isfinite(values)]) == {60.0}
    assert "reads failed" in heard.doubts[-1]


def test_a_broker_that_dies_is_a_gap_and_one_that_is_not_there_is_reported(listen, broker):
    with simulator.serve(Behaviour(Waveform("constant")), **place(broker), topic="plug") as table:

        def gone(heard):
            if len(heard.samples) > 10:
                broker["process"].terminate()
            return np.isnan(heard.of("power")[1]).any()

        heard = listen({**table, "rate": "50 Hz", "timeout": "200 ms"}, gone)
        assert "reads failed" in heard.doubts[-1]
        with pytest.raises(MachineError, match="can't be read"):
            listen({**table, "timeout": "200 ms"}, any)


def test_a_web_console_that_wants_a_password_says_so(listen, monkeypatch):
    monkeypatch.setattr(
        simulator, "reply", lambda *_: {"WARNING": "Need user=<username>&password=<password>"}
    )
    with simulator.serve(Behaviour()) as table, pytest.raises(MachineError, match="user and password"):
        listen(table, any)


def test_a_password_is_in_no_message(listen, monkeypatch, tmp_path):
    monkeypatch.setattr(simulator, "reply", lambda *_: "no object")
    (tmp_path / "password").write_text("hunter2")
    with (
        simulator.serve(Behaviour()) as table,
        pytest.raises(MachineError, match="not a JSON object") as told,
    ):
        listen({**table, "password_file": str(tmp_path / "password")}, any)
    assert "hunter2" not in str(told.value)
