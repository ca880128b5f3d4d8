"""What a change of the numbers or a driver costs, counted: `python setup/house.py [SRC]` counts a checkout
(default: src).

A place that chooses channels is a module that searches for the channels of a boundary, or for one quantity of
a meter. One has the rule of emulation if it decides by scale and grade whose joules a channel has.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

CHOOSING = frozenset({"cover", "one_quantity", "parts_of", "candidates", "boundaries", "device_j"})
SEARCHES = ("coverage", "quantities", "power", "choosing", "devices")  # the modules that have or had these
SCALED = frozenset({"scale", "at_scale", "dilation"})
GRADED = frozenset({"grade", "grades", "GRADES", "DEVICE_GRADES", "DILATED"})
LINES = ("energy", "trial", "measures", "statistics", "papers", "summary", "results", "figures", "views")
NUMBERS = (*LINES, "report", "prediction", "monitoring")
# Whose files are found on disk: they grow by one with each driver, measure or thing shown, by design.
FAMILIES = frozenset(
    {"testbeds", "filesystems", "workloads", "meters", "simulators", "events", "measures", "views"}
)
# the file, and the room whose files have entries of their own
REGISTRY, ENTRIES = Path("model/metrics.py"), "measures"
PROTOCOLS = ("Host", "Mounted", "FileSystem", "Testbed", "Workload", "Meter", "Event")


def counts(src: Path) -> Mapping[str, int]:
    """Count a checkout's `src`, by what is counted."""
    root = src / "perjoule"
    trees = {path.relative_to(root): ast.parse(path.read_text()) for path in sorted(root.rglob("*.py"))}
    numbers = {path: tree for path, tree in trees.items() if path.parts[0] in NUMBERS}
    siblings = {folder: _siblings(folder) for folder in {path.parent for path in root.rglob("*.py")}}
    is_key = keys({text for path, tree in trees.items() for text in _defined(path, tree)})
    typed = [
        text
        for path, tree in trees.items()
        for text in (Counter(_texts(tree)) - _defined(path, tree)).elements()
        if is_key(text)
    ]
    lines = [path for path in root.rglob("*.py") if path.relative_to(root).parts[0] in LINES]
    return {
        "siblings in the widest folder": max(map(len, siblings.values())),
        "siblings in the widest folder of a room, families aside": max(
            len(found) for folder, found in siblings.items() if folder != root and folder.name not in FAMILIES
        ),
        "rooms at the root": len([path for path in siblings[root] if path.is_dir()]),
        "places that choose channels": sum(map(chooses, numbers.values())),
        "places with the rule of emulation": sum(map(emulates, numbers.values())),
        "files of numbers that know a record's scale": sum(map(scales, numbers.values())),
        "metric keys typed in code": len(typed),
        f"lines of {', '.join(LINES)}": sum(len(path.read_text().splitlines()) for path in lines),
    }


def members(src: Path) -> Mapping[str, tuple[int, int]]:
    """Count what each protocol of drivers declares, and how much of it a driver must have, because there is
    no default.

    It declares attributes, properties and methods.
    """
    parsed = [
        ast.parse(path.read_text()) for path in sorted((src / "perjoule/drivers/protocols").glob("*.py"))
    ]
    classes = {node.name: node for tree in parsed for node in tree.body if isinstance(node, ast.ClassDef)}
    both = {
        name: (_declared(classes[name]), _required(classes[name])) for name in PROTOCOLS if name in classes
    }
    return {name: (len(declared), len(required)) for name, (declared, required) in both.items()}


def _declared(cls: ast.ClassDef) -> set[str]:
    named = {node.name for node in cls.body if isinstance(node, ast.FunctionDef)}
    named |= {
        node.target.id
        for node in cls.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    return {name for name in named if not name.startswith("_")}


def _required(cls: ast.ClassDef) -> set[str]:
    methods = (node for node in cls.body if isinstance(node, ast.FunctionDef))
    named = {
        node.name
        for node in methods
        if any("abstractmethod" in ast.unparse(decorator) for decorator in node.decorator_list)
    }
    bare = (node.target for node in cls.body if isinstance(node, ast.AnnAssign) and node.value is None)
    named |= {target.id for target in bare if isinstance(target, ast.Name)}
    return {name for name in named if not name.startswith("_")}


def chooses(tree: ast.Module) -> bool:
    """Whether a module calls a search of another, or has one of its own."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    imported = {
        alias.name
        for node in imports
        if (node.module or "").rpartition(".")[2] in SEARCHES
        for alias in node.names
    }
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return bool(CHOOSING & called & imported) or "device_j" in defined


def emulates(tree: ast.Module) -> bool:
    """Whether one condition of a module is of a scale and of grades."""
    tests = (node for node in ast.walk(tree) if isinstance(node, ast.BoolOp | ast.IfExp | ast.If))
    return any(_names(_condition(node)) & SCALED and _names(_condition(node)) & GRADED for node in tests)


def scales(tree: ast.Module) -> bool:
    """Whether a module reads the scale of a record."""
    read = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "scale")
    return any(ast.unparse(node.value).rpartition(".")[2] in ("record", "r") for node in read)


def _condition(node: ast.BoolOp | ast.IfExp | ast.If) -> ast.AST:
    return node.test if isinstance(node, ast.If) else node


def _names(tree: ast.AST) -> set[str]:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _defined(path: Path, tree: ast.Module) -> Counter[str]:
    """Return the texts of what defines metrics: the registry's file, and the entries of measures."""
    if path == REGISTRY:
        return Counter(_texts(tree))
    if path.parts[0] != ENTRIES:
        return Counter()
    calls = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "Metric"
    ]
    return Counter(text for call in calls for text in _texts(call))


def keys(defined: Collection[str]) -> Callable[[str], object]:
    """Return what tells whether a text is a metric's key, from the texts of what defines metrics: words joined by
    "_", where "{role}", say, stands for any; or such a key behind prefixes ("burst_", "gross_").
    """
    keys = [text for text in defined if re.fullmatch(r"(\{\w+\}|[a-z])\w*(_(\w|\{\w+\})+)+(?<!_)", text)]
    patterns = [re.sub(r"\\{\w+\\}", r"\\w*", re.escape(key)) for key in keys]
    prefixes = [text for text in defined if re.fullmatch(r"[a-z]\w*_", text)]
    return re.compile(f"({'|'.join(prefixes)})*({'|'.join(patterns)})").fullmatch


def _texts(tree: ast.AST) -> Iterator[str]:
    yield from (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _siblings(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]


if __name__ == "__main__":
    asked = Path(sys.argv[1] if len(sys.argv) > 1 else "src")
    for counted, count in counts(asked).items():
        print(f"{count:6} {counted}")
    for protocol, (count, required_count) in members(asked).items():
        print(f"{count:6} members of {protocol}, {required_count} of them required")
