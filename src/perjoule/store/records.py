"""Records as JSON and back: any frozen dataclass of `perjoule.model`, by its own field types.

JSON has no infinity and no NaN; they are written as `{"$float": "inf"}`. Fields that a file lacks take their default, so that
fields may be added within a version; an unknown field or a newer version is refused.
"""

import dataclasses
import json
import math
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from perjoule.errors import WorkloadError
from perjoule.model import Json, Outcome, Record
from perjoule.protocols import require_time

VERSION = 1
_SCALARS = (bool, int, float, str)


def record_text(record: Record) -> str:
    """Write a record as JSON text. Its outcome's series are left out: they are stored with the other series."""
    return json.dumps(to_json(record), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def record_from(text: str) -> Record:
    """Read what `record_text` wrote.

    Raises:
        ValueError: it is damaged, or of a version this perjoule does not know.
    """
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    version = cast("dict[str, Any]", data).get("version", VERSION)
    if version != VERSION:
        raise ValueError(f"format version {version}, and this perjoule reads version {VERSION}")
    return cast("Record", from_json(Record, cast("Json", data)))


def with_time(record: Record) -> Record:
    """Have a trial whose load took no time count as failed, as it would be kept today; older records of it are valid."""
    try:
        require_time(record.outcome.results if record.outcome else ())
    except WorkloadError as error:
        return dataclasses.replace(record, status="failed", reason=str(error), outcome=None)
    return record


def to_json(value: object) -> Json:
    """Turn a value of `perjoule.model` into what JSON can hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": str(value)}
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
    raise TypeError(f"{type(value).__name__} has no place in a record")


def from_json(hint: Any, data: Json) -> object:
    """Build a value of the type `hint` (a dataclass, tuple, mapping, literal, union, scalar or Json) from JSON data.

    Raises:
        ValueError: the data do not fit the type.
    """
    if isinstance(data, Mapping) and set(data) == {"$float"}:
        data = float(str(data["$float"]))
    origin, arguments = get_origin(hint), get_args(hint)
    if hint == Json:
        return _plain(data)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(data, Mapping):
        return _build(hint, data)
    if origin is Annotated:
        return from_json(arguments[0], data)
    if origin is tuple and isinstance(data, list):
        return tuple(from_json(arguments[0], item) for item in data)
    if origin is Mapping and isinstance(data, Mapping):
        return {key: from_json(arguments[1], item) for key, item in data.items()}
    if origin is Literal and data in arguments:
        return data
    if origin in (UnionType, Union):
        if data is None and type(None) in arguments:
            return None
        return from_json(next(a for a in arguments if a is not type(None)), data)
    if hint is float and isinstance(data, int | float) and not isinstance(data, bool):
        return float(data)
    if hint in (int, str, bool) and type(data) is hint:
        return data
    raise ValueError(f"expected {getattr(hint, '__name__', hint)}, found {json.dumps(data)[:60]}")


def _build(cls: type, data: Mapping[str, Json]) -> object:
    fields = {f.name: f for f in dataclasses.fields(cls)}
    if unknown := data.keys() - fields.keys():
        raise ValueError(f'{cls.__name__} has no field "{min(unknown)}"')
    values: dict[str, object] = {}
    for name, value in data.items():
        try:
            values[name] = () if (cls, name) == (Outcome, "series") else from_json(fields[name].type, value)
        except ValueError as error:
            raise ValueError(f"{cls.__name__}.{name}: {error}") from None
    try:
        return cls(**values)
    except TypeError as error:  # a field without default is missing
        raise ValueError(str(error)) from None


def _plain(data: Json) -> Json:
    if isinstance(data, Mapping):
        return float(str(data["$float"])) if set(data) == {"$float"} else {k: _plain(v) for k, v in data.items()}
    return [_plain(v) for v in data] if isinstance(data, list) else data
