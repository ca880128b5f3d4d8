"""Names of perjoule that stand where no test imports them: in programs written as text, in documents, in benchmarks."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from places import ROOT, TESTS

# A statement of a program in a string or a block of code: on a line of its own, behind a prompt, or behind another.
STATEMENT = re.compile(
    r"(?:^|;)[ ]*(?:>>> )?((?:from perjoule[\w.]* import (?:\([^)]*\)|[^;\n#\"']+))|import perjoule[\w.]*)", re.MULTILINE
)
CODE = sorted([*TESTS.rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")])
TEXTS = [*CODE, *sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "benchmarks").glob("*.md"))]


def written(path: Path) -> Iterator[str]:
    """The statements that import from perjoule in the strings of a program, or in a document; and all of a benchmark."""
    text = path.read_text()
    if path.suffix == ".md":
        yield from STATEMENT.findall(text)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "perjoule" in node.value:
            yield from STATEMENT.findall(node.value)
        elif isinstance(node, ast.Import | ast.ImportFrom) and path.parent.name == "benchmarks":
            yield from STATEMENT.findall(ast.unparse(node))


def names(statement: str) -> Iterator[tuple[str, str]]:
    (node,) = ast.parse(statement.strip()).body
    assert isinstance(node, ast.Import | ast.ImportFrom)
    module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    yield from ((module, alias.name) if module else (alias.name, "") for alias in node.names)


def there(module: str, name: str) -> bool:
    try:
        found = importlib.import_module(module)
        return not name or hasattr(found, name) or bool(importlib.import_module(f"{module}.{name}"))
    except ModuleNotFoundError:
        return False


def makes(page: Path, module: str) -> bool:
    """Whether a page has its readers write this module."""
    return f"src/{module.replace('.', '/')}.py" in (ROOT / page).read_text()


def test_what_texts_import_from_perjoule_is_there() -> None:
    wanted = {(path.relative_to(ROOT), pair) for path in TEXTS for statement in written(path) for pair in names(statement)}
    wanted -= {(page, (module, name)) for page, (module, name) in wanted if makes(page, module)}
    assert len(wanted) > 50
    assert [f"{path}: {module}: {name}" for path, (module, name) in sorted(wanted) if not there(module, name)] == []
