"""IPMI: the real ipmitool and a BMC that speaks RMCP+, whole watts, and 0 W that mean nothing."""

import math
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from perjoule import drivers
from perjoule.errors import PerjouleError
from perjoule.meters.ipmi import Ipmi, power_w
from perjoule.simulators import ipmi as simulator
from perjoule.simulators._behaviour import Manner
from perjoule.waveforms import Waveform

GAPS = ("late", "missing", "nan", "disconnect")
SAID = Path(__file__).parents[1] / "transcripts" / "ipmi"
WAVE = Waveform("sine", 120.4, 240.0, 1.0)

real = pytest.mark.skipif(not shutil.which("ipmitool"), reason="ipmitool is missing (sudo apt install ipmitool)")


def test_the_reading_is_the_instantaneous_one():
    assert power_w((SAID / "reading.txt").read_text()) == 216.0


def test_the_zero_of_a_deactivated_reading_is_refused():
    text = (SAID / "deactivated.txt").read_text()
    assert "0 Watts" in text
    with pytest.raises(PerjouleError, match="deactivated"):
        power_w(text)


@pytest.mark.parametrize(
    "text", ["", "    Instantaneous power reading:   na Watts\n", "Instantaneous power reading:   5 Watts\n"]
)
def test_what_is_no_reading_is_refused(text):
    with pytest.raises(PerjouleError):
        power_w(text)


def test_a_password_is_never_an_argument(tmp_path):
    file = tmp_path / "password"
    file.write_text("secret")
    argv = Ipmi(address="192.0.2.1", user="me", password_file=file)._argv()
    assert "secret" not in " ".join(argv)
    assert str(file) in argv
    assert "-E" in Ipmi(address="192.0.2.1")._argv()


def test_a_password_file_that_is_not_there_is_told(tmp_path):
    checks = drivers.build("meters", "ipmi", {"address": "192.0.2.1", "password_file": str(tmp_path / "none")}).checks()
    assert [check.name for check in checks if not check.ok and "none" in check.detail] == ["password"]


@pytest.fixture(scope="module")
def bmc(noted):
    """One BMC for all tests, and its behaviour to be changed."""
    behaviour = noted(WAVE, late_s=2.0, away_s=0.1)
    with simulator.serve(behaviour) as options:
        yield behaviour, options


@real
def test_the_watts_are_those_of_the_waveform(listen, bmc):
    behaviour, options = bmc
    heard = listen({**options, "rate": "15 Hz", "timeout": "30 s"}, lambda h: len(set(h.of()[1])) > 6)
    (channel,) = {channel for channel, *_ in heard.samples}
    assert (channel.semantics, channel.grade, channel.specification.resolution) == ("average", "BMC", 1.0)
    assert behaviour.told(heard.of()[1], lambda said: round(said.power_w))


@real
def test_a_bmc_is_found_at_its_address_without_a_login(bmc):
    port = bmc[1]["port"]
    assert Ipmi.discover([f"127.0.0.1:{port}"])[-1] == {"kind": "ipmi", "address": "127.0.0.1", "port": port}


@real
def test_a_wrong_password_is_told_in_the_tools_own_words(tmp_path, listen, bmc):
    wrong = tmp_path / "wrong"
    wrong.write_text("wrong")
    with pytest.raises(PerjouleError, match=r"meter ipmi: .*(Unable to establish|HMAC|no answer)"):
        listen({**bmc[1], "password_file": str(wrong), "timeout": "2 s"}, lambda h: True)


@real
@pytest.mark.parametrize("fault", simulator.FAULTS)
def test_a_fault_is_a_gap_or_stays_what_the_meter_said(listen, bmc, fault):
    behaviour, options = bmc

    def told(heard):
        behaviour.faults, behaviour.share_ratio = (fault,), 0.4  # the very first reading is a good one
        watts = heard.of()[1]
        if fault in ("frozen", "duplicate", "clock jump"):
            return len(watts) > 6
        odd = np.isnan(watts) | (watts > 1000)
        return odd.any() and not odd[-1]

    try:
        heard = listen({**options, "rate": "20 Hz", "timeout": "1 s" if fault in GAPS else "30 s"}, told)
    finally:
        behaviour.faults = ()
        while behaviour.manner() != Manner():  # until it is well again
            time.sleep(0.01)
    watts = heard.of()[1]
    known = [said.power_w for said in behaviour.said if not math.isnan(said.power_w)]
    assert {power for power in watts if not math.isnan(power)} <= {min(round(power_w), 65535) for power_w in known}
    if fault in GAPS:
        assert heard.failures
    else:
        assert not heard.failures
