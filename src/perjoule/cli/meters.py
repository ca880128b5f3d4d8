"""Commands about meters: what there is, what they say, how good they are; recorders, an exporter, simulators."""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import inf, isfinite
from pathlib import Path

import click
from rich.live import Live

from perjoule import aligning, campaign, drivers, exporter, metering, options, simulators, stops
from perjoule.analysis import alignment
from perjoule.analysis.behaviour import Agreement, agreement, behaviour
from perjoule.cli._plot import covered, named, plot
from perjoule.cli.results import measured
from perjoule.display import err, out
from perjoule.errors import CampaignError, MachineError
from perjoule.model import Clock, Json, Series
from perjoule.options import InOrder, completing, examples
from perjoule.store.patterns import LoadPattern
from perjoule.store.recordings import ClockError, Recording, read_recording
from perjoule.testbeds.local import Local
from perjoule.units import SECONDS, quantity, seconds, seconds_text
from perjoule.waveforms import Shape, Waveform

WATCHED_COUNT = 5000  # samples kept of each channel while watching
WIDTH = 40  # of the bars, in characters

_kinds = completing(lambda: drivers.kinds("meters"))
_names = click.argument("names", nargs=-1, required=True, metavar="METER...", shell_complete=_kinds)
_set = click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help='An option of the meters: address="10.0.0.7".')
_address = click.option("--address", default="127.0.0.1", show_default=True, help="Address to listen on.")
_port = click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port to listen on; a free one by default.")


def _time(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float:
    try:
        return inf if text is None else seconds(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _signed(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
    try:
        return None if text is None else quantity(text, SECONDS)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_half_a_minute = click.option(
    "--for", "duration_s", metavar="TIME", default="30 s", show_default=True, callback=_time, help="How long."
)
_for = click.option("--for", "duration_s", metavar="TIME", callback=_time, help='How long, as "60 s"; until Ctrl-C by default.')


@click.group(
    cls=InOrder,
    short_help="Find, watch, test, record, serve, simulate meters.",
    epilog=examples(
        "perjoule meters list 10.0.0.7 bmc-1",
        'perjoule meters watch shelly --set address="10.0.0.7"',
        "perjoule meters test my.toml",
        'perjoule meters record scpi --set address="/dev/ttyUSB0" --to lmg.csv',
        "perjoule meters simulate shelly --fault spike",
    ),
)
def meters() -> None:
    """Meters of power on their own: find them, watch them, see how good they are; record, serve and simulate them.

    METER is a kind (see `perjoule drivers`) with its options as --set, or a TOML file with [[meter]] tables.
    """


@meters.command(
    "list",
    short_help="Find meters here and at addresses.",
    epilog=examples("perjoule meters list", "perjoule meters list 10.0.0.7 10.0.0.8:8080 bmc-1"),
)
@click.argument("addresses", nargs=-1, metavar="[ADDRESS]...")
def list_command(addresses: tuple[str, ...]) -> None:
    """List the meters that are found on this machine and at ADDRESSes, as tables for a campaign.

    What each kind needs on this machine is told by `perjoule doctor`.
    """
    tables = metering.found(addresses)
    for table in tables:
        out.print(table_text(table) + "\n")
    if not tables:
        out.print("no meter found on this machine" + (f" or at {', '.join(addresses)}" if addresses else ""))


def table_text(options: Mapping[str, Json]) -> str:
    """Write options as a [[meter]] table."""
    return "\n".join(["[[meter]]", *(f"{key} = {_toml(value)}" for key, value in options.items())])


def _toml(value: Json) -> str:
    import json

    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


@meters.command(
    short_help="Show what meters say as it comes.",
    epilog=examples("perjoule meters watch rapl", 'perjoule meters watch my.toml --for "5 min"'),
)
@_names
@_set
@_for
def watch(names: tuple[str, ...], overrides: tuple[str, ...], duration_s: float) -> None:
    """Show what meters say as it comes: a line per channel, with the last minute as bars."""
    asked = campaign.meters(names, overrides)
    memory = metering.Memory(WATCHED_COUNT)
    live = Live(console=out, refresh_per_second=4, transient=not out.is_terminal)
    with metering.recording(asked, memory) as doubts, live if out.is_terminal else _nothing(), suppress(KeyboardInterrupt):
        for _ in _ticks(duration_s, 0.25):
            live.update(plot(memory.series(), time.monotonic(), width=WIDTH, span_s=60.0))
    if not out.is_terminal:
        out.print(plot(memory.series(), time.monotonic(), width=WIDTH, span_s=60.0))
    _tell(doubts)


@meters.command(
    short_help="Measure what meters really do.",
    epilog=examples('perjoule meters test ipmi --set address="bmc-1"', "perjoule meters test my.toml --against rapl"),
)
@_names
@_set
@click.option("--against", metavar="METER", help="A second meter of the same thing, to compare energies with.")
@click.option("--load", is_flag=True, help="Switch this machine's load meanwhile: how late is the meter?")
@_half_a_minute
def test(names: tuple[str, ...], overrides: tuple[str, ...], against: str | None, load: bool, duration_s: float) -> None:
    """Measure what meters really do: update period, noise, steps, failed reads, the longest time frozen, latency.

    Noise is told best while the power is steady; the update period while it varies. The latency needs a load that the meter
    sees: with --load that of this machine, on and off at known moments.
    """
    memory, other = metering.Memory(), metering.Memory()
    edges_s: tuple[float, ...] = ()
    with metering.recording(campaign.meters(names, overrides), memory) as doubts:
        rivals = campaign.meters((against,)) if against else ()
        with metering.recording(rivals, other) as other_doubts, suppress(KeyboardInterrupt):
            if load:
                edges_s = _switched(duration_s)
            for left_s in _ticks(0.0 if load else duration_s, 1.0):
                if err.is_terminal:
                    err.print(f"{seconds_text(left_s)} left ", end="\r")
    found = memory.series()
    if not found:
        raise MachineError("nothing came from the meter in this time", next="ask for longer (--for)")
    for series in found:
        _describe(series)
        if load:
            out.print(f"  {'latency':10} {_late(series, edges_s)}")
    if against:
        _compare(agreement(found, other.series()), against)
    _tell([*doubts, *other_doubts])


def _describe(series: Series) -> None:
    seen, stated, unit = behaviour(series), series.channel.specification, series.channel.unit
    out.print(f"{named(series.channel)} of {covered(series.channel)}: {series.channel.semantics}, grade {series.channel.grade}")
    asked, step = _told(seen.asked_period_s, seconds_text), f"{seen.resolution:.3g} {unit}" if seen.resolution else "none seen"
    lines = {
        "samples": f"{seen.samples_count}, one in {asked}; {seen.failed_ratio:.1%} failed",
        "new value": f"every {_told(seen.update_period_s, seconds_text)}" + _stated(stated.period_s, "s"),
        "mean": _told(seen.mean, _watts),
        "noise": f"{_told(seen.noise, _watts)} of a single value",
        "step": step + _stated(stated.resolution, unit),
        "frozen": f"{_told(seen.longest_frozen_s, seconds_text)} at the longest",
    }
    for name, words in lines.items():
        out.print(f"  {name:10} {words}")


def _told(value: float, text: Callable[[float], str]) -> str:
    return text(value) if isfinite(value) else "? (too few samples, or no change)"


def _watts(value: float) -> str:
    return f"{value:.4g} W"


def _stated(value: float | None, unit: str) -> str:
    return "" if value is None else f" (stated: {value:.3g} {unit})"


def _compare(found: Agreement | None, against: str) -> None:
    if found is None:
        out.print(f"against {against}: can't be compared, there is no common time with energy of both")
        return
    spread = f"{found.scatter_ratio:.2%} from one to the next of {found.windows_count} windows"
    out.print(f"against {against}: {found.ratio:.4f} times its energy; the ratio varies by {spread}")


@meters.command(
    short_help="Record meters for a campaign elsewhere.",
    epilog=examples(
        'perjoule meters record scpi --set address="/dev/ttyUSB0" --to lmg.csv',
        "perjoule meters join results/demo lmg.csv       on the machine with the results",
    ),
)
@_names
@_set
@click.option("--to", "target", required=True, type=click.Path(path_type=Path), metavar="FILE", help="A new CSV file.")
@_for
def record(names: tuple[str, ...], overrides: tuple[str, ...], target: Path, duration_s: float) -> None:
    """Record meters into FILE, for a campaign that runs elsewhere: on the one computer that the meter hangs on.

    Every sample is on disk at once. Keep the clocks of both computers together with NTP; `align` in the campaign finds what is
    left.
    """
    asked = campaign.meters(names, overrides)
    if target.exists():
        raise CampaignError("there is such a file already", where=str(target), next="choose another name")
    with stops.place(target):
        sink = Recording(target)
    try:
        with metering.recording(asked, sink) as doubts, suppress(KeyboardInterrupt):
            for _ in _ticks(duration_s, 1.0):
                if err.is_terminal:
                    err.print(f"{sink.samples_count} samples ", end="\r")
    finally:
        sink.close()
    out.print(f"{target}: {sink.samples_count} samples")
    _tell(doubts)


@meters.command(
    short_help="Find how late meters are.",
    epilog=examples("perjoule meters align rapl", 'perjoule meters align my.toml --for "60 s"'),
)
@_names
@_set
@click.option("--plot", type=click.Path(path_type=Path), metavar="FILE.svg", help="Draw the samples with what was found.")
@_half_a_minute
def align(names: tuple[str, ...], overrides: tuple[str, ...], plot: Path | None, duration_s: float) -> None:
    """Find how late meters are that see this machine: its load goes on and off at known moments.

    In a campaign, align = "30 s" does the same on all servers, before and after the trials of each deployment.
    """
    memory = metering.Memory()
    with metering.recording(campaign.meters(names, overrides), memory) as doubts:
        edges_s = _switched(duration_s)
    for series in memory.series():
        out.print(f"{named(series.channel)} of {covered(series.channel)}: {_late(series, edges_s)}")
    if plot is not None:
        _draw(plot, memory.series(), edges_s)
    _tell(doubts)


def _switched(duration_s: float) -> tuple[float, ...]:
    """Switch this machine's load on and off; give the moments."""
    with Local().hold(1) as hosts:
        time.sleep(alignment.QUIET_S)
        edges_s = aligning.drive(hosts.all, alignment.pattern(duration_s), hosts.all[0].directory)
        time.sleep(alignment.QUIET_S)
    return edges_s


def _late(series: Series, edges_s: tuple[float, ...]) -> str:
    found = alignment.offset(series, edges_s, window_s=series.channel.specification.period_s or 0.0)
    if found is None:
        return "the load is not seen in it: too few samples, or it covers something else"
    late = "late" if found.offset_s >= 0 else "early"
    spread = f"{abs(found.offset_s) * 1e3:.0f} ± {2 * found.uncertainty_s * 1e3:.0f} ms {late}"
    return f"{spread}; the load drew {found.step_w:.3g} W"


def _draw(target: Path, series: Sequence[Series], edges_s: tuple[float, ...]) -> None:
    from perjoule.figures import vega
    from perjoule.figures.alignment import alignment as drawn
    from perjoule.report.metered import alignments

    load = LoadPattern(Clock(time.monotonic(), time.time()), edges_s, ("this machine",))
    found = alignments([(load, series)])
    if not found:
        raise MachineError("nothing to draw: the load is seen in no meter", next="see what they say: perjoule meters watch")
    svg = vega.svg(drawn(found))
    with stops.place(target):
        target.write_text(svg, encoding="utf-8")
    out.print(f"{target}")


@meters.command(
    short_help="Join a recording to results.",
    epilog=examples(
        "perjoule meters join results/demo lmg.csv",
        'perjoule meters join results/demo lmg.csv --offset "0.12 s" --uncertainty "10 ms"',
    ),
)
@options.folder
@click.argument("recording", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--offset", "offset_s", metavar="TIME", callback=_signed, help="By how much the recorder's clock was ahead.")
@click.option(
    "--uncertainty", "uncertainty_s", metavar="TIME", default="0.1 s", show_default=True, callback=_time, help="Of that offset."
)
def join(folder: Path, recording: Path, offset_s: float | None, uncertainty_s: float) -> None:
    """Take a recording made elsewhere into the results in DIR, by the time of day; the report is written again.

    The recorder's clock is found by the load patterns of the campaign (align = "30 s"); without them say its offset.
    """
    from perjoule import report

    results = measured(folder)
    seen = None if offset_s is not None else aligning.clock_of(read_recording(recording), results)
    if offset_s is None and seen is None:
        what = "no load pattern of these results is seen in the recording, so that its clock can't be found"
        advice = 'say it: --offset "0 s" --uncertainty "0.1 s", or measure with align = "30 s"'
        raise CampaignError(what, where=str(recording), next=advice)
    clock = seen or ClockError(offset_s or 0.0, uncertainty_s)
    results.join(recording, clock)
    moves = f", it drifts by {clock.drift_ratio * 1e6:.1f} us each second" if clock.drift_ratio else ""
    out.print(f"its clock was {clock.offset_s:.3f} s ahead, standard uncertainty {clock.uncertainty_s * 1e3:.0f} ms{moves}")
    with stops.place(folder):
        out.print(f"report: {report.write(results, folder / 'report.html')}")


@meters.command(
    short_help="Serve live channels to Prometheus.",
    epilog=examples("perjoule meters serve my.toml --port 9618", "perjoule meters serve rapl --address 0.0.0.0 --port 9618"),
)
@_names
@_set
@_address
@_port
@_for
def serve(names: tuple[str, ...], overrides: tuple[str, ...], address: str, port: int, duration_s: float) -> None:
    """Serve the live channels of meters to Prometheus; docs/assets/grafana.json is a dashboard for them."""
    asked = campaign.meters(names, overrides)
    memory = metering.Memory(2)
    with metering.recording(asked, memory) as doubts, exporter.serving(memory.latest, address, port) as url:
        out.print(url)
        with suppress(KeyboardInterrupt):
            for _ in _ticks(duration_s, 1.0):
                pass
    _tell(doubts)


@meters.command(
    short_help="Simulate a meter, with faults.",
    epilog=examples(
        "perjoule meters simulate shelly --waveform sine --low 5 --high 80",
        "perjoule meters simulate ipmi --fault frozen --fault late --share 0.2",
    ),
)
@click.argument("kind", metavar="KIND", shell_complete=completing(simulators.kinds))
@_address
@_port
@click.option("--waveform", default="square", show_default=True, type=click.Choice(Shape.__args__), help="Power over time.")
@click.option("--low", "low_w", default=40.0, show_default=True, help="Lowest power in watts.")
@click.option("--high", "high_w", default=60.0, show_default=True, help="Highest power in watts.")
@click.option("--period", "period_s", default="10 s", show_default=True, callback=_time, help="Length of a period.")
@click.option("--fault", "faults", multiple=True, type=click.Choice(simulators.FAULTS), help="What goes wrong now and then.")
@click.option("--share", "share_ratio", default=0.1, show_default=True, type=click.FloatRange(0, 1), help="Share of requests.")
@click.option("--seed", default=1, show_default=True, help="Of what goes wrong when.")
@_for
def simulate(
    kind: str,
    address: str,
    port: int,
    waveform: Shape,
    low_w: float,
    high_w: float,
    period_s: float,
    faults: Sequence[simulators.Fault],
    share_ratio: float,
    seed: int,
    duration_s: float,
) -> None:
    """Simulate a meter of KIND over its real protocol, with known power and with faults: to test what reads meters.

    Prints the [[meter]] table that reads it.
    """
    if kind not in simulators.kinds():
        near = campaign.neighbour(kind, simulators.kinds())
        advice = f'did you mean "{near}"?' if near else f"there is {', '.join(simulators.kinds())}"
        raise CampaignError(f'no meter "{kind}" can be simulated', next=advice)
    if strange := set(faults) - set(simulators.faults(kind)):
        can = ", ".join(simulators.faults(kind))
        raise CampaignError(f'the protocol of {kind} can\'t express the fault "{min(strange)}"', next=f"it can {can}")
    truth = Waveform(waveform, low_w, high_w, period_s)
    behaviour = simulators.Behaviour(truth, tuple(faults), share_ratio if faults else 0.0, seed)
    with simulators.serve(kind, behaviour, address=address, port=port) as table, suppress(KeyboardInterrupt):
        out.print(table_text(table))
        for _ in _ticks(duration_s, 0.5):
            pass


@contextmanager
def _nothing() -> Generator[None]:
    yield


def _ticks(duration_s: float, step_s: float) -> Generator[float]:
    """Let time pass in steps; give what is left."""
    end_s = time.monotonic() + duration_s
    while (left_s := end_s - time.monotonic()) > 0:
        yield left_s
        time.sleep(min(step_s, left_s))


def _tell(doubts: Sequence[Sequence[str]]) -> None:
    for doubt in dict.fromkeys(one for found in doubts for one in found):
        err.print(doubt, style="yellow")
