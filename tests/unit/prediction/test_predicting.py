"""Profiles and predictions, of a made-up file system and by hand."""

import json
import re
from dataclasses import replace
from functools import cache
from math import inf, log

import pytest

from perjoule import catalogue
from perjoule.model import Flow, Json
from perjoule.model.errors import CampaignError
from perjoule.model.hardware import Cluster, Value
from perjoule.prediction import (
    Profile,
    Target,
    names,
    parameters,
    predictions,
    profile,
    read,
    shipped,
    uncertain,
)
from perjoule.prediction.bounds import Demand
from perjoule.prediction.fitting import uneven_ratio
from perjoule.prediction.identification import BESIDE, BESIDE_RATIO, counted_ratios, ends
from perjoule.prediction.power import Plant, Steps, dynamic_w
from perjoule.prediction.profile import band_ratio
from perjoule.prediction.targets import fleet_of
from perjoule.results.prediction import remarks, table
from perjoule.store.records import to_json
from tests import made

pytestmark = pytest.mark.heavy  # each process fits a profile

MIB = 1024**2


@cache
def _profile() -> Profile:
    points = made.points(noise_ratio=0.01)
    return profile(
        "moosefs",
        {"goal": 1},
        points,
        release="made up",
        data_roles=("storage",),
        unit_bytes=inf,
        emulated=True,
    )


def _target() -> Target:
    return Target(_profile(), catalogue.cluster("odroid-hc4"), {}, memory=False)


def _text(found: Profile) -> str:
    data = to_json(found)
    assert isinstance(data, dict)
    return json.dumps({**data, "digest": found.digest})


def test_a_profile_reads_back_as_it_was_written() -> None:
    assert read(_text(_profile()), "made.json") == _profile()


def test_a_profile_of_an_earlier_version_is_fitted_again_to_its_points() -> None:
    """Its numbers were fitted to another law, so they would give other throughputs than those measured."""
    now = _profile()
    known = now.known["write"]
    off = replace(known, fit=replace(known.fit, way=replace(known.fit.way, fixed_s=9.0)))
    assert read(_text(replace(now, known={"write": off}, version=1)), "made.json") == now


@cache
def _counted_over_trials() -> Profile:
    """The servers' counted work has a quarter more than what the watts of the window say, and one point
    has no power.
    """
    own = [
        replace(one, server_mips_s_per_byte=1.25 * one.server_mips_s_per_byte)
        for one in made.points(noise_ratio=0.01)
    ]
    own[0] = replace(own[0], mean_w=None)
    roles = ("storage",)
    return profile(
        "moosefs", {}, own, release="made up", data_roles=roles, unit_bytes=inf, emulated=True, cpu_of="trial"
    )


def test_a_profile_says_in_which_time_its_cpu_work_was_counted() -> None:
    assert [name for name in names() if shipped(name).cpu_of == "window"] == ["seaweedfs"]
    assert _profile().cpu_of == "window"
    data = json.loads(_text(_profile()))
    del data["cpu_of"]  # as profiles of before
    assert read(json.dumps(data), "made.json").cpu_of == "trial"
    assert read(json.dumps({**data, "version": 1}), "made.json").cpu_of == "trial"  # and fitted again


def test_modelled_watts_say_how_much_of_the_servers_work_was_in_the_window() -> None:
    found = counted_ratios(_counted_over_trials(), "write")
    assert found == pytest.approx([1.25] * (len(_counted_over_trials().points) - 1))
    assert counted_ratios(_counted_over_trials(), "read").size == 0


def test_watts_that_bend_say_nothing_of_the_servers_work() -> None:
    """They are no linear function of it."""
    found = _counted_over_trials()
    bent = tuple(
        replace(point, plant=replace(point.plant, steps=Steps(0.0, 1.0, 0.0, 1e-9, 1e6)))
        for point in found.points
    )
    assert counted_ratios(replace(found, points=bent), "write").size == 0


def test_cpus_with_more_work_than_they_can_do_draw_no_cube_of_it() -> None:
    """A server with 4 W of bend in 8 of dynamic watts, twice over, behind a perfect supply: at 3 times its
    capacity, 8 x 3 W.
    """
    bent = Plant(0.0, 4 / 1000, 0.0, 0.0, 0.0, Steps(0.0, 1.0, 0.0, 4 / 1000**3, 1000.0))
    demand = Demand(Flow(), server_mips_s_per_byte=1.0)
    assert [float(dynamic_w(bent, demand, mips)) for mips in (500.0, 1000.0, 3000.0)] == pytest.approx(
        [4 * 0.5 + 4 * 0.125, 8.0, 24.0]
    )


def test_bands_allow_for_work_that_was_counted_beside_the_load() -> None:
    counted = _counted_over_trials()
    works = counted.known["write"].fit.works
    inside = ends(counted, "write")[BESIDE][1].works
    assert inside.server_mips_s_per_byte == pytest.approx(works.server_mips_s_per_byte / 1.25)
    assert inside.client_mips_s_per_byte == pytest.approx(works.client_mips_s_per_byte / BESIDE_RATIO)
    assert BESIDE not in ends(replace(counted, cpu_of="window"), "write")
    real = replace(counted, emulated=False)  # whose watts are a meter's
    assert ends(real, "write")[BESIDE][1].works.server_mips_s_per_byte == pytest.approx(
        works.server_mips_s_per_byte / BESIDE_RATIO
    )
    target = replace(_target(), profile=counted)
    (wide,) = predictions(target, [4], 128 * MIB)
    (narrow,) = predictions(replace(target, profile=replace(counted, cpu_of="window")), [4], 128 * MIB)
    assert wide.mean_w[1] < narrow.mean_w[1]
    assert (wide.mean_w[0], wide.mean_w[2]) == pytest.approx((narrow.mean_w[0], narrow.mean_w[2]))
    assert any("CPU work is that of whole trials" in line for line in remarks(target, [wide], 1))
    assert not any("CPU work is that of whole trials" in line for line in remarks(_target(), [narrow], 1))


def test_of_reads_no_share_that_is_written_back_is_among_the_numbers() -> None:
    found = shipped("moosefs")
    assert "on_disk_ratio" not in {one.name for one in parameters(found, "read")}
    assert "on_disk_ratio" in {one.name for one in parameters(found, "write")}


def test_a_profile_of_a_file_system_that_is_not_there_predicts_nothing() -> None:
    strange = replace(_target(), profile=replace(_profile(), kind="usterfs"))
    with pytest.raises(CampaignError, match='an unknown file system "usterfs"'):
        tuple(predictions(strange, [1], 2**30))


@pytest.mark.parametrize(
    ("kind", "options", "servers_count"),
    [
        ("glusterfs", {}, 5),  # a brick on the metadata host
        ("glusterfs", {"layout": "replicated", "hosts": 4}, 4),
        ("cephfs", {}, 4),
        ("cephfs", {"classes": "together"}, 5),
    ],
)
def test_data_are_on_the_hosts_that_the_options_choose(
    kind: str, options: dict[str, Json], servers_count: int
) -> None:
    there = Target(shipped(kind), catalogue.cluster("odroid-hc4"), options)
    assert fleet_of(there, 1).servers_count == servers_count


def test_replicas_are_predicted_on_as_many_hosts_as_they_were_measured_on() -> None:
    there = Target(
        shipped("glusterfs"), catalogue.cluster("odroid-hc4"), {"layout": "replicated", "hosts": 4}
    )
    assert {one.beyond for one in predictions(there, [4], 128 * MIB)} == {()}


def test_mirrors_beneath_write_everything_twice() -> None:
    slow = catalogue.at_speed(
        catalogue.cluster("odroid-hc4"), cpu_ratio=1.0, network_ratio=1.0, disk_ratio=0.1
    )
    mirror: dict[str, Json] = {"beneath": {"kind": "ext4", "mirror": "md"}}
    single, double = (
        {
            one.direction: one
            for one in predictions(Target(shipped("orangefs"), slow, options), [16], 128 * MIB)
        }
        for options in ({}, mirror)
    )
    assert {one.redundancy.text for one in double.values()} == {"1 copy, mirrored disks"}
    assert single["write"].bottleneck == "disks"
    assert double["write"].bound_bytes_per_s == pytest.approx(single["write"].bound_bytes_per_s / 2)
    assert double["write"].throughput_bytes_per_s[0] < 0.75 * single["write"].throughput_bytes_per_s[0]
    assert double["read"].bound_bytes_per_s == single["read"].bound_bytes_per_s


def test_no_band_of_work_per_joule_goes_beyond_the_most_throughput_over_the_least_watts() -> None:
    """The network of one client is its bound, at which the band of throughput ends."""
    for one in predictions(Target(shipped("cephfs"), catalogue.cluster("odroid-hc4"), {}), [1], 2**30):
        assert one.throughput_bytes_per_s[2] == one.bound_bytes_per_s
        assert one.efficiency_bytes_per_j[2] <= one.throughput_bytes_per_s[2] / one.mean_w[1]


def test_bands_of_a_few_points_have_no_end_and_say_what_widens_them() -> None:
    """One point of each count: without it nothing is known of that count, however it would be predicted."""
    own = shipped("moosefs")
    few = {
        (one.case.direction, one.case.fleet.clients_count): one
        for one in own.points
        if one.case.fleet.clients_count in {1, 2}
    }
    taught = profile(
        own.kind,
        own.options,
        list(few.values()),
        release="1",
        data_roles=own.data_roles,
        unit_bytes=own.unit_bytes,
        emulated=True,
    )
    for one in predictions(Target(taught, catalogue.cluster("odroid-hc4"), {}), [1, 2], 128 * MIB):
        assert one.mean_w[1:] == (0, inf)
        assert one.efficiency_bytes_per_j[1:] == (0, inf)
        assert one.throughput_bytes_per_s[2] <= one.bound_bytes_per_s
        assert one.worth["the model, by points that were left out"] == 1
        assert sum(one.worth.values()) == 1


def test_points_that_were_changed_are_refused() -> None:
    data = json.loads(_text(_profile()))
    data["points"][0]["throughput_bytes_per_s"] *= 2
    with pytest.raises(
        CampaignError, match=r"made\.json: its points differ from those that it was fitted to"
    ):
        read(json.dumps(data), "made.json")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": 1}', "[" * 10_000])
def test_other_files_are_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(CampaignError, match="not a profile"):
        read(text, "made.json")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("servers_count", 0),
        ("in_flight", -1.0),
        ("server_memory_bytes", 0),
        ("throughput_bytes_per_s", 1e-300),
        ("client_bytes", 1e300),
    ],
)
def test_numbers_that_can_not_be_measured_are_refused(name: str, value: float) -> None:
    text, count = re.subn(rf'("{name}": )(\{{.*?\}}|[^,}}]+)', rf"\g<1>{value!r}", _text(_profile()))
    assert count
    with pytest.raises(CampaignError, match=f"{name} is .*, which is impossible"):
        read(text, "made.json")


def test_one_number_of_clients_is_too_few() -> None:
    with pytest.raises(CampaignError, match="one number of clients"):
        profile(
            "moosefs",
            {},
            made.points(clients=(4,)),
            release="",
            data_roles=("storage",),
            unit_bytes=inf,
            emulated=True,
        )


def test_a_number_that_no_point_depends_on_is_not_identified() -> None:
    """The truth has `at_once` = 50: no client is ever held back by it."""
    found = {one.name: one for one in parameters(_profile(), "write")}
    assert not found["at_once"].identified
    assert found["in_flight"].identified
    assert found["server_mips_s_per_byte"].identified
    assert found["in_flight"].value == pytest.approx(made.TRUTH.way.in_flight, rel=0.1)


UNIT_BYTES = 64.0 * MIB  # of a file, that lie on one host as a whole


@cache
def _whole() -> Profile:
    """Return a profile of chunks that are dealt out in turn."""
    points = [
        replace(one, busiest_ratio=1 / uneven_ratio(one, UNIT_BYTES))
        for one in made.points(unit_bytes=UNIT_BYTES)
    ]
    return profile(
        "moosefs",
        {"goal": 1},
        points,
        release="",
        data_roles=("storage",),
        unit_bytes=UNIT_BYTES,
        emulated=True,
    )


def _fast_clients() -> Cluster:
    """Return boards whose clients never hold anything up."""

    def faster(name: str, value: Value) -> Value:
        return replace(value, value=1e6 * value.value) if name.endswith("of board client") else value

    nodes = (
        replace(node, board=replace(node.board, name="client")) if node.role == "client" else node
        for node in catalogue.cluster("odroid-hc4").nodes
    )
    return uncertain.each_value(replace(catalogue.cluster("odroid-hc4"), nodes=tuple(nodes)), faster)


def test_a_number_that_no_point_depends_on_may_be_as_far_off_as_the_points_allow() -> None:
    """With four servers, one client is held back only below four at once; nothing says whether it could
    use more than four.
    """
    low, high = (fit.way.at_once for fit in ends(_whole(), "write")["at_once"])
    assert 1 <= low < 4
    assert high > 1e5


def test_a_number_that_points_depend_on_is_off_by_a_factor_of_two() -> None:
    wide = replace(
        _profile().known["write"].draws[0], works=replace(made.TRUTH.works, server_mips_s_per_byte=1.0)
    )
    known = replace(_profile().known["write"], draws=(_profile().known["write"].fit, wide))
    found = replace(_profile(), known={"write": known})
    low, high = (fit.works.server_mips_s_per_byte for fit in ends(found, "write")["server_mips_s_per_byte"])
    assert (low, high) == pytest.approx(
        (known.fit.works.server_mips_s_per_byte / 2, 2 * known.fit.works.server_mips_s_per_byte)
    )


def test_what_rests_on_a_number_that_was_not_identified_is_a_range() -> None:
    """One client with 200 servers: calibration had four, so that the truth, 50 at once, could not be seen."""
    target = Target(_whole(), _fast_clients(), {}, memory=False, servers_count=200)
    found = next(iter(predictions(target, [1], 64 * 1024 * MIB)))
    assert found.rests_on == ("at_once",)
    assert (
        max(found.worth, key=lambda name: found.worth[name]) == "at_once of moosefs, which was not identified"
    )
    value, low, high = found.throughput_bytes_per_s
    # Of 1024 chunks the fullest of 200 servers has 6; all work at once as long as it has: 1024 / (200 x 6) of
    # their rate. If 50 are busy at once, it is 50 / 200 of their rate, less what is written back later, by
    # 1.25 of the disks' time.
    network, disk = 200 * 111.34 * MIB, 200 * 2 * 140.09 * MIB
    truth = 1 / (200 / 50 / network + 0.8 * (6 * 200 / 1024) / disk)
    assert low < truth < high
    assert high == pytest.approx(1 / (6 * 200 / 1024 * (1 / network + 0.8 / disk)), rel=0.15)
    assert truth > 2 * value
    (line,) = [line for line in remarks(target, [found], 4) if "a range" in line]
    assert line == (
        "write, clients 1: a range, because it rests on at_once of moosefs, which calibration did not "
        "identify"
    )
    assert table([found]).rows[0][2].startswith("– (")


def test_a_number_that_was_not_identified_and_moves_nothing_widens_nothing() -> None:
    found = next(
        iter(predictions(Target(_whole(), catalogue.cluster("odroid-hc4"), {}, memory=False), [4], 128 * MIB))
    )
    assert found.rests_on == ()
    assert found.worth.get("at_once of moosefs, which was not identified", 0.0) < 0.01
    assert "–" not in table([found]).rows[0]


def test_predictions_are_what_was_measured_there() -> None:
    found = next(one for one in predictions(_target(), [4], 128 * MIB) if one.direction == "write")
    measured = [
        one
        for one in made.points(noise_ratio=0.01, copies=(1,), speeds=made.SPEEDS[:1])
        if one.case.fleet.clients_count == 4
    ]
    assert measured
    value, low, high = found.throughput_bytes_per_s
    assert value == pytest.approx(measured[0].throughput_bytes_per_s, rel=0.03)
    assert low < measured[0].throughput_bytes_per_s < high
    assert found.mean_w[0] == pytest.approx(measured[0].mean_w, rel=0.01)
    assert found.efficiency_bytes_per_j[0] == pytest.approx(value / found.mean_w[0])
    assert found.beyond == ()
    assert sum(found.worth.values()) == pytest.approx(1.0)


def test_watts_by_component_add_up_to_the_predicted_ones() -> None:
    for one in predictions(_target(), [1, 4], 128 * MIB):
        assert sum(one.parts_w.values()) - one.parts_w["switch"] == pytest.approx(one.mean_w[0])
        assert one.parts_w["boards idle"] + one.parts_w["disks idle"] == pytest.approx(one.idle_w)


def test_no_prediction_is_above_its_bound() -> None:
    for one in predictions(_target(), [1, 2, 4, 16, 64], 128 * MIB):
        assert one.throughput_bytes_per_s[0] <= one.bound_bytes_per_s * (1 + 1e-9)
        assert one.throughput_bytes_per_s[2] <= one.bound_bytes_per_s * (1 + 1e-9)


def test_what_was_not_measured_is_named() -> None:
    three = replace(_target(), options={"goal": 3})
    assert {level for one in predictions(three, [3], 128 * MIB) for level in one.beyond} == {
        "clients",
        "redundancy",
    }
    other = replace(_target(), cluster=catalogue.cluster("reference-1"))
    assert "hardware" in next(iter(predictions(other, [4], 128 * MIB))).beyond
    more = replace(_target(), servers_count=8)
    assert "hardware" in next(iter(predictions(more, [4], 128 * MIB))).beyond


def test_another_size_than_measured_is_named_and_no_surer() -> None:
    """Of MooseFS's reads, points without their number of clients were predicted worse than all points
    together.

    Only what calibration found of the time by file may count less in a longer load: 1 % of the band at most.
    """
    target = Target(shipped("moosefs"), catalogue.cluster("odroid-hc4"), {})
    measured, longer = (
        tuple(predictions(target, [4], size)) for size in (round(target.profile.client_bytes), 1024 * MIB)
    )
    assert [one.beyond for one in measured] == [(), ()]
    assert [one.beyond for one in longer] == [("size",), ("size",)]
    for one, other in zip(measured, longer, strict=True):
        (value, low, _), (longer_value, longer_low, _) = (
            one.throughput_bytes_per_s,
            other.throughput_bytes_per_s,
        )
        assert longer_value / longer_low >= 0.99 * value / low


def test_what_is_like_the_measured_points_has_at_least_the_band_of_points_left_out_by_clients() -> None:
    for kind in ("moosefs", "cephfs"):
        target = Target(shipped(kind), catalogue.cluster("odroid-hc4"), {})
        for one in predictions(target, [4], round(target.profile.client_bytes)):
            value, low, _ = one.throughput_bytes_per_s
            assert one.beyond == ()
            assert value / low >= 0.999 * band_ratio(target.profile.known[one.direction], ("clients",))


def test_clients_with_more_calls_in_flight_are_faster_where_objects_lie_on_all_servers() -> None:
    target = Target(shipped("cephfs"), catalogue.cluster("odroid-hc4"), {})
    size_bytes = round(target.profile.client_bytes)
    single, four = (tuple(predictions(target, [2], size_bytes, calls)) for calls in (1, 4))
    for one, other in zip(single, four, strict=True):
        assert other.throughput_bytes_per_s[0] > 1.05 * one.throughput_bytes_per_s[0]


def test_bands_widen_with_what_differs() -> None:
    known = _profile().known["write"]
    assert band_ratio(known, ("clients", "hardware")) > max(
        band_ratio(known, ("clients",)), band_ratio(known, ("hardware",))
    )


def test_idle_watts_make_work_per_joule_surer_than_throughput() -> None:
    """On hardware without a doubt: 1 % more throughput is 1 % more of the watts above idle, and so less
    than 1 % more MiB/J.
    """
    cluster = catalogue.cluster("odroid-hc4")
    sure = uncertain.each_value(cluster, lambda _, value: replace(value, sigma=0.0))
    found = next(iter(predictions(replace(_target(), cluster=sure), [2], 128 * MIB)))
    rate, watts, work = (
        log(one[2] / one[0])
        for one in (found.throughput_bytes_per_s, found.mean_w, found.efficiency_bytes_per_j)
    )
    above_idle = 1 - found.idle_w / found.mean_w[0]
    assert work == pytest.approx(rate * (1 - above_idle), rel=0.1)
    assert watts == pytest.approx(rate * above_idle, rel=0.1)


def test_more_servers_are_faster() -> None:
    few, many = (
        next(
            iter(predictions(replace(_target(), servers_count=count), [16], 128 * MIB))
        ).throughput_bytes_per_s[0]
        for count in (2, 8)
    )
    assert many > 2 * few


def test_a_fitted_value_moves_with_what_it_was_fitted_to() -> None:
    """The boards' idle watts were fitted to a measured total, so an error in the supply's efficiency
    leaves idle power alone.
    """
    found = next(iter(predictions(_target(), [1], 128 * MIB)))
    assert found.worth.get("supply efficiency", 0.0) < 0.05


def test_an_impossible_layout_is_refused() -> None:
    with pytest.raises(CampaignError, match="chunk servers"):
        list(predictions(replace(_target(), options={"goal": 9}), [1], 128 * MIB))
