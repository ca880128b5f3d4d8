"""The way of a trial's series to its points, counted while it is walked: `python setup/walk.py RESULTS` takes the
first valid trial of a results folder.

A file is on the way if a function of it is given series, alone or in a collection; the cache of what follows from
a series alone (`energy/once.py`) is none. A return is a pair of files, of which one calls into the other, where
the way has been before. A visit to the chooser is a choice of channels for all boundaries of a trial.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import cast

import perjoule
from perjoule.energy.metering import Metering
from perjoule.measures.points import points
from perjoule.model import Series
from perjoule.store import Results, open_results

SOURCE = Path(perjoule.__file__).parent
CACHE = "energy/once.py"


@dataclass
class Walk:
    """What was counted: files in the order of the way, pairs of files of which one calls the other, visits."""

    files: list[str] = field(default_factory=list[str])
    steps: dict[tuple[str, str], bool] = field(
        default_factory=dict[tuple[str, str], bool]
    )  # whether it returns
    visits_count: int = 0

    @property
    def returns_count(self) -> int:
        """How often the way comes back."""
        return sum(self.steps.values())

    def enter(self, frame: FrameType, event: str, _argument: object) -> None:
        """Count a call; a profile function of `sys.setprofile`."""
        entered = _place(frame)
        if event != "call" or entered in ("", CACHE):
            return
        self.visits_count += frame.f_code is Metering.of.__func__.__code__
        if any(map(_has_series, _arguments(frame))):
            step = (_caller(frame), entered)
            if step[0] != entered and step not in self.steps:
                self.steps[step] = entered in self.files
            if entered not in self.files:
                self.files.append(entered)


def walked(results: Results) -> Walk:
    """Compute the points of the first valid trial, and count the way of its series."""
    walk = Walk()
    record = next(record for record in results.latest() if record.status == "valid")
    series = results.series(record)
    sys.setprofile(walk.enter)
    try:
        points(record, series)
    finally:
        sys.setprofile(None)
    return walk


@cache
def _below(file: str) -> str:
    """Return a file's place in the package; "" elsewhere."""
    path = Path(file)
    return path.relative_to(SOURCE).as_posix() if path.is_relative_to(SOURCE) else ""


def _place(frame: FrameType) -> str:
    return _below(frame.f_code.co_filename)


def _caller(frame: FrameType) -> str:
    outer = frame.f_back
    while outer is not None and _place(outer) in ("", CACHE):
        outer = outer.f_back
    return _place(outer) if outer is not None else ""


def _arguments(frame: FrameType) -> Iterator[object]:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return (frame.f_locals[name] for name in names if name in frame.f_locals)


def _has_series(value: object, depth: int = 2) -> bool:
    """Whether a value is a series, or a collection in whose first items is one."""
    if isinstance(value, Series):
        return True
    items = cast("Iterable[object]", value.values() if isinstance(value, Mapping) else value)
    inside = isinstance(value, Mapping | tuple | list) and depth > 0
    return inside and any(_has_series(item, depth - 1) for item in islice(items, 3))


if __name__ == "__main__":
    counted = walked(open_results(Path(sys.argv[1])))
    print(f"{len(counted.files):6} files: {', '.join(counted.files)}")
    print(f"{counted.returns_count:6} returns\n{counted.visits_count:6} visits to the chooser")
