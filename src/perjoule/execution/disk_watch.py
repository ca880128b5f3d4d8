"""A watch over disks while a campaign runs, which stops it while there is still space to take it down."""

import shutil
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path

from perjoule.execution.resources import existing
from perjoule.machine.disks import reserve_bytes
from perjoule.model.errors import DiskFull, PerjouleError
from perjoule.model.units import bytes_text

STOP_RATIO = 0.5  # of the reserve, below which a running campaign is stopped
PERIOD_S = 0.25  # a disk of 3 GB/s takes less than the reserve that is left

Space = Callable[[], tuple[int, int]]  # returns the free bytes of a disk, and all of them


def watched(folders: Iterable[Path]) -> AbstractContextManager[None]:
    """Stop the block as Ctrl-C would if a disk of this machine lacks half of its reserve, and name the disk.

    The block raises MachineError then.
    """
    places = {(nearest := existing(folder)).stat().st_dev: nearest for folder in folders}
    return watched_disks(
        {f"the disk of {place}": partial(_space, place) for place in places.values()}, PERIOD_S
    )


@contextmanager
def watched_disks(disks: Mapping[str, Space], period_s: float) -> Generator[None]:
    """Do the same for disks by their names."""
    watch = _Watch(disks, period_s)
    watch.start()
    try:
        yield
    except KeyboardInterrupt:
        if not watch.said:
            raise
        raise DiskFull(watch.said, next="free space, then run `perjoule resume`") from None
    finally:
        watch.end()


def _space(place: Path) -> tuple[int, int]:
    usage = shutil.disk_usage(place)
    return usage.free, usage.total


class _Watch(threading.Thread):
    """Asks for the free bytes of disks, and all of them, again and again, and interrupts the main thread
    once.
    """

    def __init__(self, disks: Mapping[str, Space], period_s: float) -> None:
        super().__init__(name="space", daemon=True)
        self.said = ""
        self._disks, self._period_s, self._over = disks, period_s, threading.Event()

    def run(self) -> None:
        while not self._over.wait(self._period_s):
            for name, space in self._disks.items():
                # a host or folder that is lost meanwhile is the trial's matter
                with suppress(PerjouleError, OSError):
                    free_bytes, total_bytes = space()
                    if total_bytes and free_bytes < STOP_RATIO * reserve_bytes(total_bytes):
                        self._interrupt(
                            f"{name} is nearly full ({bytes_text(free_bytes)} left); stopped in time"
                        )
                        return

    def _interrupt(self, why: str) -> None:
        self.said = why
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, _handled())

    def end(self) -> None:
        self._over.set()
        self.join()


def _handled() -> signal.Signals:
    """Return the first signal that stops us in good order: a background job of a shell, for example,
    ignores SIGINT.
    """
    each = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    return next((number for number in each if callable(signal.getsignal(number))), signal.SIGTERM)
