"""A submission to the IO500 list: what its files state, and what they state it from.

For recomputing and auditing it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, prod

from perjoule.machine.untrusted import UNEXPECTED
from perjoule.model.units import BYTES
from perjoule.workloads.imported.io500 import texts as programs
from perjoule.workloads.imported.io500.amounts import exact_count
from perjoule.workloads.imported.io500.stated import BANDWIDTHS, RATES, Io500Score, Stated, phases, score
from perjoule.workloads.imported.run import Texts, moment_s

DATE = "%Y-%m-%d %H:%M:%S"
_FREE = re.compile(r"^FS *: *([\d.]+) ([KMGTPE]iB) +Used FS: ([\d.]+)%", re.MULTILINE)


@dataclass(frozen=True)
class SubmittedPhase:
    """A phase as stated, and what its own program says."""

    stated: Stated
    file: str  # the program's text; "" without one
    rate: float | None  # of the text: GiB/s or kIOPS
    count: int | None  # bytes or operations, where a file has them exactly
    began_s: float | None  # in local time, as if it were UTC


@dataclass(frozen=True)
class Submission:
    """All phases, in the order in which they ran, and the score that is printed."""

    phases: tuple[SubmittedPhase, ...]
    score: Io500Score | None
    free_bytes: tuple[float, float] | None  # at the start: lowest and highest that the printed digits allow

    def phase(self, name: str) -> SubmittedPhase | None:
        """Find a phase by its name."""
        return next((phase for phase in self.phases if phase.stated.name == name), None)


def submission(texts: Texts) -> Submission:
    """Read a submission. Raises ValueError: no phase has a result."""
    submitted = tuple(_phase(phase, texts) for phase in phases(texts))
    first = next((texts[phase.file] for phase in submitted if phase.file), "")
    return Submission(submitted, score(texts), _free_bytes(first))


def recomputed(rates: Mapping[str, float]) -> tuple[float, float, float] | None:
    """Compute the score: two geometric means, and the root of their product; None if a phase has no rate.

    Source: https://io500.org/about, the scoring of the list.
    """
    sides = [[rates.get(name, 0.0) for name in names] for names in (BANDWIDTHS, RATES)]
    if not all(isfinite(rate) and rate > 0 for side in sides for rate in side):
        return None
    bandwidth, iops = (prod(rate ** (1 / len(side)) for rate in side) for side in sides)
    return bandwidth, iops, (bandwidth * iops) ** 0.5


def _phase(stated_phase: Stated, texts: Texts) -> SubmittedPhase:
    file = programs.name_of(stated_phase.name, texts)
    text = texts.get(file, "")
    try:
        count = exact_count(stated_phase, texts.get(f"{stated_phase.name}.csv", ""), text)
    except UNEXPECTED:
        count = None  # damaged; the import names it
    try:
        began_s = (
            moment_s(stated_phase.keys["t_start"], DATE, "UTC")
            if "t_start" in stated_phase.keys
            else programs.began_s(text, "UTC")
        )
    except UNEXPECTED:
        began_s = None
    return SubmittedPhase(stated_phase, file, programs.rate(stated_phase.name, text), count, began_s)


def _free_bytes(text: str) -> tuple[float, float] | None:
    match = _FREE.search(text)
    if match is None or float(match[1]) == 0:
        return None
    unit, size, used = BYTES[match[2]], float(match[1]), float(match[3])
    return (size - 0.05) * unit * (1 - (used + 0.05) / 100), (size + 0.05) * unit * (1 - (used - 0.05) / 100)
