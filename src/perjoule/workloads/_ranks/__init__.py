"""Ranks inside the clients: a program over Python's standard library, started on all at one moment.

Their records are read by `report`.
"""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from perjoule.drivers.protocols import Check, Host, Mounted, Process
from perjoule.machine.each import each
from perjoule.machine.programs import programs
from perjoule.model import Json
from perjoule.model.errors import MountLost, ProgramFailed
from perjoule.workloads._ranks.program import TRANSIENT
from perjoule.workloads._running import codes, daemons_first, last_words, rooms, stop
from perjoule.workloads._start import Gates

PYTHON = "/usr/bin/python3"
PROGRAM = Path(__file__).with_name("program.py")
PARTS = tuple(Path(__file__).with_name(f"{name}.py") for name in ("dataset", "objects"))


def checks() -> tuple[Check, ...]:
    """Check for what runs the program on clients."""
    return programs({"python3": "python3"}, "client")


def together(
    clients: Sequence[Host],
    mounted: Mounted,
    folder: Path,
    jobs: Mapping[str, Mapping[str, Json]],
    *,
    time_limit_s: float,
    prefix: str = "",
    ahead_s: Mapping[str, float] | None = None,
) -> float | None:
    """Run a client's job (by its name: `do`, `ranks`) to its end; what it leaves in `folder` is named by
    prefix and client.

    Args:
        clients: the hosts.
        mounted: their file system.
        folder: for all output.
        jobs: what the program is to do; a client without one does nothing.
        time_limit_s: by when all must have ended.
        prefix: distinguishes loads of one trial.
        ahead_s: by how much the clock of each host is ahead, for a common start; without, each begins as soon
            as it can.

    Returns:
        The moment of the common start, in this machine's UTC.

    Raises:
        TransientError: one is not done within the time limit, or its mount is gone.
        WorkloadError: a rank failed, with its message.
    """
    loaded = {prefix + client.name: client for client in clients if client.name in jobs}
    until_s, moment_s = time.monotonic() + time_limit_s, None
    running: dict[str, Process] = {}
    each(loaded.values(), _send)
    with daemons_first(mounted), rooms(list(loaded.values()), folder) as room_of:
        try:
            gates = Gates(loaded) if ahead_s is not None and loaded else None
            for name, client in loaded.items():
                out = str(room_of[client.name] / name)
                job = {**jobs[client.name], "out": out, "gate": gates.command(name) if gates else ""}
                running[name] = client.spawn(
                    [PYTHON, _place(client) / PROGRAM.name], log=folder / f"{name}.log", text=json.dumps(job)
                )
            if gates and ahead_s is not None:
                moment_s = gates.open(running, ahead_s, until_s=until_s)
            ended = codes("the load", running, until_s=until_s, time_limit_s=time_limit_s)
        finally:
            stop(running.values())
        for name, code in ended.items():
            if code:
                kind = MountLost if code == TRANSIENT else ProgramFailed
                raise kind(last_words(running[name].output()), where=loaded[name].name)
    return moment_s


def _send(client: Host) -> None:
    for file in (PROGRAM, *PARTS):
        client.put(file.read_text(), _place(client) / file.name)


def _place(client: Host) -> Path:
    return client.directory / "ranks"
