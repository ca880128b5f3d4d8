"""Print what an installation takes in site-packages: MB of each distribution, of the base and of what each
extra adds.

Usage: .venv/bin/python setup/sizes.py

It reads the environment that it runs in, where all of them have to be installed (`make check` does it). Sizes
are those of the files that each distribution lists, without compiled bytecode. `MOST_MB` only falls
(tests/repository/test_sizes.py holds it).
"""

import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
MOST_MB = 250  # of the base
LEAST_MB = 0.05  # of a line by itself


@cache
def size_mb(name: str) -> float:
    """Return the size of a distribution's files, MB. Raises PackageNotFoundError: it is not installed."""
    package = distribution(name)
    paths = [
        Path(str(package.locate_file(file))) for file in package.files or () if not file.name.endswith(".pyc")
    ]
    return sum(path.lstat().st_size for path in paths if path.exists()) / 1e6


def needed(requirements: Iterable[str]) -> dict[str, float]:
    """Return the sizes of distributions and of all that they need, MB.

    Raises PackageNotFoundError: one is not installed.
    """
    sizes: dict[str, float] = {}
    todo = [Requirement(text) for text in requirements]
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        package = distribution(requirement.name)
        new = name not in sizes
        sizes[name] = size_mb(name)
        for extra in ("", *requirement.extras) if new else requirement.extras:
            inner = map(Requirement, package.requires or ())
            todo += [one for one in inner if _applies(one, extra) and not (extra and _applies(one, ""))]
    return sizes


def _applies(requirement: Requirement, extra: str) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def by_extra(root: Path = ROOT) -> dict[str, dict[str, float]]:
    """Return the sizes of the base, and for each extra of users what it adds to that, MB."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    base = needed(project["dependencies"])
    extras = {
        name: texts for name, texts in project["optional-dependencies"].items() if name != "development"
    }
    added = {name: needed(texts) for name, texts in extras.items()}
    return {"base": base} | {
        name: {key: mb for key, mb in sizes.items() if key not in base} for name, sizes in added.items()
    }


def main() -> None:
    """Print them, the largest first."""
    for extra, sizes in by_extra().items():
        print(f"{sum(sizes.values()):7.1f} MB {extra}")
        for name, mb in sorted(sizes.items(), key=lambda pair: -pair[1]):
            if mb >= LEAST_MB:
                print(f"{mb:12.1f} {name}")


if __name__ == "__main__":
    main()
