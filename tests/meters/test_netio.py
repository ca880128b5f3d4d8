"""NETIO's sockets and PDUs: its units, its outputs, its login, and what reaches the sink when they fail."""

import json
import math
from typing import Any

import pytest

from perjoule import drivers
from perjoule.meters.netio import Netio, readings
from perjoule.model.errors import LoginRefused, MachineError
from perjoule.simulators import netio as simulator
from perjoule.simulators._behaviour import Behaviour
from places import transcript


def said(name: str) -> Any:
    return json.loads(transcript("netio", name))


@pytest.mark.parametrize(
    ("name", "output", "power_w", "energy_wh"),
    [
        ("powercable-101x.json", None, 33, 20364),
        ("powercable-101x.json", 1, 33, 20364),
        ("powerpdu-4c.json", None, 0, 233220),
        ("powerpdu-4c.json", 4, 0, 8),
        ("powerbox-4kf.json", None, 57, 123457),  # what nobody can reset
        ("powerbox-4kf.json", 1, 25, 1100),
    ],
)
def test_an_output_or_all_of_them_in_watts_and_watt_hours(name, output, power_w, energy_wh):
    assert readings(said(name), output) == (power_w, energy_wh * 3600)


def test_an_output_without_a_meter_is_refused_with_those_that_have_one():
    with pytest.raises(ValueError, match=r"no meter of its output 2 \(metered outputs: 1\)"):
        readings(said("powerbox-4kf.json"), 2)
    with pytest.raises(ValueError, match=r"output 5 \(metered outputs: 1, 2, 3, 4\)"):
        readings(said("powerpdu-4c.json"), 5)
    with pytest.raises(ValueError, match=r"no meter of its total \(metered outputs: none\)"):
        readings({"Outputs": [{"ID": 1, "State": 0}]}, None)  # a PowerPDU 4PS


def test_null_is_nothing():
    cable = said("powercable-101x.json")
    cable["Outputs"][0]["Load"] = None
    assert math.isnan(readings(cable, 1)[0])


def test_a_login_is_answered_and_a_wrong_one_told(listen, tmp_path):
    with simulator.serve(Behaviour(), password="vault") as table:
        assert listen(
            {**table, "rate": "100 Hz", "timeout": "30 s"}, lambda heard: len(heard.samples) > 10
        ).samples
        (tmp_path / "guess").write_text("guess\n")
        with pytest.raises(LoginRefused):
            listen({**table, "password_file": str(tmp_path / "guess")}, any)
        with pytest.raises(MachineError, match=r"refused the login.*enable reading by JSON"):
            listen({"kind": "netio", "address": table["address"]}, any)
    with simulator.serve(Behaviour(), enabled=False) as table, pytest.raises(MachineError, match="M2M API"):
        listen(dict(table), any)


def test_it_is_found_by_its_address():
    with simulator.serve(Behaviour()) as table:
        found = Netio.discover([str(table["address"]), "127.0.0.1:1"])
    assert found == ({"kind": "netio", "address": table["address"]},)
    assert isinstance(drivers.build("meters", "netio", {"address": "pdu"}), Netio)
