"""An HTTP server that slow connections can't hold shut: of too many, the oldest ends for the newest, and none
lasts long.

A timeout of a socket is one of each read: a header sent byte by byte never meets it.
"""

import socket
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SERVED_COUNT = 16  # connections at once, of those who have shown no token
PATIENCE_S = 10.0  # with one of them, from its first byte to the last


class LimitedServer(ThreadingHTTPServer):
    """Serve each connection in a thread, within limits."""

    daemon_threads = True
    block_on_close = False
    served_count, patience_s = SERVED_COUNT, PATIENCE_S

    def __init__(self, endpoint: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.address_family = socket.AF_INET6 if ":" in endpoint[0] else socket.AF_INET
        self._began_s: dict[Any, float] = {}  # of each limited connection, the oldest first
        self._guard = threading.Lock()
        super().__init__(endpoint, handler)

    def admit(self, connection: Any) -> None:
        """Exempt a connection from the limits, because it has shown a token."""
        with self._guard:
            self._began_s.pop(connection, None)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection; if there are too many, the oldest ends."""
        with self._guard:
            while len(self._began_s) >= self.served_count:
                self._hang_up(next(iter(self._began_s)))
            self._began_s[request] = time.monotonic()
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer it."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.admit(request)

    def service_actions(self) -> None:
        """End the connections that last too long."""
        with self._guard:
            for connection, began_s in list(self._began_s.items()):
                if time.monotonic() - began_s > self.patience_s:
                    self._hang_up(connection)

    def server_close(self) -> None:
        """Stop listening, and end the connections that are limited."""
        super().server_close()
        with self._guard:
            for connection in list(self._began_s):
                self._hang_up(connection)

    def _hang_up(self, connection: Any) -> None:
        del self._began_s[connection]
        with suppress(OSError):  # it has ended
            # its thread, which waits for the next byte, gets none and closes it
            connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of one who hung up."""
