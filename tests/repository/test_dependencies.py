"""Whatever is imported is declared, pinned and explained: a package that only another one brings can
disappear with it.
"""

import re
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SETS = {"run": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
PINS = {
    "run": "requirements",
    "figures": "requirements",
    "development": "requirements-development",
}  # the other sets are in requirements-extras
OUTSIDE = {  # imported where they are, and why they are not declared
    "perjoule_another": "the package of tests/another, imported by itself",
    "asyncssh": "of the Python that `benchmarks/fanout.py --tools` names",
    "obstore": "of the Python that `benchmarks/s3_clients.py --tools` names",
    "pydantic_core": "a part of pydantic, which requires its version",
}
FOLDERS = ("tests", "setup", "benchmarks")
OURS = {"perjoule", *FOLDERS, *(path.stem for folder in FOLDERS for path in (ROOT / folder).iterdir())}
IMPORT = re.compile(r"^ *(?:import ([\w.]+)(?: as \w+)?(?:  #.*)?$|from (\w[\w.]*) import )", re.MULTILINE)
AT_THE_TOP = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)
EXPLAINED = (ROOT / "docs" / "explanations" / "dependencies.md").read_text().partition("## Our own")[0]


@cache
def distributions() -> Mapping[str, list[str]]:
    """The packages that bring each module, looked up where these tests run: every process imports this file."""
    return packages_distributions()


def names(wanted: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(one).name) for one in wanted}


@cache
def imports(folder: str) -> tuple[tuple[str, str], ...]:
    """Each file of a folder with the first part of each module that it imports and that is not ours, nor
    Python's.
    """
    pairs: list[tuple[str, str]] = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        here = OURS | {file.stem for file in path.parent.iterdir()} | sys.stdlib_module_names
        modules = {
            module.partition(".")[0] for line in IMPORT.findall(path.read_text("utf-8")) for module in line
        }
        pairs += [(str(path.relative_to(ROOT)), module) for module in modules - here - {""}]
    return tuple(pairs)


@pytest.mark.parametrize("folder", ["src", "tests", "setup", "benchmarks"])
def test_every_import_is_of_a_package_that_is_declared(folder: str) -> None:
    sets = SETS.keys() - {"development"} if folder == "src" else SETS.keys()
    declared = {name for one in sets for name in names(SETS[one])}
    undeclared = {
        f"{path} imports {module}"
        for path, module in imports(folder)
        if module not in OUTSIDE
        and not {canonicalize_name(name) for name in distributions().get(module, [])} & declared
    }
    assert not undeclared, f"declare it in pyproject.toml: {sorted(undeclared)}"


def test_what_only_an_extra_brings_is_imported_where_it_is_used() -> None:
    """A host that only measures has none of it, and every command but that which needs it works."""
    optional = {
        module
        for module, packages in distributions().items()
        for name in map(canonicalize_name, packages)
        if name not in names(SETS["run"]) and any(name in names(wanted) for wanted in SETS.values())
    }
    assert {"scipy", "vl_convert", "kasa"} <= optional
    early = {
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sorted((ROOT / "src").rglob("*.py"))
        for module in optional & {*AT_THE_TOP.findall(path.read_text("utf-8"))}
    }
    assert not early, sorted(early)


def test_what_is_not_declared_is_imported() -> None:
    assert OUTSIDE.keys() <= {
        module for folder in ("src", "tests", "benchmarks") for _, module in imports(folder)
    }


@pytest.mark.parametrize("name", SETS)
def test_what_is_declared_is_pinned_and_explained(name: str) -> None:
    pins = (ROOT / "setup" / f"{PINS.get(name, 'requirements-extras')}.txt").read_text()
    pinned = {canonicalize_name(line.partition("==")[0]) for line in pins.splitlines() if "==" in line}
    assert names(SETS[name]) <= pinned
    explained = {
        canonicalize_name(word)
        for row in re.findall(r"(?m)^- ([^:]+): ", EXPLAINED)
        for word in row.split(", ")
    }
    assert names(SETS[name]) <= explained, "say in docs/explanations/dependencies.md why"
