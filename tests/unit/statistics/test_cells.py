from dataclasses import replace
from math import inf
from statistics import median

import pytest

from perjoule.cli.terminal.display import notes
from perjoule.energy.baseline import OMITTED
from perjoule.model import Clock, Direction, Number, Ran, Redundancy
from perjoule.model.doubts import REPETITIONS
from perjoule.model.format import with_interval
from perjoule.model.units import MIB
from perjoule.results.table import with_meter
from perjoule.statistics import modes
from perjoule.statistics.cells import as_read, cells
from readings import point_of
from typed import present


def point(
    made,
    values,
    repetition=1,
    direction: Direction = "write",
    doubts=(),
    omitted=None,
    grade="",
    shared=None,
    **words,
):
    metrics = {"throughput_bytes_per_s": 100.0, "duration_s": 10.0} | values
    return point_of(
        made.trial(repetition=repetition, **words), direction, metrics, doubts, grade, omitted, shared
    )


def test_repetitions_become_one_cell_with_intervals(made):
    points = [point(made, {"energy_j": value}, n) for n, value in ((3, 14.0), (1, 10.0), (2, 12.0))]
    (cell,) = cells([made.record(p.trial) for p in points], points)
    assert (cell.filesystem, cell.workload, cell.direction, cell.clients_count) == (
        "moosefs",
        "write 4 MiB",
        "write",
        2,
    )
    assert cell.metrics["energy_j"].values == (10.0, 12.0, 14.0)
    assert cell.metrics["energy_j"].mean == 12
    assert cell.failed_count == 0


def test_dynamic_energy_that_one_repetition_omits_is_omitted_of_the_row_and_no_doubt(made):
    points = [
        point(made, {"energy_j": 10.0, "dynamic_energy_j": 3.0, "dynamic_energy_uncertainty_j": 0.1}, 1),
        point(made, {"energy_j": 10.0}, 2, omitted={"dynamic": OMITTED}),
    ]
    (cell,) = cells([made.record(p.trial) for p in points], points)
    assert cell.doubts == ()
    assert cell.omitted == (OMITTED,)
    assert "energy_j" in cell.metrics
    assert [key for key in cell.metrics if "dynamic" in key] == []
    assert notes([cell], []) == [f"in all rows: {OMITTED}"]


def test_a_boundary_on_other_meters_has_the_grade_of_those_unless_a_repetition_omits_it(made):
    both = {"clients": "PDU", "all": "wall"}
    points, records = [], []
    for n, grades, omitted in ((1, both, {}), (2, {"clients": "BMC"}, {"all": "refused"})):
        plain = point(made, {}, n, omitted=omitted)
        graded = {f"{name}_energy_j": Number(10.0, grade=grade) for name, grade in grades.items()}
        points.append(replace(plain, by_key={**plain.by_key, **graded}))
        records.append(made.record(plain.trial))
    (alone,), (cell,) = cells(records[:1], points[:1]), cells(records, points)
    assert (alone.grades, cell.grades) == (both, {"clients": "BMC+PDU"})


def edp_ratios(points):
    """Of the cells that have one, by file system and workload."""
    return {
        (c.filesystem, c.workload): c.metrics["edp_ratio"]
        for c in cells([], points)
        if "edp_ratio" in c.metrics
    }


def test_edp_is_relative_to_the_best_mean_of_the_same_workload_direction_and_clients(made):
    points = [
        point(made, {"edp_js": 10.0}, 1),
        point(made, {"edp_js": 30.0}, 2),
        point(made, {"edp_js": 60.0}, 1, filesystem="cephfs"),
        point(made, {"edp_js": 7.0}, 1, clients_count=1),
        point(made, {"edp_js": 3.0}, 1, direction="read"),
    ]
    found = {
        (c.filesystem, c.direction, c.clients_count): c.metrics.get("edp_ratio") for c in cells([], points)
    }
    assert present(found["moosefs", "write", 2]).values == (0.5, 1.5)
    assert present(found["cephfs", "write", 2]).mean == 3
    assert found["moosefs", "write", 1] is None  # with nothing beside it, 1.00 would be no finding
    assert found["moosefs", "read", 2] is None


def test_edp_compares_nothing_but_the_same_work(made):
    half = point(made, {"edp_js": 1.0, "duration_s": 5.0}, filesystem="cephfs")
    assert edp_ratios([point(made, {"edp_js": 10.0}), half]) == {}


def test_edp_does_not_compare_random_with_sequential_loads(made):
    points = [
        point(made, {"edp_js": edp}, workload=name)
        for edp, name in ((1.0, "write 4 MiB"), (50.0, "randwrite 4 KiB"))
    ]
    assert edp_ratios(points) == {}
    points += [point(made, {"edp_js": 25.0}, workload="randwrite 4 KiB", filesystem="cephfs")]
    assert {place: ratio.mean for place, ratio in edp_ratios(points).items()} == {
        ("moosefs", "randwrite 4 KiB"): 2,
        ("cephfs", "randwrite 4 KiB"): 1,
    }


def test_loads_that_end_by_time_have_no_edp_ratio(made):
    """Each does as much as it can: neither another row nor another repetition has the same work."""
    rates = {"moosefs": (100.0, 104.0), "cephfs": (61.0, 60.0)}
    points = [
        point(made, {"edp_js": 10.0, "throughput_bytes_per_s": rate}, n, filesystem=name)
        for name, found in rates.items()
        for n, rate in enumerate(found, start=1)
    ]
    assert edp_ratios(points) == {}


def test_repetitions_without_a_rate_leave_a_row_without_an_edp_ratio(made):
    lacking = point_of(made.trial(repetition=2), "write", {"duration_s": 20.0})
    points = [point(made, {"edp_js": 10.0}), point(made, {"edp_js": 20.0}, filesystem="cephfs")]
    assert len(edp_ratios(points)) == 2
    assert edp_ratios([*points, lacking]) == {}


def test_the_best_edp_is_one_where_rows_are_summarised_by_medians(made):
    """In either order of mean and median: 10 is the lowest median, 12 the lowest mean."""
    products = {"moosefs": [10.0, 10.0, 10.0, 40.0], "cephfs": [12.0, 12.0, 12.0, 12.0]}
    points = [
        point(
            made,
            {"edp_js": value, "throughput_bytes_per_s": 1e9 / value, "duration_s": value},
            n,
            filesystem=name,
        )
        for name, values in products.items()
        for n, value in enumerate(values, 1)
    ]
    rows = {cell.filesystem: cell for cell in cells([], points)}
    assert modes.summarised_by_median(rows["moosefs"])
    assert median(present(rows["moosefs"].metrics["edp_ratio"]).values) == 1
    assert present(rows["cephfs"].metrics["edp_ratio"]).mean == pytest.approx(1.2)


@pytest.mark.parametrize("values", [(5.0, 3.0), (9.0, 9.0, 2.0, 1e6)])
def test_the_best_edp_is_one_and_none_is_below(made, values):
    points = [point(made, {"edp_js": value}, filesystem=f"fs {n}") for n, value in enumerate(values)]
    assert min(c.metrics["edp_ratio"].mean for c in cells([], points)) == 1


def test_a_failed_trial_counts_until_a_later_attempt_is_valid(made):
    failed = made.record(made.trial(repetition=2), status="failed")
    records = [made.record(), failed]
    points = [point(made, {}), point(made, {}, 2)]
    assert [c.failed_count for c in cells(records, points[:1])] == [1]
    assert [
        c.failed_count for c in cells([*records, made.record(made.trial(repetition=2), attempt=2)], points)
    ] == [0]


def test_a_combination_that_only_failed_is_a_cell_without_numbers(made):
    asked = made.trial(options={"operation": "read", "size": "64 MiB"})
    (cell,) = cells([made.record(asked, status="failed")], [])
    assert (cell.direction, cell.failed_count, dict(cell.metrics)) == ("read", 1, {})
    unknown = made.trial(options={"gone": 1})
    assert cells([made.record(unknown, status="failed")], [])[0].direction == "write"


def test_several_testbeds_are_distinguished(made):
    points = [point(made, {"edp_js": 1.0}, testbed=t) for t in ("scale 0.1", "scale 1")]
    found = cells([made.record(p.trial) for p in points], points)
    assert [c.filesystem for c in found] == ["moosefs on scale 0.1", "moosefs on scale 1"]


def test_a_metric_that_a_repetition_lacks_is_reported(made):
    (cell,) = cells([], [point(made, {"energy_j": 1.0}, 1), point(made, {}, 2)])
    assert cell.metrics["energy_j"].values == (1.0,)
    assert cell.metrics["energy_j"].high == inf
    assert cell.doubts == ("not every repetition has J",)


def test_an_error_that_not_every_repetition_has_is_no_doubt(made):
    energy = {"energy_j": 5.0, "energy_uncertainty_j": 0.1}
    points = [point(made, energy, 1), point(made, energy | {"energy_shared_uncertainty_j": 0.05}, 2)]
    (cell,) = cells([], points)
    assert cell.doubts == ()
    assert cell.metrics["energy_shared_uncertainty_j"].values == (0.05,)


def test_doubts_of_all_repetitions_are_reported_once(made):
    (cell,) = cells([], [point(made, {}, 1, doubts=("a", "b")), point(made, {}, 2, doubts=("b", "c"))])
    assert cell.doubts == ("a", "b", "c")


def test_cells_come_in_order_whatever_the_order_of_points(made):
    points = [
        point(made, {}, filesystem=fs, clients_count=n, direction=d)
        for fs in ("moosefs", "cephfs")
        for n in (4, 1)
        for d in ("read", "write")
    ]
    found = cells([], points)
    assert cells([], points[::-1]) == found
    assert [(c.direction, c.filesystem, c.clients_count) for c in found][:3] == [
        ("write", "cephfs", 1),
        ("write", "cephfs", 4),
        ("write", "moosefs", 1),
    ]


def test_labels_are_sorted_by_the_numbers_in_them():
    labels = [
        "load 100 %",
        "load 5 %",
        "load 25 %",
        "2 users",
        "load",
        "load 0.5 %",
        "load 0.25 %",
        "10 users",
    ]
    expected = [
        "2 users",
        "10 users",
        "load",
        "load 0.25 %",
        "load 0.5 %",
        "load 5 %",
        "load 25 %",
        "load 100 %",
    ]
    assert sorted(labels, key=as_read) == expected


def test_no_records_make_no_cells():
    assert cells([], []) == ()


def test_a_larger_weight_counts_the_delay_more_often(made):
    slow = made.record(made.trial(filesystem="slow"))
    fast = made.record(made.trial(filesystem="fast"))
    metrics = {"throughput_bytes_per_s": 100.0, "energy_j": 10.0}
    points = [
        point_of(
            slow.trial,
            "write",
            {**metrics, "duration_s": 10.0, "throughput_bytes_per_s": 50.0, "edp_js": 100.0},
        ),
        point_of(fast.trial, "write", {**metrics, "duration_s": 5.0, "edp_js": 50.0}),
    ]
    ratios = [
        {c.filesystem: c.metrics["edp_ratio"].mean for c in cells([slow, fast], points, edp_weight=w)}
        for w in (1, 2, 3)
    ]
    assert [r["fast"] for r in ratios] == [1.0, 1.0, 1.0]
    assert [r["slow"] for r in ratios] == pytest.approx([2.0, 4.0, 8.0])


def test_a_cell_keeps_the_grade_of_its_power_and_doubts_a_mixture(made):
    points = [point(made, {"energy_j": 5.0}, n, grade=grade) for n, grade in ((1, "wall"), (2, "BMC"))]
    (cell,) = cells([], points)
    assert cell.grade == "BMC+wall"
    assert "repetitions have power of different grades (BMC, wall)" in cell.doubts
    assert cells([], points[:1])[0].grade == "wall"


def test_energy_delay_products_of_two_grades_are_not_divided_by_each_other(made):
    wall = point(made, {"edp_js": 10.0}, grade="wall")
    model, metered = (
        point(made, {"edp_js": 1.0}, filesystem="cephfs", grade=grade) for grade in ("modelled", "wall")
    )
    assert edp_ratios([wall, model]) == {}
    assert len(edp_ratios([wall, metered])) == 2


def test_half_an_interval_holds_what_the_meter_adds(made):
    metrics = {
        "efficiency_shared_uncertainty_bytes_per_j": 0.5 * MIB,
        "efficiency_uncertainty_bytes_per_j": 0.7 * MIB,
    }
    metrics |= {"throughput_bytes_per_s": 100.0 * MIB}
    points = [
        point(made, {"efficiency_bytes_per_j": value * MIB, **metrics}, n)
        for n, value in ((1, 9.9), (2, 10.1))
    ]
    assert with_meter(cells([], points)[0], "efficiency_bytes_per_j") == "10.0 ± 1.4"  # of 1.27 and 0.50
    assert with_meter(cells([], points[:1])[0], "efficiency_bytes_per_j") == "9.90 ± ?"
    assert with_meter(cells([], points)[0], "throughput_bytes_per_s") == "100.0 ± 0.0"


def test_repetitions_in_two_modes_are_a_range_beside_their_median(made):
    points = [
        point(made, {"throughput_bytes_per_s": value}, n)
        for n, value in enumerate((402.0, 110.0, 412.0), start=1)
    ]
    (cell,) = cells([], points)
    assert with_interval(cell.metrics["throughput_bytes_per_s"]) == "402 (110–412)"


def test_two_modes_of_a_rate_are_named_in_a_doubt_with_their_sizes(made):
    rates = (218.0, 219, 221, 217, 419, 420, 218, 220)
    points = [
        point(made, {"throughput_bytes_per_s": value * MIB}, n) for n, value in enumerate(rates, start=1)
    ]
    (cell,) = cells([], points)
    words = (
        "two modes: 218.8 MiB/s in 6 and 419.5 MiB/s in 2 of 8 repetitions, so a mean and its interval "
        "would describe neither"
    )
    assert cell.doubts == (words,)
    assert cells([], points[:4])[0].doubts == ()


def test_repetitions_that_scatter_little_are_a_mean_with_its_interval(made):
    points = [
        point(made, {"throughput_bytes_per_s": value}, n)
        for n, value in enumerate((100.0, 110.0, 120.0), start=1)
    ]
    (cell,) = cells([], points)
    assert with_interval(cell.metrics["throughput_bytes_per_s"]) == "110 ± 25"


def test_what_repetitions_share_is_their_mean_by_source(made):
    repetitions = [
        point(
            made,
            {"energy_j": 10.0, "edp_js": 1.0},
            repetition=n,
            shared={"energy_j": shared, "edp_js": shared},
        )
        for n, shared in ((1, {"meter: gain": 0.02, "meter: offset": 0.1}), (2, {"meter: gain": 0.02}))
    ]
    other = point(made, {"edp_js": 2.0}, filesystem="cephfs")
    _, cell = cells([made.record(p.trial) for p in (*repetitions, other)], [*repetitions, other])
    assert cell.shared["energy_j"] == pytest.approx({"meter: gain": 0.02, "meter: offset": 0.05})
    assert cell.shared["edp_ratio"] == cell.shared["edp_js"]
    assert "throughput_bytes_per_s" not in cell.shared


@pytest.mark.parametrize(
    ("copies", "of_cell"),
    [((2,), Redundancy(2)), ((2, 2), Redundancy(2)), ((2, None), Redundancy(2)), ((2, 3), None)],
)
def test_a_cell_has_the_redundancy_of_its_repetitions_where_they_agree(made, copies, of_cell):
    points = [point(made, {}, n) for n in range(len(copies))]
    records = [
        replace(made.record(p.trial), redundancy=count and Redundancy(count))
        for p, count in zip(points, copies, strict=True)
    ]
    (cell,) = cells(records, points)
    assert cell.redundancy == of_cell
    differs = REPETITIONS.redundancy_differs(redundancies=["2 copies", "3 copies"]).id
    assert (differs in [doubt.id for doubt in cell.doubts]) == (of_cell is None)


def test_a_cell_knows_when_its_trials_ran_and_how_many_hosts_stored(made):
    points = [point(made, {}, n) for n in (1, 2)]
    records = [replace(made.record(p.trial), clock=Clock(0.0, 100.0 * n)) for n, p in enumerate(points)]
    (cell,) = cells(records, points)
    assert (cell.servers_count, cell.ran) == (2, (Ran(1, 10.0, 20.0), Ran(2, 110.0, 120.0)))
    (unknown,) = cells([], points)
    assert (unknown.servers_count, unknown.ran, unknown.redundancy) == (0, (), None)


def test_every_trial_that_failed_counts_once_whatever_the_number_of_attempts(made):
    records = [
        made.record(made.trial(repetition=n), status="failed", attempt=a)
        for n, a in ((1, 1), (1, 2), (2, 1), (3, 1))
    ]
    assert [c.failed_count for c in cells(records, [])] == [3]


@pytest.mark.parametrize(
    ("values", "metrics"), [((inf, 5.0), (5.0,)), ((4.0, 5.0), (4.0, 5.0)), ((float("nan"), 5.0), (5.0,))]
)
def test_what_is_no_number_is_not_among_the_values(made, values, metrics):
    (cell,) = cells([], [point(made, {"energy_j": value}, n) for n, value in enumerate(values, 1)])
    assert cell.metrics["energy_j"].values == metrics
    assert bool(cell.doubts) == (len(metrics) < 2)


def test_work_is_the_same_to_six_digits(made):
    for beyond, alike in ((4e-7, True), (6e-6, False)):
        points = [
            point(made, {"edp_js": 10.0}),
            point(made, {"edp_js": 20.0, "duration_s": 10.0 * (1 + beyond)}, filesystem="cephfs"),
        ]
        assert (len(edp_ratios(points)) == 2) == alike


def test_what_one_repetition_alone_shares_counts_with_nothing_of_the_others(made):
    points = [
        point(made, {"energy_j": 5.0}, n, shared=shared)
        for n, shared in ((1, {"energy_j": {"a": 0.02}}), (2, {}))
    ]
    assert cells([], points)[0].shared == {"energy_j": {"a": pytest.approx(0.01)}}


def test_rows_of_one_name_whose_trials_had_other_options_are_told_apart_by_a_doubt(made):
    """Repetitions of one label, direction and number of clients, of which one wrote other bytes."""
    other = {"operation": "write", "size": "1 GiB"}
    points = [
        point(made, {}, 1),
        point(made, {}, 2),
        point(made, {}, 1, options=other),
        point(made, {}, 1, clients_count=4),
        point(made, {}, 1, direction="read"),
        point(made, {}, 1, workload="read 4 MiB"),
        point(made, {}, 1, filesystem="cephfs"),
    ]
    found = cells([made.record(p.trial) for p in points], points)
    assert len(found) == 6
    alike = [cell for cell in found if REPETITIONS.same_name().id in [doubt.id for doubt in cell.doubts]]
    assert sorted(len(cell.ran) for cell in alike) == [1, 2]
    assert {(c.filesystem, c.workload, c.direction, c.clients_count) for c in alike} == {
        ("moosefs", "write 4 MiB", "write", 2)
    }
