"""A line-based instrument at a TCP port or at a serial line (a pseudo-terminal), with the same code for
both.
"""

import os
import select
import socket
import threading
import tty
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Literal, Protocol

from perjoule.simulators._tcp import connections

Line = Literal["tcp", "serial"]
UNREAD_S = 0.2
LOOK_S = 0.02  # how often a serial line looks whether it is to end


class Session(Protocol):
    """The instrument of one connection."""

    def take(self, line: str) -> bytes | None:
        """Return the answer to a line, if any. Raises OSError: it hangs up."""
        ...

    def close(self) -> None:
        """End what it has started."""
        ...


# given: what sends bytes, and what hangs up
Begin = Callable[[Callable[[bytes], None], Callable[[], None]], Session]


@contextmanager
def lines(begin: Begin, line: Line, address: str, port: int) -> Generator[str]:
    """Serve during the block; yields the VISA address.

    Only a TCP connection can hang up: a cable stays connected.
    """
    if line == "serial":
        with _terminal(begin) as path:
            yield f"ASRL{path}::INSTR"
        return

    def handle(client: socket.socket, stop: threading.Event) -> None:
        def hang_up() -> None:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

        session = begin(client.sendall, hang_up)
        try:
            with client.makefile("rb") as stream:
                for text in stream:
                    answer = session.take(text.decode("ascii", "replace").strip())
                    if answer is not None:
                        client.sendall(answer)
        finally:
            session.close()

    with connections(handle, address, port) as own_port:
        yield f"TCPIP::{address}::{own_port}::SOCKET"


@contextmanager
def _terminal(begin: Begin) -> Generator[str]:
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    os.set_blocking(ours, False)
    stop = threading.Event()
    session = begin(lambda output: _write(ours, output), lambda: None)

    def serve() -> None:
        waiting = b""
        while not stop.is_set():
            if not select.select([ours], [], [], LOOK_S)[0]:
                continue
            with suppress(OSError):  # nobody has it open
                waiting += os.read(ours, 4096)
            *texts, waiting = waiting.split(b"\n")
            for text in texts:
                with suppress(OSError):
                    if (answer := session.take(text.decode("ascii", "replace").strip())) is not None:
                        _write(ours, answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield os.ttyname(theirs)
    finally:
        stop.set()
        thread.join()
        session.close()
        os.close(ours)
        os.close(theirs)


def _write(terminal: int, output: bytes) -> None:
    """Write; unread output is dropped after a moment, as on a cable."""
    with suppress(OSError):
        while output and select.select([], [terminal], [], UNREAD_S)[1]:
            output = output[os.write(terminal, output) :]
