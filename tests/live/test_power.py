"""Power states over sshd and on this machine: a sweep as a campaign, and what is put back after SIGKILL."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from perjoule import campaign, store
from perjoule.execution import runner
from perjoule.execution.notices import Notice
from perjoule.model.errors import MachineError
from perjoule.testbeds._power import setting
from perjoule.testbeds.cluster import SshCluster
from sshd import on_loopback, until
from sysfs import Sysfs
from typed import as_written

pytestmark = pytest.mark.live

PERJOULE = str(Path(sys.executable).with_name("perjoule"))
REAL = Path("/sys/devices/system/cpu")
SET = {"cpu_governor": "powersave", "cpu_deepest_idle": "C1"}
CAMPAIGN = """
name = "power"
repetitions = 1
settle = "50 ms"
quiet = 0
seed = 1
[testbed]
kind = "local"
[testbed.power]
{power}
[[filesystem]]
kind = "directory"
path = "{path}"
[[workload]]
kind = "fio"
operation = "write"
transfer = "64 KiB"
size = "256 KiB"
[[meter]]
kind = "system"
"""
HOLDER = """
import json, sys, time
from perjoule.testbeds.cluster import SshCluster
from perjoule.testbeds.local import Local
kind, options = json.loads(sys.argv[1])
with {"cluster": SshCluster, "local": Local}[kind](**options).hold(1):
    print("up", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def fake(tmp_path: Path, cleaning: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sysfs]:
    with TemporaryDirectory(prefix="pj-", dir="/tmp") as temporary:  # where paths of sockets are short
        monkeypatch.setenv("TMPDIR", temporary)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        monkeypatch.setattr("tempfile.tempdir", temporary)
        found = Sysfs(tmp_path)
        monkeypatch.setenv(setting.ROOT, str(found.root))
        yield found
        assert found.changed() == {}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    if not Path("/usr/sbin/sshd").exists():
        pytest.skip("sshd is missing: apt install openssh-server")
    with on_loopback(tmp_path_factory.mktemp("lab")) as found:
        yield found


def below(pid: int) -> list[int]:
    """The descendants of a process, and those of them that have left its session."""
    rows = subprocess.run(
        ["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout.split()
    children = [int(child) for child, parent in zip(rows[::2], rows[1::2], strict=True) if int(parent) == pid]
    return [*children, *(one for child in children for one in below(child))]


def test_a_host_over_ssh_is_set_and_put_back_and_refuses_a_second_run(
    lab: dict[str, Any], fake: Sysfs
) -> None:
    with as_written(SshCluster, **lab, power=fake.options(**SET, on=["storage"])).hold(1) as hosts:
        assert len(fake.changed()) == 6
        power = hosts.facts["power"]
        assert isinstance(power, dict)
        assert set(power) == {"storage-1", "client-1"}
        assert "'cpu_governor': 'powersave'" in str(power["storage-1"])
        assert "powersave" not in str(power["client-1"])  # its own facts are those of the real /sys
    assert fake.changed() == {}
    # which are one machine here
    both = as_written(SshCluster, **lab, power=fake.options(**SET, on=["storage", "client-1"]))
    with pytest.raises(MachineError, match="another run has set its power states"), both.hold(1):
        pass


@pytest.mark.parametrize("kind", ["cluster", "local"])
@pytest.mark.parametrize("whole", [False, True], ids=["perjoule", "and what would put back"])
def test_states_are_put_back_after_a_kill(kind: str, whole: bool, lab: dict[str, Any], fake: Sysfs) -> None:
    options = (
        {**lab, "power": fake.options(**SET, on=["storage"])}
        if kind == "cluster"
        else {"power": fake.options(**SET)}
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLDER, json.dumps([kind, options])], stdout=-1, text=True
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "up\n"
    assert len(fake.changed()) == 6
    if whole:  # as after a power failure that sysfs would survive: nobody is left who could put anything back
        mark = f"perjoule-keeper {lab['work']} " if kind == "cluster" else "perjoule-guard"
        rows = subprocess.run(
            ["pgrep", "-f", mark], capture_output=True, text=True, check=False
        ).stdout.split()
        there = [int(row) for row in rows] if kind == "cluster" else below(owner.pid)
        os.kill(owner.pid, signal.SIGSTOP)  # it would notice
        for pid in there:
            os.kill(pid, signal.SIGKILL)
    owner.kill()
    owner.communicate()
    if not whole:
        until(lambda: fake.changed() == {})
        return
    assert len(fake.changed()) == 6
    done = subprocess.run([PERJOULE, "down"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert fake.changed() == {}


def test_what_cannot_be_put_back_is_reported_and_kept_until_it_can(fake: Sysfs) -> None:
    options = {"power": fake.options(**SET)}
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLDER, json.dumps(["local", options])], stdout=-1, text=True
    )
    assert owner.stdout is not None
    assert owner.stdout.readline() == "up\n"
    governor = fake.root / "devices/system/cpu/cpufreq/policy0/scaling_governor"
    for pid in below(owner.pid):
        os.kill(pid, signal.SIGKILL)
    owner.kill()
    owner.communicate()
    governor.unlink()
    governor.mkdir()  # neither read nor written, but there
    for words in (["down"], ["run", "local.toml"]):
        (fake.root.parent / "local.toml").write_text(
            CAMPAIGN.format(power='pcie_aspm = "powersave"', path=fake.root.parent)
        )
        done = subprocess.run(
            [PERJOULE, *words], capture_output=True, text=True, check=False, cwd=fake.root.parent
        )
        assert done.returncode == 3, done.stdout + done.stderr
        assert "put" in done.stderr or "power states stay" in done.stderr, done.stderr
    governor.rmdir()
    governor.write_text("powersave\n")
    done = subprocess.run([PERJOULE, "down"], capture_output=True, text=True, check=True)
    assert "put back power states set by a killed run" in done.stdout


@pytest.mark.slow  # by day: on simulated hosts: tests/pipeline/test_tuning_hosts.py
def test_a_sweep_is_a_matrix_and_a_state_that_changes_meanwhile_fails_its_trial(
    fake: Sysfs, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    text = CAMPAIGN.format(power='cpu_governor = ["performance", "powersave"]', path=tmp_path / "data")
    asked = campaign.parse(text)
    assert len({trial.id for trial in asked.trials}) == len(asked.trials) == 2
    labels = {trial.filesystem.label.partition(" on ")[2] for trial in asked.trials}
    assert labels == {"local power cpu_governor performance", "local power cpu_governor powersave"}
    results = store.create(tmp_path / "results", asked.text, asked.name, asked.overrides)
    seen: list[set[str]] = []

    def observe(notice: Notice) -> None:
        if notice.kind == "phase" and notice.text == "measure":
            files = (fake.root / "devices/system/cpu/cpufreq").glob("policy*/scaling_governor")
            seen.append({path.read_text() for path in files})
            if seen[-1] == {"powersave\n"}:
                (fake.root / "devices/system/cpu/cpufreq/policy2/scaling_governor").write_text(
                    "performance\n"
                )

    runner.run(asked, results, observe)
    assert sorted(seen, key=str) == [{"performance\n"}, {"powersave\n"}]
    first, second = sorted(results.latest(), key=lambda record: record.trial.testbed.label)
    assert (first.status, second.status) == ("valid", "failed")
    assert (
        "cpu_governor was set to powersave, but devices/system/cpu/cpufreq/policy2/scaling_governor is "
        "performance" in second.reason
    )
    assert "'cpu_governor': 'performance'" in str(first.facts["testbed"])


@pytest.mark.alone
@pytest.mark.skipif(
    not (REAL / "cpu0/cpuidle/state1/disable").exists(), reason="this kernel has no idle states to disable"
)
def test_idle_states_of_this_machine_itself(tmp_path: Path) -> None:
    def disabled() -> list[str]:
        return [path.read_text() for path in sorted(REAL.glob("cpu[0-9]*/cpuidle/state*/disable"))]

    before = disabled()
    names = [(path / "name").read_text().strip() for path in sorted((REAL / "cpu0/cpuidle").glob("state*"))]
    (tmp_path / "data").mkdir()
    power = f"cpu_deepest_idle = {json.dumps([names[0], names[-1]])}"
    (tmp_path / "idle.toml").write_text(CAMPAIGN.format(power=power, path=tmp_path / "data"))
    done = subprocess.run(
        [PERJOULE, "run", tmp_path / "idle.toml", "--into", tmp_path / "r"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    records = [json.loads(path.read_text()) for path in (tmp_path / "r").rglob("record.json")]
    found = {
        r["trial"]["testbed"]["options"]["power"]["cpu_deepest_idle"]: r["facts"]["testbed"]["power"]["local"]
        for r in records
    }
    assert found[names[0]]["cpu_idle_states"] == names[0]
    assert found[names[-1]]["cpu_idle_states"] == "+".join(names)
    assert disabled() == before
