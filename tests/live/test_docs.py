"""Every command in the documents is typed; what needs root or a network is only checked."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BY_PEOPLE = ("make", "sudo", "git", "cd")  # run by people and by CI, not here

pytestmark = pytest.mark.live


def blocks(document: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(document.read_text()) if kind == language]


WITH_COMMANDS = [document for document in DOCUMENTS if blocks(document, "console")]


@pytest.mark.parametrize("document", WITH_COMMANDS, ids=lambda d: str(d.relative_to(ROOT)))
def test_commands_in_the_documents_do_what_they_say(document: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for text in blocks(document, "toml"):
        (tmp_path / "first.toml").write_text(text)
    environment = {**os.environ, "COLUMNS": "120"}
    for line in "".join(blocks(document, "console")).splitlines():
        if not line.startswith("$ "):
            continue
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[0] in BY_PEOPLE:
            continue
        assert words[0] == "perjoule", line
        command = [str(Path(sys.executable).with_name("perjoule")), *words[1:]]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
