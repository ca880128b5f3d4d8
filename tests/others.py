"""Environments with packages of others beside perjoule, as pip would leave them."""

import site
import subprocess
import sys
import tomllib
import venv
from collections.abc import Mapping
from pathlib import Path

import drawing
from places import ROOT, TESTS

ANOTHER = TESTS / "another"


def environment(place: Path) -> Path:
    """Make an environment that has perjoule and what it needs; return its folder of packages."""
    venv.create(place, symlinks=True)
    drawing.prepare(place)
    folder = place / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (folder / "perjoule.pth").write_text("\n".join([str(ROOT / "src"), *site.getsitepackages()]) + "\n")
    return folder


def add(folder: Path, project: str, modules: Mapping[str, str]) -> None:
    """Add a package to a folder of packages: its modules, and what pip writes of its pyproject.toml."""
    described = tomllib.loads(project)["project"]
    for name, text in modules.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    groups = described["entry-points"].items()
    points = [
        line
        for group, named in groups
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in named.items()))
    ]
    name, version = described["name"], described["version"]
    place = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (place / "entry_points.txt").write_text("\n".join(points) + "\n")


def add_another(folder: Path) -> None:
    """Add the package of tests/another."""
    modules = {str(path.relative_to(ANOTHER)): path.read_text() for path in ANOTHER.glob("*/*.py")}
    add(folder, (ANOTHER / "pyproject.toml").read_text(), modules)


def ran(
    place: Path, *arguments: object, code: int | None = 0, folder: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run perjoule in an environment."""
    argv = [str(place / "bin" / "python"), "-P", "-m", "perjoule", *map(str, arguments)]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(place), "LC_ALL": "C.UTF-8", **variables}
    done = subprocess.run(argv, cwd=folder or place, env=env, capture_output=True, text=True, check=False)
    assert code is None or done.returncode == code, done.stderr + done.stdout
    return done
