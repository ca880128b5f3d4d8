"""Several users at once, as a table and as a figure's data."""

from collections.abc import Sequence

from perjoule.figures.users import Users
from perjoule.measures.fairness import Mix, User, mixes
from perjoule.model import Interval
from perjoule.model.format import number
from perjoule.model.metrics import PER_JOULE, RATES, metric_of
from perjoule.model.units import clients_text, seconds_text
from perjoule.results.table import NAMES, Table, value_text
from perjoule.statistics.stopping import widening_of
from perjoule.store import Results
from perjoule.summary import summary
from perjoule.summary.computing import points_of

SHARE = "share_ratio"
LATENCY = "latency_p99_s"
FAIRNESS = "fairness_ratio"


def mixes_of(results: Results) -> tuple[Mix, ...]:
    """Return the mixes of users in a results folder."""
    return mixes(points_of(results, results.latest()), widening_of(summary(results).cells))


def users_table(found: Sequence[Mix]) -> Table:
    """Lay out mixes: a row for all users together, below it one for each, with its slow-down if it was measured alone."""
    operations = any(user.rate_name == RATES[1] for mix in found for user in mix.users)
    rates = [metric_of(key).label for key in RATES[: 2 if operations else 1]]
    share, latency, per_j, fair = (metric_of(key).label for key in (SHARE, LATENCY, PER_JOULE[0], FAIRNESS))
    headers = ("file system", "workload", "clients", "user", *rates)
    headers += (share, "alone", "slow-down", latency, per_j, fair, f"{fair} to alone", "n")
    rows: list[tuple[str, ...]] = []
    for mix in found:
        key = (mix.filesystem, mix.workload, str(mix.clients_count))
        rows.append((*key, "all", *_all(mix, operations)))
        rows += [(*key, user.name, *_one(user, operations)) for user in mix.users]
    return Table(headers, tuple(rows), (*NAMES, "user"))


def _all(mix: Mix, operations: bool) -> tuple[str, ...]:
    of = mix.total.get
    rates = [value_text(of(key), key) for key in RATES[: 2 if operations else 1]]
    fair = (value_text(found, FAIRNESS) for found in (mix.fairness, mix.progress_fairness))
    count = max(len(found.values) for found in mix.total.values())
    return (*rates, "100", "–", "–", _latency(of(LATENCY)), value_text(of(PER_JOULE[0]), PER_JOULE[0]), *fair, str(count))


def _one(user: User, operations: bool) -> tuple[str, ...]:
    rates = [value_text(user.rate, key) if key == user.rate_name else "–" for key in RATES[: 2 if operations else 1]]
    share = number(user.share.mean / metric_of(SHARE).unit.per) if user.share else "–"
    compared = (value_text(user.alone, user.rate_name), _ratio(user.slowdown))
    return (*rates, share, *compared, _latency(user.latency), "–", "–", "–", str(len(user.rate.values)))


def _ratio(found: Interval | None) -> str:
    """Return a ratio with its interval, which is asymmetric."""
    if found is None:
        return "–"
    single = len(found.values) < 2
    return f"{number(found.mean)} x" + (" ± ?" if single else f" ({number(found.low)} to {number(found.high)})")


def _latency(found: Interval | None) -> str:
    return seconds_text(found.mean) if found else "–"


def bars(several: Sequence[Mix]) -> list[Users]:
    """Return the figure's data, in the unit of throughput; mixes of users who move no bytes appear only in the table."""
    found: list[Users] = []
    per = metric_of(RATES[0]).unit.per
    for mix in several:
        moving = [user for user in mix.users if user.rate_name == RATES[0]]
        pairs = [(user.name, user.alone and in_units(user.alone, per), in_units(user.rate, per)) for user in moving]
        fair = f": fair {number(mix.fairness.mean)}" if mix.fairness else ""
        clients = clients_text(mix.clients_count)
        if pairs:
            found.append(Users(f"{mix.filesystem}, {mix.workload}, {clients}{fair}", pairs))
    return found


def in_units(found: Interval, per: float) -> Interval:
    """Return an interval in units of `per`."""
    return Interval(found.mean / per, found.low / per, found.high / per, tuple(value / per for value in found.values))
