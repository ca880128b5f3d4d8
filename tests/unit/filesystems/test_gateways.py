"""Bytes behind gateways, held against a simulation that puts objects on hosts by chance and counts each byte
where it leaves and where it comes.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from perjoule.drivers.protocols import FileSystem, planned
from perjoule.filesystems._flows import Hops
from perjoule.filesystems.rgw import Rgw
from perjoule.filesystems.seaweed_s3 import SeaweedS3
from perjoule.model import Flow
from typed import as_written

HOSTS = planned([*["storage"] * 4, "metadata", "management", *["client"] * 4])
STORAGE = range(4)
ELSEWHERE = 4  # a host without data
OBJECTS_COUNT = 40_000
Move = tuple[int, int, float]  # from a host to a host, in bytes


def by_rgw(
    gate: int, holders: list[int], data_count: int, chance: random.Random
) -> tuple[list[Move], list[Move]]:
    """What goes from host to host for an object of 1 byte, written and read: through the first that holds it."""
    first, *others = holders
    part = 1 / data_count
    written = [(gate, first, 1.0), *((first, holder, part) for holder in others)]
    read = [(holder, first, part) for holder in others[: data_count - 1]]
    return written, [*read, (first, gate, 1.0)]


def by_seaweedfs(
    gate: int, holders: list[int], data_count: int, chance: random.Random
) -> tuple[list[Move], list[Move]]:
    """The same of a gateway that writes all copies, and reads one of them."""
    return [(gate, holder, 1.0) for holder in holders], [(chance.choice(holders), gate, 1.0)]


def counted(moves: Any, gates: Sequence[int], parts_count: int, data_count: int) -> tuple[Flow, Flow]:
    """Count what hosts send each other for a byte, written and read; what stays on a host is no traffic."""
    chance = random.Random(47)
    written = read = 0.0
    for number in range(OBJECTS_COUNT):
        gate = gates[number % len(gates)]
        to_write, to_read = moves(gate, chance.sample(STORAGE, parts_count), data_count, chance)
        written += sum(size for source, target, size in to_write if source != target) / OBJECTS_COUNT
        read += sum(size for source, target, size in to_read if source != target) / OBJECTS_COUNT
    # from the client to the gateway, and back
    return (
        Flow(1.0, 0.0, 1.0 + written, written, parts_count / data_count, 0.0),
        Flow(0.0, 1.0, read, 1.0 + read, 0.0, 1.0),
    )


@pytest.mark.parametrize("place", ["storage", "metadata"])
@pytest.mark.parametrize(
    ("kind", "options", "parts_count", "data_count"),
    [
        *((Rgw, {"copies": count}, count, 1) for count in (1, 2, 3)),
        (Rgw, {"erasure": "2+1"}, 3, 2),
        (Rgw, {"erasure": "2+2"}, 4, 2),
        *((SeaweedS3, {"replication": f"00{count - 1}"}, count, 1) for count in (1, 2, 3)),
    ],
)
def test_bytes_of_many_objects_are_those_that_are_derived(
    place: str, kind: type[FileSystem], options: Mapping[str, Any], parts_count: int, data_count: int
) -> None:
    moves = by_rgw if kind is Rgw else by_seaweedfs
    gates = STORAGE if place == "storage" else [ELSEWHERE]
    write, read = counted(moves, gates, parts_count, data_count)
    derived = as_written(kind, **options, gateways=place).amplification(HOSTS)
    assert derived is not None
    assert vars(derived.write) == pytest.approx(vars(write), abs=0.015)
    assert vars(derived.read) == pytest.approx(vars(read), abs=0.015)


def test_a_trial_has_the_hops_of_those_who_moved_its_bytes() -> None:
    """Three quarters of the bytes by one whose gateway has half of its objects, the others by one without."""
    deployed = as_written(Rgw, gateways="storage").deployment(HOSTS)
    assert deployed.amplification({"client-1": 1}) is None  # not known before it is mounted
    deployed.hops = {"client-1": Hops(0.5, 0.25), "client-2": Hops(1.0, 1.0), "client-3": Hops(0.0, 0.0)}
    flows = deployed.amplification({"client-1": 300, "client-2": 100})
    assert flows is not None
    assert flows.write.storage_sent_ratio == 1 + 0.75 * 0.5 + 0.25
    assert flows.read.storage_received_ratio == 0.75 * 0.25 + 0.25
    assert deployed.amplification({"client-1": 0}) is None
    assert deployed.amplification({}) is None
