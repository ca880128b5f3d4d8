"""Commands that find meters and show their readings."""

import shlex
import time
from contextlib import nullcontext, suppress
from itertools import chain

import click
from rich.live import Live

from perjoule import campaign
from perjoule.campaign.making.meter_line import meter_line
from perjoule.cli.meters._parameters import chosen, overrides
from perjoule.cli.meters._plot import plot
from perjoule.cli.meters._printing import complete, table_text, tell
from perjoule.cli.parameters import examples
from perjoule.cli.serving import for_a_time, ticks
from perjoule.cli.terminal import json_output
from perjoule.cli.terminal.display import err, out
from perjoule.monitoring import recorder

WATCHED_COUNT = 5000  # samples kept of each channel while watching


@click.command(
    "list",
    short_help="Find meters here and at addresses.",
    epilog=examples(
        "perjoule meters list",
        "perjoule meters list 10.0.0.7 10.0.0.8:8080 bmc-1",
        "perjoule meters list --json",
    ),
)
@click.argument("addresses", nargs=-1, metavar="[ADDRESS]...")
@json_output.option
def list_command(addresses: tuple[str, ...], as_json: bool) -> None:
    """List the meters on this machine and at ADDRESSes, as tables for a campaign.

    `perjoule doctor --all` reports what each kind needs on this machine.
    """
    by_place = recorder.discovered(addresses)
    tables = list(chain.from_iterable(by_place.values()))
    if as_json:
        json_output.print_json("meters list", {"meters": [complete(table) for table in tables]})
        return
    for table in tables:
        if "address" in table:
            out.print(f"# perjoule measure PATH --meter {shlex.quote(meter_line(table))}", soft_wrap=True)
        out.print(table_text(table) + "\n", soft_wrap=True)  # each line as it goes into a campaign
    if not tables and not addresses:
        out.print("no meter found on this machine", soft_wrap=True)
    if silent := [address for address in dict.fromkeys(addresses) if not by_place[address]]:
        err.print(
            f"no meter answers at {', '.join(silent)}: is that its address, is it on, and does it answer without a "
            "login?",
            soft_wrap=True,
        )


@click.command(
    short_help="Show meter readings live.",
    epilog=examples("perjoule meters watch rapl", 'perjoule meters watch my.toml --for "5 min"'),
)
@chosen
@overrides
@for_a_time
def watch(names: tuple[str, ...], overrides: tuple[str, ...], duration_s: float) -> None:
    """Show live readings: a line per channel, with the last minute as bars."""
    asked = campaign.meters(names, overrides)
    memory = recorder.Memory(WATCHED_COUNT)
    live = Live(console=out, refresh_per_second=4, transient=not out.is_terminal)
    with (
        recorder.recording(asked, memory) as doubts,
        live if out.is_terminal else nullcontext(),
        suppress(KeyboardInterrupt),
    ):
        for _ in ticks(duration_s, 0.25):
            live.update(plot(memory.series(), time.monotonic(), width=out.width, span_s=60.0))
    if not out.is_terminal:
        out.print(plot(memory.series(), time.monotonic(), width=out.width, span_s=60.0))
    tell(doubts)
