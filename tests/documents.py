"""The commands and tables in the documents, as a reader copies them."""

import re
import shlex
from pathlib import Path

import click

from perjoule.cli import cli

# After a prompt, with lines that go on; in a sentence; a step of CI.
COMMAND = re.compile(
    r"^ *\$ ((?:.*\\\n)*.*)$|(?<!`)`(perjoule [^`]+)`|^- run: (?:>\n)?((?:.+\n?)(?:    .+\n)*)", re.MULTILINE
)
TABLES = re.compile(r"^ *```toml\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)


def commands(document: Path) -> list[str]:
    found: list[str] = []
    for typed, in_a_sentence, step in COMMAND.findall(document.read_text()):
        words = shlex.split((typed or in_a_sentence or step).replace("\\\n", " "), comments=True)
        if not (in_a_sentence and is_name(words)):
            found.append(shlex.join(words))
    return list(dict.fromkeys(found))


def is_name(words: list[str]) -> bool:
    """Whether a sentence only names a command: without options, or with a placeholder."""
    command: click.Command = cli
    for at, word in enumerate(words[1:], 1):
        if not isinstance(command, click.Group):
            return any(word.isupper() for word in words[at:])
        command = command.commands[word]
    return True
