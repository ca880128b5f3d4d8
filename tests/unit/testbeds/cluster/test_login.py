"""A host without bash, or whose bash is another shell or too old, gets a sentence about that, whatever its
login shell is.
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from perjoule.model.errors import MachineError
from perjoule.testbeds.cluster.keeping import keeper
from perjoule.testbeds.cluster.keeping.keeper import Keeper
from perjoule.testbeds.cluster.openssh import Ssh
from perjoule.testbeds.cluster.scripts import KEEP
from perjoule.testbeds.slurm.srun import Srun

SSH, SRUN = Ssh("h1", "h1"), Srun("n1", "7")
DASH = shutil.which("dash") or ""


def nothing(_folder: Path) -> None:
    """No bash at all."""


def dash(folder: Path) -> None:
    (folder / "bash").symlink_to(DASH)


SUDO = """#!/bin/sh
shift 2
command -v "$1" > /dev/null || { echo "sudo: $1: command not found" >&2; exit 1; }
exec "$@"
"""


@pytest.mark.skipif(not DASH, reason="dash is missing: apt install dash")
@pytest.mark.parametrize(
    ("prepare", "what"), [(nothing, "it has no bash"), (dash, "the program bash on it is another shell")]
)
@pytest.mark.parametrize("sudo", [False, True])
@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_host_without_bash_gets_a_sentence_about_that(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    shell: str,
    sudo: bool,
    prepare: Callable[[Path], None],
    what: str,
) -> None:
    login_shell, programs = shutil.which(shell), tmp_path / "programs"
    programs.mkdir()
    prepare(programs)
    (programs / "sudo").write_text(SUDO)
    (programs / "sudo").chmod(0o755)
    original = Ssh.command

    def command(self: Ssh, argv: Sequence[str], **_ways: object) -> list[str]:
        line = original(self, argv)[-1]
        return ["/usr/bin/env", f"PATH={programs}", str(login_shell), "-c", line]

    monkeypatch.setattr(Ssh, "command", command)
    with pytest.raises(MachineError) as caught:
        Keeper(Ssh("h1", "h1", sudo=sudo), str(tmp_path / "work"))
    assert str(caught.value) == f"h1 (h1): {what}; apt install bash on it"


@pytest.mark.parametrize(
    "line",
    [
        "sh: 1: exec: bash: not found",  # dash
        "bash: line 1: exec: bash: not found",
        "zsh:1: command not found: bash",
        "fish: Unknown command: bash",
        "bash: Command not found.",  # tcsh
        "ash: exec: line 0: bash: not found",  # BusyBox
        "sudo: bash: command not found",
        "env: 'bash': No such file or directory",
        "slurmstepd: error: execve(): bash: No such file or directory",
    ],
)
def test_each_shell_reports_a_missing_bash_differently(line: str) -> None:
    for login in (SSH, SRUN):
        assert "it has no bash; apt install bash on it" in str(login.refusal(f"banner\n{line}\n"))


def test_a_bash_that_is_too_old_is_named_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a clock of its own: EPOCHREALTIME came with bash 5.0."""
    monkeypatch.setattr(Ssh, "command", lambda _self, argv, **_ways: list(argv))
    monkeypatch.setattr(keeper, "KEEP", f"unset EPOCHREALTIME\n{KEEP}")
    with pytest.raises(
        MachineError, match=r"h1 \(h1\): it has bash .*; perjoule needs bash 5.0 or later; install a newer"
    ):
        Keeper(SSH, str(tmp_path / "work"))


@pytest.mark.parametrize(
    "line", ["bash: /root/.bashrc: Permission denied", "no-such-bash-host: Name or service not known"]
)
def test_other_words_about_bash_are_passed_on(line: str) -> None:
    assert "no bash" not in str(SSH.refusal(line))
