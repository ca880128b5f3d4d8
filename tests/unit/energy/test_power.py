from dataclasses import replace

import pytest

from perjoule.energy.hosts import server_names
from perjoule.energy.power import energy, joules
from perjoule.model import Specification
from perjoule.model.doubts import METERS
from perjoule.model.records import IMPORTED_BY
from readings import servers_energy
from typed import present

SERVERS = ("storage-1", "storage-2", "metadata-1")


def modelled(made, **changes):
    parts = [
        made.steady(host, 4.0, component="board", grade="modelled", meter="modelled") for host in SERVERS
    ]
    parts += [
        made.steady(host, 3.0, component="disks", grade="modelled", meter="modelled") for host in SERVERS
    ]
    parts += [
        made.steady(host, 1.0, component="supply", grade="modelled", meter="modelled") for host in SERVERS
    ]
    return [*parts, made.steady("", 15.0, component="switch", grade="modelled", meter="modelled")]


def test_the_servers_count_without_the_switch_and_with_it(made):
    found = servers_energy(made.record(), modelled(made), 10, 20)
    assert found.net_j == pytest.approx(3 * 8 * 10)
    assert found.gross_j == pytest.approx((3 * 8 + 15) * 10)
    assert found.grade == "modelled"
    # a label of every number, not a doubt about one
    assert not any("not measured" in doubt for doubt in found.doubts)


def test_what_clients_draw_does_not_count(made):
    extra = made.steady("client-1", 100.0, grade="modelled", meter="modelled")
    assert servers_energy(made.record(), [*modelled(made), extra], 10, 20).net_j == pytest.approx(240)


def test_a_meter_of_the_whole_host_is_not_added_to_its_parts(made):
    whole = [made.steady(host, 8.0, grade="modelled", meter="modelled") for host in SERVERS]
    assert servers_energy(made.record(), [*modelled(made), *whole], 10, 20).net_j == pytest.approx(240)


def test_an_energy_counter_stands_for_the_power_of_the_same_component(made):
    power = [made.steady(host, 8.0) for host in SERVERS]
    t_s = [0.0, 15.0, 30.0]
    energy = [
        made.series(made.channel(host, "all", "energy", "counter"), t_s, [5.0, 95.0, 185.0])
        for host in SERVERS
    ]
    assert servers_energy(made.record(), [*power, *energy], 10, 20).net_j == pytest.approx(3 * 60)


def test_the_best_grade_that_covers_all_servers_counts_and_grades_are_never_added(made):
    wall = [made.steady(host, 10.0, grade="wall") for host in SERVERS]
    found = servers_energy(made.record(), [*modelled(made), *wall], 10, 20)
    assert (found.net_j, found.grade) == (pytest.approx(300), "wall")
    assert not any("modelled" in doubt for doubt in found.doubts)
    found = servers_energy(made.record(), [*modelled(made), *wall[:2]], 10, 20)
    assert (found.net_j, found.grade) == (pytest.approx(240), "modelled")


def test_a_server_without_watts_refuses_the_energy_and_is_named(made):
    found = servers_energy(made.record(), [made.steady("storage-1", 5.0)], 10, 20)
    assert (found.net_j, found.gross_j) == (None, None)
    assert found.doubts == ("meter: no power of metadata-1, storage-2",)


def test_a_component_never_stands_for_a_host(made):
    rapl = [made.steady(host, 5.0, grade="component") for host in SERVERS]
    assert servers_energy(made.record(), rapl, 10, 20).net_j is None


def test_a_meter_of_the_whole_cluster_is_gross_and_its_switch_is_taken_off_when_it_is_metered(made):
    total, switch = made.steady("", 56.36, component="total"), made.steady("", 15.46, component="switch")
    assert servers_energy(made.record(), [total], 10, 20).gross_j == pytest.approx(563.6)
    assert servers_energy(made.record(), [total], 10, 20).net_j is None
    assert servers_energy(made.record(), [total, switch], 10, 20).net_j == pytest.approx(409)


def test_a_simulated_waveform_has_no_switch_in_it(made):
    found = servers_energy(
        made.record(), [made.steady("", 50.0, component="total", grade="simulated")], 10, 20
    )
    assert (found.net_j, found.gross_j) == pytest.approx((500, 500))


def test_a_simulated_waveform_beside_one_of_a_switch_includes_it(made):
    simulated = [
        made.steady("", watts, component=part, grade="simulated")
        for part, watts in (("total", 50), ("switch", 15))
    ]
    found = servers_energy(made.record(), simulated, 10, 20)
    assert (found.net_j, found.gross_j) == pytest.approx((350, 500))


def test_real_watts_are_not_those_of_an_emulated_cluster(made):
    found = servers_energy(made.record(scale=0.2), [made.steady(host, 10.0) for host in SERVERS], 10, 20)
    assert found.net_j is None
    assert "emulated at scale 0.2" in found.doubts[0]


def test_a_short_window_is_reported(made):
    found = servers_energy(made.record(), modelled(made), 10, 12)
    assert "modelled: the window holds only 4 power samples" in found.doubts
    for ended_s in (12.5, 13):  # five samples, and six
        found = servers_energy(made.record(), modelled(made), 10, ended_s)
        assert not any("holds only" in doubt for doubt in found.doubts)


def test_an_objection_to_a_meter_is_a_doubt_about_meters(made):
    real = [made.steady(host, 10.0, meter="wall") for host in SERVERS]
    rapl = [made.steady(host, 5.0, grade="component", component="package-0") for host in SERVERS]
    late = [made.steady(host, 10.0, meter="wall").at(slice(0, 30)) for host in SERVERS]
    cases = [
        (made.record(), rapl, 20, "no meter covers a whole server"),
        (made.record(), real[:1], 20, "no power of metadata-1, storage-2"),
        (made.record(scale=0.2), real, 20, "emulated at scale 0.2"),
        (made.record(), modelled(made), 12, "the window holds only 4 power samples"),
        (made.record(), [*late, *modelled(made)], 20, "modelled watts count instead"),
    ]
    for record, series, ended_s, words in cases:
        found = servers_energy(record, series, 10, ended_s).doubts
        assert words in found[-1]
        assert {one.kind for one in found} == {METERS}


def test_without_a_meter_there_is_neither_energy_nor_doubt(made):
    assert servers_energy(made.record(), [made.counter("storage-1", "cpu", 1.0)], 10, 20).doubts == ()


def test_servers_are_all_hosts_without_others(made):
    record = made.record()
    assert server_names(record) == set(SERVERS)
    alone = replace(record, hosts=tuple(h for h in record.hosts if h.role == "client"))
    assert server_names(alone) == set()
    assert server_names(replace(alone, environment={IMPORTED_BY: "perjoule 1"})) == {"client-1", "client-2"}


def plug(made, meter, power_w, host="", **stated):
    """A meter of one host, or of all servers together."""
    one = made.steady(host, power_w, component="all" if host else "group", meter=meter)
    covers = () if host else SERVERS
    return replace(one, channel=replace(one.channel, covers=covers, specification=Specification(**stated)))


@pytest.mark.parametrize(("gain_ratio", "chosen"), [(0.0051, "a"), (0.0049, "b"), (None, "a")])
def test_of_two_meters_of_a_grade_the_first_counts_unless_the_other_is_twice_as_certain(
    made, gain_ratio, chosen
):
    both = [
        plug(made, "a", 30.0, gain_ratio=0.01),
        plug(made, "b", 30.0, **({"gain_ratio": gain_ratio} if gain_ratio else {})),
    ]
    found = servers_energy(made.record(), both, 10, 20)
    assert (found.source, present(found.parts).meter, found.net_j) == (
        f"{chosen} power",
        chosen,
        pytest.approx(300),
    )


def test_a_meter_that_states_its_error_does_not_replace_one_that_tells_more(made):
    """The first has the switch, too; the second alone knows its accuracy."""
    first = [plug(made, "a", 30.0, gain_ratio=0.05), made.steady("", 5.0, component="switch", meter="a")]
    found = servers_energy(made.record(), [*first, plug(made, "b", 33.0, gain_ratio=0.001)], 10, 20)
    assert (found.net_j, found.gross_j) == pytest.approx((300, 350))


def test_energy_of_several_meters_is_named_by_what_each_of_them_covers(made):
    several = [plug(made, f"plug-{n % 2}", 10.0, host) for n, host in enumerate(SERVERS)]
    found = servers_energy(made.record(), several, 10, 20)
    assert found.source == "plug-0 power of metadata-1 and storage-1, plug-1 power of storage-2"
    assert servers_energy(made.record(), [plug(made, "a", 30.0)], 10, 20).source == "a power"
    assert servers_energy(made.record(), [], 10, 20).source == ""
    strips = [
        replace(plug(made, "x", 10.0), channel=replace(plug(made, "x", 10.0).channel, covers=SERVERS[:2]))
    ]
    found = servers_energy(made.record(), [*strips, plug(made, "y", 10.0, SERVERS[2])], 10, 20)
    assert found.source == "x power of storage-1+storage-2, y power of metadata-1"


def test_why_no_meter_reports_is_stated_for_each(made):
    only = [made.steady("storage-1", 5.0, meter="a"), made.steady("storage-2", 5.0, meter="b")]
    found = servers_energy(made.record(), only, 10, 20)
    lacking = {"a": "metadata-1, storage-2", "b": "metadata-1, storage-1", "a+b": "metadata-1"}
    assert found.doubts == tuple(f"{meter}: no power of {hosts}" for meter, hosts in lacking.items())
    rapl = [made.steady(host, 5.0, grade="component", component="package-0") for host in SERVERS]
    assert servers_energy(made.record(), rapl, 10, 20).doubts == ("no meter covers a whole server",)
    total = made.steady("", 50.0, component="total")
    lone = servers_energy(made.record(), [total], 10, 20)
    assert (lone.net_j, lone.gross_j, lone.source) == (None, pytest.approx(500), "meter power")


def test_a_cluster_has_watts_of_its_own_at_full_scale_alone(made):
    models = modelled(made)
    found = servers_energy(made.record(scale=0.2), models, 10, 20)
    assert (found.net_j, found.grade) == (pytest.approx(240), "modelled")
    real = [made.steady(host, 10.0, meter="wall") for host in SERVERS]
    found = servers_energy(made.record(scale=0.2), real, 10, 20)
    assert found.doubts == ("wall: power of the real machine is not that of a cluster emulated at scale 0.2",)
    plates = [made.steady(host, 20.0, grade="nameplate", meter="plate") for host in SERVERS]
    assert servers_energy(made.record(scale=0.2), plates, 10, 20).net_j == pytest.approx(600)


def test_a_sum_lacks_no_part_and_nothing_has_no_energy(made):
    whole, short = made.steady("storage-1", 8.0), made.stating("window mean", [12.0], 5.0, 1.0)
    for add in (energy, joules):
        assert add(((1, whole), (1, short)), 10, 20) is None
        assert add((), 10, 20) is None
    assert joules(((1, whole), (-1, whole), (1, whole)), 10, 20) == pytest.approx(80)
    first, *others = (made.steady(host, 8.0) for host in SERVERS)
    few = replace(short, channel=replace(first.channel, semantics="window mean"))
    found = servers_energy(made.record(), [few, *others], 10, 20)
    assert found.net_j is None
    assert any("its amount is refused" in doubt for doubt in found.doubts)
