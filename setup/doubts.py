"""Write docs/reference/doubts.md, the list of all doubts, from their words (perjoule/model/doubts).

Usage: .venv/bin/python setup/doubts.py
"""

from collections.abc import Iterator
from pathlib import Path

from perjoule.model.doubts import KINDS, Kind

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "doubts.md"
HEAD = """# Doubts

What records, `show`, reports and exports say against their own numbers. The sentence is for people; scripts compare the `id` and
its values, whose names end in their units (one that is not finite is `null`). <!-- Written by setup/doubts.py. -->
"""


def page() -> str:
    """Lay out the page: a section for each kind, those that can cost most first."""
    return HEAD + "".join(line for kind in KINDS for line in section(kind))


def section(kind: Kind) -> Iterator[str]:
    """Lay out the doubts of a kind; nothing of one without words of its own."""
    rows = [
        f"| `{one.id}` | {', '.join(f'`{name}`' for name in one.values)} | {' '.join((one.sentence.__doc__ or '').split())} |\n"
        for one in kind.templates
    ]
    if rows:
        yield f"\n## {kind.title}\n\n{kind.cost[0].upper()}{kind.cost[1:]}.\n\n"
        yield "| id | values | meaning, and what to do |\n|---|---|---|\n"
        yield from rows


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
