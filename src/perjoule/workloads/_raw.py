"""Files that raw folders of several tools share, read within limits and with type checks."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from perjoule.machine.untrusted import UNEXPECTED, read_as, words
from perjoule.model import Clock
from perjoule.model.errors import WorkloadError


@dataclass(frozen=True)
class Ran:
    """run.json: the clients, and both clocks before and after the run."""

    clients: tuple[str, ...]
    clocks: tuple[Clock, ...]

    def __post_init__(self) -> None:
        if not self.clients or len(self.clocks) != 2:
            raise ValueError(
                f"{len(self.clients)} clients and {len(self.clocks)} clocks, but it needs at least one client and exactly two "
                "clocks"
            )

    @property
    def offset_s(self) -> float:
        """The monotonic clock minus UTC."""
        return self.clocks[0].monotonic_s - self.clocks[0].utc_s

    @property
    def drift_s(self) -> float:
        """By how much the clock was set meanwhile."""
        return (self.clocks[-1].monotonic_s - self.clocks[-1].utc_s) - self.offset_s


@dataclass(frozen=True)
class Prepared:
    """prepared.json: doubts found before the run began."""

    doubts: tuple[str, ...]


def prepared_doubts(folder: Path, prefix: str = "") -> tuple[str, ...]:
    """Read the doubts found before a run began. Raises OSError, ValueError."""
    return read_as(Prepared, folder / f"{prefix}prepared.json").doubts


@contextmanager
def reading(what: str, folder: Path) -> Generator[None]:
    """Turn any error from a damaged raw folder into a WorkloadError of one sentence."""
    try:
        yield
    except (OSError, *UNEXPECTED) as error:
        raise WorkloadError(f"{what} can't be read: {words(error)}", where=str(folder)) from error
