"""What stands for a real file system, simulated, claims no other redundancy."""

from perjoule import campaign, drivers


def test_simulated_file_systems_claim_the_redundancy_of_those_they_stand_for() -> None:
    simulated = campaign.demo(["simulate=true"])
    claims = {
        trial.filesystem.label: drivers.filesystem(trial.filesystem).redundancy(
            drivers.testbed(trial.testbed).planned(trial.clients_count)
        )
        for trial in simulated.trials
    }
    texts = {label: redundancy.text for label, redundancy in claims.items() if redundancy}
    assert texts == {"MooseFS": "2 copies", "GlusterFS": "4+1", "CephFS": "2 copies"}


def test_what_stands_for_a_folder_of_unknown_redundancy_claims_none() -> None:
    text = """
name = "one"
simulate = true
[testbed]
kind = "local"
[[filesystem]]
kind = "directory"
path = "/tmp"
[[workload]]
kind = "fio"
operation = "write"
size = "4 MiB"
"""
    [trial, *_] = campaign.parse(text).trials
    hosts = drivers.testbed(trial.testbed).planned(1)
    assert drivers.filesystem(trial.filesystem).redundancy(hosts) is None


def test_what_stands_for_reads_and_writes_at_once_reads() -> None:
    text = """
name = "one"
simulate = true
[testbed]
kind = "local"
[[filesystem]]
kind = "directory"
path = "/tmp"
[[workload]]
kind = "kv_cache"
users = 1
requests = 4
"""
    [trial, *_] = campaign.parse(text).trials
    assert drivers.workload(trial.workload).directions == ("read",)
