"""Caps and counters of control groups: in a folder that stands in for the kernel is written what the
kernel documents.
"""

import os

import pytest

from perjoule.testbeds.virtual import cgroup

GROUP = "perjoule-0badcafe"
READ, WRITE = "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"


@pytest.fixture
def kernel(tmp_path):
    """cgroup v1 with all three controllers."""
    for name, file in (("cpu", "cpu.cfs_quota_us"), ("cpuacct", "cpuacct.usage"), ("blkio", READ)):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text("")
    return tmp_path


def test_a_host_is_capped_and_counted_in_a_hierarchy_for_each_controller(kernel):
    groups = cgroup.groups("0badcafe", kernel)
    groups.make("storage-1", 0.25)
    groups.make("storage-2", None)
    assert groups.roots == tuple(kernel / name / GROUP for name in ("cpu", "cpuacct"))
    cpu = kernel / "cpu" / GROUP / "storage-1"
    assert ((cpu / "cpu.cfs_period_us").read_text(), (cpu / "cpu.cfs_quota_us").read_text()) == (
        "20000",
        "5000",
    )
    assert not list((kernel / "cpu" / GROUP / "storage-2").iterdir())
    (kernel / "cpuacct" / GROUP / "storage-1" / "cpuacct.usage").write_text("1500000000\n")
    assert groups.cpu_s("storage-1") == 1.5
    assert groups.disk_bytes("storage-1") == (None, None)


def test_a_disk_has_one_limit_for_its_host_and_for_the_kernels_write_back(kernel):
    (kernel / "blkio" / "cgroup.procs").touch()
    groups = cgroup.groups("0badcafe", kernel)
    groups.make("storage-1", None)
    groups.cap_disk("storage-1", "7:3", 1e6 + 0.6, 2e6)
    every = kernel / "blkio"
    # whatever group perjoule itself is in
    assert groups.doors("storage-1")[-1] == str(every / "cgroup.procs")
    assert [(every / name).read_text() for name in (READ, WRITE)] == ["7:3 1000001", "7:3 2000000"]
    assert not (every / GROUP).exists()
    cgroup.uncap("0badcafe", ["7:3"], kernel)
    assert [(every / name).read_text() for name in (READ, WRITE)] == ["7:3 0", "7:3 0"]


@pytest.mark.parametrize(
    ("files", "version", "able"),
    [
        (("cpu/cpu.cfs_quota_us",), 1, {"cpu"}),
        (("cpu/cpu.shares",), 1, set()),
        (("cpu/cpu.shares", f"blkio/{READ}"), 1, {"io"}),
        (("cpu/cpu.cfs_quota_us", f"blkio/{READ}"), 1, {"cpu", "io"}),
        (("cpu/cpu.shares", "memory/memory.limit_in_bytes"), 1, {"memory"}),
        ((f"blkio/{READ}",), 0, set()),
    ],
)
def test_what_can_be_capped_is_what_has_a_file(tmp_path, files, version, able):
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert cgroup.controllers(tmp_path) == (version, able)
    assert isinstance(cgroup.groups("0badcafe", tmp_path), cgroup.Groups1) == (version == 1)
    assert cgroup.groups("0badcafe", tmp_path).version == (1 if version == 1 else 2)


@pytest.mark.parametrize(
    ("there", "found"),
    [("memory io", (0, set())), ("cpu memory pids", (2, {"cpu", "memory"})), ("io cpu", (2, {"cpu", "io"}))],
)
def test_one_hierarchy_needs_the_controller_of_cpus(tmp_path, there, found):
    (tmp_path / "cgroup.controllers").write_text(there)
    assert cgroup.controllers(tmp_path) == found


@pytest.mark.parametrize("kind", [cgroup.Groups1, cgroup.Groups2])
def test_runs_and_their_processes_are_found_and_what_is_busy_stays(kernel, kind):
    if kind is cgroup.Groups2:
        (kernel / "cpu" / "cpu.cfs_quota_us").unlink()
        (kernel / "cgroup.controllers").write_text("cpu io memory")
    groups = cgroup.groups("0badcafe", kernel)
    assert isinstance(groups, kind)
    groups.make("storage-1", None)
    assert cgroup.runs(kernel) == {"0badcafe"}
    (procs,) = (root / "storage-1" / "cgroup.procs" for root in groups.roots[:1])
    procs.write_text("11\n12\n")
    (groups.roots[0] / "cgroup.procs").write_text("13\n")
    assert (groups.pids(), groups.unseen()) == ({11, 12, 13}, False)
    procs.write_text("11\n0\n")
    assert (groups.pids(), groups.unseen()) == ({11, 13}, True)
    assert not groups.remove()
    for file in (procs, groups.roots[0] / "cgroup.procs", groups.roots[0] / "cgroup.subtree_control"):
        file.unlink(missing_ok=True)
    assert groups.remove()
    assert cgroup.runs(kernel) == set()


def test_groups_in_a_hierarchy_that_hosts_no_longer_use_are_found_and_removed(kernel):
    (kernel / "blkio" / "perjoule-01dfeed5" / "storage-1").mkdir(parents=True)
    assert cgroup.runs(kernel) == {"01dfeed5"}
    assert cgroup.groups("01dfeed5", kernel).remove()
    assert cgroup.runs(kernel) == set()


@pytest.mark.parametrize(
    ("cores", "quota", "period"), [(0.1, 2_000, 20_000), (0.0999, 9_990, 100_000), (0.001, 1_000, 100_000)]
)
def test_a_quota_is_never_below_what_the_kernel_takes(cores, quota, period):
    """Periods of 20 ms make a host hesitate as a slow CPU does; below a tenth of a core they are of 100
    ms.
    """
    assert (cgroup.quota_us(cores, cgroup.period_us(cores)), cgroup.period_us(cores)) == (quota, period)


def test_memory_is_capped_with_swap_and_what_was_killed_is_counted(kernel):
    (kernel / "memory").mkdir()
    groups = cgroup.groups("0badcafe", kernel)
    assert groups.roots[-1] == kernel / "memory" / GROUP
    groups.make("storage-1", None)
    own = kernel / "memory" / GROUP / "storage-1"
    groups.cap_memory("storage-1", 1 << 28)
    # this kernel does not count swap
    assert [path.name for path in own.iterdir()] == ["memory.limit_in_bytes"]
    (own / "memory.memsw.limit_in_bytes").write_text("9223372036854771712")
    groups.cap_memory("storage-1", 1 << 28)
    assert {path.read_text() for path in own.iterdir()} == {"268435456"}
    (own / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n")
    assert groups.killed_count("storage-1") == 3
    assert cgroup.runs(kernel) == {"0badcafe"}


def test_memory_is_capped_without_swap_where_there_is_one_hierarchy(tmp_path):
    (tmp_path / "cgroup.controllers").write_text("cpu io memory")
    groups = cgroup.groups("0badcafe", tmp_path)
    groups.make("storage-1", None)
    (own,) = tmp_path.glob(f"{GROUP}/storage-1")
    groups.cap_memory("storage-1", 1 << 28)
    assert [path.name for path in own.iterdir()] == ["memory.max"]
    (own / "memory.swap.max").write_text("max")
    groups.cap_memory("storage-1", 1 << 28)
    assert ((own / "memory.max").read_text(), (own / "memory.swap.max").read_text()) == ("268435456", "0")
    (own / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 4\noom_kill 2\noom_group_kill 0\n")
    assert groups.killed_count("storage-1") == 2


@pytest.mark.parametrize("mounted", ["cpu", "", None])
def test_groups_that_are_mounted_read_only_are_seen_before_a_cluster_starts(kernel, monkeypatch, mounted):
    real = os.statvfs(kernel)

    class Flags:
        def __init__(self, path):
            self.f_flag = real.f_flag | (
                os.ST_RDONLY if mounted is not None and path == kernel / mounted else 0
            )

    monkeypatch.setattr(os, "statvfs", Flags)
    # the folder above may be read-only, as systemd mounts it
    assert cgroup.read_only(kernel) == (mounted == "cpu")
