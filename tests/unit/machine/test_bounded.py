"""A block that computes with a stranger's data ends at its bounds, and the process is as it was."""

import resource
import signal

import pytest

from perjoule.machine import bounded as module
from perjoule.machine.bounded import bounded


def state() -> tuple[object, ...]:
    return (
        resource.getrlimit(resource.RLIMIT_AS),
        signal.getsignal(signal.SIGPROF),
        signal.getitimer(signal.ITIMER_PROF),
    )


def test_a_block_that_takes_more_memory_than_its_bound_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 256 * 1024**2)
    before = state()
    with pytest.raises(MemoryError), bounded():
        bytearray(2 * 1024**3)
    assert state() == before
    with bounded():
        bytearray(16 * 1024**2)


def test_a_block_that_takes_more_time_than_its_bound_is_ended() -> None:
    before, ended = state(), False
    with pytest.raises(TimeoutError), bounded(0.2):
        while True:  # without the bound, the test's own limit strikes
            ended = True
    assert ended
    assert state() == before
