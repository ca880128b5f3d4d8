"""Versity S3 Gateway: a folder of one host over S3. https://github.com/versity/versitygw/wiki

Objects are files, with what S3 alone knows of them in extended attributes. The gateway caches no data, and syncs
none: a put returns when they are in its host's page cache. A client's keys open its own bucket alone.
"""

import json
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Access, Host, Hosts, Port
from perjoule.filesystems._deployment import SHORT_S
from perjoule.filesystems._flows import NO_HOPS, Hops
from perjoule.filesystems._gateways import BehindGateways
from perjoule.filesystems._options import Deployed
from perjoule.filesystems._said import found
from perjoule.filesystems._settings import Setting
from perjoule.model import OPTIONS, Json, Redundancy

EXAMPLE = '[[filesystem]]\nkind = "versitygw"\nkeep_alive = false\n'

GATEWAY = 7070  # port
WITH_VARIABLES = 'set -a; . "$1"; shift; exec "$@"'  # of a file: what they say is in no argument list


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class VersityGw(Deployed):
    """One gateway on the first storage host, over a folder of its disk; all other servers idle."""

    runs: ClassVar = {
        "first storage": {
            "versitygw": "https://github.com/versity/versitygw/wiki/Quickstart",
            "setpriv": "util-linux",
        },
        "client": {"python3": "python3"},  # speaks S3
    }
    offers: ClassVar[Access] = "buckets"
    in_user_space: ClassVar = False  # nothing is mounted
    copied_by_client: ClassVar = True  # its one copy goes to the one server
    daemons: ClassVar = ("versitygw",)

    keep_alive: bool = False
    """Whether clients keep their connections (--keep-alive); by itself the gateway closes each after one
    request.
    """

    def ports(self) -> Mapping[str, tuple[Port, ...]]:
        """The gateway's."""
        return {"first storage": (Port(GATEWAY, "versitygw"),)}

    def redundancy(self, hosts: Hosts) -> Redundancy:
        """One copy, in the page cache of its host when a put has returned."""
        return Redundancy(acknowledged="in memory")

    def deployment(self, hosts: Hosts) -> "_VersityGw":
        """With a bucket for each client."""
        return _VersityGw(self, hosts)


class _VersityGw(BehindGateways[VersityGw]):
    """One gateway. Healthy means that it answers, and that each client has made its bucket and put an object."""

    kind = "versitygw"
    user, group = "nobody", "65534"
    port = GATEWAY
    clients_make_buckets = True

    def plan(self) -> tuple[Host, ...]:
        return self.hosts.by_role("storage")[:1]

    def gateway_hosts(self) -> tuple[Host, ...]:
        return self.bearers

    @property
    def settings(self) -> tuple[Setting, ...]:
        return (Setting("quiet", "set", "observation"),)

    def stores(self, host: Host) -> tuple[Path, ...]:
        return (self.store(host) / "buckets",) if host in self.bearers else ()

    def serve(self) -> None:
        (host,), room = self.gates, self.folder(self.gates[0])
        (data,) = self.stores(host)
        self.furnish(host, data)
        keys = {name: (secrets.token_hex(10), secrets.token_hex(20)) for name in self.buckets}
        root_keys, accounts = room / "root-keys", room / "users.json"
        variables = f"ROOT_ACCESS_KEY={secrets.token_hex(10)}\nROOT_SECRET_KEY={secrets.token_hex(20)}\n"
        host.put(variables, root_keys, mode=0o600, owner=self.user)
        host.put(accounts_text(keys.values()), accounts, mode=0o600, owner=self.user)
        options = ["--port", f"{host.address}:{GATEWAY}", "--iam-dir", room]
        options += [f"--{setting.name}" for setting in self.changed]
        options += ["--keep-alive"] if self.options.keep_alive else []
        shell = [*self.as_user, "sh", "-c", WITH_VARIABLES, "sh", root_keys]
        self.start(host, "versitygw", [*shell, "versitygw", *options, "posix", data])
        self.wait_listening(host, GATEWAY)
        self.daemons.wait_out("a gateway that answers", self.silent)
        for user in self.hosts.users:
            self.give_keys(user, *keys[user.name])

    def report(self) -> dict[str, Json]:
        (host,) = self.gates
        text = host.run(["versitygw", "--version"], timeout_s=SHORT_S).stdout
        return {**version(text), "gateways": [host.name], "keep_alive": self.options.keep_alive}

    def hop_ratios(self) -> dict[str, Hops]:
        return dict.fromkeys(self.buckets, NO_HOPS)

    def locate(self, path: Path) -> tuple[str, ...]:
        return self.data_hosts


def accounts_text(keys: Iterable[tuple[str, str]]) -> str:
    """Write users.json: accounts that may make buckets, and use their own alone."""
    accounts = {key: {"access": key, "secret": secret, "role": "userplus"} for key, secret in keys}
    return json.dumps({"accessAccounts": accounts})


def version(text: str) -> dict[str, Json]:
    """Parse `versitygw --version`: version and commit, "git" and "norev" in what its makers did not build."""
    patterns = {"version": r"^Version +: (\S+)$", "build": r"^Build +: (\S+)$"}
    return {name: found(pattern, text, "versitygw --version") for name, pattern in patterns.items()}
