"""An oscilloscope: bytes to volts, what is beyond the screen, and the mean of u x i against the product of
the means.
"""

import math

import numpy as np
import pytest
from pydantic import ValidationError

from perjoule.meters.scope import Preamble, Scope, volts
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.waveform import Waveform
from perjoule.simulators import scope as simulator
from perjoule.simulators._behaviour import Behaviour
from perjoule.testbeds.local import LocalHost
from places import TRANSCRIPTS
from typed import as_written

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
        heard = listen(
            {**table, **fast, "voltage_accuracy": "1 %", "current_accuracy": "1.5 %"},
            lambda h: len(h.samples) > 8,
        )
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
            listen({**table, **fast, "reads": reads}, lambda heard: len(heard.samples) > 3)
            for reads in ("waveforms", "means")
        )
    assert right.of("power")[1].mean() == pytest.approx(30, abs=0.8)
    low_v, high_v = simulator.LOW_V, simulator.HIGH_V
    product_w = (low_v + high_v) / 2 * (30 / low_v + 30 / high_v) / 2
    assert other.of("power")[1].mean() == pytest.approx(product_w, rel=0.001)
    assert product_w > 30.8
    assert "only if one of them is steady" in other.doubts[-1]


@pytest.mark.parametrize(
    ("fault", "reads"),
    [
        *((fault, "waveforms") for fault in ("missing", "late", "disconnect", "nan", "spike")),
        ("nan", "means"),
    ],
)
def test_no_fault_invents_a_number_and_it_comes_back(listen, fault, reads):
    behaviour = Behaviour(
        Waveform("constant", high_w=30), faults=(fault,), share_ratio=0.2, seed=3, late_s=0.3, away_s=0.15
    )

    def back_again(heard):
        valid = np.isfinite(heard.of("power")[1])
        return len(valid) and valid[-2:].all() and not valid.all()

    with simulator.serve(behaviour) as table:
        heard = listen({**table, **fast, "timeout": "200 ms", "reads": reads}, back_again)
    values = heard.of("power")[1]
    assert np.abs(values[np.isfinite(values)] - 30).max() < 1.2


def test_another_instrument_and_a_refused_setup_are_reported(listen, monkeypatch):
    with simulator.serve(Behaviour()) as table:
        with pytest.raises(MachineError, match="refuses its setup: -113"):
            listen({**table, "voltage_channel": 7}, any)
        assert Scope.discover([str(table["address"]), "127.0.0.1:1"]) == (
            {"kind": "scope", "address": table["address"]},
        )
        monkeypatch.setattr(simulator, "IDENTITY", "ACME,Toaster,1,1")
        with pytest.raises(MachineError, match="Toaster"):
            listen(table, any)
        assert Scope.discover([str(table["address"])]) == ()


def test_a_point_that_is_missing_leaves_no_power():
    scope = Scope(address="TCPIP::x::5025::SOCKET", drives={"1x2": "storage-1/sda", "3x4": "storage-1/sda"})
    steady = {number: np.ones(2) for number in (1, 2, 3)}
    for missing_v in (np.array([1.0, math.nan]), np.full(2, math.nan)):
        assert math.isnan(scope._power_w([(1, 2), (3, 4)], {**steady, 4: missing_v}))
    with pytest.raises(ValueError, match="channels 3 and 4 have 2 and 3 points"):
        scope._power_w([(1, 2), (3, 4)], {**steady, 4: np.ones(3)})


def test_a_shunt_of_a_tenth_of_an_ohm_on_both_rails_of_a_drive():
    drives = {"1x2": "storage-1/sda", "3x4": "storage-1/sda"}
    scope = as_written(Scope, address="x", drives=drives, ampere_per_volt=1 / 0.1)
    # 12 V with 50 mV and then 20 mV across its shunt (0.5 A, 0.2 A: 4.2 W), 5 V with 60 mV (0.6 A: 3 W)
    shown_v = {
        1: np.array([12.0, 12.0]),
        2: np.array([0.05, 0.02]),
        3: np.array([5.0, 5.0]),
        4: np.array([0.06, 0.06]),
    }
    assert scope._power_w([(1, 2), (3, 4)], shown_v) == pytest.approx(7.2)
    assert scope._feeds() == {"storage-1/sda": [(1, 2), (3, 4)]}


@pytest.mark.parametrize("reads", ["waveforms", "means"])
def test_the_rails_of_a_drive_add_up_and_other_drives_are_apart(listen, reads):
    with simulator.serve(Behaviour(Waveform("constant", high_w=30))) as table:

        def watts(drives):
            heard = listen(
                {**table, **fast, "reads": reads, "drives": drives}, lambda heard: len(heard.samples) > 5
            )
            found = {}
            for channel, _, value, *_ in heard.samples:
                assert (channel.host, channel.grade, channel.covers) == ("storage-1", "component", ())
                found.setdefault(channel.component, []).append(value)
            return {part: float(np.mean(values)) for part, values in found.items()}

        first_w = watts({"1x2": "storage-1/sda"})
        assert watts({"3x4": "storage-1"}) == {"disks": pytest.approx(3.0, abs=0.02)}
        assert watts({"1x2": "storage-1/sda", "3x4": "storage-1/sda"}) == {
            "drive-sda": pytest.approx(first_w["drive-sda"] + 3.0, abs=0.02)
        }
        assert watts({"1x2": "storage-1/sda", "3x4": "storage-1/sdb"}) == {
            "drive-sda": pytest.approx(first_w["drive-sda"], abs=0.02),
            "drive-sdb": pytest.approx(3.0, abs=0.02),
        }


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"drives": {"1,2": "storage-1/sda"}}, r'name pairs of channels, the voltage first \("1x2"\)'),
        ({"drives": {"1x2": "storage-1/sda"}, "current_channel": 4}, "drives names the channels"),
    ],
)
def test_other_ways_to_name_channels_are_refused(options, why):
    with pytest.raises(ValidationError, match=why):
        Scope(address="x", **options)


def test_a_drive_of_no_host_is_refused(listen, tmp_path):
    with pytest.raises(CampaignError, match='no host is called "storage-9"'):
        listen(
            {"kind": "scope", "address": "127.0.0.1:1", "drives": {"1x2": "storage-9/sda"}},
            any,
            hosts=[LocalHost(tmp_path)],
        )
