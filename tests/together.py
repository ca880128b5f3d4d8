"""Which tests run in one process: those that share what a fixture of their file made; any other runs where
there is room.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

Fixture = tuple[str, int]
"""Its name, and which of its parameters it was made for."""


def shared(test: pytest.Function) -> set[Fixture]:
    """The fixtures of its file that a test wants."""
    indices = test.callspec.indices if hasattr(test, "callspec") else {}
    scopes = {name: made[-1].scope for name, made in test._fixtureinfo.name2fixturedefs.items() if made}
    return {(name, indices.get(name, 0)) for name, scope in scopes.items() if scope in ("class", "module")}


def groups(wanted: list[set[Fixture]]) -> list[list[int]]:
    """Join tests by chains of shared fixtures; a test is its place in the list of what each wants."""
    chains: list[tuple[set[Fixture], list[int]]] = []
    for place, fixtures in enumerate(wanted):
        joined = [chain for chain in chains if chain[0] & fixtures]
        chains = [chain for chain in chains if not chain[0] & fixtures]
        chains.append(
            (
                fixtures.union(*(names for names, _ in joined)),
                [*(p for _, places in joined for p in places), place],
            )
        )
    return [places for _, places in chains]


def mark(tests: list[pytest.Item]) -> None:
    """Mark the groups for `--dist loadgroup`: nothing that a file shares is made twice, and no test waits
    for its file.
    """
    files: dict[Path, list[pytest.Function]] = {}
    for test in tests:
        if isinstance(test, pytest.Function) and not test.get_closest_marker("xdist_group"):
            files.setdefault(test.path, []).append(test)
    for path, functions in files.items():
        together = (places for places in groups([shared(test) for test in functions]) if len(places) > 1)
        for number, places in enumerate(together):
            for place in places:
                functions[place].add_marker(
                    pytest.mark.xdist_group(f"{path.parent.name}-{path.stem}-{number}")
                )


# What waits for daemons and what computes, in turns; then what takes seconds, so that nothing long begins last.
LAST = ("meters", "repository")


def in_turns(tests: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Order tests for processes that take one group each: of each folder as many at any time as it has of
    all, and some folders last.
    """
    folders: dict[str, list[pytest.Item]] = {}
    for test in tests:
        folders.setdefault(test.path.parent.name, []).append(test)
    places = {
        test: (folder in LAST, (number + 0.5) / len(among))
        for folder, among in folders.items()
        for number, test in enumerate(among)
    }
    return sorted(tests, key=places.__getitem__)


def without_group(name: str) -> str:
    """The name of a test as its file has it, and as pytest takes it: xdist writes the group behind it."""
    test, at, group = name.rpartition("@")
    return test if at and "]" not in group and "::" not in group else name
