"""Series files of strangers: what a small one unpacks to stays small in memory, or is refused."""

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from perjoule.model import SAMPLE, Channel
from perjoule.model.units import MIB
from perjoule.store.samples import COLUMNS, channel_texts, read_series

_pa, _pq = cast("Any", pa), cast("Any", pq)
ROWS_COUNT = 2_000
CHANNEL = channel_texts(Channel("it", "storage-1", "all", "power", "W", "instantaneous", "wall"))


def table(**columns: Any) -> Any:
    """Samples of one channel, with other columns instead of some."""
    texts = {name: _pa.array([text] * ROWS_COUNT) for name, text in zip(COLUMNS, CHANNEL, strict=True)}
    numbers = {name: _pa.array(map(float, range(ROWS_COUNT))) for name in SAMPLE}
    return _pa.table({**texts, **numbers, **columns})


def write(path: Path, content: Any, **options: Any) -> int:
    """Write it, saying nothing of Arrow's types; return how long it is."""
    _pq.write_table(content, path, store_schema=False, **options)
    return path.stat().st_size


def test_a_series_that_another_program_has_written_is_read(tmp_path: Path) -> None:
    write(tmp_path / "series.parquet", table())
    (series,) = read_series(tmp_path / "series.parquet")
    assert (channel_texts(series.channel), len(series.t_s)) == (CHANNEL, ROWS_COUNT)


def test_a_long_text_of_many_rows_is_in_memory_once(tmp_path: Path) -> None:
    long = table(meter=_pa.array(["x" * MIB] * 20).take(_pa.array([0] * ROWS_COUNT)).dictionary_encode())
    assert write(tmp_path / "series.parquet", long) < 200_000
    before, pool = _pa.default_memory_pool(), _pa.proxy_memory_pool(_pa.default_memory_pool())
    _pa.set_memory_pool(pool)
    try:
        (series,) = read_series(tmp_path / "series.parquet")
    finally:
        _pa.set_memory_pool(before)
    assert len(series.channel.meter) == MIB
    assert pool.max_memory() < 100 * MIB


@pytest.mark.parametrize(
    ("columns", "options", "fault"),
    [
        ({"value": _pa.array(["x" * 1000] * ROWS_COUNT)}, {}, "'value' is of type string"),
        ({"value": _pa.array([[1.0] * 50] * ROWS_COUNT)}, {}, "'value' is of type list"),
        ({"further": _pa.array(["x" * 1000] * ROWS_COUNT)}, {}, "'further' is of type string"),
        (
            {},
            {"use_dictionary": False, "column_encoding": {"meter": "DELTA_BYTE_ARRAY"}},
            "'meter' is encoded by DELTA_BYTE_ARRAY",
        ),
    ],
)
def test_what_no_series_has_is_refused_before_it_is_unpacked(
    tmp_path: Path, columns: dict[str, Any], options: dict[str, Any], fault: str
) -> None:
    write(tmp_path / "series.parquet", table(**columns), **options)
    with pytest.raises(ValueError, match=f"not a series file: its column {fault}"):
        read_series(tmp_path / "series.parquet")
