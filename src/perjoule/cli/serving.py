"""Options of commands that serve, watch or record until Ctrl-C or for a time."""

import functools
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from math import inf

import click

from perjoule.model.units import seconds


def duration(_context: click.Context, _parameter: click.Parameter, text: str | None) -> float:
    """Read a time with its unit; infinite if absent."""
    try:
        return inf if text is None else seconds(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


ADDRESS = "127.0.0.1"
address = click.option(
    "--address", metavar="ADDRESS", default=ADDRESS, show_default=True, help="Address to listen on."
)
port = click.option(
    "--port",
    metavar="PORT",
    default=0,
    type=click.IntRange(0, 65535),
    help="Port to listen on; a free one by default.",
)
for_a_time = click.option(
    "--for",
    "duration_s",
    metavar="TIME",
    callback=duration,
    help='Duration, such as "60 s"; until Ctrl-C by default.',
)


@dataclass(frozen=True)
class Listening:
    """Where a page is served; port 0 takes a free one."""

    address: str
    port: int


def live(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that measures --live, and --address and --port of its page; it gets `live`: where to
    serve it, or None.
    """

    @click.option(
        "--live", is_flag=True, help="Serve a live page on this machine while it runs; see `perjoule watch`."
    )
    @address
    @port
    @functools.wraps(command)
    def with_page(*, live: bool, address: str, port: int, **options: object) -> None:
        listening = Listening(address, port)
        if not live and listening != Listening(ADDRESS, 0):
            raise click.UsageError("--address and --port are those of the live page: add --live")
        command(live=listening if live else None, **options)

    return with_page


def ticks(duration_s: float, step_s: float) -> Generator[float]:
    """Wait in steps, and yield the time left."""
    end_s = time.monotonic() + duration_s
    while (left_s := end_s - time.monotonic()) > 0:
        yield left_s
        time.sleep(min(step_s, left_s))
