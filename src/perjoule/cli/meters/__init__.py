"""`perjoule meters`: power meters without a campaign. The order below is that of the help."""

import click

from perjoule.cli.meters import finding, quality, recording, simulating, watching
from perjoule.cli.parameters import InOrder, examples


@click.group(
    cls=InOrder,
    short_help="Find, watch, test, record, serve, simulate meters.",
    epilog=examples(
        "perjoule meters list 10.0.0.7 bmc-1",
        "perjoule meters find",
        "perjoule meters watch shelly://10.0.0.7",
        "perjoule meters test my.toml",
        'perjoule meters record scpi --set address="/dev/ttyUSB0" --to lmg.csv',
        "perjoule meters simulate shelly --fault spike",
    ),
)
def meters() -> None:
    """Use power meters without a campaign: find, watch, test, record, serve and simulate them.

    METER is a line as of `perjoule measure` (shelly://10.0.0.7), a kind (see `perjoule drivers`) with its options
    as --set, or a TOML file with [[meter]] tables.
    """


COMMANDS = (
    watching.list_command,
    finding.find,
    watching.watch,
    quality.test,
    quality.align,
    recording.record,
    recording.join,
    recording.serve,
    simulating.simulate,
)
for _command in COMMANDS:
    meters.add_command(_command)
