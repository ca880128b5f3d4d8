"""The command that simulates a meter."""

from collections.abc import Sequence
from contextlib import suppress

import click

from perjoule import campaign, simulators
from perjoule.cli.meters._printing import table_text
from perjoule.cli.parameters import completing, examples
from perjoule.cli.serving import address, duration, for_a_time, port, ticks
from perjoule.cli.terminal.display import out
from perjoule.model.errors import CampaignError
from perjoule.model.waveform import Shape, Waveform


@click.command(
    short_help="Simulate a meter, with faults.",
    epilog=examples(
        "perjoule meters simulate shelly --waveform sine --low 5 --high 80",
        "perjoule meters simulate ipmi --fault frozen --fault late --share 0.2",
    ),
)
@click.argument("kind", metavar="KIND", shell_complete=completing(simulators.kinds))
@address
@port
@click.option(
    "--waveform",
    default="square",
    show_default=True,
    type=click.Choice(Shape.__args__),
    help="Power over time.",
)
@click.option("--low", "low_w", metavar="W", default=40.0, show_default=True, help="Lowest power in watts.")
@click.option(
    "--high", "high_w", metavar="W", default=60.0, show_default=True, help="Highest power in watts."
)
@click.option(
    "--period",
    "period_s",
    metavar="TIME",
    default="10 s",
    show_default=True,
    callback=duration,
    help="Length of one period.",
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    type=click.Choice(simulators.FAULTS),
    help="Fault to inject now and then.",
)
@click.option(
    "--share",
    "share_ratio",
    metavar="RATIO",
    default=0.1,
    show_default=True,
    type=click.FloatRange(0, 1),
    help="Share of requests with a fault.",
)
@click.option("--seed", default=1, show_default=True, help="Seed of the faults.")
@for_a_time
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
    """Simulate a meter of KIND over its real protocol, with known power and with faults, to test meter
    readers.

    Prints the [[meter]] table that reads it.
    """
    if kind not in simulators.kinds():
        near = campaign.neighbour(kind, simulators.kinds())
        advice = f'did you mean "{near}"?' if near else f"known: {', '.join(simulators.kinds())}"
        raise CampaignError(f'there is no simulator for meter "{kind}"', next=advice)
    if strange := set(faults) - set(simulators.faults(kind)):
        can = ", ".join(simulators.faults(kind))
        raise CampaignError(
            f'the protocol of {kind} has no way to show the fault "{min(strange)}"',
            next=f"choose one of: {can}",
        )
    truth = Waveform(waveform, low_w, high_w, period_s)
    behaviour = simulators.Behaviour(truth, tuple(faults), share_ratio if faults else 0.0, seed)
    with simulators.serve(kind, behaviour, address=address, port=port) as table, suppress(KeyboardInterrupt):
        out.print(table_text(table), soft_wrap=True)  # each line as it goes into a campaign
        for _ in ticks(duration_s, 0.5):
            pass
