"""SeaweedFS over S3: what its shell prints (recorded from 4.48), layouts, and bytes through gateways."""

from typing import Any

import pytest
from pydantic import ValidationError

from perjoule.drivers.protocols import planned
from perjoule.filesystems._seaweed.parse import chunks, version, volumes
from perjoule.filesystems.seaweed_s3 import SeaweedS3
from perjoule.model.errors import CampaignError
from places import ROOT, transcript
from typed import as_written

HOSTS = planned(["storage"] * 4 + ["metadata", "management", "client", "client", "client"])


def printed(name: str) -> str:
    return transcript("seaweed_s3", name)


def of(**options: Any) -> SeaweedS3:
    return as_written(SeaweedS3, **options)


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
        assert flows is not None
        assert flows.write.client_sent_ratio == flows.read.client_received_ratio == 1
        assert flows.write.storage_received_ratio == 1 + 1 + (copies_count - 1)
        assert flows.write.storage_sent_ratio == 1 + (copies_count - 1)
        assert flows.write.disk_written_ratio == copies_count
        assert (flows.read.storage_received_ratio, flows.read.storage_sent_ratio) == (1, 1 + 1)


def test_bytes_are_not_derived_where_gateways_are_beside_data() -> None:
    assert of(gateways="storage").amplification(HOSTS) is None
    assert of(roles="both").amplification(HOSTS) is None


def test_the_reference_lists_what_is_changed() -> None:
    text = (ROOT / "docs" / "reference" / "settings.md").read_text()
    changed = of().deployment(HOSTS).settings
    assert [setting.name for setting in changed if setting.name not in text] == []
