"""General code asks drivers for what they declare: it looks for no attribute, and knows no driver by its name."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import perjoule
from perjoule import drivers

SOURCE = Path(str(perjoule.__file__)).parent
GENERAL = ("analysis", "campaign", "execution", "figures", "monitoring", "report", "results", "summary")
# Their names are also words of something else: a role of a meter's grade, an option, a way to put users together, a direction.
WORDS = {"cluster", "csv", "device", "directory", "idle", "local", "modelled", "simulated", "system", "together"}
NAMES = {kind for part in drivers.PROTOCOLS for kind in drivers.kinds(part)}
DEFAULTS = SOURCE / "campaign" / "defaults.py"
MODULES = sorted(path for room in GENERAL for path in (SOURCE / room).rglob("*.py"))


def faults(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="getattr" | "hasattr" as name), args=[_, ast.Constant(), *_]):
                yield f"line {node.lineno}: {name}; declare it in drivers/protocols"
            case ast.Compare(left=ast.Attribute(attr="kind"), comparators=[right]) if named(right):
                yield f"line {node.lineno}: compares a kind with a driver's name; declare a trait in drivers/protocols"
            case ast.Call(func=ast.Name(id="Spec"), args=[ast.Constant(), *_]):
                yield f"line {node.lineno}: builds a driver by its name; take it from campaign/defaults.py"
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "kind" and named(value):
                        yield f"line {node.lineno}: names a driver; take it from campaign/defaults.py"
            case ast.Constant(value=str(value)) if value in NAMES - WORDS:
                yield f'line {node.lineno}: knows the driver "{value}"; declare a trait in drivers/protocols'
            case _:
                pass


def named(node: ast.expr) -> bool:
    """Whether a driver's name is in it."""
    return any(isinstance(one, ast.Constant) and one.value in NAMES for one in ast.walk(node))


@pytest.mark.heavy
def test_general_code_knows_no_driver() -> None:
    paths = [path for path in MODULES if path != DEFAULTS]
    assert len(paths) > 100
    found = {str(path.relative_to(SOURCE)): list(faults(ast.parse(path.read_text("utf-8")))) for path in paths}
    assert {path: said for path, said in found.items() if said} == {}


@pytest.mark.parametrize(
    "code",
    [
        'getattr(driver, "size_bytes", None)',
        'hasattr(driver, "discover")',
        'trial.testbed.kind == "local"',
        'record.trial.testbed.kind in ("virtual", "cluster")',
        'Spec("simulated", {})',
        '{"kind": "system"}',
        'seconds = {"moosefs": 12.0}[kind]',
    ],
)
def test_what_sniffs_is_found(code: str) -> None:
    assert list(faults(ast.parse(code)))
