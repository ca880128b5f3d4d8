"""SeaweedFS over S3: what its shell prints (recorded from 4.48), layouts, and bytes through gateways."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule.drivers.protocols import Hosts, planned
from perjoule.filesystems._seaweed.parse import chunks, version, volumes
from perjoule.filesystems.seaweed_s3 import SeaweedS3
from perjoule.model.errors import CampaignError
from places import ROOT, transcript
from typed import as_written

ROLES = ["storage"] * 4 + ["metadata", "management", "client", "client", "client"]
HOSTS = planned(ROLES)


def printed(name: str) -> str:
    return transcript("seaweed_s3", name)


def of(**options: Any) -> SeaweedS3:
    return as_written(SeaweedS3, **options)


def addressed() -> Hosts:
    """The same hosts with addresses."""
    hosts = planned(ROLES)
    for number, host in enumerate(hosts.all, start=1):
        host.address = f"10.0.0.{number}"
    return hosts


def test_volumes_are_read_by_server() -> None:
    assert volumes(printed("volume-list.txt")) == {
        "10.99.0.2": {2, 3},
        "10.99.0.3": {4, 5},
        "10.99.0.4": {6, 7},
        "10.99.0.5": {1, 8, 9},
    }


def test_volumes_of_a_collection_are_told_from_others() -> None:
    assert sum(map(len, volumes(printed("volume-list.txt"), "perjoule").values())) == 9
    assert volumes(printed("volume-list.txt"), "other") == {}


def test_an_object_is_in_the_volumes_of_its_chunks() -> None:
    assert chunks(printed("meta-cat.txt")) == {1, 7, 8}


def test_its_version_is_without_its_size_limit() -> None:
    assert version(printed("version.txt")) == "4.48"


def test_layouts_that_can_not_be_are_refused_with_advice() -> None:
    with pytest.raises(
        CampaignError, match='replication = "001" needs 2 volume servers, but there are 1'
    ) as no:
        of(replication="001").require_fit(planned(["storage", "metadata", "client"]))
    assert no.value.next.startswith('set replication = "000"')
    with pytest.raises(ValidationError, match="greater"):
        of(volume="1 KiB")


def test_clients_use_gateways_in_turns_and_each_a_bucket_and_a_file_of_its_own() -> None:
    one, all_of = (
        {client.name: of(gateways=place).deployment(HOSTS).bucket(client.name) for client in HOSTS.clients}
        for place in ("metadata", "storage")
    )
    (metadata,) = {bucket.endpoint for bucket in one.values()}
    assert metadata == f"http://{HOSTS.metadata.address}:8333"
    storage = [f"http://{host.address}:8333" for host in HOSTS.by_role("storage")]
    assert [bucket.endpoint for bucket in all_of.values()] == storage[:3]
    for given in (one, all_of):
        assert [bucket.name for bucket in given.values()] == ["perjoule-0", "perjoule-1", "perjoule-2"]
        assert len({bucket.credentials for bucket in given.values()}) == 3


def test_the_hop_through_a_gateway_without_data_is_among_the_bytes_that_servers_move() -> None:
    """A byte comes to the gateway, goes on to a volume server, and each further copy goes on once more."""
    for copies_count in (1, 2, 3):
        flows = of(replication=f"00{copies_count - 1}").amplification(HOSTS)
        assert flows.write.client_sent_ratio == flows.read.client_received_ratio == 1
        assert flows.write.storage_received_ratio == 1 + 1 + (copies_count - 1)
        assert flows.write.storage_sent_ratio == 1 + (copies_count - 1)
        assert flows.write.disk_written_ratio == copies_count
        assert (flows.read.storage_received_ratio, flows.read.storage_sent_ratio) == (1, 1 + 1)


def test_gateways_beside_data_write_all_copies_but_those_of_their_own_host() -> None:
    """Of four hosts, each has a quarter of all copies; a copy of c is on one's own host in c of 4 objects."""
    for copies_count in (1, 2, 3):
        flows = of(replication=f"00{copies_count - 1}", gateways="storage").amplification(HOSTS)
        assert flows.write.storage_received_ratio == 1 + copies_count * 3 / 4
        assert flows.write.storage_sent_ratio == copies_count * 3 / 4
        assert (flows.read.storage_received_ratio, flows.read.storage_sent_ratio) == (3 / 4, 1 + 3 / 4)
    assert of(roles="both").amplification(HOSTS).read.storage_received_ratio == 4 / 5


def volume_list(placed: Mapping[str, Mapping[int, str]]) -> str:
    """What the shell prints of volumes, by address and number, with the bucket of each."""
    lines = [
        line
        for address, numbers in placed.items()
        for line in (
            f"      DataNode {address}:8080 hdd(volume:2/7 active:2 free:5 remote:0)",
            *(
                f"          volume Id:{n}, Size:8, Collection:{bucket}, Version:3, "
                for n, bucket in numbers.items()
            ),
        )
    ]
    return "\n".join(lines)


def test_hops_are_those_of_the_volumes_of_each_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four volumes of the first client in two copies, three of them also beside its gateway."""
    deployed = of(replication="001", gateways="storage").deployment(addressed())
    first, second = "perjoule-0", "perjoule-1"
    text = volume_list(
        {
            "10.0.0.1": {1: first, 2: first, 3: first},
            "10.0.0.2": {1: first, 4: first, 5: second},
            "10.0.0.3": {2: first, 3: first, 4: first, 5: second, 6: "perjoule-2"},
            "10.0.0.4": {6: "perjoule-2"},
        }
    )
    monkeypatch.setattr(deployed, "_ask", lambda *commands: text)
    deployed.facts = {"version": "4.48"}
    assert [*deployed.hop_ratios().values()] == [(1 / 4, 1 - 3 / 8), (0, 1 / 2), (0, 1 / 2)]
    deployed.facts = {"version": "4.36"}
    assert deployed.hop_ratios() == {}


def test_hops_before_4_37_are_known_where_gateways_have_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    deployed = of(replication="001").deployment(addressed())
    text = volume_list({"10.0.0.1": {n: f"perjoule-{n}" for n in range(3)}})
    monkeypatch.setattr(deployed, "_ask", lambda *commands: text)
    deployed.facts = {"version": "4.36"}
    assert {*deployed.hop_ratios().values()} == {(1, 1)}


def test_the_reference_lists_what_is_changed() -> None:
    text = (ROOT / "docs" / "reference" / "settings.md").read_text()
    changed = of().deployment(HOSTS).settings
    assert [setting.name for setting in changed if setting.name not in text] == []
