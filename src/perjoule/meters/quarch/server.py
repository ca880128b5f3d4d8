"""A connection to Quarch Instrument Server: a line per command, an answer up to a prompt at the beginning
of a line.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager

from perjoule.meters._deadline import Deadline, Timed, connected

PORT = 9722
PROMPT = b"\r\n>"
MOST_BYTES = 2 * 2**20  # the longest answer is 3072 lines of a stream
CHUNK_BYTES = 65536
_WELCOME = re.compile(rb"v\d+\.\d+")


class QuarchServer:
    """An open connection. No answer takes longer than its time limit, or is endless."""

    def __init__(self, socket: Timed, timeout_s: float) -> None:
        self._socket, self._timeout_s = socket, timeout_s

    def ask(self, command: str) -> str:
        """Send a command and return the lines that answer it. Raises OSError, ValueError."""
        self._socket.settimeout(self._timeout_s)
        self._socket.sendall(command.encode("ascii") + b"\r\n")
        return self._upto(PROMPT)[: -len(PROMPT)].decode("ascii", "replace").strip()

    def welcome(self) -> None:
        """Read the greeting, a line with the version. Raises ValueError: another server."""
        greeting = self._upto(b"\r\n")
        if not _WELCOME.search(greeting):
            raise ValueError(f"this is not a Quarch Instrument Server: {greeting[:60]!r}")

    def _upto(self, end: bytes) -> bytes:
        self._socket.deadline = Deadline(self._timeout_s)
        answer = bytearray()
        while not answer.endswith(end):
            if len(answer) > MOST_BYTES:
                raise ValueError(f"an answer has no end after {MOST_BYTES} bytes")
            chunk = self._socket.recv(CHUNK_BYTES)
            if not chunk:
                raise ConnectionError("it has closed the connection")
            answer += chunk
        return bytes(answer)


@contextmanager
def opened(address: str, timeout_s: float) -> Generator[QuarchServer]:
    """Connect to "HOST" or "HOST:PORT". Raises OSError, ValueError."""
    host, _, port = address.partition(":")
    with connected(host, int(port or PORT), Deadline(timeout_s)) as socket:
        server = QuarchServer(socket, timeout_s)
        server.welcome()
        yield server
