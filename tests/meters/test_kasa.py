"""Kasa plugs: both versions of the first protocol's words, spoken to by python-kasa itself."""

import json
from contextlib import ExitStack

import numpy as np
import pytest

from perjoule.drivers.boundary import Boundary
from perjoule.meters.kasa import Kasa
from perjoule.model.errors import MachineError
from perjoule.model.waveform import Waveform
from perjoule.simulators import kasa as simulator
from perjoule.simulators._behaviour import Behaviour

SINE = Waveform("sine", 40, 4000, period_s=7.3)


def test_the_cipher_is_the_known_one():
    # published with the protocol's discovery: what an HS110 is sent to be switched on
    said = b'{"system":{"set_relay_state":{"state":1}}}'
    known = bytes.fromhex(
        "d0f281f88bff9af7d5ef94b6c5a0d48bf99cf091e8b7c4b0d1a5c0e2d8a381f286e793f6d4eedfa2dfa2"
    )
    assert simulator.ciphered(said) == known
    assert simulator.deciphered(known) == said


@pytest.mark.parametrize("hardware", [1, 2])
def test_watts_and_joules_are_those_that_flow(listen, stepping, judge, hardware):
    fast = Waveform("sine", 40e3, 4000e3, period_s=7.3)  # watts enough for its steps of 1 Wh
    with simulator.serve(Behaviour(fast, now_s=stepping), hardware=hardware) as table:
        heard = listen({**table, "rate": "100 Hz", "timeout": "30 s"}, lambda heard: len(heard.samples) > 50)
    judge(heard, fast, step_w=0.001, step_j=3600)
    stated = {channel.quantity: channel.specification.resolution for channel, *_ in heard.samples}
    assert stated == pytest.approx({"power": 0.001, "energy": 3600})


@pytest.mark.parametrize("fault", ["missing", "late", "disconnect", "nan"])
def test_what_does_not_come_is_a_gap_and_the_plug_comes_back(listen, fault):
    behaviour = Behaviour(
        Waveform("constant"), faults=(fault,), share_ratio=0.2, seed=3, late_s=0.6, away_s=0.2
    )

    def back_again(heard):
        valid = np.isfinite(heard.of("power")[1])
        return len(valid) and valid[-1] and not valid[:-3].all()

    with simulator.serve(behaviour) as table:
        heard = listen({**table, "rate": "50 Hz", "timeout": "400 ms"}, back_again)
    values = heard.of("power")[1]
    assert set(values[np.isfinite(values)]) == {60.0}


def test_a_plug_that_is_not_there_is_reported(listen):
    with pytest.raises(MachineError, match="can't be read"):
        listen({"kind": "kasa", "address": "127.0.0.1:1"}, any)
    assert Kasa.discover(["127.0.0.1:1"]) == ()


def test_a_plug_is_found_and_one_that_meters_nothing_is_not(monkeypatch):
    with simulator.serve(Behaviour()) as table:
        assert Kasa.discover([str(table["address"])]) == ({"kind": "kasa", "address": table["address"]},)
        system = json.loads(json.dumps(simulator._SYSTEM)) | {"feature": "TIM", "model": "HS100(EU)"}
        monkeypatch.setattr(simulator, "_SYSTEM", system)
        assert Kasa.discover([str(table["address"])]) == ()


def test_a_plug_without_a_meter_whose_description_the_library_trips_over_is_none(monkeypatch):
    """It makes the model's name of the description only when asked."""

    def model(device):
        raise TypeError("argument of type 'float' is not iterable")

    monkeypatch.setattr("kasa.iot.IotDevice.model", property(model))
    monkeypatch.setattr(simulator, "_SYSTEM", json.loads(json.dumps(simulator._SYSTEM)) | {"feature": "TIM"})
    with simulator.serve(Behaviour()) as table:
        assert Kasa.discover([str(table["address"])]) == ()


@pytest.mark.parametrize("said", [10**400, "x", [60], {"W": 60}])
def test_a_number_that_is_none_is_a_gap(said, monkeypatch):
    """The library divides what a plug says, whatever it is."""
    answer = {"get_realtime": {"power_mw": said, "total_wh": 1, "err_code": 0}}
    with ExitStack() as stack:
        address = str(
            stack.enter_context(simulator.serve(Behaviour(Waveform("constant", high_w=60.0))))["address"]
        )
        read = stack.enter_context(Kasa(address=address).connect(Boundary("x", "", "total")))
        assert [one.value for one in read()] == [60.0, 0.0]
        monkeypatch.setattr(simulator, "_answers", lambda *_: answer)
        with pytest.raises(OSError, match=address):
            read()
