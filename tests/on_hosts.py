"""What the live tests do on hosts: hold virtual ones, write files there, look at them and at the network."""

import shutil
from pathlib import Path

import pytest

from perjoule import drivers
from perjoule.drivers.protocols import Host, Hosts, Mounted, Testbed
from perjoule.model import Json
from perjoule.model.units import MIB

FILE_BYTES = 16 * MIB
# Runs a command without root, but for reading: perjoule itself may be installed where others can't look.
NOBODY = (
    *("setpriv", "--reuid=65534", "--regid=65534"),
    *("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"),
)


def hosts_of(**options: Json) -> Testbed:
    """Virtual hosts as fast as this machine, whose data lie in folders."""
    made = drivers.build("testbeds", "virtual", {"disk": "directory", "cpu_cap": False, **options})
    assert isinstance(made, Testbed)
    return made


def write(client: Host, path: Path, count: int = FILE_BYTES // MIB, unit: str = "1M") -> str:
    """Write random bytes and return their checksum."""
    client.run(
        ["dd", "if=/dev/urandom", f"of={path}", f"bs={unit}", f"count={count}", "conv=fsync"], timeout_s=60
    )
    return checksum(client, path)


def checksum(client: Host, path: Path) -> str:
    return client.run(["sha256sum", path], timeout_s=60).stdout.split()[0]


NEEDS_SSHFS = pytest.mark.skipif(not shutil.which("sshfs"), reason="sshfs is missing: apt-get install sshfs")


def sshfs(folder: Path, place: Path) -> list[str | Path]:
    """The command that mounts a folder of this machine as one of a server, for all users; SFTP goes
    through a pipe.
    """
    return [
        "sshfs",
        "-o",
        "allow_other,ssh_command=sh -c /usr/lib/openssh/sftp-server",
        f"oss-1:{folder}",
        place,
    ]


def received_bytes(host: Host) -> int:
    count = host.counters().network_received_bytes
    assert count is not None
    return count


class Shared(Mounted):
    """A folder that all clients see, as that of a distributed file system."""

    def __init__(self, hosts: Hosts, path: Path) -> None:
        self.directories = {client.name: path for client in hosts.clients}
        self.facts, self.logs = {}, ()

    def locate(self, path: Path) -> tuple[str, ...]:
        return ()

    def drop_caches(self) -> None:
        """The hosts' page cache is the only one."""

    def alive(self) -> None:
        """It is not a daemon."""
