"""Tunings of hosts' own options: power states of a folder like sysfs, for a simulated file system."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from perjoule import campaign, store
from perjoule.cli import cli
from perjoule.filesystems.simulated import SimulatedFileSystem
from perjoule.model.errors import CampaignError
from perjoule.testbeds.local import Local
from sysfs import Sysfs
from typed import table

GOVERNOR = "testbed.power.cpu_governor"
CAMPAIGN = """
name = "hosts"
settle = "5 ms"
quiet = 0
seed = 1
[testbed]
kind = "local"
[testbed.power]
cpu_governor = "performance"
[[filesystem]]
kind = "simulated"
[[workload]]
kind = "simulated"
operation = "read"
size = "8 MiB"
[[meter]]
kind = "simulated"
waveform = "constant"
rate = "100 Hz"
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sysfs:
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # scratch folders of killed runs are ours alone
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = Sysfs(tmp_path / "host")
    monkeypatch.setenv("PERJOULE_SYSFS", str(found.root))
    (tmp_path / "hosts.toml").write_text(CAMPAIGN)
    return found


def words(folder: Path, *more: str) -> list[str]:
    return [
        "tune",
        str(folder / "hosts.toml"),
        "--for",
        "MiB/J",
        "--trials",
        "14",
        *more,
        "--into",
        str(folder / "tuned"),
    ]


def said(*argv: str) -> Result:
    return CliRunner().invoke(cli, argv, catch_exceptions=False)


def records(into: Path) -> list[Any]:
    return [
        record
        for path in sorted(into.glob("*/results.json"))
        for record in store.open_results(path.parent).latest()
    ]


def kept_count(into: Path) -> int:
    return sum(len(path.read_text().splitlines()) for path in into.glob("*/journal.jsonl"))


def children_of(pid: int) -> list[int]:
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            found += (
                [int(path.parent.name)] if int(path.read_text().rpartition(")")[2].split()[1]) == pid else []
            )
    return found


def test_it_finds_the_governor_that_is_best_and_compares_it_with_the_campaigns_own_in_turns(
    fake: Sysfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    governor = fake.root / "devices/system/cpu/cpufreq/policy0/scaling_governor"
    monkeypatch.setattr(
        SimulatedFileSystem, "_tuned", lambda _: 1.2 if governor.read_text() == "powersave\n" else 1.0
    )
    done = said(*words(tmp_path, "--only", GOVERNOR, "--only", "testbed.power.cpu_max", "--json"))
    assert done.exit_code == 0, done.output
    found, into = json.loads(done.stdout), tmp_path / "tuned"
    assert found["changes"] == {GOVERNOR: "powersave"}
    assert found["better"]
    assert found["gain"]["ratio"] == pytest.approx(1.2, rel=0.02)
    assert found["trials_count"] == len(records(into)) <= 14
    assert {record.status for record in records(into)} == {"valid"}
    for record in records(into):  # each trial had what its setting says, by the host's own word
        asked, there = (
            table(record.trial.testbed.options["power"]),
            table(table(record.facts["testbed"])["power"]),
        )
        facts = table(there["local"])
        assert facts["cpu_governor"] == asked["cpu_governor"]
        assert facts["cpu_max_hz"] == float(str(asked.get("cpu_max", "3.6 GHz")).split()[0]) * (
            1e6 if "MHz" in str(asked) else 1e9
        )
    last = [group[0].filesystem.label for group in campaign.read(into / "final" / "campaign.toml").groups]
    assert len(last) == 2 * found["repetitions_count"]
    assert all({*last[n : n + 2]} == {"default", "tuned"} for n in range(0, len(last), 2))  # in turns
    assert fake.changed() == {}
    tuned = tomllib.loads((into / "tuned.toml").read_text())
    assert tuned["testbed"]["power"] == {"cpu_governor": "powersave"}
    assert tuned["filesystem"] == [{"kind": "simulated"}]
    for command in ("show", "verify", "report", "resume"):
        assert said(command, str(into / "final")).exit_code == 0
    compared = said(
        "compare", str(into / "final"), "--between", "default", "tuned", "--metric", "MiB/J", "--any-change"
    )
    assert "significantly better than default" in compared.output


@pytest.mark.slow  # by day: test_tuning.py, and live/test_power.py
def test_a_killed_tuning_leaves_no_power_state_once_the_next_command_ran_and_continues(
    fake: Sysfs, tmp_path: Path
) -> None:
    asked = words(tmp_path, "--only", GOVERNOR, "--only", "testbed.power.cpu_deepest_idle")
    argv = [str(Path(sys.executable).with_name("perjoule")), *asked, "--set", "workload.size=64 MiB"]
    process = subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    into = tmp_path / "tuned"

    def both_set() -> bool:
        return all(fake.changed().get(f"cpufreq/policy{n}/scaling_governor") == "powersave" for n in (0, 2))

    while process.poll() is None:
        if kept_count(into) and both_set():
            process.send_signal(signal.SIGSTOP)
            if both_set():  # and nothing is about to put them back
                break
            process.send_signal(signal.SIGCONT)
        time.sleep(0.005)
    assert process.poll() is None
    for child in children_of(process.pid):  # the guard, which would put everything back by itself
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    process.kill()
    process.wait()
    assert both_set()
    before = [record.trial.id for record in records(into)]
    resumed = said("resume", str(into))
    assert resumed.exit_code == 0, resumed.output
    assert fake.changed() == {}
    assert [record.trial.id for record in records(into)][: len(before)] == before
    assert all(record.attempt == 1 for record in records(into))


def test_what_hosts_offered_is_kept_with_the_tuning(fake: Sysfs, tmp_path: Path) -> None:
    assert said(*words(tmp_path, "--only", GOVERNOR)).exit_code == 0
    for policy in (0, 2):
        listed = fake.root / f"devices/system/cpu/cpufreq/policy{policy}/scaling_available_governors"
        listed.write_text("performance schedutil\n")
    again = said("resume", str(tmp_path / "tuned"))
    assert again.exit_code == 0, again.output
    assert "powersave" in again.output
    assert "schedutil" not in again.output


def test_simulated_hosts_are_not_queried(
    fake: Sysfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: object) -> None:
        raise AssertionError("a host was queried")

    monkeypatch.setattr(Local, "offered", asked)
    listed = said("tune", str(tmp_path / "hosts.toml"), "--for", "MiB/J", "--simulate", "--list")
    assert listed.exit_code == 0
    assert "threads" in listed.output
    assert "power" not in listed.output
    with pytest.raises(CampaignError, match="simulated ones are not queried"):
        said(
            "tune", str(tmp_path / "hosts.toml"), "--for", "MiB/J", "--simulate", "--only", GOVERNOR, "--list"
        )
