"""The live page: one page, its data and series for Prometheus, over HTTP on loopback, to whoever has the
token.

The page asks for a whole snapshot each time, so a browser that slept, or a run that was resumed, needs
nothing special. It loads nothing from elsewhere, and everything that it shows is text. Nothing is computed
while nobody asks.
"""

import hashlib
import hmac
import json
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

from perjoule.machine import kept
from perjoule.machine.pages import policy
from perjoule.machine.serving import PATIENCE_S, LimitedServer
from perjoule.model.errors import MachineError
from perjoule.monitoring.watching import RunSnapshot, plain

FRESH_S = 0.5  # for which a snapshot serves all who ask
STOP_S = 0.2  # within which the server ends
TOKEN_BYTES = 24
_REMEMBERED = re.compile(r"(\d{1,5}) ([\w-]{32})\n?")


class Page:
    """What is served, and the token that it takes."""

    def __init__(self, snapshot: Callable[[], RunSnapshot], token: str) -> None:
        self._snapshot, self.token = snapshot, token
        self._lock = threading.Lock()
        self._last: RunSnapshot | None = None
        self._last_s = 0.0
        self.shown = ""  # state of the last snapshot that a page took
        folder = files("perjoule.monitoring") / "page"
        style, script = ((folder / name).read_text("utf-8") for name in ("live.css", "live.js"))
        page = (
            (folder / "live.html")
            .read_text("utf-8")
            .replace("/* style */", style)
            .replace("/* script */", script)
        )
        self.html = page.encode()
        self.policy = f"{policy(script)}; connect-src 'self'; frame-ancestors 'none'"

    def snapshot(self) -> RunSnapshot:
        """Return the present state, computed at most every FRESH_S."""
        with self._lock:
            if self._last is None or time.monotonic() - self._last_s > FRESH_S:
                self._last, self._last_s = self._snapshot(), time.monotonic()
            return self._last

    def opens(self, token: str) -> bool:
        """Return whether this is the page's token."""
        return hmac.compare_digest(token.encode(), self.token.encode())

    def answer(self, path: str, token: str) -> tuple[int, str, bytes]:
        """Return status, type and content of what lies at a path."""
        if not self.opens(token):
            return (
                403,
                "text/plain",
                b"This page needs the whole address that perjoule printed, with its token.\n",
            )
        match path:
            case "/":
                return 200, "text/html", self.html
            case "/data":
                snapshot = self.snapshot()
                self.shown = snapshot.state
                return 200, "application/json", json.dumps(plain(snapshot)).encode()
            case "/metrics":
                from perjoule.monitoring import exporter

                try:
                    return 200, "text/plain", exporter.campaign_text(self.snapshot())
                except MachineError as error:
                    return 501, "text/plain", f"{error}\n".encode()
            case _:
                return 404, "text/plain", b"There is nothing here.\n"


@contextmanager
def serving(page: Page, address: str, port: int, earlier_port: int = 0) -> Generator[str]:
    """Serve a page during the block; yields its URL. Without a port (0), it is the earlier one if that is
    free.

    Raises:
        MachineError: the port is taken, or the address is not this machine's.
    """
    server = _server(page, address, port, earlier_port)
    thread = threading.Thread(target=server.serve_forever, args=(STOP_S,), name="live page", daemon=True)
    thread.start()
    host = f"[{address}]" if ":" in address else address
    try:
        yield f"http://{host}:{server.server_port}/?token={page.token}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def is_loopback(address: str) -> bool:
    """Return whether only this machine reaches an address."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def remembered(folder: Path) -> tuple[int, str]:
    """Return port and token with which this user watched a folder before: 0 and a new token the first
    time.
    """
    with suppress(OSError, ValueError):
        if match := _REMEMBERED.fullmatch(_memory(folder).read_text()):
            return int(match[1]), match[2]
    return 0, secrets.token_urlsafe(TOKEN_BYTES)


def remember(folder: Path, url: str) -> None:
    """Remember an address for this user alone, so that an open page continues after `perjoule resume`."""
    parts, path = urlsplit(url), _memory(folder)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with os.fdopen(file, "w") as memory:
            memory.write(f"{parts.port} {parse_qs(parts.query)['token'][0]}\n")


def _memory(folder: Path) -> Path:
    return kept.in_home("live") / hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:32]


def _server(page: Page, address: str, port: int, earlier_port: int) -> LimitedServer:
    class Handler(_Handler):
        served = page

    if not port and earlier_port:
        with suppress(OSError, OverflowError):
            return LimitedServer((address, earlier_port), Handler)
    try:
        return LimitedServer((address, port), Handler)
    except OSError as error:
        problem = f"can't listen ({(error.strerror or str(error)).lower()})"
        raise MachineError(
            problem, where=f"{address}:{port}", next="choose another --port or --address"
        ) from None


class _Handler(BaseHTTPRequestHandler):
    served: Page
    timeout = PATIENCE_S
    server_version, sys_version = "perjoule", ""

    def do_GET(self) -> None:
        """Answer."""
        try:
            parts = urlsplit(self.path)
        except ValueError:  # "//[": no address at all
            self.send_error(400)
            return
        given = (
            self.headers.get("Authorization", "").removeprefix("Bearer ")
            or (parse_qs(parts.query).get("token") or [""])[0]
        )
        if self.served.opens(given):
            cast("LimitedServer", self.server).admit(self.connection)
        status, kind, content = self.served.answer(parts.path, given)
        self.send_response(status)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(content)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": self.served.policy,
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Print no line per request."""
