"""Load patterns, which reveal the offset of a meter's clock: when the load was switched, and the meters'
samples meanwhile.

alignment/<n>/pattern.json, series.parquet
"""

import json
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from perjoule.machine.untrusted import read_as
from perjoule.model import Clock, Series
from perjoule.store.disk import spoken
from perjoule.store.place import OpenFolder
from perjoule.store.records import to_json

if TYPE_CHECKING:
    from perjoule.store.samples import ParquetSink

# `samples` is imported where it is used: with pyarrow that takes longer than a page should whose campaign has
# no patterns.

PATTERN, SERIES = "pattern.json", "series.parquet"


@dataclass(frozen=True)
class LoadPattern:
    """The times at which the load of some hosts was switched, first on, by the clock of the machine that
    runs perjoule.
    """

    clock: Clock
    edges_s: tuple[float, ...]
    hosts: tuple[str, ...]

    @property
    def edges_utc_s(self) -> tuple[float, ...]:
        """The same moments in seconds of UTC."""
        return tuple(edge_s - self.clock.monotonic_s + self.clock.utc_s for edge_s in self.edges_s)


@contextmanager
def new_pattern(results: OpenFolder) -> Generator[tuple[OpenFolder, "ParquetSink"]]:
    """Return the folder of the next pattern and the file for its samples.

    Nothing reads it before `keep_pattern`.
    """
    from perjoule.store.samples import ParquetSink

    with ExitStack() as places:
        with spoken(results.path / "alignment"):
            folder = places.enter_context(results.next_number("alignment"))
            sink = ParquetSink(folder.through / SERIES)
        try:
            yield folder, sink
        finally:
            sink.abandon()


def keep_pattern(folder: OpenFolder, sink: "ParquetSink", pattern: LoadPattern) -> None:
    """Keep a pattern with its samples. Raises MachineError."""
    with spoken(folder.path):
        sink.close()
        folder.put(PATTERN, json.dumps(to_json(pattern), indent=1) + "\n")


def read_patterns(results: Path) -> tuple[tuple[LoadPattern, tuple[Series, ...]], ...]:
    """Read the kept patterns, in order. Raises MachineError."""
    patterns: list[tuple[LoadPattern, tuple[Series, ...]]] = []
    for path in sorted((results / "alignment").glob(f"*/{PATTERN}"), key=lambda p: int(p.parent.name)):
        from perjoule.store.samples import read_series

        with spoken(path.parent):
            pattern = read_as(LoadPattern, path)
            patterns.append((pattern, read_series(path.parent / SERIES)))
    return tuple(patterns)
