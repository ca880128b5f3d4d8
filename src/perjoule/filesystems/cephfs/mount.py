"""CephFS mounted on every client, over a cluster that is up."""

from contextlib import suppress
from pathlib import Path

from perjoule.drivers.protocols import Host, wait_error
from perjoule.filesystems._ceph import parse as answers
from perjoule.filesystems._ceph.cluster import PYTHON, Cluster, folder
from perjoule.filesystems._daemons import Daemon, each, is_mounted
from perjoule.model.errors import WorkloadError

LAYOUT_OF = (
    "import os, sys; s = os.stat(sys.argv[1]); print(s.st_ino, s.st_size, os.getxattr(sys.argv[1], 'ceph.file.layout').decode())"
)


class Mount(Cluster):
    """A Ceph cluster with its file system mounted by ceph-fuse."""

    def up(self) -> None:
        """From nothing to mounted on every client."""
        super().up()
        self._fuses: dict[str, Daemon] = {}  # of each client, the running one
        each(self.hosts.users, self._mount)
        self.directories = {client.name: folder(client) / "mount" for client in self.hosts.users}
        self.logs = self.logs + self.clients.logs()

    def down(self) -> None:
        """End everything and forget its data; never fails over what is already broken."""
        with suppress(WorkloadError):
            each(self.hosts.users, lambda host: host.run(["umount", "-l", folder(host) / "mount"], timeout_s=30, check=False))
        super().down()

    def locate(self, path: Path) -> tuple[str, ...]:
        """Names of the hosts that hold a file's data: of its objects' copies or parts, first objects first."""
        said = self.hosts.clients[0].run([PYTHON, "-c", LAYOUT_OF, path], timeout_s=self.patience_s).stdout
        file = answers.file(said)
        return self.holders(file.pool, file.objects())

    def drop_caches(self) -> None:
        """Remount on every client, which ends its cache with its process, and empty the OSDs' caches of data.

        The MDS keeps the metadata of files in memory, as it does while it serves.
        """
        each(self.hosts.users, self._unmount)
        super().drop_caches()
        each(self.hosts.users, self._mount)

    def _mount(self, client: Host) -> None:
        home = folder(client)
        mount = home / "mount"
        client.run(["mkdir", "-p", mount], timeout_s=30)
        argv = ["ceph-fuse", "-f", "-c", home / "ceph.conf", "-n", f"client.{client.name}", "--client_mountpoint=/", mount]
        self._fuses[client.name] = daemon = self.clients.start(client, "ceph-fuse", argv, log=home / "log" / "ceph-fuse.log")
        self.clients.wait(f"the mount on {client.name}", lambda: is_mounted(client, mount), daemon)
        self.clients.first_write(daemon, mount)

    def _unmount(self, client: Host) -> None:
        """Unmount and let ceph-fuse end by itself: it writes back what is dirty after the kernel has let go."""
        client.run(["umount", folder(client) / "mount"], timeout_s=self.patience_s)
        daemon = self._fuses[client.name]
        try:
            daemon.process.wait(timeout_s=self.patience_s)
        except TimeoutError:
            raise wait_error(f"the end of ceph-fuse on {client.name}", self.patience_s, daemon.said()) from None
        self.clients.drop(client, daemon.name)
