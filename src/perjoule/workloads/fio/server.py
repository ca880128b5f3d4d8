"""fio's own client/server mode: a server on each host, all controlled by one fio on the first.

https://fio.readthedocs.io/en/latest/fio_doc.html#client-server
"""

import random
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from perjoule.drivers.protocols import Host, Process
from perjoule.model.errors import NotReady, UnexpectedOutput
from perjoule.workloads._running import codes, last_words, stop
from perjoule.workloads._start import Gates
from perjoule.workloads.fio import report
from perjoule.workloads.fio.start import text_of

NOTE_START = "date +%s.%N"  # fio's prerun, last before its first I/O, without a common start
PRERUN_WORDS = "Saving output of prerun"
REPORT = "servers.json"  # of all clients in one, named like theirs
PORTS = range(20000, 30000)  # fio shares a port with whoever listens there already: one is drawn
LISTENING_S = 10.0
SHORT_S = 60.0


def together(
    jobs: Mapping[str, tuple[Host, Sequence[str]]],
    folder: Path,
    prefix: str,
    *,
    time_limit_s: float,
    ahead_s: Mapping[str, float] | None = None,
    environment: Sequence[str] = (),
) -> float | None:
    """Run the jobs (by name: a host, lines of a job file) to their end, by a server on each host.

    fio starts its clients one after another; with `ahead_s`, by how much the clock of each host is ahead,
    they wait for a common start. Servers get `environment`, as NAME=VALUE. Each client leaves its start by its
    host's clock (`<name>.prerun.txt`) and its logs in `folder`; the report is `<prefix>servers.json`.

    Returns:
        The moment of the common start, in this machine's UTC.

    Raises:
        TransientError: a server does not listen, one is not done within the time limit, or its mount is gone.
        WorkloadError: one failed, with fio's message.
    """
    if not jobs:
        return None
    until_s = time.monotonic() + time_limit_s
    port = random.choice(PORTS)
    first = next(iter(jobs.values()))[0]
    running: dict[str, Process] = {}
    moment_s = None
    gates = Gates({name: host for name, (host, _) in jobs.items()}) if ahead_s is not None else None
    try:
        for name, (host, _) in jobs.items():
            room = _room(host)
            host.run(["rm", "-rf", room], timeout_s=SHORT_S)
            host.run(["mkdir", "-p", room], timeout_s=SHORT_S)
            server = ["env", "-C", room, *environment, "fio", f"--server=ip:{host.address},{port}"]
            running[name] = host.spawn(server, log=folder / f"{name}.log")
        for name, (host, _) in jobs.items():
            _wait_listening(host, running[name], port)
        client_options: list[str] = []
        for name, (host, lines) in jobs.items():
            prerun = gates.command(name) if gates else NOTE_START
            (folder / f"{name}.fio").write_text(
                "\n".join([f"[{name}]", f"exec_prerun={prerun}", *lines]) + "\n"
            )
            client_options += [f"--client=ip:{host.address},{port}", f"{name}.fio"]
        with first.room(folder, *(f"{name}.fio" for name in jobs)) as folder_there:
            argv = [
                "env",
                "-C",
                folder_there,
                "fio",
                "--eta=never",
                "--output-format=json",
                f"--output={prefix}{REPORT}",
                *client_options,
            ]
            running["the controlling fio"] = controller = first.spawn(
                argv, log=folder / f"{prefix}servers.log"
            )
            if gates and ahead_s is not None:
                moment_s = gates.open(dict.fromkeys(jobs, controller), ahead_s, until_s=until_s)
            code = codes("fio", {first.name: controller}, until_s=until_s, time_limit_s=time_limit_s)[
                first.name
            ]
    finally:
        stop(reversed(running.values()))
        for host, _ in jobs.values():
            _end_children(host, port)
    _check(jobs, folder, prefix, code)
    for name, (host, _) in jobs.items():
        (folder / f"{name}.prerun.txt").write_bytes(host.read(_room(host) / f"{name}.prerun.txt"))
        (folder / f"{name}_bw.1.log.{host.address}").rename(folder / f"{name}_bw.1.log")
    return moment_s


def _room(host: Host) -> Path:
    """Return a server's working folder: fio writes a prerun's output there, and an empty file named like
    the report.
    """
    return host.directory / "fio"


def _end_children(host: Host, port: int) -> None:
    """End what a server leaves behind: a child for its connection, whose jobs keep running."""
    pids = host.run(
        ["pgrep", "-f", f"^fio --server=ip:{host.address},{port}$"], timeout_s=SHORT_S, check=False
    ).stdout.split()
    for pid in pids:  # by the random port; the folder distinguishes them from another run's
        folder = host.run(["readlink", f"/proc/{pid}/cwd"], timeout_s=SHORT_S, check=False).stdout.strip()
        if folder == str(_room(host)):
            # a job leads a group: its prerun
            host.run(["kill", "-KILL", "--", pid, f"-{pid}"], timeout_s=SHORT_S, check=False)


def _wait_listening(host: Host, server: Process, port: int) -> None:
    until_s = time.monotonic() + LISTENING_S
    while not listens(host.run(["cat", "/proc/self/net/tcp"], timeout_s=SHORT_S).stdout, port):
        if server.returncode is not None or time.monotonic() > until_s:
            message = " | ".join(server.output().strip().splitlines()[-3:]) or "nothing"
            problem = (
                f"fio's server did not listen at {host.address}, port {port}, within {LISTENING_S:g} s; it "
                f"last said: {message}"
            )
            raise NotReady(problem, where=host.name)
        time.sleep(0.02)


def listens(table: str, port: int) -> bool:
    """Return whether something listens at this port, from the text of /proc/net/tcp."""
    rows = (line.split() for line in table.splitlines()[1:])
    return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows if len(row) > 3)


def _check(jobs: Mapping[str, object], folder: Path, prefix: str, code: int) -> None:
    """Judge each client by its own entry of the report, if it has one."""
    text = text_of(folder / f"{prefix}{REPORT}")
    message = _words(text)
    for name in jobs:
        try:
            errno = int(report.job(text, name)["error"])
        except ValueError as error:
            raise UnexpectedOutput(
                f"{error} (exit code {code}): {message}", where=name, next=report.KEPT
            ) from error
        if errno:
            report.fail(name, code, errno, message)
    if code:
        report.fail("", code, 0, message)


def _words(text: str) -> str:
    """Return fio's error messages, or else its last message, without the host's name before each line."""
    lines = [
        re.sub(r"^<\S+> ?", "", line)
        for line in text.partition("\n{")[0].splitlines()
        if PRERUN_WORDS not in line
    ]
    return last_words("\n".join([line for line in lines if "err" in line] or lines))
