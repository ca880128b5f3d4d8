"""The connections that a process keeps between deployments: those of a check, and which hosts were lost."""

import atexit
import time
from collections.abc import Generator, Sequence

from perjoule.model.errors import PerjouleError
from perjoule.model.units import seconds_text
from perjoule.testbeds.cluster.keeping.keeper import Keeper
from perjoule.testbeds.cluster.login import Login

Place = tuple[Login, str]  # a host, and the work folder on it

_AGAIN_S = 1.0  # between two logins to a host that was lost
_kept: dict[Place, Keeper] = {}
_lost: set[Place] = set()


def keeper_at(place: Place) -> Keeper | None:
    """Return the connection of the last check."""
    return _kept.get(place)


def keep(place: Place, keeper: Keeper) -> None:
    """Keep a connection."""
    if old := _kept.pop(place, None):
        old.close()
    _kept[place] = keeper


def fresh(place: Place) -> Keeper:
    """Return the connection of the last check, or a new one. Raises MachineError, as a login does."""
    keeper = _kept.pop(place, None)
    if keeper and keeper.fresh:
        return keeper
    if keeper:
        keeper.close()
    return Keeper(*place)


def looked(place: Place) -> Keeper:
    """Return a connection over which to look, which stays for who holds the host next.

    Raises MachineError, as a login does.
    """
    keeper = fresh(place)
    _kept[place] = keeper
    return keeper


def lose(place: Place) -> None:
    """Note that a host's connection was lost."""
    _lost.add(place)


def regained(places: Sequence[Place], patience_s: float, *, booting: bool = False) -> Generator[str]:
    """Wait for those that were lost, or for all while they are `booting`; yields whom it waits for.

    Raises PerjouleError: one is not back in time.
    """
    until_s = time.monotonic() + patience_s
    for place in [place for place in places if booting or place in _lost]:
        told_already = False
        while True:
            try:
                keep(place, Keeper(*place))
                break
            except PerjouleError as error:
                if time.monotonic() > until_s:
                    raise
                if not told_already:
                    yield (
                        f"{place[0].where}: {error.what}; waiting up to {seconds_text(patience_s)} for it "
                        "to come back"
                    )
                told_already = True
                time.sleep(_AGAIN_S)
        _lost.discard(place)


@atexit.register
def close() -> None:
    """Close those that nobody took."""
    keepers = [_kept.popitem()[1] for _ in tuple(_kept)]
    for keeper in keepers:
        keeper.hang_up()
    for keeper in keepers:  # no pool: the interpreter ends
        keeper.close()
