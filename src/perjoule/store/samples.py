"""Samples to Parquet while they arrive, and back to Series.

Long format, one row a sample: the channel's seven texts and `more`, its boundary and specification as JSON
(dictionary encoded), `t_s`, `duration_s`, `value`, `asked_s`, `arrived_s` (NaN: unknown). Any Parquet reader
can use the file. Rows of one channel stay in the order of arrival.
"""

import json
import os
import threading
from array import array
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from functools import cache, lru_cache
from io import BufferedReader
from math import nan
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from perjoule.drivers.protocols import Sink
from perjoule.machine.untrusted import UNEXPECTED, from_json, json_from, opened, words
from perjoule.model import SAMPLE, Channel, Json, Series
from perjoule.store.disk import Patient
from perjoule.store.pages import unpacked_sizes
from perjoule.store.records import to_json

_PLAIN = tuple(f.name for f in fields(Channel) if f.name not in ("covers", "specification"))
COLUMNS = (*_PLAIN, "more")  # what describes a channel
# each row group repeats what describes its channels: of 64 hosts, 3 s took three times the bytes and CPU time
FLUSH_S = 10.0
MOST_SAMPLES = 50_000_000  # of a trial, as they are read: 40 bytes each
MOST_UNPACKED_BYTES = 4 * 1024**3
MOST_RATIO = 200  # of what a file unpacks to over its size: series reach 10
SMALL_BYTES = 16 * 1024**2  # up to which any ratio is harmless
_ROW_BYTES = 8 * len(SAMPLE)

# pyarrow ships no types; every use of it is on this page.
_pa = cast("Any", pa)
_pq = cast("Any", pq)
_SCHEMA = _pa.schema(
    [(column, _pa.dictionary(_pa.int32(), _pa.string())) for column in COLUMNS]
    + [(number, _pa.float64()) for number in SAMPLE],
    metadata={"perjoule": "series 3"},
)


_TYPES = {field.name: field.type for field in _SCHEMA}
# As writers of series have them: of others, a value may be a byte that stands for megabytes.
# https://parquet.apache.org/docs/file-format/data-pages/encodings/
_ENCODINGS = frozenset({"PLAIN", "PLAIN_DICTIONARY", "RLE", "RLE_DICTIONARY", "BIT_PACKED"})


class ParquetSink(Sink):
    """Takes samples from any thread, and writes a row group every few seconds from a thread of its own."""

    def __init__(self, path: Path, flush_s: float | None = None) -> None:
        self._file = Patient(path)
        try:
            self._writer = _pq.ParquetWriter(
                self._file, _SCHEMA, compression="zstd", write_statistics=list(SAMPLE)
            )
        except OSError:
            with suppress(OSError):
                self._file.close()
            raise
        self._flush_s = FLUSH_S if flush_s is None else flush_s
        self._lock = threading.Lock()
        self._waiting: dict[Channel, array[float]] = {}
        self._latest: dict[Channel, tuple[float, float, float]] = {}
        self._closing = threading.Event()
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._stream, name="samples", daemon=True)
        self._thread.start()

    def append(
        self,
        channel: Channel,
        t_s: float,
        value: float,
        duration_s: float = 0.0,
        asked_s: float = nan,
        arrived_s: float = nan,
    ) -> None:
        """Take one sample; thread-safe, and never waits for the disk."""
        with self._lock:
            if self._closing.is_set():
                raise RuntimeError(f"a sample of {channel.name} arrived after its attempt was closed")
            self._waiting.setdefault(channel, array("d")).extend((t_s, duration_s, value, asked_s, arrived_s))
            self._latest[channel] = (t_s, value, duration_s)

    def latest(self) -> Mapping[Channel, tuple[float, float, float]]:
        """Return the last sample of each channel: t_s, value, duration_s."""
        with self._lock:
            return dict(self._latest)

    def close(self) -> None:
        """Write the waiting samples and the footer. Raises the OSError of any write that failed."""
        with self._lock:
            self._closing.set()
        self._thread.join()
        try:
            if self._error is None:
                self._flush()
            self._writer.close()
        except OSError as error:
            self._error = self._error or error
            # it would try again when it is forgotten, and complain to the terminal
            self._writer.is_open = False
        finally:
            self._file.close()
        if self._error is not None:
            raise self._error

    def abandon(self) -> None:
        """Close silently, for samples that are no longer needed; does nothing if it is already closed."""
        if not self._file.closed:
            with suppress(OSError):
                self.close()

    def _stream(self) -> None:
        while not self._closing.wait(self._flush_s):
            try:
                self._flush()
            except (
                OSError
            ) as error:  # a disk that stays full: `close` says so; samples that come later are not kept
                self._error = error
                return

    def _flush(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        if waiting:
            self._writer.write_table(
                _table({c: np.frombuffer(v).reshape(-1, len(SAMPLE)) for c, v in waiting.items()})
            )


def read_series(path: Path) -> tuple[Series, ...]:
    """Read all series of a Parquet file, one per channel, ordered by the channel's name.

    Raises:
        OSError: it can't be read.
        ValueError: it is damaged.
    """
    table = read_table(path)
    with _understood():
        return _series_of(table)


def read_table(path: Path) -> Any:
    """Read a Parquet file as a `pyarrow.Table`, a row for each sample. Raises as `read_series` does."""
    with opened(path) as file, _understood():
        metadata = _pq.read_metadata(file)
        # a text of a million rows is then in memory once, whatever the file says of its own types
        texts = [name for name in COLUMNS if name in metadata.schema.names]
        samples = _pq.ParquetFile(file, metadata=metadata, read_dictionary=texts, pre_buffer=False)
        _require_small(samples, file)
        # Without threads: if only some of Arrow's can be started, the others write into memory that is no longer
        # theirs. In so few columns they save no time, either.
        return samples.read(use_threads=False)


@contextmanager
def _understood() -> Generator[None]:
    """Turn what Arrow and its columns raise into a ValueError."""
    try:
        yield
    except (_pa.ArrowException, *UNEXPECTED) as error:
        raise ValueError(f"not a series file: {words(error)}") from error


def _require_small(samples: Any, file: BufferedReader) -> None:
    """Refuse what would take more memory than series of the size of a file do. Raises ValueError."""
    groups = [samples.metadata.row_group(n) for n in range(samples.metadata.num_row_groups)]
    size_bytes, rows_count = os.fstat(file.fileno()).st_size, sum(g.num_rows for g in groups)
    most_bytes = min(MOST_UNPACKED_BYTES, max(SMALL_BYTES, MOST_RATIO * size_bytes))
    if rows_count > MOST_SAMPLES or rows_count * _ROW_BYTES > most_bytes:
        raise ValueError(f"{rows_count} samples in {size_bytes} bytes are more than any trial's")
    for field in samples.schema_arrow:
        if field.type != (_TYPES.get(field.name)):
            raise ValueError(f"its column {field.name[:40]!r} is of type {str(field.type)[:80]}")
    unpacked_bytes = 0
    for group in groups:
        for column in map(group.column, range(group.num_columns)):
            if unusual := sorted({*column.encodings} - _ENCODINGS):
                raise ValueError(
                    f"its column {column.path_in_schema[:40]!r} is encoded by {', '.join(unusual)}"
                )
            unpacked_bytes += sum(unpacked_sizes(_chunk(column, file, size_bytes)))
            if unpacked_bytes > most_bytes:
                raise ValueError(f"{size_bytes} bytes unpack to {unpacked_bytes}, more than any trial's")


def _chunk(column: Any, file: BufferedReader, size_bytes: int) -> bytes:
    """Return the bytes of a column in a row group, where Arrow reads them. Raises ValueError: they can't be there."""
    begin, length = column.data_page_offset, column.total_compressed_size
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < begin:
        begin = column.dictionary_page_offset
    if not 0 <= begin <= begin + length <= size_bytes:
        raise ValueError(f"its column {column.path_in_schema[:40]!r} lies outside of it")
    file.seek(begin)
    return file.read(length)


def _series_of(table: Any) -> tuple[Series, ...]:
    table = table.unify_dictionaries().combine_chunks()
    if not table.num_rows:
        return ()
    if "more" not in table.column_names:  # as series 1 were
        nothing = _pa.array([""] * table.num_rows).dictionary_encode()
        table = table.append_column("more", nothing).combine_chunks()
    for name in SAMPLE:
        if name not in table.column_names:  # as series 1 and 2 were
            table = table.append_column(name, _pa.array(np.full(table.num_rows, np.nan)))
    texts: list[list[str]] = []
    key = np.zeros(table.num_rows, dtype=np.int64)  # mixed radix: the channel of each row as one number
    for name in COLUMNS:
        column = table[name].chunk(0)
        texts.append(column.dictionary.to_pylist())
        key = key * len(texts[-1]) + _numbers(column.indices)
    numbers: NDArray[np.float64] = np.column_stack([_numbers(table[name].chunk(0)) for name in SAMPLE])
    order = np.argsort(key, kind="stable")
    keys, starts = np.unique(key[order], return_index=True)
    series = [
        Series.of_rows(_channel(int(k), texts), numbers[rows])
        for k, rows in zip(keys, np.split(order, starts[1:]), strict=True)
    ]
    return tuple(sorted(series, key=lambda s: s.channel.name))


def _numbers(column: Any) -> NDArray[Any]:
    """Take a column without nulls to numpy; pyarrow's own way imports pandas where it is installed, which
    takes half a second.
    """
    return np.from_dlpack(column)


def _table(samples: Mapping[Channel, NDArray[np.float64]]) -> Any:
    rows = np.repeat(np.arange(len(samples)), [len(s) for s in samples.values()])
    texts = zip(*(channel_texts(channel) for channel in samples), strict=True)
    numbers = np.ascontiguousarray(np.concatenate(list(samples.values())).T)
    columns = [*(_repeated(t, rows) for t in texts), *(_column(_pa.float64(), number) for number in numbers)]
    return _pa.Table.from_arrays(columns, schema=_SCHEMA)


def _repeated(texts: Sequence[str], rows: NDArray[np.int64]) -> Any:
    """Make a dictionary-encoded column with the text of each row."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    encoded = [text.encode() for text in numbers]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    dictionary = _pa.StringArray.from_buffers(
        len(encoded), _pa.py_buffer(ends), _pa.py_buffer(b"".join(encoded))
    )
    indices = np.array([numbers[text] for text in texts], dtype=np.int32)
    return _pa.DictionaryArray.from_arrays(_column(_pa.int32(), indices[rows]), dictionary)


def _column(of: Any, numbers: NDArray[Any]) -> Any:
    """Make a column without nulls, as `_numbers` takes it back: `pa.array` would import pandas, too."""
    return _pa.Array.from_buffers(of, len(numbers), [None, _pa.py_buffer(numbers)])


def _channel(key: int, texts: list[list[str]]) -> Channel:
    values: list[str] = []
    for options in reversed(texts):
        key, index = divmod(key, len(options))
        values.insert(0, options[index])
    return channel_from(tuple(values))


@lru_cache(maxsize=1024)  # the trials of a campaign have the same
def channel_from(texts: tuple[str, ...]) -> Channel:
    """Parse a channel from its texts, in the order of COLUMNS. Raises ValueError."""
    *plain, more = texts
    further: dict[str, Json] = json_from(more) if more else {}
    plain_fields = dict(zip(_PLAIN, plain, strict=True))
    if plain_fields["quantity"] == "goodput":
        plain_fields["unit"] = "B/s"  # older series have "B"
    return from_json(Channel, {**plain_fields, **further})


@cache
def channel_texts(channel: Channel) -> tuple[str, ...]:
    """Write a channel as texts, in the order of COLUMNS."""
    specification = {
        name: value for name, value in asdict(channel.specification).items() if value is not None
    }
    further = {
        name: value for name, value in (("covers", channel.covers), ("specification", specification)) if value
    }
    return (
        *(str(getattr(channel, name)) for name in _PLAIN),
        json.dumps(to_json(further)) if further else "",
    )
