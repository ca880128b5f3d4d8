"""The Containerfile.

A build takes minutes and a network: each instruction is held against what runs in other tests.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from places import ROOT

NAMES = {"$(PYTHON)": "python3", "$(BIN)": ".venv/bin"}


def instructions() -> list[tuple[str, str]]:
    """The instructions with their words, comments left out."""
    lines = [
        line
        for line in (ROOT / "Containerfile").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    return [(word, rest) for word, _, rest in (line.partition(" ") for line in lines)]


def having(word: str) -> list[str]:
    return [rest for one, rest in instructions() if one == word]


def recipe(target: str) -> list[str]:
    """The commands of a target of the Makefile, which `make test` runs before all tests, or `make demo`."""
    text = (ROOT / "Makefile").read_text()
    for name, value in NAMES.items():
        text = text.replace(name, value)
    found = re.search(rf"^{re.escape(target)}:.*\n((?:\t.*\n)+)", text, re.MULTILINE)
    assert found
    return [line.strip() for line in found[1].splitlines()]


def test_it_uses_no_other_instructions_than_those_that_are_checked_here() -> None:
    assert {word for word, _ in instructions()} == {"FROM", "WORKDIR", "COPY", "RUN", "ENTRYPOINT", "CMD"}


def test_its_commands_are_those_of_the_makefile_in_their_order() -> None:
    base, *python = [line for line in recipe(".venv/ready") if not line.startswith("touch ")]
    filesystems = recipe("demo")[0]
    assert having("RUN") == [base, filesystems, *python]


def test_its_base_is_a_system_that_setup_supports_and_names_no_registry() -> None:
    (image,) = having("FROM")
    system, _, version = image.partition(":")
    assert "/" not in image and system == "debian"
    first_line = (ROOT / "setup" / "debian-packages").read_text().splitlines()[0]
    assert re.search(rf"\bDebian {version}\b", first_line)
    # which a bare Debian lacks
    assert "python3-venv" in (ROOT / "setup" / "debian-packages").read_text().split()


def test_it_copies_all_that_an_installation_reads(tmp_path: Path) -> None:
    """What is copied is enough to make the wheel, with the package's own data, man page included."""
    for words in having("COPY"):
        *sources, target = words.split()
        for source in sources:
            place = tmp_path / target / (source if target == "./" else "")
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(
                    ROOT / source, place, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
                )
            else:
                shutil.copy(ROOT / source, place)
    for command in having("RUN"):
        read = [word for word in command.split() if word.startswith("setup/")]
        assert [word for word in read if not (tmp_path / word).exists()] == []
    reader = "import setuptools; setuptools.setup()"
    said = subprocess.run(
        [sys.executable, "-c", reader, "--quiet", "egg_info"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    listed = (tmp_path / "src" / "perjoule.egg-info" / "SOURCES.txt").read_text().splitlines()
    assert {
        "docs/reference/perjoule.1",
        "src/perjoule/campaign/demo.toml",
        "src/perjoule/report/page.css",
    } <= set(listed)


def test_it_starts_a_command_that_there_is() -> None:
    (entry,), (given,) = having("ENTRYPOINT"), having("CMD")
    (program,), (command, *options) = json.loads(entry), json.loads(given)
    assert program == ".venv/bin/perjoule"
    shown = subprocess.run(
        [sys.executable, "-m", "perjoule", command, "--help"], capture_output=True, text=True, check=True
    )
    assert options and [option for option in options if f"{option} " not in shown.stdout] == []
