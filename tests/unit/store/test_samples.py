"""Series files of strangers: what a small one unpacks to stays small in memory, or is refused."""

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from perjoule.model import SAMPLE, Channel
from perjoule.model.units import MIB
from perjoule.store.pages import unpacked_sizes
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
    rows = _pa.array([0] * ROWS_COUNT, _pa.int32())
    long = table(meter=_pa.DictionaryArray.from_arrays(rows, _pa.array(["x" * MIB])))
    assert write(tmp_path / "series.parquet", long) < 200_000
    before, pool = _pa.default_memory_pool(), _pa.proxy_memory_pool(_pa.default_memory_pool())
    _pa.set_memory_pool(pool)
    try:
        (series,) = read_series(tmp_path / "series.parquet")
    finally:
        _pa.set_memory_pool(before)
    assert len(series.channel.meter) == MIB
    assert pool.max_memory() < 100 * MIB


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("use_dictionary", [True, False])
def test_headers_of_pages_state_what_a_column_unpacks_to(
    tmp_path: Path, compression: str, version: str, use_dictionary: bool
) -> None:
    """As the file's end states it, of an honest writer: all pages, and their headers of 15 to 80 bytes."""
    path = tmp_path / "series.parquet"
    options = {"compression": compression, "data_page_version": version, "use_dictionary": use_dictionary}
    write(path, table(), row_group_size=ROWS_COUNT // 2, data_page_size=1000, write_batch_size=100, **options)
    content, metadata, sizes = path.read_bytes(), _pq.read_metadata(path), list[int]()
    for group in map(metadata.row_group, range(2)):
        for column in map(group.column, range(group.num_columns)):
            begin = column.dictionary_page_offset or column.data_page_offset
            sizes = list(unpacked_sizes(content[begin : begin + column.total_compressed_size]))
            headers_bytes = column.total_uncompressed_size - sum(sizes)
            assert 15 * len(sizes) < headers_bytes < 80 * len(sizes)
    assert len(sizes) > 1


@pytest.mark.parametrize(
    "header",
    [b"\x15" + b"\xff" * 1000, b"\x1c" * 1000, b"\x15\x04\x15\x10\x15\x11\x00", b"\x15", b"\x19", b"\x00"],
)
def test_what_is_no_page_is_refused(header: bytes) -> None:
    with pytest.raises((ValueError, IndexError)):
        list(unpacked_sizes(header))


def test_a_page_that_unpacks_to_more_than_series_of_its_size_have_is_refused(tmp_path: Path) -> None:
    sample = table().slice(0, 1)
    at = sample.column_names.index("meter")
    long = sample.set_column(at, "meter", _pa.array(["x" * 20 * MIB]))
    size_bytes = write(tmp_path / "series.parquet", long, compression="zstd")
    assert size_bytes < 100_000
    with pytest.raises(ValueError, match=f"not a series file: {size_bytes} bytes unpack to 2"):
        read_series(tmp_path / "series.parquet")


def test_more_samples_than_series_of_its_size_have_are_refused(tmp_path: Path) -> None:
    texts = {
        name: _pa.array([text]).take(_pa.array([0] * 500_000))
        for name, text in zip(COLUMNS, CHANNEL, strict=True)
    }
    same = _pa.array([1.0]).take(_pa.array([0] * 500_000))
    size_bytes = write(tmp_path / "series.parquet", _pa.table({**texts, **dict.fromkeys(SAMPLE, same)}))
    with pytest.raises(ValueError, match=f"not a series file: 500000 samples in {size_bytes} bytes"):
        read_series(tmp_path / "series.parquet")


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
