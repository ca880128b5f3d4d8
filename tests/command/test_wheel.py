"""The wheel as a user of a package index gets it: in an environment without this checkout, by the words of
the tutorial.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from documents import TABLES, commands
from perjoule.cli import cli
from places import ROOT

TUTORIAL = ROOT / "docs" / "tutorials" / "first-campaign.md"
PARTS = ("pyproject.toml", "README.md", "LICENSE", "src/perjoule", "docs/reference")


def done(argv: list[str | Path], folder: Path, **environment: str) -> str:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("PIP_", "HTTP", "http", "SSL", "HOME"))
    }
    env = {**kept, "PATH": "/usr/bin:/bin", **environment}
    found = subprocess.run(
        argv, cwd=folder, env=env, capture_output=True, text=True, timeout=500, check=False
    )
    assert found.returncode == 0, f"{argv}\n{found.stdout}\n{found.stderr}"
    return found.stdout


def link_what_is_declared(environment: Path) -> None:
    """Give an environment the packages that the wheel in it states, and what they need, of those that are
    installed here: no others.
    """
    (folder,) = environment.glob("lib/*/site-packages")
    (wheel,) = metadata.distributions(name="perjoule", path=[str(folder)])
    wanted, linked = [(wheel, "figures")], set[str]()
    while wanted:
        of, extra = wanted.pop()
        stated = [Requirement(line) for line in of.requires or ()]
        for one in (one for one in stated if one.marker is None or one.marker.evaluate({"extra": extra})):
            package = metadata.distribution(one.name)
            wanted += [(package, extra) for extra in ({"", *one.extras} if one.name not in linked else ())]
            linked.add(one.name)
            for name in {file.parts[0] for file in package.files or ()} - {"..", "__pycache__"}:
                if not (folder / name).exists():
                    (folder / name).symlink_to(Path(str(package.locate_file(name))))


@pytest.fixture(
    scope="module",
    params=["in one process, with linked packages", "as a user"],
)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with the wheel and the versions that we pin."""
    folder = tmp_path_factory.mktemp("wheel")
    for part in PARTS:
        place = folder / "source" / part
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, place)
    pip = [sys.executable, "-m", "pip"]
    done([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", "wheels", "./source"], folder)
    (wheel,) = (folder / "wheels").glob("perjoule-*.whl")
    if request.param == "as a user":
        done([sys.executable, "-m", "venv", "environment"], folder)
        pinned = ["--constraint", ROOT / "setup" / "requirements.txt"]
        done(
            [folder / "environment" / "bin" / "pip", "install", "--quiet", *pinned, f"{wheel}[figures]"],
            folder,
        )
    else:
        done([sys.executable, "-m", "venv", "--without-pip", "environment"], folder)
        into = ["--python", "environment/bin/python", "install", "--quiet", "--no-deps", "--no-index"]
        done([*pip, *into, wheel], folder)
        link_what_is_declared(folder / "environment")
    shutil.rmtree(folder / "source")
    return folder / "environment"


# Commands one after the other; a start and the imports take longer than most of them.
IN_ONE_PROCESS = """
import json, sys
from perjoule.cli import cli, exits
for words in json.loads(sys.argv.pop()):
    try:
        code = exits.exit_code(lambda: cli.main(words, prog_name="perjoule", standalone_mode=False))
    except SystemExit as end:
        code = end.code
    if code:
        sys.exit(f"perjoule {words} ended with {code}")
"""


def typed(lines: list[list[str]], environment: Path, folder: Path) -> str:
    """Run these commands of an environment; return what they print."""
    homes = {"HOME": str(folder), "TMPDIR": str(folder)}
    if (environment / "bin" / "pip").exists():  # as a user: each in a process of its own
        perjoule = environment / "bin" / "perjoule"
        return "\n".join(done([perjoule, *words], folder, **homes) for words in lines)
    argv = [environment / "bin" / "python", "-P", "-c", IN_ONE_PROCESS, json.dumps(lines)]
    return done(argv, folder, **homes)


@pytest.mark.slow  # by day: from the checkout: test_documents.py
def test_the_tutorial_runs_from_the_wheel_alone(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "first.toml").write_text(TABLES.findall(TUTORIAL.read_text())[0])
    said = typed([shlex.split(line)[1:] for line in commands(TUTORIAL)], installed, tmp_path)
    assert " 0 differ" in said
    assert (tmp_path / "results" / "first" / "report.html").stat().st_size > 100_000
    where = done([installed / "bin" / "python", "-c", "import perjoule; print(perjoule.__file__)"], tmp_path)
    assert Path(where.strip()).is_relative_to(installed)


@pytest.mark.slow  # by day: tests/repository/test_package_data.py
def test_the_wheel_brings_papers_catalogue_and_the_man_page(installed: Path, tmp_path: Path) -> None:
    assert "green-storage" in done([installed / "bin" / "perjoule", "papers"], tmp_path)
    assert "odroid-hc4" in done([installed / "bin" / "perjoule", "up", "--help"], tmp_path)
    assert (installed / "share" / "man" / "man1" / "perjoule.1").read_text().startswith(".TH PERJOULE 1")


# A line for each command that the tutorial lacks, in one folder and in this order; all but those that need root,
# whose help stands for them.
EACH = """
run first.toml --into r --set 'settle=20 ms'
resume r
show r
report r
verify r
compare r --between slow fast
run first.toml --into again --set 'settle=20 ms'
history r again
export r --bundle r.zip
check first.toml
tune tune.toml --for MiB/J --trials 10 --into tuned
measure --help
new duty
check duty.toml
new archive
docs meters
watch r --once
import imported fio.json
publish published.zip --into list
list build list --to site
recalculate --help
papers
audit green-storage
reproduce green-storage --simulate --write paper.toml
calibrate moosefs --write calibration.toml
predict moosefs --on odroid-hc4
predict cephfs --on odroid-hc4 --pledge pledge.json
ledger
ledger pledge.json --with r
plan need.toml --write measure.toml --candidate 1
catalogue
meters list
meters simulate --help
meters record --help
doctor first.toml
drivers
up --help
down --help
"""
INPUTS = {
    "tune.toml": "examples/tune.toml",
    "need.toml": "examples/needs/archive.toml",
    "published.zip": "docs/list/bundles/hep-pc-2731584b7022.zip",
    "fio.json": "tests/transcripts/fio/limited/client-1.json",
}


@pytest.mark.slow  # by day: tests/repository/test_package_data.py
def test_every_command_works_from_the_wheel_alone_outside_the_checkout(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "first.toml").write_text(TABLES.findall(TUTORIAL.read_text())[0])
    for name, path in INPUTS.items():
        shutil.copy(ROOT / path, tmp_path / name)
    lines = [shlex.split(line) for line in EACH.strip().splitlines()]
    everything = [*lines, *(shlex.split(line)[1:] for line in commands(TUTORIAL))]
    assert {words[0] for words in everything} == set(cli.commands)
    typed(lines, installed, tmp_path)
    assert (tmp_path / "site" / "index.html").exists()
