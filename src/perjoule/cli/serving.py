"""Options of commands that serve, watch or record until Ctrl-C or for a time."""

import time
from collections.abc import Generator
from math import inf

import click

from perjoule.model.units import seconds


def duration(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float:
    """Read a time with its unit; infinite if absent."""
    try:
        return inf if text is None else seconds(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


address = click.option("--address", default="127.0.0.1", show_default=True, help="Address to listen on.")
port = click.option("--port", default=0, type=click.IntRange(0, 65535), help="Port to listen on; a free one by default.")
for_a_time = click.option(
    "--for", "duration_s", metavar="TIME", callback=duration, help='Duration, such as "60 s"; until Ctrl-C by default.'
)


def ticks(duration_s: float, step_s: float) -> Generator[float]:
    """Wait in steps, and yield the time left."""
    end_s = time.monotonic() + duration_s
    while (left_s := end_s - time.monotonic()) > 0:
        yield left_s
        time.sleep(min(step_s, left_s))
