"""PowerSensor3: words of two bytes, lost bytes, pairs that feed one drive, and the joules of a load."""

import struct

import numpy as np
import pytest

from perjoule.energy.amount import amount
from perjoule.meters.powersensor3 import frames
from perjoule.meters.powersensor3.frames import Frames
from perjoule.model import Series
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.waveform import Waveform
from perjoule.simulators import powersensor3 as simulator
from perjoule.simulators._behaviour import Behaviour
from perjoule.testbeds.local import LocalHost

STEP_W = 3.3 / 1023 / simulator.VOLT_PER_AMPERE * 12.1  # of the current, at the voltage as it is read
fast = {"rate": "20 Hz", "timeout": "300 ms"}


def word(sensor, level, mark=0):
    """As the firmware has it: 1sssllll 0mllllll."""
    return int(f"1{sensor:03b}{level >> 6:04b}0{mark}{level & 63:06b}", 2).to_bytes(2, "big")


def frame(t_us, levels, mark=0):
    return word(7, t_us % 1024, 1) + b"".join(
        word(n, level, mark if n == 0 else 0) for n, level in enumerate(levels)
    )


def sensor(*, name="slot", reference_v=0.0, sensitivity=1.0, on=True):
    return struct.pack("<16s16sff?", b"MLX10", name.encode(), reference_v, sensitivity, on)


LEVELS = [[n * 100 + k for n in range(8)] for k in range(20)]
SENT = b"".join(frame(50 * k, levels, mark=k % 2) for k, levels in enumerate(LEVELS))


@pytest.mark.parametrize("size", [1, 2, 7, 18, 19, 1000])
def test_frames_are_found_however_the_bytes_come(size):
    heard = Frames()
    parts = [heard.levels(SENT[at : at + size]) for at in range(0, len(SENT), size)]
    levels, passed_s = (np.concatenate([part[n] for part in parts]) for n in (0, 1))
    assert levels.tolist() == LEVELS[1:]  # the first has no time before it
    assert passed_s == pytest.approx(np.full(19, 50e-6))


def test_lost_bytes_cost_their_frames_and_no_time_of_others():
    heard = Frames()
    levels, passed_s = heard.levels(b"\x12" + SENT[:95] + SENT[97:])
    assert levels.tolist() == [*LEVELS[1:5], *LEVELS[6:]]
    assert passed_s == pytest.approx([50e-6] * 4 + [100e-6] + [50e-6] * 13)


def test_a_stream_that_is_damaged_all_the_time_is_looked_at_once(monkeypatch):
    looked, valid = [], frames._valid
    monkeypatch.setattr(frames, "_valid", lambda words: looked.append(len(words)) or valid(words))
    levels, _ = Frames().levels(b"\x12".join([SENT[:18]] * 500))
    assert len(levels) == 499
    assert sum(looked) < 4 * 500


def test_bytes_without_a_frame_are_refused_in_the_end():
    heard = Frames()
    with pytest.raises(ValueError, match="no sample among"):
        for _ in range(100):
            assert not len(heard.levels(bytes(4096))[1])
    for garbage in (b"\xf0\x40" * 9, b"\xff" * 18, b"9" * 18):
        assert not len(Frames().levels(garbage * 2)[1])


def test_a_pair_is_current_times_voltage_by_its_settings():
    off = sensor(on=False)
    settings = (
        off * 4
        + sensor(name="gpu", reference_v=1.65, sensitivity=0.12)
        + sensor(name="gpu", sensitivity=0.1)
        + off * 2
    )
    (pair,) = frames.pairs(settings)
    assert (pair.number, pair.name) == (2, "gpu")
    levels = np.array([[0] * 4 + [744, 372] + [0] * 2])
    assert pair.power_w(levels) == pytest.approx(
        [(3.3 * 744 / 1023 - 1.65) / 0.12 * (3.3 * 372 / 1023 / 0.1)]
    )
    assert frames.pairs(off + sensor() + off * 6) == []  # a voltage alone is not a pair
    with pytest.raises(ValueError, match="pair 0 has impossible settings"):
        frames.pairs(sensor(sensitivity=0.0) * 8)
    with pytest.raises(ValueError, match="impossible"):
        frames.pairs(sensor(reference_v=float("nan")) * 8)


@pytest.mark.alone  # it holds the device's time against that of this machine
def test_the_joules_are_those_of_the_waveform(listen):
    wave = Waveform("square", 10.0, 60.0, 0.4)
    with simulator.serve(Behaviour(wave)) as table:
        heard = listen({**table, **fast}, lambda heard: len(heard.samples) > 40)
    channel = heard.samples[0][0]
    assert (channel.semantics, channel.grade, channel.component) == ("window mean", "component", "drive-1")
    rows = np.array([(t_s, duration_s, value, t_s, t_s) for _, t_s, value, duration_s in heard.samples])
    end_s = rows[-2, 0]
    found = amount(Series.of_rows(channel, rows), end_s - 3 * 0.4, end_s)
    assert found.value == pytest.approx(35.0 * 3 * 0.4, rel=0.04)
    assert rows[5:, 1].sum() == pytest.approx(rows[-1, 0] - rows[4, 0], abs=0.05)  # no time is missing
    assert not heard.failures


def test_pairs_on_the_supplies_of_one_drive_are_added(listen, tmp_path):
    with simulator.serve(Behaviour(Waveform("constant", 30, 30))) as table:
        named = {simulator.NAME: "", str(simulator.PAIR): ""}  # the same one twice
        heard = listen({**table, **fast, "drives": named}, lambda heard: len(heard.samples) > 3)
        with pytest.raises(MachineError, match=r'no pair of sensors 0 is on.*on: 1 \("slot"\)'):
            listen({**table, "drives": {"0": ""}}, any)
        with pytest.raises(CampaignError, match="storage-9"):
            listen({**table, "drives": {"1": "storage-9/nvme0"}}, any, hosts=[LocalHost(tmp_path)])
    assert heard.of()[1] == pytest.approx(np.full(len(heard.samples), 60.0), abs=2 * STEP_W)


@pytest.mark.parametrize("fault", simulator.FAULTS)
def test_no_fault_invents_a_number_and_it_comes_back(listen, fault):
    behaviour = Behaviour(
        Waveform("constant", high_w=30), faults=(fault,), share_ratio=0.0, seed=3, late_s=0.5, away_s=0.2
    )

    def back_again(heard):
        values = heard.of()[1]
        behaviour.share_ratio = 0.5 if len(values) < 20 else 0.0
        return len(values) > 30

    with simulator.serve(behaviour) as table:
        heard = listen({**table, **fast}, back_again)
    values = heard.of()[1]
    most_w = (3.3 - simulator.REFERENCE_V) / simulator.VOLT_PER_AMPERE * 12.1  # where its sensor ends
    known = values[np.isfinite(values)]
    assert known[-1] == pytest.approx(30, abs=STEP_W)
    assert known.min() > 30 - STEP_W
    assert known.max() < (most_w if fault == "spike" else 30 + STEP_W)
