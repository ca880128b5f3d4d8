"""What live tests share: what they ask of every file system, and a place for their runs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from once import one_at_a_time
from perjoule.drivers.protocols import Hosts, Mounted
from perjoule.model.units import MIB
from perjoule.testbeds import virtual

VERIFIED_BYTES = 8 * MIB


@pytest.fixture
def verified() -> Callable[[Hosts, Mounted], Path]:
    """Write a file on the first client and read it back over cold caches, with fio's own checksums in
    every block.
    """

    def write_and_read(hosts: Hosts, mounted: Mounted) -> Path:
        client = hosts.clients[0]
        path = mounted.directories[client.name] / "verified"
        fio = [
            "fio",
            "--name=verify",
            f"--filename={path}",
            f"--size={VERIFIED_BYTES}",
            "--bs=1M",
            "--verify=crc32c",
        ]
        client.run([*fio, "--rw=write", "--do_verify=0", "--end_fsync=1"], timeout_s=60)
        mounted.drop_caches()
        client.drop_caches()  # of all hosts, which share one kernel here
        client.run([*fio, "--rw=read", "--verify_fatal=1"], timeout_s=60)
        mounted.alive()
        assert set(mounted.locate(path)) <= set(mounted.data_hosts)
        return path

    return write_and_read


@pytest.fixture
def cleaning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep other tests from cleaning this machine, as `perjoule down` does: it takes what any killed run
    has left.
    """
    with one_at_a_time(tmp_path_factory, "cleaning"):
        yield


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of our own for the runs that daemons of other users can reach, emptied at the end whatever
    a test did.
    """
    with TemporaryDirectory(prefix="perjoule-test-", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        monkeypatch.setenv("PERJOULE_WORK", str(folder))
        # hosts that other runs noted here are not ours
        monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
        yield folder
        for run in folder.glob("pj-*"):
            virtual.clean(everything=True, run=run.name.removeprefix("pj-"))
