"""A time limit for all of an answer, however many parts it comes in, and sockets that keep to it.

A socket's own timeout is for each part: who sends a byte now and then is waited for without end.
"""

import socket
import ssl
import time
from typing import Any


class Deadline:
    """A moment so many seconds from now, by which all must be done."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s, self._end_s = timeout_s, time.monotonic() + timeout_s

    def left_s(self) -> float:
        """How long there is still. Raises TimeoutError when it has passed."""
        left_s = self._end_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"no complete answer within {self.timeout_s:g} s")
        return left_s


class Timed(socket.socket):
    """A socket whose every receiving ends by one deadline."""

    deadline: Deadline

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        """As a socket does. Raises TimeoutError."""
        self.settimeout(self.deadline.left_s())
        return super().recv(bufsize, flags)

    def recv_into(self, buffer: Any, nbytes: Any = 0, flags: int = 0) -> int:
        """As a socket does. Raises TimeoutError."""
        self.settimeout(self.deadline.left_s())
        return super().recv_into(buffer, nbytes, flags)


class TimedTls(ssl.SSLSocket):
    """The same over TLS: made by a context whose `sslsocket_class` it is; the deadline is set after the handshake."""

    deadline: Deadline

    def recv_into(self, buffer: Any, nbytes: Any = 0, flags: int = 0) -> int:
        """As a socket does. Raises TimeoutError."""
        self.settimeout(self.deadline.left_s())
        return super().recv_into(buffer, nbytes, flags)


def connected(host: str, port: int, deadline: Deadline) -> Timed:
    """Connect by TCP. Raises OSError."""
    failure: OSError | None = None
    for family, kind, protocol, _, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        one = Timed(family, kind, protocol)
        one.deadline = deadline
        try:
            one.settimeout(deadline.left_s())
            one.connect(place)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return one
        except OSError as error:
            one.close()
            failure = error
    raise failure or OSError("it has no address")
