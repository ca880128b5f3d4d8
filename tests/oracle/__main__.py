"""`python -m tests.oracle RESULTS ...`: hold what perjoule prints of results folders against the second
calculation.
"""

import sys
from pathlib import Path

from .check import apart, checked, recomputed


def main(folders: list[str]) -> int:
    """Print for each folder how many numbers were checked, and those that differ; 1 if any does."""
    if not folders or folders[0].startswith("-"):
        print(__doc__)
        return 2
    wrong = 0
    for folder in map(Path, folders):
        found = checked(folder)
        known = recomputed(found)
        skipped = len(found) - len(known)
        print(
            f"{folder}: {len(known)} numbers of {known['trial'].nunique()} trials checked, {skipped} not "
            "recomputed"
        )
        print(f"  largest relative difference {known['difference_ratio'].max():.2g}")
        if len(differing := apart(known)):
            print(differing.to_string(index=False, max_rows=40, na_rep=""))
        wrong += len(differing)
    return 1 if wrong else 0


sys.exit(main(sys.argv[1:]))
