"""What holds for every simulator found on disk and the meter that reads it: a new one needs no entry here."""

import numpy as np
import pytest

from perjoule import campaign, drivers, simulators
from perjoule.model.waveform import Waveform

POWER_W = 40.0
SAMPLES_COUNT, LEAST_S = 3, 2.0
TOLERANCE = 0.05  # of the coarsest counter, over a few samples


@pytest.mark.parametrize("kind", simulators.kinds())
def test_its_meter_reads_the_power_that_is_simulated(kind, listen):
    missing = [check for check in campaign.example("meters", kind).checks() if check.needed and not check.ok]
    tools = [f"{check.name}: {check.detail}; {check.fix}" for check in missing if "apt" in check.fix]
    if tools:
        pytest.skip("; ".join(tools))
    with simulators.serve(kind, simulators.Behaviour(Waveform("constant", POWER_W, POWER_W))) as table:
        assert table["kind"] == kind, (
            f"have `serve` yield the options of the [[meter]] table of kind {kind}, not {table}"
        )
        heard = listen(table, enough, timeout_s=30)
    assert not heard.failures, f"without a fault no read may fail: {heard.failures}"
    channels = {channel: heard.of(channel.quantity, channel.component) for channel, *_ in heard.samples}
    units = {channel.unit for channel in channels if channel.quantity in ("power", "energy")}
    assert units <= {"W", "J"}, f"convert what the meter says to watts and joules: {units}"
    watts = [values[1] for channel, values in channels.items() if channel.quantity == "power"]
    energies = [
        values for channel, values in channels.items() if channel.quantity == "energy" and np.ptp(values[0])
    ]
    means = [np.mean(values) for values in watts] + [
        np.ptp(joules) / np.ptp(times) for times, joules in energies
    ]
    assert any(mean == pytest.approx(POWER_W, rel=TOLERANCE) for mean in means), (
        f"{POWER_W} W are simulated; read: {means} W"
    )


def enough(heard):
    """A few powers, or the energy of a while: a counter is written in steps."""
    power, energy = heard.of("power"), heard.of("energy")
    return (power.size and len(power[0]) > SAMPLES_COUNT) or (energy.size and np.ptp(energy[0]) > LEAST_S)


@pytest.mark.parametrize("kind", simulators.kinds())
def test_it_names_faults_that_there_are_and_has_a_meter(kind):
    assert kind in drivers.kinds("meters"), (
        f"name the simulator after the meter that reads it; there is no meter {kind}"
    )
    unknown = set(simulators.faults(kind)) - set(simulators.FAULTS)
    assert not unknown, f"FAULTS of {kind} has {unknown}, which are no faults of a Behaviour"
