"""Are imports of two clients with different clocks, each with its own fio report, doubted, refused, or
accepted without a word?

    python benchmarks/clocks_apart.py [--runs 200] [--seed 1]

Both clients load at the same time for the same 5 to 60 s. Each run draws the difference of
their clocks, from 1 ms to 4 h, and imports both reports at once, or one after the other as two commands do.
"""

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from perjoule import importing
from perjoule.importing.sources import sources
from perjoule.views.content import Content

REPORT = Path(__file__).parents[1] / "tests" / "transcripts" / "imported" / "joined" / "client-1.json"


def imported(folder: Path, ran_s: float, apart_s: float, *, at_once: bool) -> str:
    """Import both clients' reports and say what the table does."""
    files: list[str] = []
    for number in (1, 2):
        found = json.loads(REPORT.read_text())
        found["timestamp_ms"] += round(apart_s * 1e3) * (number - 1)
        for job in found["jobs"]:
            job["write"]["runtime"] = job["job_runtime"] = round(ran_s * 1e3)
        files.append(str(folder / f"client-{number}.json"))
        Path(files[-1]).write_text(json.dumps(found))
    results = importing.create(folder / "results")
    for words in [files] if at_once else [[file] for file in files]:
        importing.bring(results, sources(words, "UTC")[0])
    cells = Content(results).cells
    if all("throughput_bytes_per_s" not in cell.metrics for cell in cells):
        return "refused"
    return (
        "doubted"
        if all(any("clock" in doubt or "one trial" in doubt for doubt in cell.doubts) for cell in cells)
        else "passed in silence"
    )


def main() -> None:
    """Print how many imports came to what."""
    parser = argparse.ArgumentParser(description="What becomes of two clients whose clocks differ.")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    dice, told = random.Random(asked.seed), Counter[tuple[str, str]]()
    for _ in range(asked.runs):
        apart_s = dice.choice((-1, 1)) * 10 ** dice.uniform(-3, 4.16)
        at_once = dice.random() < 0.5
        with tempfile.TemporaryDirectory() as folder:
            came_to = imported(Path(folder), dice.uniform(5, 60), apart_s, at_once=at_once)
        told["one import" if at_once else "two imports", came_to] += 1
    for (way, came_to), count in sorted(told.items()):
        print(f"{way}: {count} {came_to}")
    sys.exit(any(came_to == "passed in silence" for _, came_to in told))


if __name__ == "__main__":
    main()
