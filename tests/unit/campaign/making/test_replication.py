import tomllib
from pathlib import Path
from typing import Any

import pytest

from perjoule import campaign, drivers
from perjoule.campaign.making import replication
from perjoule.model.errors import CampaignError
from perjoule.papers import published
from places import EXAMPLES

TEMPLATES = Path(published.__file__).parent / "campaigns"


def written(paper: str, **asked: Any) -> str:
    """The campaign of a paper's only study."""
    (study,) = replication.reproductions(paper)
    return replication.written(study, **asked)


@pytest.mark.parametrize(
    "paper", [name for name in published.names() if published.paper(name).kind == "paper"]
)
def test_every_paper_has_a_campaign_that_says_whom_it_repeats_and_what_differs(paper: str) -> None:
    for study in replication.reproductions(paper):
        asked = campaign.parse(replication.written(study))
        assert asked.reproduces == paper
        assert "differs from the paper" in " ".join(asked.description.split())
        assert replication.lacking(study)


def test_a_file_system_that_no_distribution_has_is_measured_as_well_if_asked_for() -> None:
    (study,) = replication.reproductions("green-storage")
    text = replication.written(study, also=["orangefs"])
    arm, reference = (table for table in tomllib.loads(text)["filesystem"] if table["kind"] == "orangefs")
    assert (arm["label"], arm["stripe"], arm["beneath"]["mirror"]) == ("OrangeFS", "64 KiB", "zfs")
    assert (reference["label"], reference["testbed"]) == ("Reference 1", {"cluster": "reference-1"})
    campaign.parse(text)
    without = tomllib.loads(replication.written(study))
    assert {table["kind"] for table in without["filesystem"]} == {"cephfs", "moosefs", "glusterfs"}
    (sentence,) = replication.lacking(study)
    assert sentence.startswith("OrangeFS, and with it Reference cluster 1")
    assert sentence[:20] not in text
    assert replication.lacking(study, ["orangefs"]) == ()
    with pytest.raises(CampaignError, match=r"--also: lustre is no file system .*; choose of: orangefs"):
        replication.written(study, also=["lustre"])


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.toml")), ids=lambda path: path.stem)
def test_there_is_one_truth_for_a_campaign_of_a_paper(path: Path) -> None:
    if path.stem != "reproductions":
        assert (EXAMPLES / path.name).resolve() == path.resolve()


def test_green_storage_is_the_papers_in_small() -> None:
    asked = campaign.parse(written("green-storage", scale=0.1))
    assert {t.filesystem.kind for t in asked.trials} == {"moosefs", "glusterfs", "cephfs"}
    assert {t.clients_count for t in asked.trials} == {1, 2, 3, 4}
    assert {t.repetition for t in asked.trials} == {1, 2, 3, 4, 5}
    assert "Sizes are divided by 1024: 36 MiB to 144 MiB" in " ".join(asked.description.split())


def test_a_request_is_written_once() -> None:
    text = written("green-storage", scale=0.25, shrink=64, repetitions=2, simulate=True)
    document = tomllib.loads(text)
    assert document["testbed"]["scale"] == 0.25
    assert (document["shrink"], document["repetitions"], document["simulate"]) == (64, 2, True)
    assert "run at 0.25 of their speed" in " ".join(document["description"].split())


def test_own_hosts_and_meters_take_the_place_of_the_virtual_ones_and_the_sizes_are_the_papers(
    tmp_path: Path,
) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('# ours\n[testbed]\nkind = "local"\n\n[[meter]]\nkind = "system"\n')
    document = tomllib.loads(written("green-storage", testbed=own))
    assert document["testbed"] == {"kind": "local"}
    assert document["meter"] == [{"kind": "system"}]
    assert document["shrink"] == 1
    # not the second reference cluster, which is other hardware than the hosts that are named
    assert len(document["filesystem"]) == 3
    assert "divided" not in document["description"]


@pytest.mark.parametrize(
    ("paper", "kind", "kinds"),
    [
        ("access-patterns", "beegfs", ["cephfs", "moosefs", "glusterfs", "beegfs"]),
        # and not again for Reference cluster 1
        ("green-storage", "orangefs", ["cephfs", "moosefs", "glusterfs", "orangefs"]),
    ],
)
def test_own_hosts_get_each_file_system_that_was_asked_for(
    paper: str, kind: str, kinds: list[str], tmp_path: Path
) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('[testbed]\nkind = "local"\n')
    tables = tomllib.loads(written(paper, testbed=own, also=[kind]))["filesystem"]
    assert [table["kind"] for table in tables] == kinds
    assert [table for table in tables if "testbed" in table] == []


@pytest.mark.parametrize(
    "text", ['# [our] lab\n[testbed]\nkind = "local"\n', 'testbed = { kind = "local" }\n']
)
def test_a_testbed_is_taken_from_any_toml(text: str, tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text(text)
    document = tomllib.loads(written("green-storage", testbed=own))
    assert (document["testbed"], len(document["workload"])) == ({"kind": "local"}, 1)


def test_a_comment_names_the_value_before_and_no_longer_explains_it() -> None:
    lines = written("green-storage", scale=0.1).splitlines()
    assert "shrink = 1024 # instead of 1" in lines
    assert "shared = false # instead of true" in lines
    assert [line for line in lines if line.startswith("scale = 0.1  # two cores")]


def test_what_can_not_be_written_is_reported(tmp_path: Path) -> None:
    own = tmp_path / "mine.toml"
    own.write_text('[testbed]\nkind = "local"\n')
    with pytest.raises(CampaignError, match="only virtual hosts have a scale"):
        written("green-storage", scale=0.1, testbed=own)
    with pytest.raises(CampaignError, match="no such file"):
        written("green-storage", testbed=tmp_path / "none.toml")
    own.write_text('[testbed]\nkind = "local"\n[[workload]]\nkind = "fio"\n')
    with pytest.raises(CampaignError, match="has a \\[testbed\\]"):
        written("green-storage", testbed=own)
    with pytest.raises(CampaignError, match="no paper is called"):
        written("green-storag")
    with pytest.raises(CampaignError, match='no paper is called "green"'):
        campaign.parse(
            'reproduces = "green"\n'
            + (TEMPLATES / "green-storage.toml").read_text().replace("reproduces", "#")
        )


def test_the_cubieboards_have_three_studies_and_their_storage_is_the_papers_in_small() -> None:
    storage, both, analysis = replication.reproductions("cubieboard")
    assert [of.study for of in (storage, both, analysis)] == ["cubieboard", "hep-pc", "hep"]
    asked = campaign.parse(replication.written(storage))
    assert {trial.clients_count for trial in asked.trials} == {1, 2, 3, 4, 5}
    assert {trial.repetition for trial in asked.trials} == {1, 2, 3, 4}
    beds = {trial.filesystem.kind: trial.testbed for trial in asked.trials}
    clusters = {kind: bed.options["cluster"] for kind, bed in beds.items()}
    assert clusters == {"rados": "cubieboard2", "nfs": "nas-12-bays"}
    hosts = drivers.testbed(beds["rados"]).planned(5)
    assert [len(hosts.by_role(role)) for role in ("storage", "management", "client")] == [12, 3, 5]
