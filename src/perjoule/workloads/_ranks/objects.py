"""The objects of a data set over S3, for ranks on a client: what `dataset` runs.

Requests are the S3 engine's (`perjoule.machine.buckets.engine`), which lies there, too.
"""

import errno
import http.client
import runpy
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perjoule.workloads._ranks.program import Job

IDLE_S = 5.0  # after which a store may have closed a connection


@cache
def engine(path: str) -> dict[str, Any]:
    """Return what the S3 engine defines."""
    return runpy.run_path(path)


class ObjectConnection:
    """One connection, over which a thread of its own puts or gets the objects of a data set."""

    def __init__(self, job: "Job") -> None:
        self._prefix, self._parts = job["store"]["prefix"], job["samples_per_file"] > 1
        self._engine = engine(job["store"]["engine"])
        try:
            keys = self._engine["credentials"](job["store"]["credentials"])
        except self._engine["Refused"] as refusal:
            raise ValueError(str(refusal)) from None
        self._store = self._engine["Store"](job["store"], keys)
        self._room = bytearray(self._engine["ROOM_BYTES"])
        self._used_s = time.monotonic()
        with self._requesting():
            self._store.connection.connect()

    def put(self, number: int, content: memoryview) -> None:
        """Put an object. Raises OSError, ValueError."""
        with self._requesting():
            self._store.put(self._name(number), content)

    def get(self, number: int, first: int, length: int) -> None:
        """Get so many bytes of an object, or all of one that is a single sample. Raises OSError, ValueError."""
        with self._requesting():
            begin = first if self._parts else None
            deque(self._store.pieces(self._name(number), length, self._room, begin), maxlen=0)

    def end_batch(self) -> None:
        """Keep the connection for the next one."""

    def _name(self, number: int) -> str:
        return f"{self._prefix}{number:09d}"

    @contextmanager
    def _requesting(self) -> Generator[None]:
        """Send a request, over a new connection after an idle while.

        Raises:
            OSError: what lost servers may cause, HTTP's 5xx and broken connections; EIO if it has no number.
            ValueError: any other answer that was not asked for.
        """
        if time.monotonic() > self._used_s + IDLE_S:
            self._store.connection.close()
        try:
            yield
            self._used_s = time.monotonic()
        except self._engine["Refused"] as refusal:
            self._drop()
            if not refusal.kind.startswith("5"):
                raise ValueError(str(refusal)) from None
            raise OSError(errno.EIO, f"refused: {refusal}", "S3") from None
        except (OSError, http.client.HTTPException) as error:
            self._drop()
            if isinstance(error, OSError) and error.errno:
                raise
            raise OSError(errno.EIO, f"{type(error).__name__} {error}", "S3") from None

    def _drop(self) -> None:
        """Close the connection; the next request makes another, after a pause."""
        self._store.connection.close()
        time.sleep(self._engine["PAUSE_S"])
