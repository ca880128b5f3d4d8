"""NFS for real, on kernels that have it: `make kernels` boots one where this machine's lacks it."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from on_hosts import hosts_of
from perjoule import drivers
from perjoule.drivers.protocols import FileSystem, Host, Hosts, Mounted
from perjoule.filesystems._deployment import Deployment
from perjoule.machine.mounts import in_kernel
from perjoule.model import Json
from perjoule.model.errors import MachineError, TransientError

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not in_kernel("nfs"), reason="this kernel has no NFS client (CONFIG_NFS_FS); run `make kernels`"),
]

Verified = Callable[[Hosts, Mounted], Path]


def nfs(**options: Json) -> FileSystem:
    made = drivers.build("filesystems", "nfs", options)
    assert isinstance(made, FileSystem)
    return made


@contextmanager
def kernel_server(host: Host) -> Generator[None]:
    """Run the kernel's server on a virtual host, as a real one does after `systemctl start nfs-server`."""
    running = [
        ["mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd"],
        ["sh", "-c", "echo 10 > /proc/fs/nfsd/nfsv4gracetime"],
        ["rpc.nfsd", "--no-nfs-version", "3", "--no-udp", "--grace-time", "10", "2"],
    ]
    for argv in running:
        host.run(argv, timeout_s=60)
    mountd = host.spawn(["rpc.mountd", "--foreground", "--no-nfs-version", "3"], log=host.directory / "mountd.log")
    try:
        yield
    finally:
        mountd.stop(timeout_s=1)
        host.run(["rpc.nfsd", "0"], timeout_s=60)


@pytest.mark.parametrize("options", [(), ("sync",)], ids=["async", "sync"])
@pytest.mark.parametrize("version", ["3", "4.2"])
def test_ganesha_gives_back_what_was_written(version: str, options: tuple[str, ...], verified: Verified) -> None:
    with hosts_of().hold(2) as hosts, nfs(version=version, options=list(options)).mount(hosts) as mounted:
        assert mounted.locate(verified(hosts, mounted)) == ("storage-1",)
        mounts = mounted.facts["mounts"]
        assert isinstance(mounts, dict)
        for client in hosts.clients:
            found = mounts[client.name]
            assert isinstance(found, dict)
            assert found["type"] == ("nfs" if version == "3" else "nfs4")
            words = str(found["options"]).split(",")
            assert f"vers={version}" in words
            assert ("sync" in words) == bool(options)


def test_the_kernels_server_gives_back_what_was_written_and_keeps_no_export(verified: Verified) -> None:
    with hosts_of().hold(1) as hosts:
        server = hosts.by_role("storage")[0]
        with kernel_server(server):
            with nfs(server="kernel").mount(hosts) as mounted:
                assert mounted.locate(verified(hosts, mounted)) == ("storage-1",)
                assert mounted.facts["version"] == "kernel"
                assert str(server.directory) in server.run(["exportfs"], timeout_s=20).stdout
            assert str(server.directory) not in server.run(["exportfs"], timeout_s=20).stdout


def test_a_kernels_server_that_does_not_run_is_refused() -> None:
    with (
        hosts_of().hold(1) as hosts,
        pytest.raises(MachineError, match="storage-1: the kernel's NFS server is not running; start it there"),
        nfs(server="kernel").mount(hosts),
    ):
        pass


def test_a_server_that_dies_is_named_and_its_mount_goes_all_the_same() -> None:
    with hosts_of().hold(1) as hosts:
        client = hosts.clients[0]
        with nfs().mount(hosts) as mounted:
            assert isinstance(mounted, Deployment)
            next(iter(mounted.daemons)).process.stop(timeout_s=0)
            with pytest.raises(TransientError, match=r"storage-1: ganesha\.nfsd ended"):
                mounted.alive()
        assert "nfs" not in {line.split()[2] for line in client.run(["cat", "/proc/mounts"], timeout_s=20).stdout.splitlines()}
