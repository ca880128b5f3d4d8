"""The command in this process: an interpreter that starts and imports takes longer than most commands."""

import contextlib
import io
import os
import subprocess
import warnings
from pathlib import Path
from unittest import mock

from perjoule.cli import cli, exits


def command(*words: object, folder: Path | str = ".", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `perjoule` with these words, in this folder; an error that is not ours is raised."""
    argv = [str(word) for word in words]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.ExitStack() as around:
        around.enter_context(mock.patch.dict(os.environ, environment))
        around.enter_context(contextlib.chdir(folder))
        around.enter_context(warnings.catch_warnings())
        warnings.simplefilter("default")
        warnings.showwarning = exits.warned
        around.enter_context(contextlib.redirect_stdout(out))
        around.enter_context(contextlib.redirect_stderr(err))
        try:
            code = exits.exit_code(lambda: cli.main(argv, prog_name="perjoule", standalone_mode=False))
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(argv, code, *(file.buffer.getvalue().decode() for file in (out, err)))


def printed(*words: object) -> str:
    """What `perjoule` prints with these words, which succeed."""
    done = command(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def export(folder: Path, table: Path) -> None:
    """Export a results folder as a table."""
    printed("export", folder, "--csv", table)
