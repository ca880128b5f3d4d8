"""Whatever a meter answers: a number, no number, or a ValueError, which is a gap.

Never a trip over its own feet.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple, is_dataclass
from numbers import Real

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perjoule.meters.plugwise import stick
from perjoule.meters.scope import Preamble, volts
from perjoule.meters.scpi import dialects
from perjoule.meters.shelly import gen1, gen2
from perjoule.meters.tasmota import decimals_step, readings

pytestmark = pytest.mark.heavy

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
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)


def numbers(parse, said):
    """All numbers that a parser finds in an answer; none where it refuses it."""
    try:
        found = parse(said)
    except ValueError:
        return []
    if isinstance(found, Mapping):
        return list(found.values())
    if is_dataclass(found):
        assert not isinstance(found, type)
        return list(astuple(found))
    return [] if found is None else list(np.atleast_1d(found))


@settings(max_examples=300)
@given(st.dictionaries(words, values, max_size=5))
def test_a_plugs_json(said):
    parsers = (
        lambda said: gen1(said, 0),
        lambda said: gen2(said, 0),
        readings,
        lambda said: decimals_step(said, "EnergyRes"),
    )
    assert all(isinstance(number, Real) for parse in parsers for number in numbers(parse, said))


@settings(max_examples=300)
@given(st.text(max_size=60) | st.text(alphabet="0123456789.;,E+-DNA:", max_size=60))
def test_an_instruments_line(text):
    parsers = [lambda text, d=d: dialects.fields(text, d.fields) for d in dialects.DIALECTS.values()]
    parsers += [dialects.range_w, Preamble.of, stick.calibration, stick.pulses]
    assert all(isinstance(number, Real) for parse in parsers for number in numbers(parse, text))
    assert isinstance(dialects.dialect(text), dialects.Dialect | None)


@settings(max_examples=300)
@given(st.binary(max_size=60))
def test_bytes(said):
    assert all(
        isinstance(volt, Real) for volt in numbers(lambda said: volts(said, Preamble(0.1, 0, 128)), said)
    )
    for line in (said, stick.frame("0013") + said):
        with suppress(ValueError):
            assert isinstance(stick.received(line), stick.StickFrame | None)
