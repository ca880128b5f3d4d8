"""Paths that a command writes when its work is done: checked before the work begins, so that none is lost,
and written whole.
"""

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perjoule.cli import exits

if TYPE_CHECKING:  # `--help` and completion need none of it
    from perjoule.model.errors import MachineError


class OutputFile(click.Path):
    """A file to be written; with `new`, one that is not there yet."""

    def __init__(self, *, new: bool = False) -> None:
        super().__init__(path_type=Path)
        self._new = new

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Give the path. Raises MachineError, CampaignError."""
        path = Path(value)
        (require_new_file if self._new else require_file)(path)
        return path


class OutputFolder(click.Path):
    """A folder to be filled, and made where it is absent."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        """Give the path. Raises MachineError."""
        path = Path(value)
        require_folder(path)
        return path


def require_new_file(path: Path) -> None:
    """See that a file is not there, and can be written. Raises CampaignError, MachineError."""
    if path.exists():
        from perjoule.model.errors import CampaignError

        raise CampaignError("the file already exists", where=str(path), next="choose another name")
    require_file(path)


def require_file(path: Path) -> None:
    """See that a file can be written in a folder that is there. Raises MachineError."""
    if path.is_dir():
        raise _refused(path, "it is a folder", "name a file")
    folder = path.parent
    if not folder.is_dir():
        problem = f"{folder} is not a folder" if folder.exists() else f"there is no folder {folder}"
        raise _refused(path, problem, "create it first, or choose another path")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise _refused(path, "it can't be written", "choose another path, or change its permissions")
    _require_alone(path, folder)


def require_folder(path: Path) -> None:
    """See that a folder can be filled, or made with those above it. Raises MachineError."""
    existing = next(parent for parent in (path, *path.absolute().parents) if os.path.lexists(parent))
    if not existing.is_dir():
        raise _refused(
            path,
            f"{existing} is not a folder" if existing != path else "it is not a folder",
            "choose another path",
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        raise _refused(path, "it can't be written", "choose another path, or change its permissions")
    _require_alone(path, existing)


def _require_alone(path: Path, folder: Path) -> None:
    """See, as root, that no other user can lead elsewhere what is made in a folder. Raises MachineError."""
    from perjoule.machine.strangers import meddlers

    with exits.place(path):
        new = (
            folder / f".{secrets.token_hex(8)}"
        )  # as in a folder that is sticky: what is there may be anybody's
        if whose := meddlers(new):
            raise _refused(
                path, f"{whose}, who could lead it elsewhere", "choose another path, or run as that user"
            )


def require_new(path: Path) -> None:
    """See that a folder can be made, or is there and empty. Raises MachineError."""
    require_folder(path)
    with exits.place(path):
        if path.is_dir() and any(path.iterdir()):
            raise _refused(path, "the folder is not empty", "choose a new or empty folder")


def write(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all; other targets, such as /dev/stdout, are written directly.

    Raises MachineError.
    """
    from perjoule.cli import exits
    from perjoule.machine import removal
    from perjoule.machine.strangers import meddlers

    raw = content.encode() if isinstance(content, str) else content
    with exits.place(path):
        shared = meddlers(path.parent)  # where a link, or what is no file, may have been put in its place
        target = path.parent.resolve() / path.name if shared else path.resolve()  # a link of ours stays one
        if (path.exists() and not path.is_file()) or not os.access(target.parent, os.W_OK):
            if shared:
                raise _refused(
                    path, f"it is no file that can be replaced, and {shared}", "choose another path"
                )
            path.write_bytes(raw)
            return
        partial = target.with_name(f".{target.name}.partial")
        removal.remove_file(partial)  # a killed writer's, or a link
        try:
            with partial.open("xb") as file:  # no link that was put there meanwhile
                file.write(raw)
            if target.exists() and not shared:
                partial.chmod(target.stat().st_mode)
            partial.replace(target)
        finally:
            removal.remove_file(partial)


def _refused(path: Path, problem: str, advice: str) -> "MachineError":
    from perjoule.model.errors import MachineError

    return MachineError(problem, where=str(path), next=advice)
