"""Records to JSON and back: any frozen dataclass of `perjoule.model`, by its own field types
(`perjoule.machine.untrusted`).

JSON has no infinity and no NaN; they are written as `{"$float": "inf"}`. Missing fields take their default,
so a version can gain fields; an unknown field or a newer version is refused.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from pydantic import ValidationError

from perjoule.machine.untrusted import from_json, json_from
from perjoule.model import Doubt, Json, Outcome, Record, Spec, Traits, Trial, TrialEvent
from perjoule.model.errors import PerjouleError, WorkloadError
from perjoule.model.records import FORMAT

_SCALARS = (bool, int, float, str)
T = TypeVar("T")


def record_text(record: Record) -> str:
    """Write a record as JSON text, without its outcome's series, which are stored with the other series."""
    return json.dumps(to_json(record), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def record_from(text: str) -> Record:
    """Read the output of `record_text`.

    Raises:
        ValueError: it is damaged, or of a version that this perjoule does not know.
    """
    document = json_from(text)
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")
    fields = cast("dict[str, Any]", document)
    record = from_json(Record, {**fields, "version": format_of(fields)})
    if record.outcome and not record.outcome.results:
        raise ValueError("its outcome has no results")
    return record if "traits" in document else dataclasses.replace(record, traits=declared(record.trial))


def format_of(fields: Mapping[str, Any]) -> int:
    """Return the format of stored JSON; 1 if it has none.

    Raises ValueError if this perjoule does not know it.
    """
    version = fields.get("version", 1)
    if type(version) is not int or version not in range(1, FORMAT + 1):
        raise ValueError(f"format version {version!r}, but this perjoule reads versions up to {FORMAT}")
    return version


def declared(trial: Trial) -> Traits:
    """Return the traits of a trial as its drivers declare them today, for a record that was stored without
    them.
    """
    from perjoule import drivers

    return drivers.traits(
        _known(drivers.testbed, trial.testbed),
        _known(drivers.filesystem, trial.filesystem),
        _known(drivers.workload, trial.workload),
    )


def _known(build: Callable[[Spec], T], spec: Spec) -> T | None:
    try:
        return build(spec)
    except (
        KeyError,
        ValidationError,
        PerjouleError,
    ):  # a driver or an option that this perjoule no longer has
        return None


def with_time(record: Record) -> Record:
    """Mark a trial whose load took no time as failed, as a new one would be; in older records it is valid."""
    from perjoule.drivers.protocols import require_time

    try:
        require_time(record.outcome.results if record.outcome else ())
    except WorkloadError as error:
        failed = {"status": "failed", "reason": str(error), "reason_id": error.id}
        return dataclasses.replace(record, **failed, outcome=None)
    return record


def to_json(value: object) -> Json:
    """Turn a value of `perjoule.model` into JSON data."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}
    if isinstance(value, Doubt | TrialEvent):
        return to_json(value.data)
    if value is None or isinstance(value, _SCALARS):
        return value
    if isinstance(value, Outcome):
        value = dataclasses.replace(value, series=())
    if dataclasses.is_dataclass(value):
        return {f.name: to_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [to_json(v) for v in cast("list[object]", value)]
    raise TypeError(f"{type(value).__name__} can't be stored in a record")
