"""Nothing but the registry spells a metric's unit or takes its key apart."""

import ast
import re
from collections.abc import Iterator

import pytest

from perjoule.model.metrics import BOUNDARIES, BY_LABEL, METRICS
from places import SOURCES

UNIT = re.compile(
    rf"\b({'|'.join(sorted({one.unit.symbol for one in METRICS.values() if '/' in one.unit.symbol}))})"
)
PREFIXES = ("burst_", "cpu_", *(one.prefix for one in BOUNDARIES if one.prefix))
PARTS = re.compile(rf"(_[a-z_]*)?_(s|j|w|js|bytes|ratio)|{'|'.join(PREFIXES)}")
KEYS = {*METRICS, *BY_LABEL}
# What is read and written by users, and says a unit for them; not a table of metrics.
ALLOWED = {
    "model/metrics.py": "the registry",
    "model/units.py": "reads what users write",
    "model/events.py": "prints an option by its name",
    "campaign/making/simulate.py": "writes an option",
    "cli/compare.py": "examples in help",
    "cli/history.py": "examples in help",
    "cli/tune.py": "examples in help",
    "results/comparison/limits.py": "an example in an error",
    "importing/mlperf_audit.py": "prints what submissions state, and rules on it",
}
PARTS_OF_A_TESTBED = {"meters", "simulators", "filesystems", "workloads", "testbeds", "machine", "catalogue"}
ROOMS = sorted({path.parent.name for path in SOURCES.glob("*/__init__.py")} - PARTS_OF_A_TESTBED)


def spelled(text: str) -> Iterator[str]:
    """What a module says of metrics that is not its to say."""
    tree = ast.parse(text)
    described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    entries = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Metric", "Unit")
    )
    described |= {id(node) for entry in entries for node in ast.walk(entry)}
    tables = {id(node.value) for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in described and UNIT.search(text):
                yield f"line {node.lineno}: the unit in {text!r}: metric_of(key).unit"
            case ast.Call(
                func=ast.Attribute(attr="endswith" | "startswith" | "removeprefix" | "removesuffix"),
                args=args,
            ):
                for one in (part for arg in args for part in ast.walk(arg)):
                    if (
                        isinstance(one, ast.Constant)
                        and isinstance(one.value, str)
                        and PARTS.fullmatch(one.value)
                    ):
                        yield (
                            f"line {node.lineno}: a key taken apart by {one.value!r}: metric_of(key) has a "
                            "field for it"
                        )
            case ast.Dict(keys=keys) if (
                id(node) in tables and sum(_constant(key) in KEYS for key in keys) > 1
            ):
                yield f"line {node.lineno}: a table by metric: a field of the registry's entries"
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                if sum(_constant(one) in METRICS for one in elements) > 2:
                    yield f"line {node.lineno}: a list of metrics: a field of the registry's entries"
            case _:
                pass


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


@pytest.mark.parametrize("room", ROOMS)
def test_nothing_else_spells_a_unit_or_takes_a_key_apart(room: str) -> None:
    found = {
        str(path.relative_to(SOURCES)): path.read_text(encoding="utf-8")
        for path in (SOURCES / room).rglob("*.py")
    }
    assert [
        f"{name}, {said}" for name in found.keys() - ALLOWED.keys() for said in spelled(found[name])
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        'COLUMNS = (("MiB/J", "efficiency_bytes_per_j"),)',
        'text = f"{value / per:.1f} MiB/s"',
        'LESS = ("energy_j", "mean_w", "duration_s")',
        'BY = {"energy_j": 1, "mean_w": 2}',
        'METRICS = {"J": "a", "W": "b"}',
        'energy = key.endswith(("_per_j", "_j"))',
        'name = key.removeprefix("gross_")',
        'dynamic = name.startswith("dynamic_")',
    ],
)
def test_each_way_to_spell_one_is_found(text: str) -> None:
    assert {found.partition(":")[0] for found in spelled(text)} == {"line 1"}
    assert list(spelled(f'"""MiB/s, {text!r}."""\nkey = "energy_j"')) == []


def test_what_may_spell_units_still_does() -> None:
    assert [name for name in ALLOWED if not list(spelled((SOURCES / name).read_text(encoding="utf-8")))] == []
