"""Garage: what its administration API answers (recorded from 2.5.0 on two nodes), layouts, bytes through gateways,
and where its secrets are.
"""

import json
import tomllib
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from perjoule.drivers.protocols import Completed, Hosts, Process, planned
from perjoule.filesystems.garage import Garage, block_hashes, down, facts, node_id, release
from perjoule.model.errors import CampaignError, MachineError, UnexpectedOutput
from places import ROOT, transcript
from scripted import ScriptedHost, ScriptedProcess
from typed import as_written

HOSTS = planned(["storage"] * 4 + ["metadata", "management", "client", "client", "client"])


def answer(endpoint: str) -> Any:
    return json.loads(transcript("garage", f"{endpoint}.json"))


# as they were recorded: hosts by the addresses of their nodes
STATUS = answer("GetClusterStatus")
IDS = {
    f"storage-{number}": node["id"]
    for number, node in enumerate(sorted(STATUS["nodes"], key=lambda node: node["addr"]), 1)
}

UNREAD = ("UpdateClusterLayout", "ApplyClusterLayout")  # answers that nobody reads


class Keeper(ScriptedHost):
    """A host whose Garage answers as it was recorded; it notes whose the files are that are put on it."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self.address = f"10.0.0.{number}"
        self.modes: dict[Path, tuple[int, str]] = {}
        self.started: list[list[str]] = []
        self.queries: dict[str, Any] = {}
        self.version = transcript("garage", "version.txt")
        self.blocks: set[str] = set()

    def run(self, argv: Sequence[str | Path], **_: Any) -> Completed:
        words = [str(word) for word in argv]
        self.ran.append(words)
        said = ""
        if "json-api" in words:
            endpoint, *query = words[words.index("json-api") + 1 :]
            self.queries[endpoint] = json.loads(query[0]) if query else None
            said = "{}" if endpoint in UNREAD else transcript("garage", f"{endpoint}.json")
        elif "id" in words:
            said = f"{IDS.get(self.name, '0' * 64)}@{self.address}:3901\n"
        elif "--version" in words:
            said = self.version
        elif words[0] == "find":
            said = "\n".join(word for word in words if Path(word).name in self.blocks)
        return Completed(tuple(words), 0, said, "")

    def put(self, content: str | bytes, path: Path, *, mode: int = 0o644, owner: str = "", **_: Any) -> None:
        super().put(content, path)
        self.modes[path] = mode, owner

    def starts(self, words: Sequence[str], log: Path) -> Process:
        self.started.append(list(words))
        return ScriptedProcess(None)


def served(**options: Any) -> tuple[Any, list[Keeper]]:
    """A Garage that was started for two clients, and its hosts."""
    names = ("storage-1", "storage-2", "metadata-1", "client-1", "client-2")
    keepers = [Keeper(name, number) for number, name in enumerate(names, 1)]
    deployment = as_written(Garage, replication_factor=2, **options).deployment(Hosts(tuple(keepers)))
    deployment.serve()
    return deployment, keepers


def config(deployment: Any, keeper: Keeper) -> dict[str, Any]:
    return tomllib.loads(str(keeper.files[deployment.folder(keeper) / "garage.toml"]))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (transcript("garage", "version.txt"), "2.5.0"),
        ("garage v2.1.0 [features: k2v, lmdb]", "2.1.0"),
        ("garage git:v1.3.1 [features: k2v]", "1.3.1"),
    ],
)
def test_its_release_is_read_by_whomever_it_was_built(text: str, number: str) -> None:
    assert release(text) == number


def test_other_output_is_refused() -> None:
    with pytest.raises(UnexpectedOutput, match="garage --version"):
        release("garbage 2.5.0")
    with pytest.raises(UnexpectedOutput, match="garage node id"):
        node_id(transcript("garage", "node-id.txt")[1:])
    with pytest.raises(UnexpectedOutput, match="GetClusterStatus"):
        down({"nodes": [{"id": "1"}]}, {})


def test_a_nodes_id_is_without_its_address() -> None:
    assert node_id(transcript("garage", "node-id.txt")) in IDS.values()


def test_a_release_without_the_interface_that_is_asked_is_refused_with_advice() -> None:
    keepers = tuple(Keeper(name, number) for number, name in enumerate(("storage-1", "client-1"), 1))
    deployment = Garage().deployment(Hosts(keepers))
    deployment.require()
    keepers[0].version = "garage v1.3.1 [features: k2v]\n"
    with pytest.raises(MachineError, match=r"Garage 1\.3\.1 has no json-api") as no:
        deployment.require()
    assert "cargo install garage" in no.value.next


def test_facts_are_those_of_the_layout_in_force() -> None:
    """Each of 256 partitions has two copies, on two nodes of equal capacity."""
    told = facts(STATUS, answer("GetClusterLayout"), IDS)
    assert (told["version"], told["layout_version"]) == ("2.5.0", 1)
    assert told["partitions"] == {"storage-1": 256, "storage-2": 256}
    assert told["zones"] == {"storage-1": "storage-1", "storage-2": "storage-2"}
    assert told["zone_redundancy"] == "maximum"


def test_a_node_that_is_not_up_or_that_nobody_knows_is_down() -> None:
    assert down(STATUS, IDS) == ()
    lost = [{**node, "isUp": node["id"] != IDS["storage-2"]} for node in STATUS["nodes"]]
    assert down({"nodes": lost}, {**IDS, "storage-3": "f" * 64}) == ("storage-2", "storage-3")


def test_an_objects_blocks_are_in_order_and_a_small_one_has_none() -> None:
    """It has 2.5 MiB, in blocks of 1 MiB."""
    inspected = answer("InspectObject")
    ((*blocks, _), *others) = ([block["size"] for block in v["blocks"]] for v in inspected["versions"])
    assert (blocks, others) == ([2**20, 2**20], [])
    assert len(set(block_hashes(inspected))) == 3
    assert block_hashes(answer("InspectObject-inline")) == ()


def test_an_object_is_on_the_hosts_that_have_a_file_of_one_of_its_blocks() -> None:
    deployment, (one, two, *_) = served()
    hashes = block_hashes(answer("InspectObject"))
    for names, holders in (
        ({hashes[0]}, ("storage-2",)),
        ({f"{hashes[2]}.zst"}, ("storage-2",)),
        (set[str](), ()),
    ):
        two.blocks = names
        assert deployment.locate(Path("perjoule-0", "folder", "x")) == holders
    one.blocks = two.blocks = {hashes[1]}
    assert deployment.locate(Path("perjoule-0", "folder", "x")) == ("storage-1", "storage-2")
    assert one.queries["InspectObject"]["key"] == "folder/x"


def test_each_node_has_a_zone_and_one_without_data_no_capacity() -> None:
    deployment, (first, *_) = served(gateways="metadata")
    roles = first.queries["UpdateClusterLayout"]["roles"]
    assert [role["zone"] for role in roles] == ["storage-1", "storage-2", "metadata-1"]
    assert roles[0]["capacity"] == roles[1]["capacity"] > 0
    assert roles[2]["capacity"] is None
    assert first.queries["ApplyClusterLayout"] == {"version": 1}
    assert deployment.data_hosts == ("storage-1", "storage-2")


@pytest.mark.parametrize(
    ("gateways", "speakers"), [("metadata", ["metadata-1"]), ("storage", ["storage-1", "storage-2"])]
)
def test_gateways_speak_s3_and_clients_use_them_in_turns(gateways: str, speakers: list[str]) -> None:
    deployment, keepers = served(gateways=gateways)
    nodes = [keeper for keeper in keepers if keeper.started]
    told = {keeper.name: config(deployment, keeper) for keeper in nodes}
    assert [name for name in told if "api_bind_addr" in told[name]["s3_api"]] == speakers
    assert {keeper.name for keeper in nodes} == {"storage-1", "storage-2", *speakers}
    addresses = [keeper.address for keeper in keepers if keeper.name in speakers]
    for number, client in enumerate(keepers[3:]):
        bucket = deployment.bucket(client.name)
        assert bucket.endpoint == f"http://{addresses[number % len(addresses)]}:3900"
        assert bucket.name == f"perjoule-{number}"
    assert {keeper.address for keeper in nodes} == {
        told[keeper.name]["rpc_public_addr"].removesuffix(":3901") for keeper in nodes
    }


def test_blocks_are_neither_compressed_nor_synced_unless_the_campaign_says_so() -> None:
    deployment, (node, *_) = served()
    told = config(deployment, node)
    assert (told["compression_level"], told["block_size"]) == ("none", 2**20)
    assert (told["data_fsync"], told["metadata_fsync"], told["db_engine"]) == (False, False, "lmdb")
    deployment, (node, *_) = served(
        compression_level=1, block="4 MiB", data_fsync=True, metadata_fsync=True, database="sqlite"
    )
    told = config(deployment, node)
    assert (told["compression_level"], told["block_size"]) == (1, 4 * 2**20)
    assert (told["data_fsync"], told["metadata_fsync"], told["db_engine"]) == (True, True, "sqlite")
    assert [setting.name for setting in deployment.settings] == ["RUST_LOG"]


def test_names_and_blocks_are_on_the_disk_beneath() -> None:
    deployment, (node, *_) = served()
    told = config(deployment, node)
    assert [folder["path"] for folder in told["data_dir"]] == [str(path) for path in deployment.stores(node)]
    assert Path(told["metadata_dir"]).parent == deployment.store(node)


def test_each_client_has_keys_for_its_bucket_alone_and_no_argument_list_has_a_secret() -> None:
    deployment, (node, other, idle, *clients) = served()
    key, grant = answer("CreateKey"), node.queries["AllowBucketKey"]
    assert grant["bucketId"] == answer("CreateBucket")["id"]
    assert grant["accessKeyId"] == key["accessKeyId"]
    assert grant["permissions"] == {"read": True, "write": True, "owner": False}
    secrets = {str(keeper.files[deployment.folder(keeper) / "rpc-secret"]) for keeper in (node, other)}
    assert [len(secret) for secret in secrets] == [64], "nodes have one secret"
    for keeper in (node, other):
        assert config(deployment, keeper)["rpc_secret_file"] == str(deployment.folder(keeper) / "rpc-secret")
        assert keeper.modes[deployment.folder(keeper) / "rpc-secret"] == (0o600, "nobody")
    for client in clients:
        path = deployment.bucket(client.name).credentials
        assert key["secretAccessKey"] in str(client.files[path]) and client.modes[path][0] == 0o600
    secrets.add(key["secretAccessKey"])
    words = [words for host in (node, other, idle, *clients) for words in (*host.ran, *host.started)]
    assert words
    assert not [word for argv in words for word in argv if any(secret in word for secret in secrets)]
    configs = [
        str(text) for host in (node, other) for path, text in host.files.items() if path.suffix == ".toml"
    ]
    assert not [text for text in configs if any(secret in text for secret in secrets)]


# https://garagehq.deuxfleurs.fr/documentation/reference-manual/configuration/#consistency_mode
WRITE_QUORUMS = {
    ("consistent", 1): 1,
    ("consistent", 2): 2,
    ("dangerous", 2): 1,
    ("consistent", 3): 2,
    ("degraded", 3): 2,
    ("dangerous", 3): 1,
}


@pytest.mark.parametrize(("mode", "copies_count"), WRITE_QUORUMS)
def test_all_copies_are_in_memory_when_a_put_returns_only_if_the_quorum_is_all(
    mode: str, copies_count: int
) -> None:
    store = as_written(Garage, replication_factor=copies_count, consistency_mode=mode)
    quorum = WRITE_QUORUMS[mode, copies_count]
    assert store.quorum == quorum
    redundancy = store.redundancy(HOSTS)
    assert redundancy.copies_count == copies_count
    assert redundancy.acknowledged == ("in memory" if quorum == copies_count else "")
    synced = as_written(
        Garage, replication_factor=copies_count, consistency_mode=mode, data_fsync=True, metadata_fsync=True
    )
    assert synced.redundancy(HOSTS).acknowledged != "on disk", "the database may lose the latest names"


def moved(gate: str, keepers: Sequence[str]) -> tuple[float, float, float, float]:
    """What servers receive and send for each byte that is put, and got, block by block: the gateway sends a block
    to each node that keeps it, and asks one of them for it, itself if it can.
    """
    sent_count = len([keeper for keeper in keepers if keeper != gate])
    asked_count = 0 if gate in keepers else 1
    return 1 + sent_count, sent_count, asked_count, 1 + asked_count


@pytest.mark.parametrize("copies_count", [1, 2, 3])
def test_the_hop_through_a_gateway_without_data_is_among_the_bytes_that_servers_move(
    copies_count: int,
) -> None:
    flows = as_written(Garage, gateways="metadata", replication_factor=copies_count).amplification(HOSTS)
    assert flows is not None
    nodes = [host.name for host in HOSTS.by_role("storage")]
    ways = [moved("metadata-1", keepers) for keepers in combinations(nodes, copies_count)]
    assert flows.write.client_sent_ratio == flows.read.client_received_ratio == 1
    assert (
        flows.write.storage_received_ratio,
        flows.write.storage_sent_ratio,
        flows.read.storage_received_ratio,
        flows.read.storage_sent_ratio,
    ) == tuple(map(mean, zip(*ways, strict=True)))
    assert (flows.write.disk_written_ratio, flows.read.disk_read_ratio) == (copies_count, 1)


def test_there_is_no_hop_where_each_gateway_keeps_all_blocks_and_chance_where_it_keeps_some() -> None:
    hosts = planned(["storage", "storage", "storage", "metadata", "client"])
    flows = as_written(Garage, replication_factor=3).amplification(hosts)
    assert flows is not None
    assert (
        flows.write.storage_received_ratio,
        flows.write.storage_sent_ratio,
        flows.read.storage_received_ratio,
        flows.read.storage_sent_ratio,
    ) == moved("storage-1", ["storage-1", "storage-2", "storage-3"])
    for options in ({"replication_factor": 2}, {"replication_factor": 3, "roles": "both"}):
        assert as_written(Garage, **options).amplification(hosts) is None
    assert as_written(Garage, gateways="metadata", roles="both").amplification(hosts) is None


def test_more_copies_than_nodes_are_refused_with_advice() -> None:
    with pytest.raises(
        CampaignError, match="replication_factor = 3 needs 3 nodes with data, but there are 2"
    ) as no:
        as_written(Garage, replication_factor=3).require_fit(planned(["storage", "storage", "client"]))
    assert no.value.next.startswith("set replication_factor = 2")


def test_its_ports_are_those_of_nodes_and_of_s3_on_gateways() -> None:
    def ports(**options: Any) -> dict[str, list[int]]:
        placed = as_written(Garage, **options).ports()
        return {place: [port.number for port in ports] for place, ports in placed.items()}

    assert ports() == {"storage": [3901, 3900]}
    assert ports(roles="both") == {"bricks": [3901, 3900]}
    assert ports(gateways="metadata") == {"storage": [3901], "metadata": [3901, 3900]}


def test_where_it_is_not_installed_the_way_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PERJOULE_GARAGE_PREFIX", str(tmp_path))
    checks = {check.name: check for check in Garage().checks()}
    assert not checks["garage"].ok
    assert "cargo install garage" in checks["garage"].fix
    assert "PERJOULE_GARAGE_PREFIX" in checks["garage"].fix
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "garage").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "garage").chmod(0o755)
    assert {check.name: check for check in Garage().checks()}["garage"].ok


def test_the_reference_lists_what_is_changed() -> None:
    text = (ROOT / "docs" / "reference" / "settings.md").read_text()
    part = text.partition("- Garage:")[2].partition("\n- ")[0]
    names = [setting.name for setting in Garage().deployment(HOSTS).settings]
    assert [name for name in names if name in part] == names == ["compression_level", "RUST_LOG"]
