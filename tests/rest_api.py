"""A REST API on loopback, whose answers a function gives."""

import json
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Asked:
    """A request."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Answered:
    """An answer: a text is sent as it is, all else as JSON."""

    status: int
    content: Any = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class Refusal(Exception):
    """An answer with another status."""

    def __init__(self, status: int, text: str) -> None:
        self.status, self.text = status, text
        super().__init__(text)


@contextmanager
def served(answer: Callable[[Asked], Answered]) -> Generator[str]:
    """Serve an API during the block, one request after the other; yields its URL.

    An answer that raises ConnectionError never comes.
    """
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or "null")
            asked = Asked(self.command, parts.path, query, body, dict(self.headers.items()))
            with lock:
                try:
                    answered = answer(asked)
                except ConnectionError:
                    self.close_connection = True
                    return
            plain = isinstance(answered.content, str)
            kind = f"{'text/plain' if plain else 'application/json'}; charset=utf-8"
            text = answered.content if plain else json.dumps(answered.content)
            encoded = text.encode() if answered.content is not None else b""
            self.send_response(answered.status)
            for name, value in {"Content-Type": kind, **answered.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(encoded)))
            self.end_headers()
            self.wfile.write(encoded)

        do_GET = do_POST = do_PUT = do_DELETE = _serve

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
