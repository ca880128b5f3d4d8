"""GUDE's sockets and PDUs: the units they state, inlets, their sum and outputs, a login, and failures."""

import json
import math
from typing import Any

import pytest

from perjoule import drivers
from perjoule.meters.gude import Gude, readings
from perjoule.model.errors import LoginRefused
from perjoule.simulators import gude as simulator
from perjoule.simulators._behaviour import Behaviour
from places import transcript


def said(name: str) -> Any:
    return json.loads(transcript("gude", name))


TWO_INLETS = "two-inlets.json"


@pytest.mark.parametrize(
    ("output", "inlet", "power_w", "energy_kwh"),
    [
        (None, None, 360, 1602.845),  # the row that says that it is the sum
        (None, 1, 171, 812.345),
        (None, 2, 189, 790.5),
        (4, None, 189, 790.5),
        (3, None, 0, 0),
    ],
)
def test_all_inlets_one_or_an_output_in_the_units_that_it_states(output, inlet, power_w, energy_kwh):
    shown = readings(said(TWO_INLETS), output, inlet)
    assert (shown.power_w, shown.energy_j) == pytest.approx((power_w, energy_kwh * 3.6e6))
    assert (shown.power_step_w, shown.energy_step_j) == pytest.approx((1, 3600))


def test_inlets_without_their_sum_are_never_added_or_chosen():
    two = said(TWO_INLETS)
    two["sensor_descr"][0]["options"]["sumRowIndex"] = None
    with pytest.raises(ValueError, match="3 inlets and not their sum"):
        readings(two, None, None)
    two["sensor_values"][0]["values"] = two["sensor_values"][0]["values"][:1]
    assert readings(two, None, None).power_w == 171


def test_what_is_not_metered_is_refused():
    with pytest.raises(ValueError, match=r"meters no output 5 \(it has 4"):
        readings(said(TWO_INLETS), 5, None)
    with pytest.raises(ValueError, match=r"meters no inlet 1 \(it has 0"):
        readings({"outputs": [], "eof": 1}, None, None)
    for field, value, match in (
        ("unit", "VA", "the unit 'VA'"),
        ("decPrecision", 99, "99 decimals"),
        ("name", "x", "no ActivePower"),
    ):
        strange = said(TWO_INLETS)
        strange["sensor_descr"][0]["fields"][4][field] = value
        with pytest.raises(ValueError, match=match):
            readings(strange, None, None)
    with pytest.raises(ValueError, match="output and inlet are two sensors"):
        drivers.build("meters", "gude", {"address": "pdu", "output": 1, "inlet": 1})


def test_null_is_nothing():
    null = said(TWO_INLETS)
    null["sensor_values"][0]["values"][2][4]["v"] = None
    assert math.isnan(readings(null, None, None).power_w)


def test_a_login_is_answered_and_a_wrong_one_told(listen, tmp_path):
    with simulator.serve(Behaviour(), password="vault") as table:
        assert listen(
            {**table, "rate": "100 Hz", "timeout": "30 s"}, lambda heard: len(heard.samples) > 10
        ).samples
        (tmp_path / "guess").write_text("guess\n")
        with pytest.raises(LoginRefused):
            listen({**table, "password_file": str(tmp_path / "guess")}, any)
        with pytest.raises(LoginRefused, match="set user and password_file"):
            listen({"kind": "gude", "address": table["address"]}, any)


def test_it_is_found_by_its_address():
    with simulator.serve(Behaviour()) as table:
        found = Gude.discover([str(table["address"]), "127.0.0.1:1"])
    assert found == ({"kind": "gude", "address": table["address"]},)
    assert isinstance(drivers.build("meters", "gude", {"address": "pdu"}), Gude)
