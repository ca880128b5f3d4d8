"""SeaweedFS by folder: where a file lies, what a client is told, and when it lacks copies."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from perjoule.drivers.protocols import Completed, Hosts, Process, planned
from perjoule.filesystems._seaweed.parse import chunks, thin
from perjoule.filesystems.seaweed_s3 import SeaweedS3
from perjoule.filesystems.seaweedfs import SeaweedFS
from perjoule.model.errors import CampaignError
from places import transcript
from scripted import ScriptedHost, ScriptedProcess
from typed import as_written

HOSTS = planned(["storage"] * 4 + ["metadata", "management", "client", "client"])
NODES = "  DataNode 10.0.0.{n}:8080 hdd\n"
VOLUME = "    volume Id:{n}, Size:0, ReplicaPlacement:001, Collection:perjoule, Version:3\n"


class Keeper(ScriptedHost):
    """A host on which SeaweedFS's shell lists some volumes of each server, and a file's chunks."""

    def __init__(self, name: str, number: int) -> None:
        super().__init__(name)
        self.address, self.held, self.members = f"10.0.0.{number}", dict[int, list[int]](), "10.0.0.1:8080 "
        self.started: list[list[str]] = []
        self.asked: list[str] = []

    def run(self, argv: Sequence[str | Path], *, text: str = "", **_: Any) -> Completed:
        printed = {
            "cluster.ps": self.members,
            "volume.list": "".join(
                NODES.format(n=server) + "".join(VOLUME.format(n=volume) for volume in volumes)
                for server, volumes in self.held.items()
            ),
            "fs.meta.cat": transcript("seaweedfs", "meta-cat.txt"),
        }
        self.asked += text.splitlines()
        asked = [line.split()[0] for line in text.splitlines()]
        return Completed(tuple(map(str, argv)), 0, "".join(printed.get(command, "") for command in asked), "")

    def starts(self, words: Sequence[str], log: Path) -> Process:
        self.started.append(list(words))
        return ScriptedProcess(None)


def made(**options: Any) -> tuple[Any, Keeper, Keeper]:
    """Return a deployment on two volume servers, its metadata host and its client."""
    keepers = [
        Keeper(name, n) for n, name in enumerate(("storage-1", "storage-2", "metadata-1", "client-1"), 1)
    ]
    deployment = as_written(SeaweedFS, **options).deployment(Hosts(tuple(keepers)))
    return deployment, keepers[2], keepers[3]


def test_a_file_is_on_the_servers_of_its_chunks_volumes() -> None:
    """The file's chunks were recorded in volumes 2 and 4."""
    deployment, metadata, client = made()
    place = deployment.directories[client.name]
    for held, holders in (
        ({1: [1, 2], 2: [3, 4]}, ("storage-1", "storage-2")),
        ({1: [1, 3], 2: [2, 4]}, ("storage-2",)),
        ({1: [1], 2: [3]}, ()),
    ):
        metadata.held = held
        assert deployment.locate(place / "folder" / "file") == holders


def test_a_file_whose_list_of_chunks_is_in_chunks_is_not_located() -> None:
    text = transcript("seaweedfs", "meta-cat.txt")
    assert chunks(text) == {2, 4}
    manifest = text.replace('"isChunkManifest":  false', '"isChunkManifest":  true', 1)
    assert manifest != text
    assert chunks(manifest) == set()


def test_volumes_with_too_few_copies_are_counted_over_all_servers() -> None:
    held = {"a": {1, 2, 3}, "b": {2, 3}, "c": {3, 4}}
    assert (thin(held, 1), thin(held, 2), thin(held, 3)) == ([], [1, 4], [1, 2, 4])


def test_it_is_degraded_while_a_volume_lacks_copies_and_without_copies_while_a_server_is_missing() -> None:
    twice, metadata, _ = made(replication="001")
    metadata.held = {1: [1, 2], 2: [1]}
    assert twice.degraded() == "too few copies of 1 volumes"
    metadata.held = {1: [1, 2], 2: [1, 2]}
    assert twice.degraded() == ""
    assert twice.absent() == "no volume server on storage-2"
    once, metadata, _ = made()
    metadata.held = {1: [1, 2]}
    assert once.degraded() == once.absent() == "no volume server on storage-2"
    metadata.members += "10.0.0.2:8080 "
    assert once.degraded() == ""
    assert once.absent() == "no filer on metadata-1"
    metadata.members += "10.0.0.3:8888.18888 "
    assert once.degraded() == once.absent() == ""


def test_a_store_of_buckets_lacks_a_gateway_that_takes_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    keepers = [Keeper(name, n) for n, name in enumerate(("storage-1", "metadata-1", "client-1"), 1)]
    deployment = as_written(SeaweedS3).deployment(Hosts(tuple(keepers)))
    monkeypatch.setattr(deployment, "silent", lambda: "no gateway answers on metadata-1")
    assert deployment.absent() == "no filer on metadata-1"
    keepers[1].members += "10.0.0.2:8888.18888 "
    assert deployment.absent() == "no gateway answers on metadata-1"


def test_a_client_mounts_with_its_options_and_all_that_it_writes_is_in_its_folder() -> None:
    deployment, _, client = made(chunk="4 MiB", cache="64 MiB")
    deployment.attach(client, Path("/there"))
    (words,) = client.started
    assert words[words.index("weed") :][:3] == ["weed", "-logtostderr", "mount"]
    assert {"-chunkSizeLimitMB=4", "-cacheCapacityMB=64", "-dir=/there", "-filer=10.0.0.3:8888"} <= {*words}
    rooms = [
        word.partition("=")[2]
        for word in words
        if word.startswith(("HOME", "TMPDIR", "-cacheDir", "-localSocket"))
    ]
    assert len(rooms) == 4
    assert all(Path(room).is_relative_to(deployment.folder(client)) for room in rooms)


@pytest.mark.parametrize(("store", "most"), [(SeaweedFS, 0), (SeaweedS3, 1000)])
def test_a_small_disk_has_volumes_for_the_buckets_of_all_clients_and_folders_the_space_of_the_disk(
    store: type[Any], most: int
) -> None:
    """With -max=0 a disk of 8 GiB has room for seven volumes of 1 GiB: too few for the buckets of four clients."""
    keepers = [
        Keeper(name, n) for n, name in enumerate(("storage-1", "storage-2", "metadata-1", "client-1"), 1)
    ]
    deployment = as_written(store).deployment(Hosts(tuple(keepers)))
    deployment._serve_volumes(keepers[0])
    assert f"-max={most}" in keepers[0].started[0]


def test_each_server_gets_the_volumes_that_it_lacks_of_those_asked_for() -> None:
    deployment, metadata, _ = made(volumes=3)
    metadata.held = {1: [1]}
    deployment.grow_volumes(["perjoule", "other"])
    assert [line for line in metadata.asked if "grow" in line] == [
        f"volume.grow -collection {collection} -count {count} -dataNode 10.0.0.{server}:8080"
        for collection, server, count in (
            ("perjoule", 1, 2),
            ("perjoule", 2, 3),
            ("other", 1, 3),
            ("other", 2, 3),
        )
    ]


def test_a_client_sends_one_copy_and_a_server_passes_the_others_on() -> None:
    flows = as_written(SeaweedFS, replication="002").amplification(HOSTS)
    assert (flows.write.client_sent_ratio, flows.write.storage_sent_ratio) == (1, 2)
    assert (flows.write.storage_received_ratio, flows.write.disk_written_ratio) == (3, 3)
    assert (flows.read.client_received_ratio, flows.read.storage_sent_ratio) == (1, 1)


def test_it_is_not_aged() -> None:
    with pytest.raises(CampaignError, match="SeaweedFS was not aged") as no:
        as_written(SeaweedFS, aged={"full": "50 %"}).require_fit(HOSTS)
    assert no.value.next == "remove aged"
