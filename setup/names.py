"""How much of the names says nothing: `python setup/names.py [SRC] [--where ROOM]` counts those of a checkout
(default: src).

A binding gives a name to something: an assignment, parameter, loop, comprehension, `with`, `except` or
pattern, a function or a class. `self`, `cls`, `_` and `__init__` are nobody's choice and are left out; an
import binds another's name. A vague binding is one of 29 words that would fit anything. The noun of its
content says more: `stdout`, `candidates`, `servers_energy`. `--where` prints the vague ones of a room, by
file and line. Public classes that share a name stand for several things.
"""

import argparse
import ast
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

# No word that is the field's own for something: a `read` beside a `write`, the `first` of several, a `part`
# of a machine.
WORDS = (
    "asked chosen data done found held kept known left named now one other others own rest said seen shown "
    "stated there told "
    "wanted way what where whole word words"
)
VAGUE = frozenset(WORDS.split())
# of all bindings, on the way to 0.015; it only falls (tests/repository/test_vague.py)
MOST_RATIO = 0.0095
FORCED = frozenset({"self", "cls", "_", "__init__"})


class Binding(NamedTuple):
    """A name, and the line that binds it."""

    name: str
    line: int


def bindings(tree: ast.AST) -> Iterator[Binding]:
    """Give every binding of a module."""
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.arg(arg=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
            ) if name not in FORCED:
                yield Binding(name, node.lineno)
            case _:
                pass


def parsed(src: Path) -> Mapping[Path, ast.Module]:
    """Parse a checkout's files, by path within the package."""
    root = src / "perjoule"
    return {
        path.relative_to(root): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.py"))
    }


def shares(trees: Mapping[Path, ast.Module]) -> Mapping[str, tuple[int, int]]:
    """Count vague and all bindings, by room."""
    counts: dict[str, tuple[int, int]] = {}
    for path, tree in trees.items():
        names = [binding.name for binding in bindings(tree)]
        vague_count, count = counts.get(path.parts[0], (0, 0))
        counts[path.parts[0]] = vague_count + sum(name in VAGUE for name in names), count + len(names)
    return counts


def share(counts: Mapping[str, tuple[int, int]]) -> float:
    """Return the part of all bindings that is vague, from 0 to 1."""
    return sum(vague for vague, _ in counts.values()) / sum(count for _, count in counts.values())


def repeated(trees: Mapping[Path, ast.Module]) -> Mapping[str, list[str]]:
    """List the places of each public class of a module whose name another has, too."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path}:{node.lineno}")
    return {name: where for name, where in sorted(places.items()) if len(where) > 1}


def main() -> None:
    """Print the shares of rooms and of all, the words, and the classes; or one room's vague bindings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("src", nargs="?", type=Path, default=Path("src"))
    parser.add_argument("--where", metavar="ROOM")
    args = parser.parse_args()
    trees = parsed(args.src)
    if args.where:
        for path, tree in trees.items():
            for name, line in bindings(tree) if path.parts[0] == args.where else ():
                if name in VAGUE:
                    print(f"{path}:{line}: {name}")
        return
    counts = shares(trees)
    for room, (vague_count, count) in sorted(
        counts.items(), key=lambda item: item[1][0] / max(1, item[1][1])
    ):
        print(f"{vague_count / max(1, count):7.1%} {vague_count:5} of {count:5} {room}")
    words = Counter(
        binding.name for tree in trees.values() for binding in bindings(tree) if binding.name in VAGUE
    )
    print(", ".join(f"{word} {count}" for word, count in words.most_common()))
    for name, places in repeated(trees).items():
        print(f"{len(places)} classes {name}: {', '.join(places)}")
    print(
        f"{share(counts):.2%} of bindings are vague, {len(repeated(trees))} public class names are not alone"
    )


if __name__ == "__main__":
    main()
