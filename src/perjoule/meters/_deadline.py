"""A time limit for a whole answer, however many parts it has, and sockets that keep it.

A socket's own timeout applies to each part: a peer that sends a byte now and then could hold it forever.
"""

import socket
import ssl
import time
from typing import Any


class Deadline:
    """A moment this many seconds from now, by which everything must be done."""

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s, self._end_s = timeout_s, time.monotonic() + timeout_s

    def left_s(self) -> float:
        """Return the time left. Raises TimeoutError if it has passed."""
        left_s = self._end_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError(f"no complete answer within {self.timeout_s:g} s")
        return left_s


class Timed(socket.socket):
    """A socket with one deadline for all receiving."""

    deadline: Deadline

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        """Receive like a socket. Raises TimeoutError."""
        self.settimeout(self.deadline.left_s())
        return super().recv(bufsize, flags)

    def recv_into(self, buffer: Any, nbytes: Any = 0, flags: int = 0) -> int:
        """Receive like a socket. Raises TimeoutError."""
        self.settimeout(self.deadline.left_s())
        return super().recv_into(buffer, nbytes, flags)


class TimedTls(ssl.SSLSocket):
    """The same over TLS: the `sslsocket_class` of a context; the deadline is set after the handshake."""

    deadline: Deadline

    def recv_into(self, buffer: Any, nbytes: Any = 0, flags: int = 0) -> int:
        """Receive like a socket. Raises TimeoutError."""
        self.settimeout(self.deadline.left_s())
        return super().recv_into(buffer, nbytes, flags)


def connected(host: str, port: int, deadline: Deadline) -> Timed:
    """Connect by TCP. Raises OSError."""
    failure: OSError | None = None
    for family, kind, protocol, _, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        line = Timed(family, kind, protocol)
        line.deadline = deadline
        try:
            line.settimeout(deadline.left_s())
            line.connect(place)
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return line
        except OSError as error:
            line.close()
            failure = error
    raise failure or OSError("it has no address")
