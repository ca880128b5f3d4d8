"""SmartPower3: lines with two checksums over a serial line or UDP, the joules between two polls, and which are missing."""

import socket
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from pydantic import ValidationError

from perjoule import campaign, drivers
from perjoule.energy.amount import amount
from perjoule.meters.smartpower3 import _adding
from perjoule.meters.smartpower3.lines import Lines, SentLine, interval_s, passed_s, reading
from perjoule.meters.smartpower3.ways import opened
from perjoule.model import Json, Series
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.waveform import Waveform
from perjoule.simulators import smartpower3 as simulator
from perjoule.simulators._behaviour import Behaviour
from perjoule.testbeds.local import LocalHost
from places import transcript

TEXTS = transcript("smartpower3", "lines.txt").encode().splitlines()
WAYS = ("serial", "udp")
STEP_W = 0.02


def test_lines_have_the_powers_of_input_and_outputs():
    assert [reading(text) for text in TEXTS] == [
        SentLine(123456, (7.475, 5.22, 0.0)),
        SentLine(123556, (22.815, 5.193, 9.644)),
        SentLine(2**32 - 6, (0.005, 0.0, 0.0)),
        SentLine(4996889, (7.5, 5.2, 0.0)),
    ]


def test_each_digit_is_held_by_a_checksum():
    for place, byte in enumerate(TEXTS[1][:-6]):
        if chr(byte).isdigit():
            other = bytes([byte ^ 1])
            with pytest.raises(ValueError, match=r"wrong checksum|no line of"):
                reading(TEXTS[1][:place] + other + TEXTS[1][place + 1 :])
    with pytest.raises(ValueError, match="wrong checksum"):  # the sum is right, the XOR is not
        reading(TEXTS[1][:-2] + b"15")


def test_what_is_no_line_says_what_it_may_be():
    with pytest.raises(ValueError, match=r"no checksums .update its firmware to 1\.7"):
        reading(TEXTS[0][:-6])
    with pytest.raises(ValueError, match=r"no line of a SmartPower3.*is baud as on its screen"):
        reading(b"\xf8\x00\x9c" * 27)


@pytest.mark.parametrize("end", [b"\r\n", b"\n\r", b"\r"])
@pytest.mark.parametrize("size", [1, 7, 81, 1000])
def test_lines_are_found_however_the_bytes_come_and_the_first_may_be_a_part(end, size):
    stream, heard = TEXTS[0][40:] + end + b"".join(text + end for text in TEXTS), Lines()
    parts = [stream[at : at + size] for at in range(0, len(stream), size)]
    assert [line for part in parts for line in heard.readings(part)] == [reading(text) for text in TEXTS]
    with pytest.raises(ValueError, match="1024 bytes without the end"):
        list(heard.readings(b"0" * 1025))


def test_times_are_those_of_its_clock_which_begins_anew():
    lines = [SentLine(ms % 2**32, (0, 0, 0)) for ms in (2**32 - 99, 2**32, 2**32 + 103, 2**32 + 206)]
    assert [passed_s(*pair) for pair in pairwise(lines)] == [0.099, 0.103, 0.103]
    assert interval_s(lines) == 0.1


def joules(*lines: tuple[int, float]) -> list[tuple[float, list[float]]]:
    """Add up lines of (ms, watts of the input) that come at once; give what could be taken."""
    heard = ((SentLine(ms, (watts, 0.0, 2 * watts)), 0.0) for ms, watts in lines)
    with _adding(heard, 0.1, threading.Event()) as sums:
        time.sleep(0.05)
        window = sums.taken(0.1)
        assert window is not None
        return [(window[1], window[2])]


def test_each_line_is_of_the_time_since_the_one_before():
    ((length_s, energy_j),) = joules((1000, 99.0), (1100, 10.0), (1300, 20.0), (1300, 70.0), (1400, 30.0))
    assert length_s == pytest.approx(0.4)
    assert energy_j == pytest.approx([1.0 + 4.0 + 3.0, 0.0, 16.0])


@pytest.mark.parametrize("later_ms", [1500, 900])
def test_a_time_in_which_lines_are_missing_has_no_watts(later_ms):
    with pytest.raises(
        ValueError, match="between two lines by its clock: some are missing, or it began anew"
    ):
        joules((1000, 10.0), (1100, 10.0), (later_ms, 10.0))


@pytest.mark.parametrize("way", WAYS)
def test_outputs_and_input_are_channels_behind_the_supply(listen, way):
    with simulator.serve(Behaviour(Waveform("constant")), way=way) as table:
        feeds: dict[str, Json] = {"outputs": {"0": "a", "1": "b/board"}, "input": "a,b"}
        hosts = [type("Host", (), {"name": name, "role": "storage"})() for name in "ab"]
        heard = listen({**table, **feeds}, lambda heard: len(heard.samples) > 9, hosts=hosts)
    channels = {channel for channel, *_ in heard.samples}
    assert {(one.host, one.component, one.covers) for one in channels} == {
        ("a", "all", ()),
        ("b", "board", ()),
        ("", "input", ("a", "b")),
    }
    assert {(one.semantics, one.grade) for one in channels} == {("window mean", "component")}
    watts = {one.component: heard.of("power", one.component)[1] for one in channels}
    known = {component: values[np.isfinite(values)] for component, values in watts.items()}
    assert known["all"] == pytest.approx(60.0, abs=STEP_W)
    assert known["board"] == pytest.approx(0.0)
    assert known["input"] == pytest.approx(60 / simulator.EFFICIENCY + simulator.OWN_W, abs=STEP_W)


@pytest.mark.alone  # it holds the device's time against that of this machine
def test_the_joules_are_those_of_the_waveform(listen):
    wave = Waveform("square", 10.0, 60.0, 0.4)
    with simulator.serve(Behaviour(wave)) as table:
        heard = listen(table, lambda heard: len(heard.samples) > 20)
    rows = np.array([(t_s, duration_s, value, t_s, t_s) for _, t_s, value, duration_s in heard.samples])
    end_s = rows[-2, 0]
    energy = amount(Series.of_rows(heard.samples[0][0], rows), end_s - 3 * 0.4, end_s)
    assert energy.value == pytest.approx(35.0 * 3 * 0.4, rel=0.04)
    assert not heard.failures


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", simulator.FAULTS)
def test_no_fault_invents_a_number_and_it_comes_back(listen, fault, way):
    behaviour = Behaviour(
        Waveform("constant", high_w=30), faults=(fault,), share_ratio=0.0, seed=3, late_s=0.5, away_s=0.2
    )

    def back_again(heard):
        values = heard.of("power")[1]
        behaviour.share_ratio = 0.2 if 2 < len(values) < 12 else 0.0
        return len(values) > 20 and np.isfinite(values[-1]) and values[-1] < 31

    with simulator.serve(behaviour, way=way) as table:
        heard = listen({**table, "rate": "20 Hz", "timeout": "300 ms"}, back_again)
    values = heard.of("power")[1]
    known = values[np.isfinite(values)]
    assert known.min() > 30 - STEP_W
    assert known.max() <= (simulator.MOST_MW / 1000 if fault == "spike" else 30 + STEP_W)


def test_a_wrong_line_is_a_gap_and_a_sentence(listen):
    """A device that sends, on its second line after a while, one with a digit that was changed on its way."""
    wrong = threading.Event()
    with simulator.serve(Behaviour(Waveform("constant")), way="udp") as table:
        place = (str(table["address"]), int(str(table["port"])))

        def disturbed(heard):
            if len(heard.samples) > 3 and not wrong.is_set():
                wrong.set()
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as beside:
                    beside.sendto(TEXTS[0].replace(b"07475", b"97475") + b"\r\n", place)
            values = heard.of("power")[1]
            return wrong.is_set() and np.isnan(values).any() and np.isfinite(values[-1])

        heard = listen(table, disturbed)
    values = heard.of("power")[1]
    assert set(np.round(values[np.isfinite(values)])) == {60.0}
    assert "reads failed, the last with: a line has a wrong checksum: '0000123456,15012" in heard.failures[0]


def test_only_what_its_own_host_sends_is_read():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (
        opened("127.0.0.1", port, 115200) as receive,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other,
    ):
        other.bind(("127.0.0.2", 0))
        other.sendto(TEXTS[0], ("127.0.0.1", port))
        assert receive(5.0) == b""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device:
            device.sendto(TEXTS[1], ("127.0.0.1", port))
        assert receive(5.0) == TEXTS[1]
        with (
            pytest.raises(OSError, match=r"UDP port .*choose another port"),
            opened("127.0.0.1", port, 9600),
        ):
            pass


@pytest.mark.parametrize("address", ["/dev/no-such-line", "127.0.0.1"])
def test_a_device_that_does_not_send_is_reported(listen, address):
    table: dict[str, Json] = {"kind": "smartpower3", "address": address, "outputs": {"0": ""}, "port": 1}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        table["port"] = probe.getsockname()[1]
    with pytest.raises(MachineError, match=r"No such file|no line within 0.2 s .is its log on"):
        listen({**table, "timeout": "200 ms"}, any)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"outputs": {}}, "nothing of it is read"),
        ({"outputs": {"2": ""}}, 'it has no output "2"'),
        ({"outputs": {"0": "osd-1/bord"}}, "a host has no bord"),
        ({"input": "servers/board"}, "its input feeds no part of hosts"),
        ({"baud": 4800}, "baud"),
        ({"port": 0}, "port"),
        ({"address": "spy:///dev/ttyS0"}, "is neither a serial line nor a host"),
    ],
)
def test_wrong_options_are_reported(wrong, sentence):
    right: dict[str, Json] = {"address": "/dev/ttyUSB0", "outputs": {"0": "storage-1"}}
    with pytest.raises(ValidationError, match=sentence):
        drivers.build("meters", "smartpower3", {**right, **wrong}, to_run=True)
    assert drivers.build("meters", "smartpower3", {**right, "address": "192.0.2.27"}, to_run=True)


def test_the_input_includes_each_output(listen, tmp_path):
    table: dict[str, Json] = {"kind": "smartpower3", "address": "/dev/null"}
    with pytest.raises(CampaignError, match="storage-9"):
        listen({**table, "outputs": {"0": "storage-9"}}, any, hosts=[LocalHost(tmp_path)])
    head = """
        [testbed]
        kind = "simulated"
        servers = 2
        [[filesystem]]
        kind = "simulated"
        [[workload]]
        kind = "simulated"
        [[meter]]
        kind = "smartpower3"
        address = "/dev/ttyUSB0"
        outputs = {0 = "storage-1", 1 = "storage-2"}
        """
    with pytest.raises(CampaignError, match=r"of storage-1 includes the one of storage-2"):
        campaign.parse(head + 'input = "storage-1"', source="lab.toml")
    campaign.parse(head + 'input = "servers"', source="lab.toml")
    with pytest.raises(CampaignError, match="0 and 1 feed the same"):
        campaign.parse(head.replace("storage-2", "storage-1"), source="lab.toml")
