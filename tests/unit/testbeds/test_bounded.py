"""Lenders of nodes that answer without end, slowly, packed or nested deeply: a sentence, in time and in little memory."""

import gzip
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from chameleon_api import chameleon_api
from lending import live_at
from perjoule.model.errors import MachineError
from perjoule.testbeds import _bounded
from perjoule.testbeds.chameleon.api import ChameleonSite
from perjoule.testbeds.grid5000 import api
from rest_api import Answered

WHOLE_S, MOST_BYTES = 1.5, 256 * 1024
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"


def flood(line: socket.socket) -> None:
    line.sendall(HEAD + b"\r\n[")
    while True:
        line.sendall(b"0," * 4096)


def bomb(line: socket.socket) -> None:
    line.sendall(HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(32 * 1024**2)))


def drip(line: socket.socket) -> None:
    line.sendall(HEAD + b"\r\n")
    while True:
        line.sendall(b" ")
        time.sleep(0.05)


def slow_head(line: socket.socket) -> None:
    while True:
        line.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.05)


def later(line: socket.socket) -> None:
    line.sendall(b"HTTP/1.1 503 Busy\r\nRetry-After: 86400\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def deep(line: socket.socket) -> None:
    line.sendall(HEAD + b"\r\n" + b"[" * 200_000)


@contextmanager
def hostile(answer: Callable[[socket.socket], None]) -> Generator[str]:
    """Answer each request so; yields the URL."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    line, _ = listener.accept()
                    threading.Thread(target=speak, args=[line], daemon=True).start()

        def speak(line: socket.socket) -> None:
            with suppress(OSError), closing(line):
                line.recv(65536)
                answer(line)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (flood, "does not answer .it is longer than"),
        (bomb, "does not answer .it is packed by 'gzip'"),
        (drip, "does not answer .no whole answer within 1.5 s"),
        (slow_head, "does not answer .no whole answer within 1.5 s"),
        (later, "does not answer .no whole answer within 1.5 s"),
        (deep, "Failed to parse the server message"),
    ],
)
def test_an_answer_of_a_lender_is_whole_within_a_time_and_a_size_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Callable[[socket.socket], None], problem: str
) -> None:
    monkeypatch.setattr(_bounded, "WHOLE_S", WHOLE_S)
    monkeypatch.setattr(_bounded, "MOST_BYTES", MOST_BYTES)
    home = live_at(tmp_path, monkeypatch)
    with hostile(answer) as url:
        (home / ".python-grid5000.yaml").write_text(f"uri: {url}\nusername: me\npassword: x\n")
        with pytest.raises(MachineError, match=problem):
            api.GridSite("lyon")


@pytest.mark.parametrize(
    ("text", "problem"), [(f"[{'0,' * MOST_BYTES}0]", "does not answer"), ("[" * 200_000, "has another form")]
)
def test_openstacks_library_has_the_same_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str
) -> None:
    monkeypatch.setattr(_bounded, "MOST_BYTES", MOST_BYTES)
    home = live_at(tmp_path, monkeypatch)
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(home / "clouds.yaml"))
    with chameleon_api(home) as cloud:
        site = ChameleonSite("")
        monkeypatch.setattr(cloud, "answer", lambda asked: Answered(200, text))
        with pytest.raises(MachineError, match=problem):
            site.hosts()
