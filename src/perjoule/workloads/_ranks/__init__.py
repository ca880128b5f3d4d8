"""Ranks inside the clients: a program over Python's standard library, started on all at one moment.

Their records are read by `report`.
"""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from perjoule.drivers.protocols import Check, Host, Mounted, Process
from perjoule.machine import buckets
from perjoule.machine.each import each
from perjoule.machine.programs import programs
from perjoule.model import Json
from perjoule.model.errors import MountLost, ProgramFailed
from perjoule.workloads._ranks.program import TRANSIENT
from perjoule.workloads._running import codes, daemons_first, last_words, rooms, stop
from perjoule.workloads._start import Gates

PYTHON = "/usr/bin/python3"
PROGRAM = Path(__file__).with_name("program.py")
OBJECTS = Path(__file__).with_name("objects.py")


def checks() -> tuple[Check, ...]:
    """Check for what runs the program on clients."""
    return programs({"python3": "python3"}, "client")


def send_objects(client: Host) -> dict[str, Json]:
    """Put on a client what ranks need to put and get objects, and return where it is."""
    place = client.directory / "rank-objects.py"
    client.put(OBJECTS.read_text(), place)
    return {"program": str(place), "engine": str(buckets.send(client))}


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
    each(loaded.values(), lambda client: client.put(PROGRAM.read_text(), _place(client)))
    with daemons_first(mounted), rooms(list(loaded.values()), folder) as room_of:
        try:
            gates = Gates(loaded) if ahead_s is not None and loaded else None
            for name, client in loaded.items():
                out = str(room_of[client.name] / name)
                job = {**jobs[client.name], "out": out, "gate": gates.command(name) if gates else ""}
                running[name] = client.spawn(
                    [PYTHON, _place(client)], log=folder / f"{name}.log", text=json.dumps(job)
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


def _place(client: Host) -> Path:
    return client.directory / "ranks.py"
