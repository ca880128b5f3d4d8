"""Files of its own for each trial, so that each repetition has a placement of its own.

Where a file system puts a file decides how fast it is read: repetitions that read what an earlier trial wrote
would measure one placement again and again. So each trial gets a new folder, and reads lay out what they need
in it, outside the measured window. A read that follows its own write (the same load, repetition and clients)
finds what that wrote. The folder of a trial goes before the next one is prepared. Loads of devices, which have
no files, use the same blocks in all trials of a deployment, so they have one place in it.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perjoule.campaign.reading import follows, shares_blocks
from perjoule.drivers.protocols import Host, Mounted, Within
from perjoule.machine.each import each
from perjoule.model import Trial
from perjoule.model.errors import PerjouleError
from perjoule.store.layouts import Layout

LIMIT_S = 600.0  # to remove what a trial left
LOCATED_COUNT = 16  # files of a read whose hosts are kept


@dataclass
class Layouts:
    """The places of trials on one deployment."""

    mounted: Mounted
    _last: tuple[Trial, Within, Sequence[Host]] | None = field(default=None, init=False)
    _sound: bool = field(default=False, init=False)  # whether the last trial did what it should

    def of(self, trial: Trial, clients: Sequence[Host]) -> Within:
        """Make a trial's place, or give it that of its own write; remove the one before.

        Raises WorkloadError, TransientError.
        """
        place = self._kept(trial, clients)
        if place is None:
            self._remove()
            name = secrets.token_hex(4)
            place = Within(self.mounted, Path(f"trial-{name}"), [client.name for client in clients], name)
            self._first_then_others(clients, place, ["mkdir", "-p", "--"])
        self._last, self._sound = (trial, place, clients), False
        return place

    def _kept(self, trial: Trial, clients: Sequence[Host]) -> Within | None:
        """Return the place of the last trial, if this one finds there what it reads."""
        if self._last is None:
            return None
        last, place, last_clients = self._last
        if shares_blocks(last) and shares_blocks(trial):
            keeps = [client.name for client in last_clients] == [client.name for client in clients]
        else:
            keeps = self._sound and follows(last, trial)
        return place if keeps else None

    def measured(self) -> None:
        """Say that the last trial did what it should, so a read that follows may use what it wrote."""
        self._sound = True

    def _remove(self) -> None:
        if self._last:
            _, place, clients = self._last
            argv = ["rm", "-rf", "--one-file-system", "--"]
            self._first_then_others(clients, place, argv, check_others=False)  # mostly the same folder
            self._last = None

    @staticmethod
    def _first_then_others(
        clients: Sequence[Host], place: Within, argv: Sequence[str], *, check_others: bool = True
    ) -> None:
        """Run a command on the folder of each client: two that make the same folder at once may get ESTALE (seen
        on GlusterFS).
        """
        holders = [client for client in clients if client.name in place.directories]
        for turn, check in ((holders[:1], True), (holders[1:], check_others)):
            each(
                turn,
                lambda client, check=check: client.run(
                    [*argv, place.directories[client.name]], timeout_s=LIMIT_S, check=check
                ),
            )


def keep(place: Within, clients: Sequence[Host], folder: Path) -> None:
    """Keep, in a raw folder, which layout a read finds, and which hosts hold each file as far as the file
    system says.
    """
    first = next((client for client in clients if client.name in place.directories), None)
    holders: dict[str, tuple[str, ...]] = {}
    if first is not None:
        root = place.directories[first.name]
        try:
            paths = first.run(
                ["find", root, "-type", "f", "-size", "+0"], timeout_s=LIMIT_S
            ).stdout.splitlines()
            for path in sorted(paths)[:LOCATED_COUNT]:
                holders[str(Path(path).relative_to(root))] = tuple(place.locate(Path(path)))
        except (PerjouleError, ValueError):
            holders = {}  # it is what the trial finds that counts
    Layout(place.layout_name, holders).keep(folder)
