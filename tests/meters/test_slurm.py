"""Slurm's own energy: what sstat printed in a lab with the sensor of a Cray, and clusters that count none."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from perjoule import drivers
from perjoule.drivers.protocols import Hosts, Meter
from perjoule.meters import slurm
from perjoule.model import Channel
from perjoule.model.errors import CampaignError
from places import TRANSCRIPTS
from scripted import ScriptedHost
from unit.meters.test_meters import Kept

SAID = (TRANSCRIPTS / "slurm" / "sstat.txt").read_text()
CONFIG = "AcctGatherEnergyType    = acct_gather_energy/pm_counters\n"


def meter() -> Meter:
    made = drivers.build("meters", "slurm", {"rate": "50 Hz"})
    assert isinstance(made, Meter)
    return made


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Have the commands of a Slurm that is not there run this."""

    def write(scontrol: str, sstat: str) -> None:
        for name, script in {"scontrol": scontrol, "sstat": sstat}.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return write


def hosts(*outside: str) -> Hosts:
    nodes = [ScriptedHost("n1"), ScriptedHost("n2")]
    for node in nodes:
        node.role = "client"
    servers = [ScriptedHost(name) for name in outside]
    return Hosts((*servers, *nodes), facts={"slurm": {"job": "1", "outside": list(outside)}})


def test_the_oldest_step_of_a_node_counts_and_steps_of_several_nodes_do_not() -> None:
    assert slurm.counters(SAID) == {"n2": {"1.1": 404.0, "1.10": 15.0}, "n1": {"1.0": 912.0}}
    assert list(slurm.counters(SAID + "1.batch|3|n1\n")["n1"]) == ["1.0", "1.batch"]
    assert slurm.counters("1.0|7|n[1-2]\n1.1||n1\n1.2|18446744073709551614|n1\nsstat: error\n") == {}


def test_each_node_is_a_counter_of_its_own(says: Callable[[str, str], None]) -> None:
    says(f"echo '{CONFIG}'", f"echo '{SAID}'")
    kept = Kept()
    with meter().record(hosts(), kept) as doubts:
        pass
    assert doubts == []
    assert set(kept.values("n1", quantity="energy")) == {912.0}
    assert set(kept.values("n2", quantity="energy")) == {404.0}
    assert {(c.semantics, c.grade, c.unit, c.specification.resolution) for c, *_ in kept.samples} == {
        ("counter", "BMC", "J", 1.0)
    }


def test_a_step_that_ends_is_a_gap_and_no_other_steps_number(
    says: Callable[[str, str], None], tmp_path: Path
) -> None:
    says(
        f"echo '{CONFIG}'",
        f"if [ -e {tmp_path}/ended ]; then echo '1.1|404|n2'; echo '1.5|2|n1'; else echo '{SAID}'; fi",
    )
    kept = Kept()
    with meter().record(hosts(), kept):
        (tmp_path / "ended").touch()
    values = kept.values("n1", quantity="energy")
    assert values[0] == 912.0
    assert all(value != value for value in values[-1:])
    assert 2.0 not in values


@pytest.mark.parametrize(
    ("scontrol", "sstat", "what"),
    [
        (
            "echo 'AcctGatherEnergyType    = acct_gather_energy/none'",
            "exit 1",
            "AcctGatherEnergyType is not set",
        ),
        (f"echo '{CONFIG}'", "echo '1.0|0|n[1-2]'", "pm_counters shows no energy"),
        (
            f"echo '{CONFIG}'",
            "echo 'sstat: error: no steps running' >&2; exit 1",
            "sstat failed (sstat: error: no steps running)",
        ),
    ],
)
def test_a_cluster_that_counts_no_energy_is_one_line_and_no_error(
    says: Callable[[str, str], None], scontrol: str, sstat: str, what: str
) -> None:
    says(scontrol, sstat)
    kept = Kept()
    with meter().record(hosts(), kept) as doubts:
        pass
    assert doubts == [f"slurm: Slurm counts no energy of this job: {what}"]
    assert kept.samples == []


def test_servers_outside_of_the_job_are_not_read(says: Callable[[str, str], None]) -> None:
    says(f"echo '{CONFIG}'", f"echo '{SAID}'")
    kept = Kept()
    with meter().record(hosts("oss-1"), kept) as doubts:
        pass
    assert doubts == []
    assert {channel.host for channel, *_ in kept.samples} == {"n1", "n2"}


def test_hosts_of_no_job_are_refused() -> None:
    with (
        pytest.raises(CampaignError, match="these hosts belong to no Slurm job; use testbed slurm"),
        meter().record(Hosts(()), Kept()),
    ):
        pass


@pytest.mark.parametrize(
    ("kind", "component", "grade"),
    [("rapl", "cpu", "component"), ("gpu", "gpus", "component"), ("ipmi", "all", "BMC")],
)
def test_a_plugin_stands_for_no_more_than_its_sensor_covers(kind: str, component: str, grade: str) -> None:
    found: Channel = slurm.channel("slurm", "n1", kind)
    assert (found.host, found.component, found.grade) == ("n1", component, grade)
