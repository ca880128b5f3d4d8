"""A disk as full as a test makes it, and who hears the signal that stops a campaign."""

import shutil
import signal
from collections.abc import Iterator
from typing import NamedTuple

import pytest

GIB = 1024**3


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """A disk of 100 GiB on which 72 GiB are free, the same for all folders."""
    state = {"total": 100 * GIB, "free": 72 * GIB}
    monkeypatch.setattr(
        shutil, "disk_usage", lambda _: Usage(state["total"], state["total"] - state["free"], state["free"])
    )
    yield state


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM])
def handled(request: pytest.FixtureRequest) -> Iterator[None]:
    """Only one signal has a handler, as where a shell has made SIGINT ignored in its background."""
    before = {
        number: signal.signal(number, signal.SIG_IGN)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    signal.signal(request.param, signal.default_int_handler)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
