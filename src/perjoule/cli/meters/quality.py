"""Commands that measure meters: their real behaviour, and their delay."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path

import click

from perjoule import campaign
from perjoule.cli.meters._parameters import chosen, half_a_minute, overrides
from perjoule.cli.meters._plot import covered, named
from perjoule.cli.meters._printing import tell
from perjoule.cli.parameters import examples
from perjoule.cli.serving import ticks
from perjoule.cli.terminal.display import err, out
from perjoule.cli.terminal.outputs import OutputFile, write
from perjoule.energy import alignment
from perjoule.energy.behaviour import Agreement, agreement, behaviour
from perjoule.execution.clocks import clock_sync
from perjoule.model import Clock, Series
from perjoule.model.errors import MachineError
from perjoule.model.format import any_number, number, percent
from perjoule.model.units import seconds_text
from perjoule.monitoring import recorder
from perjoule.store.patterns import LoadPattern
from perjoule.testbeds.local import Local


@click.command(
    short_help="Measure how meters really behave.",
    epilog=examples(
        'perjoule meters test ipmi --set address="bmc-1"', "perjoule meters test my.toml --against rapl"
    ),
)
@chosen
@overrides
@click.option(
    "--against", metavar="METER", help="A second meter of the same thing, to compare energies with."
)
@click.option("--load", is_flag=True, help="Switch this machine's load on and off to find the meter's delay.")
@half_a_minute
def test(
    names: tuple[str, ...], overrides: tuple[str, ...], against: str | None, load: bool, duration_s: float
) -> None:
    """Measure how meters really behave: update period, noise, steps, failed reads, longest freeze, latency.

    Noise is measured best while the power is steady, the update period while it varies. The latency needs a
    load that the meter
    sees: --load switches this machine's load on and off at known times.
    """
    memory, other = recorder.Memory(), recorder.Memory()
    edges_s: tuple[float, ...] = ()
    with recorder.recording(campaign.meters(names, overrides), memory) as doubts:
        rivals = campaign.meters((against,)) if against else ()
        with recorder.recording(rivals, other) as other_doubts, suppress(KeyboardInterrupt):
            if load:
                edges_s = _switched(duration_s)
            for left_s in ticks(0.0 if load else duration_s, 1.0):
                if err.is_terminal:
                    err.print(f"{seconds_text(left_s)} left ", end="\r")
    found = memory.series()
    if not found:
        raise MachineError("the meter delivered nothing in this time", next="try a longer time (--for)")
    for series in found:
        _describe(series)
        if load:
            out.print(f"  {'latency':10} {_late(series, edges_s)}")
    if against:
        _compare(agreement(found, other.series()), against)
    tell([*doubts, *other_doubts])


def _describe(series: Series) -> None:
    measured, specification, unit = behaviour(series), series.channel.specification, series.channel.unit
    out.print(
        f"{named(series.channel)} of {covered(series.channel)}: {series.channel.semantics}, grade "
        f"{series.channel.grade}"
    )
    period = _told(measured.asked_period_s, seconds_text)
    step = f"{any_number(measured.resolution)} {unit}" if measured.resolution else "none seen"
    lines = {
        "samples": f"{measured.samples_count}, one in {period}; {percent(measured.failed_ratio, 1)} % failed",
        "new value": f"every {_told(measured.update_period_s, seconds_text)}"
        + _stated(specification.period_s, "s"),
        "mean": _told(measured.mean, _watts),
        "noise": f"{_told(measured.noise, _watts)} of a single value",
        "step": step + _stated(specification.resolution, unit),
        "frozen": f"{_told(measured.longest_frozen_s, seconds_text)} at the longest",
    }
    for name, line in lines.items():
        out.print(f"  {name:10} {line}")


def _told(value: float, text: Callable[[float], str]) -> str:
    return text(value) if isfinite(value) else "? (too few samples, or no change)"


def _watts(value: float) -> str:
    return f"{number(value)} W"


def _stated(value: float | None, unit: str) -> str:
    return "" if value is None else f" (stated: {any_number(value)} {unit})"


def _compare(agreement: Agreement | None, against: str) -> None:
    if agreement is None:
        out.print(f"against {against}: can't be compared: there is no time for which both have energy")
        return
    spread = (
        f"{percent(agreement.scatter_ratio, 2)} % from one to the next of {agreement.windows_count} windows"
    )
    out.print(f"against {against}: {agreement.ratio:.4f} times its energy; the ratio varies by {spread}")


@click.command(
    short_help="Find the delay of meters.",
    epilog=examples("perjoule meters align rapl", 'perjoule meters align my.toml --for "60 s"'),
)
@chosen
@overrides
@click.option("--plot", type=OutputFile(), metavar="FILE.svg", help="Draw the samples with the result.")
@half_a_minute
def align(names: tuple[str, ...], overrides: tuple[str, ...], plot: Path | None, duration_s: float) -> None:
    """Measure the delay of meters that cover this machine, by switching its load on and off at known times.

    In a campaign, align = "30 s" does the same on all servers, before and after the trials of each
    deployment.
    """
    memory = recorder.Memory()
    with recorder.recording(campaign.meters(names, overrides), memory) as doubts:
        edges_s = _switched(duration_s)
    for series in memory.series():
        out.print(f"{named(series.channel)} of {covered(series.channel)}: {_late(series, edges_s)}")
    if plot is not None:
        _draw(plot, memory.series(), edges_s)
    tell(doubts)


def _switched(duration_s: float) -> tuple[float, ...]:
    """Switch this machine's load on and off, and return the times."""
    with Local().hold(1) as hosts:
        time.sleep(alignment.QUIET_S)
        edges_s = clock_sync.drive(hosts.all, alignment.pattern(duration_s), hosts.all[0].directory)
        time.sleep(alignment.QUIET_S)
    return edges_s


def _late(series: Series, edges_s: tuple[float, ...]) -> str:
    offset = alignment.offset(series, edges_s, window_s=series.channel.specification.period_s or 0.0)
    if offset is None:
        return "it does not show the load: too few samples, or it covers something else"
    late = "late" if offset.offset_s >= 0 else "early"
    spread = f"{abs(offset.offset_s) * 1e3:.0f} ± {2 * offset.uncertainty_s * 1e3:.0f} ms {late}"
    return f"{spread}; the load drew {number(offset.step_w)} W"


def _draw(target: Path, series: Sequence[Series], edges_s: tuple[float, ...]) -> None:
    from perjoule.figures import rendering
    from perjoule.views.power.alignment import alignment as drawn
    from perjoule.views.power.alignment import alignments

    load = LoadPattern(Clock(time.monotonic(), time.time()), edges_s, ("this machine",))
    patterns = alignments([(load, series)])
    if not patterns:
        raise MachineError(
            "nothing to draw: no meter shows the load", next="look at their readings: perjoule meters watch"
        )
    svg = rendering.svg(drawn(patterns))
    write(target, svg)
    out.print(f"{target}")
