"""Quarch modules through their instrument server: headers, stripes, what they cover, and what goes wrong."""

import math
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perjoule.energy.amount import amount
from perjoule.meters.quarch import Quarch, modules, stripes
from perjoule.model import Series
from perjoule.model.errors import CampaignError, MachineError, PerjouleError
from perjoule.model.waveform import Waveform
from perjoule.simulators import quarch as simulator
from perjoule.simulators._behaviour import Behaviour
from perjoule.simulators._tcp import connections
from perjoule.testbeds.local import LocalHost
from places import TRANSCRIPTS

SAID = TRANSCRIPTS / "quarch"
fast = {"rate": "20 Hz", "period": "10 ms"}


def header(*columns):
    channels = "".join(
        f"<channel><name>{name}</name><group>{group}</group><units>{units}</units><dataPosition>{place}</dataPosition></channel>"
        for place, (name, group, units) in enumerate(columns, start=1)
    )
    return f"<version>V3</version><mainPeriod>100ms</mainPeriod><channels>{channels}</channels>"


def test_a_columns_place_is_that_of_the_word_in_a_stripe_and_the_period_has_its_unit():
    status = "<channel><name>Status</name><group>status</group><units>NA</units><dataPosition>0</dataPosition></channel>"
    said = header(("5V", "voltage", "mV"), ("5V", "current", "uA"), ("Tot", "power", "uW"))
    found = stripes.layout(said.replace("<channels>", f"<channels>{status}").replace("100ms", "4096uS"))
    assert found.terms == (((3, 1e-6),),)
    assert (found.count, found.multiplies) == (4, False)
    assert found.period_s == pytest.approx(4.096e-3)


def test_power_is_the_total_or_the_sum_of_rails_or_voltage_times_current():
    volts, amperes = ("5V", "voltage", "mV"), ("5V", "current", "uA")
    other = [("12V", "voltage", "mV"), ("12V", "current", "mA")]
    line = "0 5000 2000000 12000 500 9000000 7000000 18000000"
    rails = [("5V", "power", "uW"), ("12V", "power", "uW")]
    for columns, power_w in (
        ([volts, amperes, *other, *rails, ("Tot", "power", "uW")], 18.0),
        ([volts, amperes, *other, *rails], 16.0),
        ([volts, amperes, *other], 5 * 2 + 12 * 0.5),
        ([volts, amperes], 10.0),
    ):
        assert stripes.stripes(line, stripes.layout(header(*columns))) == [(0.0, pytest.approx(power_w))]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("Version: 5\r\nFormat: 15\r\nAverage: 14", "version 3"),
        (header(("5V", "voltage", "mV")), "no power"),
        (header(("5V", "power", "dBm")), "unknown unit"),
        (header(("5V", "power", "uA")), "unknown unit"),
    ],
)
def test_a_header_without_a_power_is_refused(said, why):
    with pytest.raises(ValueError, match=why):
        stripes.layout(said)


def test_stripes_that_lack_a_number_are_gaps_and_others_than_stripes_are_refused():
    layout = stripes.layout(header(("Tot", "power", "uW")))
    assert stripes.stripes("eof", layout) == []
    (_, first), (_, second) = stripes.stripes("100000 nan\r\n200000\r\neof", layout)
    assert math.isnan(first)
    assert math.isnan(second)
    for text in ("Device Invalid", "200000 1\r\n100000 1", "nan 1", "inf 1"):
        with pytest.raises(ValueError, match=r"not a line of a stream|does not follow"):
            stripes.stripes(text, layout)


def test_windows_end_when_they_came_at_the_latest_and_follow_the_modules_clock():
    dated = stripes.StripeTimes(0.1)
    assert dated.ends_s([0.0, 0.1, 0.2], 10.5) == pytest.approx([10.3, 10.4, 10.5])
    assert dated.ends_s([0.3], 13.0) == pytest.approx([10.6], abs=1e-4)  # held up on its way
    assert dated.ends_s([0.4], 10.65) == pytest.approx([10.65])  # sooner than the first let suppose


def test_the_joules_are_those_of_the_waveform_without_a_gap(listen):
    wave = Waveform("square", 2.0, 9.0, 0.35)
    behaviour = Behaviour(wave)
    with simulator.serve(behaviour) as table:
        heard = listen({**table, **fast}, lambda heard: len(heard.samples) > 200)
    channel = heard.samples[0][0]
    assert (channel.semantics, channel.grade, channel.unit) == ("window mean", "component", "W")
    rows = np.array([(t_s, duration_s, value, t_s, t_s) for _, t_s, value, duration_s in heard.samples])
    steps_s = np.diff(rows[:, 0])
    assert steps_s.max() < 0.0101
    assert (0.01 - steps_s).sum() < 0.02  # by which the first one seemed to be late
    count = int(0.35 / 0.01) * 2  # two whole periods
    found = amount(Series.of_rows(channel, rows), rows[-1 - count, 0], rows[-1, 0])
    assert found.value == pytest.approx(5.5 * 0.35 * 2, rel=0.02)
    assert not heard.failures


def test_a_module_without_power_multiplies_and_says_so(listen):
    with simulator.serve(Behaviour(Waveform("constant", 7, 7)), power=False) as table:
        heard = listen({**table, **fast}, lambda heard: len(heard.samples) > 5)
    assert heard.of()[1] == pytest.approx(np.full(len(heard.samples), 7.0), rel=1e-5)
    assert any("product of mean voltage and mean current" in doubt for doubt in heard.doubts)


@pytest.mark.parametrize(
    ("fed", "host", "component"),
    [
        ("storage-1/nvme0", "storage-1", "drive-nvme0"),
        ("storage-1", "storage-1", "disks"),
        ("", "", "drive-qtl2312-01-101"),
    ],
)
def test_each_module_names_the_drive_that_it_feeds(listen, fed, host, component):
    with simulator.serve(Behaviour()) as table:
        heard = listen({**table, **fast, "drives": {simulator.MODULE: fed}}, lambda heard: heard.samples)
    channel = heard.samples[0][0]
    assert (channel.host, channel.component) == (host, component)


def test_a_host_that_is_missing_is_refused(listen, tmp_path):
    with pytest.raises(CampaignError, match="storage-9"):
        listen(
            {"kind": "quarch", "drives": {simulator.MODULE: "storage-9/nvme0"}},
            any,
            hosts=[LocalHost(tmp_path)],
        )


@pytest.mark.parametrize("fault", simulator.FAULTS)
def test_no_fault_invents_a_number_and_it_comes_back(listen, fault):
    behaviour = Behaviour(
        Waveform("constant", high_w=30), faults=(fault,), share_ratio=0.0, seed=3, late_s=0.3, away_s=0.15
    )

    def back_again(heard):
        values = heard.of()[1]
        if fault in ("duplicate", "frozen"):
            behaviour.share_ratio = 0.3
            return len(values) > 100
        odd = ~np.isfinite(values) | (values > 1000)
        behaviour.share_ratio = 0.0 if odd.any() else 0.3
        return odd.any() and not odd[-1]

    with simulator.serve(behaviour) as table:
        heard = listen({**table, **fast, "timeout": "200 ms"}, back_again)
    values = heard.of()[1]
    assert {round(value) for value in values[np.isfinite(values)]} <= {30, 30_000}
    assert bool(heard.failures) == (fault in ("missing", "late", "disconnect"))


def test_a_module_that_the_server_lacks_is_named_with_those_that_it_has(listen):
    with simulator.serve(Behaviour()) as table:
        with pytest.raises(MachineError, match=r"no module usb::other.*known: usb::qtl2312-01-101"):
            listen({**table, "drives": {"usb::other": ""}}, any)
        (check,) = Quarch(address=str(table["address"]), drives={"usb::other": ""}).answers()
        assert (check.ok, check.detail) == (False, "no module usb::other")
        assert Quarch.discover([str(table["address"]), "127.0.0.1:1"]) == (table,)
    (check,) = Quarch(address="127.0.0.1:1", drives={"usb::other": ""}).answers()
    assert not check.ok
    assert "start Quarch Instrument Server" in check.fix


def test_what_the_real_server_says_without_a_module_is_understood(listen):
    """A session with QIS 1.43: its greeting, then command and answer."""
    lines = (SAID / "qis-1.43.txt").read_text().replace("\n", "\r\n")
    greeting, _, rest = lines.partition("\r\n")
    answers = dict(part.split("\r\n", 1) for part in re.split(r"(?<=\r\n)>", rest) if part.strip())

    def handle(client, stop):
        client.sendall(f"{greeting}\r\n".encode())
        with client.makefile("rb") as requests:
            for line in requests:
                client.sendall(answers[line.decode().strip()].encode() + b">")

    with connections(handle, "127.0.0.1", 0) as port:
        address = f"127.0.0.1:{port}"
        with pytest.raises(PerjouleError, match=r"no module tcp::QTL1999-02-020.*known: none"):
            listen({"kind": "quarch", "address": address, "drives": {"tcp::QTL1999-02-020": "a"}}, any)
        assert Quarch.discover([address]) == ()


@pytest.mark.timeout(20)
def test_an_answer_that_is_long_and_none_holds_nothing_up() -> None:
    """Whatever listens on QIS's port is asked by `meters find`, while nothing else of perjoule runs."""
    server: Any = SimpleNamespace(ask=lambda command: "a" + "\n" * 10**6 + "b\n1) TCP::QTL2312")
    assert modules(server) == ["TCP::QTL2312"]
    header = "<version>V3<mainPeriod>100ms</mainPeriod>" + "<channel>" * 10**5
    with pytest.raises(ValueError, match="the stream has no power"):
        stripes.layout(header)
