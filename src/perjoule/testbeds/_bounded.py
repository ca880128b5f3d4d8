"""Answers of lenders to `requests`, which their libraries use: each whole within a time and a size, or none.

Timeouts of these libraries bound each part of an answer, never all of it, nor its size once it is unpacked; and they
sleep for as long as a Retry-After says. https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3
"""

import io
import threading
import time
from typing import Any

MOST_BYTES = 16 * 1024**2  # of a body: what Grid'5000 says of all nodes of a cluster has a tenth
WHOLE_S = 120.0  # for an answer, with retries
PIECE_BYTES = 64 * 1024


class Unbounded(OSError):
    """An answer that is not read to its end: too long, too slow, or packed although nobody asked for that."""


class BoundedAdapter:
    """Sends requests by another adapter, and reads each answer to its end before anybody looks at it."""

    def __init__(self, adapter: Any) -> None:
        self._adapter = adapter

    def send(self, request: Any, *arguments: Any, **options: Any) -> Any:
        """Send a request, and return the answer. Raises Unbounded, and what the other adapter raises."""
        request.headers["Accept-Encoding"] = "identity"
        until_s = time.monotonic() + WHOLE_S
        answers: list[Any] = []
        failures: list[Exception] = []

        def work() -> None:
            try:
                answer = self._adapter.send(request, *arguments, **{**options, "stream": True})
                answer.raw = io.BytesIO(_body(answer, until_s))
                answers.append(answer)
            except Exception as error:
                failures.append(error)

        # A peer that sends a byte now and then would hold us by header or body; it holds this thread alone.
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(WHOLE_S)
        if failures:
            raise failures[0]
        if not answers:
            raise Unbounded(f"no whole answer within {WHOLE_S:g} s")
        return answers[0]

    def close(self) -> None:
        """Close what the other adapter has open."""
        self._adapter.close()


def _body(answer: Any, until_s: float) -> bytes:
    """Read a body. Raises Unbounded."""
    with answer:
        if (encoding := answer.headers.get("Content-Encoding", "identity")) != "identity":
            raise Unbounded(f"it is packed by {encoding[:40]!r}")
        content = bytearray()
        while piece := answer.raw.read(PIECE_BYTES, decode_content=False):
            content += piece
            if len(content) > MOST_BYTES:
                raise Unbounded(f"it is longer than {MOST_BYTES} B")
            if time.monotonic() > until_s:
                raise Unbounded(f"no whole answer within {WHOLE_S:g} s")
    return bytes(content)


def bound(session: Any) -> None:
    """Have a session of `requests` send all by bounded adapters."""
    for scheme in ("http://", "https://"):
        session.mount(scheme, BoundedAdapter(session.get_adapter(scheme)))
