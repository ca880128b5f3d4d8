"""The folder of an IO500: each of its phases is a run. https://io500.org, https://github.com/IO500/io500

result_summary.txt states the rates. Since 2020, result.txt has the local times of day to a second; before,
IOR's and mdtest's own text has them. Tables of ranks have the amounts. What is damaged or missing is named,
and costs only its own phase.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from perjoule.machine.untrusted import UNEXPECTED, words
from perjoule.model import Outcome
from perjoule.model.doubts import DERIVED, TIMES, WORK, Doubt
from perjoule.workloads import ior
from perjoule.workloads.imported.io500 import texts as programs
from perjoule.workloads.imported.io500.amounts import exact_count, reckoned_count
from perjoule.workloads.imported.io500.stated import BANDWIDTHS, RATES, RESULT, SUMMARY, Stated, head, phases
from perjoule.workloads.imported.io500.submission import (
    DATE,
    Submission,
    SubmittedPhase,
    recomputed,
    submission,
)
from perjoule.workloads.imported.io500.texts import dated
from perjoule.workloads.imported.ior_text import machine
from perjoule.workloads.imported.mdtest import brief, direction, results
from perjoule.workloads.imported.run import DAMAGED, ImportedRun, Texts, Told, moment_s

__all__ = [
    "BANDWIDTHS",
    "RATES",
    "RESULT",
    "SUMMARY",
    "Submission",
    "SubmittedPhase",
    "dated",
    "files_of",
    "recomputed",
    "runs",
    "submission",
]

CONFIG = "config.ini"
AGREES_RATIO = 1e-3
_DATADIR = re.compile(r"^datadir *=[ \t]*(\S(?:.*\S)?|)", re.MULTILINE)
_TRANSFER = re.compile(r"\s-t[ =](\d+)([kmg]?)\b", re.IGNORECASE)
_OPERATION = {"write": "creation", "delete": "removal"}


def files_of(phase: str, texts: Texts) -> tuple[str, ...]:
    """Name the files that describe a phase; its start may be found in the texts of those around it."""
    near = [
        programs.name_of(name, texts)
        for name in _around(phase, [phase_stated.name for phase_stated in phases(texts)])
    ]
    names = (RESULT, SUMMARY, CONFIG, programs.name_of(phase, texts), f"{phase}.csv", *near, _first(texts))
    return tuple(dict.fromkeys(name for name in names if name in texts))


def runs(texts: Texts, hints: Told) -> tuple[ImportedRun, ...]:
    """Read all phases; one that can't be read is a failed run. Raises ValueError if there are none."""
    stated_phases = phases(texts)
    return tuple(_run(_Phase(phase, stated_phases, texts, hints)) for phase in stated_phases)


def _run(phase: "_Phase") -> ImportedRun:
    try:
        return phase.run()
    except UNEXPECTED as error:
        failure = f"{DAMAGED}{phase.of.name} can't be read: {words(error)}"
        return ImportedRun(phase.of.name, (), None, "", None, failure, damaged=True)


@dataclass(frozen=True)
class _Phase:
    of: Stated
    among: Sequence[Stated]
    texts: Texts
    told: Told

    @property
    def file(self) -> str:
        return programs.name_of(self.of.name, self.texts)

    @property
    def text(self) -> str:
        return self.texts.get(self.file, "")

    def run(self) -> ImportedRun:
        datadir = _DATADIR.search(self.texts.get(CONFIG, ""))
        size = (
            _TRANSFER.search(f" {self.of.keys.get('exe', '') or programs.command(self.text)}")
            if self.of.moves
            else None
        )
        size_bytes = (
            int(size[1]) * {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}[size[2].lower()] if size else None
        )
        rate, doubts = self.rate()
        if not isfinite(rate) or rate <= 0:
            return ImportedRun(
                self.of.name,
                (),
                size_bytes,
                datadir[1] if datadir else "",
                None,
                "IO500 reports no rate for it",
            )
        per_s = rate * self.of.per_s
        count, reckoned = self.amount()
        took_s = count / per_s
        began_s, placed = self.began_s(took_s)
        hosts, shared = self.hosts()
        against = (
            placed,
            *(WORK.invalid(reason=reason) for reason in self.of.invalid),
            *shared,
            *reckoned,
            *doubts,
        )
        if self.of.moves:
            direction_name = "read" if self.of.name.endswith("read") else "write"
            client_results = ior.results(
                dict.fromkeys(hosts, (began_s, began_s + took_s)), direction_name, count, size_bytes or 1
            )
        else:
            operation = self.of.name.rsplit("-", 1)[-1]
            direction_name = (
                "read" if operation.startswith("find") else direction(_OPERATION.get(operation, operation))
            )
            client_results = results(hosts, direction_name, began_s, took_s, count)
        version = head(self.texts).get("version", "io500")
        return ImportedRun(
            self.of.name,
            (f"{ranks} ranks",) if (ranks := self.ranks_count()) > 1 else (),
            size_bytes,
            datadir[1] if datadir else "",
            Outcome(version, client_results, (*against, *brief(took_s))),
        )

    def rate(self) -> tuple[float, tuple[Doubt, ...]]:
        """Return GiB/s or kIOPS: as stated; with the digits of the program's own text if only the summary
        states it.
        """
        rate_stated, text = float(self.of.score), programs.rate(self.of.name, self.text)
        doubts: list[Doubt] = []
        if self.of.keys.get("score") and self.of.rate and not _close(float(self.of.rate), self.of.score):
            stated_rate = f"{self.of.rate} {self.of.unit}"
            differ = WORK.results_differ(
                summary_file=SUMMARY, summary=stated_rate, result_file=RESULT, result=str(self.of.score)
            )
            doubts.append(differ)
        if not self.file and not self.of.keys and programs.known(self.of.name):
            doubts.append(WORK.output_missing(file=f"{self.of.name.replace('-', '_')}.txt"))
        if self.file and text is None and programs.known(self.of.name):
            doubts.append(WORK.output_truncated(file=self.file))
        if text is not None and not _close(text, self.of.score):
            score, unit = str(self.of.score), self.of.unit
            doubts.append(WORK.output_differs(file=self.file, rate=text, unit=unit, stated=score))
        exact = text is not None and not doubts and not self.of.keys.get("score")
        return (text if exact and text is not None else rate_stated), tuple(doubts)

    def amount(self) -> tuple[int, tuple[Doubt, ...]]:
        """Return bytes or operations."""
        exact = exact_count(self.of, self.texts.get(f"{self.of.name}.csv", ""), self.text)
        if exact is not None:
            return exact, ()
        reckoned = round(reckoned_count(self.of))
        if not reckoned:
            raise ValueError("it has a rate, and neither an amount nor a time")
        return reckoned, (DERIVED.io500_amount(),)

    def began_s(self, took_s: float) -> tuple[float, Doubt]:
        """Return when it began (UTC), and how well that is known."""
        zone = self.told.zone
        if "t_start" in self.of.keys:
            return moment_s(self.of.keys["t_start"], DATE, zone), TIMES.io500_to_a_second()
        if (own_s := programs.began_s(self.text, zone)) is not None:
            return own_s, TIMES.programs_to_a_second()
        before, after = _around(self.of.name, [phase.name for phase in self.among])
        texts = [self.texts.get(programs.name_of(name, self.texts), "") for name in (before, after)]
        if (ended_s := programs.ended_s(texts[0], zone)) is not None:
            return ended_s, TIMES.after_phase(phase=before)
        if (next_s := programs.began_s(texts[1], zone)) is not None:
            return next_s - took_s, TIMES.before_phase(phase=after)
        if not self.told.ended_s:
            raise ValueError("no file says when it ran")
        phases_from_here = self.among[[phase.name for phase in self.among].index(self.of.name) :]
        return self.told.ended_s - sum(float(phase.took or "0") for phase in phases_from_here), TIMES.undated(
            file=SUMMARY
        )

    def hosts(self) -> tuple[tuple[str, ...], tuple[Doubt, ...]]:
        """Name the clients, and say how the sum is shared among them."""
        first = self.texts.get(_first(self.texts), "")
        count = max(programs.nodes_count(self.text), programs.nodes_count(first), 1)
        hosts = self.told.hosts(machine(first), count)
        equal = DERIVED.equal_shares(program="IO500")
        return hosts, (equal,) if count > 1 else ()

    def ranks_count(self) -> int:
        procs = head(self.texts).get("procs", "")
        return int(procs) if procs.isdigit() else programs.ranks_count(self.text)


def _first(texts: Texts) -> str:
    """Name the first of IOR's texts that names a machine, the same one for all phases."""
    return next((name for name in sorted(texts) if name.startswith("ior") and machine(texts[name])), "")


def _around(phase: str, names: Sequence[str]) -> tuple[str, str]:
    """Name the phases before and after."""
    at = names.index(phase)
    return names[at - 1] if at else "", names[at + 1] if at + 1 < len(names) else ""


def _close(value: float, printed: str) -> bool:
    """Return whether a value agrees with printed digits: within their rounding, or 0.1 %."""
    if not isfinite(float(printed)):
        return False
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    return abs(value - float(printed)) <= max(1.01 * half, AGREES_RATIO * float(printed))
