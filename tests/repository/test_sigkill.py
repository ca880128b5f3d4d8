"""What `benchmarks/sigkill.py` kills is a campaign that perjoule takes, with as many trials as it counts."""

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from attached import CAMPAIGN
from benchmarks import kills, sigkill, sigkill_attached
from perjoule import campaign
from perjoule.cli import cli
from sysfs import Sysfs

CEPH = 'ceph = {pool = "lab", keyring = "/keys"}'
ATTACHED = {  # as the clusters of `sigkill_attached.py` are named
    "pool": f'kind = "pool"\n{CEPH}',
    "image": f'kind = "image"\n{CEPH}',
    "bucket": f'kind = "bucket"\n{CEPH}\nendpoint = "http://127.0.0.1:1"\nbucket = "lab"\ncredentials = "/keys"',
}
FOLDER = 'kind = "directory"\npath = "/mnt"'


@pytest.mark.parametrize("name", sigkill.STUDIES)
def test_each_study_is_a_campaign(name: str, tmp_path: Path) -> None:
    plan = sigkill.STUDIES[name]
    Sysfs(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / f"{name}.toml").write_text(plan.text(tmp_path))
    asked = campaign.read(tmp_path / f"{name}.toml")
    words = [*plan.words, "--list"] if plan.trials_count is None else ["check"]
    done = CliRunner().invoke(cli, [*words, str(tmp_path / f"{name}.toml")])
    assert done.exit_code == 0, done.output
    assert (plan.trials_count or len(asked.trials)) == len(asked.trials)
    assert bool(asked.trials[0].events) == name.startswith("events")
    assert ("power" in tomllib.loads(asked.text)["testbed"]) == (name == "power")


@pytest.mark.parametrize("name", sigkill_attached.KINDS)
def test_each_way_to_attach_has_a_load_that_fits(name: str) -> None:
    workload = sigkill_attached.KINDS[name].workload
    asked = campaign.parse(CAMPAIGN.format(filesystem=ATTACHED.get(name, FOLDER), workload=workload))
    assert len(asked.trials) == 1


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        (["a", "b"], ["b", "c"], "data: gone ['a'], new ['c']"),
        ('{"pools": 1}', '{"pools": 2}', "data: '{\"pools\": 1}' became '{\"pools\": 2}'"),
    ],
)
def test_what_was_left_is_named(was: object, now: object, words: str) -> None:
    assert sigkill_attached.changed("data", was, now) == words


def test_both_benchmarks_of_kills_read_journals_alike() -> None:
    assert kills.journal is sigkill.journal
