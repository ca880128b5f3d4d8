"""Points of a made-up file system whose truth is known."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import inf

import numpy as np

from perjoule import catalogue
from perjoule.model import Direction, Flow, Redundancy
from perjoule.prediction.bounds import Demand
from perjoule.prediction.fitting import Fit, Works, demand, throughput_bytes_per_s
from perjoule.prediction.observation import Case, Observation, fleet
from perjoule.prediction.power import mean_w, plant
from perjoule.prediction.queueing import Way

MIB = 1024**2
TRUTH = Fit(Works(2e-5, 4e-5), Way(in_flight=4.0, overlap=6.0, on_disk_ratio=0.2, fixed_s=0.03, at_once=50.0))
SPEEDS = ((1.0, 1.0, 1.0), (0.5, 1.0, 1.0), (1.0, 0.5, 1.0), (1.0, 1.0, 0.25))  # of CPUs, networks and disks


def flow(copies_count: int, direction: Direction) -> Flow:
    """Return the bytes of copies that servers pass on."""
    if direction == "read":
        return Flow(client_received_ratio=1.0, storage_sent_ratio=1.0, disk_read_ratio=1.0)
    return Flow(1.0, 0.0, float(copies_count), copies_count - 1.0, float(copies_count), 0.0)


def points(
    *,
    truth: Fit = TRUTH,
    direction: Direction = "write",
    copies: Sequence[int] = (1, 2),
    clients: Sequence[int] = (1, 2, 4),
    speeds: Sequence[tuple[float, float, float]] = SPEEDS,
    noise_ratio: float = 0.0,
    repetitions_count: int = 2,
    unit_bytes: float = inf,
    sizes: Sequence[float] = (128.0 * MIB,),
    in_flight: Sequence[float] = (1.0,),
) -> list[Observation]:
    """Measure the made-up file system on an Odroid HC4 cluster whose servers are slowed in turn."""
    random = np.random.default_rng(7)
    found: list[Observation] = []
    loads = tuple(product(clients, sizes, in_flight))
    for speed, copies_count, (count, client_bytes, calls), _ in product(
        speeds, copies, loads, range(repetitions_count)
    ):
        cpu, network, disk = speed
        cluster = catalogue.at_speed(
            catalogue.cluster("odroid-hc4"), cpu_ratio=cpu, network_ratio=network, disk_ratio=disk
        )
        there = fleet(cluster, {"A": 4}, clients_count=count, memory=False)
        assert there is not None
        kept = Redundancy(copies_count, acknowledged="in memory")
        case = Case(direction, kept, flow(copies_count, direction), there, client_bytes, calls)
        asked: Demand = demand(truth.works, case.flow)
        rate = throughput_bytes_per_s(truth, case, unit_bytes) * float(
            np.exp(noise_ratio * random.standard_normal())
        )
        power = plant(cluster, {"A": 4, "B": 1, "C": 1})
        found.append(
            Observation(
                f"made-{len(found)}",
                case,
                power,
                float(asked.client_mips_s_per_byte),
                float(asked.server_mips_s_per_byte),
                rate,
                float(mean_w(power, asked, rate)),
            )
        )
    return found


def otherwise(one: Observation, rate_ratio: float) -> Observation:
    """Return a point with another throughput."""
    return replace(one, throughput_bytes_per_s=one.throughput_bytes_per_s * rate_ratio)
