"""Whatever a meter answers: a number, no number, or a ValueError, which is a gap. Never a trip over its own feet."""

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from perjoule.meters.plugwise import stick
from perjoule.meters.scope import Preamble, volts
from perjoule.meters.scpi import dialects
from perjoule.meters.shelly import gen1, gen2
from perjoule.meters.tasmota import decimals_step, readings

WORDS = [
    "meters",
    "emeters",
    "power",
    "total",
    "is_valid",
    "switch:0",
    "em:0",
    "emdata:0",
    "em1:0",
    "em1data:0",
    "pm1:0",
    "apower",
    "aenergy",
    "act_power",
    "total_act",
    "total_act_power",
    "total_act_energy",
    "StatusSNS",
    "ENERGY",
    "Power",
    "Total",
    "EnergyRes",
]
words = st.sampled_from(WORDS)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4), max_leaves=20
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(words, values, max_size=5))
def test_a_plugs_json(said):
    for parse in (
        lambda said: gen1(said, 0),
        lambda said: gen2(said, 0),
        readings,
        lambda said: decimals_step(said, "EnergyRes"),
    ):
        with suppress(ValueError):
            parse(said)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="0123456789.;,E+-DNA:", max_size=60))
def test_an_instruments_line(text):
    parsers = [lambda text, d=d: dialects.fields(text, d.fields) for d in dialects.DIALECTS.values()]
    for parse in (*parsers, dialects.range_w, dialects.dialect, Preamble.of, stick.calibration, stick.pulses):
        with suppress(ValueError):
            parse(text)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
def test_bytes(said):
    for parse in (
        stick.said,
        lambda said: stick.said(stick.frame("0013") + said),
        lambda said: volts(said, Preamble(0.1, 0, 128)),
    ):
        with suppress(ValueError):
            parse(said)
