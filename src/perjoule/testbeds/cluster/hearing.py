"""One thread that hears all keepers, and lets them hear that we live."""

import select
import threading
import time
from typing import Protocol

BEAT_S = 20.0  # a keeper takes two minutes of silence for our end


class Talker(Protocol):
    """What sends answers over a pipe."""

    def hear(self) -> bool:
        """Take in what it has sent; return whether there may be more. Raises OSError, ValueError: not a keeper's answer."""
        ...

    def beat(self) -> None:
        """Let it hear that we live."""
        ...

    def gone(self) -> None:
        """Close its pipe: nothing more will come."""
        ...


_poll = select.epoll()
_talkers: dict[int, Talker] = {}
_lock = threading.Lock()
_threads: list[threading.Thread] = []


def listen(words: int, talker: Talker) -> None:
    """Hear what comes from a pipe until its end."""
    with _lock:
        _talkers[words] = talker
        _poll.register(words, select.EPOLLIN)
        if not _threads:
            _threads.append(threading.Thread(target=_run, name="keepers", daemon=True))
            _threads[0].start()


def _run() -> None:
    beat_s = time.monotonic() + BEAT_S
    while True:
        for words, _ in _poll.poll(max(0.0, beat_s - time.monotonic())):
            try:
                more = _talkers[words].hear()
            except (OSError, ValueError):
                more = False
            if not more:
                _poll.unregister(words)
                _talkers.pop(words).gone()
        if time.monotonic() >= beat_s:
            beat_s += BEAT_S
            for talker in tuple(_talkers.values()):
                talker.beat()
