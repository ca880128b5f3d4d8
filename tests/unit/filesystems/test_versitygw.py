"""Versity's gateway: what it prints (recorded from 1.7.0), one server for all clients, and where its secrets are."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from perjoule.drivers.protocols import Hosts, Process, planned
from perjoule.filesystems.versitygw import VersityGw, version
from perjoule.model.errors import UnexpectedOutput
from places import ROOT, transcript
from scripted import ScriptedHost, ScriptedProcess

HOSTS = planned(["storage", "storage", "metadata", "client", "client"])


class Keeper(ScriptedHost):
    """A host that notes whose the files are that are put on it, and what is started."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self.address = f"10.0.0.{number}"
        self.modes: dict[Path, tuple[int, str]] = {}
        self.started: list[list[str]] = []

    def put(self, content: str | bytes, path: Path, *, mode: int = 0o644, owner: str = "", **_: Any) -> None:
        super().put(content, path)
        self.modes[path] = mode, owner

    def starts(self, words: Sequence[str], log: Path) -> Process:
        self.started.append(list(words))
        return ScriptedProcess(None)


def served(**options: Any) -> tuple[Any, list[Keeper]]:
    """A gateway that was started for two clients, and its hosts."""
    names = ("storage-1", "storage-2", "client-1", "client-2")
    keepers = [Keeper(name, number) for number, name in enumerate(names, 1)]
    deployment = VersityGw(**options).deployment(Hosts(tuple(keepers)))
    deployment.serve()
    return deployment, keepers


def test_its_version_and_commit_are_read_and_other_output_is_refused() -> None:
    printed = transcript("versitygw", "version.txt")
    assert version(printed) == {"version": "v1.7.0", "build": "norev"}
    with pytest.raises(UnexpectedOutput, match="versitygw --version"):
        version(printed.replace("Build", "Commit"))


def test_all_clients_use_the_gateway_of_the_first_storage_host_and_each_a_bucket_of_its_own() -> None:
    deployment, keepers = served()
    buckets = [deployment.bucket(client.name) for client in keepers[2:]]
    assert {bucket.endpoint for bucket in buckets} == {"http://10.0.0.1:7070"}
    assert len({bucket.name for bucket in buckets}) == len({bucket.credentials for bucket in buckets}) == 2
    assert deployment.data_hosts == deployment.locate(Path("perjoule-0", "x")) == ("storage-1",)
    assert [bool(deployment.stores(keeper)) for keeper in keepers] == [True, False, False, False]


def test_each_client_has_the_keys_of_an_account_and_no_argument_list_has_a_secret() -> None:
    deployment, (server, idle, *clients) = served()
    room = deployment.folder(server)
    accounts = json.loads(server.files[room / "users.json"])["accessAccounts"]
    secrets = {line.partition("=")[2] for line in str(server.files[room / "root-keys"]).splitlines()}
    for client in clients:
        text = str(client.files[path := deployment.bucket(client.name).credentials])
        key, secret = (line.partition(" = ")[2] for line in text.splitlines()[1:])
        assert accounts[key] == {"access": key, "secret": secret, "role": "userplus"}
        assert client.modes[path][0] == 0o600
        secrets |= {key, secret}
        assert deployment.shared(client.name).name == deployment.bucket(clients[0].name).name
        assert deployment.shared(client.name).endpoint == deployment.bucket(client.name).endpoint
        shared = deployment.shared(client.name).credentials
        assert shared != path and client.modes[shared][0] == 0o600
        assert client.files[shared] == clients[0].files[deployment.bucket(clients[0].name).credentials]
    assert len(accounts) == 2 and len(secrets) == 6
    assert set(server.modes.values()) == {(0o600, "nobody")}
    words = [words for host in (server, idle, *clients) for words in (*host.ran, *host.started)]
    assert words
    assert not [word for said in words for word in said if any(secret in word for secret in secrets)]
    assert idle.started == []


@pytest.mark.parametrize("keep_alive", [False, True])
def test_connections_are_kept_where_the_campaign_says_so(keep_alive: bool) -> None:
    deployment, (server, *_) = served(keep_alive=keep_alive)
    (words,) = server.started
    assert ("--keep-alive" in words) == keep_alive
    assert words[-2:] == ["posix", str(deployment.stores(server)[0])]
    assert words[words.index("--port") + 1] == "10.0.0.1:7070"


def test_a_byte_passes_the_one_server_once_and_is_on_its_disk_once() -> None:
    flows = VersityGw().amplification(HOSTS)
    assert (flows.write.client_sent_ratio, flows.write.storage_received_ratio) == (1, 1)
    assert (flows.write.storage_sent_ratio, flows.write.disk_written_ratio) == (0, 1)
    assert (flows.read.storage_received_ratio, flows.read.storage_sent_ratio) == (0, 1)


def test_the_reference_lists_what_is_changed() -> None:
    text = (ROOT / "docs" / "reference" / "settings.md").read_text()
    part = text.partition("- Versity S3 Gateway:")[2].partition("\n- ")[0]
    assert [setting.name for setting in VersityGw().deployment(HOSTS).settings if setting.name in part] == [
        "quiet"
    ]
