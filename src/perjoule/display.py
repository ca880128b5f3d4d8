"""What a person sees on the terminal while a campaign runs, and the tables afterwards."""

import sys
import time
from collections.abc import Mapping
from contextlib import suppress

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as RichTable
from rich.text import Text

from perjoule.model import Channel, Trial
from perjoule.run import Event
from perjoule.table import Table
from perjoule.units import MIB, seconds_text

out = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200)
err = Console(stderr=True, highlight=False, soft_wrap=True)


class Progress:
    """A live line per campaign: trial, phase, MiB/s, W, time left; plain lines where the output is no terminal.

    Args:
        trials_count: how many trials are still to run.
        estimate_s: how long they may take all together.
    """

    def __init__(self, trials_count: int, estimate_s: float) -> None:
        self.trials_count, self.estimate_s = trials_count, estimate_s
        self.kept_count = 0
        self.began_s = time.monotonic()
        self.headline, self.phase = "", ""
        self.event: Event | None = None
        self.before: tuple[float, float] | None = None  # t_s and bytes that the clients had moved
        self.rate_bytes_per_s = 0.0
        self.live = Live(console=err, get_renderable=self._render, refresh_per_second=4, transient=True)

    def __enter__(self) -> "Progress":
        if err.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if err.is_terminal:
            self.live.stop()

    def __call__(self, event: Event) -> None:
        """Take an event of `perjoule.run`."""
        match event.kind:
            case "deploy":
                self.event, self.headline, self.phase = None, event.text, "bringing it up"
            case "deployed" | "note":
                err.print(Text(event.text, style="yellow" if event.kind == "note" else "dim"))
            case "trial":
                assert event.trial is not None
                self.event, self.before, self.headline = event, None, trial_text(event.trial)
            case "phase":
                self.phase = event.text
            case "kept":
                self._kept(event)

    def _kept(self, event: Event) -> None:
        record = event.record
        assert record is not None
        self.kept_count += 1
        self.event = None
        number = f"{self.kept_count}/{self.trials_count} {trial_text(record.trial)}"
        if record.outcome is None or record.status == "failed":
            err.print(Text(f"{number}: failed: {record.reason}", style="red"))
            return
        took_s = (record.outcome.ended_s - record.outcome.began_s) * record.scale
        moved_bytes = sum(result.moved_bytes for result in record.outcome.results)
        emulated = f" (emulated at scale {record.scale:g})" if record.scale != 1 else ""
        err.print(f"{number}: {moved_bytes / took_s / MIB:.1f} MiB/s{emulated}, {self.left_text()} left")

    def left_text(self) -> str:
        """How long the rest may take, from what the trials so far took."""
        spent_s = time.monotonic() - self.began_s
        share = self.kept_count / max(1, self.trials_count)
        expected_s = spent_s / share if self.kept_count >= 3 else max(self.estimate_s, spent_s)
        return seconds_text(max(0.0, expected_s - spent_s))

    def _render(self) -> RenderableType:
        bar = ProgressBar(total=self.trials_count, completed=self.kept_count, width=24)
        line = Text.assemble((self.headline, "bold"), "  ", self.phase)
        if self.event is not None and self.event.hosts is not None:
            with suppress(RuntimeError):  # the recorder adds a channel while we look
                line.append(self._live_text(self.event.latest(), self.event))
        foot = Text(f"{self.kept_count} of {self.trials_count} trials, {self.left_text()} left", style="dim")
        return Group(line, bar, foot)

    def _live_text(self, latest: Mapping[Channel, tuple[float, float, float]], event: Event) -> str:
        assert event.hosts is not None and event.trial is not None
        clients = {host.name for host in event.hosts.clients[: event.trial.clients_count]}
        moved = [s for c, s in latest.items() if c.host in clients and c.quantity in ("network_sent", "network_received")]
        watts = [s[1] for c, s in latest.items() if c.quantity == "power"]
        if moved:
            now = (max(s[0] for s in moved), sum(s[1] for s in moved))
            if self.before is not None and now[0] > self.before[0]:
                wall_s = (now[0] - self.before[0]) * event.hosts.scale
                self.rate_bytes_per_s = (now[1] - self.before[1]) / wall_s
            if self.before is None or now[0] > self.before[0]:
                self.before = now
        text = f"  {self.rate_bytes_per_s / MIB:6.1f} MiB/s on the network" if moved else ""
        modelled = "modelled " if any(c.grade == "modelled" for c in latest) else ""
        return text + (f"  {sum(watts):5.1f} W {modelled}with switch" if watts else "")


def trial_text(trial: Trial) -> str:
    """Name a trial for people."""
    clients = f"{trial.clients_count} client{'s' if trial.clients_count > 1 else ''}"
    return f"{trial.filesystem.label}, {trial.workload.label}, {clients}, repetition {trial.repetition}"


def show(table: Table) -> None:
    """Print a table; numbers to the right."""
    rich = RichTable(box=None, header_style="bold", pad_edge=False)
    for index, header in enumerate(table.headers):
        words = all(not row[index][:1].isdigit() for row in table.rows)
        rich.add_column(header, justify="left" if words else "right", no_wrap=words)
    for row in table.rows:
        rich.add_row(*row)
    out.print(rich)
