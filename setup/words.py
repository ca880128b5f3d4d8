"""Print the words of the documents by folder (as `wc -w` counts), beside the most that they may have.

Usage: .venv/bin/python setup/words.py [--pages]

`--pages` prints a line for each page. The changelog and its fragments are left out. Limits only fall: whoever shortens pages
lowers that of their folder (tests/repository/test_words.py holds them).
"""

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMITS = {
    ".": 1_700,
    "benchmarks": 1_200,
    "docs": 600,
    "docs/explanations": 21_200,
    "docs/explanations/decisions": 28_200,
    "docs/how-to": 24_600,
    "docs/list": 200,
    "docs/reference": 12_200,
    "docs/studies": 3_000,
    "docs/tutorials": 600,
}
GOAL = 45_000  # all together


def pages(root: Path = ROOT) -> list[Path]:
    """List the documents: those beside the code, benchmarks' and all of docs/."""
    found = [*root.glob("*.md"), *(root / "benchmarks").glob("*.md"), *(root / "docs").rglob("*.md")]
    return sorted(page for page in found if page.name != "CHANGELOG.md")


def counted(root: Path = ROOT) -> dict[str, int]:
    """Count the words of each page, by its path below root."""
    return {page.relative_to(root).as_posix(): len(page.read_text(encoding="utf-8").split()) for page in pages(root)}


def by_folder(words: dict[str, int]) -> dict[str, int]:
    """Add up the words of pages in one folder."""
    total: Counter[str] = Counter()
    for page, count in words.items():
        total[Path(page).parent.as_posix()] += count
    return dict(total)


def too_long(words: dict[str, int], limits: dict[str, int]) -> list[str]:
    """Say which folders have more words than they may, or have no limit, each in a sentence."""
    return [
        f"{folder}: {count} words, at most {limits.get(folder, 0)}; shorten its pages, link what another page says"
        for folder, count in sorted(by_folder(words).items())
        if count > limits.get(folder, 0)
    ]


def main() -> None:
    """Print the words, and exit with 1 if there are too many."""
    words = counted()
    if "--pages" in sys.argv[1:]:
        for page, count in sorted(words.items(), key=lambda pair: pair[1]):
            print(f"{count:7}  {page}")
    for folder, count in sorted(by_folder(words).items()):
        print(f"{count:7} of {LIMITS.get(folder, 0):6}  {folder}")
    print(f"{sum(words.values()):7} of {sum(LIMITS.values()):6}  all; the goal is {GOAL}")
    if sentences := too_long(words, LIMITS):
        sys.exit("\n".join(sentences))


if __name__ == "__main__":
    main()
