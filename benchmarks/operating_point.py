"""Modelled watts at the point to which the Odroid HC4 is fitted: MooseFS, writes, 4 clients, the highest
sample.

Servers write back all the time, as the paper's boards do: each of them gets 9 GiB, far more than its 4 GB of
memory. The watts, with one standard uncertainty by the catalogue's sigmas, and their causes cover the time in
which all clients wrote.

    python benchmarks/operating_point.py [--scale 0.2] [--size 256] [--runs 3]
"""

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from math import hypot
from pathlib import Path

import numpy as np

from perjoule import drivers
from perjoule.catalogue import Cluster, idle_w
from perjoule.drivers.protocols import Hosts
from perjoule.energy.coefficients import ModelledHosts
from perjoule.model import Clock, HostFact, Outcome, Record, Series, Spec, Trial
from perjoule.model.units import MIB
from perjoule.monitoring.recorder import Memory

WRITE_BACK = ("sh", "-c", 'while sleep 0.1; do sync -f "$0"; done')


def mean(series: Series, began_s: float, ended_s: float) -> float:
    """The mean of window means over a window."""
    began, ended = np.maximum(series.t_s - series.duration_s, began_s), np.minimum(series.t_s, ended_s)
    overlap_s = np.maximum(ended - began, 0.0)
    return float(series.value @ overlap_s / overlap_s.sum())


def one(hosts: Hosts, size_mib: int, folder: Path) -> tuple[Outcome, Sequence[Series]]:
    """Write once on a fresh MooseFS."""
    filesystem = drivers.filesystem(Spec("moosefs", {"goal": 1}))
    workload = drivers.workload(
        Spec("fio", {"operation": "write", "transfer": "4 MiB", "size": f"{size_mib} MiB"})
    )
    meter = drivers.meter(Spec("modelled", {"rate": "5 Hz"}))
    kept = Memory()
    with filesystem.mount(hosts) as mounted, ExitStack() as stack:
        for host in hosts.bricks:
            program = host.spawn([*WRITE_BACK, str(host.directory)], log=folder / f"{host.name}.sync.log")
            stack.callback(program.stop)
        workload.prepare(hosts.clients, mounted, folder)
        with meter.record(hosts, kept):
            time.sleep(2)
            outcome = workload.run(hosts.clients, mounted, folder)
    return outcome, kept.series()


def told(
    cluster: Cluster, hosts: Hosts, outcome: Outcome, series: Sequence[Series], scale: float
) -> dict[str, float]:
    """Watts and what drives them while all clients wrote."""
    began_s, ended_s = max(r.began_s for r in outcome.results), min(r.ended_s for r in outcome.results)
    watts = {(s.channel.host, s.channel.component): mean(s, began_s, ended_s) for s in series}
    whole = [(began_s, ended_s, 1.0)]
    idle_s = min(r.began_s for r in outcome.results)
    # without what the model has for the same time of rest
    load = [*whole, (idle_s - 1.5, idle_s - 0.5, began_s - ended_s)]
    found = {"with switch W": sum(watts.values()), "+-": sigma_w(hosts, series, whole)}
    found["above idle W"] = found["with switch W"] - idle_w(cluster, switch=True)
    found["+- "] = sigma_w(hosts, series, load)
    whole_s = max(r.ended_s for r in outcome.results) - min(r.began_s for r in outcome.results)
    found["MiB/s"] = sum(r.moved_bytes for r in outcome.results) / whole_s / scale / MIB
    cpu: dict[str, list[float]] = defaultdict(list)
    disks: dict[str, list[float]] = defaultdict(list)
    for host in hosts.servers:
        assert host.node is not None
        board = host.node.board
        cpu[host.role].append((watts[host.name, "board"] - board.idle_w.value) / board.dynamic_w.value)
        if host.node.disks:
            idle, active = (
                sum(getattr(d, key).value for d in host.node.disks) for key in ("idle_w", "active_w")
            )
            disks[host.role].append((watts[host.name, "disks"] - idle) / (active - idle))
    found |= {f"CPU {role}": sum(uses) / len(uses) for role, uses in cpu.items()}
    found |= {f"disks {role}": sum(uses) / len(uses) for role, uses in disks.items()}
    return found


def sigma_w(hosts: Hosts, series: Sequence[Series], windows: list[tuple[float, float, float]]) -> float:
    """One standard uncertainty of the power with the switch, by the sigmas of the catalogue, in a window
    less another.
    """
    facts = tuple(HostFact(h.name, h.role, h.node.name if h.node else "") for h in hosts.all)
    nothing = Spec("", {}, "")
    record = Record(
        Trial(nothing, nothing, nothing, (), 4, 1), "valid", "", 1, Clock(0.0, 0.0), hosts.scale, "odroid-hc4", facts, (), None,
        {"testbed": hosts.facts}, {}, hardware=hosts.cluster,
    )  # fmt: skip
    terms = ModelledHosts(record, series).terms(tuple((1, one) for one in series), tuple(windows))
    return hypot(*(term.standard_j for term in terms)) / (windows[0][1] - windows[0][0])


def main() -> None:
    """Print the point, run by run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scale", type=float, default=0.2)
    parser.add_argument("--size", type=int, default=256, metavar="MIB", help="by each client")
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    bed = drivers.testbed(Spec("virtual", {"cluster": "odroid-hc4", "scale": asked.scale, "disk": "xfs"}))
    for _ in range(asked.runs):
        with bed.hold(4) as hosts, tempfile.TemporaryDirectory() as folder:
            outcome, series = one(hosts, asked.size, Path(folder))
            assert hosts.cluster is not None and hosts.cluster.load_w is not None
            load = hosts.cluster.load_w
            bounds = f"{load.low} to {load.high} W above idle, without the switch"
            found = told(hosts.cluster, hosts, outcome, series, asked.scale)
        print(
            "  ".join(f"{name} {value:.3f}" for name, value in found.items()), f" paper: {bounds}", flush=True
        )


if __name__ == "__main__":
    main()
