"""One thread that hears all keepers, and lets them hear that we live."""

import contextlib
import select
import threading
import time
from typing import Protocol

BEAT_S = 20.0  # a keeper takes two minutes of silence for our end


class Talker(Protocol):
    """What sends answers over a pipe."""

    def hear(self) -> bool:
        """Take in what it has sent; return whether there may be more.

        An exception ends it, with its message as the reason.
        """
        ...

    def beat(self) -> None:
        """Let it hear that we live."""
        ...

    def gone(self, why: str) -> None:
        """Close its pipe: nothing more will come, for this reason if one is known."""
        ...


_poll = select.epoll()
_talkers: dict[int, Talker] = {}
_lock = threading.Lock()
_threads: list[threading.Thread] = []


def listen(pipe: int, talker: Talker) -> None:
    """Hear what comes from a pipe until its end."""
    with _lock:
        _talkers[pipe] = talker
        _poll.register(pipe, select.EPOLLIN)
        if not _threads:
            _threads.append(threading.Thread(target=_run, name="keepers", daemon=True))
            _threads[0].start()


def _run() -> None:
    beat_s = time.monotonic() + BEAT_S
    while True:
        for pipe, _ in _poll.poll(max(0.0, beat_s - time.monotonic())):
            try:
                if not _talkers[pipe].hear():
                    _end(pipe)
            except Exception as error:  # any: all other hosts are heard by this thread, too
                _end(pipe, error)
        if time.monotonic() >= beat_s:
            beat_s += BEAT_S
            for pipe, talker in tuple(_talkers.items()):
                try:
                    talker.beat()
                except Exception as error:
                    _end(pipe, error)


def _end(pipe: int, error: Exception | None = None) -> None:
    talker = _talkers.pop(pipe)
    why = str(error) or type(error).__name__ if error else ""
    with contextlib.suppress(Exception):  # whatever is broken, its pipe is never asked again
        _poll.unregister(pipe)
    with contextlib.suppress(Exception):
        talker.gone(why)
