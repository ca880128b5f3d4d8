"""hwmon: sensors whose number means nothing, whose shunt scales everything, and whose 4.29 MW mean "not known"."""

import math
from pathlib import Path

import numpy as np
import pytest

from perjoule import drivers
from perjoule.model import Spec
from perjoule.model.errors import PerjouleError
from perjoule.model.waveform import Waveform
from perjoule.simulators import hwmon as simulator

WAVE = Waveform("sine", 20.0, 80.0, 0.5)


def chip(root: Path, number: int, name: str, device: str, **attributes: str) -> None:
    folder, behind = root / f"hwmon{number}", root.parent / "devices" / device
    folder.mkdir(parents=True)
    behind.mkdir(parents=True, exist_ok=True)
    (folder / "device").symlink_to(behind)
    for attribute, text in {"name": name, **attributes}.items():
        (folder / attribute).write_text(f"{text}\n")


@pytest.fixture
def board(tmp_path):
    root = tmp_path / "hwmon"
    chip(root, 0, "coretemp", "coretemp.0", temp1_input="42000")
    chip(root, 2, "ina226", "1-0040", power1_input="12500000", shunt_resistor="10000", update_interval="4")
    chip(root, 5, "ina226", "1-0041", power1_input="3000000", shunt_resistor="2000")
    chip(
        root, 7, "power_meter", "ACPI000D:00", power1_average="216000000", power1_average_interval="1000", power1_accuracy="95.0%"
    )
    chip(root, 8, "ina228", "2-0044", power1_input="5000000", energy1_input="123456789")
    return root


def heard_once(listen, board, **options):
    heard = listen({"kind": "hwmon", "root": str(board), **options}, lambda h: bool(h.samples))
    return heard, heard.samples[0][0], heard.samples[0][2]


def test_a_chip_is_found_by_name_and_device_whatever_its_number(board, listen):
    _, channel, power_w = heard_once(listen, board, chip="ina226", device="1-0041")
    assert (power_w, channel.semantics, channel.grade) == (3.0, "instantaneous", "component")
    (board / "hwmon5").rename(board / "hwmon1")
    assert heard_once(listen, board, chip="ina226", device="1-0041")[2] == 3.0


def test_two_chips_of_one_name_are_not_guessed_between(board, listen):
    with pytest.raises(PerjouleError, match='ina226 at "1-0040", ina226 at "1-0041"'):
        heard_once(listen, board, chip="ina226")


def test_a_chip_that_is_not_there_is_reported_with_those_that_exist(board, listen):
    with pytest.raises(PerjouleError, match=r"no ina999.*power1_input of ina226 at 1-0040"):
        heard_once(listen, board, chip="ina999")


def test_an_average_is_distinguished_from_a_moment(board, listen):
    _, channel, power_w = heard_once(listen, board, chip="power_meter")
    assert (power_w, channel.semantics, channel.grade) == (216.0, "average", "BMC")
    assert channel.specification.latency_s == 1.0
    assert channel.specification.gain_ratio == pytest.approx(0.05)


def test_a_counter_is_taken_before_a_power(board, listen):
    _, channel, energy_j = heard_once(listen, board, chip="ina228")
    assert (energy_j, channel.unit, channel.semantics) == (pytest.approx(123.456789), "J", "counter")
    assert heard_once(listen, board, chip="ina228", reading="input")[1].semantics == "instantaneous"


def test_a_counter_of_more_than_4_mj_is_a_counter(board, listen):
    (board / "hwmon8/energy1_input").write_text("5000000000000\n")
    assert heard_once(listen, board, chip="ina228")[2] == pytest.approx(5e6)


def test_4_29_mw_are_not_known(board, listen):
    (board / "hwmon7/power1_average").write_text("4294967295000\n")
    assert math.isnan(heard_once(listen, board, chip="power_meter")[2])


def test_a_wrong_shunt_is_made_good_and_one_nobody_vouches_for_is_doubted(board, listen):
    heard, _, power_w = heard_once(listen, board, chip="ina226", device="1-0040")
    assert power_w == 12.5
    assert any("10 mOhm" in doubt and "shunt_correction" in doubt for doubt in heard.doubts)
    heard, _, power_w = heard_once(listen, board, chip="ina226", device="1-0040", shunt_correction=2.0)
    assert power_w == 25.0
    assert not any("shunt" in doubt for doubt in heard.doubts)


def test_the_check_names_the_sensor_or_what_else_is_there(board):
    (check,) = drivers.meter(Spec("hwmon", {"root": str(board), "chip": "ina228"})).checks()
    assert (check.ok, check.detail) == (True, "energy1_input of ina228 at 2-0044")
    (check,) = drivers.meter(Spec("hwmon", {"root": str(board)})).checks()
    assert not check.ok
    assert check.fix == "name chip and device"


def test_the_watts_are_those_of_the_waveform(listen, noted):
    behaviour = noted(WAVE)
    with simulator.serve(behaviour) as options:
        heard = listen({**options, "rate": "100 Hz"}, lambda h: len(set(h.of()[1])) > 20)
    assert behaviour.told(heard.of()[1], lambda said: round(said.power_w, 6))


@pytest.mark.parametrize("fault", simulator.FAULTS)
def test_a_fault_is_a_gap_or_stays_what_the_meter_said(listen, noted, fault):
    behaviour = noted(WAVE, faults=(fault,), share_ratio=0.0, away_s=0.1)

    def told(heard):
        behaviour.share_ratio = 0.2  # what is there at the beginning can be read
        power_w = heard.of()[1]
        if fault in ("frozen", "duplicate"):
            return len(power_w) > 20
        odd = np.isnan(power_w) | (power_w > 1000)
        return odd.any() and not odd[-1]

    with simulator.serve(behaviour) as options:
        heard = listen({**options, "rate": "100 Hz"}, told)
    assert behaviour.told([p for p in heard.of()[1] if not math.isnan(p)], lambda said: round(said.power_w, 6))
    assert bool(heard.failures) == (fault in ("missing", "disconnect"))
