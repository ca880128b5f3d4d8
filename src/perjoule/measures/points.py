"""A record and its series to the numbers of the trial: one Point per direction.

A write counts until the disks hold it, see `windows`; numbers up to the last client's fsync have the prefix
"burst_".

If several users loaded at once there is one Point for all of them, because joules can't be attributed to one
of them. Its direction is "mixed" if some read and some wrote, and each user's own numbers are among its
metrics (see `users`).
"""

from collections.abc import Sequence
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any

from perjoule.model import Doubt, Number, Numbers, Point, Record, Series, metrics
from perjoule.model.doubts import FOREIGN
from perjoule.model.families import Member, PackageError, leave_out
from perjoule.model.metrics import Metric, metric_of

if TYPE_CHECKING:
    from perjoule.trial.load import Load, Measure
    from perjoule.trial.reading import Reading


def points(record: Record, series: Sequence[Series]) -> tuple[Point, ...]:
    """Return the numbers of a valid trial, one Point per direction with any work; none for a failed one.

    If no bytes are moved (metadata), operations are counted instead, and metrics per byte are omitted; an
    idle file system has neither. A metric that was not measured, or whose amount is refused, is not among the
    keys; the doubts say why.
    """
    from perjoule.trial.reading import Reading

    return points_of(Reading(record, series))


def points_of(reading: "Reading") -> tuple[Point, ...]:
    """Return the same of a trial that others read, too."""
    from perjoule.trial.load import Load

    return tuple(_point(Load(reading, direction)) for direction in reading.loads)


@cache
def measures() -> "tuple[Measure, ...]":
    """Find the `measure` of every module of this folder that has one, and those of other packages."""
    having = (
        (member, its_entries)
        for member, its_entries in metrics.measures()
        if "measure" in vars(member.load())
    )
    return tuple(
        _of_another(member, its_entries) if member.package else member.load().measure
        for member, its_entries in having
    )


def _of_another(member: Member, its_entries: Sequence[Metric]) -> "Measure":
    """Return the measure of another package, held to its own entries; where it fails, a doubt says so."""
    keys = {key for entry in its_entries for key in metrics.keys(entry)}

    def checked(load: "Load") -> Numbers:
        numbers: Any = load.numbers(member.load().measure)
        if not isinstance(numbers, Numbers):
            raise TypeError(f"it gives {str(numbers)[:60]!r}, and no Numbers")
        strange = sorted(map(str, numbers.by_key.keys() - keys))
        member.require(not strange, f"it gives {', '.join(strange)}, which METRICS does not have")
        wrong = sorted(key for key, number in numbers.by_key.items() if not _is_number(number))
        member.require(not wrong, f"what it gives as {', '.join(wrong)} is no finite Number")
        member.require(all(map(_is_doubt, numbers.doubts)), "its doubts are no Doubts")
        return numbers

    def measure(load: "Load") -> Numbers:
        try:
            return member.guarded(checked)(load)
        except PackageError as error:
            leave_out(str(error))
            return Numbers(doubts=(FOREIGN.measure_failed(error=str(error)),))

    return measure


def _is_doubt(doubt: object) -> bool:
    return isinstance(doubt, Doubt)


def _is_text(text: object) -> bool:
    return isinstance(text, str)


def _is_number(number: object) -> bool:
    """Whether a number can be stored: its value is finite, or missing with a reason."""
    if not isinstance(number, Number):
        return False
    halves = (number.half, number.shared_half, *number.shared.values())
    texts: tuple[object, ...] = (number.grade, number.source, number.why_not, *number.shared)
    return (
        (number.value is None or (_is_float(number.value) and isfinite(number.value)))
        and all(map(_is_float, halves))
        and all(map(_is_text, texts))
    )


def _is_float(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _point(load: "Load") -> Point:
    record = load.record
    itself = Numbers.plain(load.workload_numbers)
    measured = composed([load.numbers(measure) for measure in measures()])
    numbers = Numbers({**itself.by_key, **measured.by_key})
    if not load.together:  # then no rate of all clients at once means anything
        numbers = Numbers(
            {key: number for key, number in numbers.by_key.items() if not metric_of(key).together}
        )
    simulated = record.traits.reality == "simulated"  # then whatever a meter or a model says of it is, too
    computed = {doubt: doubt for doubt in (*load.span.doubts, *measured.doubts)}
    # A doubt that a record has in the same words is the computed one: nobody stores it away under another id.
    doubts = (computed.get(doubt, doubt) for doubt in dict.fromkeys((*record.doubts, *computed)))
    return Point(
        numbers.graded("simulated") if simulated else numbers.by_key,
        tuple(doubts),
        trial=record.trial,
        direction=load.direction,
        reality=record.traits.reality,
    )


def composed(several: Sequence[Numbers]) -> Numbers:
    """Put the numbers of measures together, in any order.

    Raises ValueError: two of them have the same one.
    """
    by_key: dict[str, Number] = {}
    for numbers in several:
        if twice := by_key.keys() & numbers.by_key.keys():
            raise ValueError(f"two measures have {', '.join(sorted(twice))}: give one of them another key")
        by_key |= numbers.by_key
    return Numbers(by_key, tuple(doubt for numbers in several for doubt in numbers.doubts))
