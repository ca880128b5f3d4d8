"""The counter and the power of one meter: which pairs there are, and which of both is more certain."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from perjoule.energy.quantities import both_quantities, one_quantity, other_quantity, wrong_ratio
from perjoule.energy.terms import budget
from typed import present


def test_the_other_choice_is_the_quantity_left_out_beside_what_has_but_one(made):
    counter, power = made.channel("storage-1", "all", "energy", "counter"), made.channel("storage-1")
    alone = made.channel("storage-2")
    channels = [counter, power, alone]
    assert other_quantity(channels, [counter, alone]) == [power, alone]
    assert other_quantity(channels, [power, alone]) == [counter, alone]
    assert other_quantity([power, alone], [power, alone]) == []


@pytest.mark.parametrize(
    ("grade", "shown"),
    [("wall", True), ("PDU", True), ("BMC", True), ("component", False), ("modelled", False)],
)
def test_a_pair_is_of_one_meter_host_and_component_of_a_whole_real_host(made, grade, shown):
    def of(host, quantity, *, component="all", meter="plug", semantics="window mean"):
        semantics = "counter" if quantity == "energy" else semantics
        return made.channel(host, component, quantity, semantics, grade, meter)

    counter, power = of("storage-1", "energy"), of("storage-1", "power")
    others = [
        of("storage-2", "power"),
        of("storage-3", "energy"),
        of("storage-3", "power", meter="strip"),
        of("storage-3", "power", component="disks"),
        of("storage-4", "energy"),
        of("storage-4", "power", semantics="state"),
    ]
    for channels in ([counter, power, *others], [*others, power, counter]):
        assert list(both_quantities(channels)) == [(counter, power)] * shown


@pytest.mark.parametrize(
    ("counted", "sampled", "chosen"),
    [
        (0.0101, 0.005, "power"),  # above 1 %, and more than twice the power's
        (0.0101, 0.0051, "energy"),
        (0.0099, 0.0, "energy"),
        (0.3, 0.14, "power"),
        (0.3, 0.16, "energy"),
        (inf, 0.9, "power"),  # it is refused
        (inf, inf, "energy"),
        (0.0, inf, "energy"),
    ],
)
def test_power_counts_where_the_counter_is_uncertain_by_one_percent_and_twice_as_much(
    made, counted, sampled, chosen
):
    counter, power = made.channel("storage-1", "all", "energy", "counter"), made.channel("storage-1")
    alone = [made.channel("storage-2", "all", "energy", "counter"), made.channel("storage-3")]
    ratios = {counter: counted, power: sampled, **dict.fromkeys(alone, 0.5)}
    kept = one_quantity([*alone, power, counter], lambda channel: ratios[channel])
    assert kept == [*alone, counter if chosen == "energy" else power]


def test_both_of_a_meter_are_compared_without_their_accuracy_and_by_the_age_of_a_sample(made):
    """A ramp, so that a shift matters: a latency that is not stated is the distance of samples, or the period."""
    t_s = np.arange(0, 60.25, 0.5)

    def ramp(**stated):
        return made.stating("instantaneous", t_s, 50 + t_s, **stated)

    def ratio(**stated):
        return wrong_ratio(ramp(**stated), 10.0, 20.0)

    by_age = present(budget(ramp(latency_s=0.5), 10.0, 20.0))
    assert ratio() == by_age.expanded_j / by_age.value_j
    assert ratio(latency_s=0.5, gain_ratio=0.1, offset=3.0) == ratio(period_s=0.1) == ratio()
    assert ratio(period_s=2.0) == ratio(period_s=2.0, latency_s=2.0) > 3 * ratio()
    assert ratio(latency_s=0.0) < ratio() / 2
    # of joules below 1, too
    small = made.stating("instantaneous", t_s, (50 + t_s) * 1e-3)
    assert wrong_ratio(small, 10.0, 20.0) == pytest.approx(ratio())
    counter = made.stating("counter", t_s, 100 + 50 * t_s, gain_ratio=0.1)
    assert wrong_ratio(counter, 10.0, 20.0) == 0.0


def test_what_is_refused_or_nothing_is_infinitely_wrong(made):
    t_s = np.arange(0, 60.25, 0.5)
    assert wrong_ratio(made.stating("instantaneous", t_s, 50.0), 10.0, 90.0) == inf
    still = made.stating("window mean", t_s, 0.0, 0.5)
    assert wrong_ratio(still, 10.0, 20.0) == inf
    reversed_ = replace(still, value=still.value - 0.001, channel=replace(still.channel, grade="modelled"))
    assert wrong_ratio(reversed_, 10.0, 20.0) == inf
