"""A lab of real hosts on this machine: an sshd in each of several virtual hosts, with files of its own."""

import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from perjoule.drivers.protocols import Host

CURVE25519 = "curve25519-sha256"  # a fifth of the CPU time of OpenSSH 9's default key exchange
USER, SUDOER = "pj-user", "pj-sudoer"  # without rights, and with sudo; the hosts alone know them
TREES = """
for d in work results home; do mkdir -p "$1/$d"; mount -t tmpfs none "$1/$d"; chmod 1777 "$1/$d"; done
for f in passwd group sudoers; do [ ! -e /etc/$f ] || mount --bind "$1/$f" /etc/$f; done
[ ! -e ~/.bashrc ] || mount --bind /dev/null ~/.bashrc # which may start version managers, for each command anew
exec /usr/sbin/sshd -D -e -f "$2"
"""


def until(true: Callable[[], bool], timeout_s: float = 30.0) -> None:
    until_s = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < until_s, "waited in vain"
        time.sleep(0.02)


class Lab:
    """A folder with keys, and hosts that believe them."""

    def __init__(self, folder: Path, *, key_exchange: str = CURVE25519) -> None:
        self.folder, self._key_exchange = folder, key_exchange
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd wants it to be there
        for name in ("host", "key", "wrong"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        shutil.copy(folder / "key.pub", folder / "authorized")
        users = list(enumerate((USER, SUDOER), 64998))
        accounts = [f"{name}:*:{number}:{number}::{folder}/home:/bin/bash\n" for number, name in users]
        (folder / "passwd").write_text(Path("/etc/passwd").read_text() + "".join(accounts))
        (folder / "group").write_text(Path("/etc/group").read_text() + "".join(f"{name}:x:{number}:\n" for number, name in users))
        (folder / "sudoers").write_text(f"root ALL=(ALL:ALL) ALL\n{SUDOER} ALL=(ALL:ALL) NOPASSWD: ALL\n")
        (folder / "sudoers").chmod(0o440)
        for name in ("known", "nobody"):
            (folder / f"{name}.cfg").write_text(f"UserKnownHostsFile {folder / name}\nGlobalKnownHostsFile none\n")

    def server(self, name: str, port: int, *addresses: str) -> Path:
        key = " ".join((self.folder / "host.pub").read_text().split()[:2])
        with (self.folder / "known").open("a") as known:
            known.writelines(f"{address if port == 22 else f'[{address}]:{port}'} {key}\n" for address in addresses)
        path = self.folder / f"{name}.sshd"
        lines = [f"Port {port}", *(f"ListenAddress {address}" for address in addresses)]
        lines += [f"KexAlgorithms {self._key_exchange}"] if self._key_exchange else []
        lines += [f"HostKey {self.folder / 'host'}", f"AuthorizedKeysFile {self.folder / 'authorized'}", "PidFile none"]
        path.write_text("\n".join([*lines, "UsePAM no", "StrictModes no", "PasswordAuthentication no", "MaxStartups 100", ""]))
        return path

    def options(self, hosts: list[dict[str, str]], port: int, *, user: str = "root") -> dict[str, Any]:
        return {
            "hosts": hosts,
            "user": user,
            "sudo": user == SUDOER,
            "port": port,
            "identity": str(self.folder / "key"),
            "config": str(self.folder / "known.cfg"),
            "work": str(self.folder / "work"),
        }

    def serve(self, hosts: Sequence[Host]) -> list[dict[str, str]]:
        """Start an sshd in each virtual host, which sees a work folder of its own and no results; return them as a campaign's."""
        found: list[dict[str, str]] = []
        for host in hosts:
            server = self.server(host.name, 22, host.address)
            argv = ["unshare", "--mount", "sh", "-c", TREES, "sh", self.folder, server]
            host.spawn(argv, log=self.folder / f"{host.name}.log")
            node = {"node": f"odroid-hc4/{host.node.name}"} if host.node else {}
            found.append({"name": host.name, "address": host.address, "role": host.role, **node})
        for host in hosts:
            until(lambda host=host: "listening" in (self.folder / f"{host.name}.log").read_text())
        return found
