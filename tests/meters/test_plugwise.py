"""Plugwise: frames, pulses and their calibration, and Circles read through a stick at a pseudo-terminal."""

import math
import tomllib
from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.cli.meters._printing import table_text
from perjoule.energy.choosing import parts_of
from perjoule.meters.plugwise import Plugwise, stick
from perjoule.model import Json
from perjoule.model.errors import CampaignError, MachineError
from perjoule.model.waveform import Waveform
from perjoule.simulators import plugwise as simulator
from perjoule.simulators._behaviour import Behaviour
from typed import as_written

PLAIN = stick.Calibration(1.0, 0.0, 0.0, 0.0)


def test_a_frame_is_the_known_one():
    # the first words of every session, as published
    assert stick.frame("000A") == b"\x05\x05\x03\x03000AB43C\r\n"


def test_chatter_is_skipped_and_a_wrong_checksum_reported():
    assert stick.received(b"# APSRequestNodeInfo\r\n") is None
    assert stick.received(b"\x83" + stick.frame("0000001500C1")) == stick.StickFrame("0000", "0015", "00C1")
    with pytest.raises(ValueError, match="wrong checksum"):
        stick.received(stick.frame("0000001500C1").replace(b"C1", b"C2", 1))


def test_pulses_become_watts_by_the_circles_own_calibration():
    assert stick.power_w(1, 1.0, PLAIN) == pytest.approx(2.1325, abs=1e-4)  # its step at 1 s
    assert stick.power_w(8 * 100, 8.0, PLAIN) == pytest.approx(213.25, abs=0.01)
    assert stick.power_w(0, 1.0, stick.Calibration(1.0, 0.0, 5.0, 1.0)) == 0  # nothing flows
    own = stick.Calibration(0.97, -2e-6, 0.03, -0.2)
    x = 100 - 0.2
    assert stick.power_w(100, 1.0, own) == pytest.approx((-2e-6 * x * x + 0.97 * x + 0.03) / 0.4689385193)


def test_pulses_have_a_sign_and_none_yet_is_no_number():
    mac = "000D6F0000B1B64B"
    assert stick.pulses(mac + "001C00DF0000ABCD00000000000E") == (28, 223)
    assert stick.pulses(mac + "FFF0FF80" + "0" * 20) == (-16, -128)
    assert all(map(math.isnan, stick.pulses(mac + "FFFFFFFF" + "0" * 20)))
    with pytest.raises(ValueError, match="cut off"):
        stick.pulses(mac + "00")
    with pytest.raises(ValueError, match="cut off"):
        stick.calibration(mac + "3F80")


@pytest.mark.parametrize(("window", "step_w"), [("1 s", 2.1325), ("8 s", 0.2666)])
def test_each_circle_is_a_channel_with_the_watts_that_flow(listen, stepping, window, step_w):
    truth = Waveform("sine", 40, 2000, period_s=30)
    with simulator.serve(Behaviour(truth, now_s=stepping)) as table:
        heard = listen({**table, "rate": "50 Hz", "window": window}, lambda heard: len(heard.samples) > 40)
    window_s = float(window.split()[0])
    true = np.array([truth.energy_j(t / 4 - window_s, t / 4) / window_s for t in range(2000)])
    values = heard.of("power")[1]
    assert max(np.abs(true - value).min() for value in values) < step_w
    assert np.ptp(values) > 300
    assert {sample[0].host for sample in heard.samples} == {"storage-1", "storage-2"}
    assert {sample[3] for sample in heard.samples} == {window_s}
    channel = heard.samples[0][0]
    assert (channel.semantics, channel.grade) == ("window mean", "wall")
    assert channel.specification.resolution == pytest.approx(step_w, abs=1e-3)


@pytest.mark.parametrize("fault", ["missing", "late", "disconnect", "nan", "frozen", "duplicate"])
def test_no_fault_invents_a_number_and_the_circles_come_back(listen, fault):
    behaviour = Behaviour(
        Waveform("constant"), faults=(fault,), share_ratio=0.2, seed=3, late_s=0.2, away_s=0.15
    )

    def back_again(heard):
        valid = np.isfinite(heard.of("power")[1])
        return len(valid) > 8 and valid[-2:].all() and (fault in ("frozen", "duplicate") or not valid.all())

    with simulator.serve(behaviour) as table:
        heard = listen({**table, "rate": "50 Hz", "timeout": "150 ms", "window": "8 s"}, back_again)
    values = heard.of("power")[1]
    assert np.abs(values[np.isfinite(values)] - 60).max() < 0.3


def test_a_circle_that_was_pulled_out_is_reported_at_the_beginning(listen):
    with (
        simulator.serve(Behaviour(), absent=simulator.CIRCLES[1:]) as table,
        pytest.raises(MachineError, match=r"Circle does not answer the stick \(000D6F0000B1C02A\)"),
    ):
        listen(table, any)


def test_a_stick_that_is_not_there_is_reported(listen):
    with pytest.raises(MachineError, match="can't be read"):
        listen({"kind": "plugwise", "address": "/dev/no-such-line", "circles": {"000D6F0000B1B64B": ""}}, any)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"circles": {"B1B64B": "x"}}, "16 hexadecimal digits"),
        ({"window": "2 s"}, "last 1 s and the last 8 s"),
    ],
)
def test_wrong_options_are_reported(wrong, said):
    right: dict[str, Json] = {"address": "/dev/ttyUSB0", "circles": {"000d6f0000b1b64b": "storage-1"}}
    assert set(as_written(Plugwise, **right).circles) == {"000D6F0000B1B64B"}
    with pytest.raises(ValidationError, match=said):
        drivers.build("meters", "plugwise", {**right, **wrong})


def boards(count: int) -> tuple[SimpleNamespace, ...]:
    return tuple(SimpleNamespace(name=f"osd-{n}", role="storage") for n in range(1, count + 1))


def test_a_circle_on_a_host_that_is_not_there_is_reported(listen):
    table = {"kind": "plugwise", "address": "/dev/null", "circles": {"000D6F0000B1B64B": "storage-9"}}
    with pytest.raises(CampaignError, match="storage-9"):
        listen(table, any, hosts=boards(1))


@pytest.mark.parametrize("words", ["servers", "osd-[1-3]", "osd-1,osd-2,osd-3"])
def test_one_circle_feeds_all_boards_and_another_one_all_disks(listen, words):
    """The Cubieboards' wiring: their watts are the sum of both Circles', neither one channel nor one
    host's.
    """
    with simulator.serve(Behaviour(Waveform("constant", high_w=50))) as table:
        circles = dict(zip(simulator.CIRCLES, (f"{words}/board", f"{words}/disks"), strict=True))
        heard = listen(
            {**table, "circles": circles, "rate": "50 Hz"},
            lambda heard: len(heard.samples) > 6,
            hosts=boards(3),
        )
    channels = {sample[0] for sample in heard.samples}
    covered = ("osd-1", "osd-2", "osd-3")
    assert {(one.host, one.component, one.covers) for one in channels} == {
        ("", "board", covered),
        ("", "disks", covered),
    }
    found = parts_of("wall", list(channels), frozenset(covered), frozenset(covered))
    assert {(sign, one.component) for sign, one in found.net} == {(1, "board"), (1, "disks")}


@pytest.mark.parametrize(
    "fed",
    [
        ("", ""),
        ("osd-1", "osd-1"),
        ("servers/disks", "osd-[1-2]/disks"),
        ("osd-1,osd-2", "osd-2,osd-1"),
        ("servers", "servers"),
    ],
)
def test_two_circles_that_feed_the_same_are_refused(listen, fed):
    table = {
        "kind": "plugwise",
        "address": "/dev/null",
        "circles": dict(zip(simulator.CIRCLES, fed, strict=True)),
    }
    both = "000D6F0000B1B64B and 000D6F0000B1C02A feed the same"
    with pytest.raises(CampaignError, match=f"{both} .*; say in circles what each feeds"):
        listen(table, any, hosts=boards(2))


@pytest.mark.parametrize(
    ("fed", "said"),
    [
        ("osd-1/bord", "a host has no bord"),
        ("/disks", "names no hosts"),
        ("osd-[1/disks", "bracket without its partner"),
    ],
)
def test_a_part_that_no_host_has_is_reported(fed, said):
    with pytest.raises(ValidationError, match=said):
        drivers.build(
            "meters", "plugwise", {"address": "/dev/ttyUSB0", "circles": {simulator.CIRCLES[0]: fed}}
        )


def test_its_table_is_toml_as_it_is_printed():
    with simulator.serve(Behaviour()) as table:
        assert tomllib.loads(table_text(table)) == {"meter": [table]}
