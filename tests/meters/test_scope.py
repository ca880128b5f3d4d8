"""An oscilloscope: bytes to volts, what is beyond the screen, and the mean of u x i against the product of the means."""

import math

import numpy as np
import pytest

from perjoule.meters.scope import Preamble, Scope, volts
from perjoule.model.errors import MachineError
from perjoule.model.waveform import Waveform
from perjoule.simulators import scope as simulator
from perjoule.simulators._behaviour import Behaviour
from places import TRANSCRIPTS

SAID = TRANSCRIPTS / "scope"
SINE = Waveform("sine", 20, 40, period_s=7.3)
fast = {"rate": "50 Hz", "window": "4 ms"}


def test_bytes_are_volts_by_the_preamble():
    preamble = Preamble.of((SAID / "preamble.txt").read_text())
    assert volts(bytes([128, 129, 96]), preamble) == pytest.approx([2.5, 2.53125, 1.5])
    with pytest.raises(ValueError, match="3 numbers, not ten"):
        Preamble.of("0,0,1000")
    with pytest.raises(ValueError, match="without data points"):
        volts(b"", preamble)


def test_holes_and_what_is_beyond_the_screen_are_no_volts():
    assert np.isnan(volts(bytes([0, 1, 255]), Preamble(0.1, 0.0, 128))).all()


@pytest.mark.parametrize("line", ["tcp", "serial"])
def test_the_power_is_the_mean_of_the_product(listen, stepping, line):
    with simulator.serve(Behaviour(SINE, now_s=stepping), line=line) as table:
        heard = listen({**table, **fast, "voltage_accuracy": "1 %", "current_accuracy": "1.5 %"}, lambda h: len(h.samples) > 8)
    true = np.array([SINE.energy_j(t / 4 - 0.004, t / 4) / 0.004 for t in range(1, 400)])
    values = heard.of("power")[1]
    # half a step of either channel's bytes: 40 mV of some 12 V, 54 mA of some 3 A
    assert max(np.abs(true - value).min() for value in values) < 14 * 0.054 + 4 * 0.04
    assert np.ptp(values) > 5
    channel = heard.samples[0][0]
    assert (channel.semantics, channel.grade) == ("instantaneous", "component")
    assert channel.specification.gain_ratio == pytest.approx(0.025)
    assert not [doubt for doubt in heard.doubts if "failed" in doubt or "mean" in doubt]


def test_the_product_of_the_means_is_another_number_and_says_so(listen):
    with simulator.serve(Behaviour(Waveform("constant", high_w=30))) as table:
        right, other = (
            listen({**table, **fast, "reads": reads}, lambda heard: len(heard.samples) > 3) for reads in ("waveforms", "means")
        )
    assert right.of("power")[1].mean() == pytest.approx(30, abs=0.8)
    low_v, high_v = simulator.LOW_V, simulator.HIGH_V
    product_w = (low_v + high_v) / 2 * (30 / low_v + 30 / high_v) / 2
    assert other.of("power")[1].mean() == pytest.approx(product_w, rel=0.001)
    assert product_w > 30.8
    assert "only if one of them is steady" in other.doubts[-1]


@pytest.mark.parametrize(
    ("fault", "reads"),
    [*((fault, "waveforms") for fault in ("missing", "late", "disconnect", "nan", "spike")), ("nan", "means")],
)
def test_no_fault_invents_a_number_and_it_comes_back(listen, fault, reads):
    behaviour = Behaviour(Waveform("constant", high_w=30), faults=(fault,), share_ratio=0.2, seed=3, late_s=0.3, away_s=0.15)

    def back_again(heard):
        valid = np.isfinite(heard.of("power")[1])
        return len(valid) and valid[-2:].all() and not valid.all()

    with simulator.serve(behaviour) as table:
        heard = listen({**table, **fast, "timeout": "200 ms", "reads": reads}, back_again)
    values = heard.of("power")[1]
    assert np.abs(values[np.isfinite(values)] - 30).max() < 1.2


def test_another_instrument_and_a_refused_setup_are_told(listen, monkeypatch):
    with simulator.serve(Behaviour()) as table:
        with pytest.raises(MachineError, match="refuses its setup: -113"):
            listen({**table, "voltage_channel": 7}, any)
        assert Scope.discover([str(table["address"]), "127.0.0.1:1"]) == ({"kind": "scope", "address": table["address"]},)
        monkeypatch.setattr(simulator, "IDENTITY", "ACME,Toaster,1,1")
        with pytest.raises(MachineError, match="Toaster"):
            listen(table, any)
        assert Scope.discover([str(table["address"])]) == ()


def test_a_point_that_is_missing_leaves_no_power():
    scope = Scope(address="TCPIP::x::5025::SOCKET")
    assert math.isnan(scope._power_w(lambda channel: np.array([1.0, math.nan if channel == 2 else 1.0])))
