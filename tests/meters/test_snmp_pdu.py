"""Power strips over SNMP: steps of 10 W and of 360 kJ, whole numbers to be scaled, -1 that is no power."""

import math

import pytest

from perjoule.meters import snmp_pdu
from perjoule.meters.snmp_pdu.snmp import FIX, Credentials, agent
from perjoule.model.errors import MachineError, NoAnswer, PerjouleError
from perjoule.model.waveform import Waveform
from perjoule.simulators import snmp_pdu as simulator

WAVE = Waveform("sine", 123.4, 246.8, 1.0)


@pytest.fixture(scope="module")
def strip(noted):
    """One strip for all tests, and what it says."""
    behaviour = noted(WAVE)
    with simulator.serve(behaviour) as options:
        yield behaviour, options


def heard_once(listen, options, **more):
    options = {key: value for key, value in {**options, **more}.items() if value is not None}
    heard = listen(options, lambda h: bool(h.samples))
    return heard.samples[0][0], heard.samples[0][2]


@pytest.mark.parametrize(
    ("options", "step_w"),
    [({"model": "apc", "outlet": None}, 10.0), ({"model": "apc"}, 1.0), ({"model": "raritan"}, 0.1)],
)
def test_the_watts_are_those_of_the_waveform_in_the_strips_own_steps(listen, strip, options, step_w):
    behaviour, table = strip
    asked = {key: value for key, value in {**table, **options}.items() if value is not None}
    heard = listen({**asked, "rate": "40 Hz"}, lambda h: len(set(h.of()[1])) > 4)
    (channel,) = {channel for channel, *_ in heard.samples}
    assert (channel.semantics, channel.grade, channel.unit) == ("average", "PDU", "W")
    assert channel.specification.resolution == pytest.approx(step_w)
    assert behaviour.told(heard.of()[1], lambda said: round(math.floor(said.power_w / step_w) * step_w, 6))


@pytest.mark.parametrize("version", ["1", "2c", "3"])
@pytest.mark.parametrize("model", ["apc", "raritan"])
def test_each_version_of_snmp_says_the_same(listen, strip, tmp_path, version, model):
    login = {"authentication": simulator.AUTHENTICATION, "privacy": simulator.PRIVACY}
    for name, text in login.items():
        (tmp_path / name).write_text(f"{text}\n")
    files = {f"{name}_file": str(tmp_path / name) for name in login}
    user = (
        {"user": simulator.USER, "authentication": "SHA", "privacy": "AES", **files} if version == "3" else {}
    )
    _, power_w = heard_once(listen, strip[1], version=version, model=model, **user)
    step_w = 1.0 if model == "apc" else 0.1
    assert round(power_w, 6) in {
        round(math.floor(said.power_w / step_w) * step_w, 6) for said in strip[0].said
    }


def test_a_raritan_states_how_right_it_is(listen, strip):
    channel, _ = heard_once(listen, strip[1], model="raritan")
    assert channel.specification.gain_ratio == pytest.approx(0.01)


def test_a_counter_steps_by_360_kj_or_a_watt_hour(listen, noted):
    behaviour = noted(Waveform("constant", 0.0, 20e6))
    with simulator.serve(behaviour) as options:
        for model, step_j in (("apc", 360e3), ("raritan", 3600.0)):
            heard = listen(
                {**options, "model": model, "quantity": "energy", "rate": "40 Hz"},
                lambda h: len(h.samples) > 3,
            )
            (channel,) = {channel for channel, *_ in heard.samples}
            assert (channel.semantics, channel.unit, channel.specification.resolution) == (
                "counter",
                "J",
                step_j,
            )
            assert behaviour.told(
                heard.of("energy")[1], lambda said, step_j=step_j: math.floor(said.energy_j / step_j) * step_j
            )


@pytest.mark.parametrize("model", ["apc", "raritan"])
def test_an_outlet_that_is_not_metered_is_refused(listen, strip, model):
    with pytest.raises(PerjouleError, match=r"does not meter the power of outlet 7; set model"):
        heard_once(listen, strip[1], model=model, outlet=7)


def test_a_community_comes_from_a_file_and_a_wrong_one_is_no_answer(listen, strip, tmp_path):
    file = tmp_path / "community"
    file.write_text("public\n")
    heard_once(listen, strip[1], community_file=str(file))
    file.write_text("wrong\n")
    with pytest.raises(NoAnswer, match=r"0\.3 s"):
        heard_once(listen, strip[1], community_file=str(file), timeout="0.3 s")


def test_a_name_that_is_not_known_is_reported(listen):
    with pytest.raises(PerjouleError, match="address can't be resolved"):
        heard_once(listen, {"kind": "snmp_pdu", "address": "no-such-host.invalid", "model": "apc"})


def test_a_strip_is_found_at_its_address(strip):
    port = strip[1]["port"]
    (found,) = snmp_pdu.SnmpPdu.discover([f"127.0.0.1:{port}"])
    assert found == {"kind": "snmp_pdu", "model": "apc", "address": "127.0.0.1", "port": port}


def test_without_the_library_the_check_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    (check,) = snmp_pdu.SnmpPdu(address="192.0.2.1", model="apc").checks()
    assert (check.ok, check.needed, check.fix) == (False, True, FIX)


def test_without_the_library_a_request_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with (
        pytest.raises(MachineError, match="pysnmp is missing") as said,
        agent("192.0.2.1", 161, Credentials("2c"), 1.0),
    ):
        pytest.fail("it was opened")
    assert said.value.next == FIX


@pytest.mark.parametrize("said", [[None], [-1], [5, 2], [5, None]])
def test_what_is_no_power_is_never_one(said):
    assert math.isnan(snmp_pdu.apc("power", None, 1).value(said))


def test_zero_is_a_power():
    assert snmp_pdu.apc("power", 3, 1).value([0]) == 0.0
