"""Under sudo, what root writes into a folder is given to the user who called it."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from perjoule.store.disk import spoken
from perjoule.store.place import entered, give


@contextmanager
def given_back(folder: Path, made: Sequence[Path] = ()) -> Generator[None]:
    """Give a folder's content back at the end of a block, as it was opened at its beginning.

    `made` has the folder, and those above it, if they were made just now. Raises MachineError: another user
    could replace it.
    """
    if os.geteuid() != 0 or "SUDO_UID" not in os.environ:
        yield
        return
    with spoken(folder), entered(folder) as place:
        try:
            yield
        finally:
            give(place, int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"]), max(0, len(made) - 1))
