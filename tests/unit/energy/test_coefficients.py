"""The uncertainty of modelled energy, against the model itself with one coefficient moved."""

from dataclasses import replace
from math import hypot

import numpy as np
import pytest

from perjoule import catalogue
from perjoule.drivers.protocols import Counters
from perjoule.energy.coefficients import ModelledHosts, _beyond
from perjoule.energy.terms import budget
from perjoule.measures.energies import EFFICIENCY, Work, of_window
from perjoule.measures.points import points
from perjoule.meters import modelled
from perjoule.model import Channel, HostFact, Phase, Specification
from perjoule.model.hardware import Value
from perjoule.summary.metered import metered
from perjoule.trial.reading import Reading
from perjoule.views.power.budget import budget_table
from readings import over
from typed import present

HC4 = catalogue.cluster("odroid-hc4")
MIPS = 4400.0
HOSTS = tuple(
    HostFact(name, role, node)
    for name, role, node in (
        ("storage-1", "storage", "A"),
        ("storage-2", "storage", "A"),
        ("metadata-1", "metadata", "C"),
        ("management-1", "management", "B"),
        ("client-1", "client", "G"),
    )
)
BUSY = {
    "storage-1": (0.3, 60e6, 10e6),
    "storage-2": (0.6, 90e6, 0.0),
    "metadata-1": (0.1, 5e6, 5e6),
    "management-1": (0.02, 0, 0),
    "client-1": (0.4, 0, 0),
}
IDLE = {
    "storage-1": (0.02, 1e6, 0.0),
    "storage-2": (0.01, 0.0, 0.0),
    "metadata-1": (0.01, 0.0, 0.0),
    "management-1": (0.01, 0, 0),
    "client-1": (0.03, 0, 0),
}
SCALE = 0.5


def series_of(made, cluster, busy=BUSY):
    """What the meter makes of counters that grow at known rates: idle until 10 s, busy until 20 s, idle
    again.
    """
    nodes, found = {node.name: node for node in cluster.nodes}, []
    t_s = np.arange(0.5, 30.25, 0.5)
    for host in HOSTS:
        node, samples = nodes[host.node], []
        capacity_cores = node.board.mips.value * SCALE / MIPS
        for end_s in t_s:
            cpu, written, read = (busy if 10 < end_s <= 20 else IDLE)[host.name]
            before = Counters(end_s - 0.5, 0.0, 0, 0, 0, 0)
            after = Counters(
                end_s, cpu * SCALE * 0.5, 0, 0, round(read * SCALE * 0.5), round(written * SCALE * 0.5)
            )
            used = modelled.use_ratios(node, before, after, capacity_cores=capacity_cores, scale=SCALE)
            samples.append(modelled.host_w(node, cluster, used, supplied=host.role != "client"))
        for component in samples[0]:
            channel = modelled.channel(host.name, component)
            found.append(made.series(channel, t_s, [one[component] for one in samples], 0.5))
    return [*found, made.series(modelled.channel("", "switch"), t_s, cluster.switch_w.value, 0.5)]


def record_of(made, cluster, *, rated=True):
    record = made.record(scale=SCALE, cluster=cluster.name, tail_s=8.0)
    phases = (Phase("baseline", 4.0, 9.0), Phase("measure", 10.0, 20.0), Phase("tail", 20.5, 29.0))
    facts = {"testbed": {"machine_mips_per_core": MIPS} if rated else {}}
    return replace(record, hosts=HOSTS, phases=phases, facts=facts, hardware=cluster)


def point_of(made, cluster, **words):
    (point,) = points(record_of(made, cluster, **words), series_of(made, cluster))
    return point


def moved(cluster, name, by):
    """The same hardware with one coefficient changed, and of those that follow it what they change by."""

    def value(own, one):
        return replace(one, value=one.value + by * ((own == name) + one.follows.get(name, 0.0)))

    def disk(one):
        names = f"idle of disk {one.name}", f"active of disk {one.name}"
        step_w = one.step_w and value(f"step of disk {one.name}", one.step_w)
        idle_w, active_w = value(names[0], one.idle_w), value(names[1], one.active_w)
        return replace(one, idle_w=idle_w, active_w=active_w, step_w=step_w)

    def board(one):
        names = [f"{what} of board {one.name}" for what in ("idle", "dynamic", "7-zip rating")]
        values = {"idle_w": value(names[0], one.idle_w), "dynamic_w": value(names[1], one.dynamic_w)}
        step_w = one.step_w and value(f"step of board {one.name}", one.step_w)
        bend_w = one.bend_w and value(f"bend of board {one.name}", one.bend_w)
        return replace(one, **values, mips=value(names[2], one.mips), step_w=step_w, bend_w=bend_w)

    nodes = tuple(replace(n, board=board(n.board), disks=tuple(map(disk, n.disks))) for n in cluster.nodes)
    supply, switch = value("supply efficiency", cluster.supply_efficiency), value("switch", cluster.switch_w)
    no_load = cluster.supply_no_load_w and value("supply without load", cluster.supply_no_load_w)
    return replace(cluster, nodes=nodes, supply_efficiency=supply, switch_w=switch, supply_no_load_w=no_load)


def coefficients(cluster):
    """Each coefficient with its sigma."""
    found = {"supply efficiency": cluster.supply_efficiency, "switch": cluster.switch_w}
    if cluster.supply_no_load_w:
        found["supply without load"] = cluster.supply_no_load_w
    for node in cluster.nodes:
        steps = {f"step of board {node.board.name}": node.board.step_w}
        steps |= {f"bend of board {node.board.name}": node.board.bend_w}
        steps |= {f"step of disk {disk.name}": disk.step_w for disk in node.disks}
        found |= {name: step for name, step in steps.items() if step}
        found[f"idle of board {node.board.name}"] = node.board.idle_w
        found[f"dynamic of board {node.board.name}"] = node.board.dynamic_w
        found[f"7-zip rating of board {node.board.name}"] = node.board.mips
        for disk in node.disks:
            found[f"idle of disk {disk.name}"], found[f"active of disk {disk.name}"] = (
                disk.idle_w,
                disk.active_w,
            )
    return found


def energies_of(made, cluster, busy=BUSY):
    work = Work(EFFICIENCY, 2000, 10.0 * SCALE)
    return of_window(over(record_of(made, cluster), series_of(made, cluster, busy)), 10.0, 20.0, work)


METRICS = (
    "energy_j",
    "gross_energy_j",
    "dynamic_energy_j",
    "controller_energy_j",
    "clients_energy_j",
    "all_energy_j",
)
# clients on the same boards
ALIKE = replace(HC4, nodes=tuple(replace(node, board=HC4.nodes[0].board) for node in HC4.nodes))


def stepped(node):
    """A host with steps: of its board's 3.61 W 1 W, of a disk 0.2 W."""
    board = replace(node.board, step_w=Value(1.0, "made up", "assumed", 0.2))
    disks = tuple(replace(disk, step_w=Value(0.2, "made up", "assumed", 0.05)) for disk in node.disks)
    return replace(node, board=board, disks=disks)


def bent(node):
    """A host of whose board's 3.61 W 1.5 W grow with the cube of its use."""
    return replace(node, board=replace(node.board, bend_w=Value(1.5, "made up", "assumed", 0.3)))


BENT = replace(HC4, nodes=tuple(map(bent, HC4.nodes)))
STEPPED = replace(
    HC4, nodes=tuple(map(stepped, HC4.nodes)), supply_no_load_w=Value(1.5, "made up", "assumed", 0.3)
)
BOTH = replace(STEPPED, nodes=tuple(map(bent, STEPPED.nodes)))
# more CPU seconds than there are: counters and capacities have errors
OVERLOADED = {**BUSY, "storage-1": (1.5, 60e6, 10e6), "client-1": (9.0, 0, 0)}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("cluster", "busy", "least_count"),
    [
        (HC4, BUSY, 37),
        (ALIKE, BUSY, 37),
        (STEPPED, BUSY, 50),
        (BENT, BUSY, 40),
        (BOTH, OVERLOADED, 50),
    ],
    ids=["two boards", "one board", "steps and losses without load", "bends", "beyond all of a CPU"],
)
def test_each_term_is_what_the_model_moves_by_when_its_coefficient_is_off_by_sigma(
    made, cluster, busy, least_count
):
    assert told_as_moved_count(made, cluster, busy, coefficients(cluster)) >= least_count


def test_what_is_wrong_of_idle_power_and_of_the_supply_moves_what_a_load_adds_as_the_model_does(made):
    """Idle power is subtracted: as much of it as the load is long."""
    some = {n: value for n, value in coefficients(HC4).items() if n.startswith(("idle of", "supply"))}
    assert told_as_moved_count(made, HC4, BUSY, some) >= 8


def test_the_rating_of_a_board_beyond_its_capacity_moves_no_bend(made):
    """The cube of a use that is cut at 1."""
    ratings = {n: value for n, value in coefficients(BENT).items() if "rating" in n}
    assert told_as_moved_count(made, BENT, OVERLOADED, ratings) >= 4


def test_what_the_model_does_not_make_has_no_terms_of_it(made):
    series = series_of(made, HC4)
    model, windows = ModelledHosts(record_of(made, HC4), series), ((10.0, 20.0, 1.0),)
    board = next(one for one in series if one.channel.component == "board")
    assert model.terms(((1, board),), windows)
    for of_others in ({"host": "nas"}, {"component": "all"}):
        foreign = replace(board, channel=replace(board.channel, **of_others))
        assert model.terms(((1, board), (1, foreign)), windows) == ()


def told_as_moved_count(made, cluster, busy, values):
    """Hold each error of these coefficients against the model with that one moved; how many there are."""
    found, checked_count = energies_of(made, cluster, busy), 0
    for name, value in values.items():
        # small enough for the supply's efficiency, in which the model is not linear
        step = 1e-4 * value.sigma
        after = energies_of(made, moved(cluster, name, step), busy)
        for metric in METRICS:
            slope = (
                (after.metrics[metric] - found.metrics[metric]) / step * value.sigma / found.metrics[metric]
            )
            told = found.shared[metric].get(f"odroid-hc4: {name}", 0.0)
            assert told == pytest.approx(slope, rel=1e-3, abs=1e-9), (name, metric)
            checked_count += told != 0.0
    return checked_count


def test_an_error_of_a_board_on_both_sides_is_one_error_of_all(made):
    found = energies_of(made, ALIKE)
    source = "odroid-hc4: idle of board odroid-hc4"
    wrong_j = [
        found.shared[f"{prefix}energy_j"][source] * found.metrics[f"{prefix}energy_j"]
        for prefix in ("", "clients_", "all_")
    ]
    assert wrong_j[2] == pytest.approx(wrong_j[0] + wrong_j[1])


def test_power_follows_energy_and_what_a_joule_does_goes_the_other_way(made):
    shared = point_of(made, HC4).shared
    for prefix in ("", "gross_", "dynamic_"):
        assert shared[f"{prefix}mean_w"] == shared[f"{prefix}energy_j"]
        inverse = {source: -ratio for source, ratio in shared[f"{prefix}energy_j"].items()}
        assert shared[f"{prefix}efficiency_bytes_per_j"] == inverse
    assert shared["edp_js"] == shared["energy_j"]


def test_a_burst_shares_what_the_model_does_not_know_of_it(made):
    record = record_of(made, HC4)
    written = replace(record, phases=(*record.phases, Phase("write-back", 20.0, 20.4)))
    (point,), burst = points(written, series_of(made, HC4)), point_of(made, HC4)
    assert point.metrics["burst_energy_j"] == burst.metrics["energy_j"] < point.metrics["energy_j"]
    assert point.shared["burst_efficiency_bytes_per_j"] == burst.shared["efficiency_bytes_per_j"]
    assert point.shared["efficiency_bytes_per_j"] != burst.shared["efficiency_bytes_per_j"]


def test_the_second_plus_minus_of_modelled_energy_is_that_of_its_coefficients(made):
    point = point_of(made, HC4)
    standard_ratio = hypot(*point.shared["energy_j"].values())
    half_j = point.metrics["energy_shared_uncertainty_j"]
    assert half_j == pytest.approx(1.959964 * standard_ratio * point.metrics["energy_j"], rel=1e-6)
    assert point.metrics["energy_uncertainty_j"] >= half_j
    assert 0.01 < standard_ratio < 0.2


def test_two_file_systems_that_use_the_hardware_alike_share_all_that_the_model_does_not_know(made):
    record, light = record_of(made, HC4), {h: (cpu * 0.95, *rest) for h, (cpu, *rest) in BUSY.items()}
    one, (other,) = point_of(made, HC4), points(record, series_of(made, HC4, light))
    shared = [point.shared["energy_j"] for point in (one, other)]
    left = hypot(*(shared[0][source] - shared[1][source] for source in shared[0]))
    assert shared[0].keys() == shared[1].keys()
    assert left < 0.1 * hypot(*shared[0].values())


def test_hosts_whose_capacity_is_their_own_cores_know_nothing_of_a_rating(made):
    assert not any("7-zip" in source for source in point_of(made, HC4, rated=False).shared["energy_j"])
    assert any("7-zip" in source for source in point_of(made, HC4).shared["energy_j"])


def test_watts_are_taken_apart_by_the_coefficients_that_made_them_not_by_those_of_today(made):
    other = moved(HC4, "idle of board odroid-hc4", -1.0)
    today = replace(record_of(made, other), hardware=None)
    (by_record,), (by_name,) = (
        points(record, series_of(made, other)) for record in (record_of(made, other), today)
    )
    assert by_record.shared["energy_j"] != by_name.shared["energy_j"]
    assert by_name.metrics["energy_j"] == by_record.metrics["energy_j"]


def test_watts_of_hardware_that_nobody_knows_have_no_terms_of_a_model(made):
    record = replace(record_of(made, HC4), hardware=None, cluster="sold-long-ago")
    (point,) = points(record, series_of(made, HC4))
    assert point.shared == {}
    assert "energy_shared_uncertainty_j" not in point.metrics


def test_a_budget_of_modelled_energy_names_the_coefficient_to_be_measured(made):
    laid = budget_table([present(metered(Reading(record_of(made, HC4), series_of(made, HC4))))])
    net = dict(zip(laid.headers, laid.rows[0], strict=True))
    assert net["energy"] == "net"
    shared = point_of(made, HC4).shared["energy_j"]
    assert max(shared, key=lambda name: abs(shared[name])) == "odroid-hc4: load"
    assert net["largest term"] == "load: metering the cluster under load"


@pytest.mark.parametrize(("grade", "there"), [("modelled", False), ("wall", True)])
def test_means_of_counters_have_no_noise_of_sampling_however_they_jump(made, grade, there):
    t_s = np.arange(0.5, 30.25, 0.5)
    jumping = made.series(
        made.channel(semantics="window mean", grade=grade), t_s, 10 + np.random.default_rng(1).random(60), 0.5
    )
    found = present(budget(jumping, 10.0, 20.0))
    assert ("noise" in {term.name for term in found.terms}) == there


def test_a_meters_gain_cancels_between_two_energies_and_its_offset_as_far_as_their_power_is_alike(made):
    def shared(watts):
        stated = Specification(gain_ratio=0.01, offset=1.0)
        names = [f"storage-{n}" for n in (1, 2)] + ["metadata-1"]
        series = [made.steady(host, watts) for host in names]
        series = [replace(s, channel=replace(s.channel, specification=stated)) for s in series]
        (point,) = points(made.record(), series)
        return point.shared["energy_j"]

    one, other = shared(20.0), shared(40.0)
    assert one["meter: gain"] == other["meter: gain"] == pytest.approx(0.01 / 3**0.5)
    assert one["meter: offset"] == pytest.approx(1 / 20 / 3**0.5)
    assert other["meter: offset"] == pytest.approx(1 / 40 / 3**0.5)


@pytest.mark.parametrize(("began_w", "ended_w", "sign"), [(10.0, 30.0, 1), (30.0, 10.0, -1)])
def test_a_late_meter_errs_to_the_side_to_which_the_power_went(made, began_w, ended_w, sign):
    series = []
    for host in ("storage-1", "storage-2", "metadata-1"):
        channel = Channel(
            "bmc",
            host,
            "all",
            "power",
            "W",
            "instantaneous",
            "BMC",
            specification=Specification(latency_s=1.0),
        )
        t_s = np.arange(0.0, 30.0, 0.25)
        series.append(made.series(channel, t_s, np.where(t_s < 15, began_w, ended_w)))
    (point,) = points(made.record(moved=made.results((10.0, 20.0))), series)
    latency = point.shared["energy_j"]["bmc: latency"]
    assert latency * sign == pytest.approx(
        20.0 / 10 / 20 * hypot(*np.linspace(0, 1, 9)) / 3, rel=0.1
    )  # a jump of 20 W in 20 W mean


def about(value: float) -> Value:
    """A coefficient that is known to a tenth."""
    return Value(value, "made up", "assumed", value / 10)


def steady_host(made, used_ratio, curve_w, *, rated=True):
    """A host of 4 W, of 6 W more at full use of four cores, and of two disks that work for a quarter of the time
    (1 and 3 W), behind a supply of 80 %, with steps of the board and a disk and a bend: its series, and its watts,
    board and disks.
    """
    board_step_w, bend_w, disk_step_w = curve_w
    node = next(node for node in HC4.nodes if node.name == "A")
    board = replace(node.board, idle_w=about(4.0), dynamic_w=about(6.0), mips=about(4400.0), cores_count=4)
    disk = replace(node.disks[0], idle_w=about(1.0), active_w=about(3.0))
    if board_step_w:
        board = replace(board, step_w=about(board_step_w))
        disk = replace(disk, step_w=about(disk_step_w))
    if bend_w:
        board = replace(board, bend_w=about(bend_w))
    node = replace(node, board=board, disks=(disk, disk))
    cluster = replace(
        HC4, nodes=(node,), supply_efficiency=about(0.8), switch_w=about(15.0), load_w=None, highest_w=None
    )
    awake_ratio = min(1.0, 4 * used_ratio)
    board_w = 4.0 + 6.0 * used_ratio + board_step_w * (awake_ratio - used_ratio)
    board_w += bend_w * (used_ratio**3 - used_ratio)
    disks_w = 2 * (1.0 + 2.0 * 0.25 + disk_step_w * (1 - 0.25))
    watts = {"board": board_w, "disks": disks_w, "supply": (board_w + disks_w) * 0.25}
    t_s = np.arange(0.5, 30.25, 0.5)
    series = [made.series(modelled.channel("storage-1", part), t_s, w, 0.5) for part, w in watts.items()]
    series.append(made.series(modelled.channel("", "switch"), t_s, 15.0, 0.5))
    record = replace(record_of(made, cluster, rated=rated), hosts=HOSTS[:1])
    return ModelledHosts(record, series), board_w, disks_w


@pytest.mark.parametrize("used_ratio", [0.1, 0.4])
@pytest.mark.parametrize("curve_w", [(0.0, 0.0, 0.0), (1.0, 0.0, 0.5), (0.0, 1.5, 0.0), (1.0, 1.5, 0.5)])
@pytest.mark.parametrize("rated", [True, False])
def test_the_energy_of_a_steady_host_moves_with_each_coefficient_by_its_formula(
    made, used_ratio, curve_w, rated
):
    """By the formulas of the docs, for 10 s; a tenth more of a rating is a tenth less use."""
    hosts, board_w, disks_w = steady_host(made, used_ratio, curve_w, rated=rated)
    (board_step_w, bend_w, disk_step_w), awake_ratio = curve_w, min(1.0, 4 * used_ratio)
    by_use_w = (
        6.0 * used_ratio - board_step_w * used_ratio + board_step_w * 4 * used_ratio * (awake_ratio < 1)
    )
    by_use_w += bend_w * (3 * used_ratio**3 - used_ratio)
    expected_w = {
        "board idle": 4.0,
        "board dynamic": 6.0 * used_ratio,
        "disk idle": 2 * 1.0 * (1 - 0.25),
        "disk active": 2 * 3.0 * 0.25,
        "supply": -(board_w + disks_w),
    }
    if rated:
        expected_w["CPU rating"] = -by_use_w
    if board_step_w:
        expected_w["board step"] = board_step_w * (awake_ratio - used_ratio)
        expected_w["disk step"] = 2 * disk_step_w * (1 - 0.25)
    if bend_w:
        expected_w["board bend"] = bend_w * (used_ratio**3 - used_ratio)
    expected_j = {name: 0.1 * 10 * watts / 0.8 for name, watts in expected_w.items()}
    for sign in (1, -1):
        found = hosts.terms(tuple((sign, one) for one in hosts.series), ((10.0, 20.0, 1.0),))
        assert {term.name: sign * term.sign * term.standard_j for term in found} == pytest.approx(
            {**expected_j, "switch": 0.1 * 10 * 15.0}
        )
        # less as much of idle time, in which it drew the same
        both = ((10.0, 20.0, 1.0), (4.0, 9.0, -2.0))
        assert hosts.terms(tuple((sign, one) for one in hosts.series), both) == ()
    (board,) = (one for one in hosts.series if one.channel.component == "board")
    alone = hosts.terms(((1, board),), ((10.0, 20.0, 1.0),))
    of_board = {"board idle", "board dynamic", "board step", "board bend", "CPU rating"} & expected_j.keys()
    assert {term.name: term.standard_j for term in alone} == pytest.approx(
        {name: 0.8 * abs(expected_j[name]) for name in of_board}
    )


@pytest.mark.parametrize(("error_j", "told"), [(0.95e-9, False), (1.05e-9, True)])
def test_an_error_below_a_nanojoule_is_none(made, error_j, told):
    hosts, _, _ = steady_host(made, 0.4, (0.0, 0.0, 0.0))
    hardware = present(hosts.record.hardware)
    known = replace(hardware, switch_w=replace(hardware.switch_w, sigma=error_j / 10))
    hosts = ModelledHosts(replace(hosts.record, hardware=known), hosts.series)
    (switch,) = (one for one in hosts.series if one.channel.component == "switch")
    found = hosts.terms(((1, switch),), ((10.0, 20.0, 1.0),))
    assert [term.standard_j for term in found] == [pytest.approx(error_j)] * told


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("ratio", "told"), [(0.95e-12, False), (1.05e-12, True)])
def test_a_trillionth_of_the_idle_energy_is_rounding(sign, ratio, told):
    assert (_beyond(1000.0 * (1 + sign * ratio), 1000.0) != 0) == told
