"""What tests of testbeds that reserve nodes share: nodes are this machine, by stand-ins for ssh and sudo."""

import os
import subprocess
from pathlib import Path

import pytest

from perjoule.testbeds import _reserved
from sshd import PERJOULE

PROGRAMS = {
    "ssh": 'echo "$*" >> "$HOME/ssh-asked"\n[ ! -e "$HOME/ssh-refuses" ] || { echo "Connection refused" >&2; exit 255; }\n'
    'for last; do :; done\nexec sh -c "$last"\n',
    "sudo": 'echo "$*" >> "$HOME/sudo-asked"\nshift 2\nexec "$@"\n',
}


def make_home(folder: Path) -> Path:
    """Make a home for a user, and programs beside it."""
    for name in ("home", "bin"):
        (folder / name).mkdir()
    for name, script in PROGRAMS.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}")
        (folder / "bin" / name).chmod(0o755)
    return folder / "home"


def environment(folder: Path) -> dict[str, str]:
    """The environment of the user whose home `make_home` made."""
    path, home, state = f"{folder}/bin:{os.environ['PATH']}", str(folder / "home"), str(folder / "state")
    return {"PATH": path, "HOME": home, "XDG_STATE_HOME": state}


def live_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be that user, who does not wait long between looks; return the home."""
    home = make_home(folder)
    for name, value in environment(folder).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(_reserved, "_FIRST_LOOK_S", 0.01)
    return home


def notes(folder: Path) -> list[str]:
    """The notes of reservations."""
    kept = (folder / "state" / "perjoule").glob("*/*")
    return sorted(path.name for path in kept if path.parent.name in ("chameleon", "grid5000"))


def perjoule(folder: Path, *words: str, **variables: str) -> subprocess.Popen[str]:
    """Start the command as that user."""
    return subprocess.Popen(
        [PERJOULE, *words],
        cwd=folder,
        env={**os.environ, **environment(folder), **variables},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
