"""Several users at once, as a table and as a figure's data."""

from collections.abc import Sequence

from perjoule.analysis.fairness import Mix, User
from perjoule.figures.users import Users
from perjoule.model import Interval
from perjoule.model.units import MIB, seconds_text
from perjoule.results.table import Table, number, with_interval


def users_table(mixes: Sequence[Mix]) -> Table:
    """Lay out mixes: a row for all users together, below it one for each, with its slow-down if it was measured alone."""
    operations = any(user.rate_name == "operations_per_s" for mix in mixes for user in mix.users)
    headers = ("file system", "workload", "clients", "user", "MiB/s", *(("op/s",) if operations else ()))
    headers += ("% of bytes", "alone", "slow-down", "p99", "MiB/J", "fair", "fair to alone", "n")
    rows: list[tuple[str, ...]] = []
    for mix in mixes:
        key = (mix.filesystem, mix.workload, str(mix.clients_count))
        rows.append((*key, "all", *_all(mix, operations)))
        rows += [(*key, user.name, *_one(user, operations)) for user in mix.users]
    return Table(headers, tuple(rows))


def _all(mix: Mix, operations: bool) -> tuple[str, ...]:
    of = mix.total.get
    rate = _text(of("throughput_bytes_per_s"), MIB)
    rates = (rate, _text(of("operations_per_s"), 1)) if operations else (rate,)
    fair = (_text(mix.fairness, 1), _text(mix.progress_fairness, 1))
    count = max(len(found.values) for found in mix.total.values())
    return (*rates, "100", "–", "–", _latency(of("latency_p99_s")), _text(of("efficiency_bytes_per_j"), MIB), *fair, str(count))


def _one(user: User, operations: bool) -> tuple[str, ...]:
    in_bytes = user.rate_name == "throughput_bytes_per_s"
    per = MIB if in_bytes else 1
    rate = with_interval(user.rate, per)
    rates = (rate if in_bytes else "–", "–" if in_bytes else rate) if operations else (rate,)
    share = number(user.share.mean * 100) if user.share else "–"
    compared = (_text(user.alone, per), _ratio(user.slowdown))
    return (*rates, share, *compared, _latency(user.latency), "–", "–", "–", str(len(user.rate.values)))


def _ratio(found: Interval | None) -> str:
    """Return a ratio with its interval, which is asymmetric."""
    if found is None:
        return "–"
    single = len(found.values) < 2
    return f"{number(found.mean)} x" + (" ± ?" if single else f" ({number(found.low)} to {number(found.high)})")


def _latency(found: Interval | None) -> str:
    return seconds_text(found.mean) if found else "–"


def _text(found: Interval | None, per: float) -> str:
    return with_interval(found, per) if found else "–"


def bars(mixes: Sequence[Mix]) -> list[Users]:
    """Return the figure's data, in MiB/s; mixes of users who move no bytes appear only in the table."""
    found: list[Users] = []
    for mix in mixes:
        moving = [user for user in mix.users if user.rate_name == "throughput_bytes_per_s"]
        pairs = [(user.name, user.alone and in_units(user.alone, MIB), in_units(user.rate, MIB)) for user in moving]
        fair = f": fair {number(mix.fairness.mean)}" if mix.fairness else ""
        clients = f"{mix.clients_count} client{'s' if mix.clients_count > 1 else ''}"
        if pairs:
            found.append(Users(f"{mix.filesystem}, {mix.workload}, {clients}{fair}", pairs))
    return found


def in_units(found: Interval, per: float) -> Interval:
    """Return an interval in units of `per`."""
    return Interval(found.mean / per, found.low / per, found.high / per, tuple(value / per for value in found.values))
