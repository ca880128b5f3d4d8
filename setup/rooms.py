"""The rooms of perjoule and the arrows between them: `python setup/rooms.py [SRC]` counts those of a checkout
(default: src).

A room is a module or package at the root of `perjoule`; an arrow leads from a room to one that it imports.
import-linter takes its contract `private` from here, because its own `protected` wants each driver's package
listed: the next one would be forgotten.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grimp
from importlinter import Contract, ContractCheck, fields, output

ROOT = "perjoule"


def rooms(graph: grimp.ImportGraph) -> Mapping[str, set[str]]:
    """Give the rooms that each room imports, without the two files that belong at the root."""
    found: dict[str, set[str]] = {name.removeprefix(f"{ROOT}."): set() for name in graph.find_children(ROOT)}
    for module in graph.modules - {ROOT}:
        first = module.split(".")[1]
        found[first] |= {
            name.split(".")[1] for name in graph.find_modules_directly_imported_by(module) - {ROOT}
        } - {first}
    return {name: found[name] for name in sorted(found) if name != "__main__"}


def home(module: str, families: set[str]) -> str:
    """Name the package to which a module is private, or ""."""
    names = module.split(".")
    for at in range(len(names) - 1, 0, -1):
        if names[at].startswith("_") and not names[at].startswith("__"):
            return ".".join(names[:at])
        if at == 3 and names[1] in families and not names[2].startswith("_"):
            return ".".join(names[:3])
    return ""


class Private(Contract):
    """Hold every import of a private module within the package to which it is private."""

    families: Any = fields.SetField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Find the imports from outside."""
        families = set(self.families)
        found = [
            f"{module} imports {name}"
            for name in sorted(graph.modules)
            if (room := home(name, families))
            for module in sorted(graph.find_modules_that_directly_import(name))
            if module != room and not module.startswith(f"{room}.")
        ]
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print them."""
        for line in check.metadata["found"]:
            output.print_error(line)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(sys.argv[1] if len(sys.argv) > 1 else "src").resolve()))
    counted = rooms(grimp.build_graph(ROOT, cache_dir=None))
    for room, imported in counted.items():
        print(f"{room:12} {' '.join(sorted(imported))}")
    print(f"{len(counted)} rooms, {sum(map(len, counted.values()))} arrows")
