"""Predictions and profiles as tables."""

from collections import Counter
from collections.abc import Iterator, Sequence

from perjoule.figures.prediction import Predicted, prediction
from perjoule.figures.vega import Spec
from perjoule.model.format import estimate, number, percent
from perjoule.model.metrics import METRICS, RANKED
from perjoule.model.units import bytes_text
from perjoule.prediction import Prediction, Profile, Target, parameters
from perjoule.prediction.power import IDLE, PARTS
from perjoule.prediction.validation import LEVELS
from perjoule.results.table import NAMES, Table

_RATE, _WORK = (METRICS[key] for key in RANKED)
_WATTS = METRICS["mean_w"]
_WORDS = {
    "clients": "another number of clients than measured",
    "redundancy": "another redundancy than measured",
    "hardware": "other hardware than measured",
    "size": "another size than measured",
    "in flight": "another number of calls in flight than measured",
}


def table(found: Sequence[Prediction]) -> Table:
    """Lay out predictions, a row each: value (if it is more than a range), 90 % band, bound and what sets it."""
    rate, watts, work = (metric.label for metric in (_RATE, _WATTS, _WORK))
    headers = ("direction", "clients", rate, "90 %", watts, "90 %", f"idle {watts}", work, "90 %", f"bound {rate}", "bottleneck")
    rows = tuple(
        (
            one.direction,
            str(one.clients_count),
            _value(one, one.throughput_bytes_per_s[0] / _RATE.unit.per),
            _band(one.throughput_bytes_per_s, _RATE.unit.per),
            _value(one, one.mean_w[0]),
            _band(one.mean_w, 1.0),
            number(one.idle_w),
            _value(one, one.efficiency_bytes_per_j[0] / _WORK.unit.per),
            _band(one.efficiency_bytes_per_j, _WORK.unit.per),
            number(one.bound_bytes_per_s / _RATE.unit.per),
            one.bottleneck,
        )
        for one in found
    )
    return Table(headers, rows, (*NAMES, "bottleneck"))


def watts_table(found: Sequence[Prediction]) -> Table:
    """Lay out where the servers' watts go, a row for each prediction; the switch is beside their sum."""
    headers = ("direction", "clients", *PARTS[:-1], _WATTS.label, PARTS[-1])
    rows = tuple(
        (
            *(one.direction, str(one.clients_count)),
            *(number(one.parts_w[part]) if part in IDLE else _value(one, one.parts_w[part]) for part in PARTS[:-1]),
            *(_value(one, one.mean_w[0]), number(one.parts_w[PARTS[-1]])),
        )
        for one in found
    )
    return Table(headers, rows)


def figure(target: Target, found: Sequence[Prediction]) -> Spec:
    """Draw throughput and work per joule against the number of clients."""
    points = [
        Predicted(of.label, one.direction, one.clients_count, *(part / of.unit.per for part in triple), bound=bound)
        for of, pick in ((_RATE, "throughput_bytes_per_s"), (_WORK, "efficiency_bytes_per_j"))
        for one in found
        for triple, bound in [(getattr(one, pick), one.bound_bytes_per_s / of.unit.per if of is _RATE else None)]
    ]
    kind = f"{target.profile.kind} {target.profile.release}, {found[0].redundancy.text}, on {target.cluster.title}"
    notes = ("predicted, not measured", "bands: 90 %; dashed: the bound", *_ranges(target, found))
    return prediction(points, title=kind, notes=notes)


def _value(one: Prediction, value: float) -> str:
    return "–" if one.rests_on else number(value)


def _band(triple: tuple[float, float, float], per: float) -> str:
    return f"{number(triple[1] / per)} to {number(triple[2] / per)}"


def remarks(target: Target, found: Sequence[Prediction], worth_count: int) -> Iterator[str]:
    """Say what the numbers are, what they extrapolate, and what would narrow the bands of MiB/J most."""
    where = "emulated hosts" if target.profile.emulated else "real hosts"
    load = f"{bytes_text(found[0].client_bytes)} in {target.profile.pattern.calls_text}, {found[0].in_flight_count} in flight"
    yield (
        f"predicted, not measured: from {len(target.profile.points)} points on {where}; each client moves "
        f"{load}; W are those of the servers at the wall, without the switch"
    )
    if target.profile.emulated and target.memory:
        yield "the bands are those of emulated hosts; of published clusters they have been too narrow (perjoule ledger)"
    if target.profile.cpu_of == "trial":
        yield "its CPU work is that of whole trials, programs' start and report included: the bands allow for W that are too high"
    sizes = sorted({one.case.client_bytes for one in target.profile.points})
    calls = sorted({round(one.case.in_flight_count) for one in target.profile.points})
    measured = {"size": f" ({', '.join(map(bytes_text, sizes))})", "in flight": f" ({', '.join(map(str, calls))})"}
    beyond = [_WORDS[level] + measured.get(level, "") for level in LEVELS if any(level in one.beyond for one in found)]
    if beyond:
        yield f"extrapolated: {', '.join(beyond)}"
    yield from _ranges(target, found)
    total: Counter[str] = Counter()
    for one in found:
        total.update({name: share / len(found) for name, share in one.worth.items()})
    parts = ", ".join(f"{name} {percent(share)} %" for name, share in total.most_common(worth_count))
    yield f"of the variance of {_WORK.label}: {parts}"


def _ranges(target: Target, found: Sequence[Prediction]) -> Iterator[str]:
    """Name the predictions that are a range, and why."""
    for direction in dict.fromkeys(one.direction for one in found):
        own = [one for one in found if one.direction == direction and one.rests_on]
        if own:
            counts = ", ".join(str(one.clients_count) for one in own)
            numbers = ", ".join(
                f"{name} of {target.profile.kind}" for name in dict.fromkeys(name for one in own for name in one.rests_on)
            )
            yield f"{direction}, clients {counts}: a range, because it rests on {numbers}, which calibration did not identify"


def parameters_table(found: Profile) -> Table:
    """Lay out what a profile says of its file system."""
    rows = tuple(
        (way, one.name, estimate(one.value), f"{estimate(one.low)} to {estimate(one.high)}", "yes" if one.identified else "no")
        for way in found.known
        for one in parameters(found, way)
    )
    return Table(("direction", "parameter", "value", "90 %", "identified"), rows, (*NAMES, "parameter", "identified"))
