"""General code asks drivers for what they declare: it looks for no attribute, and knows no driver by its
name.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import perjoule
from perjoule import drivers

SOURCE = Path(str(perjoule.__file__)).parent
PARTS = ("testbeds", "filesystems", "workloads", "meters", "events")
# Rooms and files that may know drivers, and why.
KNOWING = {
    **dict.fromkeys(PARTS, "the drivers themselves"),
    "simulators": "each stands for the device of one meter",
    "importing": "what it reads was written by tools, some of which a workload runs, too",
    "campaign/defaults.py": "the drivers that a campaign gets without naming them",
    "cli/pages/permitted.py": "the page of the words that drivers pass on to programs",
    "cli/terminal/display.py": "looks for the stream that is shown, on no driver",
    "cli/exchange.py": "reads what `import` is given, with the workload that stands for it",
    "cli/terminal/inputs.py": "lists the user's inventory for the testbed that has an option for one",
    "cli/machine.py": "`up` makes virtual hosts that stay, and `down` removes them",
    "cli/meters/quality.py": "looks at the meters of this machine",
    "views/performance/training.py": "`show --training` is called as the workload",
    "views/power/proportionality.py": "`show --duty` is called as the workload",
    "drivers/__init__.py": "looks for what pydantic keeps of a class",
    "execution/grants.py": "prints what sudoers grant to the helper that one testbed starts",
    "machine/environment.py": "Debian packages, some of which are called as the tool of a workload",
    "measures/rebuild.py": "measures what the events `fail` and `back` cost",
    "planning/measuring.py": "writes a campaign for virtual hosts, with a load that all file systems carry",
}
# Their names are also words of something else: a role of a meter's grade, an option, a way to put users
# together, a direction, a kind of disk, the kernel's own name of its devices, a shape of a waveform.
WORDS = {
    "cluster",
    "constant",
    "csv",
    "device",
    "directory",
    "idle",
    "local",
    "modelled",
    "nvme",
    "rbd",
    "simulated",
    "system",
    "together",
}
# words of English: the test is that no kind of event is compared with one
EVENTS = {*drivers.kinds("events")}
NAMES = {kind for part in drivers.PROTOCOLS for kind in drivers.kinds(part)}
IMPORTED = re.compile(rf"perjoule\.({'|'.join(PARTS)})\b")


def modules() -> list[str]:
    paths = sorted(str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py"))
    return [path for path in paths if path not in KNOWING and path.partition("/")[0] not in KNOWING]


def faults(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="getattr" | "hasattr" as name), args=[_, ast.Constant(), *_]):
                yield f"line {node.lineno}: {name}; declare it in drivers/protocols"
            case ast.Compare(left=ast.Attribute(attr="kind"), comparators=[right]) if named(right):
                yield (
                    f"line {node.lineno}: compares a kind with a driver's name; declare a trait in "
                    "drivers/protocols"
                )
            case ast.Compare(left=left, comparators=[right]) if "FAKE" in {
                ast.unparse(left),
                ast.unparse(right),
            }:
                yield (
                    f"line {node.lineno}: asks whether a driver is the simulated one; declare a trait in "
                    "drivers/protocols"
                )
            case ast.Call(func=ast.Name(id="Spec"), args=[ast.Constant(), *_]):
                yield f"line {node.lineno}: builds a driver by its name; take it from campaign/defaults.py"
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "kind" and named(value):
                        yield f"line {node.lineno}: names a driver; take it from campaign/defaults.py"
            case ast.ImportFrom(module=str(name)) if IMPORTED.match(name):
                yield f"line {node.lineno}: imports {name}; ask for what it knows in drivers/protocols"
            case ast.Constant(value=str(value)) if value in NAMES - WORDS - EVENTS:
                yield f'line {node.lineno}: knows the driver "{value}"; declare a trait in drivers/protocols'
            case _:
                pass


def named(node: ast.expr) -> bool:
    """Whether a driver's name is in it."""
    return any(isinstance(one, ast.Constant) and one.value in NAMES for one in ast.walk(node))


@pytest.mark.heavy
def test_general_code_knows_no_driver() -> None:
    found = {path: list(faults(ast.parse((SOURCE / path).read_text("utf-8")))) for path in modules()}
    assert len(found) > 200
    assert {path: said for path, said in found.items() if said} == {}


@pytest.mark.parametrize("path", [path for path in KNOWING if path.endswith(".py")])
def test_a_file_that_knows_no_driver_is_not_excepted(path: str) -> None:
    assert list(faults(ast.parse((SOURCE / path).read_text("utf-8"))))


@pytest.mark.parametrize(
    "code",
    [
        'getattr(driver, "size_bytes", None)',
        'hasattr(driver, "discover")',
        'trial.testbed.kind == "local"',
        'record.trial.testbed.kind in ("virtual", "cluster")',
        "workload.kind == FAKE",
        'Spec("simulated", {})',
        '{"kind": "system"}',
        'seconds = {"moosefs": 12.0}[kind]',
        "from perjoule.workloads.hep import Hep",
        "from perjoule.testbeds import local",
    ],
)
def test_what_sniffs_is_found(code: str) -> None:
    assert list(faults(ast.parse(code)))
