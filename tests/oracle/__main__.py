"""`python -m tests.oracle RESULTS ...`: hold what perjoule prints of results folders against the second calculation."""

import subprocess
import sys
import tempfile
from pathlib import Path

from .check import CELL, TOLERANCE_RATIO, compared, recomputed

PERJOULE = str(Path(sys.executable).with_name("perjoule"))


def main(folders: list[str]) -> int:
    """Print for each folder how many numbers were checked, and those that differ; 1 if any does."""
    if not folders or folders[0].startswith("-"):
        print(__doc__)
        return 2
    wrong = 0
    for folder in map(Path, folders):
        with tempfile.TemporaryDirectory() as made:
            table = Path(made) / "table.csv"
            subprocess.run([PERJOULE, "export", str(folder), "--csv", str(table)], check=True, stdout=subprocess.DEVNULL)
            found = compared(folder, table)
        checked = recomputed(found)
        skipped = len(found) - len(checked)
        print(f"{folder}: {len(checked)} numbers of {checked['trial'].nunique()} trials checked, {skipped} not recomputed")
        print(f"  largest relative difference {checked['difference_ratio'].max():.2g}")
        apart = checked[~(checked["difference_ratio"] <= TOLERANCE_RATIO)]
        if len(apart):
            print(apart[["trial", *CELL, "metric", "number", "theirs", "own"]].to_string(index=False, max_rows=40, na_rep=""))
        wrong += len(apart)
    return 1 if wrong else 0


sys.exit(main(sys.argv[1:]))
