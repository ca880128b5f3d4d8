"""Start one rados bench per client at the same moment, and wait until all have ended, whatever happens."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from perjoule.drivers.protocols import Host, Process
from perjoule.model.errors import ProgramFailed
from perjoule.workloads._running import codes, last_words, rooms, stop
from perjoule.workloads._start import BEGUN, WAIT, Gates

# from the start of all until they wait at their pipes; a late one starts late, with a doubt
CONNECTED_S = 1.0
SHORT_S = 20.0
FULL = ": a full OSD, or too few OSDs, block forever"
# $1 is the gate, $2 the pipe that a rados waits at until it is read, $3 its outputs without their endings. A
# rados that never comes leaves it waiting at the pipe, until it is stopped.
_READ = WAIT + 'exec 4< "$2"\n' + BEGUN.replace("\n", ' > "$3.began.txt"\n') + 'exec cat <&4 > "$3.json"\n'


def together(
    jobs: Mapping[str, tuple[Host, Sequence[str | Path]]],
    folder: Path,
    ahead_s: Mapping[str, float],
    *,
    time_limit_s: float,
) -> float | None:
    """Run the jobs (by name: a host, its arguments) to their end; each leaves `<name>.json`, `.began.txt` and
    `.log` in `folder`.

    rados opens its output once it is connected, right before its first operation, and opening a pipe waits
    for the other end: so all start at the same moment. `.began.txt` has the time by the host's clock (UTC, in
    s).

    Args:
        jobs: the programs to run.
        folder: for their output.
        ahead_s: by how much the clock of each host is ahead of this machine's.
        time_limit_s: by when all must have ended.

    Returns:
        The moment of the common start, in this machine's UTC.

    Raises:
        TransientError: one is not done within the time limit.
        WorkloadError: one failed, with rados' message.
    """
    if not jobs:
        return None
    until_s = time.monotonic() + time_limit_s
    running: dict[str, Process] = {}
    readers: dict[str, Process] = {}
    hosts = {name: host for name, (host, _) in jobs.items()}
    with rooms(list(hosts.values()), folder) as room_of:
        try:
            gates = Gates(hosts)
            for name, (host, argv) in jobs.items():
                pipe = Path(f"{gates.path(name)}.pipe")
                host.run(["mkfifo", "-m", "600", pipe], timeout_s=SHORT_S)
                read = [
                    "bash",
                    "--norc",
                    "-c",
                    _READ,
                    "perjoule-read",
                    gates.path(name),
                    pipe,
                    room_of[host.name] / name,
                ]
                readers[name] = host.spawn(read, log=folder / f"{name}.start.log")
                running[name] = host.spawn(
                    [*argv, "--format", "json", "-o", pipe], log=folder / f"{name}.log"
                )
            time.sleep(CONNECTED_S)
            moment_s = gates.open(readers, ahead_s, until_s=until_s)
            ended = codes("rados bench", running, until_s=until_s, time_limit_s=time_limit_s, why=FULL)
            for name, code in ended.items():
                _check(name, code, running[name].output())
            codes("rados bench's output", readers, until_s=time.monotonic() + SHORT_S, time_limit_s=SHORT_S)
        finally:
            stop([*running.values(), *readers.values()])
    return moment_s


def _check(client: str, returncode: int, log: str) -> None:
    if returncode != 0:
        message = last_words("\n".join(line for line in log.splitlines() if not line.startswith("hints =")))
        raise ProgramFailed(f"rados bench failed (exit code {returncode}): {message}", where=client)
