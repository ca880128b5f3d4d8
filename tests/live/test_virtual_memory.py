"""Memory caps of virtual hosts, for real: with control groups of version 1 or 2, whichever this kernel
has.
"""

import sys
from collections.abc import Generator

import pytest

from day import by_day
from perjoule.drivers.protocols import Host, Hosts
from perjoule.execution.trial import starved
from perjoule.model import Json
from perjoule.model.errors import WorkloadError
from perjoule.model.units import MIB
from perjoule.testbeds.virtual import Virtual, memory
from typed import as_written

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(bool(memory.lack("xfs")), reason=f"{memory.lack('xfs')}; run `make kernels`"),
]

CAP_BYTES = 128 * MIB  # a thirty-second of the board's
TAKE = (
    "import sys; taken = bytearray(int(sys.argv[1])); taken[::4096] = b'x' * len(taken[::4096]); "
    "print('taken')"
)
WRITE = """
import os, sys, time
file = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
block, first, count = os.urandom(1 << 20), int(sys.argv[2]), int(sys.argv[3])
for _ in range(first): os.write(file, block)
began = time.monotonic()
for _ in range(count): os.write(file, block)
print(count / (time.monotonic() - began))
"""


def bed(**options: Json) -> Virtual:
    return as_written(
        Virtual,
        **{
            "servers": 1,
            "cpu_cap": False,
            "disk": "xfs",
            "disk_size": "2 GiB",
            "memory": "3.125 %",
            "memory_cap": True,
            **options,
        },
    )


@pytest.fixture
def hosts() -> Generator[Hosts]:
    with bed().hold(1) as held:
        yield held


def taken(host: Host, count_bytes: int) -> str:
    return host.run([sys.executable, "-c", TAKE, str(count_bytes)], timeout_s=60).stdout


def test_a_host_has_the_memory_of_its_board_and_the_record_says_so(hosts: Hosts) -> None:
    server = hosts.by_role("storage")[0]
    assert server.memory_bytes == CAP_BYTES
    caps = hosts.facts["memory_cap_bytes"]
    assert isinstance(caps, dict)
    assert (caps["storage-1"], caps["client-1"]) == (CAP_BYTES, 2 * CAP_BYTES)
    assert taken(server, CAP_BYTES // 2) == "taken\n"
    assert (server.out_of_memory(), starved(hosts, None)) == ("", None)


def test_a_program_that_takes_more_is_killed_and_the_trial_says_where_and_why(hosts: Hosts) -> None:
    server, client = hosts.by_role("storage")[0], hosts.clients[0]
    with pytest.raises(WorkloadError) as caught:
        taken(server, CAP_BYTES + 16 * MIB)
    assert taken(client, CAP_BYTES + 16 * MIB) == "taken\n"
    failure = starved(hosts, caught.value)
    assert failure is not None
    assert str(failure).startswith(
        "storage-1: the kernel killed one of its programs, because the host has 128 MiB of memory; "
    )
    assert failure.transient
    assert starved(hosts, None) is None  # each kill is reported once


def test_without_a_cap_the_machine_is_the_limit() -> None:
    with bed(memory_cap=False).hold(1) as held:
        assert held.facts["memory_cap"] == "none: not requested"
        assert held.by_role("storage")[0].memory_bytes is None
        assert taken(held.by_role("storage")[0], 2 * CAP_BYTES) == "taken\n"


def written_mib_per_s(host: Host) -> float:
    """The rate at which writes return once the host's memory is full of data."""
    argv = [
        sys.executable,
        "-c",
        WRITE,
        host.directory / "written",
        str(CAP_BYTES // MIB),
        str(2 * CAP_BYTES // MIB),
    ]
    return float(host.run(argv, timeout_s=300).stdout)


@pytest.mark.alone  # rates of writing are held against a disk's
@pytest.mark.parametrize("disk", by_day(["ext4", "xfs", "btrfs"], "xfs"))
def test_writes_beyond_the_memory_are_as_slow_as_the_disk_and_without_a_cap_they_are_not(disk: str) -> None:
    rates: list[float] = []
    for capped in (True, False):
        with bed(disk=disk, scale=0.2, memory_cap=capped).hold(1) as held:
            server = held.by_role("storage")[0]
            assert server.node is not None
            disk_mib_per_s = sum(disk.write_bytes_per_s.value for disk in server.node.disks) * 0.2 / MIB
            rates.append(written_mib_per_s(server) / disk_mib_per_s)
            assert not server.out_of_memory()
    assert rates[0] == pytest.approx(1, abs=0.1)
    assert rates[1] > 1.5
