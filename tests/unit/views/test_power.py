from dataclasses import replace

import numpy as np
import pytest

from perjoule.energy.alignment import pattern
from perjoule.figures import rendering
from perjoule.measures.energies import EFFICIENCY, Work, of_window
from perjoule.measures.points import points
from perjoule.model import Clock, Phase, Specification
from perjoule.store.patterns import LoadPattern
from perjoule.summary.metered import Bar, MeteredDevice, metered
from perjoule.trial.reading import Reading
from perjoule.views.power.alignment import alignment, alignments
from perjoule.views.power.boundaries import boundaries
from perjoule.views.power.budget import budget, budget_table, relative
from perjoule.views.power.unexplained import unexplained_table
from readings import over
from typed import present

SERVERS = ("storage-1", "storage-2", "metadata-1")


def loaded(made, *, idle_w=10.0, load_w=20.0, **stated):
    """Servers that idle until 10 s, draw more until 20 s, and idle again; the record's phases say so."""
    found = []
    for host in SERVERS:
        one = made.steady(host, idle_w)
        value = one.value.copy()
        value[(one.t_s > 10) & (one.t_s <= 20)] = load_w
        found.append(
            replace(one, value=value, channel=replace(one.channel, specification=Specification(**stated)))
        )
    record = made.record(tail_s=8.0)
    return replace(
        record, phases=(Phase("baseline", 4.0, 9.0), Phase("measure", 10.0, 20.0), Phase("tail", 20.0, 28.0))
    ), found


def test_dynamic_energy_is_what_the_load_added(made):
    record, series = loaded(made, gain_ratio=0.01)
    (point,) = points(record, series)
    assert point.metrics["energy_j"] == pytest.approx(600)
    assert point.metrics["dynamic_energy_j"] == pytest.approx(300)
    assert point.metrics["dynamic_efficiency_bytes_per_j"] == pytest.approx(2000 / 300)
    assert point.grade == "wall"


def test_an_offset_of_the_meter_cancels_in_dynamic_energy_and_a_factor_stays(made):
    record, series = loaded(made, gain_ratio=0.01, offset=1.0)
    (point,) = points(record, series)
    assert point.metrics["energy_uncertainty_j"] == pytest.approx(0.95 * 3 * 10 * (0.01 * 20 + 1.0))
    assert point.metrics["dynamic_energy_uncertainty_j"] == pytest.approx(0.95 * 3)
    efficiency = point.metrics["energy_uncertainty_j"] * 2000 / 600**2
    assert point.metrics["efficiency_uncertainty_bytes_per_j"] == pytest.approx(efficiency)
    assert point.metrics["efficiency_shared_uncertainty_bytes_per_j"] == pytest.approx(efficiency)
    assert point.metrics["edp_uncertainty_js"] == pytest.approx(
        10 * point.metrics["energy_uncertainty_j"], rel=1e-3
    )


def test_dynamic_energy_is_refused_when_idle_power_is_not_known_well_enough(made):
    record, series = loaded(made, load_w=10.5)
    before = [replace(s, value=s.value + (1.0 if i else 0.0) * (s.t_s > 20)) for i, s in enumerate(series)]
    (point,) = points(record, before)
    assert "dynamic_energy_j" not in point.metrics
    assert "dynamic energy omitted" in point.omitted["dynamic"]


def test_energy_of_a_nameplate_has_no_uncertainty_that_anybody_knows(made):
    record, series = loaded(made, gain_ratio=0.01)
    nominal = [replace(s, channel=replace(s.channel, grade="nameplate")) for s in series]
    (point,) = points(record, nominal)
    assert not [name for name in point.metrics if "uncertainty" in name]
    assert point.shared == {}
    assert point.grade == "nameplate"


def test_boards_without_disks_are_the_storage_controllers(made):
    record, series = loaded(made)
    disks = [made.steady(host, 4.0, component="disks") for host in SERVERS]
    found = of_window(over(record, [*series, *disks]), 10.0, 20.0, Work(EFFICIENCY, 2000, 10.0))
    assert found.metrics["controller_energy_j"] == pytest.approx(600 - 120)
    assert found.metrics["controller_efficiency_bytes_per_j"] == pytest.approx(2000 / 480)


def test_packages_are_labelled_and_stand_for_no_host(made):
    def zone(host):
        return made.series(
            made.channel(host, "package-0", "energy", "counter", "component", "rapl"),
            [0.0, 15, 30],
            [0, 75, 150],
        )

    found = of_window(
        over(made.record(), [zone(h) for h in SERVERS]), 10.0, 20.0, Work(EFFICIENCY, 2000, 10.0)
    )
    assert found.metrics["cpu_package_energy_j"] == pytest.approx(150)
    assert "energy_j" not in found.metrics
    assert any("processors alone" in doubt for doubt in found.doubts)


def test_the_budget_table_names_the_largest_term_and_what_shrinks_it(made):
    record, series = loaded(made, gain_ratio=0.02, resolution=0.5)
    one = present(metered(Reading(record, series)))
    laid = budget_table([one])
    net = dict(zip(laid.headers, laid.rows[0], strict=True))
    assert (net["energy"], net["mean J"], net["clients"]) == ("net", "600.0", "2")
    assert net["accuracy"] == "1.2"
    assert net["largest term"] == "accuracy: a meter of a better class, a smaller range, or a calibration"
    assert relative([one.energies["write"].budgets["net"]])["accuracy"] == pytest.approx(0.02 / 3**0.5)
    assert net["± %"] not in ("", "unknown")
    assert metered(Reading(made.record(status="failed"), series)) is None
    assert metered(Reading(record, [])) is None


def test_the_budget_table_states_no_uncertainty_of_a_meter_that_states_no_accuracy(made):
    record, series = loaded(made, resolution=0.5)
    laid = budget_table([present(metered(Reading(record, series)))])
    net = dict(zip(laid.headers, laid.rows[0], strict=True))
    assert "accuracy" in net["unknown"]
    assert net["± %"] == "unknown"


def test_what_meters_cover_is_drawn_and_their_difference_is_laid_out(made):
    record, series = loaded(made)
    strip = made.steady("", 48.0, component="group", meter="strip", grade="PDU")
    strip = replace(strip, channel=replace(strip.channel, covers=SERVERS))
    one = present(metered(Reading(record, [*series, strip])))
    assert {(bar.row, bar.devices, bar.grade) for bar in one.bars} >= {
        ("strip", tuple(sorted(SERVERS)), "PDU")
    }
    (row,) = unexplained_table([one]).rows
    assert row[2:6] == ("48.00", "60.00", "-12.00", "-25.0")
    spec = boundaries(one.devices, one.bars, notes=["a note"])
    assert "<svg" in rendering.svg(spec)


def test_a_bar_breaks_where_its_devices_are_no_neighbours():
    devices = [MeteredDevice("a", "storage"), MeteredDevice("b", "client"), MeteredDevice("c", "storage")]
    spec = boundaries(devices, [Bar("plug", ("a", "c"), "wall", None)])
    pieces = spec["data"]["values"]
    assert [(p["y"], p["first"], p["text"]) for p in pieces] == [
        (0.06, True, "refused"),
        (2.06, False, "refused"),
    ]


def test_budgets_are_drawn_as_shares_of_the_variance():
    spec = budget({"moosefs": {"accuracy": 0.03, "noise": 0.04}, "none": {}})
    shares = {row["name"]: row["share"] for row in spec["data"]["values"]}
    assert shares == pytest.approx({"accuracy": 0.36, "noise": 0.64})
    assert "<svg" in rendering.svg(spec)


def test_a_pattern_that_was_found_is_drawn_over_its_samples(made):
    edges_s = tuple(100.0 + edge for edge in pattern(30.0))
    t_s = np.arange(95.0, 140.0, 0.5)
    on = np.searchsorted(edges_s, t_s, side="right") % 2
    meter = made.series(made.channel("", "total", meter="lmg"), t_s + 0.3, 40 + 20 * on)
    load = LoadPattern(Clock(0.0, 1.7e9), edges_s, ("storage-1",))
    (found,) = alignments([(load, [meter, made.counter("storage-1", "cpu", 1.0)])])
    assert found.offset_s == pytest.approx(0.3, abs=0.3)
    assert len(found.t_s) == len(found.watts) == len(found.fit_w)
    assert "<svg" in rendering.svg(alignment([found]))
