"""NFS for real: by a client in user space on any kernel, and by the kernel's where it has one (`make
kernels` boots such).
"""

import platform
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from on_hosts import FILE_BYTES, checksum, hosts_of, received_bytes, write
from perjoule import drivers
from perjoule.drivers.protocols import FileSystem, Host, Hosts, Mounted
from perjoule.filesystems._deployment import Deployment
from perjoule.filesystems.nfs import MOUNT_PORT
from perjoule.machine.mounts import in_kernel
from perjoule.model import Json
from perjoule.model.errors import MachineError, TransientError, WorkloadError
from typed import table

pytestmark = pytest.mark.live
by_the_kernel = pytest.mark.skipif(
    not in_kernel("nfs"), reason="this kernel has no NFS client (CONFIG_NFS_FS); run `make kernels`"
)
with_and_without_sync = pytest.mark.parametrize("options", [(), ("sync",)], ids=["async", "sync"])

ASKED = """
import errno, os, sys
os.chdir(sys.argv[1])
assert os.listdir(".") == []
os.mkdir("a"); os.mkdir("a/b", 0o750)
assert os.stat("a/b").st_mode & 0o777 == 0o750
open("a/f", "w").write("x" * 3000000)
assert os.stat("a/f").st_size == 3000000
os.truncate("a/f", 5); assert open("a/f").read() == "xxxxx"
with open("a/f", "r+") as f:
    f.truncate(2); assert os.fstat(f.fileno()).st_size == 2
with open("a/f", "a") as f: f.write("y")
assert open("a/f").read() == "xxy"
os.link("a/f", "hard"); os.symlink("a/f", "soft")
assert (open("hard").read(), os.readlink("soft"), os.stat("hard").st_nlink) == ("xxy", "a/f", 2)
if "nosymfollow" in sys.argv[2:]:
    try: open("soft"); raise SystemExit("a link was followed")
    except OSError as error: assert error.errno == errno.ELOOP, error
os.chmod("hard", 0o600); assert os.stat("a/f").st_mode & 0o777 == 0o600
os.chown("hard", 1, 2); assert (os.stat("hard").st_uid, os.stat("hard").st_gid) == (1, 2)
os.utime("hard", ns=(1_000_000_007_000, 2_000_000_009_000))
assert os.stat("hard").st_mtime_ns == 2_000_000_009_000
found = list(os.scandir("."))
for entry in found: os.rename(entry.name, entry.name + "-")
kinds = {entry.name: (entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in found}  # without asking again
assert kinds == {"a": (True, False), "hard": (False, False), "soft": (False, True)}, kinds
for entry in found: os.rename(entry.name + "-", entry.name)
os.rename("hard", "a/new"); assert sorted(os.listdir("a")) == ["b", "f", "new"]
for name in range(300): open(f"a/b/{name}", "w").close()
assert sorted(map(int, os.listdir("a/b"))) == list(range(300))
for name in range(300): os.unlink(f"a/b/{name}")
try: os.rmdir("a"); raise SystemExit("it was not empty")
except OSError as error: assert error.strerror == "Directory not empty", error
try: open("none"); raise SystemExit("it exists")
except FileNotFoundError: pass
os.rmdir("a/b"); assert os.statvfs(".").f_bavail > 0
print("all")
"""
Verified = Callable[[Hosts, Mounted], Path]


def nfs(**options: Json) -> FileSystem:
    made = drivers.build("filesystems", "nfs", options)
    assert isinstance(made, FileSystem)
    return made


@contextmanager
def kernel_server(host: Host) -> Generator[None]:
    """Run the kernel's server on a virtual host, as a real one does after `systemctl start nfs-server`."""
    run = host.directory / "run"
    host.run(["install", "-d", run], timeout_s=60)
    host.run(["mount", "--bind", run, "/run"], timeout_s=60)  # where version 3 looks for rpcbind's socket
    rpcbind = host.spawn(["rpcbind", "-f"], log=host.directory / "rpcbind.log")
    running = [
        ["sh", "-c", "until test -S /run/rpcbind.sock; do sleep 0.1; done"],
        ["mount", "-t", "nfsd", "nfsd", "/proc/fs/nfsd"],
        ["sh", "-c", "echo 10 > /proc/fs/nfsd/nfsv4gracetime"],
        ["rpc.nfsd", "--no-udp", "--grace-time", "10", "2"],
    ]
    for argv in running:
        host.run(argv, timeout_s=60)
    mountd = host.spawn(
        ["rpc.mountd", "--foreground", "--port", str(MOUNT_PORT)], log=host.directory / "mountd.log"
    )
    try:
        yield
    finally:
        mountd.stop(timeout_s=1)
        host.run(["rpc.nfsd", "0"], timeout_s=60)
        rpcbind.stop(timeout_s=1)


def assert_mounted(mounted: Mounted, hosts: Hosts, version: str, options: tuple[str, ...]) -> None:
    mounts = mounted.facts["mounts"]
    assert isinstance(mounts, dict)
    for client in hosts.clients:
        found = mounts[client.name]
        assert isinstance(found, dict)
        assert found["type"] == ("nfs" if version == "3" else "nfs4")
        words = str(found["options"]).split(",")
        assert f"vers={version}" in words
        assert ("sync" in words) == bool(options)


@by_the_kernel
@with_and_without_sync
@pytest.mark.parametrize("version", ["3", "4.2"])
def test_ganesha_gives_back_what_was_written(
    version: str, options: tuple[str, ...], verified: Verified
) -> None:
    with hosts_of().hold(2) as hosts, nfs(version=version, options=list(options)).mount(hosts) as mounted:
        assert mounted.locate(verified(hosts, mounted)) == ("storage-1",)
        assert_mounted(mounted, hosts, version, options)


@by_the_kernel
@with_and_without_sync
@pytest.mark.parametrize("version", ["3", "4.2"])
def test_the_kernels_server_gives_back_what_was_written_and_keeps_no_export(
    version: str, options: tuple[str, ...], verified: Verified
) -> None:
    with hosts_of().hold(1) as hosts:
        server = hosts.by_role("storage")[0]
        with kernel_server(server):
            with nfs(server="kernel", version=version, options=list(options)).mount(hosts) as mounted:
                assert mounted.locate(verified(hosts, mounted)) == ("storage-1",)
                assert mounted.facts["version"] == "kernel"
                assert_mounted(mounted, hosts, version, options)
                assert str(server.directory) in server.run(["exportfs"], timeout_s=20).stdout
            assert str(server.directory) not in server.run(["exportfs"], timeout_s=20).stdout


@by_the_kernel
def test_a_kernels_server_that_does_not_run_is_refused() -> None:
    with (
        hosts_of().hold(1) as hosts,
        pytest.raises(
            MachineError, match="storage-1: the kernel's NFS server is not running; start it there"
        ),
        nfs(server="kernel").mount(hosts),
    ):
        pass


@by_the_kernel
def test_a_server_that_dies_is_named_and_its_mount_goes_nevertheless() -> None:
    with hosts_of().hold(1) as hosts:
        client = hosts.clients[0]
        with nfs().mount(hosts) as mounted:
            assert isinstance(mounted, Deployment)
            next(iter(mounted.daemons)).process.stop(timeout_s=0)
            with pytest.raises(TransientError, match=r"storage-1: ganesha\.nfsd ended"):
                mounted.alive()
        assert "nfs" not in {
            line.split()[2] for line in client.run(["cat", "/proc/mounts"], timeout_s=20).stdout.splitlines()
        }


def in_user_space() -> FileSystem:
    return nfs(client="fuse")


def test_a_client_in_user_space_gives_back_what_was_written_by_it_and_by_another(verified: Verified) -> None:
    with hosts_of().hold(2) as hosts, in_user_space().mount(hosts) as mounted:
        one, two = hosts.clients
        path = verified(hosts, mounted)
        assert mounted.locate(path) == ("storage-1",)
        mounts = mounted.facts["mounts"]
        assert isinstance(mounts, dict)
        assert [mount["type"] for mount in mounts.values() if isinstance(mount, dict)] == ["fuse.nfs"] * 2
        assert (mounted.facts["client"], mounted.facts["protocol"]) == ("fuse", "3")
        assert checksum(one, path) == checksum(two, mounted.directories[two.name] / path.name)


def test_a_client_in_user_space_does_what_programs_ask_of_a_file_system() -> None:
    with hosts_of().hold(1) as hosts, in_user_space().mount(hosts) as mounted:
        client = hosts.clients[0]
        mounts = mounted.facts["mounts"]
        assert isinstance(mounts, dict)
        options = str(table(mounts[client.name])["options"]).split(",")
        able = tuple(map(int, platform.release().split(".")[:2])) >= (5, 10)
        assert ("nosymfollow" in options) == able
        argv = [sys.executable, "-c", ASKED, mounted.directories[client.name], *options]
        assert client.run(argv, timeout_s=60).stdout == "all\n"


def test_no_other_user_of_a_client_says_that_he_is_root() -> None:
    with hosts_of().hold(1) as hosts, in_user_space().mount(hosts) as mounted:
        assert isinstance(mounted, Deployment)
        client, server = hosts.clients[0], hosts.by_role("storage")[0]
        export = server.directory / "nfs/export"
        url = f"nfs://{server.address}{export}/{{}}?uid=0&gid=0&version=3&nfsport=2049&mountport={MOUNT_PORT}"
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for name, prefix in (("by-root", []), ("by-nobody", nobody)):
            argv = [*prefix, "nfs-cp", "/etc/passwd", url.format(name)]
            client.run(argv, timeout_s=30, check=False)
        assert [path.name for path in export.glob("by-*")] == ["by-root"]
        place = mounted.directories[client.name]
        assert client.run([*nobody, "ls", "-d", f"{place}/"], timeout_s=30, check=False).returncode != 0


def test_data_of_a_client_in_user_space_cross_the_network_and_are_committed() -> None:
    with hosts_of().hold(1) as hosts, in_user_space().mount(hosts) as mounted:
        client, server = hosts.clients[0], hosts.by_role("storage")[0]
        path = mounted.directories[client.name] / "sent"
        before = received_bytes(server)
        written = write(client, path)
        assert FILE_BYTES < received_bytes(server) - before < 1.1 * FILE_BYTES
        client.drop_caches()
        before = received_bytes(client)
        assert checksum(client, path) == written
        assert FILE_BYTES < received_bytes(client) - before < 1.1 * FILE_BYTES
        (found,) = server.directory.glob("nfs/export/sent")
        assert checksum(server, found) == written


def test_a_server_that_dies_is_an_error_to_a_client_in_user_space_and_no_endless_wait() -> None:
    with hosts_of().hold(1) as hosts:
        client = hosts.clients[0]
        with in_user_space().mount(hosts) as mounted:
            assert isinstance(mounted, Deployment)
            path = mounted.directories[client.name] / "late"
            client.run(["dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=1", "conv=fsync"], timeout_s=20)
            next(one for one in mounted.daemons if one.name == "ganesha.nfsd").process.stop(timeout_s=0)
            with pytest.raises(WorkloadError, match="Input/output error"):
                client.run(
                    ["dd", "if=/dev/zero", f"of={path}", "bs=1M", "count=8", "conv=fsync"], timeout_s=20
                )
            with pytest.raises(TransientError, match=r"storage-1: ganesha\.nfsd ended"):
                mounted.alive()
        assert "fuse.nfs" not in {
            line.split()[2] for line in client.run(["cat", "/proc/mounts"], timeout_s=20).stdout.splitlines()
        }
