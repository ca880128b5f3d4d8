"""Shelly plugs: units of both generations, their login, and what reaches the sink when they fail."""

import json
import math
from contextlib import ExitStack

import numpy as np
import pytest

from perjoule import drivers
from perjoule.drivers.boundary import Boundary
from perjoule.meters._http import Http, authorization
from perjoule.meters.shelly import Shelly, gen1, gen2
from perjoule.model.errors import LoginRefused, MachineError
from perjoule.model.waveform import Waveform
from perjoule.simulators import shelly as simulator
from perjoule.simulators._behaviour import Behaviour
from places import transcript


def said(name):
    return json.loads(transcript("shelly", name))


@pytest.mark.parametrize(
    ("name", "parse", "output", "power_w", "energy_j"),
    [
        ("plug-s-gen1.json", gen1, 0, 23.47, 128114 * 60),  # watt-minutes
        ("em-gen1.json", gen1, 1, 612.53, 1234567.8 * 3600),  # its EM counts watt-hours
        ("plus-plug-s.json", gen2, 0, 31.6, 9492.468 * 3600),
        ("pro-3em.json", gen2, 0, 1210.547, 4816.12 * 3600),
        ("pro-em-50.json", gen2, 1, 501.8, 23.05 * 3600),
    ],
)
def test_each_kind_of_shelly_counts_in_its_own_unit(name, parse, output, power_w, energy_j):
    assert parse(said(name), output) == pytest.approx((power_w, energy_j))


@pytest.mark.parametrize("generation", [[], {}, None, "two", True])
def test_a_generation_that_is_no_number_is_the_first(generation, monkeypatch):
    answers = {"/shelly": {"gen": generation}, "/status": said("plug-s-gen1.json")}
    monkeypatch.setattr(Http, "json", lambda _, path: answers[path])
    with Shelly(address="192.0.2.1").connect(Boundary("m", "h", "all")) as read:
        assert [one.value for one in read()] == pytest.approx([23.47, 128114 * 60])


def test_what_a_plug_calls_invalid_is_nothing():
    gone = said("plug-s-gen1.json")
    gone["meters"][0]["is_valid"] = False
    assert all(map(math.isnan, gen1(gone, 0)))
    null = said("plus-plug-s.json")
    null["switch:0"]["apower"] = None
    assert math.isnan(gen2(null, 0)[0])


def test_an_output_that_meters_nothing_is_refused():
    with pytest.raises(ValueError, match="no meter 3"):
        gen1(said("plug-s-gen1.json"), 3)
    with pytest.raises(ValueError, match="no power meter at output 0"):
        gen2({"switch:0": {"output": True}}, 0)


@pytest.mark.parametrize(("generation", "step_w", "step_j"), [(1, 0.01, 60), (2, 0.1, 3.6)])
def test_watts_and_joules_are_those_that_flow(listen, stepping, judge, generation, step_w, step_j):
    truth = Waveform("sine", 40, 4000, period_s=7.3)
    with simulator.serve(Behaviour(truth, now_s=stepping), generation=generation) as table:
        heard = listen({**table, "rate": "100 Hz", "timeout": "30 s"}, lambda heard: len(heard.samples) > 50)
    judge(heard, truth, step_w=step_w, step_j=step_j)
    channels = {channel.quantity: channel for channel, *_ in heard.samples}
    stated = {quantity: channel.specification.resolution for quantity, channel in channels.items()}
    assert stated == pytest.approx({"power": step_w, "energy": step_j})
    assert (channels["energy"].semantics, channels["power"].semantics) == ("counter", "instantaneous")
    assert {channel.grade for channel in channels.values()} == {"wall"}


def test_a_login_is_answered_and_a_wrong_one_told(listen, tmp_path):
    with simulator.serve(Behaviour(), password="vault") as table:
        assert listen(
            {**table, "rate": "100 Hz", "timeout": "30 s"}, lambda heard: len(heard.samples) > 10
        ).samples
        with pytest.raises(LoginRefused):
            (tmp_path / "guess").write_text("guess\n")
            listen({**table, "password_file": str(tmp_path / "guess")}, any)
        with pytest.raises(LoginRefused, match="set user and password_file"):
            listen({"kind": "shelly", "address": table["address"]}, any)


def test_the_digest_is_that_of_the_standard():
    # RFC 7616, section 3.9.1
    for algorithm, answer in (
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ):
        nonce = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
        challenge = (
            f'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm={algorithm}, '
            f'nonce="{nonce}"'
        )
        own = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
        header = authorization(challenge, "/dir/index.html", "Mufasa", "Circle of Life", own, 1)
        assert f'response="{answer}"' in header["Authorization"]


@pytest.mark.parametrize("generation", [1, 2])
def test_nothing_said_is_nothing_recorded(listen, generation):
    behaviour = Behaviour(Waveform("constant"), faults=("nan",), share_ratio=0.5, seed=2)
    with simulator.serve(behaviour, generation=generation) as table:
        values = listen({**table, "rate": "100 Hz"}, lambda heard: len(heard.samples) > 40).of("power")[1]
    assert np.isnan(values).any()
    assert set(values[np.isfinite(values)]) == {60.0}


def test_a_plug_is_found_by_its_address():
    with simulator.serve(Behaviour()) as table:
        found = Shelly.discover([str(table["address"]), "127.0.0.1:1"])
    assert found == ({"kind": "shelly", "address": table["address"]},)
    assert isinstance(drivers.build("meters", str(found[0]["kind"]), {"address": "plug"}), Shelly)


PHASES = [
    {"power": watts, "is_valid": True, "total": total}
    for watts, total in ((120.5, 1000.0), (240.0, 2000.0), (60.0, 500.0))
]


def test_a_first_3em_gives_the_sum_of_its_phases_or_the_one_that_is_named():
    status = {"emeters": PHASES, "total_power": 420.5}
    assert gen1(status, None) == pytest.approx((420.5, 3500 * 3600))
    assert gen1(status, 0) == pytest.approx((120.5, 1000 * 3600))
    # an EM has two clamps of its own
    assert gen1({"emeters": PHASES[:2]}, None) == pytest.approx((120.5, 1000 * 3600))


def test_three_phases_that_a_pro_3em_calls_meters_are_added_up():
    status = {}
    for place, watts in enumerate((120.5, 240.0, 60.0)):
        status[f"em1:{place}"] = {"id": place, "act_power": watts}
        status[f"em1data:{place}"] = {"id": place, "total_act_energy": 1000.0 * (place + 1)}
    assert gen2(status, None) == pytest.approx((420.5, 6000 * 3600))
    assert gen2(status, 1) == pytest.approx((240.0, 2000 * 3600))
    status["em1:2"]["act_power"] = -60.0
    with pytest.raises(ValueError, match="phase C shows -60 W"):
        gen2(status, None)
    del status["em1:2"]  # a Pro EM has two clamps of its own
    assert gen2(status, None)[0] == 120.5


def test_a_phase_that_is_invalid_leaves_the_sum_unknown():
    assert all(map(math.isnan, gen1({"emeters": [*PHASES[:2], {**PHASES[2], "is_valid": False}]}, None)))


def test_one_reversed_clamp_of_three_is_refused_although_the_sum_is_positive():
    reversed_ = [{**PHASES[0], "power": -458.43}, *PHASES[1:]]
    with pytest.raises(ValueError, match=r"phase A shows -458.43 W: its clamp is the wrong way round"):
        gen1({"emeters": reversed_}, None)
    em = {"a_act_power": 2352.3, "b_act_power": -406.2, "c_act_power": 228.7, "total_act_power": 2174.8}
    with pytest.raises(ValueError, match=r"phase B shows -406.2 W"):
        gen2({"em:0": em, "emdata:0": {"total_act": 1.0}}, None)
    em["b_act_power"] = -1.3  # a phase without a load
    assert gen2({"em:0": em, "emdata:0": {"total_act": 1.0}}, None)[0] == 2174.8


@pytest.mark.parametrize("component", ["light", "rgbw", "cct", "switch", "pm1"])
def test_a_dimmer_and_others_have_a_meter(component):
    status = {f"{component}:0": {"output": True, "apower": 42.5, "aenergy": {"total": 10.0}}}
    assert gen2(status, None) == pytest.approx((42.5, 36000))


@pytest.mark.parametrize(
    ("identity", "refused"),
    [
        ({"type": "SHSW-1", "mac": "AABB"}, True),
        ({"type": "SHSW-1", "mac": "AABB", "num_meters": 1}, True),
        ({"type": "SHNEW-1", "mac": "AABB", "num_meters": 0}, True),
        ({"type": "SHEM-3", "mac": "AABB", "num_meters": 0, "num_emeters": 3}, False),
        ({"type": "SHEM", "mac": "AABB", "num_meters": 0}, False),
        ({"type": "SHDM-1", "mac": "AABB", "num_meters": 1}, False),
        ({"type": "SHSW-PM", "mac": "AABB"}, False),
    ],
)
def test_a_shelly_without_a_meter_is_refused_though_its_status_has_one_of_0_w(identity, refused, monkeypatch):
    meter = {"power": 0.0, "is_valid": True, "total": 0}
    answers = {"/shelly": identity, "/status": {"meters": [meter], "relays": [{"ison": True}]}}
    monkeypatch.setattr(Http, "json", lambda _, path: answers[path])
    with ExitStack() as stack:
        if refused:
            with pytest.raises(MachineError, match="has no power meter"):
                stack.enter_context(Shelly(address="192.0.2.1").connect(Boundary("m", "h", "all")))
        else:
            assert [
                one.value
                for one in stack.enter_context(
                    Shelly(address="192.0.2.1").connect(Boundary("m", "h", "all"))
                )()
            ] == [0, 0]


def test_numbers_written_as_text_are_numbers_and_other_text_is_a_failed_read_with_its_reason():
    meter = {"power": "455.85", "is_valid": True, "total": "60"}
    assert gen1({"meters": [meter]}, None) == pytest.approx((455.85, 3600))
    with pytest.raises(ValueError, match="'unavailable' is no number"):
        gen1({"meters": [{**meter, "power": "unavailable"}]}, None)


@pytest.mark.parametrize(("fault", "shown_w"), [("reversed", -60.0), ("zero", 0.0), ("unknown", 65535.0)])
def test_what_a_meter_says_wrongly_reaches_the_recording_as_it_said_it(listen, fault, shown_w):
    behaviour = Behaviour(Waveform("constant"), faults=(fault,), share_ratio=0.5, seed=2)
    with simulator.serve(behaviour) as table:
        values = listen({**table, "rate": "100 Hz"}, lambda heard: len(heard.samples) > 40).of("power")[1]
    assert set(values) == {60.0, shown_w}


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "challenge", ["Digest " + "a" * 60_000, 'Digest a="' + "x" * 60_000, "Digest " + "a " * 30_000]
)
def test_a_challenge_that_is_long_and_none_holds_nothing_up(challenge):
    with pytest.raises(OSError, match="it requires an unsupported authentication"):
        authorization(challenge, "/", "admin", "secret", "0", 1)
