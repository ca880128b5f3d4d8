"""Parts that meter commands share: arguments, waiting, doubts."""

import time
from collections.abc import Generator, Mapping, Sequence
from math import inf

import click
import tomlkit

from perjoule import drivers
from perjoule.cli.display import err
from perjoule.cli.parameters import completing
from perjoule.model import Json
from perjoule.model.units import SECONDS, quantity, seconds


def duration(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float:
    """Read a time with its unit; infinite if absent."""
    try:
        return inf if text is None else seconds(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def signed(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float | None:
    """Read a time with its unit, which may be negative."""
    try:
        return None if text is None else quantity(text, SECONDS)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


_kinds = completing(lambda: drivers.kinds("meters"))
chosen = click.argument("names", nargs=-1, required=True, metavar="METER...", shell_complete=_kinds)
overrides = click.option(
    "--set", "overrides", multiple=True, metavar="KEY=VALUE", help='An option of the meters: address="10.0.0.7".'
)
address = click.option("--address", default="127.0.0.1", show_default=True, help="Address to listen on.")
port = click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port to listen on; a free one by default.")
half_a_minute = click.option(
    "--for", "duration_s", metavar="TIME", default="30 s", show_default=True, callback=duration, help="How long."
)
for_a_time = click.option(
    "--for", "duration_s", metavar="TIME", callback=duration, help='Duration, such as "60 s"; until Ctrl-C by default.'
)


def ticks(duration_s: float, step_s: float) -> Generator[float]:
    """Wait in steps, and yield the time left."""
    end_s = time.monotonic() + duration_s
    while (left_s := end_s - time.monotonic()) > 0:
        yield left_s
        time.sleep(min(step_s, left_s))


def tell(doubts: Sequence[Sequence[str]]) -> None:
    """Print each doubt about the readings once."""
    for doubt in dict.fromkeys(one for found in doubts for one in found):
        err.print(doubt, style="yellow")


def table_text(options: Mapping[str, Json]) -> str:
    """Write options as a [[meter]] table."""
    return tomlkit.dumps({"meter": [options]}).strip()
