import pytest

from perjoule.analysis.hosts import server_names
from perjoule.analysis.power import boundaries

SERVERS = ("storage-1", "storage-2", "metadata-1")


def modelled(made, **changes):
    parts = [made.steady(host, 4.0, component="board", grade="modelled", meter="modelled") for host in SERVERS]
    parts += [made.steady(host, 3.0, component="disks", grade="modelled", meter="modelled") for host in SERVERS]
    parts += [made.steady(host, 1.0, component="supply", grade="modelled", meter="modelled") for host in SERVERS]
    return [*parts, made.steady("", 15.0, component="switch", grade="modelled", meter="modelled")]


def test_the_servers_count_without_the_switch_and_with_it(made):
    found = boundaries(made.record(), modelled(made), 10, 20)
    assert found.net_j == pytest.approx(3 * 8 * 10)
    assert found.gross_j == pytest.approx((3 * 8 + 15) * 10)
    assert found.grade == "modelled"
    assert not any("not measured" in doubt for doubt in found.doubts)  # a label of every number, not a doubt about one


def test_what_clients_draw_does_not_count(made):
    extra = made.steady("client-1", 100.0, grade="modelled", meter="modelled")
    assert boundaries(made.record(), [*modelled(made), extra], 10, 20).net_j == pytest.approx(240)


def test_a_meter_of_the_whole_host_is_not_added_to_its_parts(made):
    whole = [made.steady(host, 8.0, grade="modelled", meter="modelled") for host in SERVERS]
    assert boundaries(made.record(), [*modelled(made), *whole], 10, 20).net_j == pytest.approx(240)


def test_an_energy_counter_stands_for_the_power_of_the_same_component(made):
    power = [made.steady(host, 8.0) for host in SERVERS]
    t_s = [0.0, 15.0, 30.0]
    energy = [made.series(made.channel(host, "all", "energy", "counter"), t_s, [5.0, 95.0, 185.0]) for host in SERVERS]
    assert boundaries(made.record(), [*power, *energy], 10, 20).net_j == pytest.approx(3 * 60)


def test_the_best_grade_that_covers_all_servers_counts_and_grades_are_never_added(made):
    wall = [made.steady(host, 10.0, grade="wall") for host in SERVERS]
    found = boundaries(made.record(), [*modelled(made), *wall], 10, 20)
    assert (found.net_j, found.grade) == (pytest.approx(300), "wall")
    assert not any("modelled" in doubt for doubt in found.doubts)
    found = boundaries(made.record(), [*modelled(made), *wall[:2]], 10, 20)
    assert (found.net_j, found.grade) == (pytest.approx(240), "modelled")


def test_a_server_without_watts_refuses_the_energy_and_is_named(made):
    found = boundaries(made.record(), [made.steady("storage-1", 5.0)], 10, 20)
    assert (found.net_j, found.gross_j) == (None, None)
    assert found.doubts == ("meter: no watts of metadata-1, storage-2",)


def test_a_component_never_stands_for_a_host(made):
    rapl = [made.steady(host, 5.0, grade="component") for host in SERVERS]
    assert boundaries(made.record(), rapl, 10, 20).net_j is None


def test_a_meter_of_the_whole_cluster_is_gross_and_its_switch_is_taken_off_when_it_is_metered(made):
    total, switch = made.steady("", 56.36, component="total"), made.steady("", 15.46, component="switch")
    assert boundaries(made.record(), [total], 10, 20).gross_j == pytest.approx(563.6)
    assert boundaries(made.record(), [total], 10, 20).net_j is None
    assert boundaries(made.record(), [total, switch], 10, 20).net_j == pytest.approx(409)


def test_a_simulated_waveform_has_no_switch_in_it(made):
    found = boundaries(made.record(), [made.steady("", 50.0, component="total", grade="simulated")], 10, 20)
    assert (found.net_j, found.gross_j) == pytest.approx((500, 500))


def test_real_watts_are_not_those_of_an_emulated_cluster(made):
    found = boundaries(made.record(scale=0.2), [made.steady(host, 10.0) for host in SERVERS], 10, 20)
    assert found.net_j is None
    assert "emulated at scale 0.2" in found.doubts[0]


def test_a_short_window_is_told(made):
    found = boundaries(made.record(), modelled(made), 10, 12)
    assert "modelled: the window holds only 4 power samples" in found.doubts
    assert not any("holds only" in doubt for doubt in boundaries(made.record(), modelled(made), 10, 13).doubts)


def test_no_meter_is_no_energy_and_no_doubt(made):
    assert boundaries(made.record(), [made.counter("storage-1", "cpu", 1.0)], 10, 20).doubts == ()


def test_servers_are_all_hosts_where_there_are_no_others(made):
    from dataclasses import replace

    record = made.record()
    assert server_names(record) == set(SERVERS)
    alone = replace(record, hosts=tuple(h for h in record.hosts if h.role == "client"))
    assert server_names(alone) == {"client-1", "client-2"}
