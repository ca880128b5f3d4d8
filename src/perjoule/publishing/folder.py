"""The list as a folder: bundles/, and nothing else that is read."""

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from perjoule.machine import removal
from perjoule.model.errors import CampaignError
from perjoule.publishing.entry import Entry, checked
from perjoule.store.disk import spoken
from perjoule.store.journal import sha256

BUNDLES = "bundles"
_SUFFIX = ".zip"
README = """This folder is a list of verified results of perjoule. Each file in `bundles/` is one publication.

    perjoule publish BUNDLE --into .     # check a bundle and add it
    perjoule list build . --to site      # the static site; it recomputes every number
"""


def add(bundle: Path, into: Path) -> tuple[Entry, Path]:
    """Check a bundle and copy it into the list, which is made if it is not there.

    Raises:
        CampaignError: the list can't take it, or has it.
        MachineError: it is not a bundle.
        OSError: the list can't be written.
    """
    entry = checked(bundle)
    folder = into / BUNDLES
    if folder.is_symlink() or (into.exists() and not folder.exists() and any(_foreign(into))):
        raise CampaignError(
            "this is not a list of results", where=str(into), next="name a list, or a new or empty folder"
        )
    if any(path.name.endswith(f"-{entry.id}{_SUFFIX}") for path in bundles(into)):
        raise CampaignError(
            "the list has this bundle already",
            where=str(bundle),
            next=f"perjoule list build {into} --to site",
        )
    target = folder / f"{_slug(entry.title)}-{entry.id}{_SUFFIX}"
    with spoken(into):
        folder.mkdir(parents=True, exist_ok=True)
        # a link stays as it is, wherever it leads
        with suppress(FileExistsError), (into / "README.md").open("x", encoding="utf-8") as readme:
            readme.write(README)
        partial = folder / f".{target.name}.partial"
        removal.remove_file(partial)  # a killed publisher's, or a link
        try:
            shutil.copyfile(bundle, partial)
            if sha256(partial) != entry.digest:  # what was checked is what is added
                raise CampaignError(
                    "it changed while it was checked", where=str(bundle), next="publish it again"
                )
            partial.replace(target)
        finally:
            removal.remove_file(partial)
    return entry, target


def bundles(of: Path) -> tuple[Path, ...]:
    """Name the bundles of a list, in a fixed order; links and hidden files are not taken."""
    folder = of / BUNDLES
    if folder.is_symlink() or not folder.is_dir():
        return ()
    return tuple(
        path
        for path in sorted(folder.iterdir())
        if path.suffix == _SUFFIX
        and not path.name.startswith(".")
        and not path.is_symlink()
        and path.is_file()
    )


def _foreign(folder: Path) -> Iterator[Path]:
    """Name what a new repository for a list would not have."""
    yield from (
        path for path in folder.iterdir() if not path.name.startswith(".") and path.suffix not in (".md", "")
    )


def _slug(title: str) -> str:
    """Return a name for a file: letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40] or "results"
