"""IPMI: the real ipmitool and a BMC that speaks RMCP+, whole watts, and 0 W that mean nothing."""

import math
import shutil
import subprocess

import pytest

from perjoule import drivers
from perjoule.meters._sysfs import Sensor
from perjoule.meters.ipmi import _POWER_IN_BASH, _UNKNOWN_W, Ipmi, power_w
from perjoule.model import Channel, Spec
from perjoule.model.errors import MachineError, PerjouleError
from perjoule.model.waveform import Waveform
from perjoule.simulators import ipmi as simulator
from places import TRANSCRIPTS

SAID = TRANSCRIPTS / "ipmi"
WAVE = Waveform("sine", 120.4, 240.0, 1.0)

real = pytest.mark.skipif(
    not shutil.which("ipmitool"), reason="ipmitool is missing (sudo apt install ipmitool)"
)


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
def test_what_is_not_a_reading_is_refused(text):
    with pytest.raises(PerjouleError):
        power_w(text)


def test_a_password_is_never_an_argument(tmp_path):
    file = tmp_path / "password"
    file.write_text("secret")
    argv = Ipmi(address="192.0.2.1", user="me", password_file=file)._argv()
    assert "secret" not in " ".join(argv)
    assert argv == Ipmi(address="192.0.2.1", user="me")._argv()
    assert "-E" in argv


def test_a_password_is_one_line_in_the_environment_of_ipmitool_and_a_key_is_none(tmp_path):
    (tool := tmp_path / "ipmitool").write_text('#!/bin/sh\necho "$IPMI_PASSWORD"\n')
    tool.chmod(0o755)
    (file := tmp_path / "password").write_text("secret\n")
    meter = Ipmi(address="192.0.2.1", user="me", password_file=file)
    assert meter._asked([str(tool)]) == "secret\n"
    file.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n")
    with pytest.raises(MachineError, match="this is not a password: it has more than one line"):
        meter._asked([str(tool)])


def test_a_password_file_that_is_not_there_is_reported(tmp_path):
    checks = drivers.meter(
        Spec("ipmi", {"address": "192.0.2.1", "password_file": str(tmp_path / "none")})
    ).checks()
    assert [check.name for check in checks if not check.ok and "none" in check.detail] == ["password"]


@pytest.fixture(scope="module")
def bmc(noted):
    """One BMC for all tests, and what it says."""
    behaviour = noted(WAVE)
    with simulator.serve(behaviour) as options:
        yield behaviour, options


@real
def test_the_watts_are_those_of_the_waveform(listen, bmc):
    behaviour, options = bmc
    heard = listen({**options, "rate": "15 Hz", "timeout": "30 s"}, lambda h: len(set(h.of()[1])) > 4)
    (channel,) = {channel for channel, *_ in heard.samples}
    assert (channel.semantics, channel.grade, channel.specification.resolution) == ("average", "BMC", 1.0)
    assert behaviour.told(heard.of()[1], lambda said: round(said.power_w))


@real
def test_a_bmc_is_found_at_its_address_without_a_login(bmc):
    port = bmc[1]["port"]
    assert Ipmi.discover([f"127.0.0.1:{port}"])[-1] == {"kind": "ipmi", "address": "127.0.0.1", "port": port}


OPENBMC = """
    Instantaneous power reading:                   {watts} Watts
    Minimum during sampling period:                {watts} Watts
    Maximum during sampling period:                {watts} Watts
    Average power reading over sample period:      {watts} Watts
    IPMI timestamp:                           Thu Jan  1 00:00:00 1970
    Sampling period:                          00000000 Seconds.
    Power reading state is:                   deactivated
"""


def test_openbmc_calls_every_reading_deactivated():
    assert power_w(OPENBMC.format(watts=319)) == 319.0


@pytest.mark.parametrize("watts", [0, 65535])
@pytest.mark.parametrize("state", ["activated", "deactivated"])
def test_no_watts_and_all_bits_are_no_reading(watts, state):
    with pytest.raises(PerjouleError, match=f"the BMC shows {watts} W .{state}., which is not a reading"):
        power_w(OPENBMC.format(watts=watts).replace("deactivated", state))


@pytest.mark.parametrize(("watts", "shown"), [("319", 319.0), ("0", None), ("65535", None)])
def test_a_host_reads_its_bmc_as_this_machine_does(tmp_path, watts, shown):
    said = OPENBMC.format(watts=watts)
    match = subprocess.run(
        ["bash", "-c", '[[ $1 =~ $2 ]] && echo "${BASH_REMATCH[1]}"', "-", said, _POWER_IN_BASH],
        capture_output=True,
        text=True,
        check=True,
    )
    number = Sensor(
        Channel("ipmi", "h", "all", "power", "W", "average", "BMC"),
        tmp_path,
        1.0,
        _UNKNOWN_W,
        zero_unknown=True,
    ).value(float(match.stdout))
    assert number == shown if shown else math.isnan(number)
