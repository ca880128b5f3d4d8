"""Output for scripts that may end on a terminal."""

import json
from pathlib import Path

import pytest

from perjoule.cli.terminal.json_output import print_json


def test_escape_sequences_in_json_are_not_obeyed_and_their_text_stays(
    capsys: pytest.CaptureFixture[str],
) -> None:
    labels = ["a\x1b[31mb", "a\x9b31mb", "\u202egnp.exe", "line\u2028line", "größe €"]
    path = Path(b"results-\xff".decode("utf-8", "surrogateescape"))
    print_json("show", {"labels": labels, "folder": path})
    printed = capsys.readouterr().out
    assert json.loads(printed)["labels"] == labels
    assert json.loads(printed)["folder"] == str(path)
    assert all(letter.isprintable() or letter == "\n" for letter in printed)
    assert "größe €" in printed
