"""Commands that pass readings on: to a file, from a file to results, to Prometheus."""

from contextlib import closing, suppress
from pathlib import Path

import click

from perjoule import campaign
from perjoule.cli import exits, parameters
from perjoule.cli.meters._parameters import chosen, overrides, signed
from perjoule.cli.meters._printing import tell
from perjoule.cli.parameters import examples
from perjoule.cli.results import measured
from perjoule.cli.serving import address, duration, for_a_time, port, ticks
from perjoule.cli.terminal.display import err, out
from perjoule.cli.terminal.outputs import OutputFile, require_file
from perjoule.execution.clocks import clock_sync
from perjoule.model.errors import CampaignError
from perjoule.monitoring import exporter, recorder
from perjoule.store.recordings import ClockError, Recording, read_recording


@click.command(
    short_help="Record meters for a campaign elsewhere.",
    epilog=examples(
        'perjoule meters record scpi --set address="/dev/ttyUSB0" --to lmg.csv',
        "perjoule meters join results/demo lmg.csv       on the machine with the results",
    ),
)
@chosen
@overrides
@click.option(
    "--to", "target", required=True, type=OutputFile(new=True), metavar="FILE", help="A new CSV file."
)
@for_a_time
def record(names: tuple[str, ...], overrides: tuple[str, ...], target: Path, duration_s: float) -> None:
    """Record meters into FILE, on the computer to which they are connected, for a campaign that runs
    elsewhere.

    Every sample goes to disk at once. If the disk is full, samples wait in memory for five seconds; then the
    recording ends. Synchronise the clocks of both computers with NTP; `align` in the campaign finds the
    remaining offset.
    """
    asked = campaign.meters(names, overrides)
    with exits.place(target):
        sink = Recording(target)
    with closing(sink), recorder.recording(asked, sink) as doubts, suppress(KeyboardInterrupt):
        for _ in ticks(duration_s, 1.0):
            if sink.failed():
                break
            if err.is_terminal:
                err.print(f"{sink.samples_count} samples ", end="\r")
    out.print(f"{target}: {sink.samples_count} samples")
    tell(doubts)


@click.command(
    short_help="Join a recording to results.",
    epilog=examples(
        "perjoule meters join results/demo lmg.csv",
        'perjoule meters join results/demo lmg.csv --offset "0.12 s" --uncertainty "10 ms"',
    ),
)
@parameters.folder
@click.argument("recording", type=click.Path(path_type=Path), metavar="FILE")
@click.option(
    "--offset", "offset_s", metavar="TIME", callback=signed, help="How far the recorder's clock was ahead."
)
@click.option(
    "--uncertainty",
    "uncertainty_s",
    metavar="TIME",
    default="0.1 s",
    show_default=True,
    callback=duration,
    help="Standard uncertainty of that offset.",
)
def join(folder: Path, recording: Path, offset_s: float | None, uncertainty_s: float) -> None:
    """Join a recording from another computer to the results in DIR, by the time of day, and write the report
    again.

    The offset of the recorder's clock is found from the campaign's load patterns (align = "30 s"); without
    them, state it.
    """
    from perjoule import report

    results, page = measured(folder), folder / "report.html"
    require_file(page)
    seen = None if offset_s is not None else clock_sync.clock_of(read_recording(recording), results)
    if offset_s is None and seen is None:
        what = "the recording shows no load pattern of these results, so its clock can't be determined"
        advice = 'state it: --offset "0 s" --uncertainty "0.1 s", or measure with align = "30 s"'
        raise CampaignError(what, where=str(recording), next=advice)
    clock = seen or ClockError(offset_s or 0.0, uncertainty_s)
    results.join(recording, clock)
    moves = f", it drifts by {clock.drift_ratio * 1e6:.1f} us each second" if clock.drift_ratio else ""
    out.print(
        f"its clock was {clock.offset_s:.3f} s ahead, standard uncertainty {clock.uncertainty_s * 1e3:.0f} "
        f"ms{moves}"
    )
    with exits.place(folder):
        out.print(f"report: {report.write(results, page)}")


@click.command(
    short_help="Serve live readings to Prometheus.",
    epilog=examples(
        "perjoule meters serve my.toml --port 9618",
        "perjoule meters serve rapl --address 0.0.0.0 --port 9618",
    ),
)
@chosen
@overrides
@address
@port
@for_a_time
def serve(
    names: tuple[str, ...], overrides: tuple[str, ...], address: str, port: int, duration_s: float
) -> None:
    """Serve live readings to Prometheus; docs/assets/grafana.json is a dashboard for them."""
    asked = campaign.meters(names, overrides)
    memory = recorder.Memory(2)
    with recorder.recording(asked, memory) as doubts, exporter.serving(memory.latest, address, port) as url:
        out.print(url)
        with suppress(KeyboardInterrupt):
            for _ in ticks(duration_s, 1.0):
                pass
    tell(doubts)
