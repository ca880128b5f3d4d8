"""A server in a process of its own that asks this one, for each request, for values and manner: one line out,
one line in.

For libraries whose servers need their own process (global state, an event loop).
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict

from perjoule.model.errors import MachineError
from perjoule.simulators._behaviour import Behaviour, Manner, Truth

_START_S = 20.0
_END_S = 5.0
_WATCH_S = 0.5


@contextmanager
def child(behaviour: Behaviour, module: str, *arguments: str) -> Generator[str]:
    """Run `python -m perjoule.simulators.<module>` during the block; yields its first line, printed when it
    is ready.

    Raises:
        MachineError: it did not start, with its last output.
    """
    argv = [sys.executable, "-P", "-m", f"perjoule.simulators.{module}", *arguments]
    server = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.stdin
    assert server.stdout
    assert server.stderr
    requests, answers = server.stdout, server.stdin
    clock = threading.Timer(_START_S, server.kill)
    clock.start()
    threads: list[threading.Thread] = []
    try:
        ready_line = requests.readline().strip()
        clock.cancel()
        if not ready_line:
            server.wait(_END_S)
            errors = " | ".join(server.stderr.read().strip().splitlines()[-3:])
            raise MachineError(f"the simulator did not start ({errors or 'no output'})", where=module)

        def answer() -> None:
            for _ in requests:
                manner = behaviour.manner()
                try:
                    answers.write(json.dumps([asdict(manner), asdict(behaviour.truth())]) + "\n")
                    answers.flush()
                except OSError:
                    return

        def drain() -> None:
            for _ in server.stderr or ():  # a full pipe would stop it
                pass

        threads += [threading.Thread(target=work, name=module, daemon=True) for work in (answer, drain)]
        for thread in threads:
            thread.start()
        yield ready_line
    finally:
        clock.cancel()
        server.terminate()
        try:
            server.wait(_END_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        for thread in threads:
            thread.join()  # both end with the child's pipes
        with suppress(OSError):  # what was still to be said to it
            answers.close()
        requests.close()
        server.stderr.close()


def ready(line: str) -> None:
    """In the child: send the first line to the parent process, and end with it from now on, even if it is
    killed.
    """
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_S)
        os._exit(0)

    threading.Thread(target=watch, name="parent", daemon=True).start()
    say(line)


def say(line: str) -> None:
    """In the child: send a line to the parent process."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def await_request() -> tuple[Manner, Truth]:
    """In the child: get values and manner for a request, and wait if the answer comes late."""
    say("?")
    line = sys.stdin.readline()
    if not line:
        raise SystemExit(0)
    manner, truth = json.loads(line)
    time.sleep(manner["delay_s"])
    return Manner(**manner), Truth(**truth)
