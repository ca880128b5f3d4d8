"""Hosts that are reached as a user's ssh configuration says: through a jump host, by names that it alone
knows.
"""

import json
import re
import tempfile
from pathlib import Path

import pytest

from on_hosts import hosts_of
from sshd import NEEDS_SSHD, PERJOULE, Lab, toml

pytestmark = [
    pytest.mark.live,
    NEEDS_SSHD,
]

GATE = "storage-1"  # the jump host, which is also a host of the campaign
# a network that the controller is not in
INSIDE = {GATE: "10.98.0.1", "client-1": "10.98.0.2", "client-2": "10.98.0.3"}
# By ProxyJump and by ProxyCommand; the campaign itself has neither user, nor port, key or address.
CONFIG = """Include {folder}/*.conf
Match exec "test %n != gate"
    User root
Match host {subnet}.*
    ProxyJump gate
"""
INCLUDED = """Host gate {gate}
    HostName {address}
Host client-1
    HostName {first}
Host client-2
    HostName {second}
    ProxyCommand ssh -F {folder}/config -W [%h]:%p gate
Host *
    IdentityFile {folder}/key
    KnownHostsCommand /bin/cat {folder}/known
    UserKnownHostsFile none
    GlobalKnownHostsFile none
    AddressFamily inet
"""


def test_hosts_behind_a_jump_host_are_measured_as_the_ssh_configuration_says() -> None:
    with tempfile.TemporaryDirectory(prefix="pj-lab-") as name, hosts_of(servers=1).hold(2) as hosts:
        folder = Path(name)
        folder.chmod(0o755)
        lab, gate, controller = Lab(folder), hosts.by_role("storage")[0], hosts.management
        there = [gate, *hosts.clients]
        for host in there:
            host.run(["ip", "address", "add", f"{INSIDE[host.name]}/24", "dev", "eth0"], timeout_s=10)
        clients = {client.name: INSIDE[client.name] for client in hosts.clients}
        lab.serve(there, at=clients)
        for address in clients.values():
            knock = ["bash", "-c", f"exec 3<> /dev/tcp/{address}/22"]
            assert controller.run(knock, timeout_s=10, check=False).returncode != 0, (
                "it is reached without the jump host"
            )

        first, second = clients.values()
        (folder / "lab.conf").write_text(
            INCLUDED.format(folder=folder, gate=GATE, address=gate.address, first=first, second=second)
        )
        (folder / "config").write_text(CONFIG.format(folder=folder, subnet=first.rpartition(".")[0]))
        (folder / "files").mkdir()
        options = {
            "hosts": [{"name": host.name, "role": host.role} for host in there],
            "work": str(folder / "work"),
        }
        load = 'kind = "fio"\noperation = ["write", "read"]\nsize = "8 MiB"\ntransfer = "1 MiB"'
        (folder / "lab.toml").write_text(
            toml(options, f'kind = "directory"\npath = "{folder / "files"}"', load, clients=2)
        )
        command = [
            PERJOULE,
            "run",
            folder / "lab.toml",
            "--into",
            folder / "results",
            "--ssh-config",
            folder / "config",
        ]
        done = controller.run(command, env={"XDG_STATE_HOME": str(folder)}, timeout_s=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

        records = [json.loads(path.read_text()) for path in (folder / "results").rglob("record.json")]
        assert [(record["status"], record["reason"]) for record in records] == [("valid", "")] * 2
        for record in records:
            moved = {(one["host"], one["moved_bytes"]) for one in record["outcome"]["results"]}
            assert moved == {(client, 8 * 1024**2) for client in clients}
        logins = {
            host.name: set(
                re.findall(
                    r"Accepted publickey for (\S+) from (\S+) port", (folder / f"{host.name}.log").read_text()
                )
            )
            for host in there
        }
        assert logins == {
            GATE: {("root", controller.address)},
            **{client: {("root", INSIDE[GATE])} for client in clients},
        }
