"""Workloads are measured on the file systems that offer what they need."""

import pytest

from perjoule import campaign
from perjoule.model.errors import CampaignError

HOSTS = 'seed = 1\n[testbed]\nkind = "virtual"\ncluster = "odroid-hc4"\n'


def tables(filesystems: str, workloads: str) -> str:
    kinds = {"filesystem": filesystems.split(), "workload": workloads.split()}
    return HOSTS + "".join(
        f'[[{name}]]\nkind = "{kind}"\n' for name, names in kinds.items() for kind in names
    )


def measured(text: str) -> dict[str, set[str]]:
    """The workloads of each file system, by kind."""
    pairs: dict[str, set[str]] = {}
    for trial in campaign.parse(text).trials:
        pairs.setdefault(trial.filesystem.kind, set()).add(trial.workload.kind)
    return pairs


def test_one_campaign_has_folders_buckets_and_pools_each_with_the_loads_that_fit() -> None:
    assert measured(tables("moosefs rgw cephfs rados", "fio s3 rados idle")) == {
        "moosefs": {"fio", "idle"},
        "cephfs": {"fio", "idle"},
        "rgw": {"s3", "idle"},
        "rados": {"rados", "idle"},
    }


def test_each_combination_is_there_once_in_each_repetition() -> None:
    read = campaign.parse(f"clients = [1, 2]\nrepetitions = 3\n{tables('moosefs rgw', 'fio ior s3')}")
    ids = [trial.id for trial in read.trials]
    assert len(ids) == len(set(ids)) == 2 * 3 * (2 + 1)
    assert campaign.parse(read.text, overrides=read.overrides) == read


def test_with_data_of_its_own_an_idle_store_needs_folders() -> None:
    text = tables("moosefs rgw", "s3 idle") + 'data = "64 MiB"\n'
    assert measured(text) == {"moosefs": {"idle"}, "rgw": {"s3"}}


def test_clients_can_be_without_what_they_mount_or_map() -> None:
    every = tables("moosefs rbd rgw rados", "fio device s3 rados idle")
    idle = {kind for kind, loads in measured(f"{every}mounted = false\n").items() if "idle" in loads}
    assert idle == {"moosefs", "rbd"}
    both = measured(f"{every}mounted = [true, false]\n")
    assert all("idle" in loads for loads in both.values())
    fault = "workload idle needs folders or devices, and no filesystem here offers them"
    with pytest.raises(CampaignError, match=fault):
        campaign.parse(tables("rgw", "s3 idle") + "mounted = false\n")


@pytest.mark.parametrize(
    ("filesystems", "workloads", "fault"),
    [
        ("rgw", "s3 fio", "workload fio needs folders, and no filesystem here offers them"),
        ("moosefs rgw", "fio", "filesystem rgw offers buckets, and no workload here needs them"),
    ],
)
def test_a_table_for_nothing_is_refused(filesystems: str, workloads: str, fault: str) -> None:
    with pytest.raises(CampaignError, match=fault):
        campaign.parse(tables(filesystems, workloads))
