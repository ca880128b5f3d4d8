"""Write docs/reference/perjoule.1, the man page, from the help of all commands.

Usage: .venv/bin/python setup/man.py
"""

from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from perjoule.cli import cli

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "perjoule.1"
WIDTH = 76  # of the help on a site's page, in a terminal of 80 columns


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
    """Return the man page: what each command is for, its arguments and options, and examples."""
    names = cli.context_settings["help_option_names"]
    top = click.Context(cli, info_name="perjoule", terminal_width=WIDTH, help_option_names=names)
    _, *below = commands(cli, top)
    examples, exit_codes = (cli.epilog or "").split("\n\n")
    return "\n".join(
        [
            '.TH PERJOULE 1 "" "perjoule" "User Commands"',
            ".ad l",  # words of commands are long
            ".nh",
            ".SH NAME",
            "perjoule \\- measure the energy efficiency of storage",
            ".SH SYNOPSIS",
            ".B perjoule",
            ".I COMMAND",
            "[\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]",
            ".SH DESCRIPTION",
            *paragraphs(cli.help or ""),
            *options(top),
            ".SH COMMANDS",
            *(line for context in below for line in section(context)),
            ".SH EXIT STATUS",
            *paragraphs(exit_codes.replace("Exit codes: ", "")),
            ".SH EXAMPLES",
            *paragraphs(examples.replace("Examples:\n", "")),
            ".SH SEE ALSO",
            "\\fBperjoule docs\\fR lists the documentation, and prints it.",
            ".BR fio (1),",
            ".BR ipmitool (1)",
            "",
        ]
    )


def section(context: click.Context) -> list[str]:
    """Return the section of one command."""
    command = context.command
    usage = " ".join(command.collect_usage_pieces(context))
    return [
        f'.SS "{escaped(context.command_path)} {escaped(usage)}"',
        *paragraphs(command.help or ""),
        *options(context),
        *paragraphs(command.epilog or ""),
    ]


def paragraphs(text: str) -> list[str]:
    """Return paragraphs of a help: filled, or after "\\b" as they stand."""
    lines: list[str] = []
    for paragraph in cleandoc(text).split("\n\n"):
        as_it_stands = paragraph.startswith("\b")
        body = escaped(paragraph.removeprefix("\b").strip("\n"))
        lines += [".PP", ".nf", body, ".fi"] if as_it_stands else [".PP", body]
    return lines if text else []


def options(context: click.Context) -> list[str]:
    """Return a paragraph for each option but that for help, and for arguments that are explained."""
    records = (parameter.get_help_record(context) for parameter in context.command.params)
    return [
        line
        for names, explanation in filter(None, records)
        if explanation
        for line in (".TP", f".B {escaped(names)}", escaped(explanation))
    ]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
