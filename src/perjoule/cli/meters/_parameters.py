"""Arguments and options that several meter commands have."""

import click

from perjoule import drivers
from perjoule.cli.parameters import completing
from perjoule.cli.serving import duration
from perjoule.model.units import SECONDS, quantity


def signed(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
    """Read a time with its unit, which may be negative."""
    try:
        return None if text is None else quantity(text, SECONDS)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_kinds = completing(lambda: drivers.kinds("meters"))
chosen = click.argument("names", nargs=-1, required=True, metavar="METER...", shell_complete=_kinds)
overrides = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help='An option of the meters: address="10.0.0.7".',
)
half_a_minute = click.option(
    "--for",
    "duration_s",
    metavar="TIME",
    default="30 s",
    show_default=True,
    callback=duration,
    help="How long.",
)
