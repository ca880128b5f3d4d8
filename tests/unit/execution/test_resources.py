"""What does not fit on this machine is not begun."""

from pathlib import Path

import pytest

from perjoule import campaign
from perjoule.campaign.plan import plan, speed_bytes_per_s
from perjoule.drivers.protocols import Check
from perjoule.execution import resources
from perjoule.execution.runner import require
from perjoule.model import Campaign
from perjoule.model.errors import MachineError
from perjoule.testbeds.virtual import memory

GIB = 1024**3
MIB = 1024**2

TEXT = """
name = "large"
repetitions = 3
clients = [1, 4]
[testbed]
kind = "virtual"
[[filesystem]]
kind = "{kind}"
{options}
[[workload]]
kind = "fio"
operation = "write"
size = "{size}"
transfer = "4 MiB"
"""


def asked(kind: str = "moosefs", options: str = "", size: str = "1 GiB") -> Campaign:
    return campaign.parse(TEXT.format(kind=kind, options=options, size=size), source="large.toml")


def test_data_of_the_largest_trial_count_with_what_redundancy_adds(tmp_path: Path) -> None:
    def stored(kind: str, options: str = "") -> int:
        return next(
            need.needed_bytes
            for need in resources.needs(asked(kind, options).trials, tmp_path)
            if need.purpose.startswith("data")
        )

    disks = 6 * 64 * MIB  # five storage hosts and the metadata host
    assert stored("moosefs", "goal = 1") == 4 * GIB + disks
    assert stored("moosefs", "goal = 2") == 8 * GIB + disks
    assert stored("glusterfs") == 4 * GIB * 5 // 4 + disks
    assert stored("cephfs", "copies = 3") == 12 * GIB + disks
    mirrored = 'beneath = {kind = "ext4", mirror = "md"}'
    assert stored("moosefs", f"goal = 2\n{mirrored}") == 16 * GIB + disks
    assert stored("nfs", mirrored) - stored("nfs") == 4 * GIB


def test_data_of_an_idle_file_system_count_in_space_and_time(tmp_path: Path) -> None:
    def idle(data: str) -> Campaign:
        load = f'kind = "idle"\ndata = "{data}"\nduration = "30 s"\nrest = "2 s"'
        text = TEXT.format(kind="moosefs", options="goal = 2", size="1 GiB")
        return campaign.parse(text[: text.index("[[workload]]")] + "[[workload]]\n" + load)

    small, large = idle("1 MiB"), idle("1 GiB")
    (little, _), (much, _) = (resources.needs(one.trials, tmp_path) for one in (small, large))
    clients_count = max(trial.clients_count for trial in large.trials)
    assert much.needed_bytes - little.needed_bytes == 2 * clients_count * (GIB - MIB)
    speed = speed_bytes_per_s(large.trials[0].testbed, 1)
    soon, late = (
        next(step for step in plan(one).steps if step.trial.clients_count == 1).duration_s
        for one in (small, large)
    )
    assert late - soon == pytest.approx((GIB - MIB) / speed)


def test_a_folder_that_somebody_else_mounted_is_where_its_data_go(tmp_path: Path) -> None:
    text = TEXT.format(kind="directory", options=f'path = "{tmp_path}"', size="1 GiB")
    trials = campaign.parse(text.replace("[1, 4]", "[1]").replace("virtual", "local"), source="x").trials
    assert resources.needs(trials, tmp_path / "r")[0] == resources.SpaceNeed(
        tmp_path, GIB, "data of the file systems"
    )


def test_900_gib_on_72_gib_free_are_refused_in_a_sentence(disk: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(MachineError) as caught:
        require(resources.checks(asked(size="225 GiB").trials, tmp_path / "r"))
    said = str(caught.value)
    assert "900.4 GiB of data of the file systems" in said
    assert "does not fit: 72 GiB free, of which 5 GiB stay in reserve; free space" in said


def test_results_on_the_same_disk_count_and_the_reserve_stays(disk: dict[str, int], tmp_path: Path) -> None:
    trials = asked().trials
    needed = sum(need.needed_bytes for need in resources.needs(trials, tmp_path))
    assert needed == 4 * GIB + 6 * 64 * MIB + resources.results_bytes(trials, 1.0)
    disk["free"] = needed + 5 * GIB
    assert all(check.ok for check in resources.checks(trials, tmp_path))
    disk["free"] -= 1
    assert not resources.checks(trials, tmp_path)[0].ok


def test_memory_is_what_the_machine_and_the_control_group_leave(tmp_path: Path) -> None:
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text("MemTotal: 2000 kB\nMemAvailable: 1000 kB\n")
    (proc / "self" / "cgroup").write_text("4:memory:/box\n0::/\n")
    assert resources.free_memory_bytes(proc, groups) == 1_024_000
    (groups / "memory" / "box").mkdir(parents=True)
    (groups / "memory" / "box" / "memory.limit_in_bytes").write_text("900000\n")
    (groups / "memory" / "box" / "memory.usage_in_bytes").write_text("400000\n")
    assert resources.free_memory_bytes(proc, groups) == 500_000


def test_processes_are_limited_by_every_group_above(tmp_path: Path) -> None:
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "self" / "cgroup").write_text("0::/user/me\n")
    (groups / "user" / "me").mkdir(parents=True)
    (groups / "user" / "me" / "pids.max").write_text("max\n")
    (groups / "user" / "me" / "pids.current").write_text("7\n")
    assert resources.free_tasks_count(proc, groups) is None
    (groups / "user" / "pids.max").write_text("100\n")
    (groups / "user" / "pids.current").write_text("30\n")
    assert resources.free_tasks_count(proc, groups) == 70


def test_too_little_memory_and_too_few_processes_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(resources, "free_memory_bytes", lambda: 600 * MIB)
    monkeypatch.setattr(resources, "free_tasks_count", lambda: 400)
    checks = {check.name: check for check in resources.checks(asked("cephfs").trials, tmp_path)}
    assert not checks["memory"].ok
    # 512 MiB, and 10 hosts of 384 MiB
    assert "about 4.25 GiB needed, 600 MiB free" in checks["memory"].detail
    assert not checks["processes and threads"].ok
    assert "about 1920 needed, 400 more allowed here" in checks["processes and threads"].detail


def test_hosts_with_less_memory_than_their_daemons_need_are_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(memory, "lack", lambda disk: "")

    def check(kind: str, option: str) -> Check:
        capped = option if "memory_cap" in option else f"memory_cap = true\n{option}"
        text = TEXT.format(kind=kind, options="", size="1 GiB").replace('"virtual"', f'"virtual"\n{capped}')
        found = resources.checks(campaign.parse(text, source="large.toml").trials, tmp_path)
        return next(
            (one for one in found if one.name == f"memory of hosts for {kind}"), Check("", True, "none")
        )

    assert check("cephfs", "").detail.startswith("4 GiB on storage-1, where cephfs and a load need about ")
    assert check("cephfs", "").ok
    assert check("glusterfs", "memory = 0.0625").ok
    assert not check("moosefs", "memory = 0.125").ok  # its master takes far more than a chunk server
    assert check("moosefs", "memory = 0.15").ok
    small = check("cephfs", "memory = 0.0625")
    assert not small.ok
    assert small.fix == "raise memory of [testbed], or set memory_cap = false"
    assert check("cephfs", "memory = 0.0625\nmemory_cap = false").detail == "none"
    monkeypatch.setattr(memory, "lack", lambda disk: "no memory controller")
    assert check("cephfs", "memory = 0.0625").detail == "none"


def test_the_results_of_short_trials_are_estimated_by_what_they_hold(tmp_path: Path) -> None:
    """20 to 50 KB each were measured of simulated trials, 1.5 MB of the demo's, whose loads and idle times
    take a minute.
    """
    simulated = (
        '[testbed]\nkind = "simulated"\n[[filesystem]]\nkind = "simulated"\n[[workload]]\nkind = '
        '"simulated"\nsize = "8 MiB"\n'
    )
    trials = campaign.parse(f'name = "many"\nrepetitions = 2500\nclients = [1, 2, 3, 4]\n{simulated}').trials
    needed = next(
        need.needed_bytes for need in resources.needs(trials, tmp_path) if need.purpose == "results"
    )
    assert 0.25e9 < needed < 1.0e9
    long = asked().trials[:1]
    one = next(
        need.needed_bytes
        for need in resources.needs(long, tmp_path, settle_s=30.0)
        if need.purpose == "results"
    )
    assert 0.75e6 < one < 3e6
