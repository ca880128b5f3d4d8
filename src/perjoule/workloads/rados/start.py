"""Start one rados bench per client at the same instant, and wait until all have ended, whatever happens."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread

from perjoule.drivers.protocols import Host, Process
from perjoule.machine import removal
from perjoule.model.errors import WorkloadError
from perjoule.workloads._running import codes, last_words, stop

CONNECTED_S = 1.0  # from the start of all until they wait at their pipes; who is late starts late, which is seen
RELEASED_S = 0.5  # for a reader to take note; what it waits for is over
FULL = ": a full OSD, or too few OSDs, block forever"


def together(jobs: Mapping[str, tuple[Host, Sequence[str | Path]]], folder: Path, *, time_limit_s: float) -> dict[str, float]:
    """Run the jobs (by name: a host, its arguments) to their end; each leaves `<name>.json` and `<name>.log` in `folder`.

    Returns the instant of each start, which is when rados has opened its output. It does that once it is connected, right before
    its first operation, and opening a pipe waits for the other end: so all start together, at known times.

    Raises:
        TransientError: one is not done within the time limit.
        WorkloadError: one failed, with rados' message.
    """
    if not jobs:
        return {}
    until_s = time.monotonic() + time_limit_s
    running: dict[str, Process] = {}
    pipes = {name: _Pipe(folder / f"{name}.pipe", folder / f"{name}.json") for name in jobs}
    try:
        for name, (host, argv) in jobs.items():
            output = ["--format", "json", "-o", pipes[name].path.resolve()]
            running[name] = host.spawn([*argv, *output], log=folder / f"{name}.log")
        time.sleep(CONNECTED_S)
        for pipe in pipes.values():
            pipe.start()
        ended = codes("rados bench", running, until_s=until_s, time_limit_s=time_limit_s, why=FULL)
    finally:
        stop(running.values())
        for pipe in pipes.values():
            pipe.close()
    for name, code in ended.items():
        _check(name, code, running[name].output())
    return {name: pipe.began_s for name, pipe in pipes.items()}


class _Pipe:
    """A pipe at which a rados waits until we read it, into a file."""

    def __init__(self, path: Path, into: Path) -> None:
        self.path, self.into, self.began_s = path, into, 0.0
        self._reader = Thread(target=self._read, daemon=True)
        os.mkfifo(path)

    def start(self) -> None:
        self._reader.start()

    def _read(self) -> None:
        with self.path.open("rb") as pipe:  # waits until rados opens it, too
            self.began_s = time.monotonic()
            self.into.write_bytes(pipe.read())

    def close(self) -> None:
        """Release a reader that waits for a rados that never came: it finds us at the other end, and then nobody."""
        if self._reader.ident is not None:
            descriptor = os.open(self.path, os.O_RDWR)
            until_s = time.monotonic() + RELEASED_S
            while not self.began_s and time.monotonic() < until_s:
                time.sleep(0.005)
            os.close(descriptor)
            self._reader.join(RELEASED_S)
        removal.remove_file(self.path)


def _check(client: str, returncode: int, log: str) -> None:
    if returncode != 0:
        said = last_words("\n".join(line for line in log.splitlines() if not line.startswith("hints =")))
        raise WorkloadError(f"rados bench failed (exit code {returncode}): {said}", where=client)
