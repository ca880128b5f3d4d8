"""Meters that can't all be right: an energy is refused where it is impossible, and doubted where meters
disagree.
"""

from dataclasses import replace

import numpy as np
import pytest

from perjoule import catalogue
from perjoule.energy.budget import Budget, Term
from perjoule.energy.contradictions import margin_j, names
from perjoule.measures.points import points
from perjoule.model import HostFact, Specification
from perjoule.model.doubts import METERS
from readings import servers_energy

SERVERS, CLIENTS = ("storage-1", "storage-2", "metadata-1"), ("client-1", "client-2")


def stated(series, **words):
    return replace(series, channel=replace(series.channel, specification=Specification(**words)))


def numbers(made, series, **record):
    (point,) = points(made.record(**record), series)
    return point


def words(point):
    return " | ".join(map(str, point.doubts))


def test_servers_alone_that_draw_more_than_with_their_switch_are_refused_and_both_meters_named(made):
    each = [made.steady(host, 53.0, meter="plugs") for host in SERVERS]
    point = numbers(made, [*each, made.steady("", 52.6, component="total", meter="strip")])
    assert not [key for key in point.metrics if "energy_j" in key]
    (doubt,) = [doubt for doubt in point.doubts if doubt.id == METERS.less_with_switch.id]
    assert set(str(doubt.values["channels"]).split(" + ")) == {f"plugs:{host}/all/power" for host in SERVERS}
    assert doubt.values["others"] == "strip:/total/power"
    assert (doubt.values["energy_j"], doubt.values["others_j"]) == pytest.approx((1590, 526))


@pytest.mark.parametrize(("switch_w", "refused"), [(1.0, False), (-1.0, False), (-8.0, True)])
def test_net_may_exceed_gross_by_the_errors_of_both(made, switch_w, refused):
    each = [stated(made.steady(host, 20.0, meter="plugs"), gain_ratio=0.02) for host in SERVERS]
    total = stated(made.steady("", 60.0 + switch_w, component="total", meter="strip"), gain_ratio=0.02)
    found = servers_energy(made.record(), [*each, total], 10, 20)
    assert (found.net is None) == refused


@pytest.mark.parametrize(("gross_w", "refused"), [(52.2, False), (51.8, True)])
def test_net_may_exceed_gross_by_a_tenth_of_both_if_neither_states_its_accuracy(made, gross_w, refused):
    """In quadrature: 60 W exceed 52.2 W by 7.8 W, of 7.95 W, and 51.8 W by 8.2 W, of 7.93 W."""
    each = [made.steady(host, 20.0, meter="plugs") for host in SERVERS]
    total = made.steady("", gross_w, component="total", meter="strip")
    assert (servers_energy(made.record(), [*each, total], 10, 20).net is None) == refused


def test_a_switch_that_draws_more_than_all_is_refused(made):
    total, switch = made.steady("", 15.0, component="total"), made.steady("", 56.0, component="switch")
    found = servers_energy(made.record(), [total, switch], 10, 20)
    assert found.net is None
    assert "the energy is refused" in found.doubts[-1]


@pytest.mark.parametrize(
    ("power_w", "refused"),
    [(0.0097, True), (0.0, True), (0.49, True), (0.51, False), (19e3, False), (21e3, True)],
)
def test_a_host_draws_half_a_watt_at_least(made, power_w, refused):
    point = numbers(made, [made.steady(host, power_w) for host in SERVERS])
    assert ("energy_j" not in point.metrics) == refused
    assert ("check the unit" in words(point)) == refused


@pytest.mark.parametrize(
    ("power_w", "told", "limit"),
    [(1.4, METERS.too_low, {"least_w": 0.5}), (61e3, METERS.too_high, {"most_w": 20e3})],
)
def test_what_three_hosts_and_their_switch_never_draw_is_told_of_the_meter_of_both(
    made, power_w, told, limit
):
    point = numbers(made, [made.steady("", power_w, component="total", meter="strip")])
    (doubt,) = [doubt for doubt in point.doubts if doubt.id == told.id]
    measured = {"channels": "strip:/total/power", "power_w": pytest.approx(power_w), "hosts_count": 3}
    assert dict(doubt.values) == {**measured, **limit}


def test_a_refused_meter_leaves_the_word_to_a_worse_grade_with_the_reason(made):
    kilo = [made.steady(host, 0.01, meter="plug") for host in SERVERS]
    bmc = [made.steady(host, 10.0, meter="bmc", grade="BMC") for host in SERVERS]
    point = numbers(made, [*kilo, *bmc])
    assert (point.grade, point.metrics["energy_j"]) == ("BMC", pytest.approx(300))
    assert "kW read as W?" in words(point)
    assert "BMC watts count instead" in words(point)


@pytest.mark.parametrize(("ratio", "doubted"), [(1.1, True), (1.005, False), (0.9, True)])
def test_two_meters_of_one_percent_that_differ_by_ten_are_a_doubt(made, ratio, doubted):
    one = [stated(made.steady(host, 50.0, meter="a"), gain_ratio=0.01) for host in SERVERS]
    other = [stated(made.steady(host, 50.0 * ratio, meter="b"), gain_ratio=0.01) for host in SERVERS]
    point = numbers(made, [*one, *other])
    assert ("a:storage-2/all/power shows 50.00 W, and b:storage-2/all/power" in words(point)) == doubted
    assert ("so are 2 more channels of these" in words(point)) == doubted
    assert "energy_j" in point.metrics


@pytest.mark.parametrize(("ratio", "doubted"), [(1.05, False), (1.3, True)])
def test_meters_that_do_not_state_their_accuracy_may_differ_by_a_tenth(made, ratio, doubted):
    series = [
        made.steady(host, 50.0 * factor, meter=meter)
        for meter, factor in (("a", 1), ("b", ratio))
        for host in SERVERS
    ]
    assert ("of the same devices" in words(numbers(made, series))) == doubted


@pytest.mark.parametrize(("bmc_w", "doubted"), [(40.0, False), (20.0, True), (70.0, True)])
def test_a_bmc_behind_the_supply_may_show_less_than_the_wall_and_not_more(made, bmc_w, doubted):
    wall = [stated(made.steady(host, 50.0, meter="wall"), gain_ratio=0.01) for host in SERVERS]
    bmc = [made.steady(host, bmc_w, meter="bmc", grade="BMC") for host in SERVERS]
    assert ("of the same devices" in words(numbers(made, [*wall, *bmc]))) == doubted


def test_parts_that_add_up_to_more_than_their_whole_are_a_doubt(made):
    whole = [stated(made.steady(host, 20.0, meter="wall"), gain_ratio=0.01) for host in SERVERS]
    for board_w, doubted in ((15.0, False), (25.0, True)):
        boards = [
            made.steady(host, board_w, component="board", meter="rails", grade="PDU") for host in SERVERS
        ]
        disks = [made.steady(host, 4.0, component="disks", meter="rails", grade="PDU") for host in SERVERS]
        assert ("of the same devices" in words(numbers(made, [*whole, *boards, *disks]))) == doubted


def test_a_counter_and_the_power_of_one_meter_that_disagree_are_a_doubt(made):
    t_s = np.arange(0.0, 30.25, 0.25)
    power = [made.series(made.channel(host), t_s, 50.0) for host in SERVERS]
    for factor, doubted in ((1.0, False), (3.6, True)):
        counter = [
            made.series(made.channel(host, "all", "energy", "counter"), t_s, factor * 50 * t_s)
            for host in SERVERS
        ]
        assert ("of the same devices" in words(numbers(made, [*power, *counter]))) == doubted


def test_processors_that_draw_more_than_their_servers_are_a_doubt(made):
    t_s = np.arange(0.0, 30.5, 0.5)
    of = [made.channel(host, "package-0", "energy", "counter", "component", "rapl") for host in SERVERS]
    # servers of 10 W that state no accuracy may be wrong by a tenth
    for power_w, doubted in ((3.0, False), (10.9, False), (11.1, True), (30.0, True)):
        series = [
            *(made.steady(host, 10.0) for host in SERVERS),
            *(made.series(one, t_s, power_w * t_s) for one in of),
        ]
        assert ("processors (RAPL) are more than" in words(numbers(made, series))) == doubted


@pytest.mark.parametrize(
    ("power_w", "doubted"),
    [(1.5, True), (3.35, True), (3.45, False), (6.0, False), (55.0, False), (55.2, True), (80.0, True)],
)
def test_watts_far_from_the_hardware_of_the_catalogue_are_a_doubt(made, power_w, doubted):
    """A board of 4.3 W and two disks of 0.85 W, idle: half of 6 W / 0.88 at the wall. At work 4.3 + 3.61 + 2 x
    2.66 W: three times 13.23 W / 0.72.
    """
    hosts = tuple(HostFact(name, name.partition("-")[0], "A") for name in SERVERS)
    clients = tuple(HostFact(name, "client", "") for name in CLIENTS)
    hardware = catalogue.cluster("odroid-hc4")
    record = replace(made.record(cluster="odroid-hc4"), hosts=(*hosts, *clients), hardware=hardware)
    (point,) = points(record, [made.steady(host, power_w) for host in SERVERS])
    assert ("by the catalogue: check unit and covers" in words(point)) == doubted
    assert ("which draw 55.1 W at most by the catalogue" in words(point)) == (power_w > 55.1)  # three hosts
    assert "energy_j" in point.metrics


@pytest.mark.parametrize(
    ("power_w", "told", "limit"),
    [
        (1.5, METERS.below_idle, {"idle_w": 3 * 6 / 0.88}),
        (80.0, METERS.above_peak, {"peak_w": 3 * 13.23 / 0.72}),
    ],
)
def test_watts_far_from_the_hardware_are_told_with_those_of_the_catalogue(made, power_w, told, limit):
    hosts = tuple(HostFact(name, name.partition("-")[0], "A") for name in SERVERS)
    record = replace(made.record(cluster="odroid-hc4"), hosts=hosts, hardware=catalogue.cluster("odroid-hc4"))
    (point,) = points(record, [made.steady(host, power_w) for host in SERVERS])
    (doubt,) = [doubt for doubt in point.doubts if doubt.id in (METERS.below_idle.id, METERS.above_peak.id)]
    values = dict(doubt.values)
    assert set(str(values.pop("channels")).split(" + ")) == {f"meter:{host}/all/power" for host in SERVERS}
    assert (doubt.id, values.pop("cluster"), values.pop("hosts_count")) == (told.id, "odroid-hc4", 3)
    assert values == pytest.approx({"power_w": 3 * power_w, **limit})


@pytest.mark.parametrize("lacking", [1, 2, 3])
def test_hosts_of_which_one_has_hardware_that_nobody_knows_are_not_held_against_the_catalogue(made, lacking):
    nodes = ["", *("A",) * (3 - lacking), *("",) * (lacking - 1)]
    hosts = tuple(
        HostFact(name, name.partition("-")[0], node) for name, node in zip(SERVERS, nodes, strict=True)
    )
    record = made.record(cluster="odroid-hc4")
    record = replace(record, hosts=hosts, hardware=catalogue.cluster("odroid-hc4"))
    for power_w in (1.0, 80.0):
        (point,) = points(record, [made.steady(host, power_w) for host in SERVERS])
        assert "by the catalogue: check unit and covers" not in words(point)


@pytest.mark.parametrize(("power_w", "doubted"), [(2.95, True), (3.05, False), (55.0, False), (55.2, True)])
def test_a_bmc_may_be_behind_the_supply_or_before_it(made, power_w, doubted):
    hosts = tuple(HostFact(name, name.partition("-")[0], "A") for name in SERVERS)
    hardware = catalogue.cluster("odroid-hc4")
    record = replace(made.record(cluster="odroid-hc4"), hosts=hosts, hardware=hardware)
    (point,) = points(record, [made.steady(host, power_w, meter="bmc", grade="BMC") for host in SERVERS])
    assert ("by the catalogue: check unit and covers" in words(point)) == doubted


@pytest.mark.parametrize(("power_w", "doubted"), [(2.95, True), (3.05, False)])
def test_a_number_of_the_switch_is_on_the_side_of_the_meter_from_which_it_is_subtracted(
    made, power_w, doubted
):
    """A BMC of three hosts and their switch, less 15 W."""
    hosts = tuple(HostFact(name, name.partition("-")[0], "A") for name in SERVERS)
    hardware = catalogue.cluster("odroid-hc4")
    record = replace(made.record(cluster="odroid-hc4"), hosts=hosts, hardware=hardware)
    total = made.steady("", 3 * power_w + 15, component="total", meter="bmc", grade="BMC")
    number = stated(made.steady("", 15.0, component="switch", meter="constant"), sigma=0.01)
    (point,) = points(record, [total, number])
    assert (point.grade, point.metrics["mean_w"]) == ("BMC", pytest.approx(3 * power_w))
    assert ("by the catalogue: check unit and covers" in words(point)) == doubted


def test_a_supply_takes_its_watts_without_load_at_the_wall_too(made):
    """6 W / 0.88 and 2 W of an idle host: half of 8.82 W."""
    hardware = catalogue.cluster("odroid-hc4")
    no_load = replace(hardware.switch_w, value=2.0, low=None, high=None)
    hosts = tuple(HostFact(name, name.partition("-")[0], "A") for name in SERVERS)
    for power_w, doubted in ((4.35, True), (4.45, False)):
        record = replace(
            made.record(cluster="odroid-hc4"),
            hosts=hosts,
            hardware=replace(hardware, supply_no_load_w=no_load),
        )
        (point,) = points(record, [made.steady(host, power_w) for host in SERVERS])
        assert ("by the catalogue: check unit and covers" in words(point)) == doubted


def test_an_energy_may_be_wrong_by_its_interval_and_by_a_tenth_of_it_without_a_stated_accuracy():
    noise = Term("noise", 2.0)
    half_j = Budget(100.0, (noise,)).expanded_j
    assert half_j == pytest.approx(2 * 1.96, rel=1e-4)
    assert margin_j(Budget(100.0, (noise,), ("clock",))) == half_j
    for energy_j in (100.0, -100.0):
        assert margin_j(Budget(energy_j, (noise,), ("clock", "accuracy"))) == pytest.approx(half_j + 10)


def test_three_channels_are_named_and_the_others_counted(made):
    each = tuple((1, made.channel(f"s-{n}")) for n in range(1, 6))
    assert names(each[:3]) == "meter:s-1/all/power + meter:s-2/all/power + meter:s-3/all/power"
    assert names(each) == f"{names(each[:3])} and 2 more"
    assert names(each[:4]) == f"{names(each[:3])} and 1 more"
    assert names((each[0], (-1, each[1][1]))) == "meter:s-1/all/power - meter:s-2/all/power"
