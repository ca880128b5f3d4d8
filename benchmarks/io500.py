"""How many submissions to the IO500 list `perjoule import` reads, and how well their numbers agree with what
they state.

Reads every folder below DIR that holds a result.txt or a result_summary.txt, as `perjoule import` does (a
copy of the summary above the results is not counted twice), and prints:

- the folders that come in, whole and in part, and those that don't, each with the reason
- the rates (bytes or operations over the window of the trial) that agree with result_summary.txt: within 0.1
  %, or the rounding of the digits that it prints
- the scores that are recomputed within 0.1 % of the printed one
- what `perjoule audit` finds: verdicts by rule
- with --verify N: of N folders spread over the whole, those whose results, once imported, `perjoule verify`
  recomputes

usage: .venv/bin/python benchmarks/io500.py DIR [--verify N]

The list's submissions are at https://github.com/IO500/submission-data; clone it outside this repository.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from perjoule import importing
from perjoule.importing.runs import SourceRun, runs
from perjoule.importing.sources import Source, sources
from perjoule.importing.submissions import audit_submission
from perjoule.model.errors import PerjouleError
from perjoule.results import verification
from perjoule.workloads.imported import (
    IO500_FILES,
    Submission,
    SubmittedPhase,
    joined,
    recomputed,
    submission,
)

AGREES_RATIO = 1e-3
GOAL_FOLDERS, GOAL_RATES = 0.95, 1.0


def main() -> int:
    """Print all figures; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--verify", type=int, default=0, metavar="N")
    asked = parser.parse_args()
    whole, partly, refused, apart = 0, list[str](), list[str](), list[str]()
    rates, scores, verdicts = Counter[bool](), Counter[str](), Counter[tuple[str, str]]()
    found = list(_submissions(asked.folder))
    for source in found:
        try:
            texts = source.texts()
            read, of = runs(source), submission(texts)
        except (PerjouleError, ValueError) as error:
            refused.append(f"{source.path}: {error}")
            continue
        failed = [one.run.operation for one in read if one.run.outcome is None]
        whole += not failed
        partly += [f"{source.path}: {', '.join(failed)}"] if failed else []
        for one in read:
            phase = of.phase(one.run.operation)
            if one.run.outcome is not None and phase is not None:
                holds = _agrees(one, phase)
                rates[holds] += 1
                apart += [] if holds else [f"{source.path}: {one.run.operation}"]
        scores[_score(of)] += 1
        verdicts.update((verdict.kind, verdict.rule) for verdict in audit_submission(of))
    if not found:
        print(f"{asked.folder}: no folder with {' or '.join(IO500_FILES)}")
        return 1
    came = (whole + len(partly)) / len(found)
    print(
        f"folders: {len(found)}; whole {whole}, in part {len(partly)}, refused {len(refused)}: {came:.1%} "
        "come in"
    )
    print(*(f"  {line}" for line in (*partly, *refused)), sep="\n", end="\n" * bool(partly or refused))
    agreeing = rates[True] / max(1, rates.total())
    print(f"rates: {rates.total()}; {agreeing:.2%} agree with result_summary.txt")
    print(*(f"  {line}" for line in apart), sep="\n", end="\n" * bool(apart))
    print("scores: " + ", ".join(f"{count} {words}" for words, count in sorted(scores.items())))
    for (kind, rule), count in sorted(verdicts.items()):
        print(f"  {count:5} {kind}: {rule}")
    sample = found[:: max(1, len(found) // asked.verify)] if asked.verify else []
    differing = [line for source in sample for line in _differs(source)]
    if sample:
        print(f"verified after import: {len(sample)} folders, {len(differing)} differences")
        print(*(f"  {line}" for line in differing), sep="\n", end="\n" * bool(differing))
    return int(came < GOAL_FOLDERS or agreeing < GOAL_RATES or bool(differing))


def _submissions(folder: Path) -> list[Source]:
    found: dict[Path, Source] = {}
    for above in sorted({path.parent for name in IO500_FILES for path in folder.rglob(name)}):
        for source in sources([str(above)], "UTC")[0]:
            if source.format == "io500":
                found.setdefault(source.path.resolve(), source)
    return list(found.values())


def _agrees(one: SourceRun, phase: SubmittedPhase) -> bool:
    outcome, printed = joined([one.run]), phase.stated.rate or phase.stated.score
    amount = sum(r.moved_bytes if phase.stated.moves else r.operations_count for r in outcome.results)
    rate = amount / (outcome.ended_s - outcome.began_s) / phase.stated.per_s
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    # A window is kept in seconds of UTC, whose floats have 0.2 us, and its amount in whole bytes or
    # operations.
    return abs(rate - float(printed)) <= max(
        1.01 * half, AGREES_RATIO * float(printed), phase.stated.per_s**-1
    )


def _score(of: Submission) -> str:
    found = recomputed({one.stated.name: float(one.stated.score) for one in of.phases})
    if found is None or of.score is None:
        return "not recomputed"
    return (
        "agree"
        if abs(found[2] / float(of.score.total) - 1) <= AGREES_RATIO
        else "differ from the printed one"
    )


def _differs(source: Source) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as room:
        results = importing.create(Path(room) / "results")
        importing.bring(results, [source])
        return tuple(f"{source.path}: {words}" for words in verification.verify(results).differences)


if __name__ == "__main__":
    sys.exit(main())
