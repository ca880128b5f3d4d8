"""The progress of a campaign on the terminal."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from perjoule.analysis.live import servers_w
from perjoule.cli.display import err, trial_text
from perjoule.execution.runner import Event
from perjoule.model import Channel, Point
from perjoule.model.metrics import PER_JOULE, RATES, metric_of
from perjoule.model.units import seconds_text
from perjoule.results.table import number

_RATE = metric_of("throughput_bytes_per_s").unit


class Progress:
    """A live line per campaign: trial, phase, MiB/s, W, time left; plain lines if the output is not a terminal.

    Args:
        planned_s: the expected time of each remaining trial, including its share of the deployment, by trial ID.
        stopping: whether the campaign is being taken down.
    """

    def __init__(self, planned_s: Mapping[str, float], stopping: Callable[[], bool] = lambda: False) -> None:
        self.stopping = stopping
        self.planned_s = dict(planned_s)  # of the trials still to be kept
        self.trials_count, self.total_s = len(planned_s), sum(planned_s.values())
        self.began_s = self.kept_s = time.monotonic()  # kept_s: when the last trial was kept
        self.headline, self.phase = "", ""
        self.settled: set[str] = set()  # ids of combinations that need no more repetitions
        self.event: Event | None = None
        self.before: tuple[float, ...] | None = None  # t_s, and what the clients had sent and received, in bytes
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
        """Handle an event of `perjoule.execution.runner`."""
        match event.kind:
            case "deploy":
                self.event, self.headline, self.phase = None, event.text, "bringing it up"
            case "deployed" | "note":
                err.print(Text(event.text, style="yellow" if event.kind == "note" else "dim"))
            case "trial":
                assert event.trial is not None
                self.event, self.before, self.rate_bytes_per_s = event, None, 0.0
                self.headline = trial_text(event.trial)
            case "phase":
                self.phase = event.text
            case "settled":
                assert event.trial is not None
                self.planned_s.pop(event.trial.id, None)
                self.trials_count -= 1
                combination = replace(event.trial, repetition=1).id
                if combination not in self.settled:  # once, not with each repetition that is not needed
                    err.print(Text(f"{trial_text(event.trial)}: not needed, {event.text}", style="dim"))
                self.settled.add(combination)
            case "kept":
                self._kept(event)

    def _kept(self, event: Event) -> None:
        record = event.record
        assert record is not None
        self.planned_s.pop(record.trial.id, None)
        self.kept_s, self.event, self.phase = time.monotonic(), None, "kept"
        number = f"{self.kept_count}/{self.trials_count} {trial_text(record.trial)}"
        if record.outcome is None or record.status == "failed":
            err.print(Text(f"{number}: failed: {record.reason}", style="red"))
            return
        found = ", ".join(_numbers(point) for point in event.points)
        emulated = f" (emulated at scale {record.scale:g})" if record.scale != 1 else ""
        left = f", {self.left_text()} left" if self.planned_s else ""
        err.print(f"{number}: {found or 'kept'}{emulated}{left}")

    @property
    def kept_count(self) -> int:
        """The number of trials kept."""
        return self.trials_count - len(self.planned_s)

    def left_text(self) -> str:
        """Return the time left: the plan, corrected by the trials so far, less what the current one has taken."""
        rest_s = sum(self.planned_s.values())
        prior_s = self.total_s / 10  # trust in the plan: one slow first trial does not turn it over
        ratio = (self.kept_s - self.began_s + prior_s) / (self.total_s - rest_s + prior_s) if prior_s else 1.0
        current_s = next(iter(self.planned_s.values()), 0.0) * ratio
        left_s = rest_s * ratio - min(time.monotonic() - self.kept_s, current_s)
        return seconds_text(float(max(1, round(left_s))))

    def _render(self) -> RenderableType:
        if self.stopping():
            return Text("please wait", style="dim")
        lines = [Text.assemble((self.headline, "bold"), "  ", self.phase, no_wrap=True, overflow="ellipsis")]
        if self.event is not None and self.event.hosts is not None:
            with suppress(RuntimeError):  # the recorder adds a channel while we look
                lines.append(Text(self._live_text(self.event.latest(), self.event), no_wrap=True, overflow="ellipsis"))
        bar = ProgressBar(total=self.trials_count, completed=self.kept_count, width=24)
        foot = Text(f"{self.kept_count} of {self.trials_count} trials, about {self.left_text()} left", style="dim")
        return Group(*lines, bar, foot)

    def _live_text(self, latest: Mapping[Channel, tuple[float, float, float]], event: Event) -> str:
        assert event.hosts is not None and event.trial is not None
        clients = {host.name for host in event.hosts.clients[: event.trial.clients_count]}
        servers = frozenset(host.name for host in event.hosts.servers or event.hosts.all)
        power = servers_w({channel: sample[1] for channel, sample in latest.items()}, servers, event.hosts.scale)
        ways = ("network_sent", "network_received")
        moved = [[s for c, s in latest.items() if c.host in clients and c.quantity == way] for way in ways]
        times_s = [s[0] for samples in moved for s in samples]
        if times_s and (self.before is None or max(times_s) > self.before[0]):
            now = (max(times_s), *(sum(s[1] for s in samples) for samples in moved))
            if self.before is not None:
                took_s = (now[0] - self.before[0]) * event.hosts.scale
                both_bytes = [after - before for after, before in zip(now[1:], self.before[1:], strict=True)]
                self.rate_bytes_per_s = max(both_bytes) / took_s  # one way is the load, the other its acknowledgements
            self.before = now
        text = f"{self.rate_bytes_per_s / _RATE.per:6.1f} {_RATE.symbol} on the clients' network" if times_s else ""
        return text + (f"  {power[0]:6.1f} W ({power[1]})" if power else "")


def _numbers(point: Point) -> str:
    """Print rate and work per joule of a direction: "95.2 MiB/s, 0.81 MiB/J (modelled)"."""
    keys = [key for key in (*RATES, *PER_JOULE) if key in point.metrics]
    said = ", ".join(f"{number(point.metrics[key] / metric_of(key).unit.per)} {metric_of(key).unit.symbol}" for key in keys)
    return said + (f" ({point.grade})" if any(key in PER_JOULE for key in keys) else "")
