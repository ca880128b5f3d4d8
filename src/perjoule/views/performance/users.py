"""Several users at once: the throughput of each together with the others, and alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from perjoule.figures.clients import in_units, interval_text
from perjoule.figures.vega import PANEL_WIDTH, Spec, labels, layered, titled, tooltip_of
from perjoule.model import Interval
from perjoule.model.format import number
from perjoule.model.metrics import FAIRNESS, LATENCY, PER_JOULE, RATES, SHARE, metric_of
from perjoule.model.units import clients_text, seconds_text
from perjoule.results.table import NAMES, OF_REPETITIONS, Table, value_text
from perjoule.views.content import Content
from perjoule.views.view import Flag, Shown, View

if TYPE_CHECKING:
    from perjoule.statistics.users import Mix, MixUser


WAYS = ("alone", "together")


@dataclass(frozen=True)
class Users:
    """One mix on one file system: each user's results, in units of the axis; None was not measured."""

    title: str
    users: Sequence[tuple[str, Interval | None, Interval]]  # name, alone, together


def users(mixes: Sequence[Users], *, axis: str, notes: Sequence[str] = ()) -> Spec:
    """Draw a panel for each mix, and in it two bars for each user, with the 95 % interval and a mark for
    each repetition.
    """
    panels = [_panel(mix, axis) for mix in mixes]
    return titled({"concat": panels, "columns": 2, "spacing": 24}, "Users together and alone", notes)


def _panel(mix: Users, axis: str) -> Spec:
    means: list[Spec] = []
    values: list[Spec] = []
    for user, alone, together in mix.users:
        for setting, interval in zip(WAYS, (alone, together), strict=True):
            if interval is None:
                continue
            finite = isfinite(interval.high - interval.low)
            means.append(
                {
                    "user": user,
                    "name": setting,
                    "mean": interval.mean,
                    "low": max(0.0, interval.low) if finite else None,
                    "high": interval.high if finite else None,
                    "value": f"{number(interval.mean)} {axis}",
                    "interval": interval_text(interval, 1.0),
                }
            )
            values += [{"user": user, "name": setting, "one": value} for value in interval.values]
    tooltip = tooltip_of(user="", name="loads", value="mean", interval="95 % interval")
    y: Spec = {"type": "quantitative", "title": axis}
    bars: Spec = {
        "mark": {"type": "bar", "width": {"band": 0.9}},
        "encoding": {"y": {"field": "mean", **y}, "tooltip": tooltip},
    }
    spread: Spec = {
        "mark": {"type": "rule", "strokeWidth": 2, "style": "ink"},
        "transform": [{"filter": "isValid(datum.low)"}],
        "encoding": {"y": {"field": "low", **y}, "y2": {"field": "high"}},
    }
    each: Spec = {
        "data": {"values": values},
        "mark": {"type": "point", "size": 22, "strokeWidth": 1.2, "style": "ink"},
        "encoding": {"y": {"field": "one", **y}},
    }
    bars["encoding"]["color"] = labels(WAYS, "role")
    for layer in (bars, spread, each):
        layer["encoding"] |= {
            "x": {"field": "user", "type": "nominal", "title": None, "sort": None},
            "xOffset": {"field": "name", "sort": list(WAYS), "scale": {"domain": list(WAYS)}},
        }
    heading = {"text": mix.title, "fontSize": 12, "anchor": "start", "frame": "group", "offset": 8}
    return layered(means, [bars, spread, each], PANEL_WIDTH, 200, title=heading)


def users_table(mixes: Sequence["Mix"]) -> Table:
    """Lay out mixes: a row for all users together, below it one for each, with its slow-down if it was
    measured alone.
    """
    operations = any(user.rate_name == RATES[1] for mix in mixes for user in mix.users)
    rates = [metric_of(key).label for key in RATES[: 2 if operations else 1]]
    share, latency, per_j, fair = (metric_of(key).label for key in (SHARE, LATENCY, PER_JOULE[0], FAIRNESS))
    headers = ("file system", "workload", "clients", "user", *rates)
    headers += (share, "alone", "slow-down", latency, per_j, fair, f"{fair} to alone", "n")
    rows: list[tuple[str, ...]] = []
    for mix in mixes:
        key = (mix.filesystem, mix.workload, str(mix.clients_count))
        rows.append((*key, "all", *_all(mix, operations)))
        rows += [(*key, user.name, *_one(user, operations)) for user in mix.users]
    return Table(headers, tuple(rows), (*NAMES, "user"))


def _all(mix: "Mix", operations: bool) -> tuple[str, ...]:
    of = mix.total.get
    rates = [value_text(of(key), key) for key in RATES[: 2 if operations else 1]]
    fair = (value_text(interval, FAIRNESS) for interval in (mix.fairness, mix.progress_fairness))
    count = max(len(interval.values) for interval in mix.total.values())
    return (
        *rates,
        "100",
        "–",
        "–",
        _latency(of(LATENCY)),
        value_text(of(PER_JOULE[0]), PER_JOULE[0]),
        *fair,
        str(count),
    )


def _one(user: "MixUser", operations: bool) -> tuple[str, ...]:
    rates = [
        value_text(user.rate, key) if key == user.rate_name else "–"
        for key in RATES[: 2 if operations else 1]
    ]
    share = number(user.share.mean / metric_of(SHARE).unit.per) if user.share else "–"
    compared = (value_text(user.alone, user.rate_name), _ratio(user.slowdown))
    return (*rates, share, *compared, _latency(user.latency), "–", "–", "–", str(len(user.rate.values)))


def _ratio(interval: Interval | None) -> str:
    """Return a ratio with its interval, which is asymmetric."""
    if interval is None:
        return "–"
    single = len(interval.values) < 2
    return f"{number(interval.mean)} x" + (
        " ± ?" if single else f" ({number(interval.low)} to {number(interval.high)})"
    )


def _latency(interval: Interval | None) -> str:
    return seconds_text(interval.mean) if interval else "–"


def bars(several: Sequence["Mix"]) -> list[Users]:
    """Return the figure's data, in the unit of throughput; mixes of users who move no bytes appear only in
    the table.
    """
    drawn: list[Users] = []
    per = metric_of(RATES[0]).unit.per
    for mix in several:
        moving = [user for user in mix.users if user.rate_name == RATES[0]]
        pairs = [
            (user.name, user.alone and in_units(user.alone, per), in_units(user.rate, per)) for user in moving
        ]
        fair = f": fair {number(mix.fairness.mean)}" if mix.fairness else ""
        clients = clients_text(mix.clients_count)
        if pairs:
            drawn.append(Users(f"{mix.filesystem}, {mix.workload}, {clients}{fair}", pairs))
    return drawn


def _figures(content: Content) -> Iterator[tuple[str, Spec]]:
    if pairs := bars(content.mixes):
        drawn = (
            "while a user's jobs ran: mean, 95 % interval, and a small mark for each repetition; fair is "
            "Jain's index"
        )
        yield "users", users(pairs, axis=metric_of(RATES[0]).unit.symbol, notes=[drawn, *content.notes])


VIEW = View(
    rank=100,
    flag=Flag(
        "users",
        help="Throughput of several users together and alone, and fairness.",
        none="no trial here has several users at once",
        advice="see `perjoule docs mixed-users`",
    ),
    title="Users together and alone",
    tables=(
        Shown(
            lambda content: users_table(content.mixes),
            "Users together and alone",
            note="A user's throughput is taken over the time in which its jobs ran. Fair is Jain's index, once of throughput "
            "by fair share and once of each user's throughput relative to running alone. Joules are those "
            f"of all users together and can't be divided among users. {OF_REPETITIONS}",
        ),
    ),
    figures=_figures,
)
