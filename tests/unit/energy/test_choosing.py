"""Device and system power apart: the disks' channels beside those of whole hosts."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from perjoule.energy.choosing import Chooser, Roles
from perjoule.energy.metering import Metering
from perjoule.energy.power import joules
from perjoule.measures.points import points
from perjoule.model import Specification
from perjoule.model.doubts import METERS
from readings import over


def device_j(record, series, began_s, ended_s):
    reading = over(record, series, began_s, ended_s)
    disks = reading.metering.disks
    return joules(reading.signed(disks.net), began_s, ended_s) if disks else None


def series_of(made, *, disks_w=(3.0, 5.0), grade="modelled", meter="modelled"):
    boards = [
        made.steady(host, 20.0, component="board", grade="modelled", meter="modelled")
        for host in ("storage-1", "storage-2")
    ]
    meta = [made.steady("metadata-1", 20.0, component="board", grade="modelled", meter="modelled")]
    disks = [
        made.steady(host, watts, component="disks", grade=grade, meter=meter)
        for host, watts in zip(("storage-1", "storage-2"), disks_w, strict=False)
    ]
    return [*boards, *meta, *disks]


def test_the_energy_of_disks_is_that_of_all_hosts_that_store_over_the_window(made):
    assert device_j(made.record(), series_of(made), 10.0, 20.0) == pytest.approx(80.0)


def test_a_disk_without_a_meter_leaves_no_sum(made):
    assert device_j(made.record(), series_of(made, disks_w=(3.0,)), 10.0, 20.0) is None


def test_a_sensor_on_the_disks_supply_comes_before_a_model(made):
    sensors = [
        made.steady(host, 4.0, component="disks", grade="component", meter="hall")
        for host in ("storage-1", "storage-2")
    ]
    assert device_j(made.record(), [*series_of(made), *sensors], 10.0, 20.0) == pytest.approx(80.0)
    sensors = [
        made.steady(host, 6.0, component="disks", grade="component", meter="hall")
        for host in ("storage-1", "storage-2")
    ]
    assert device_j(made.record(), [*series_of(made), *sensors], 10.0, 20.0) == pytest.approx(120.0)


def test_sensors_count_only_if_that_of_each_host_has_a_value(made):
    sensors = [
        made.steady(host, 6.0, component="disks", grade="component", meter="hall", ended_s=ended_s)
        for host, ended_s in (("storage-1", 30.0), ("storage-2", 5.0))
    ]
    assert device_j(made.record(), [*series_of(made), *sensors], 10.0, 20.0) == pytest.approx(80.0)
    assert device_j(made.record(), [*series_of(made), *sensors], 1.0, 4.0) == pytest.approx(36.0)


def test_a_sensor_of_the_real_machine_says_nothing_of_an_emulated_one(made):
    sensors = [
        made.steady(h, 6.0, component="disks", grade="component", meter="hall")
        for h in ("storage-1", "storage-2")
    ]
    assert device_j(made.record(scale=0.2), sensors, 10.0, 20.0) is None
    assert device_j(made.record(scale=0.2), [*series_of(made), *sensors], 10.0, 20.0) == pytest.approx(80.0)


def test_a_window_that_samples_do_not_cover_has_no_energy_of_disks(made):
    assert device_j(made.record(), series_of(made), 10.0, 60.0) is None


def test_both_powers_and_bytes_per_joule_stand_beside_each_other(made):
    (point,) = points(made.record(), series_of(made))
    system, device = point.metrics["energy_j"], point.metrics["device_energy_j"]
    assert (system, device) == (pytest.approx(680.0), pytest.approx(80.0))
    assert point.metrics["device_mean_w"] == pytest.approx(8.0)
    assert point.metrics["device_efficiency_bytes_per_j"] / point.metrics[
        "efficiency_bytes_per_j"
    ] == pytest.approx(system / device)


def test_on_an_emulated_cluster_joules_of_disks_are_dilated_as_those_of_hosts(made):
    (point,) = points(made.record(scale=0.2), series_of(made))
    assert point.metrics["device_energy_j"] == pytest.approx(16.0)
    assert point.metrics["device_mean_w"] == pytest.approx(8.0)


@pytest.mark.parametrize("first", ["power", "energy"])
def test_a_counter_of_a_disk_comes_before_power_of_the_same_meter(made, first):
    t_s = np.arange(0.0, 31.0)
    both = [
        made.series(made.channel(host, "disks", quantity, semantics, "modelled", "modelled"), t_s, value)
        for host in ("storage-1", "storage-2")
        for quantity, semantics, value in (
            ("power", "instantaneous", 3.0 + 0 * t_s),
            ("energy", "counter", 4.0 * t_s),
        )
    ]
    both.sort(key=lambda s: s.channel.quantity != first)
    assert device_j(made.record(), both, 10.0, 20.0) == pytest.approx(80.0)


@pytest.mark.parametrize("at_scale", ["", "scale 0.2"])
def test_parts_and_channels_to_compare_are_those_that_say_something_of_the_hosts(made, at_scale):
    """A state is no energy; nor has a model of a part, or one of the whole, anything to compare. Beside an
    emulated cluster, whose watts follow its clock, a real meter says nothing.
    """
    grades = ("wall", "PDU", "BMC", "component", "modelled", "nameplate", "simulated")
    components = ("all", "group", "total", "switch", "board", "disks", "package-0")
    kinds = product(("storage-1", "elsewhere"), components, ("instantaneous", "window mean", "state"), grades)
    channels = [
        made.channel(host, component, "power", semantics, grade, f"meter {n}")
        for n, (host, component, semantics, grade) in enumerate(kinds)
    ]
    chooser = Chooser(Roles(frozenset(), hosts=frozenset({"storage-1"}), at_scale=at_scale), channels, None)
    emulated = {"simulated", "modelled", "nameplate"}
    assert set(chooser.comparable()) == {
        channel
        for channel in channels
        if channel.grade in ({"simulated"} if at_scale else {"wall", "PDU", "BMC", "simulated"})
        and channel.semantics != "state"
    }
    assert set(chooser.single()) == {
        channel
        for channel in channels
        if channel.host == "storage-1"
        and channel.component in ("board", "disks", "package-0")
        and channel.grade != "modelled"
        and (not at_scale or (channel.grade in emulated and channel.semantics != "state"))
    }


@pytest.mark.parametrize(
    ("hosts", "grades", "doubt"),
    [
        (("storage-1",), ("wall",), None),
        (("storage-1",), ("component",), METERS.none_covers),
        (("storage-1",), ("component", "wall"), None),
        ((), ("wall",), METERS.outside),
        ((), ("component",), METERS.outside),
        (("storage-1",), (), None),
    ],
)
def test_that_no_meter_covers_the_hosts_or_that_they_are_elsewhere_is_the_reason(made, hosts, grades, doubt):
    channels = [made.channel(grade=grade, meter=grade) for grade in grades]
    found = Chooser(Roles(frozenset(hosts)), channels, None).best(frozenset(hosts))
    assert [each.id for each in found.doubts] == ([doubt.id] if doubt else [])
    assert (found.parts is not None) == ("wall" in grades and bool(hosts))


@pytest.mark.parametrize("spans", [True, False])
def test_one_meter_of_both_sides_counts_for_both_though_others_have_clients_alone(made, spans):
    """A strip with the server and one client, beside a plug of the other client and, or not, of the first."""
    hosts = ("storage-1", "client-1", "client-2")
    strip = replace(made.channel("", "group", meter="strip"), covers=hosts[:2])
    plugs = [made.channel(host, meter="plug") for host in (hosts[2:] if spans else hosts)]
    roles = Roles(frozenset(hosts[:1]), clients=frozenset(hosts[1:]), hosts=frozenset(hosts))
    found = Metering.of(roles, [strip, *plugs])
    assert found.both is not None
    assert {channel.meter for _, channel in found.both.net} == ({"strip", "plug"} if spans else {"plug"})
    assert (found.servers.parts is None) == spans


@pytest.mark.parametrize("lacking", ["", "storage-1", "storage-2"])
@pytest.mark.parametrize("at_scale", ["", "scale 0.2"])
def test_packages_are_the_counters_of_all_hosts_or_none(made, lacking, at_scale):
    hosts = frozenset({"storage-1", "storage-2"})
    kinds = product((*hosts, "client-1"), ("package-0", "package-1", "board"), ("energy", "power"))
    channels = [
        made.channel(host, component, quantity, grade=grade, meter="rapl")
        for (host, component, quantity), grade in product(kinds, ("component", "wall"))
        if (host, quantity) != (lacking, "energy")
    ]
    found = Chooser(Roles(hosts, at_scale=at_scale), channels, None).best(hosts).packages
    counters = {
        channel
        for channel in channels
        if channel.host in hosts
        and channel.component != "board"
        and (channel.quantity, channel.grade) == ("energy", "component")
    }
    assert set(found) == {(1, channel) for channel in counters if not (lacking or at_scale)}


@pytest.mark.parametrize(
    ("first", "second", "chosen"),
    [
        ({"offset": 4.0}, {"offset": 1.9}, "b"),
        ({"offset": 4.0}, {"offset": 2.1}, "a"),
        ({"offset": 1.9}, {"offset": 4.0}, "a"),
        ({"offset": 4.0}, {"offset": 0.0}, "a"),  # nobody is that good
        ({"offset": 4.0}, {"resolution": 0.1}, "a"),  # which does not state its accuracy
        ({"resolution": 0.1}, {"resolution": 0.04}, "b"),  # as the first does not
    ],
)
def test_of_two_meters_of_a_grade_the_second_counts_where_it_is_twice_as_certain(made, first, second, chosen):
    hosts = ("storage-1", "storage-2", "metadata-1")
    for meters in ("ab", "a"):
        series = [
            replace(one, channel=replace(one.channel, specification=Specification(**words)))
            for meter, words in (("a", first), ("b", second))
            for one in (made.steady(host, 50.0, meter=meter) for host in hosts)
            if meter in meters
        ]
        parts = over(made.record(), series).metering.servers.parts
        assert parts is not None
        assert {channel.meter for _, channel in parts.net} == {chosen if chosen in meters else "a"}


def test_plugs_are_not_exchanged_for_a_strip_that_counts_hosts_and_switch_together(made):
    """However certain it is."""
    hosts = ("storage-1", "storage-2", "metadata-1")
    plugs = [made.steady(host, 50.0, meter="a") for host in hosts]
    strip = made.steady("", 165.0, component="total", meter="b")
    stated = [
        replace(one, channel=replace(one.channel, specification=Specification(offset=offset)))
        for one, offset in ((*((plug, 9.0) for plug in plugs), (strip, 0.1)))
    ]
    parts = over(made.record(), stated).metering.servers.parts
    assert parts is not None
    assert "a" in {channel.meter for _, channel in parts.net}


@pytest.mark.parametrize("grade", ["simulated", "wall"])
@pytest.mark.parametrize("switch", ["none", "alone", "with a host"])
def test_only_a_waveform_without_a_switch_has_none_to_count(made, grade, switch):
    hosts = ("storage-1", "storage-2")
    channels = [made.channel(host, grade=grade) for host in hosts]
    if switch == "alone":
        channels.append(made.channel("", "switch", grade=grade))
    elif switch == "with a host":
        channels.append(replace(made.channel("", "group", grade=grade), covers=("storage-1", "switch")))
    parts = Chooser(Roles(frozenset(hosts)), channels, None).best(frozenset(hosts)).parts
    assert parts is not None
    assert {channel for _, channel in parts.net} == set(channels[:2])
    counted = {channel for _, channel in parts.gross}
    if switch == "none":
        assert counted == (set(channels) if grade == "simulated" else set())
    else:
        assert channels[2] in counted
