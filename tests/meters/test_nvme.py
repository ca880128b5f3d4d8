"""NVMe drives: bytes as the standard has them, what a state is worth, and programs that print anything."""

import math
import re
import subprocess
from shutil import which

import numpy as np
import pytest

from perjoule import drivers
from perjoule.energy import amount as energy
from perjoule.meters.nvme import Nvme, answers
from perjoule.model import Series, Spec
from perjoule.model.errors import MachineError, PerjouleError
from perjoule.model.waveform import Waveform
from perjoule.simulators import nvme as simulator
from perjoule.simulators._behaviour import Behaviour
from places import TRANSCRIPTS

WAVE = Waveform("sine", 4.0, 12.0, 0.5)


def sentence(*parts):
    """A line of DESCRIBE: bytes as decimal numbers."""
    return " ".join(map(str, parts))


def test_a_power_is_its_value_times_its_scale():
    for said, power_w in ((0x1_1388, 0.5), (0x2_01F4, 5.0), (0x2_FFFF, 655.35)):
        assert answers.power_w(said) == pytest.approx(power_w)
    # no scale, a reserved one, none, of a part
    for unknown in (0, 0x0_01F4, 0x3_01F4, 0x2_0000, 0x12_01F4 | 1 << 20):
        assert math.isnan(answers.power_w(unknown))


def test_a_drive_is_what_its_bytes_at_their_offsets_say():
    page = bytearray(4096)
    page[263] = 1
    page[2048:2052] = [0xC4, 0x09, 0, 0]  # 2500 x 0.01 W
    page[2080:2084] = [0xF4, 0x01, 0, 3]  # 500 x 0.0001 W, and takes no requests
    page[2112:2116] = [0xFF, 0xFF, 0, 0]  # after the last one
    log = bytearray(64)
    log[2], log[56] = 4, 10
    smart = [0x39, 0x30, 0, 0, 0, 0, 0, 0, 0xF4, 0x01, 2, 0]
    said = "\n".join(
        (
            sentence("nvme0", "smart", *smart),
            sentence("nvme0", "measurement", *log),
            sentence("nvme0", "control", *page),
            sentence("nvme1", "smart", *bytes(12)),
        )
    )
    one, other = answers.drive("nvme0", said), answers.drive("nvme1", said)
    assert (one.power, one.hours_count, one.estimates, one.error_ratio) == (0x201F4, 12345, True, 0.1)
    assert one.most_w == pytest.approx((25.0, 0.05))
    assert (one.measures, one.counts, one.step_w) == (True, True, 0.01)
    assert (other.answers, other.measures, other.error_ratio, other.most_w) == (True, False, None, ())
    assert not answers.drive("nvme2", said).answers
    assert not answers.drive("nvme0", sentence("nvme0", "smart", *smart[:-1])).answers


def test_its_watts_are_means_of_its_last_second_and_its_energy_counts_watt_hours(listen, noted):
    behaviour = noted(WAVE)
    with simulator.serve(behaviour) as options:
        heard = listen({**options, "rate": "20 Hz"}, lambda heard: len(set(heard.of("power")[1])) > 8)
    assert behaviour.told(heard.of("power")[1], lambda said: round(round(said.power_w / 0.01) * 0.01, 6))
    channels = {channel.quantity: channel for channel, *_ in heard.samples}
    power, counter = channels["power"], channels["energy"]
    assert (power.component, power.semantics, power.grade) == ("drive-nvme0", "window mean", "component")
    assert (power.specification.gain_ratio, power.specification.resolution) == (0.05, 0.01)
    assert {duration_s for channel, _, _, duration_s in heard.samples if channel is power} == {1.0}
    assert (counter.semantics, counter.specification.resolution) == ("counter", 3600.0)
    assert set(heard.of("energy")[1]) <= {3600.0 * (simulator.HOURS_COUNT + n) for n in (0, 1)}
    assert not heard.failures


def test_a_drive_that_only_has_a_state_bounds_its_power_and_has_no_energy(listen):
    with simulator.serve(Behaviour(WAVE), measures=False) as options:
        heard = listen({**options, "rate": "50 Hz"}, lambda heard: len(set(heard.of()[1])) > 1)
    ((channel, *_), *_) = heard.samples
    assert (channel.semantics, channel.grade) == ("state", "nameplate")
    assert set(heard.of()[1]) == {simulator.STATES_W[0], simulator.STATES_W[simulator.LOW_POWER]}
    times, values = heard.of()
    series = Series.of_rows(channel, np.column_stack((times, np.zeros(len(times)), values, times, times)))
    assert energy.amount(series, times[0], times[-1]).value is None
    assert (energy.most_j(series, times[0], times[-1]) or 0) >= 0.05 * (times[-1] - times[0])
    assert any("nvme0 reports only its power state" in doubt for doubt in heard.doubts)


def test_a_drive_that_estimates_is_doubted(listen):
    for estimates in (False, True):
        with simulator.serve(Behaviour(WAVE), estimates=estimates) as options:
            heard = listen(options, lambda heard: heard.samples)
        assert any("estimates its power" in doubt for doubt in heard.doubts) == estimates


@pytest.mark.parametrize("fault", simulator.FAULTS)
def test_a_fault_is_a_gap_or_stays_what_the_drive_said(listen, noted, fault):
    behaviour = noted(WAVE, faults=(fault,), share_ratio=0.0, away_s=0.15)

    def told(heard):
        behaviour.share_ratio = 0.3  # what is there at the beginning can be read
        power_w = heard.of()[1]
        if fault in ("frozen", "duplicate"):
            return len(power_w) > 15
        odd = np.isnan(power_w) | (power_w > 100)
        if odd.any():
            behaviour.share_ratio = 0.0
        return odd.any() and not odd[-1]

    with simulator.serve(behaviour) as options:
        heard = listen({**options, "rate": "50 Hz"}, told)
    shown = [power for power in heard.of()[1] if not math.isnan(power)]
    assert behaviour.told(
        shown,
        lambda said: (
            0.0 if math.isnan(said.power_w) else round(min(round(said.power_w / 0.01), 65535) * 0.01, 6)
        ),
    )


def test_nvme_cli_without_a_drive_answers_nothing():
    """As nvme-cli 2.3 does on a machine without one."""
    one = answers.drive("nvme0", (TRANSCRIPTS / "nvme" / "no-drive.txt").read_text())
    assert (one.answers, one.measures, one.most_w) == (False, False, ())


@pytest.fixture
def host(tmp_path):
    """A folder like /sys/class/nvme."""
    for name, transport in (
        ("nvme0", "pcie"),
        ("nvme10", "pcie"),
        ("nvme2", "pcie"),
        ("nvme3", "tcp"),
        ("nvme-fabrics", ""),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "transport").write_text(f"{transport}\n")
    return tmp_path


def test_drives_of_other_machines_are_left_out_unless_they_are_named(host):
    assert Nvme(root=host)._names(host, "") == ["nvme0", "nvme2", "nvme10"]
    assert Nvme(root=host, drives=("/dev/nvme3",))._names(host, "") == ["nvme3"]
    with pytest.raises(MachineError, match=r"no NVMe drive is called nvme0n1.*nvme0, nvme2, nvme3, nvme10"):
        Nvme(root=host, drives=("nvme0n1",))._names(host, "")
    with pytest.raises(MachineError, match="3 drives can't be the one component disks"):
        Nvme(root=host, component="disks")._names(host, "")
    with pytest.raises(MachineError, match="no NVMe drive"):
        Nvme(root=host / "none")._names(host / "none", "")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("exit 1", "nvme2 does not answer"),
        ("sleep 60", "nvme2 does not answer"),
        ("exec cat /dev/zero", "neither its power nor the highest power of its states"),
        ("exec yes 99999999999999999999", ""),
        ("head -c 5000 /dev/urandom", ""),
    ],
)
def test_a_program_that_prints_anything_ends_in_time_with_a_sentence(listen, host, words, what):
    tool = host / "nvme"
    tool.write_text(f"#!/bin/sh\n{words}\n")
    tool.chmod(0o755)
    options = {"kind": "nvme", "tool": str(tool), "root": str(host), "drives": ["nvme2"], "timeout": "300 ms"}
    if what:
        with pytest.raises(MachineError, match=what):
            listen(options, lambda heard: heard.samples, timeout_s=10)
        return
    try:  # bytes that happen to be a power are one
        heard = listen(options, lambda heard: len(heard.samples) > 1, timeout_s=10)
    except PerjouleError as refused:
        assert re.search("nvme2|no drive answered", str(refused))
    else:
        assert all(math.isnan(value) or 0 <= value < 1e5 for value in heard.of()[1])


def test_the_check_names_what_is_missing(host):
    tool, drive = drivers.meter(Spec("nvme", {"root": str(host / "none"), "tool": "/no/such/nvme"})).checks()
    assert (tool.ok, tool.fix, drive.ok, drive.fix) == (False, "sudo apt install nvme-cli", False, drive.fix)
    assert drive.detail == "no NVMe drive"


@pytest.mark.skipif(which("nvme") is None, reason="nvme-cli is missing (sudo apt install nvme-cli)")
def test_the_real_nvme_cli_knows_all_options():
    """It has no drive here: it refuses the device, not the words."""
    commands = re.findall(r"ask ((?:get-log|id-ctrl|get-feature)[^|)]*)", answers.DESCRIBE + answers.SAMPLE)
    assert len(commands) == 5
    for command in commands:
        name, *options = command.split()
        done = subprocess.run(
            ["nvme", name, "/dev/null", *options], capture_output=True, text=True, check=False
        )
        assert "Inappropriate ioctl" in done.stdout + done.stderr, command
