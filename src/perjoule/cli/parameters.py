"""Arguments, options and examples that several commands share, and their shell completion."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from perjoule.cli.terminal.outputs import OutputFile, OutputFolder

HELP_WIDTH = 110
_Command = TypeVar("_Command", bound=Callable[..., Any] | click.Command)

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def examples(*lines: str) -> str:
    """Lay out examples such that click leaves their lines alone."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


class InOrder(click.Group):
    """Lists commands in the order of their functions, which is that of their use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name all commands."""
        return list(self.commands)


def completing(choices: Callable[[], Iterable[str]]) -> Completer:
    """Return a completion to one of some words."""
    return lambda _context, _parameter, begun: [
        CompletionItem(choice) for choice in choices() if choice.startswith(begun)
    ]


def all_kinds() -> list[str]:
    """Name every driver, whatever its part."""
    from perjoule import drivers

    return sorted({kind for part in drivers.PROTOCOLS for kind in drivers.kinds(part)})


def _folders(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    return [CompletionItem(begun, type="dir")]


def options(
    overrides: tuple[str, ...], shrink: int | None = None, *, simulate: bool = False
) -> tuple[str, ...]:
    """Return --shrink and --simulate as overrides."""
    return (*overrides, *(("simulate=true",) if simulate else ()), *((f"shrink={shrink}",) if shrink else ()))


_path = click.Path(path_type=Path)
overrides = click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change an option: filesystem.goal=2; repetitions=N also removes until.",
)
overwrite = click.option(
    "--overwrite",
    "devices",
    multiple=True,
    metavar="ID",
    help="Confirm that this device may be overwritten: its ID in overwrite of the campaign.",
)


def _of_the_user(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> None:
    if path:
        os.environ["PERJOULE_SSH_CONFIG"] = str(path.absolute())


def _trusted(_context: click.Context, _parameter: click.Parameter, folders: tuple[Path, ...]) -> None:
    former = os.environ.get("PERJOULE_PROGRAMS", "")
    os.environ["PERJOULE_PROGRAMS"] = ":".join(
        [*filter(None, [former]), *(str(folder.absolute()) for folder in folders)]
    )


programs = click.option(
    "--programs",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    callback=_trusted,
    expose_value=False,
    help="The campaign may name programs below this folder (prefix, tool), besides /usr and /opt.",
)
ssh_config = click.option(
    "--ssh-config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    callback=_of_the_user,
    expose_value=False,
    help=(
        "Your configuration for ssh, instead of ~/.ssh/config. It can run programs, so no campaign names one."
    ),
)
inventory = click.option(
    "--inventory",
    type=click.Path(path_type=Path),
    metavar="FILE|FOLDER",
    help=(
        "Your inventory, listed by ansible-inventory, instead of the campaign's. It can run programs, so "
        "no campaign does this."
    ),
)
shrink = click.option("--shrink", metavar="N", type=click.IntRange(min=1), help="Divide all sizes by N.")
simulate = click.option(
    "--simulate", is_flag=True, help="Simulate hosts, file systems, loads and meters: needs no hardware."
)
into = click.option(
    "--into",
    type=OutputFolder(),
    metavar="DIR",
    help="Results folder; the default is results/NAME-TIME.",
    shell_complete=_folders,
)


def scale(help: str) -> Callable[[_Command], _Command]:
    """Return the option for the speed of virtual hosts."""
    return click.option(
        "--scale", metavar="RATIO", type=click.FloatRange(min=0, max=1, min_open=True), help=help
    )


stands_for = click.option(
    "--on",
    "cluster",
    metavar="CLUSTER|FILE.toml",
    help="Hardware of hosts for which the campaign names none, as for `predict --on`.",
)
junit = click.option(
    "--junit",
    "junit_file",
    type=OutputFile(),
    metavar="FILE.xml",
    help="Write what was judged as a JUnit report, which CI servers show.",
)
folder = click.argument("folder", type=_path, metavar="DIR", shell_complete=_folders)
folders = click.argument(
    "folders", nargs=-1, required=True, type=_path, metavar="DIRS", shell_complete=_folders
)
file = click.argument("file", type=_path, metavar="CAMPAIGN.toml")
