"""What the live tests of all file systems ask of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from perjoule.drivers.protocols import Hosts, Mounted
from perjoule.model.units import MIB

VERIFIED_BYTES = 8 * MIB


@pytest.fixture
def verified() -> Callable[[Hosts, Mounted], Path]:
    """Write a file on the first client and read it back over cold caches, with fio's own checksums in every block."""

    def write_and_read(hosts: Hosts, mounted: Mounted) -> Path:
        client = hosts.clients[0]
        path = mounted.directories[client.name] / "verified"
        fio = ["fio", "--name=verify", f"--filename={path}", f"--size={VERIFIED_BYTES}", "--bs=1M", "--verify=crc32c"]
        client.run([*fio, "--rw=write", "--do_verify=0", "--end_fsync=1"], timeout_s=60)
        mounted.drop_caches()
        client.drop_caches()  # of all hosts, which share one kernel here
        client.run([*fio, "--rw=read", "--verify_fatal=1"], timeout_s=60)
        mounted.alive()
        assert set(mounted.locate(path)) <= set(mounted.data_hosts)
        return path

    return write_and_read
