from dataclasses import replace

import pytest

from perjoule.model import Cell, Interval
from perjoule.model.metrics import PIECES
from perjoule.views.power.joules import drawable, joules, sides_table, split_table

MIB = 2**20


def cell(grades=None, **metrics):
    found = {name: Interval(value, float("-inf"), float("inf"), (value,)) for name, value in metrics.items()}
    return Cell("moosefs", "fio", "write", 2, found, grade="wall", grades=grades or {})


BOTH = cell(
    {"clients": "modelled", "all": "modelled"},
    **{"throughput_bytes_per_s": 5.0 * MIB, "duration_s": 4.0},
    **{
        "energy_j": 40.0,
        "mean_w": 10.0,
        "efficiency_bytes_per_j": 0.5 * MIB,
        "burst_efficiency_bytes_per_j": 0.6 * MIB,
    },
    **{"clients_energy_j": 80.0, "clients_mean_w": 20.0, "clients_efficiency_bytes_per_j": 0.25 * MIB},
    **{"all_energy_j": 120.0, "all_mean_w": 30.0, "burst_all_efficiency_bytes_per_j": 0.2 * MIB},
    **{"part_client_cpu_j": 30.0, "part_client_rest_j": 50.0, "part_network_j": 40.0, "part_unsplit_j": 40.0},
)


def test_each_boundary_has_a_row_with_the_grade_of_its_own_watts():
    laid = sides_table([BOTH])
    assert laid.headers[4:] == ("of", "power", "J", "W", "MiB/J", "burst MiB/J")
    assert [row[4:] for row in laid.rows] == [
        ("servers", "wall", "40.00", "10.00", "0.500 ± ?", "0.600"),
        ("clients", "modelled", "80.00", "20.00", "0.250 ± ?", "–"),
        ("all", "modelled", "120.0", "30.00", "–", "0.200"),
    ]


def test_a_boundary_without_energy_has_no_row_and_a_cell_without_any_no_table():
    alone = cell(energy_j=40.0, mean_w=10.0, operations_per_j=3.0)
    laid = sides_table([alone, cell(duration_s=1.0)])
    assert (laid.headers[6:], [row[4:] for row in laid.rows]) == (
        ("J", "W", "op/J"),
        [("servers", "wall", "40.00", "10.00", "3.00 ± ?")],
    )
    assert sides_table([cell(duration_s=1.0)]).rows == split_table([alone]).rows == ()


def test_the_joules_are_divided_in_percent_of_all_that_is_known():
    laid = split_table([BOTH, cell(part_disks_j=10.0)])
    assert laid.headers[4:] == ("J", "% client CPU", "% client rest", "% network", "% disks", "% not split")
    assert [row[4:] for row in laid.rows] == [
        ("160.0", "18.8", "31.2", "25.0", "–", "25.0"),
        ("10.00", "–", "–", "–", "100.0", "–"),
    ]


def test_the_figure_draws_each_piece_for_a_unit_of_work_and_the_total():
    (panel,) = joules([BOTH, cell(part_disks_j=10.0)])["vconcat"]  # the second one has no work
    bars, text = panel["layer"]
    drawn = {row["name"]: (row["value"], row["share"]) for row in panel["data"]["values"]}
    assert drawn == {
        "client CPU": (1.5, "18.8 %"),
        "client rest": (2.5, "31.2 %"),
        "network": (2, "25.0 %"),
        "not split": (2, "25.0 %"),
    }
    assert [(row["value"], row["text"]) for row in text["data"]["values"]] == [(pytest.approx(8), "8.00 J")]
    assert bars["encoding"]["x"]["title"] == "energy in J per MiB"
    colour = bars["encoding"]["color"]
    # so each has its own colour, whichever are there
    assert colour["scale"]["domain"] == list(PIECES.values())
    assert colour["legend"]["values"] == list(drawn)


def test_loads_that_move_no_bytes_have_a_panel_of_their_own():
    listed = cell(operations_per_s=50.0, duration_s=4.0, part_disks_j=10.0)
    panels = joules([BOTH, replace(listed, workload="mdtest", direction="read")])["vconcat"]
    assert [panel["layer"][0]["encoding"]["x"]["title"] for panel in panels] == [
        "energy in J per MiB",
        "energy in J per operation",
    ]
    assert panels[1]["data"]["values"][0]["value"] == 0.05


def test_without_pieces_or_work_there_is_no_figure():
    assert drawable([BOTH])
    assert not drawable([cell(throughput_bytes_per_s=1.0, duration_s=1.0), cell(part_disks_j=10.0)])
