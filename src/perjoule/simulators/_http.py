"""An HTTP server in this process that answers with a meter's behaviour."""

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

from perjoule.machine.serving import LimitedServer
from perjoule.simulators._behaviour import Behaviour, Fault
from perjoule.simulators._hostile import pour

SERVED_COUNT = 64
SILENT_S = 60.0  # how long a connection without an answer stays open


@dataclass(frozen=True)
class HttpAnswer:
    """The response."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@contextmanager
def answering(
    behaviour: Behaviour,
    answer: Callable[[str, Mapping[str, str]], HttpAnswer],
    address: str,
    port: int,
    *,
    change: Callable[[str, bytes], HttpAnswer] | None = None,
) -> Generator[str]:
    """Serve GET during the block; `answer` gets a path with its query, and the headers. Yields "host:port".

    `change` answers POST and DELETE, by path and body, and never fails.
    """
    stop = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.close_connection = True
            manner = behaviour.manner()
            stop.wait(SILENT_S if manner.silent else manner.delay_s)
            if manner.silent or manner.hang_up or stop.is_set():
                return
            if manner.hostile:
                self._pour(manner.hostile)
                return
            self._send(answer(self.path, dict(self.headers.items())))

        def do_POST(self) -> None:
            self.close_connection = True
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._send(change(self.path, body) if change else HttpAnswer(b"", status=405))

        do_DELETE = do_POST

        def _pour(self, fault: Fault) -> None:
            head = {"drip": b"", "garbage": b"", "endless line": b"HTTP/1.0 200 OK\r\nServer: "}
            with suppress(OSError):
                self.wfile.write(
                    head.get(fault, b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n")
                )
                pour(fault, self.wfile.write, stop)

        def _send(self, reply: HttpAnswer) -> None:
            try:
                self.send_response(reply.status)
                for name, value in ({"Content-Type": "application/json"} | dict(reply.headers)).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)
            except OSError:  # the client did not wait for it
                return

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    class Server(LimitedServer):
        # a meter's reader may have many, and a fault lasts
        served_count, patience_s = SERVED_COUNT, 2 * SILENT_S

    server = Server((address, port), Handler)
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    try:
        yield f"{address}:{server.server_address[1]}"
    finally:
        stop.set()
        server.shutdown()
        thread.join()
        server.server_close()
