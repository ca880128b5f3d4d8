"""Redfish: one power, three names, null, a login, and averages over whatever the maker chose."""

import json
import math
import shutil
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from perjoule import drivers
from perjoule.drivers.boundary import Boundary
from perjoule.meters._url import Place
from perjoule.meters.redfish import Redfish, _specification
from perjoule.meters.redfish import parse as words
from perjoule.model import Spec
from perjoule.model.errors import LoginRefused, PerjouleError
from perjoule.model.waveform import Waveform
from perjoule.simulators import redfish as simulator
from perjoule.simulators._behaviour import Behaviour
from places import TRANSCRIPTS
from typed import present

SAID = TRANSCRIPTS / "redfish"
WAVE = Waveform("sine", 120.4, 240.0, 0.4)


def transcript(name):
    return json.loads((SAID / f"{name}.json").read_text())


def test_a_power_is_found_under_each_of_its_names():
    assert words.environment_w(transcript("environment")) == 216.4
    assert words.consumed_w(transcript("power"), 0) == 216.0
    assert words.consumed_w(transcript("average"), 0) is None
    assert words.average_w(transcript("average"), 0) == 216.0
    assert words.interval_s(transcript("average"), 0) == 60.0
    assert words.environment_w(transcript("power")) is None


def test_an_energy_is_joules_whatever_its_unit():
    assert words.energy_j(transcript("energy-in-kWh")) == pytest.approx(7.2e6)
    assert words.energy_j(transcript("energy-in-joules")) == pytest.approx(7.2e6)
    assert words.energy_j(transcript("power")) is None


@pytest.mark.parametrize("nothing", [None, True, [], {}])
def test_what_is_no_number_is_not_known(nothing):
    assert math.isnan(present(words.environment_w({"PowerWatts": {"Reading": nothing}})))
    assert math.isnan(present(words.consumed_w({"PowerControl": [{"PowerConsumedWatts": nothing}]}, 0)))
    assert math.isnan(present(words.energy_j({"EnergykWh": {"Reading": nothing}})))


@pytest.mark.parametrize(
    "odd", [{}, {"PowerControl": None}, {"PowerControl": []}, {"PowerControl": [None]}, {"PowerWatts": 5}]
)
def test_what_is_not_there_is_not_null(odd):
    assert words.environment_w(odd) is words.consumed_w(odd, 0) is words.average_w(odd, 0) is None


@pytest.mark.parametrize("members", [3.5, {}, "x", [None, 4, {"@odata.id": 7}, {"@odata.id": ["/redfish"]}]])
def test_a_list_of_chassis_that_is_none_has_none(members, monkeypatch):
    monkeypatch.setattr(Place, "json", lambda *_: {"Members": members, "Chassis": {"@odata.id": 1}})
    with (
        pytest.raises(PerjouleError, match="no chassis reports power"),
        Redfish(address="192.0.2.1").connect(Boundary("", "", "total")),
    ):
        pass


@pytest.mark.parametrize("accuracy", ["1 %", [], None, -1, True])
def test_an_accuracy_that_is_no_number_is_not_known(accuracy):
    class Sensor(Place):
        def json(self, path):
            return {"Accuracy": accuracy}

    said = {"PowerWatts": {"DataSourceUri": "/sensor"}}
    assert _specification(Sensor("192.0.2.1"), said, words.environment_w, 0).gain_ratio is None


def test_durations_are_iso_8601():
    assert [words.duration_s(text) for text in ("PT3S", "PT1M30S", "P1DT0.5S", "3 s", "None", "PT0S")] == [
        3.0,
        90.0,
        86400.5,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize("schema", ["environment", "power", "average"])
@pytest.mark.parametrize("login", ["basic", "session"])
def test_the_watts_are_those_of_the_waveform(listen, noted, schema, login):
    behaviour = noted(WAVE)
    with simulator.serve(behaviour, schema=schema) as options:
        heard = listen({**options, "login": login, "rate": "50 Hz"}, lambda h: len(h.samples) > 15)
    (channel,) = {channel for channel, *_ in heard.samples}
    assert (channel.semantics, channel.grade, channel.unit) == ("average", "BMC", "W")
    assert channel.specification.latency_s == {"environment": 3.0, "power": None, "average": 60.0}[schema]
    precise = 1 if schema == "environment" else 0
    assert behaviour.told(heard.of()[1], lambda said: round(said.power_w, precise))
    assert not heard.failures


@pytest.mark.parametrize("schema", ["energy in kWh", "energy in joules"])
def test_the_joules_are_those_of_the_waveform(listen, noted, schema):
    behaviour = noted(WAVE)
    with simulator.serve(behaviour, schema=schema) as options:
        heard = listen({**options, "rate": "50 Hz"}, lambda h: len(h.samples) > 15)
    step = 3.6 if schema == "energy in kWh" else 1e-6
    assert behaviour.told(heard.of("energy")[1], lambda said: round(round(said.energy_j / step) * step, 6))
    assert heard.samples[0][0].semantics == "counter"


def test_a_service_without_a_counter_is_refused(listen):
    with (
        simulator.serve(Behaviour(WAVE), schema="power") as options,
        pytest.raises(PerjouleError, match="no chassis reports energy"),
    ):
        listen({**options, "quantity": "energy"}, lambda h: True)


def test_a_wrong_login_is_reported(listen, tmp_path):
    (tmp_path / "wrong").write_text("wrong")
    with simulator.serve(Behaviour(WAVE)) as options:
        for login in ("basic", "session"):
            with pytest.raises(LoginRefused, match="password_file"):
                listen({**options, "password_file": str(tmp_path / "wrong"), "login": login}, lambda h: True)


def test_a_chassis_that_is_not_there_is_reported_with_those_that_exist(listen):
    with (
        simulator.serve(Behaviour(WAVE)) as options,
        pytest.raises(PerjouleError, match=r"no chassis 7 .*1, Drives"),
    ):
        listen({**options, "chassis": "7"}, lambda h: True)


def test_a_service_is_found_at_its_address():
    with simulator.serve(Behaviour(WAVE)) as options:
        place = str(options["address"]).removeprefix("http://")
        assert Redfish.discover([place, "127.0.0.1:1"]) == (
            {"kind": "redfish", "address": f"http://{place}"},
        )


def test_a_password_file_that_is_not_there_is_reported():
    (check,) = drivers.meter(
        Spec("redfish", {"address": "192.0.2.1", "password_file": "/nonexistent"})
    ).checks()
    assert not check.ok


def test_an_address_that_is_not_a_web_service_is_refused(listen):
    with pytest.raises(PerjouleError, match=r'begin it with "http://" or "https://"'):
        listen({"kind": "redfish", "address": "file:///etc"}, lambda h: True)


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is missing (sudo apt install openssl)")
def test_a_certificate_is_believed_only_when_it_is_given_or_nobody_asks(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    name = ["-subj", "/CN=bmc", "-addext", "subjectAltName=IP:127.0.0.1"]
    argv = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        key,
        "-out",
        certificate,
        "-days",
        "1",
        *name,
    ]
    subprocess.run(argv, check=True, capture_output=True, timeout=60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    class Root(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"RedfishVersion": "1.15.0"}')

        def log_message(self, format, *args):
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, request, client_address):
            """A client that does not believe the certificate hangs up."""

    with Quiet(("127.0.0.1", 0), Root) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02))
        thread.start()
        try:
            address = f"https://127.0.0.1:{server.server_address[1]}"
            with pytest.raises(
                PerjouleError, match=r"not trusted \(self.signed certificate\); set authorities"
            ):
                Place(address, timeout_s=30).json("/redfish/v1/")
            for place in (Place(address, 30, authorities=certificate), Place(address, 30, verify=False)):
                assert place.json("/redfish/v1/")["RedfishVersion"] == "1.15.0"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("fault", simulator.FAULTS)
def test_a_fault_is_a_gap_or_stays_what_the_meter_said(listen, noted, fault):
    range_j = 30.0 if fault == "wrap" else math.inf
    behaviour = noted(WAVE, faults=(fault,), share_ratio=0.0, late_s=0.9, away_s=0.1, range_j=range_j)
    counts = fault in ("wrap", "reset")

    def told(heard):
        behaviour.share_ratio = 0.2  # the request at the beginning is answered
        value = heard.of("energy" if counts else "power")[1]
        if fault in ("frozen", "duplicate"):
            return len(value) > 15
        odd = np.diff(value, prepend=value[0]) < 0 if counts else np.isnan(value) | (value > 1000)
        return odd.any() and not odd[-1]

    with simulator.serve(behaviour, schema="energy in joules" if counts else "environment") as options:
        heard = listen(
            {**options, "rate": "40 Hz", "timeout": "0.6 s" if fault in ("late", "missing") else "30 s"}, told
        )
    gaps = fault in ("late", "missing", "disconnect")
    assert bool(heard.failures) == gaps, heard.doubts
    if not counts:
        assert behaviour.told(
            [p for p in heard.of()[1] if not math.isnan(p)], lambda said: round(said.power_w, 1)
        )


def test_a_number_that_is_written_as_text_is_one_and_other_text_is_refused():
    assert words.consumed_w({"PowerControl": [{"PowerConsumedWatts": "216"}]}, 0) == 216.0
    with pytest.raises(ValueError, match="PowerConsumedWatts is 'N/A', which is no number"):
        words.consumed_w({"PowerControl": [{"PowerConsumedWatts": "N/A"}]}, 0)


def test_a_server_that_answers_and_shows_no_watts_has_a_gap(listen):
    with simulator.serve(Behaviour(Waveform("constant", 0.0, 0.0, 1.0))) as options:
        heard = listen({**options, "rate": "50 Hz"}, lambda h: len(h.samples) > 3)
    assert np.isnan(heard.of()[1]).all()
