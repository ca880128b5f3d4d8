"""Meters by their real tools, and the whole menu of faults where each answer takes its time."""

import math
import os
import shutil
import subprocess
import time

import numpy as np
import pytest

from perjoule.model.errors import PerjouleError
from perjoule.model.waveform import Waveform
from perjoule.simulators import ipmi, snmp_pdu
from perjoule.simulators._behaviour import Manner

pytestmark = pytest.mark.live

WAVE = Waveform("sine", 123.4, 246.8, 1.0)
GAPS = ("late", "missing", "nan", "disconnect")  # what must leave a gap


def needs(tool: str, package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        not shutil.which(tool), reason=f"{tool} is missing (sudo apt install {package})"
    )


def befalls(fault, behaviour, listen, options):
    """Listen until a fault has been met and is over; nothing but what was sent may have been heard."""

    def over(heard):
        behaviour.faults, behaviour.share_ratio = (fault,), 0.4  # the request at the beginning is answered
        watts = heard.of()[1]
        if fault in ("frozen", "duplicate", "clock jump"):
            return len(watts) > 5
        odd = np.isnan(watts) | (watts > 1000)
        return odd.any() and not odd[-1]

    try:
        heard = listen({**options, "rate": "20 Hz", "timeout": "1 s" if fault in GAPS else "30 s"}, over)
    finally:
        behaviour.faults = ()
        while behaviour.manner() != Manner():  # until it is well again
            time.sleep(0.01)
    known_w = [said.power_w for said in behaviour.said if not math.isnan(said.power_w)]
    # a strip; a BMC
    shown_w = {watts for power_w in known_w for watts in (math.floor(power_w), min(round(power_w), 65535))}
    assert {power_w for power_w in heard.of()[1] if not math.isnan(power_w)} <= shown_w
    # a BMC shows a spike as its highest number, which is not a reading
    if fault not in (*GAPS, "spike", "zero", "unknown"):
        # ipmitool waits a second for each answer, which on a busy machine may come later: that is a gap, too
        assert not [words for words in heard.failures if "Unable to establish" not in words]


@needs("ipmitool", "ipmitool")
def test_no_fault_of_a_bmc_becomes_a_number(listen, noted, tmp_path):
    behaviour = noted(WAVE, late_s=1.5, away_s=0.1)
    with ipmi.serve(behaviour) as options:
        for fault in ipmi.FAULTS:
            befalls(fault, behaviour, listen, options)
        (tmp_path / "wrong").write_text("wrong")
        with pytest.raises(PerjouleError, match=r"meter ipmi: .*(Unable to establish|HMAC|no answer)"):
            listen(
                {**options, "password_file": str(tmp_path / "wrong"), "timeout": "5 s"}, lambda heard: True
            )


@pytest.mark.slow  # by day: a BMC, above; tests/meters/test_hostile.py
@needs("snmpget", "snmp")
def test_no_fault_of_a_power_strip_becomes_a_number_and_snmpget_says_the_same(listen, noted, tmp_path):
    behaviour = noted(WAVE, late_s=1.5, away_s=0.1)
    with snmp_pdu.serve(behaviour) as options:
        for fault in snmp_pdu.FAULTS:
            if fault not in ("wrap", "reset"):  # of a counter that steps by 360 kJ
                befalls(fault, behaviour, listen, options)
        argv = [
            "snmpget",
            "-v2c",
            "-cpublic",
            "-Oqv",
            f"127.0.0.1:{options['port']}",
            "1.3.6.1.4.1.318.1.1.26.9.4.3.1.7.3",
        ]
        environment = {**os.environ, "SNMP_PERSISTENT_DIR": str(tmp_path), "MIBS": ""}
        done = subprocess.run(argv, capture_output=True, text=True, env=environment, timeout=30, check=True)
        assert int(done.stdout) == math.floor(behaviour.said[-1].power_w)
