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
    released = [
        re.fullmatch(r"(\d+)\.(\d+)\.(\d+) \((\d{4}-\d\d-\d\d)\)", heading) for heading in changelog()[1:]
    ]
    versions = [tuple(map(int, one.groups()[:3])) for one in released if one]
    assert len(versions) == len(released)
    assert versions == sorted(set(versions), reverse=True)
    tags = subprocess.run(
        ["git", "tag", "--list", "v*"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert set(tags) <= {f"v{'.'.join(map(str, version))}" for version in versions}


def test_the_citation_has_what_its_format_wants() -> None:
    assert citation("cff-version") == "1.2.0"
    assert citation("message")
    assert citation("title").startswith("perjoule")
    assert citation("license") == "Apache-2.0"
    assert "\nauthors:\n  - name: " in (ROOT / "CITATION.cff").read_text()


def addresses(project: str, cited: str, security: str) -> set[str]:
    """The addresses of this repository in pyproject.toml, CITATION.cff and SECURITY.md; "" where one has
    none.
    """
    urls = tomllib.loads(project)["project"].get("urls", {})
    code = re.search(r'(?m)^repository-code: "?([^"\n]+)"?$', cited)
    links = {
        re.sub(r"/(-/)?(security|issues)\b.*", "", link)
        for link in re.findall(r"https?://[^\s)>]+", security)
    }
    return {urls.get("Repository", ""), code[1] if code else "", *(links or {""})}


def test_all_files_name_one_address_of_the_repository_or_none_does() -> None:
    texts = [(ROOT / name).read_text() for name in ("pyproject.toml", "CITATION.cff", "SECURITY.md")]
    found = addresses(texts[0], texts[1], texts[2])
    assert len(found) == 1, f"write the same address in all three, see CONTRIBUTING.md: {sorted(found)}"


def test_a_file_without_the_address_of_the_others_is_found() -> None:
    project, cited = (
        '[project]\nurls = {Repository = "https://forge.example/lab/x"}',
        'repository-code: "https://forge.example/lab/x"\n',
    )
    security = "Report it [privately](https://forge.example/lab/x/security/advisories/new)."
    assert addresses(project, cited, security) == {"https://forge.example/lab/x"}
    assert addresses(project, cited, "Report it privately.") == {"https://forge.example/lab/x", ""}
    assert addresses("[project]", cited, security) == {"https://forge.example/lab/x", ""}
    assert addresses(project, cited.replace("/x", "/y"), security) == {
        f"https://forge.example/lab/{name}" for name in "xy"
    }
