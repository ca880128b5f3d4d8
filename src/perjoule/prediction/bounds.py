"""The most that each resource of a cluster lets through: the asymptotic bounds of a closed queueing network.

A resource that spends d seconds on each user byte can't move more than 1/d bytes a second, however many
clients wait for it; see P. J. Denning, J. P. Buzen, The Operational Analysis of Queueing Network Models,
https://doi.org/10.1145/356733.356735
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perjoule.model import Flow

Floats = NDArray[np.float64]
Number = float | Floats
Resource = Literal["client network", "client CPU", "server network", "server CPU", "disks"]
RESOURCES: tuple[Resource, ...] = ("client network", "client CPU", "server network", "server CPU", "disks")


@dataclass(frozen=True)
class Demand:
    """The work for one user byte: bytes by `flow`, and CPU time as 7-zip MIPS x seconds, of all hosts of a
    role together.
    """

    flow: Flow
    client_mips_s_per_byte: Number = 0.0
    server_mips_s_per_byte: Number = 0.0


@dataclass(frozen=True)
class Fleet:
    """The hardware of one cluster, or of many as arrays of one shape: counts of hosts, and what one host
    of each role can do.
    """

    servers_count: Number  # that hold data
    server_network_bytes_per_s: Number  # TCP goodput, one direction
    server_mips: Number  # 7-zip rating over all cores
    disk_read_bytes_per_s: Number  # all disks of one server together
    disk_write_bytes_per_s: Number
    clients_count: Number
    client_network_bytes_per_s: Number
    client_mips: Number
    server_memory_bytes: Number = inf  # that may hold written data for a while; inf: more than any load


def times_s_per_byte(demand: Demand, fleet: Fleet) -> Mapping[Resource, Number]:
    """Return the seconds of each resource for one user byte, all hosts of a role sharing the work equally.

    A network sends and receives at once, so the busier direction counts. Disks do one thing at a time.
    """
    flow = demand.flow
    clients, servers = np.asarray(fleet.clients_count), np.asarray(fleet.servers_count)
    return {
        "client network": max(flow.client_sent_ratio, flow.client_received_ratio)
        / (clients * fleet.client_network_bytes_per_s),
        "client CPU": demand.client_mips_s_per_byte / (clients * fleet.client_mips),
        "server network": max(flow.storage_sent_ratio, flow.storage_received_ratio)
        / (servers * fleet.server_network_bytes_per_s),
        "server CPU": demand.server_mips_s_per_byte / (servers * fleet.server_mips),
        "disks": flow.disk_written_ratio / (servers * fleet.disk_write_bytes_per_s)
        + flow.disk_read_ratio / (servers * fleet.disk_read_bytes_per_s),
    }


def bound_bytes_per_s(demand: Demand, fleet: Fleet) -> tuple[Floats, NDArray[np.intp]]:
    """Return the highest possible throughput, and which of RESOURCES (by its number) allows no more."""
    times_s = np.stack(np.broadcast_arrays(*times_s_per_byte(demand, fleet).values()))
    worst = np.argmax(times_s, axis=0)
    return 1 / np.max(times_s, axis=0), worst
