"""The list of all doubts, from their words."""

from collections.abc import Iterator

from perjoule.model.doubts import KINDS, Kind

HEAD = """\
What records, `show`, reports and exports say against their own numbers. The sentence is for people; scripts compare the `id` and
its values, whose names end in their units (one that is not finite is `null`).
"""


def body() -> str:
    """Lay out the page below its title: a section for each kind, those that can cost most first."""
    return HEAD + "".join(line for kind in KINDS for line in section(kind))


def section(kind: Kind) -> Iterator[str]:
    """Lay out the doubts of a kind; nothing of one without words of its own."""
    rows = [
        f"| `{doubt.id}` | {', '.join(f'`{name}`' for name in doubt.values)} | "
        f"{' '.join((doubt.sentence.__doc__ or '').split())} |\n"
        for doubt in kind.templates
    ]
    if rows:
        yield f"\n## {kind.title}\n\n{kind.cost[0].upper()}{kind.cost[1:]}.\n\n"
        yield "| id | values | meaning, and what to do |\n|---|---|---|\n"
        yield from rows
