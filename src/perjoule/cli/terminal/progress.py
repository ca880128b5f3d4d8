"""The progress of a campaign on the terminal."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from perjoule import drivers
from perjoule.cli.terminal.display import err
from perjoule.execution.notices import Notice
from perjoule.execution.remaining import Remaining
from perjoule.model import Channel
from perjoule.model.metrics import RATES, metric_of
from perjoule.model.units import seconds_text
from perjoule.results.table import point_text
from perjoule.trial import live
from perjoule.trial.reading import Dilation, Reading

_RATE = metric_of(RATES[0]).unit


class ProgressDisplay:
    """A live line per campaign: trial, phase, MiB/s, W, time left; plain lines if the output is not a
    terminal.

    Args:
        remaining: the run's account of the trials left, which the run keeps.
        stopping: whether the campaign is being taken down.
    """

    def __init__(self, remaining: Remaining, stopping: Callable[[], bool] = lambda: False) -> None:
        self.stopping = stopping
        self.remaining = remaining
        self.headline, self.phase = "", ""
        self.settled: set[str] = set()  # ids of combinations that need no more repetitions
        self._unseen: set[str] = set()  # said: what few repetitions can't show
        self.notice: Notice | None = None
        # t_s, and what the clients had sent and received, in bytes
        self.before: tuple[float, ...] | None = None
        self.rate_bytes_per_s = 0.0
        self._reason = ""  # of the trial kept before, if that failed
        self.live = Live(console=err, get_renderable=self._render, refresh_per_second=4, transient=True)

    def __enter__(self) -> "ProgressDisplay":
        if err.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if err.is_terminal:
            self.live.stop()

    def __call__(self, notice: Notice) -> None:
        """Handle a notice of `perjoule.execution.runner`."""
        match notice.kind:
            case "deploy":
                self.notice, self.headline, self.phase = None, notice.text, "bringing it up"
            case "deployed" | "note":
                err.print(Text(notice.text, style="yellow" if notice.kind == "note" else "dim"))
            case "trial":
                assert notice.trial is not None
                self.notice, self.before, self.rate_bytes_per_s = notice, None, 0.0
                self.headline = notice.trial.text
            case "phase":
                self.phase = notice.text
            case "settled":
                assert notice.trial is not None
                combination = replace(notice.trial, repetition=1).id
                if combination not in self.settled:  # once, not with each repetition that is not needed
                    reached, _, unseen = notice.text.partition("; ")
                    why = reached if unseen in self._unseen else notice.text
                    err.print(Text(f"{notice.trial.text}: not needed, {why}", style="dim"))
                    self._unseen.add(unseen)
                self.settled.add(combination)
            case "kept":
                self._kept(notice)

    def _kept(self, notice: Notice) -> None:
        record = notice.record
        assert record is not None
        self.notice, self.phase = None, "kept"
        number = f"{self.remaining.kept_count}/{self.remaining.trials_count} {record.trial.text}"
        if record.outcome is None or record.status == "failed":
            reason = "as before" if record.reason == self._reason else record.reason
            err.print(Text(f"{number}: failed: {reason}", style="red"))
            self._reason = record.reason
            return
        self._reason = ""
        numbers = ", ".join(point_text(point) for point in notice.points)
        at_scale = Reading(record).dilation.text
        emulated = f" (emulated at {at_scale})" if at_scale else ""
        left_s = self.remaining.left_s()
        time_left = f", {seconds_text(left_s)} left" if left_s else ""
        err.print(f"{number}: {numbers or 'kept'}{emulated}{time_left}")

    def _render(self) -> RenderableType:
        if self.stopping():
            return Text("please wait", style="dim")
        lines = [Text.assemble((self.headline, "bold"), "  ", self.phase, no_wrap=True, overflow="ellipsis")]
        if self.notice is not None and self.notice.hosts is not None:
            with suppress(RuntimeError):  # the recorder adds a channel while we look
                lines.append(
                    Text(
                        self._live_text(self.notice.latest(), self.notice), no_wrap=True, overflow="ellipsis"
                    )
                )
        kept_count, trials_count = self.remaining.kept_count, self.remaining.trials_count
        bar = ProgressBar(total=trials_count, completed=kept_count, width=24)
        time_left = f"about {seconds_text(self.remaining.left_s())} left"
        foot = Text(f"{kept_count} of {trials_count} trials, {time_left}", style="dim")
        return Group(*lines, bar, foot)

    def _live_text(self, latest: Mapping[Channel, tuple[float, float, float]], notice: Notice) -> str:
        assert notice.hosts is not None and notice.trial is not None
        clients = {host.name for host in notice.hosts.clients[: notice.trial.clients_count]}
        dilation = Dilation(notice.hosts.scale)
        roles = live.roles(
            notice.servers, clients, {host.name: host.role for host in notice.hosts.all}, dilation
        )
        power = live.servers_w({channel: sample[1] for channel, sample in latest.items()}, roles)
        ways = ("network_sent", "network_received")
        moved = [
            [s for c, s in latest.items() if c.host in clients and c.quantity == quantity]
            for quantity in ways
        ]
        times_s = [s[0] for samples in moved for s in samples]
        if times_s and (self.before is None or max(times_s) > self.before[0]):
            latest_sums = (max(times_s), *(sum(s[1] for s in samples) for samples in moved))
            if self.before is not None:
                took_s = dilation.emulated(latest_sums[0] - self.before[0])
                both_bytes = [
                    after - before for after, before in zip(latest_sums[1:], self.before[1:], strict=True)
                ]
                # one way is the load, the other its acknowledgements
                self.rate_bytes_per_s = max(both_bytes) / took_s
            self.before = latest_sums
        text = (
            f"{self.rate_bytes_per_s / _RATE.per:6.1f} {_RATE.symbol} on the clients' network"
            if times_s
            else ""
        )
        simulated = drivers.reality(notice.trial) == "simulated"
        return text + (f"  {power[0]:6.1f} W ({'simulated' if simulated else power[1]})" if power else "")
