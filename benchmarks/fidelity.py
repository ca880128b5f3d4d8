"""Fidelity of virtual hosts: TCP goodput between two of them and CPU time under a cap, compared with the
catalogue.

    python benchmarks/fidelity.py [--cluster odroid-hc4] [--scale 1 --scale 0.1] [--duration 6]

Needs root and an otherwise idle machine: other load can only make the figures lower.
"""

import argparse
import os
import sys
import time

from perjoule import drivers
from perjoule.drivers.protocols import Host
from perjoule.model import Json, Spec
from perjoule.model.units import MIB

PORT = 5001
SEND = """
import socket, sys, time
until = time.monotonic() + float(sys.argv[2])
with socket.create_connection((sys.argv[1], int(sys.argv[3]))) as s:
    block = bytes(1 << 18)
    while time.monotonic() < until:
        s.sendall(block)
"""
# Goodput over the time after the first second: the slow start and the full bucket are over.
RECEIVE = """
import socket, sys, time
with socket.create_server(("", int(sys.argv[1]))) as server:
    s, _ = server.accept()
    began = time.monotonic(); marked = count = 0
    while got := s.recv(1 << 18):
        count += len(got)
        now = time.monotonic()
        if not marked and now - began > 1:
            marked, count = now, 0
    print(count / (now - marked))
"""


def goodput_bytes_per_s(sender: Host, receiver: Host, duration_s: float) -> float:
    log = receiver.directory / "receiver.log"
    server = receiver.spawn([sys.executable, "-c", RECEIVE, str(PORT)], log=log)
    while not receiver.run(["ss", "-Htln", f"sport = :{PORT}"], timeout_s=5).stdout:
        pass
    argv = [sys.executable, "-c", SEND, receiver.address, str(duration_s), str(PORT)]
    sender.run(argv, timeout_s=duration_s + 20)
    server.wait(timeout_s=20)
    return float(server.output())


def busy_cores(host: Host, count: int, duration_s: float) -> float:
    loops = [
        host.spawn(["sh", "-c", "while :; do :; done"], log=host.directory / "loop.log") for _ in range(count)
    ]
    time.sleep(0.5)
    began = host.counters()
    time.sleep(duration_s)
    ended = host.counters()
    for loop in loops:
        loop.stop()
    assert ended.cpu_s is not None and began.cpu_s is not None
    return (ended.cpu_s - began.cpu_s) / (ended.t_s - began.t_s)


def compared(what: str, got: float, wanted: float, unit: str) -> str:
    return f"{what:44} {got:9.3f} of {wanted:9.3f} {unit}  {100 * (got / wanted - 1):+6.2f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cluster", default="odroid-hc4")
    parser.add_argument("--scale", type=float, action="append")
    parser.add_argument("--duration", type=float, default=6.0, metavar="S")
    asked = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load before: {os.getloadavg()[0]:.1f}")
    options: dict[str, Json] = {"cluster": asked.cluster, "servers": 2, "disk": "directory"}
    for scale in asked.scale or [1.0, 0.1]:
        for capped in (False, True):
            bed = drivers.testbed(Spec("virtual", {**options, "scale": scale, "cpu_cap": capped}))
            with bed.hold(1) as hosts:
                client, (one, two) = hosts.clients[0], hosts.by_role("storage")
                assert one.node is not None
                wanted = one.node.board.nic_bytes_per_s.value * scale / MIB
                words = f"scale {scale:g}, {'CPU capped' if capped else 'CPU free'}: "
                for name, sender, receiver in (
                    ("storage to storage", one, two),
                    ("client to storage", client, one),
                ):
                    got = goodput_bytes_per_s(sender, receiver, asked.duration) / MIB
                    print(compared(f"{words}{name}", got, wanted, "MiB/s"), flush=True)
                if capped:
                    cores = hosts.facts["cpu_cap_cores"]
                    assert isinstance(cores, dict)
                    for count in (1, 2) if one.name in cores else ():
                        cap = cores[one.name]
                        assert isinstance(cap, int | float)
                        if cap < count:
                            got = busy_cores(one, count, asked.duration)
                            print(
                                compared(f"scale {scale:g}: {count} busy threads", got, cap, "cores"),
                                flush=True,
                            )


if __name__ == "__main__":
    main()
