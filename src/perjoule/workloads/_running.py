"""What loads share: caches dropped before, programs side by side waited for together, and none left behind."""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from threading import Thread

from perjoule.drivers.protocols import Host, Mounted, Process
from perjoule.model.errors import TransientError, WorkloadError
from perjoule.model.units import seconds_text

STOP_S = 3.0  # what hangs in a dead mount can't be killed: it is left to the testbed's end


def codes(what: str, running: Mapping[str, Process], *, until_s: float, time_limit_s: float, why: str = "") -> dict[str, int]:
    """Wait for the end of all and give their exit codes by name.

    Args:
        what: the tool, as the sentence names it.
        running: by the name of the host.
        until_s: the moment by which all must have ended.
        time_limit_s: how long that is after the start, for the sentence.
        why: what is known to make this tool hang.

    Raises:
        TransientError: one is not done by then.
    """
    try:
        return {name: process.wait(timeout_s=max(0.01, until_s - time.monotonic())) for name, process in running.items()}
    except TimeoutError:
        late = ", ".join(name for name, process in running.items() if process.returncode is None)
        raise TransientError(
            f"{what} not finished within {seconds_text(time_limit_s)} on {late}{why}",
            next="raise time_limit, or check the file system's logs, kept with the trial",
        ) from None


def stop(processes: Iterable[Process]) -> None:
    """End what still runs, together and without waiting for what can't be ended."""

    def end(process: Process) -> None:
        with suppress(Exception):  # it may hang in the kernel; the testbed removes what is left
            process.stop()

    threads = [Thread(target=end, args=[process], daemon=True) for process in processes if process.returncode is None]
    for thread in threads:
        thread.start()
    until_s = time.monotonic() + STOP_S
    for thread in threads:
        thread.join(max(0.0, until_s - time.monotonic()))


def last_words(text: str) -> str:
    """Give the last lines that say something."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(dict.fromkeys(lines[-3:])) or "no output"


def cold(clients: Sequence[Host], mounted: Mounted) -> list[str]:
    """Drop caches, and give the doubts."""
    mounted.drop_caches()
    try:
        for client in clients:
            client.drop_caches()
    except WorkloadError as error:
        return [f"page caches were not dropped: {error}"]
    return []
