"""Samples that were taken while a file system was aged: ageing/<n>/series.parquet.

Records of its trials name the folder.
"""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from perjoule.model import Series
from perjoule.store.disk import spoken
from perjoule.store.place import OpenFolder

if TYPE_CHECKING:
    from perjoule.store.samples import ParquetSink

# `samples` is imported where it is used, as in `patterns`.

FOLDER, SERIES = "ageing", "series.parquet"


@contextmanager
def new_ageing(results: OpenFolder) -> Generator[tuple[str, "ParquetSink"]]:
    """Return the name of the next folder and the file for its samples, which is whole after the block.

    Raises MachineError.
    """
    from perjoule.store.samples import ParquetSink

    with ExitStack() as places:
        with spoken(results.path / FOLDER):
            folder = places.enter_context(results.next_number(FOLDER))
            sink = ParquetSink(folder.through / SERIES)
        try:
            yield folder.path.name, sink
        finally:
            with spoken(folder.path):
                sink.close()
                folder.sync()


def ageing_series(results: Path, name: str) -> tuple[Series, ...]:
    """Read the samples of a folder.

    Raises OSError, and ValueError if they are damaged, or it is not the name of one.
    """
    from perjoule.store.samples import read_series

    if not name.isdigit():
        raise ValueError(f"{name!r} is not a number of a folder below {FOLDER}")
    return read_series(results / FOLDER / name / SERIES)
