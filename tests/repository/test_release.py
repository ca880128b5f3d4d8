"""A release has one version and one day, wherever they stand."""

import re
import subprocess
import tomllib

from places import ROOT


def changelog() -> list[str]:
    return re.findall(r"(?m)^## (.*)$", (ROOT / "CHANGELOG.md").read_text())


def citation(key: str) -> str:
    (value,) = re.findall(rf'(?m)^{key}: "?([^"\n]+)"?$', (ROOT / "CITATION.cff").read_text())
    return value


def test_package_changelog_and_citation_name_the_same_release() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    unreleased, latest, *_ = changelog()
    assert unreleased == "Unreleased"
    assert latest == f"{version} ({citation('date-released')})"
    assert citation("version") == version


def test_each_release_of_the_changelog_is_newer_than_the_next_and_each_tag_has_one() -> None:
    released = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+) \((\d{4}-\d\d-\d\d)\)", heading) for heading in changelog()[1:]]
    versions = [tuple(map(int, one.groups()[:3])) for one in released if one]
    assert len(versions) == len(released)
    assert versions == sorted(set(versions), reverse=True)
    tags = subprocess.run(["git", "tag", "--list", "v*"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert set(tags) <= {f"v{'.'.join(map(str, version))}" for version in versions}


def test_the_citation_has_what_its_format_wants() -> None:
    assert citation("cff-version") == "1.2.0"
    assert citation("message")
    assert citation("title").startswith("perjoule")
    assert citation("license") == "Apache-2.0"
    assert "\nauthors:\n  - name: " in (ROOT / "CITATION.cff").read_text()
