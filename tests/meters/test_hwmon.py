"""hwmon: sensors whose number means nothing, whose shunt scales everything, and whose 4.29 MW mean "not
known".
"""

import math
from pathlib import Path

import pytest

from perjoule import drivers
from perjoule.model import Spec
from perjoule.model.errors import PerjouleError
from perjoule.model.waveform import Waveform
from perjoule.simulators import hwmon as simulator
from places import TRANSCRIPTS
from sysfs import acpi_meter

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
        root,
        7,
        "power_meter",
        "ACPI000D:00",
        power1_average="216000000",
        power1_average_interval="1000",
        power1_accuracy="95.0%",
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
    assert check.fix == "name chip and device, or sensor_label"


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
        odd = ~((power_w > 0) & (power_w <= 1000))
        return odd.any() and not odd[-1]

    with simulator.serve(behaviour) as options:
        heard = listen({**options, "rate": "100 Hz"}, told)
    assert behaviour.told(
        [p for p in heard.of()[1] if not math.isnan(p)], lambda said: round(said.power_w, 6)
    )
    assert bool(heard.failures) == (fault in ("missing", "disconnect"))


@pytest.fixture
def labelled(tmp_path):
    """Chips whose labels say what they measure, as their drivers show them."""
    root = tmp_path / "hwmon"
    cores = {
        f"energy{n}_{what}": text
        for n in range(1, 5)
        for what, text in (("label", f"Ecore{n - 1:03}"), ("input", f"{n}000000"))
    }
    sockets = {
        "energy5_label": "Esocket0",
        "energy5_input": "50000000000",
        "energy6_label": "Esocket1",
        "energy6_input": "7000000",
    }
    chip(root, 3, "amd_energy", "amd_energy.0", **cores, **sockets)
    for number, label in enumerate(
        ("Module Power Socket 0", "Grace Power Socket 0", "CPU Power Socket 0", "SysIO Power Socket 0")
    ):
        watts = {"power1_average": f"{number + 50}000000", "power1_oem_info": label}
        chip(root, 10 + number, "power_meter", f"ACPI000D:0{number}", **watts)
    chip(
        root,
        20,
        "corsairpsu",
        "0003:1B1C",
        power1_label="power total",
        power1_input="152000000",
        power2_label="power +12v",
    )
    chip(root, 21, "BAT0", "BAT0", power1_input="0")
    chip(root, 22, "amdgpu", "0000:03:00.0", power1_label="PPT", power1_average="31000000")
    chip(root, 23, "fam15h_power", "0000:00:18.4", power1_input="40000000")
    return root


def test_a_processor_with_sensors_of_cores_is_read_by_socket(labelled, listen):
    heard = listen(
        {"kind": "hwmon", "root": str(labelled), "chip": "amd_energy"}, lambda h: len(h.samples) > 1
    )
    assert {(c.component, c.grade): v for c, _, v, _ in heard.samples} == {
        ("package-0", "component"): pytest.approx(50000.0),
        ("package-1", "component"): pytest.approx(7.0),
    }


def test_one_core_is_read_if_it_is_named_and_stands_for_a_core(labelled, listen):
    for words in ({"sensor_label": "Ecore002"}, {"sensor": 3}):
        _, channel, energy_j = heard_once(listen, labelled, chip="amd_energy", **words)
        assert (channel.component, energy_j) == ("ecore002", pytest.approx(3.0))


def test_what_measures_a_processor_does_not_stand_for_a_board(labelled, listen):
    for words in (
        {"chip": "amd_energy"},
        {"chip": "power_meter", "device": "ACPI000D:02"},
        {"chip": "amdgpu"},
        {"chip": "fam15h_power"},
    ):
        with pytest.raises(PerjouleError, match='not "board"'):
            heard_once(listen, labelled, component="board", **words)


@pytest.mark.parametrize(
    ("label", "component", "power_w"),
    [
        ("CPU Power Socket 0", "cpu-power-socket-0", 52.0),
        ("SysIO Power Socket 0", "sysio-power-socket-0", 53.0),
    ],
)
def test_a_rail_of_grace_is_chosen_by_its_label_and_never_stands_for_a_server(
    labelled, listen, label, component, power_w
):
    _, channel, shown_w = heard_once(listen, labelled, sensor_label=label)
    assert (channel.component, channel.grade, shown_w) == (component, "component", power_w)


def test_rails_of_grace_are_not_guessed_between(labelled, listen):
    with pytest.raises(PerjouleError, match=r'ACPI000D:02" \("CPU Power Socket 0"\)'):
        heard_once(listen, labelled, chip="power_meter")


@pytest.fixture
def power9(tmp_path):
    """The sensors of ibmpowernv, as POWER9 labels them: its processors first."""
    root = tmp_path / "hwmon"
    labels = ("Chip 0", "Chip 0 Vdd", "Chip 8", "System", "APSS 1", "APSS 15")
    attributes = {
        f"{kind}{number}_{what}": text
        for kind, factor in (("power", 10**6), ("energy", 10**9))
        for number, (label, watts) in enumerate(zip(labels, (157, 113, 99, 426, 127, 426), strict=True), 1)
        for what, text in (("label", label), ("input", str(watts * factor)))
    }
    chip(root, 0, "ibmpowernv", "opal-sensor", **attributes)
    return root


@pytest.mark.parametrize(
    ("words", "component", "value"),
    [
        ({"reading": "input"}, "all", 426.0),
        ({}, "all", 426_000.0),  # J
        ({"reading": "input", "sensor": 1}, "chip-0", 157.0),
        ({"reading": "input", "sensor_label": "APSS 15"}, "apss-15", 426.0),
    ],
)
def test_of_many_sensors_of_a_chip_that_of_the_machine_is_read(power9, listen, words, component, value):
    _, channel, shown = heard_once(listen, power9, **words)
    assert (channel.component, shown) == (component, pytest.approx(value))


@pytest.mark.parametrize(
    ("name", "attributes", "component"),
    [
        ("i915", {"energy1_input": "5000000"}, "gpu"),
        ("nouveau", {"power1_input": "5000000"}, "gpu"),
        ("xe", {"energy1_label": "card", "energy1_input": "5000000"}, "card"),
        ("zenergy", {"energy1_label": "Esocket0", "energy1_input": "5000000"}, "package-0"),
    ],
)
def test_a_graphics_card_does_not_stand_for_a_board(tmp_path, listen, name, attributes, component):
    root = tmp_path / "hwmon"
    chip(root, 1, name, "0000:00:02.0", **attributes)
    chip(root, 2, "sff", "sfp-1", power1_label="TX_power", power1_input="560")  # light
    _, channel, value = heard_once(listen, root)
    assert (channel.component, value) == (component, 5.0)


def test_a_supply_is_read_whole(labelled, listen):
    _, channel, power_w = heard_once(listen, labelled, chip="corsairpsu", component="board")
    assert (channel.component, power_w) == ("board", 152.0)


def test_a_battery_does_not_count_as_a_meter(tmp_path, listen):
    root = tmp_path / "hwmon"
    chip(root, 1, "BAT0", "BAT0", power1_input="0")
    chip(root, 2, "hidpp", "hidpp_battery_0", power1_input="1000000")
    (tmp_path / "devices/hidpp_battery_0/type").write_text("Battery\n")
    chip(root, 3, "power_meter", "ACPI000D:00", power1_average="5000000", power1_is_battery="1")
    with pytest.raises(PerjouleError, match="known: no power sensor"):
        heard_once(listen, root)


def test_an_acpi_meter_of_the_old_layout_is_found(tmp_path, listen):
    _, channel, power_w = heard_once(
        listen, acpi_meter(tmp_path / "hwmon"), chip="power_meter", device="ACPI000D:00"
    )
    assert (power_w, channel.grade, channel.specification.latency_s) == (210.0, "BMC", 1.0)


def planted(root, name):
    """Make the folders of a listing."""
    for line in (TRANSCRIPTS / "hwmon" / name).read_text().splitlines():
        path, _, text = line.partition(":")
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")
    return root


@pytest.mark.parametrize(
    ("name", "power_w"), [("acpi-behind-device.txt", 210.0), ("acpi-not-known.txt", math.nan)]
)
def test_a_listing_of_an_acpi_meter_behind_its_device(tmp_path, listen, name, power_w):
    assert heard_once(listen, planted(tmp_path, name), chip="power_meter")[2] == pytest.approx(
        power_w, nan_ok=True
    )


def test_a_listing_of_a_grace_socket(tmp_path, listen):
    _, channel, power_w = heard_once(
        listen, planted(tmp_path, "grace.txt"), sensor_label="Grace Power Socket 0"
    )
    assert (channel.grade, power_w) == ("component", 104.0)
