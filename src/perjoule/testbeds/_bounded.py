"""Answers of lenders to `requests`, which their libraries use: each whole within a time and a size, or none.

Timeouts of these libraries bound each part of an answer, never all of it, nor its size once it is unpacked; and they
sleep for as long as a Retry-After says. https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3
"""

import io
import threading
import time
from typing import Any

from requests import PreparedRequest, Response
from requests.adapters import HTTPAdapter
from requests.exceptions import ChunkedEncodingError, ContentDecodingError, ReadTimeout
from urllib3.util.retry import Retry

MOST_BYTES = 16 * 1024**2  # of a body: what Grid'5000 says of all nodes of a cluster has a tenth
WHOLE_S = 120.0  # for an answer, with retries
PIECE_BYTES = 64 * 1024
_AGAIN = Retry(
    total=3, backoff_factor=0.3, status_forcelist=(500, 502, 504), respect_retry_after_header=False
)


class BoundedAdapter(HTTPAdapter):
    """Sends requests, and reads each answer to its end before anybody looks at it."""

    def __init__(self) -> None:
        super().__init__(max_retries=_AGAIN)

    def send(self, request: PreparedRequest, *arguments: Any, **options: Any) -> Response:
        """Send a request.

        Raises:
            ReadTimeout: there is no whole answer in time.
            ChunkedEncodingError, ContentDecodingError: it is too long, or packed although nobody asked for that.
        """
        request.headers["Accept-Encoding"] = "identity"
        until_s = time.monotonic() + WHOLE_S
        outcomes: list[Response | Exception] = []

        def work() -> None:
            try:
                response = super(BoundedAdapter, self).send(
                    request, *arguments, **{**options, "stream": True}
                )
                response.raw = io.BytesIO(_body(response, until_s))
                outcomes.append(response)
            except Exception as error:
                outcomes.append(error)

        # A peer that sends a byte now and then would hold us by header or body; it holds this thread alone.
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        thread.join(WHOLE_S)
        match outcomes:
            case [Response() as response]:
                return response
            case [Exception() as error]:
                raise error
            case _:
                raise ReadTimeout(f"no whole answer within {WHOLE_S:g} s", request=request)


def _body(response: Response, until_s: float) -> bytes:
    """Read a body. Raises ChunkedEncodingError, ContentDecodingError, ReadTimeout."""
    with response:
        if (encoding := response.headers.get("Content-Encoding", "identity")) != "identity":
            raise ContentDecodingError(f"an answer is packed by {encoding[:40]!r}")
        content = bytearray()
        while piece := response.raw.read(PIECE_BYTES, decode_content=False):
            content += piece
            if len(content) > MOST_BYTES:
                raise ChunkedEncodingError(f"an answer is longer than {MOST_BYTES} B")
            if time.monotonic() > until_s:
                raise ReadTimeout(f"no whole answer within {WHOLE_S:g} s")
    return bytes(content)


def bound(session: Any) -> None:
    """Have a session of `requests` send all by bounded adapters."""
    for scheme in ("http://", "https://"):
        session.mount(scheme, BoundedAdapter())
