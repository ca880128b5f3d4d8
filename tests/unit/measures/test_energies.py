"""Missing joules have their reason, and products of joules the uncertainty of their time."""

from dataclasses import replace
from math import hypot
from statistics import NormalDist

import pytest

from perjoule.measures.energies import EFFICIENCY, Work, of_window
from perjoule.measures.idle import PER_USABLE_BYTE
from perjoule.measures.points import points
from perjoule.model import Specification
from perjoule.results.table import with_meter
from perjoule.statistics.cells import cells
from readings import over

SERVERS = ("storage-1", "storage-2", "metadata-1")


def stated(series, **words):
    return replace(series, channel=replace(series.channel, specification=Specification(**words)))


def test_servers_that_are_metered_with_their_switch_alone_lack_an_energy_with_the_reason(made):
    (point,) = points(made.record(), [made.steady("", 56.0, component="total", meter="strip")])
    assert "energy_j" not in point.metrics
    assert point.metrics["gross_energy_j"] == pytest.approx(560)
    assert point.omitted["net"] == (
        "energy of the servers omitted: strip power counts them together with the switch (if it does not "
        'feed the switch, write covers = ["servers"] below its [[meter]]; if it does, add a [[meter]] of the '
        'switch, or its power: kind = "constant"); the gross_* metrics have that of servers and switch'
    )


def test_a_switch_that_is_refused_is_the_reason_that_the_servers_lack_an_energy(made):
    total, switch = (
        made.steady("", 56.0, component="total"),
        made.steady("", 15.0, component="switch").at(slice(0, 30)),
    )
    (point,) = points(made.record(), [total, switch])
    assert "that of one of their channels is refused" in point.omitted["net"]


def test_a_repetition_without_net_leaves_that_of_the_others(made):
    kept = [made.steady(host, 10.0) for host in SERVERS]
    record = made.record()
    (known,) = points(record, kept)
    other = made.record(made.trial(repetition=2))
    (lacking,) = points(other, [made.steady("", 56.0, component="total")])
    (cell,) = cells((record, other), (known, lacking))
    assert cell.metrics["energy_j"].mean == pytest.approx(300)
    assert any("energy of the servers omitted" in words for words in cell.omitted)


@pytest.mark.parametrize(("words", "text"), [({}, "300.0 ± ?"), ({"gain_ratio": 0.01}, "300.0 ± 2.9")])
def test_an_accuracy_that_nobody_states_is_a_question_mark(made, words, text):
    records = [made.record(made.trial(repetition=number)) for number in (1, 2)]
    series = [stated(made.steady(host, 10.0), **words) for host in SERVERS]
    (cell,) = cells(records, [point for record in records for point in points(record, series)])
    assert with_meter(cell, "energy_j") == text


def test_one_host_of_unknown_accuracy_makes_the_sum_unknown(made):
    series = [
        stated(made.steady(host, 10.0, meter=host), **({"gain_ratio": 0.01} if host != "storage-2" else {}))
        for host in SERVERS
    ]
    (point,) = points(made.record(), series)
    assert point.unstated == ("net",)


def test_models_and_simulations_state_all_that_there_is(made):
    for grade in ("modelled", "simulated"):
        (point,) = points(made.record(), [made.steady(host, 10.0, grade=grade) for host in SERVERS])
        assert point.unstated == ()


@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("gain_ratio", [1e-5, 1e-3])
def test_an_energy_delay_product_is_uncertain_by_its_power_and_twice_by_a_millisecond_of_its_time(
    made, gain_ratio, scale
):
    """30 W for 10 s are power x time x time; half of an interval of 95 % of both, which are independent."""
    metered = [made.steady(host, 10.0, grade="simulated") for host in SERVERS]
    (point,) = points(made.record(scale=scale), [stated(one, gain_ratio=gain_ratio) for one in metered])
    product_js = 30 * (10 * scale) ** 2
    ratio = hypot(0.95 * gain_ratio, 2 * NormalDist().inv_cdf(0.975) * 0.001 / 10)
    assert point.metrics["edp_js"] == pytest.approx(product_js)
    assert point.metrics["edp_uncertainty_js"] == pytest.approx(ratio * product_js, rel=1e-5)


def test_an_energy_is_divided_by_what_it_was_used_for_and_its_error_with_it(made):
    """300 J of 10 s, in which 30 MB were moved and 2.4e12 byte-seconds kept."""
    series = [stated(made.steady(host, 10.0), gain_ratio=0.01) for host in SERVERS]
    work = Work(EFFICIENCY, 30e6, 10.0, divisors={PER_USABLE_BYTE: 2.4e12})
    metrics = of_window(over(made.record(), series), 10.0, 20.0, work).metrics
    assert metrics["mean_w"] == pytest.approx(300 / 10)
    assert metrics["efficiency_bytes_per_j"] == pytest.approx(30e6 / 300)
    assert metrics["usable_w_per_byte"] == pytest.approx(300 / 2.4e12)
    ratio = metrics["energy_uncertainty_j"] / 300
    assert ratio > 0.001
    for metric in (PER_USABLE_BYTE.of("net"), EFFICIENCY.of("net")):
        assert metrics[metric.uncertainty] / metrics[metric.key] == pytest.approx(ratio)


def test_the_meter_of_the_servers_is_named_with_their_energy_alone(made):
    switch = made.steady("", 6.0, component="switch", meter="strip")
    series = [*(made.steady(host, 10.0) for host in SERVERS), switch]
    numbers = of_window(over(made.record(), series), 10.0, 20.0, Work(EFFICIENCY, 1, 10.0)).by_key
    assert "gross_energy_j" in numbers
    assert {key: number.source for key, number in numbers.items() if number.source} == {
        "energy_j": "meter power"
    }
