"""Power analysers: their lines, how cycles are dated, and the energy of their window means over TCP and a
serial line.
"""

import math

import numpy as np
import pytest

from perjoule.meters._address import visa
from perjoule.meters.scpi import Dated, Scpi, dialects
from perjoule.model.errors import MachineError
from perjoule.model.waveform import Waveform
from perjoule.simulators import scpi as simulator
from perjoule.simulators._behaviour import Behaviour
from places import TRANSCRIPTS
from typed import present

SAID = TRANSCRIPTS / "scpi"
MODELS = ("LMG450", "LMG670", "WT310")
SINE = Waveform("sine", 40, 60, period_s=0.7)
fast = {"rate": "50 Hz"}


@pytest.mark.parametrize(
    ("name", "dialect"),
    [("lmg450", dialects.ZES), ("lmg670", dialects.ZES_600), ("wt310", dialects.YOKOGAWA)],
)
def test_a_line_is_the_cycles_mean_its_length_and_its_place(name, dialect):
    _, *lines = (SAID / f"{name}.txt").read_text().splitlines()
    first, second, last = (dialects.fields(line, dialect.fields) for line in lines)
    assert (first["power"], second["power"]) == pytest.approx((41.231, 41.551), abs=0.0005)
    assert math.isnan(last["power"])
    dated = Dated(0.5)
    said = [
        dated.window(now, came_s)
        for now, came_s in ((first, 10.0), (second, 10.6), (second, 10.65), (last, 11.6))
    ]
    if name == "wt310":  # it does not tell its cycles apart: what counts is when they came
        assert said[0] == (10.0, 0.5)
    else:  # said twice: nothing new; held up on its way, but dated by the cycles, the third of which was missed
        assert said[2] is None
        assert [said[n] for n in (0, 1, 3)] == [
            pytest.approx(one, abs=0.002) for one in ((10.0, 0.5), (10.5, 0.5), (11.5, 0.5))
        ]


def test_cycles_that_follow_each_other_leave_no_gap():
    dated = Dated(0.1)
    windows = [dated.window({"power": 50.0}, came_s) for came_s in (10.0, 10.11, 10.2, 10.32, 10.52)]
    began_s = [end_s - duration_s for end_s, duration_s in map(present, windows)]
    assert began_s[1:4] == pytest.approx([10.0, 10.11, 10.2])
    assert began_s[4] == pytest.approx(10.42)  # one was missed


def test_a_line_cut_off_is_no_number():
    with pytest.raises(ValueError, match="instead of 3 numbers"):
        dialects.fields("10267;0.500", dialects.ZES.fields)


def test_a_meters_clock_that_jumps_moves_no_sample():
    dated = Dated(0.5)
    for time_s, came_s in ((100.0, 10.0), (3700.5, 10.5), (101.0, 11.0)):
        assert dated.window({"time": time_s, "duration": 0.5}, came_s) == pytest.approx((came_s, 0.5))


@pytest.mark.parametrize(
    ("identity", "dialect", "errors"),
    [
        (simulator.IDENTITIES["LMG450"], dialects.ZES, (0.0007, 0.0004)),
        ("ZES ZIMMER Electronic Systems GmbH,LMG95,08330507,3.158", dialects.ZES, (None, None)),
        (simulator.IDENTITIES["LMG670"], dialects.ZES_600, (None, None)),
        (simulator.IDENTITIES["WT310"], dialects.YOKOGAWA, (0.001, 0.0005)),
        ("YOKOGAWA,WT1803E,C3WA1,F2.11", dialects.YOKOGAWA, (None, None)),
        ("AGILENT TECHNOLOGIES,DSO6014A,MY44001234,06.16.0001", None, (None, None)),
    ],
)
def test_who_it_is_decides_the_dialect_and_the_error(identity, dialect, errors):
    assert (dialects.dialect(identity), dialects.errors(identity)) == (dialect, errors)


def test_a_range_is_known_only_while_it_is_fixed():
    assert dialects.range_w("0;300.0E+00;0;2.0E+00") == pytest.approx(600)
    assert dialects.range_w("1;300.0E+00;0;2.0E+00") is None
    assert dialects.range_w("0;300.0E+00;0;EXTERNAL,1.0E+00") is None


@pytest.mark.parametrize("line", ["tcp", "serial"])
@pytest.mark.parametrize("model", MODELS)
def test_its_cycles_hold_the_whole_energy(listen, model, line):
    with simulator.serve(Behaviour(SINE), model=model, line=line, cycle_s=0.02) as table:
        heard = listen({**table, **fast, "range": "1500 W"}, lambda heard: len(heard.samples) > 20)
    ends_s, means_w, durations_s = np.array([sample[1:] for sample in heard.samples]).T
    began_s, ended_s = ends_s[0] - durations_s[0], ends_s[-1]
    covered_j = sum(
        SINE.energy_j(end_s - duration_s, end_s)
        for end_s, duration_s in zip(ends_s, durations_s, strict=True)
    )
    assert means_w @ durations_s == pytest.approx(covered_j, rel=0.1)
    # Nothing lies between the cycles. But a machine under load makes a WT310's lines late, and what comes 1.5
    # cycles late may be another cycle: its windows have gaps then.
    if model != "WT310":
        assert durations_s.sum() == pytest.approx(ended_s - began_s, abs=0.03)
    channel = heard.samples[0][0]
    assert (channel.semantics, channel.grade, channel.unit) == ("window mean", "wall", "W")
    assert channel.specification.period_s == pytest.approx(0.02)
    assert (
        channel.specification.offset
        == {"LMG450": pytest.approx(0.6), "LMG670": None, "WT310": pytest.approx(0.75)}[model]
    )
    assert not [doubt for doubt in heard.doubts if "failed" in doubt]


@pytest.mark.parametrize("model", MODELS)
def test_its_cycle_can_be_set(listen, model):
    with simulator.serve(Behaviour(SINE), model=model, cycle_s=0.1) as table:
        heard = listen({**table, **fast, "cycle": "40 ms"}, lambda heard: len(heard.samples) > 3)
    assert heard.samples[0][0].specification.period_s == pytest.approx(0.04)
    assert heard.samples[-1][3] == pytest.approx(0.04, abs=0.03)


GAPS = ("late", "disconnect", "nan")


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        *(("LMG450", fault) for fault in simulator.FAULTS),
        ("LMG670", "clock jump"),
        *(("WT310", fault) for fault in GAPS),
    ],
)
def test_no_fault_invents_a_number_and_it_comes_back(listen, model, fault):
    behaviour = Behaviour(
        Waveform("constant"), faults=(fault,), share_ratio=0.15, seed=6, late_s=0.4, away_s=0.1
    )

    def enough(heard):
        good = np.isfinite(heard.of("power")[1])
        return good.sum() > 8 and good[-3:].all() and not (fault in GAPS and good.all())

    with simulator.serve(behaviour, model=model, cycle_s=0.02) as table:
        heard = listen({**table, **fast, "timeout": "200 ms"}, enough, timeout_s=20)
    t_s, values = heard.of("power")
    spikes = {60.0, 60000.0} if fault == "spike" else {60.0}
    assert set(np.round(values[np.isfinite(values)], 3)) == spikes
    if fault in ("missing", "frozen", "duplicate"):  # what does not come, or is not new, is not there
        assert (np.diff(t_s) > 0.03).any()


def test_an_instrument_of_another_kind_is_refused(listen, monkeypatch):
    monkeypatch.setattr(simulator, "IDENTITIES", {"LMG450": "ACME,Toaster,1,1"})
    with (
        simulator.serve(Behaviour()) as table,
        pytest.raises(MachineError, match="'ACME,Toaster,1,1', which is not supported"),
    ):
        listen(table, any)


def test_an_instrument_that_is_not_there_is_reported(listen):
    with pytest.raises(MachineError, match="can't be read"):
        listen({"kind": "scpi", "address": "TCPIP::127.0.0.1::1::SOCKET"}, any)
    with pytest.raises(MachineError, match="can't be read"):
        listen({"kind": "scpi", "address": "ASRL/dev/no-such-line::INSTR"}, any)


def test_it_is_found_at_its_address():
    with simulator.serve(Behaviour(), model="WT310") as table:
        _, host, port, _ = str(table["address"]).split("::")
        plain = f"{host}:{port}"
        assert Scpi.discover([plain, "127.0.0.1:1", "/dev/no-such-line"]) == (
            {"kind": "scpi", "address": plain},
        )


@pytest.mark.parametrize(
    ("address", "as_visa"),
    [
        ("lmg", "TCPIP::lmg::5025::SOCKET"),
        ("192.0.2.5:2101", "TCPIP::192.0.2.5::2101::SOCKET"),
        ("/dev/ttyUSB0", "ASRL/dev/ttyUSB0::INSTR"),
        ("TCPIP::192.0.2.5::INSTR", "TCPIP::192.0.2.5::INSTR"),
    ],
)
def test_an_address_is_written_as_people_write_it(address, as_visa):
    assert visa(address) == as_visa
