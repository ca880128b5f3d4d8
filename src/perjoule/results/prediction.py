"""Predictions and profiles as tables."""

from collections import Counter
from collections.abc import Iterator, Sequence

from perjoule.figures.prediction import Predicted, prediction
from perjoule.figures.vega import Spec
from perjoule.model.format import estimate, number, percent, with_band
from perjoule.model.metrics import EFFICIENCY, METRICS, POWER, RANKED, THROUGHPUT
from perjoule.model.units import bytes_text
from perjoule.prediction import Prediction, Profile, Target, parameters
from perjoule.prediction.elsewhere import band_factor
from perjoule.prediction.power import IDLE, PARTS
from perjoule.prediction.validation import LEVELS
from perjoule.results.scores import without_skill
from perjoule.results.table import NAMES, Table

_RATE, _WORK = (METRICS[key] for key in RANKED)
_WATTS = METRICS[POWER]
_WORDS = {
    "clients": "another number of clients than measured",
    "redundancy": "another redundancy than measured",
    "hardware": "other hardware than measured",
    "size": "another size than measured",
    "in flight": "another number of calls in flight than measured",
}


def table(predictions: Sequence[Prediction]) -> Table:
    """Lay out predictions, a row each: value (if it is more than a range) with its 90 % band, bound and what sets
    it.
    """
    rate, watts, work = (metric.label for metric in (_RATE, _WATTS, _WORK))
    banded = (f"{label} (90 %)" for label in (rate, watts, work))
    headers = ("direction", "clients", *banded, f"bound {rate}", "bottleneck", f"idle {watts}")
    rows = tuple(
        (
            row.direction,
            str(row.clients_count),
            _banded(row, row.throughput_bytes_per_s, _RATE.unit.per),
            _banded(row, row.mean_w, 1.0),
            _banded(row, row.efficiency_bytes_per_j, _WORK.unit.per),
            number(row.bound_bytes_per_s / _RATE.unit.per),
            row.bottleneck,
            number(row.idle_w),
        )
        for row in predictions
    )
    return Table(headers, rows, (*NAMES, "bottleneck"))


def watts_table(predictions: Sequence[Prediction]) -> Table:
    """Lay out where the servers' watts go, a row for each prediction; the switch is beside their sum."""
    headers = ("direction", "clients", *PARTS[:-1], _WATTS.label, PARTS[-1])
    rows = tuple(
        (
            *(row.direction, str(row.clients_count)),
            *(
                number(row.parts_w[part]) if part in IDLE else _value(row, row.parts_w[part])
                for part in PARTS[:-1]
            ),
            *(_value(row, row.mean_w[0]), number(row.parts_w[PARTS[-1]])),
        )
        for row in predictions
    )
    return Table(headers, rows)


def figure(target: Target, predictions: Sequence[Prediction]) -> Spec:
    """Draw throughput and work per joule against the number of clients."""
    points = [
        Predicted(
            of.label, row.direction, row.clients_count, *(part / of.unit.per for part in triple), bound=bound
        )
        for of, pick in ((_RATE, THROUGHPUT), (_WORK, EFFICIENCY))
        for row in predictions
        for triple, bound in [
            (getattr(row, pick), row.bound_bytes_per_s / of.unit.per if of is _RATE else None)
        ]
    ]
    kind = (
        f"{target.profile.kind} {target.profile.release}, {predictions[0].redundancy.text}, on "
        f"{target.cluster.title}"
    )
    notes = (
        *("predicted, not measured", "bands: 90 %; dashed: the bound"),
        *without_skill(target.profile),
        *_ranges(target, predictions),
    )
    return prediction(points, title=kind, notes=notes)


def _value(row: Prediction, value: float) -> str:
    return "–" if row.rests_on else number(value)


def _banded(row: Prediction, triple: tuple[float, float, float], per: float) -> str:
    """Print a value with its band, or the band alone: "104 (26–111)", "– (26–111)"."""
    text = with_band(*(end / per for end in triple))
    return f"– {text.partition(' ')[2]}" if row.rests_on else text


def remarks(target: Target, predictions: Sequence[Prediction], worth_count: int) -> Iterator[str]:
    """Say what the numbers are, what they extrapolate, and what would narrow the bands of MiB/J most."""
    hosts = "emulated hosts" if target.profile.emulated else "real hosts"
    first = predictions[0]
    load = (
        f"{bytes_text(first.client_bytes)} in {target.profile.pattern.calls_text}, {first.in_flight_count} "
        "in flight"
    )
    yield (
        f"predicted, not measured: from {len(target.profile.points)} points on {hosts}; each client moves "
        f"{load}; W are those of the servers at the wall, without the switch"
    )
    if target.profile.emulated and target.memory:
        yield (
            f"the bands allow a factor of {number(band_factor())} for another machine than those emulated, by "
            "what papers printed (perjoule ledger)"
        )
    yield from without_skill(target.profile)
    if target.profile.cpu_of == "trial":
        yield (
            "its CPU work is that of whole trials, programs' start and report included: the bands allow for "
            "W that are too high"
        )
    sizes = sorted({point.case.client_bytes for point in target.profile.points})
    calls = sorted({round(point.case.in_flight_count) for point in target.profile.points})
    measured = {
        "size": f" ({', '.join(map(bytes_text, sizes))})",
        "in flight": f" ({', '.join(map(str, calls))})",
    }
    beyond = [
        _WORDS[level] + measured.get(level, "")
        for level in LEVELS
        if any(level in row.beyond for row in predictions)
    ]
    if beyond:
        yield f"extrapolated: {', '.join(beyond)}"
    yield from _ranges(target, predictions)
    total: Counter[str] = Counter()
    for row in predictions:
        total.update({name: share / len(predictions) for name, share in row.worth.items()})
    parts = ", ".join(f"{name} {percent(share)} %" for name, share in total.most_common(worth_count))
    yield f"of the variance of {_WORK.label}: {parts}"


def _ranges(target: Target, predictions: Sequence[Prediction]) -> Iterator[str]:
    """Name the predictions that are a range, and why."""
    for direction in dict.fromkeys(row.direction for row in predictions):
        ranges = [row for row in predictions if row.direction == direction and row.rests_on]
        if ranges:
            counts = ", ".join(str(row.clients_count) for row in ranges)
            numbers = ", ".join(
                f"{name} of {target.profile.kind}"
                for name in dict.fromkeys(name for row in ranges for name in row.rests_on)
            )
            yield (
                f"{direction}, clients {counts}: a range, because it rests on {numbers}, which calibration "
                "did not identify"
            )


def parameters_table(profile: Profile) -> Table:
    """Lay out what a profile says of its file system."""
    rows = tuple(
        (
            direction,
            parameter.name,
            estimate(parameter.value),
            f"{estimate(parameter.low)} to {estimate(parameter.high)}",
            "yes" if parameter.identified else "no",
        )
        for direction in profile.known
        for parameter in parameters(profile, direction)
    )
    return Table(
        ("direction", "parameter", "value", "90 %", "identified"), rows, (*NAMES, "parameter", "identified")
    )
