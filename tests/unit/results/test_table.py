"""The pieces that tables share: headings with units, and what stands for a missing value."""

from dataclasses import replace
from statistics import fmean

import pytest

from perjoule.model import Cell, Interval
from perjoule.model.doubts import METERS
from perjoule.model.format import with_half
from perjoule.model.units import MIB
from perjoule.prediction import shipped
from perjoule.results import prediction
from perjoule.results.claims import claims_table
from perjoule.results.joined import joined_table
from perjoule.results.published import published_table
from perjoule.results.scores import scores_table
from perjoule.results.table import Table, best_first, heading, point_text, table, value_text, with_meter
from perjoule.views.performance.winners import winners_table
from perjoule.views.power.replacement import replacement_table
from readings import point_of


@pytest.mark.parametrize(
    ("key", "less", "text"),
    [
        ("longest_gap_storage_s", "storage ", "longest gap, s"),  # not the "s" of a word
        ("latency_p99_s", "", "p99, ms"),
        ("idle_switches_storage_hz", "storage ", "context switches, 1/s"),
        ("event_healing_s", "", "s until healthy"),
        ("event_errors_count", "", "errors"),
        ("rebuild_added_per_byte_j", "rebuild ", "kJ/TiB added"),
        ("rebuild_disk_read_servers_bytes", "servers rebuild ", "disk read, MiB"),
    ],
)
def test_a_heading_has_the_unit_once(key: str, less: str, text: str) -> None:
    assert heading(key, less) == text


def test_a_value_is_in_the_unit_of_its_metric_and_a_missing_one_a_dash() -> None:
    assert (
        value_text(Interval(4 * 2**20, 3.5 * 2**20, 4.5 * 2**20, (1.0, 2.0)), "tail_disk_read_bytes")
        == "4.00 ± 0.50"
    )
    assert value_text(None, "tail_disk_read_bytes") == "–"


@pytest.mark.parametrize(
    ("meter_j", "watts", "text"),
    [
        (0.0, (50.0, 50.0, 50.02), "50.01"),  # as the repetitions alone carry
        (20.0, (50.0, 50.0, 50.02), "50.0"),  # joules known to 2 %, and so watts: +-1.0
        (240.0, (50.0, 50.0, 50.02), "50"),
        (20.0, (45.5, 51.9, 51.92, 58.33, 58.3, 45.6), "51.9"),  # a median beside 45.5-58.3
    ],
)
def test_watts_have_the_digits_that_their_interval_carries(
    meter_j: float, watts: tuple[float, ...], text: str
) -> None:
    def of(*values: float) -> Interval:
        return Interval(fmean(values), fmean(values) - 0.01, fmean(values) + 0.01, values)

    rates = of(*([100.0 * MIB] * 3 + [300.0 * MIB] * 3 if len(watts) > 3 else [100.0 * MIB] * 3))
    metrics = {
        "throughput_bytes_per_s": rates,
        "mean_w": of(*watts),
        "energy_j": of(*([1000.0] * len(watts))),
        "energy_shared_uncertainty_j": of(*([meter_j] * len(watts))),
    }
    laid = table([Cell("moosefs", "fio", "write", 4, metrics)])
    assert dict(zip(laid.headers, laid.rows[0], strict=True))["W"] == text


@pytest.mark.parametrize("prefix", ["", "gross_"])
@pytest.mark.parametrize(
    ("key", "mean", "text"),
    [
        ("mean_w", 50.0, with_half(50.0, 1.0)),
        ("energy_per_event_j", 3e-6, with_half(3.0, 0.06)),
        ("energy_j", 1000.0, with_half(1000.0, 20.0)),
    ],
)
def test_watts_and_joules_by_the_event_have_the_error_of_the_meter_that_their_joules_have(
    prefix: str, key: str, mean: float, text: str
) -> None:
    """Joules that a meter knows to 2 %, of repetitions that don't scatter."""
    values = {"energy_j": 1000.0, "energy_shared_uncertainty_j": 20.0, key: mean}
    metrics = {
        f"{prefix}{name}": Interval(value, value, value, (value,) * 3) for name, value in values.items()
    }
    measured = Cell("moosefs", "hep", "read", 4, metrics)
    assert with_meter(measured, f"{prefix}{key}") == text
    unstated = replace(measured, unstated=("gross" if prefix else "net",))
    assert with_meter(unstated, f"{prefix}{key}").endswith("± ?")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((0.93427, 0.95, 0.94), "94"),
        ((0.99961, 1.0), "100"),
        ((0.0041, 0.0039), "0"),
        ((0.90, 0.40, 0.91, 0.41, 0.9, 0.4), "66"),  # two modes: the median
    ],
)
def test_the_share_on_disk_has_no_decimals_because_it_is_known_to_3_points(
    values: tuple[float, ...], text: str
) -> None:
    spread = Interval(fmean(values), min(values), max(values), values)
    rates = Interval(100.0, 99.0, 101.0, tuple(100 * value for value in values))
    laid = table(
        [Cell("moosefs", "fio", "write", 4, {"throughput_bytes_per_s": rates, "durable_ratio": spread})]
    )
    assert dict(zip(laid.headers, laid.rows[0], strict=True))["% on disk"] == text


@pytest.mark.parametrize(
    ("laid", "numbers"),
    [
        (winners_table([]), {"clients", "over average of others", "over the second", "p"}),
        (claims_table([]), {"ratio", "p", "cases"}),
        (joined_table([]), {"clients", "predicted", "90 %", "measured", "n", "error"}),
        (published_table([]), {"clients", "predicted MiB/s", "range", "printed", "error"}),
        (replacement_table([]), {"machines", "power / server's", "whole machines"}),
        (scores_table({}), {"points", "median", "90 %", "bands hold", "watts: skill", "order: tau"}),
        (
            prediction.table([]),
            {"clients", "MiB/s (90 %)", "W (90 %)", "idle W", "MiB/J (90 %)", "bound MiB/s"},
        ),
        (prediction.parameters_table(shipped("cephfs")), {"value", "90 %"}),
    ],
)
def test_all_other_columns_hold_words(laid: Table, numbers: set[str]) -> None:
    assert {header for header in laid.headers if header not in laid.words} == numbers


def test_a_grade_is_ranked_apart_and_what_no_meter_read_comes_last() -> None:
    """The most work per joule of all is of a model, a simulation or a BMC."""
    worth = {"wall": 1.0, "wall+modelled": 9.0, "BMC": 3.0, "modelled": 8.0, "": 7.0}
    cells = [
        Cell(
            "m",
            "fio",
            "write",
            1,
            {"efficiency_bytes_per_j": Interval(each, each, each, (each,))},
            grade=grade,
        )
        for grade, each in worth.items()
    ]
    better = replace(cells[0], metrics={"efficiency_bytes_per_j": Interval(2.0, 2.0, 2.0, (2.0,))})
    simulated = replace(cells[0], reality="simulated", metrics=cells[1].metrics)
    assert best_first([*cells, simulated, better])[:3] == [better, cells[0], cells[2]]
    rates = [
        replace(cell, metrics={"throughput_bytes_per_s": cell.metrics["efficiency_bytes_per_j"]})
        for cell in cells
    ]
    assert best_first(rates)[0] == rates[1]  # a rate is nobody's watts


def test_rows_stand_in_the_order_of_the_numbers_that_they_print() -> None:
    """Of repetitions with two modes a median is printed, here above another row's mean, although its mean is below."""

    def cell(filesystem: str, *values: float) -> Cell:
        of_all = sum(values) / len(values)
        interval = Interval(of_all, min(values), max(values), values)
        return Cell(filesystem, "fio", "write", 1, {"throughput_bytes_per_s": interval})

    apart, steady = cell("apart", 9e6, 9.001e6, 9.002e6, 9.003e6, 1e6), cell("steady", 8e6, 8e6, 8.001e6)
    laid = table(ranked := best_first([steady, apart]))
    column = laid.headers.index("MiB/s")
    printed = [float(row[column].split()[0]) for row in laid.rows]
    assert printed == sorted(printed, reverse=True)
    assert [row.filesystem for row in ranked] == ["apart", "steady"]


def test_a_trial_says_at_once_why_its_meter_gave_no_energy(made) -> None:
    silent = METERS.silent(meter="csv")
    slow = METERS.undersampled(channel="plug:all/power", period_s=5.0, refused=False)
    of_counters = METERS.uncovered(channel="system:a/cpu", covered_ratio=0.5)
    rate = {"throughput_bytes_per_s": 40 * MIB}
    doubts = (slow, of_counters, silent)
    assert point_text(point_of(made.trial(), "write", rate, doubts)) == (
        "40.00 MiB/s, no watts: csv: it delivered nothing during the trial"
    )
    assert point_text(point_of(made.trial(), "write", rate, doubts[:2])) == "40.00 MiB/s"
    measured = {**rate, "efficiency_bytes_per_j": 0.00196 * MIB}
    assert point_text(point_of(made.trial(), "write", measured, doubts, "wall")) == (
        "40.00 MiB/s, 0.00196 MiB/J (wall)"
    )
