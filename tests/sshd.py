"""A lab of real hosts on this machine: an sshd in each of several virtual hosts, with files of its own."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import booted
from on_hosts import hosts_of
from perjoule.drivers.protocols import Host, Process

NEEDS_SSHD = pytest.mark.skipif(
    not Path("/usr/sbin/sshd").exists(), reason="sshd is missing: apt install openssh-server"
)
CURVE25519 = "curve25519-sha256"  # a fifth of the CPU time of OpenSSH 9's default key exchange
# a property of a test, [name, what came of each workload]: a row of the table that is printed
OVER_SSH = "over ssh"
USER_NUMBER = 64998
USER, SUDOER = "pj-user", "pj-sudoer"  # without rights, and with sudo; the hosts alone know them
PERJOULE = Path(sys.executable).with_name("perjoule")
# $1 the lab's folder, $2 the configuration of sshd: a host that keeps its disk when it reboots.
DISK = """
mountpoint -q "$1/work" || mount -t tmpfs -o size=8G none "$1/work"
mountpoint -q ~/.bashrc || [ ! -e ~/.bashrc ] || mount --bind /dev/null ~/.bashrc
"""
BOOT = f'{DISK}exec /usr/sbin/sshd -D -e -f "$2"'
BOOT_S = 180.0  # of a systemd on an emulated processor
KNOWN: list[Path] = []
LOAD = "[load]\nrw=write\nbs=64k\nsize=1m\nrate=1m\ntime_based=1\nruntime={}\n"
TREES = """
if [ -d "$1/helper" ]; then # and an /etc of its own, with what root permits
  mount -t tmpfs none "$1/helper/etc" && cp -a /etc/. "$1/helper/etc" && mkdir "$1/helper/etc/perjoule" || exit
  cp "$1/helper/permitted" "$1/helper/etc/perjoule" && mount --bind "$1/helper/etc" /etc || exit
  mount --bind "$1/helper/sbin" /usr/local/sbin || exit
fi
for d in work results home; do mkdir -p "$1/$d"; mount -t tmpfs none "$1/$d"; chmod 1777 "$1/$d"; done
for f in passwd group sudoers; do [ ! -e /etc/$f ] || mount --bind "$1/$f" /etc/$f; done
[ ! -e ~/.bashrc ] || mount --bind /dev/null ~/.bashrc # which may start version managers, for each command again
exec /usr/sbin/sshd -D -e -f "$2"
"""


def until(true: Callable[[], bool], timeout_s: float = 30.0) -> None:
    until_s = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < until_s, "waited in vain"
        time.sleep(0.1)  # many ask by a program


def toml(
    options: Mapping[str, Any], filesystem: str, *workloads: str, clients: int = 1, header: str = ""
) -> str:
    """A campaign, on hosts over SSH by default; what JSON and TOML write alike is written by json."""
    options = {"kind": "cluster", "hosts": [], **options}
    tables = [
        "{" + ", ".join(f"{key} = {json.dumps(value)}" for key, value in host.items()) + "}"
        for host in options["hosts"]
    ]
    rest = "\n".join(f"{key} = {json.dumps(value)}" for key, value in options.items() if key != "hosts")
    head = (
        f'name = "lab"\nrepetitions = 1\nsettle = "100 ms"\nquiet = "2 s"\nclients = [{clients}]\n{header}\n'
    )
    bed = f"[testbed]\n{rest}\n" + (f"hosts = [{', '.join(tables)}]\n" if tables else "")
    loads = "".join(f"[[workload]]\n{workload}\n" for workload in workloads)
    return f"{head}{bed}[[filesystem]]\n{filesystem}\n{loads}"


class Lab:
    """A folder with keys, and hosts that believe them."""

    def __init__(self, folder: Path, *, key_exchange: str = CURVE25519) -> None:
        self.folder, self._key_exchange = folder, key_exchange
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd wants it to be there
        for name in ("host", "key", "wrong"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
        shutil.copy(folder / "key.pub", folder / "authorized")
        users = list(enumerate((USER, SUDOER), USER_NUMBER))
        accounts = [f"{name}:*:{number}:{number}::{folder}/home:/bin/bash\n" for number, name in users]
        (folder / "passwd").write_text(Path("/etc/passwd").read_text() + "".join(accounts))
        (folder / "group").write_text(
            Path("/etc/group").read_text() + "".join(f"{name}:x:{number}:\n" for number, name in users)
        )
        (folder / "sudoers").write_text(f"root ALL=(ALL:ALL) ALL\n{SUDOER} ALL=(ALL:ALL) NOPASSWD: ALL\n")
        (folder / "sudoers").chmod(0o440)
        # The user's own configuration of ssh, which no campaign can name: it knows the hosts of all labs of
        # this process.
        KNOWN.append(folder / "known")
        self.config = folder / "known.cfg"
        self.config.write_text(f"UserKnownHostsFile {' '.join(map(str, KNOWN))}\nGlobalKnownHostsFile none\n")
        (folder / "nobody.cfg").write_text("UserKnownHostsFile none\nGlobalKnownHostsFile none\n")
        os.environ["PERJOULE_SSH_CONFIG"] = str(self.config)

    def server(self, name: str, port: int, *addresses: str) -> Path:
        key = " ".join((self.folder / "host.pub").read_text().split()[:2])
        with (self.folder / "known").open("a") as known:
            known.writelines(
                f"{address if port == 22 else f'[{address}]:{port}'} {key}\n" for address in addresses
            )
        path = self.folder / f"{name}.sshd"
        lines = [f"Port {port}", *(f"ListenAddress {address}" for address in addresses)]
        lines += [f"KexAlgorithms {self._key_exchange}"] if self._key_exchange else []
        lines += [
            f"HostKey {self.folder / 'host'}",
            f"AuthorizedKeysFile {self.folder / 'authorized'}",
            "PidFile none",
        ]
        path.write_text(
            "\n".join(
                [*lines, "UsePAM no", "StrictModes no", "PasswordAuthentication no", "MaxStartups 100", ""]
            )
        )
        return path

    def options(self, hosts: list[dict[str, str]], port: int, *, user: str = "root") -> dict[str, Any]:
        return {
            "hosts": hosts,
            "user": user,
            "sudo": user == SUDOER,
            "port": port,
            "identity": str(self.folder / "key"),
            "work": str(self.folder / "work"),
        }

    def serve(
        self,
        hosts: Sequence[Host],
        *,
        at: Mapping[str, str] | None = None,
        hidden: Mapping[str, Sequence[str]] | None = None,
    ) -> list[dict[str, str]]:
        """Start an sshd in each virtual host, which sees a work folder of its own and no results; return them
        as a campaign's.

        It listens on the host's address, or the one that `at` has; who logs in finds all programs but those
        that `hidden` lists.
        """
        found: list[dict[str, str]] = []
        for host in hosts:
            address = (at or {}).get(host.name, host.address)
            server = self.server(host.name, 22, address)
            if programs := (hidden or {}).get(host.name):
                with server.open("a") as config:
                    config.write(
                        f"SetEnv PATH={self._all_but(programs, self.folder / f'{host.name}.programs')}\n"
                    )
            argv = ["unshare", "--mount", "sh", "-c", TREES, "sh", self.folder, server]
            host.spawn(argv, log=self.folder / f"{host.name}.log")
            node = {"node": f"odroid-hc4/{host.node.name}"} if host.node else {}
            found.append({"name": host.name, "address": address, "role": host.role, **node})
        for host in hosts:
            until(lambda host=host: "listening" in (self.folder / f"{host.name}.log").read_text())
        return found

    def _all_but(self, names: Sequence[str], folder: Path) -> Path:
        """Fill a folder with links to Debian's programs, but not to these."""
        there = {path.name: path for place in ("/usr/sbin", "/usr/bin") for path in Path(place).iterdir()}
        folder.mkdir()
        for name in there.keys() - {*names}:
            (folder / name).symlink_to(there[name])
        return folder


ON_LOOPBACK = {"storage-1": "127.0.0.2", "client-1": "127.0.0.3"}


@contextlib.contextmanager
def on_loopback(folder: Path) -> Generator[dict[str, Any]]:
    """Two hosts that are this machine; yields the options of a testbed."""
    lab = Lab(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.2", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        ["/usr/sbin/sshd", "-D", "-e", "-f", lab.server("both", port, *ON_LOOPBACK.values())], stderr=-3
    )
    try:
        scan = ["ssh-keyscan", "-p", str(port), "127.0.0.3"]
        until(lambda: subprocess.run(scan, capture_output=True, check=False).stdout != b"")
        yield lab.options(
            [{"name": n, "address": a, "role": n.partition("-")[0]} for n, a in ON_LOOPBACK.items()], port
        )
    finally:
        server.terminate()
        server.wait(10)


@dataclass
class Site:
    """A storage host and two clients with an sshd each, and the host on which perjoule runs."""

    folder: Path
    lab: Lab
    hosts: dict[str, Host]
    controller: Host
    load: str = LOAD
    units: bool = False
    """Whether systemd is their first process, and starts the sshd."""

    def boot(self, name: str) -> None:
        """Start its sshd, which keys and configuration are there for."""
        host, log = self.hosts[name], self.lab.folder / f"{name}.log"
        argv = ["bash", "-c", BOOT, "boot", self.lab.folder, self.lab.folder / f"{name}.sshd"]
        if self.units:
            host.run(["bash", "-c", DISK, "boot", self.lab.folder], timeout_s=10)
            argv = [
                "sh",
                self.lab.folder / "start",
                self.lab.folder,
                name,
                booted.group(name),
                log,
                str(USER_NUMBER),
            ]
        started = host.spawn(argv, log=log)
        until(lambda: "listening" in log.read_text() or started.returncode is not None, BOOT_S)
        assert started.returncode is None, started.output()

    def end(self, name: str, pattern: str, number: str = "KILL") -> None:
        """Signal processes by their command line, inside the host's own process namespace, where all is
        ours.
        """
        self.hosts[name].run(["pkill", f"-{number}", "-f", pattern], timeout_s=10)

    def reboot(self, name: str) -> None:
        """End all that runs there, and start it again; its disk stays."""
        host = self.hosts[name]
        host.run(["pkill", "-KILL", "--inverse", "-x", "pkill"], timeout_s=10, check=False)
        # It has the port until it is gone.
        until(lambda: host.run(["pgrep", "-x", "sshd"], timeout_s=10, check=False).returncode == 1)
        self.boot(name)

    def link(self, name: str, state: str) -> None:
        self.hosts[name].run(["ip", "link", "set", "eth0", state], timeout_s=10)

    def loads(self, name: str) -> bool:
        """Whether fio runs there, and not to make its files."""
        return (
            self.hosts[name]
            .run(["pgrep", "-f", f"fio .*room/{name}[.]json"], timeout_s=10, check=False)
            .returncode
            == 0
        )

    def perjoule(self, *words: str | Path) -> Process:
        """Start perjoule on its host."""
        log, env = (
            self.folder / f"perjoule-{time.monotonic_ns()}.log",
            {"XDG_STATE_HOME": str(self.folder / "state")},
        )
        return self.controller.spawn([PERJOULE, *words], log=log, env=env)

    def campaign(
        self, *, trials: int, seconds: float = 3, name: str = "lab", filesystem: str = "", **options: object
    ) -> Process:
        """Start a campaign on all hosts, in a folder that they share or on a file system that they serve."""
        (self.folder / "load.fio").write_text(self.load.format(seconds))
        (self.folder / "files").mkdir(exist_ok=True)
        hosts = [{"name": n, "address": h.address, "role": h.role} for n, h in self.hosts.items()]
        load = 'kind = "fio"\njob = "load.fio"\ntime_limit = "40 s"'
        filesystem = filesystem or f'kind = "directory"\npath = "{self.folder / "files"}"'
        text = toml(self.lab.options(hosts, 22) | options, filesystem, load, clients=2)
        (self.folder / f"{name}.toml").write_text(text.replace("repetitions = 1", f"repetitions = {trials}"))
        return self.perjoule("run", self.folder / f"{name}.toml", "--into", self.folder / name)

    def records(self, name: str = "lab") -> list[tuple[str, str]]:
        """Status and reason of the last attempt of each trial, in the order in which they were measured."""
        return [(record["status"], record["reason"]) for record in self._records(name)]

    def _records(self, name: str) -> list[dict[str, Any]]:
        """The record of each trial's last attempt, read without perjoule's own code."""
        path = self.folder / name / "journal.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        last: dict[str, dict[str, Any]] = {}
        for line in lines:
            trial = line["trial"]
            place = self.folder / name / "trials" / trial / f"attempt-{line['attempt']}" / "record.json"
            # On a busy machine an attempt may fail, and is followed by another: that is no second measurement.
            assert last.get(trial, {}).get("status") != "valid", "a trial was measured twice"
            last[trial] = json.loads(place.read_text())
        return list(last.values())

    def left(self) -> list[str]:
        """What is there of runs: programs that bear our mark, and folders of runs."""
        marked = (
            'cat /proc/[0-9]*/environ 2> /dev/null | tr "\\0" "\\n" | grep ^PERJOULE_HOST= ; pgrep -af '
            "[p]erjoule-keeper"
        )
        look = f'ls -d "$0"/cluster/*-[0-9] "$0"/*/cluster/*-[0-9] 2> /dev/null; {marked}; true'
        return [
            f"{name}: {line}"
            for name, host in self.hosts.items()
            for line in host.run(
                ["bash", "-c", look, self.lab.folder / "work"], timeout_s=20
            ).stdout.splitlines()
        ]


@contextlib.contextmanager
def site_of(*, units: bool = False) -> Generator[Site]:
    """A storage host and two clients with an sshd each; with `units`, each has a systemd."""
    if units and (lack := booted.lacking()):
        pytest.skip(lack)
    with tempfile.TemporaryDirectory(prefix="pj-lab-") as folder:
        with hosts_of(servers=1).hold(2) as held:
            Path(folder).chmod(0o755)
            lab = Lab(Path(folder))
            (lab.folder / "work").mkdir()
            booted.scripts(lab.folder)
            there = [*held.by_role("storage"), *held.clients]
            site = Site(Path(folder), lab, {host.name: host for host in there}, held.management, units=units)
            for host in there:
                lab.server(host.name, 22, host.address)
                site.boot(host.name)
            yield site
        assert not units or booted.removed(*site.hosts) == ""
