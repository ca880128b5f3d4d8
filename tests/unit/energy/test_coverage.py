from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perjoule.energy import coverage
from perjoule.energy.coverage import Item, cover, differences, items, rivals
from perjoule.model import Channel
from perjoule.trial.same_devices import unexplained
from readings import over, servers_energy
from typed import present

SERVERS = ("storage-1", "storage-2", "metadata-1")
RISES = [float(t) for t in range(31)], [10.0 * t for t in range(31)]  # a counter of 10 W


def item(name, *devices):
    channel = Channel("m", name, "all", "power", "W", "window mean", "wall")
    return Item(channel, frozenset(devices))


def names(signed):
    return {(sign, channel.host) for sign, channel in signed}


def group(made, *covers, power_w, grade="wall", meter="wall", component="group"):
    one = made.steady("", power_w, component=component, grade=grade, meter=meter)
    return replace(one, channel=replace(one.channel, covers=covers))


def packages(record, series):
    return over(record, series).metering.servers.packages


@pytest.mark.parametrize(
    ("host", "grade", "found"),
    [
        ("", "modelled", {"a/board", "a/disks", "b/board", "b/disks"}),
        ("b", "modelled", {"a/board", "b/board", "b/disks"}),
        ("", "wall", {"a/board", "a/disks", "b/board", "b/disks"}),
    ],
)
def test_a_host_has_the_parts_that_a_channel_of_it_or_of_all_hosts_reads_alone(host, grade, found):
    channel = Channel("m", host, "disks", "power", "W", "window mean", grade)
    assert coverage.devices_of(["a", "b"], [channel]) == found


def test_a_measured_host_has_disks_of_its_own_whether_they_are_metered_or_not():
    channel = Channel("m", "a", "board", "power", "W", "window mean", "wall")
    assert coverage.devices_of(["a"], [channel]) == {"a/board", "a/disks"}


def test_a_difference_is_found_and_a_sum_is_preferred():
    total, switch, a, b = item("total", "a", "b", "s"), item("switch", "s"), item("a", "a"), item("b", "b")
    assert names(cover(frozenset("ab"), [total, switch])) == {(1, "total"), (-1, "switch")}
    assert names(cover(frozenset("ab"), [total, switch, a, b])) == {(1, "a"), (1, "b")}
    assert names(cover(frozenset("a"), [total, switch, b])) == {(1, "total"), (-1, "switch"), (-1, "b")}
    assert cover(frozenset("a"), [total, switch]) == ()


def test_what_overlaps_is_never_added():
    assert cover(frozenset("abc"), [item("ab", "a", "b"), item("bc", "b", "c"), item("b", "b")]) == ()


@given(
    st.lists(st.frozensets(st.sampled_from("abcde"), min_size=1), max_size=8),
    st.frozensets(st.sampled_from("abcde"), min_size=1),
)
def test_a_cover_counts_each_device_of_the_target_once_and_nothing_else(sets, target):
    among = [item(str(n), *devices) for n, devices in enumerate(sets)]
    devices = {one.channel.host: one.devices for one in among}
    found = cover(target, among)
    if found:
        counted = {d: sum(sign * (d in devices[one.host]) for sign, one in found) for d in "abcde"}
        assert counted == {d: int(d in target) for d in "abcde"}
        for wanted in (1, -1):
            of_sign = [devices[one.host] for sign, one in found if sign == wanted]
            assert sum(map(len, of_sign)) == len(reduce(frozenset.union, of_sign, frozenset()))
    elif target in sets:
        pytest.fail("one channel is the target")


def test_the_search_for_a_cover_ends_after_a_number_of_steps(monkeypatch):
    """One for the target, and one for each channel that is added."""
    two = [item("a", "a"), item("b", "b")]
    for most_count, found in ((3, {(1, "a"), (1, "b")}), (2, set())):
        monkeypatch.setattr(coverage, "MOST_TRIED", most_count)
        assert names(cover(frozenset("ab"), two)) == found


def test_sixty_hosts_on_two_strips_are_covered_at_once():
    hosts = [item(f"h{n}", f"h{n}") for n in range(60)]
    strips = [item(f"strip{k}", *(f"h{n}" for n in range(30 * k, 30 * k + 30))) for k in range(2)]
    whole = frozenset(f"h{n}" for n in range(60))
    assert names(cover(whole, [*hosts, *strips])) == {(1, "strip0"), (1, "strip1")}
    assert len(cover(whole, [*hosts, strips[0]])) == 31


def test_a_strip_without_the_clients_and_the_switch_is_the_servers(made):
    strip = group(made, *SERVERS, "client-1", "switch", power_w=80.0)
    client = made.steady("client-1", 30.0, meter="plug")
    switch = made.steady("", 5.0, component="switch", meter="plug-2")
    found = servers_energy(made.record(), [strip, client, switch], 10, 20)
    assert (found.net_j, found.gross_j) == pytest.approx((450, 500))
    assert servers_energy(made.record(), [strip, switch], 10, 20).net_j is None


def test_meters_of_one_grade_are_joined_and_those_of_two_are_not(made):
    wall = [made.steady(host, 10.0, meter=f"plug-{host}") for host in SERVERS]
    assert servers_energy(made.record(), wall, 10, 20).net_j == pytest.approx(300)
    mixed = [*wall[:2], made.steady(SERVERS[2], 10.0, meter="bmc", grade="BMC")]
    found = servers_energy(made.record(), mixed, 10, 20)
    assert found.net_j is None
    assert any("no power of metadata-1" in doubt for doubt in found.doubts)


def test_the_disks_alone_never_stand_for_a_host_and_are_taken_off_for_the_boards(made):
    disks = [made.steady(host, 3.0, component="disks") for host in SERVERS]
    assert servers_energy(made.record(), disks, 10, 20).net_j is None
    boards = [made.steady(host, 5.0, component="board") for host in SERVERS]
    assert servers_energy(made.record(), boards, 10, 20).net_j is None
    assert servers_energy(made.record(), [*boards, *disks], 10, 20).net_j == pytest.approx(240)
    whole = [made.steady(host, 10.0) for host in SERVERS]
    parts = present(over(made.record(), [*whole, *disks]).metering.servers.parts)
    assert sorted(sign for sign, _ in parts.boards) == [-1, -1, -1, 1, 1, 1]


def test_packages_are_a_boundary_of_their_own(made):
    def zone(host, component):
        return made.series(
            made.channel(host, component, "energy", "counter", "component", "rapl"), [0.0, 30.0], [0.0, 300.0]
        )

    rapl = [zone(host, component) for host in SERVERS for component in ("package-0", "dram-0", "psys")]
    assert servers_energy(made.record(), rapl, 10, 20).net_j is None
    assert {one.component for _, one in packages(made.record(), rapl)} == {"package-0"}
    assert packages(made.record(), rapl[3:]) == ()
    assert packages(made.record(scale=0.2), rapl) == ()
    power = [made.steady(host, 5.0, grade="component", component="package-0") for host in SERVERS]
    found = packages(made.record(), [*rapl, *power, zone("client-1", "package-0")])
    assert {(one.host, one.quantity) for _, one in found} == {(host, "energy") for host in SERVERS}


def test_watts_that_meters_do_not_explain_are_shown(made):
    strip = group(made, *SERVERS, power_w=33.0, meter="strip")
    bmc = [made.steady(host, 10.0, meter="bmc", grade="BMC") for host in SERVERS]
    (found,) = unexplained(over(made.record(), [strip, *bmc]), 10, 20)
    assert (found.total_w, found.parts_w, len(found.parts)) == (pytest.approx(33), pytest.approx(30), 3)
    assert unexplained(over(made.record(), [strip, *bmc[1:]]), 10, 20) == ()
    # what is no meter of a host's watts explains nothing
    for grade in ("modelled", "simulated", "component"):
        other = [replace(one, channel=replace(one.channel, grade=grade)) for one in bmc]
        assert unexplained(over(made.record(), [strip, *other]), 10, 20) == ()
    off = [replace(one, value=0 * one.value) for one in bmc]
    assert unexplained(over(made.record(), [strip, *off]), 10, 20)[0].parts_w == 0


def test_two_meters_of_one_host_are_compared_with_each_other(made):
    wall = [made.steady(host, 11.0, meter="plug", grade="wall") for host in SERVERS]
    batch = [
        made.series(made.channel(host, "all", "energy", "counter", "BMC", "slurm"), *RISES)
        for host in SERVERS[:2]
    ]
    found = unexplained(over(made.record(), [*batch, *wall]), 10, 20)
    assert [(one.total, one.parts) for one in found] == [
        (f"plug:{host}/all/power", (f"slurm:{host}/all/energy",)) for host in SERVERS[:2]
    ]
    assert [one.total_w - one.parts_w for one in found] == [pytest.approx(1)] * 2
    part = [
        made.series(made.channel(host, "cpu", "energy", "counter", "component", "slurm"), *RISES)
        for host in SERVERS
    ]
    assert unexplained(over(made.record(), [*part, *wall]), 10, 20) == ()


def test_an_energy_counter_that_is_refused_leaves_the_word_to_the_power(made):
    power = [made.steady(host, 8.0) for host in SERVERS]
    energy = [
        made.series(made.channel(host, "all", "energy", "counter"), [0.0, 5.0], [0.0, 40.0])
        for host in SERVERS
    ]
    assert servers_energy(made.record(), [*power, *energy], 10, 20).net_j == pytest.approx(240)


def test_a_whole_of_one_device_has_no_parts():
    assert list(differences([item("a", "a"), item("b", "b")])) == []


def test_a_package_covers_no_device(made):
    zone = made.series(made.channel("storage-1", "package-0", "energy", "counter", "component"), [0.0], [0.0])
    assert items([zone.channel], {"storage-1"}, switch=True) == []


def test_only_what_others_add_up_to_is_compared_with_them():
    strip, a, b, both = item("strip", "a", "b"), item("a", "a"), item("b", "b"), item("ab", "a", "b")
    assert [(whole.host, names(parts)) for whole, parts in differences([strip, a, b])] == [
        ("strip", {(1, "a"), (1, "b")})
    ]
    assert (
        list(differences([strip, a])) == list(differences([strip, both])) == list(differences([a, b])) == []
    )


def test_of_several_supplies_none_alone_is_the_whole_of_the_parts() -> None:
    inlet, other, a, b = item("in-1", "a", "b"), item("in-2", "a", "b"), item("a", "a"), item("b", "b")
    assert len(list(differences([inlet, a, b]))) == 1
    assert list(differences([replace(inlet, beside=(other.channel,)), a, b])) == []


def test_channels_of_the_same_devices_are_compared_if_they_are_of_two_meters() -> None:
    wall, energy, plug = item("wall", "a"), item("energy", "a"), item("plug", "a")
    plug = replace(plug, channel=replace(plug.channel, meter="plug"))
    assert list(rivals([wall, energy], ["wall"])) == []
    assert list(rivals([wall, plug], ["wall"])) == [(wall.channel, ((1, plug.channel),))]
    supplies, others = (replace(one, beside=(replace(one.channel, host="b"),)) for one in (wall, plug))
    assert list(rivals([supplies, others], ["wall"])) == []  # no channel is the whole of either
    assert list(rivals([supplies, plug], ["wall"])) == [
        (plug.channel, tuple((1, channel) for channel in supplies.channels))
    ]


def inlets(made, host, *powers_w, count=2, meters=("plug", "plug"), **words):
    return [
        made.steady(host, power_w, component=f"inlet-{number}-of-{count}", meter=meter, **words)
        for number, (power_w, meter) in enumerate(zip(powers_w, meters, strict=False), start=1)
    ]


@pytest.mark.parametrize("meters", [("plug", "plug"), ("plug", "other")])
def test_the_supplies_of_a_host_are_added_and_one_of_two_is_not_the_host(made, meters):
    others = [made.steady(host, 10.0) for host in SERVERS[1:]]
    both = inlets(made, SERVERS[0], 12.0, 9.0, meters=meters)
    found = servers_energy(made.record(), [*both, *others], 10, 20)
    assert found.net_j == pytest.approx((12 + 9 + 10 + 10) * 10)
    alone = servers_energy(made.record(), [both[0], *others], 10, 20)
    assert alone.net_j is None
    assert any("no power of storage-1" in doubt for doubt in alone.doubts)
    three = inlets(made, SERVERS[0], 12.0, 9.0, count=3, meters=meters)
    assert servers_energy(made.record(), [*three, *others], 10, 20).net_j is None


def test_supplies_of_the_servers_and_their_switch_are_the_total_less_the_number_of_the_switch(made):
    both = inlets(made, "", 40.0, 30.0)
    switch = made.steady("", 5.0, component="switch", meter="other")
    found = servers_energy(made.record(), [*both, switch], 10, 20)
    assert (found.net_j, found.gross_j) == pytest.approx((650, 700))


def test_the_sum_of_the_supplies_is_compared_with_another_meter_of_the_host(made):
    host = made.steady("storage-1", 15.0, meter="bmc", grade="BMC")
    both = inlets(made, "storage-1", 12.0, 9.0)
    (difference,) = unexplained(over(made.record(), [host, *both]), 10, 20)
    assert difference.total == host.channel.name
    assert (difference.total_w, difference.parts_w) == pytest.approx((15, 21))


def test_supplies_of_two_grades_are_never_added(made):
    wall, bmc = inlets(made, "storage-1", 12.0, 9.0)
    mixed = [wall, replace(bmc, channel=replace(bmc.channel, grade="PDU"))]
    assert items([one.channel for one in mixed], set(), switch=True) == []
