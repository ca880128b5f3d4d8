"""Print the words of the documents by folder (as `wc -w` counts), and the most that all may have.

Usage: .venv/bin/python setup/words.py [--pages]

`--pages` prints a line for each page. The changelog and its fragments are left out. `MOST` only falls:
whoever shortens pages lowers it (tests/repository/test_words.py holds it), so that a new page makes room for
itself.
"""

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 45_000


def pages(root: Path = ROOT) -> list[Path]:
    """List the documents: those beside the code, benchmarks' and all of docs/."""
    found = [*root.glob("*.md"), *(root / "benchmarks").glob("*.md"), *(root / "docs").rglob("*.md")]
    return sorted(page for page in found if page.name != "CHANGELOG.md")


def counted(root: Path = ROOT) -> dict[str, int]:
    """Count the words of each page, by its path below root."""
    return {
        page.relative_to(root).as_posix(): len(page.read_text(encoding="utf-8").split())
        for page in pages(root)
    }


def by_folder(words: dict[str, int]) -> dict[str, int]:
    """Add up the words of pages in one folder."""
    total: Counter[str] = Counter()
    for page, count in words.items():
        total[Path(page).parent.as_posix()] += count
    return dict(total)


def main() -> None:
    """Print the words, and exit with 1 if there are too many."""
    words = counted()
    if "--pages" in sys.argv[1:]:
        for page, count in sorted(words.items(), key=lambda pair: pair[1]):
            print(f"{count:7}  {page}")
    for folder, count in sorted(by_folder(words).items()):
        print(f"{count:7}  {folder}")
    total = sum(words.values())
    print(f"{total:7}  all, of {MOST} at most")
    if total > MOST:
        sys.exit("too many words: shorten pages, and link what another page says")


if __name__ == "__main__":
    main()
