"""The last minutes of a run as lines and tables, from the states in its progress file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TypeVar

from perjoule import views
from perjoule.energy.choosing import Roles
from perjoule.model import Channel, families
from perjoule.model.format import number, percent
from perjoule.model.metrics import RATES, metric_of
from perjoule.results.table import Table
from perjoule.store.progress import RunningLoad, State
from perjoule.trial import live
from perjoule.trial.reading import Dilation
from perjoule.views.now import Now
from perjoule.views.view import Live

LINES_COUNT = 7  # that have colours of their own
RATE = metric_of(RATES[0]).unit
NO_TABLE = Table((), ())
T = TypeVar("T")
Choices = Mapping[RunningLoad, Mapping[str, live.LiveBoundary]]


@dataclass(frozen=True)
class Chart:
    """Lines over the last minutes; a gap is None."""

    title: str
    unit: str
    lines: Mapping[str, Sequence[float | None]]


@dataclass(frozen=True)
class ShownPower:
    """The watts of a boundary now."""

    watts: float
    grade: str


def moment(channels: Sequence[Channel], state: State) -> live.Moment:
    """Return the last sample of each channel in a state."""
    return {channels[number]: (t_s, value) for number, t_s, value in state.samples}


def dilation(load: RunningLoad) -> Dilation:
    """Return how wall time becomes emulated time under a load."""
    return Dilation(load.scale)


def choices(
    states: Sequence[tuple[RunningLoad, State]], values: Sequence[Mapping[Channel, float]]
) -> Choices:
    """Choose the channels of each boundary once for every load, from all that had a value while it ran."""
    channels_of: dict[RunningLoad, dict[Channel, None]] = {}
    for (load, _), latest in zip(states, values, strict=True):
        channels_of.setdefault(load, {}).update(dict.fromkeys(latest))
    return {load: live.boundaries(channels, _roles(load)) for load, channels in channels_of.items()}


def _roles(load: RunningLoad) -> Roles:
    return live.roles(
        load.servers, load.clients, {host.name: host.role for host in load.hosts}, dilation(load)
    )


def powers(
    load: RunningLoad, choices_of: Choices, values: Mapping[Channel, float]
) -> Mapping[str, ShownPower]:
    """Return the watts of each boundary that a grade covers, by its name in `BOUNDARIES`."""
    watts = {name: (boundary.watts(values), boundary.grade) for name, boundary in choices_of[load].items()}
    simulated = load.reality == "simulated"
    return {
        name: ShownPower(w, "simulated" if simulated else grade)
        for name, (w, grade) in watts.items()
        if w is not None
    }


def graded(load: RunningLoad, values: Mapping[Channel, T]) -> Mapping[Channel, T]:
    """Return the values of channels by their grade here: a simulated host's watts are simulated, whatever
    gave them.
    """
    if load.reality != "simulated":
        return values
    return {
        replace(channel, grade="simulated") if channel.unit in ("W", "J") else channel: value
        for channel, value in values.items()
    }


def charts(
    states: Sequence[tuple[RunningLoad, State]],
    choices_of: Choices,
    values: Sequence[Mapping[Channel, float]],
) -> list[Chart]:
    """Draw the chart of each view that has one."""
    moments = [Now(load, latest, choices_of[load]) for (load, _), latest in zip(states, values, strict=True)]
    lives = [view.live for view in views.every() if view.live]
    charts = (families.spared(lambda live=live: _chart(live, moments), None) for live in lives)
    return [chart for chart in charts if chart and chart.lines]


def _chart(live: Live, moments: Sequence[Now]) -> Chart:
    lines: dict[str, list[float | None]] = {}
    for at, moment in enumerate(moments):
        for name, value in live.values(moment).items():
            lines.setdefault(name, [None] * len(moments))[at] = float(f"{value:.4g}")
    return Chart(live.title, live.unit, _few(lines))


def _few(lines: Mapping[str, Sequence[float | None]]) -> Mapping[str, Sequence[float | None]]:
    """Return lines, or what is left of too many to tell apart: the lowest, the mean and the highest."""
    if len(lines) <= LINES_COUNT:
        return lines
    moments = [
        [value for value in moment if value is not None] for moment in zip(*lines.values(), strict=True)
    ]
    of = {f"highest of {len(lines)}": max, "mean": fmean, "lowest": min}
    return {
        name: [float(f"{summed(moment):.4g}") if moment else None for moment in moments]
        for name, summed in of.items()
    }


def hosts(load: RunningLoad, values: Mapping[Channel, float]) -> Table:
    """Lay out CPU, network and power of each host; the watts of two meters are never added."""
    totals = live.totals(values)
    meters: dict[str, set[tuple[str, str]]] = {}
    for channel in values:
        if channel.quantity == "power":
            meters.setdefault(channel.host, set()).add((channel.meter, channel.grade))
    rows: list[tuple[str, ...]] = []
    for host in load.hosts:
        cpu = totals.get((host.name, "cpu"))
        share = (
            "–" if cpu is None else f"{percent(cpu / host.cores)} %" if host.cores else f"{number(cpu)} cores"
        )
        ways = (totals.get((host.name, rate)) for rate in ("network_received", "network_sent"))
        moved = ("–" if rate is None else number(dilation(load).wall(rate) / RATE.per) for rate in ways)
        watts = number(totals[host.name, "power"]) if len(meters.get(host.name, ())) == 1 else "–"
        rows.append((host.name, host.role, share, *moved, watts))
    name_headers = ("host", "role")
    return Table(
        (*name_headers, "CPU", f"in, {RATE.symbol}", f"out, {RATE.symbol}", "W"), tuple(rows), name_headers
    )


def meters(values: Mapping[Channel, float]) -> Table:
    """Lay out the power of each channel."""
    rows = [
        (
            channel.meter,
            channel.host or "+".join(channel.covers) or "–",
            channel.component,
            channel.grade,
            number(value),
        )
        for channel, value in values.items()
        if channel.quantity == "power"
    ]
    name_headers = ("meter", "host", "component", "grade")
    return Table((*name_headers, "W"), tuple(sorted(rows)), name_headers)
