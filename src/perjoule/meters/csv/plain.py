"""A long log at once, where every row is as plain as its first ones: it has one number per moment, in order.

Anything else is left to `Rows`, which reads row by row and says what is wrong.
https://arrow.apache.org/docs/python/csv.html
"""

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from perjoule.model.series import Floats

# pyarrow ships no types; every use of it is on this page.
_pa, _pc, _csv = cast("Any", pa), cast("Any", pc), cast("Any", pacsv)
_BLOCK_BYTES = 4 * 1024**2
_TYPES = {"unix": _pa.float64(), "date": _pa.timestamp("us")}


def columns(
    content: bytes, *, time: str, value: str, delimiter: str, clock: str, zone: str
) -> tuple[Floats, Floats] | None:
    """Return the times (seconds of UTC) and numbers of a log whose first line names its columns; None if it
    is not plain.

    Args:
        content: in UTF-8.
        time: the column with times.
        value: the column with numbers, with decimal points.
        delimiter: between columns.
        clock: "unix", or "date" in ISO 8601.
        zone: of dates, which name none.
    """
    try:
        batches = _csv.open_csv(
            _pa.BufferReader(content),
            read_options=_csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
            parse_options=_csv.ParseOptions(delimiter=delimiter),
            convert_options=_csv.ConvertOptions(
                include_columns=[time, value],
                column_types={time: _TYPES[clock], value: _pa.float64()},
                null_values=[],
                strings_can_be_null=False,
            ),
        )
        parts = [
            (_seconds(batch.column(time), zone), batch.column(value).to_numpy(zero_copy_only=False))
            for batch in batches
        ]
        t_s, numbers = (
            np.concatenate([np.asarray(part, dtype=np.float64) for part in column])
            for column in zip(*parts, strict=True)
        )
    except (_pa.ArrowInvalid, _pa.ArrowKeyError, ValueError, OverflowError):
        return None
    finally:
        _pa.default_memory_pool().release_unused()
    plain = len(t_s) > 1 and bool(
        np.isfinite(t_s).all() and np.isfinite(numbers).all() and (np.diff(t_s) > 0).all()
    )
    return (t_s, numbers) if plain else None


def _seconds(times: Any, zone: str) -> Any:
    """Return times as seconds of UTC. Raises ArrowInvalid: an hour is missing or occurs twice."""
    if not _pa.types.is_timestamp(times.type):
        return times.to_numpy(zero_copy_only=False)
    microseconds = _pc.cast(_pc.assume_timezone(times, zone), _pa.int64())
    return microseconds.to_numpy(zero_copy_only=False) / 1e6
