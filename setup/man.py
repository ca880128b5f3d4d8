"""Write docs/reference/perjoule.1, the man page, from the help of all commands.

Usage: .venv/bin/python setup/man.py
"""

from collections.abc import Iterator
from pathlib import Path

import click

from perjoule.cli import cli

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "perjoule.1"
WIDTH = 76  # of the help, which stands as it is, in a terminal of 80 columns


def escaped(text: str) -> str:
    """Return text that troff prints as it is: backslashes and hyphens kept, no line that begins with a
    request.
    """
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in plain.splitlines())


def commands(command: click.Command, context: click.Context) -> Iterator[click.Context]:
    """Yield the context of a command and of all below it, in the order of the help."""
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(
                below, click.Context(below, info_name=name, parent=context, terminal_width=WIDTH)
            )


def page() -> str:
    """Return the man page."""
    names = cli.context_settings["help_option_names"]
    top = click.Context(cli, info_name="perjoule", terminal_width=WIDTH, help_option_names=names)
    head = [
        '.TH PERJOULE 1 "" "perjoule" "User Commands"',
        ".SH NAME",
        "perjoule \\- the energy efficiency of storage",
    ]
    body = [line for context in commands(cli, top) for line in section(context)]
    return "\n".join([*head, *body, ".SH SEE ALSO", ".BR fio (1),\n.BR ipmitool (1)", ""])


def section(context: click.Context) -> list[str]:
    """Return the section of one command."""
    return [
        f'.SH "{escaped(context.command_path).upper()}"',
        ".nf",
        escaped(context.command.get_help(context)),
        ".fi",
    ]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
