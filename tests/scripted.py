"""Processes, hosts and mounts that only say what a test has written for them, and refuse what it does not
expect.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from perjoule.drivers.protocols import Completed, Host, Mounted, Process
from perjoule.model.errors import TransientError


class ScriptedProcess(Process):
    """A program that has ended with this code; None: it runs until it is stopped, or forever if it is
    `stubborn`.
    """

    def __init__(self, code: int | None, said: str = "", *, stubborn: bool = False) -> None:
        self.code, self.said, self.stubborn, self.stopped_count = code, said, stubborn, 0

    @property
    def returncode(self) -> int | None:
        return self.code

    def wait(self, *, timeout_s: float) -> int:
        if self.code is None:
            raise TimeoutError
        return self.code

    def stop(self, *, timeout_s: float = 2.0) -> None:
        self.stopped_count += 1
        if self.code is None and self.stubborn:
            raise TimeoutError("in the kernel")
        self.code = -15 if self.code is None else self.code

    def kill(self) -> None:
        self.code = -9 if self.code is None else self.code

    def output(self) -> str:
        return self.said


class ScriptedHost(Host):
    """A host like "client-1": its commands say what `answers` gives, nothing by default; its programs are
    what `starts` gives.
    """

    def __init__(self, name: str = "client-1") -> None:
        self.name, self.role, self.address, self.node = name, name.partition("-")[0], "10.0.0.1", None
        self.directory = Path("/of") / name
        self.ran: list[list[str]] = []
        self.files: dict[Path, str | bytes] = {}  # what was put on it

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        """The exit code of a command, and what it says."""
        return 0, ""

    def starts(self, words: Sequence[str], log: Path) -> Process:
        """The program that is started."""
        raise AssertionError(words)

    def run(self, argv: Sequence[str | Path], **_: Any) -> Completed:
        words = [str(word) for word in argv]
        if "perjoule-look" in words:  # the common start, which has tests of its own
            return Completed(tuple(words), 0, "", "")
        self.ran.append(words)
        code, said = self.answers(words)
        return Completed(tuple(words), code, said, "")

    def spawn(self, argv: Sequence[str | Path], *, log: Path, **_: Any) -> Process:
        return self.starts([str(word) for word in argv], log)

    def put(self, content: str | bytes, path: Path, **_: Any) -> None:
        self.files[path] = content

    def tell(self, gate: Path, line: str) -> None:
        """Nobody waits."""

    def drop_caches(self) -> None:
        self.ran.append(["drop caches"])

    def never(self, *words: object, **_: object) -> NoReturn:
        """What no test expects."""
        raise AssertionError(words)

    read = counters = disk = never


class ScriptedMount(Mounted):
    """A file system that is mounted at /mnt/CLIENT, and holds nothing."""

    def __init__(self, *clients: Host, dead: bool = False) -> None:
        self.directories = {client.name: Path("/mnt") / client.name for client in clients}
        self.facts, self.logs, self.data_hosts, self.dead, self.dropped_count = {}, (), (), dead, 0

    def locate(self, path: Path) -> tuple[str, ...]:
        return ()

    def drop_caches(self) -> None:
        self.dropped_count += 1

    def alive(self) -> None:
        if self.dead:
            raise TransientError("ceph-osd died: assertion failed")
