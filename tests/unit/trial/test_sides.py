"""The energy of clients and of all: each host counts once, and what is missing has its reason."""

from dataclasses import replace

import pytest

from perjoule.measures.points import points
from perjoule.model import Specification
from perjoule.model.doubts import METERS
from perjoule.statistics.cells import cells
from perjoule.trial.sides import sides
from readings import over, servers_energy
from typed import present

SERVERS, CLIENTS = ("storage-1", "storage-2", "metadata-1"), ("client-1", "client-2")


def each(made, hosts, power_w, grade="wall", meter="meter", **stated):
    found = [made.steady(host, power_w, grade=grade, meter=meter) for host in hosts]
    return [
        replace(one, channel=replace(one.channel, specification=Specification(**stated))) for one in found
    ]


def group(made, hosts, power_w, grade="wall", meter="strip"):
    one = made.steady("", power_w, component="group", grade=grade, meter=meter)
    return replace(one, channel=replace(one.channel, covers=tuple(hosts)))


def found(made, series, record=None):
    """The joules of clients and of all in ten seconds, the grade of all, and the reasons."""
    record = record or made.record()
    reading = over(record, series)
    one = sides(reading, reading.servers(10, 20), 10, 20)
    named = {name: side.net_j for name, side in one.by_name.items()}
    assert named.keys().isdisjoint(one.refused)
    return named.get("clients"), named.get("all"), one.all.grade, dict(one.refused)


def loaded_by(made, *hosts, data_hosts=(), **words):
    """A record of a load that ran on these hosts."""
    record = made.record(**words)
    results = tuple(replace(record.outcome.results[0], host=host) for host in hosts)
    return replace(record, outcome=replace(record.outcome, results=results), data_hosts=tuple(data_hosts))


def test_both_sides_add_up_to_all_without_the_switch(made):
    series = [
        *each(made, SERVERS, 10.0),
        *each(made, CLIENTS, 40.0),
        made.steady("", 15.0, component="switch"),
    ]
    assert found(made, series) == (pytest.approx(800), pytest.approx(1100), "wall", {})


def test_a_client_that_ran_no_load_does_not_count(made):
    series = [*each(made, SERVERS, 10.0), *each(made, CLIENTS, 40.0)]
    assert found(made, series, loaded_by(made, "client-2"))[:2] == (pytest.approx(400), pytest.approx(700))


def test_the_worse_grade_of_both_sides_is_that_of_all(made):
    series = [*each(made, SERVERS, 10.0, "BMC", "bmc"), *each(made, CLIENTS, 40.0, "PDU", "pdu")]
    assert found(made, series) == (pytest.approx(800), pytest.approx(1100), "BMC", {})
    (point,) = points(made.record(), series)
    assert (point.grade, dict(point.grades)) == ("BMC", {"clients": "PDU", "all": "BMC"})


def test_a_host_that_served_its_load_counts_once_and_the_clients_have_no_energy_of_their_own(made):
    series = [*each(made, SERVERS, 10.0), *each(made, CLIENTS, 40.0)]
    record = loaded_by(made, "storage-1", "client-1")
    clients_j, all_j, _, refused = found(made, series, record)
    assert (clients_j, all_j) == (None, pytest.approx(300 + 400))
    assert refused == {
        "clients": "energy of the clients omitted: of them storage-1 served the load, too, so it counts once, in all"
    }
    assert points(record, series)[0].metrics["energy_j"] == pytest.approx(300)  # the headline stays


def test_where_clients_hold_their_own_data_all_is_the_headline(made):
    record = loaded_by(made, *CLIENTS, data_hosts=CLIENTS)
    clients_j, all_j, _, refused = found(made, each(made, CLIENTS, 40.0), record)
    assert (clients_j, all_j) == (None, pytest.approx(800))
    assert (
        refused["clients"]
        == "energy of the clients omitted: they served the load, too, so it counts once, in all"
    )


def test_where_the_servers_are_outside_only_the_clients_have_an_energy(made):
    """As a load on a network mount, when no server is named: the clients' joules must not stand for the
    storage's.
    """
    record = loaded_by(made, *CLIENTS)
    record = replace(record, hosts=tuple(host for host in record.hosts if host.role == "client"), cluster="")
    (point,) = points(record, [*each(made, CLIENTS, 40.0), made.steady("", 15.0, component="switch")])
    assert point.metrics["clients_energy_j"] == pytest.approx(800)
    assert (
        not {"energy_j", "mean_w", "efficiency_bytes_per_j", "gross_energy_j", "all_energy_j", "edp_js"}
        & point.metrics.keys()
    )
    assert METERS.outside.id in [doubt.id for doubt in point.doubts]
    assert point.omitted == {"all": "energy of all omitted: that of the servers is unknown"}
    assert {name for name in point.metrics if name.startswith("part_")} == {"part_unsplit_j"}


def test_a_meter_of_the_servers_says_nothing_of_clients_that_hold_their_own_data(made):
    record = loaded_by(made, *CLIENTS, data_hosts=CLIENTS)
    cluster = [made.steady("", 56.0, component="total"), made.steady("", 15.0, component="switch")]
    (point,) = points(record, cluster)
    assert not {"energy_j", "gross_energy_j", "mean_w"} & point.metrics.keys()
    assert "meter: no power of client-1, client-2" in point.doubts
    (point,) = points(record, [*cluster, *each(made, CLIENTS, 40.0)])
    assert point.metrics["energy_j"] == pytest.approx(800)


def test_a_meter_of_both_sides_counts_once_in_all_and_gives_neither_side_an_energy(made):
    clients_j, all_j, grade, refused = found(made, [group(made, [*SERVERS, *CLIENTS], 110.0)])
    assert (clients_j, all_j, grade) == (None, pytest.approx(1100), "wall")
    together = "strip: counts them together with metadata-1, storage-1, storage-2"
    assert refused == {"clients": f"energy of the clients omitted: {together}"}


def test_a_meter_of_both_sides_less_that_of_one_is_the_other(made):
    series = [group(made, [*SERVERS, *CLIENTS], 115.0, meter="meter"), *each(made, SERVERS, 10.0)]
    assert found(made, series) == (pytest.approx(850), pytest.approx(1150), "wall", {})


@pytest.mark.parametrize(("grade", "all_j"), [("wall", 1300), ("PDU", 1300), ("BMC", 1100)])
def test_a_meter_of_both_sides_replaces_their_sum_unless_its_grade_is_worse(made, grade, all_j):
    series = [*each(made, SERVERS, 10.0, "PDU", "a"), *each(made, CLIENTS, 40.0, "wall", "b")]
    strip = group(made, [*SERVERS, *CLIENTS], 130.0, grade)
    assert found(made, [*series, strip])[:2] == (pytest.approx(800), pytest.approx(all_j))


def test_a_meter_of_clients_and_the_switch_is_not_energy_of_the_clients(made):
    series = [*each(made, SERVERS, 10.0), group(made, [*CLIENTS, "switch"], 95.0)]
    clients_j, all_j, _, refused = found(made, series)
    why = "strip: no sum or difference of channels covers them alone"
    assert (clients_j, all_j) == (None, None)
    assert refused == dict.fromkeys(("clients", "all"), f"energy of the clients and of all omitted: {why}")
    switch = made.steady("", 15.0, component="switch", meter="strip")
    assert found(made, [*series, switch])[:2] == (pytest.approx(800), pytest.approx(1100))


@pytest.mark.parametrize(
    ("metered", "why"),
    [
        ((), "no meter covers the clients"),
        (("client-1",), "no power of client-2"),
    ],
)
def test_clients_without_a_meter_are_named(made, metered, why):
    clients_j, all_j, _, refused = found(made, [*each(made, SERVERS, 10.0), *each(made, metered, 40.0)])
    assert (clients_j, all_j) == (None, None)
    assert set(refused.values()) == {f"energy of the clients and of all omitted: {why}"}


def test_of_many_clients_without_a_meter_some_are_named(made):
    many = [f"client-{n}" for n in range(1, 9)]
    record = loaded_by(made, *many)
    record = replace(
        record, hosts=(*record.hosts, *(replace(record.hosts[-1], name=name) for name in many[2:]))
    )
    refused = found(made, [*each(made, SERVERS, 10.0), *each(made, many[:2], 40.0)], record)[3]
    assert refused["clients"].endswith("no power of client-3, client-4, client-5 and 3 more")


def test_processors_alone_are_no_clients(made):
    rapl = [
        made.steady(host, 9.0, component="package-0", grade="component", meter="rapl") for host in CLIENTS
    ]
    probes = [made.steady(host, 9.0, component="disks", grade="component", meter="probe") for host in CLIENTS]
    assert found(made, [*each(made, SERVERS, 10.0), *rapl, *probes])[3]["clients"].endswith(
        "no meter covers the clients"
    )


def test_samples_that_are_missing_are_the_reason(made):
    gap = [made.steady(host, 40.0, ended_s=14.0) for host in CLIENTS]
    refused = found(made, [*each(made, SERVERS, 10.0), *gap])[3]
    assert "cover only 40 %" in refused["clients"]


def test_real_watts_of_clients_are_not_those_of_an_emulated_cluster(made):
    modelled = [made.steady(host, 10.0, grade="modelled", meter="modelled") for host in SERVERS]
    refused = found(made, [*modelled, *each(made, CLIENTS, 40.0)], made.record(scale=0.2))[3]
    assert refused["clients"].endswith(
        "meter: power of the real machine is not that of a cluster emulated at scale 0.2"
    )


def test_clients_keep_their_energy_where_that_of_the_servers_is_unknown(made):
    clients_j, all_j, _, refused = found(made, each(made, CLIENTS, 40.0))
    assert (clients_j, all_j) == (pytest.approx(800), None)
    assert refused == {"all": "energy of all omitted: that of the servers is unknown"}


def test_without_any_meter_nothing_is_reported(made):
    assert found(made, [made.counter("client-1", "cpu", 1.0)]) == (None, None, "", {})


def test_a_client_with_data_beside_servers_has_no_modelled_energy_without_its_disks(made):
    record = loaded_by(made, "client-1", data_hosts=["client-1"])
    board = made.steady("client-1", 40.0, component="board", grade="modelled", meter="modelled")
    assert servers_energy(record, [board], 10, 20).doubts == (
        "modelled: the catalogue has no disks for client-1",
    )
    disks = made.steady("client-1", 2.0, component="disks", grade="modelled", meter="modelled")
    assert servers_energy(record, [board, disks], 10, 20).net_j == pytest.approx(420)
    alone = replace(record, hosts=tuple(host for host in record.hosts if host.role == "client"))
    assert servers_energy(alone, [board], 10, 20).net_j == pytest.approx(400)


def test_every_number_of_both_sides_is_of_the_same_window_in_emulated_time(made):
    series = [
        *each(made, SERVERS, 10.0, "modelled", "modelled"),
        *each(made, CLIENTS, 40.0, "modelled", "modelled"),
    ]
    (point,) = points(made.record(scale=0.5, write_back_s=2.0), series)
    expected = {
        "energy_j": 180,
        "clients_energy_j": 80 * 12 / 2,
        "clients_mean_w": 80,
        "clients_efficiency_bytes_per_j": 2000 / 480,
        "all_energy_j": 660,
        "all_mean_w": 110,
        "all_efficiency_bytes_per_j": 2000 / 660,
        "burst_clients_energy_j": 400,
        "burst_clients_efficiency_bytes_per_j": 5,
        "burst_all_energy_j": 550,
        "burst_all_mean_w": 110,
    }
    assert {key: point.metrics[key] for key in expected} == pytest.approx(expected)


def test_a_doubt_about_the_energy_of_clients_is_one_of_the_trial(made):
    rare = [
        made.series(made.channel(host, semantics="window mean"), [8.0, 12.0, 16.0, 20.0, 24.0], 40.0, 4.0)
        for host in CLIENTS
    ]
    (point,) = points(made.record(), [*each(made, SERVERS, 10.0, meter="often"), *rare])
    assert "clients_energy_j" in point.metrics
    assert "meter: the window holds only 3 power samples" in point.doubts


def wrong_j(made, *sides):
    (point,) = points(made.record(), [one for side in sides for one in side])
    return {
        name: point.metrics.get(f"{name}_energy_shared_uncertainty_j") for name in ("clients", "all")
    }, point


def test_the_same_error_on_both_sides_adds_up_and_errors_of_two_meters_do_not_know_each_other(made):
    one, both = wrong_j(
        made, each(made, SERVERS, 10.0, gain_ratio=0.01), each(made, CLIENTS, 40.0, gain_ratio=0.01)
    )
    assert one == pytest.approx({"clients": 0.95 * 8, "all": 0.95 * 11})
    assert dict(both.shared["all_energy_j"]) == pytest.approx({"meter: gain": 0.01 / 3**0.5})
    other, _ = wrong_j(
        made,
        each(made, SERVERS, 10.0, gain_ratio=0.01),
        each(made, CLIENTS, 40.0, meter="b", gain_ratio=0.01),
    )
    assert 0.95 * 8 < present(other["all"]) < 0.95 * 11 - 1


def test_all_has_no_uncertainty_where_a_side_has_none(made):
    found, point = wrong_j(
        made,
        each(made, SERVERS, 10.0, gain_ratio=0.01),
        each(made, CLIENTS, 40.0, "nameplate", gain_ratio=0.1),
    )
    assert found == {"clients": None, "all": None}
    assert "energy_uncertainty_j" in point.metrics
    found, _ = wrong_j(
        made, each(made, SERVERS, 10.0, gain_ratio=0.01), each(made, CLIENTS, 40.0, "modelled", "modelled")
    )
    assert found == {"clients": None, "all": None}  # of unknown hardware


def test_a_row_lacks_what_one_repetition_omits(made):
    records = [replace(made.record(), trial=made.trial(repetition=n)) for n in (1, 2)]
    servers = each(made, SERVERS, 10.0)
    told = [*points(records[0], [*servers, *each(made, CLIENTS, 40.0)]), *points(records[1], servers)]
    (cell,) = cells(records, told)
    assert [
        key for key in cell.metrics if key.startswith(("clients_", "all_", "burst_clients", "burst_all"))
    ] == []
    assert "energy of the clients and of all omitted: no meter covers the clients" in cell.omitted
    (cell,) = cells(records[:1], told[:1])
    assert cell.grade_of("clients") == cell.grade_of("all") == "wall"


def test_boundaries_are_ranked_by_their_own_grades(made):
    from perjoule.statistics.better import refusal

    rows = []
    for grade in ("wall", "PDU"):
        series = [*each(made, SERVERS, 10.0), *each(made, CLIENTS, 40.0, grade, "b")]
        rows += cells([made.record()], points(made.record(), series))
    assert refusal(rows, "energy_j") == ""
    assert (
        refusal(rows, "clients_energy_j")
        == refusal(rows, "all_energy_j")
        == "power is of different grades (PDU, wall)"
    )
