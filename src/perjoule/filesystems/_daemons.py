"""Daemons of a file system on its hosts: started, watched and ended together.

Shared by drivers, not a driver.
"""

import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from perjoule.drivers.protocols import Host, Process
from perjoule.machine.each import each
from perjoule.model.errors import DaemonEnded, NotAble, NotReady, WorkloadError

ANSWER_S = 20.0  # of a host that was not lost


def last_words(text: str, lines_count: int = 1) -> str:
    """Return the last lines that are not empty."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-lines_count:]) or "nothing"


@dataclass(frozen=True)
class Daemon:
    """One program that must run as long as the file system; its output is its log."""

    name: str
    host: Host
    process: Process
    log: Path
    argv: tuple[str | Path, ...] = ()


class Daemons:
    """All daemons of one deployment, in order of their start; every wait is limited to `patience_s`."""

    def __init__(self, patience_s: float) -> None:
        self.patience_s = patience_s
        self._started: list[Daemon] = []
        self._killed: list[Daemon] = []

    def start(self, host: Host, name: str, argv: Sequence[str | Path], *, log: Path) -> Daemon:
        """Start one that stays in the foreground. Raises WorkloadError if it can't be started at all."""
        daemon = Daemon(name, host, host.spawn(argv, log=log), log, tuple(argv))
        self._started.append(daemon)
        return daemon

    def __iter__(self) -> Iterator[Daemon]:
        return iter(self._started)

    def last_words(self) -> list[str]:
        """Return the last line of each, equal ones once."""
        last_lines: dict[tuple[str, str], list[str]] = {}
        for daemon in self._started:
            last_lines.setdefault((daemon.name, last_words(daemon.process.output())), []).append(
                daemon.host.name
            )
        return [
            f"{name} on {', '.join(hosts)} last said: {line}" for (name, line), hosts in last_lines.items()
        ]

    @contextmanager
    def explained(self) -> Generator[None]:
        """Add the last output of all to an error in the block, and keep their logs, which are removed with
        the deployment.
        """
        try:
            yield
        except WorkloadError as error:
            explanation = type(error)(
                "; ".join([error.what, *self.last_words()]), where=error.where, next=error.next
            )
            explanation.logs = {daemon.log.name: daemon.process.output() for daemon in self._started}
            raise explanation from error

    def alive(self) -> None:
        """Check that all still run.

        Raises:
            TransientError: one does not, with its last output; or its host was lost, and its daemons with it.
        """
        for daemon in self._started:
            if (code := daemon.process.returncode) is not None:
                daemon.host.run(["true"], timeout_s=ANSWER_S, check=False)
                output = last_words(daemon.process.output(), 3)
                raise DaemonEnded(
                    f"{daemon.name} ended with exit code {code}; it last said: {output}",
                    where=daemon.host.name,
                )

    def wait(self, awaited: str, ready: Callable[[], bool], *, every_s: float = 0.03) -> None:
        """Wait until something is ready, while all daemons live.

        Args:
            what: what is awaited, as a noun.
            ready: polled; a WorkloadError counts as "not yet".
            every_s: the pause between two polls, at least; no shorter than a poll takes.

        Raises:
            TransientError: a daemon died, with its last output, or the time limit passed, with the last
                WorkloadError.
        """
        reason = ""
        until_s = time.monotonic() + self.patience_s
        while True:
            began_s = time.monotonic()
            try:
                if ready():
                    return
            except WorkloadError as error:
                reason = f": {error}"
            self.alive()
            if time.monotonic() > until_s:
                raise NotReady(f"{awaited} not reached within {self.patience_s:g} s{reason}")
            # As long as the look took: on a slow machine, to look would slow what is awaited.
            time.sleep(max(every_s, time.monotonic() - began_s))

    def retry(self, awaited: str, work: Callable[[], object], *, every_s: float = 0.03) -> None:
        """Repeat what raises a WorkloadError until it does not, as `wait` does."""
        self.wait(awaited, lambda: bool([work()]), every_s=every_s)

    def wait_out(self, awaited: str, lack: Callable[[], str]) -> None:
        """Wait as `wait` does until nothing is lacking: `lack` says what, and the error its last words."""

        def work() -> None:
            if lacking := lack():
                raise WorkloadError(lacking)

        self.retry(awaited, work)

    def drop(self, host: Host, name: str) -> None:
        """End one and forget it, so it can be started again."""
        for daemon in [d for d in self._started if d.host is host and d.name == name]:
            daemon.process.stop()
            self._started.remove(daemon)

    def kill(self, host: Host, spared: Collection[Daemon | None] = ()) -> None:
        """End those of a host by SIGKILL, and do not miss them until `revive`.

        Raises WorkloadError: there are none.
        """
        ended = [daemon for daemon in self._started if daemon.host is host and daemon not in spared]
        if not ended:
            raise NotAble("no daemon of the file system runs here, so none can be killed", where=host.name)
        self._started = [daemon for daemon in self._started if daemon not in ended]
        self._killed += ended
        for daemon in ended:
            daemon.process.kill()

    def revive(self, host: Host) -> None:
        """Start those again that `kill` ended on a host, in their order. Raises WorkloadError."""
        back = [daemon for daemon in self._killed if daemon.host is host]
        self._killed = [daemon for daemon in self._killed if daemon not in back]
        for daemon in back:
            self.start(host, daemon.name, daemon.argv, log=daemon.log)

    def stop(self, *, timeout_s: float) -> None:
        """End them all at once; those that still run after the time limit are killed."""
        each(self._started, lambda daemon: daemon.process.stop(timeout_s=timeout_s))
