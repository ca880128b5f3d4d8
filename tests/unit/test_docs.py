"""Every example in the documents is run: TOML blocks are parsed, console blocks are typed (what needs root is only checked)."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from perjoule import campaign

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WITH_MACHINE = ("make", "sudo", "git", "cd")  # run by people and by CI, not here


def blocks(document: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(document.read_text()) if kind == language]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(ROOT)))
def test_toml_in_the_documents_is_a_campaign_or_a_part_of_one(document: Path) -> None:
    for text in blocks(document, "toml"):
        whole = text if "[testbed]" in text else '[testbed]\nkind = "simulated"\n' + text
        if "[[filesystem]]" not in whole:
            whole += '\n[[filesystem]]\nkind = "simulated"\n'
        if "[[workload]]" not in whole:
            whole += '\n[[workload]]\nkind = "simulated"\n'
        assert campaign.parse(whole, source=document.name).trials


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: str(d.relative_to(ROOT)))
def test_commands_in_the_documents_do_what_they_say(document: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for text in blocks(document, "toml"):
        (tmp_path / "first.toml").write_text(text)
    environment = {**os.environ, "COLUMNS": "120"}
    for line in "".join(blocks(document, "console")).splitlines():
        if not line.startswith("$ "):
            continue
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[0] in WITH_MACHINE:
            continue
        assert words[0] == "perjoule", line
        command = [str(Path(sys.executable).with_name("perjoule")), *words[1:]]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
