"""What a wheel brings: every file of the package that is not code is named in pyproject.toml."""

import tomllib

from places import ROOT

PACKAGE = ROOT / "src" / "perjoule"


def test_every_data_file_of_the_package_is_in_the_wheel():
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"][
        "perjoule"
    ]
    data = {
        path.relative_to(PACKAGE)
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    missing = [path for path in data if not any(path.match(pattern) for pattern in patterns)]
    assert missing == []
    assert all(any(PACKAGE.glob(pattern)) for pattern in patterns)
