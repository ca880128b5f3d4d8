"""The command that shows a run as a page, and the page that comes with a run."""

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perjoule.cli import parameters
from perjoule.cli.parameters import examples
from perjoule.cli.serving import Listening, address, for_a_time, port, ticks
from perjoule.cli.terminal.display import err, out
from perjoule.model.metrics import RATES, metric_of
from perjoule.model.units import seconds_text

if TYPE_CHECKING:  # imported where they are used: `run` and `--help` need none of it
    from perjoule.monitoring.server import Page
    from perjoule.monitoring.watching import RunSnapshot

RATE = metric_of(RATES[0]).unit
LINGER_S = 5.0  # after a run, for which its page waits until it has shown the end
END_S = 3 * LINGER_S  # after which a page that does not end is ended


@click.command(
    short_help="Watch a run in a browser.",
    epilog=examples(
        "perjoule watch results/demo",
        "perjoule watch results/demo --once          a few lines in the terminal",
        "perjoule watch results/demo --port 9619     with /metrics for Prometheus",
    ),
)
@parameters.folder
@address
@port
@for_a_time
@click.option("--once", is_flag=True, help="Print the current state and exit.")
@click.option("--with-run", is_flag=True, hidden=True, help="End with the run that started this; for --live.")
def watch(folder: Path, address: str, port: int, duration_s: float, once: bool, with_run: bool) -> None:
    """Watch a run in a browser: trial, phase, throughput, watts, hosts, time left, doubts, results so far.

    The run can be another user's; watching changes nothing. Only this machine reaches the page, unless
    --address says otherwise, and only with the token in its address. The same folder has the same address
    each time.
    """
    from perjoule.monitoring import server, watching

    watched = watching.ResultsWatch(folder)
    if once:
        _print(watched.snapshot())
        return
    earlier_port, token = server.remembered(folder)
    page = server.Page(watched.snapshot, token)
    if not server.is_loopback(address):
        err.print(
            f"{address}: others in the network can reach this page, unencrypted, if they have its address",
            style="yellow",
        )
    with server.serving(page, address, port, earlier_port) as url:
        server.remember(folder, url)
        out.print(url)
        with suppress(KeyboardInterrupt):
            if with_run:
                os.nice(19)
                _wait_for_run(page)
            else:
                for _ in ticks(duration_s, 1.0):
                    pass


def _wait_for_run(page: "Page") -> None:
    """Wait until the run that started this process has ended, and then until a page that is open has shown
    so.
    """
    sys.stdin.read()
    for _ in ticks(LINGER_S, 0.1):
        if page.shown in ("", "done", "stopped", "killed"):
            break


def _print(snapshot: "RunSnapshot") -> None:
    from perjoule.model.format import number

    out.print(f"{snapshot.name}: {snapshot.said}")
    if snapshot.mark:
        out.print(snapshot.mark)
    if snapshot.trial:
        phase = (
            f": {snapshot.phase}, {seconds_text(snapshot.phase_s + snapshot.age_s)}" if snapshot.phase else ""
        )
        out.print(f"{snapshot.trial}{phase}")
    power = [f"{number(snapshot.power.watts)} W ({snapshot.power.grade})"] if snapshot.power else []
    rate = (
        [f"{number(sum(snapshot.rates.values()) / RATE.per)} {RATE.symbol} on the clients' network"]
        if snapshot.rates
        else []
    )
    if rate or power:
        out.print(", ".join((*rate, *power)))
    of = f" of {snapshot.trials_count}" if snapshot.trials_count else ""
    failed = f", {snapshot.measured.failed_count} failed" if snapshot.measured.failed_count else ""
    time_left = f", about {seconds_text(snapshot.left_s)} left" if snapshot.left_s else ""
    out.print(f"{snapshot.kept_count}{of} trials kept{failed}{time_left}")
    for doubt in (*snapshot.doubts, *snapshot.measured.doubts):
        out.print(f"doubt: {doubt}", style="yellow")


@contextmanager
def beside(folder: Path, listening: Listening | None) -> Generator[None]:
    """Serve the page of a run during the block, unless None: in a process of its own, so that a viewer
    delays no meter.
    """
    if listening is None:
        yield
        return
    argv = [sys.executable, "-P", "-m", "perjoule", "watch", str(folder), "--with-run"]
    argv += ["--address", listening.address, "--port", str(listening.port)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as child:
        assert child.stdin and child.stdout
        if url := child.stdout.readline().strip():
            err.print(f"live page: {url}", soft_wrap=True)
        else:
            err.print("the run continues without its live page; see `perjoule watch`", style="yellow")
        try:
            yield
        finally:
            with suppress(OSError):
                child.stdin.close()
            try:
                child.wait(END_S)
            except subprocess.TimeoutExpired:
                child.kill()
