"""Real hosts over SSH: Debian's sshd on loopback addresses, then one in each of several virtual hosts with
files of their own.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from commanded import command
from day import by_day
from lacking import lacking
from on_hosts import NEEDS_SSHFS, hosts_of, sshfs
from perjoule import campaign, drivers
from perjoule.drivers.protocols import Check, Host, LendsDevices, able
from perjoule.machine import mirrors
from perjoule.model import Disk, value_at
from perjoule.model.doubts import METERS
from perjoule.model.errors import CampaignError, TransientError, WorkloadError
from perjoule.model.units import MIB
from perjoule.model.waveform import Waveform
from perjoule.simulators import _tool, csv, hwmon, nvme, rapl
from perjoule.simulators._behaviour import Behaviour
from perjoule.store import open_results
from perjoule.testbeds.cluster import SshCluster
from perjoule.testbeds.local import LocalHost
from perjoule.workloads.hep import LIBRARIES
from sshd import NEEDS_SSHD, ON_LOOPBACK, OVER_SSH, SUDOER, USER, Lab, on_loopback, toml, until
from typed import as_written

pytestmark = [
    pytest.mark.live,
    NEEDS_SSHD,
]

PERJOULE = str(Path(sys.executable).with_name("perjoule"))
SLEEP = str(10**6 + os.getpid())  # found in argument lists; tests in processes beside have another
KILLED = """
import json, sys, time
from perjoule.model import Disk
from perjoule.model.waveform import Waveform
from perjoule.simulators import rapl
from perjoule.simulators._behaviour import Behaviour
from perjoule.testbeds.cluster import SshCluster
with SshCluster(**json.loads(sys.argv[1])).hold(1) as hosts:
    host, log = hosts.clients[0], hosts.clients[0].directory / "log"
    host.disk("disk", Disk(kind="ext4", size="64 MiB"))
    for argv in (["sleep", "SLEEP"], ["setsid", "sleep", "SLEEP"], ["env", "-i", "sleep", "SLEEP"]):
        host.spawn(argv, log=log)
    host.spawn(["sh", "-c", "cd $0; trap '' TERM HUP INT; sleep SLEEP", host.directory / "disk"], log=log)
    while len(host.run(["pgrep", "-xf", "sleep SLEEP"], timeout_s=9, check=False).stdout.split()) < 4:
        time.sleep(0.05)
    print("up", flush=True)
    host.run(["sleep", "SLEEP"], timeout_s=600)
""".replace("SLEEP", SLEEP)


def sleepers() -> list[str]:
    return subprocess.run(
        ["pgrep", "-xf", f"sleep {SLEEP}"], capture_output=True, text=True, check=False
    ).stdout.split()


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with on_loopback(tmp_path_factory.mktemp("lab")) as found:
        yield found


def left(options: Mapping[str, Any]) -> list[str]:
    """What is there of runs: folders, mounts, disks."""
    found = [str(path) for path in Path(options["work"], "cluster").glob("????????-*-1")]
    mounts = Path("/proc/mounts").read_text().splitlines()
    loops = subprocess.run(
        ["losetup", "-l", "-n"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return found + [line for line in (*mounts, *loops) if str(options["work"]) in line]


@pytest.mark.slow  # by day: tests/unit/workloads/hep/test_dask.py
def test_an_analysis_runs_on_a_dask_that_somebody_else_started(
    options: dict[str, Any], tmp_path: Path
) -> None:
    for library in LIBRARIES:
        pytest.importorskip(library, reason=f"{library} is missing: .venv/bin/pip install 'perjoule[hep]'")
    file, files = tmp_path / "scheduler.json", tmp_path / "files"
    files.mkdir()
    python, quiet = [sys.executable, "-m"], ["--no-dashboard"]
    scheduler = [
        *python,
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-show",
        *quiet,
    ]
    worker = [
        *python,
        "distributed.cli.dask_worker",
        "--name",
        "theirs",
        "--nthreads",
        "1",
        "--no-nanny",
        *quiet,
    ]
    worker += ["--host", ON_LOOPBACK["client-1"], "--local-directory", str(tmp_path)]
    theirs: list[subprocess.Popen[bytes]] = []
    try:
        for argv in (scheduler, worker):
            theirs.append(subprocess.Popen([*argv, "--scheduler-file", file], stderr=-3))
            until(file.exists)
        load = f'kind = "hep"\nsize = "8 MiB"\nfiles = 4\nworkers = "clients"\nscheduler_file = "{file}"'
        (tmp_path / "dask.toml").write_text(toml(options, f'kind = "directory"\npath = "{files}"', load))
        results = tmp_path / "results"
        done = subprocess.run(
            [PERJOULE, "run", tmp_path / "dask.toml", "--into", results],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert [one.poll() for one in theirs] == [None, None]
    finally:
        for one in theirs:
            one.terminate()
            one.wait(20)
    (tasks,) = results.rglob("tasks.jsonl")
    assert [json.loads(line)["worker"] for line in tasks.read_text().splitlines()] == ["client-1"] * 4
    assert not list(results.rglob("scheduler.log"))
    assert left(options) == []


def keepers(options: Mapping[str, Any], *, children: bool) -> list[int]:
    """The processes of keepers on their hosts, with or without the children that wait for programs."""
    said = subprocess.run(
        ["ps", "-ewwo", "pid=,ppid=,comm=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split() for line in said.splitlines() if f"perjoule-keeper {options['work']} " in line]
    pids = {pid for pid, _, name, *_ in rows if name == "bash"}
    return [int(pid) for pid, parent, *_ in rows if pid in pids and (children or parent not in pids)]


def test_a_host_with_nothing_but_a_name_is_found_by_the_ssh_configuration(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = "".join(f"Host {name}\n    HostName {address}\n" for name, address in ON_LOOPBACK.items())
    (tmp_path / "config").write_text(Path(os.environ["PERJOULE_SSH_CONFIG"]).read_text() + known)
    monkeypatch.setenv("PERJOULE_SSH_CONFIG", str(tmp_path / "config"))
    named = [{key: value for key, value in host.items() if key != "address"} for host in options["hosts"]]
    by_name: dict[str, Any] = {**options, "hosts": named}
    with SshCluster(**by_name).hold(1) as hosts:
        assert {host.name: host.address for host in hosts.all} == ON_LOOPBACK
        for host in hosts.all:
            came = host.run(["printenv", "SSH_CONNECTION"], timeout_s=20).stdout.split()
            assert came[2] == ON_LOOPBACK[host.name]


def test_a_host_runs_commands_and_nothing_stays(options: dict[str, Any], tmp_path: Path) -> None:
    with SshCluster(**options).hold(1) as hosts:
        host = hosts.clients[0]
        words = ["a b", "$HOME", "it's", '"q"', "x\ny", "*", ""]
        assert host.run(["printf", "%s|", *words], timeout_s=20).stdout == "".join(
            f"{word}|" for word in words
        )
        assert host.run(["cat"], text="in\n", env={"X": "a b"}, timeout_s=20).stdout == "in\n"
        assert host.run(["printenv", "X"], env={"X": "a b"}, timeout_s=20).stdout == "a b\n"
        assert host.run(["sh", "-c", "exit 7"], timeout_s=20, check=False).returncode == 7
        with pytest.raises(WorkloadError, match="client-1: no-such could not be started"):
            host.run(["no-such"], timeout_s=20, check=False)
        with pytest.raises(TransientError, match=r"did not end within 0.6 s"):
            host.run(["sh", "-c", f"trap '' TERM HUP; sleep {SLEEP} & sleep {SLEEP}"], timeout_s=0.6)
        assert sleepers() == []

        host.put(b"\x00\xff", host.directory / "a" / "b", mode=0o600, owner="nobody")
        assert host.read(host.directory / "a" / "b") == b"\x00\xff"
        assert (
            host.run(["stat", "-c", "%U %a", host.directory / "a" / "b"], timeout_s=20).stdout
            == "nobody 600\n"
        )
        with pytest.raises(
            WorkloadError, match=r"client-1: can't read /no/such \(No such file or directory\)"
        ):
            host.read(Path("/no/such"))

        polite = host.spawn(["sh", "-c", f"echo here; exec sleep {SLEEP}"], log=tmp_path / "polite.log")
        stubborn = host.spawn(
            ["sh", "-c", f"trap '' TERM; echo here; sleep {SLEEP}"], log=tmp_path / "stubborn.log"
        )
        until(lambda: "here" in polite.output() and "here" in stubborn.output())
        assert polite.returncode is None
        polite.stop()
        stubborn.stop(timeout_s=0.3)
        assert (polite.returncode, stubborn.returncode) == (-signal.SIGTERM, -signal.SIGKILL)
        assert sleepers() == []

        before = host.counters()
        host.run(
            ["dd", "if=/dev/zero", f"of={host.directory / 'file'}", "bs=1M", "count=32", "conv=fsync"],
            timeout_s=60,
        )
        after = host.counters()
        assert before.t_s < after.t_s <= time.monotonic()
        assert before.cpu_s is not None
        assert after.cpu_s is not None
        assert before.cpu_s < after.cpu_s
        assert (after.disk_written_bytes or 0) - (before.disk_written_bytes or 0) >= 32 * MIB
        clocks = hosts.facts["clocks"]
        assert isinstance(clocks, dict)
        found = clocks["client-1"]
        assert isinstance(found, dict)
        assert abs(float(str(found["offset_s"]))) < 1  # it is the same clock
        host.drop_caches()

        place = host.disk("disk", as_written(Disk, kind="ext4", size="64 MiB"))
        host.put("on it", place / "file")
        assert host.run(["findmnt", "-no", "FSTYPE", place], timeout_s=20).stdout == "ext4\n"
        assert str(able(host, LendsDevices).device("raw", size_bytes=16 * MIB)).startswith("/dev/loop")
        with pytest.raises(
            CampaignError, match=r"client-1: .*may not be overwritten: it is not listed, or not confirmed"
        ):
            able(host, LendsDevices).device("raw", size_bytes=16 * MIB, device="/dev/disk/by-id/x")
    assert left(options) == []


# By day the others are tried on virtual hosts, in test_local_fs.py.
@pytest.mark.parametrize("way", by_day(mirrors.WAYS, "md"))
def test_a_mirror_of_a_host_counts_twice_where_its_kernel_has_it_and_is_a_doubt_elsewhere(
    way: str, options: dict[str, Any]
) -> None:
    lack, kind = mirrors.lacking(way), "zfs" if way == "zfs" else "ext4"
    with SshCluster(**options).hold(1) as hosts:
        host = hosts.by_role("storage")[0]
        for _ in range(2):  # the second one replaces the first
            place = host.disk("pair", as_written(Disk, kind=kind, mirror=way, size="400 MiB"))
            host.put("on it", place / "file")
            assert host.copies_count == (1 if lack else 2)
            images = [line for line in left(options) if ".img" in line]
            assert len(images) == (1 if lack else 2)
        doubt = mirrors.doubt(lack, stead="xfs" if way == "zfs" else "")
        assert (doubt in host.doubts) is bool(lack), host.doubts
    assert left(options) == []
    assert not Path("/dev/md").exists() or not list(Path("/dev/md").glob("*pair*"))


@pytest.mark.slow  # by day: test_cluster_faults.py
@pytest.mark.usefixtures("cleaning")
def test_a_killed_perjoule_leaves_nothing_on_its_hosts(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for killed in ("perjoule", "keepers", "keepers and their children"):
        owner = subprocess.Popen([sys.executable, "-c", KILLED, json.dumps(options)], stdout=-1, text=True)
        assert owner.stdout is not None
        assert owner.stdout.readline() == "up\n"
        if killed != "perjoule":  # as when the host lost its power: nothing there removes anything
            while pids := keepers(options, children="children" in killed):
                for pid in pids:  # a child may start while others are killed
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                if "children" not in killed:
                    break
        owner.kill()
        owner.communicate()
        if killed == "perjoule":
            until(lambda: not sleepers() and not left(options))
        else:
            assert len(sleepers()) >= 4
        said = subprocess.run([PERJOULE, "down"], capture_output=True, text=True, check=True).stdout
        assert ("client-1" in said) is (killed != "perjoule"), said
        assert sleepers() == []
        assert left(options) == []
        assert list((tmp_path / "perjoule" / "cluster").iterdir()) == []
        until(lambda: keepers(options, children=True) == [])


def test_sensors_are_sampled_on_the_hosts_until_one_is_lost(
    options: dict[str, Any], listen: Callable[..., Any]
) -> None:
    """The folder of counters is this machine's, and stands for that of each host."""
    with (
        rapl.serve(Behaviour(Waveform("constant", 40.0, 40.0, 1.0))) as served,
        SshCluster(**options).hold(1) as hosts,
    ):
        meter = {"kind": "rapl", "root": served["root"], "on": ["servers", "clients"], "zones": ["package-0"]}
        for lost in (False, True):
            end_s = time.monotonic() + 4.0  # samples come when the meter is done

            def over(lost: bool = lost, end_s: float = end_s) -> bool:
                if over := time.monotonic() > end_s:
                    # and not those of tests beside this one
                    samplers = ["pgrep", "-f", f"perjoule-sample .*{served['root']}"]
                    pids = subprocess.run(samplers, capture_output=True, text=True, check=True).stdout
                    for pid in pids.split() if lost else ():
                        os.kill(int(pid), signal.SIGKILL)
                return over

            heard = listen(meter, lambda _: over(), hosts=hosts.all)
            for host in ON_LOOPBACK:
                samples = [(channel, value) for channel, _, value, _ in heard.samples if channel.host == host]
                energy_j = [value for _, value in samples]
                assert len(samples) > (0 if lost else 2), heard.doubts  # what was on its way is lost
                assert energy_j == sorted(energy_j)
                assert all(0 < channel.specification.clock_s < 1.0 for channel, _ in samples)
            ended = [doubt for doubt in heard.doubts if "were not read to the end" in doubt]
            assert len(ended) == (2 if lost else 0), heard.doubts


@pytest.mark.parametrize(
    ("serve", "step_w"),
    [(hwmon.serve, 1e-6), (nvme.serve, 0.01), (_tool.ipmitool, 1), (_tool.nvidia_smi, 0.01)],
    ids=["hwmon", "nvme", "ipmi", "nvml"],
)
def test_each_server_reads_its_own_board_drives_bmc_or_gpus(
    serve: Callable[..., Any],
    step_w: float,
    options: dict[str, Any],
    listen: Callable[..., Any],
    noted: Callable[..., Any],
) -> None:
    """The files and makers' programs are on this machine, and stand for those of the host."""
    behaviour = noted(Waveform("sine", 20.0, 60.0, 1.0))
    with serve(behaviour) as served, SshCluster(**options).hold(1) as hosts:
        end_s = time.monotonic() + 3.0
        heard = listen(
            {**served, "on": ["servers"], "rate": "5 Hz"}, lambda _: time.monotonic() > end_s, hosts=hosts.all
        )
    powers = [(channel, value) for channel, _, value, _ in heard.samples if channel.quantity == "power"]
    assert {channel.host for channel, _ in powers} == {"storage-1"}
    assert all(0 < channel.specification.clock_s < 1.0 for channel, _ in powers)
    assert len({value for _, value in powers}) > 3
    assert behaviour.told(
        [value for _, value in powers], lambda said: round(round(said.power_w / step_w) * step_w, 6)
    )


@pytest.mark.parametrize(
    ("option", "value", "what"),
    [
        ("identity", "wrong", "it accepts none of our keys"),
        ("config", "nobody.cfg", "its host key is not known"),
        ("port", 9, "no SSH server is listening there"),
    ],
)
def test_a_host_that_lets_nobody_in_is_one_sentence(
    option: str, value: str | int, what: str, options: dict[str, Any], tmp_path: Path
) -> None:
    folder = Path(options["identity"]).parent
    wrong = {
        **options,
        **({option: str(folder / value) if isinstance(value, str) else value} if option != "config" else {}),
    }
    confirmed = ["--ssh-config", str(folder / str(value))] if option == "config" else []
    (tmp_path / "lab.toml").write_text(
        toml(wrong, f'kind = "directory"\npath = "{tmp_path}"', 'kind = "simulated"')
    )
    done = command("run", "lab.toml", *confirmed, folder=tmp_path)
    assert done.returncode == 3
    assert what in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_host_whose_disk_fills_up_stops_the_campaign(options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    image = tmp_path / "image"
    subprocess.run(["truncate", "--size=8G", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, tmp_path / "work"], check=True)
    try:
        load = (
            'kind = "fio"\ntransfer = "64 KiB"\nsize = "8 MiB"\nrate = "4 MiB/s"\nround = "2 s"\nrounds = 20'
        )
        there = {**options, "work": str(tmp_path / "work")}
        before = left(there)
        (tmp_path / "lab.toml").write_text(
            toml(there, 'kind = "local"\ntype = "ext4"\nsize = "400 MiB"', load)
        )
        command = [PERJOULE, "run", "lab.toml", "--into", "results"]
        running = subprocess.Popen(command, cwd=tmp_path, stdout=-1, stderr=-1, text=True)
        until(lambda: any(Path(tmp_path, "results", "trials").glob("*")) or running.poll() is not None)
        # which writes nothing
        subprocess.run(["fallocate", "--length=7G", tmp_path / "work" / "somebody's"], check=True)
        _, said = running.communicate(timeout=50)
        assert running.returncode == 3, said
        assert re.search(
            r"the disk of storage-1 \(.*\) is nearly full \(.*\); stopped in time; free space, then run", said
        ), said
        assert left(there) == before
    finally:
        subprocess.run(["umount", tmp_path / "work"], check=True)


Loads = dict[str, str]
"""The table of each, by a name for what it does."""

FIO = 'kind = "fio"\noperation = ["write", "read"]\ntransfer = "1 MiB"\nsize = "16 MiB"'
FILES = {
    "fio": FIO,
    "fio in rounds": 'kind = "fio"\ntransfer = "64 KiB"\nsize = "8 MiB"\nrate = "8 MiB/s"\nround = "500 ms"\nrounds = 16',
    "a job file": 'kind = "fio"\njob = "load.fio"',
    "fio's servers": 'kind = "fio"\ntransfer = "1 MiB"\nsize = "16 MiB"\nclient_server = true',
    "verified": 'kind = "fio"\ntransfer = "1 MiB"\nsize = "16 MiB"\nverify = "crc32c"',
    "mixed users": """kind = "together"
together = [
    {user = "reader", kind = "fio", operation = "read", size = "16 MiB", clients = [1]},
    {user = "writer", kind = "fio", operation = "write", size = "16 MiB", clients = [2]},
]""",
    "elbencho": 'kind = "elbencho"\noperation = ["write", "randread"]\nsize = "8 MiB"\nthreads = 2',
    "hep": 'kind = "hep"\nsize = "16 MiB"\nworkers = "clients"',
    "hep in parts": 'kind = "hep"\nsize = "16 MiB"\nfiles = 1\ntasks_per_file = 4\nworkers = "clients"',
}
# Small transfers past the page cache, so slow that the time ends them.
RANDOM = {
    "fio at random": """kind = "fio"
operation = ["randwrite", "randread", "randrw"]
transfer = "64 KiB"
direct = true
in_flight = 4
size = "32 MiB"
rate = "4 MiB/s"
duration = "2 s"
""",
}
MPI = {
    "ior": 'kind = "ior"\noperation = ["write", "read"]\nsize = "8 MiB"\ntransfer = "1 MiB"\nranks = 2',
    "mdtest": 'kind = "mdtest"\noperation = ["create", "stat"]\nfiles = 50\nranks = 2',
}
ONE_CLIENT = FILES | {"mixed users": FILES["mixed users"].replace("clients = [2]", "clients = [1]")}
MATRIX: dict[str, tuple[str, Loads]] = {
    "moosefs": ('kind = "moosefs"\ngoal = 2', FILES | RANDOM | MPI),
    "glusterfs": ('kind = "glusterfs"\nlayout = "distributed"\nhosts = 2', FILES),
    "cephfs": ('kind = "cephfs"\ncopies = 2', FILES),
    "orangefs": ('kind = "orangefs"', FILES),
    "beegfs": ('kind = "beegfs"', FILES),
    "seaweedfs": ('kind = "seaweedfs"\nreplication = "001"', FILES | MPI),
    "nfs": ('kind = "nfs"', FILES),
    "nfs in user space": ('kind = "nfs"\nclient = "fuse"', FILES),
    "directory": ('kind = "directory"\npath = "FOLDER/mounted"', FILES | RANDOM),
    "local": ('kind = "local"\ntype = "ext4"', ONE_CLIENT),
    "glusterfs with MPI": ('kind = "glusterfs"\nlayout = "distributed"\nhosts = 2', MPI),
    "cephfs with MPI": ('kind = "cephfs"\ncopies = 2', MPI),
    # With its cache, a client may not see for a minute what another one has made of a directory.
    "orangefs with MPI": ('kind = "orangefs"\nattribute_cache = false', MPI),
    "nfs with MPI": ('kind = "nfs"', MPI),
    "nfs in user space with MPI": ('kind = "nfs"\nclient = "fuse"', MPI),
    "local with MPI": ('kind = "local"\ntype = "ext4"', MPI),
    "directory with MPI": ('kind = "directory"\npath = "FOLDER/mounted"', MPI),
    # hep runs this checkout's Python, which may be where root alone may look
    "directory without root": (
        'kind = "directory"\npath = "FOLDER/mounted"',
        {k: v for k, v in (FILES | MPI).items() if "hep" not in k},
    ),
    "moosefs with sudo": (
        'kind = "moosefs"\ngoal = 2',
        {"fio": FIO, "hep": FILES["hep"]} | RANDOM,
    ),
    "glusterfs with MPI with sudo": ('kind = "glusterfs"\nlayout = "distributed"\nhosts = 2', MPI),
    "cephfs with sudo": ('kind = "cephfs"\ncopies = 2', {"fio": FIO}),
    "rados": (
        'kind = "rados"\ncopies = 2',
        {"rados": 'kind = "rados"\noperation = ["write", "seq", "rand"]\nsize = "16 MiB"'},
    ),
    "device": (
        'kind = "device"\nsize = "32 MiB"',
        {"device": 'kind = "device"\ntransfer = "1 MiB"\nsize = "16 MiB"'},
    ),
    # with one and with two servers; what is mounted, NFS and local disks have the servers that they have
    "glusterfs that grows": ('kind = "glusterfs"\nlayout = "distributed"', {"fio": FIO}),
    "moosefs that grows": ('kind = "moosefs"', {"fio": FIO}),
    "cephfs that grows": ('kind = "cephfs"\ncopies = 1', {"fio": FIO}),
    "orangefs that grows": ('kind = "orangefs"', {"fio": FIO}),
}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that daemons of other users can pass through, as they can't through pytest's own."""
    with tempfile.TemporaryDirectory(prefix="pj-lab-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def asked_for(folder: Path, filesystem: str, *workloads: str, clients: int) -> list[Check]:
    """What a campaign needs of this machine."""
    loads = "".join(f"[[workload]]\n{workload}\n" for workload in workloads)
    head = f'name = "lab"\nclients = {clients}\n[testbed]\nkind = "virtual"\n'
    (folder / "asked.toml").write_text(f"{head}[[filesystem]]\n{filesystem}\n{loads}")
    trials = campaign.read(folder / "asked.toml").trials
    parts = [
        of
        for trial in trials
        for of in (drivers.filesystem(trial.filesystem), drivers.workload(trial.workload))
    ]
    return [check for of in parts for check in of.checks()]


# What `make test` runs; `make slow` runs every load on every file system. By day MooseFS's servers are reached
# over SSH in test_events.py, too, GlusterFS's in test_cluster_helper.py, local disks above, and devices in
# test_overwrite.py; Ceph, SeaweedFS and NFS in user space run on virtual hosts in test_filesystem_contract.py.
BY_DAY = {
    "moosefs with sudo": ("fio at random",),
    "orangefs": ("verified",),
    "beegfs": ("verified",),
    "nfs": ("verified",),
    "directory without root": tuple(load for load in FILES | MPI if "hep" not in load),
}
DAYS = {name: {load: MATRIX[name][1][load] for load in loads} for name, loads in BY_DAY.items()}
WHOLE = {name: workloads for name, (_, workloads) in MATRIX.items()}
ROWS = [
    *(pytest.param(name, "cluster", loads, id=f"{name}-cluster") for name, loads in DAYS.items()),
    *(
        pytest.param(name, "cluster", loads, id=f"{name}-cluster-whole", marks=pytest.mark.slow)
        for name, loads in WHOLE.items()
        if loads != DAYS.get(name)
    ),
    *(
        pytest.param(name, "virtual", loads, id=f"{name}-virtual", marks=pytest.mark.slow)
        for name, loads in WHOLE.items()
        if "root" not in name and "sudo" not in name
    ),
]
# By each client in one direction, on either testbed; other loads end with the time, or move no files of a
# stated size.
MOVED_MIB = {"fio": {16, 32}, "together": {16}, "elbencho": {8}, "ior": {8}, "device": {16}}


def test_by_day_each_file_system_and_each_load_is_reached_over_ssh() -> None:
    """Each load of files by those that `make test` installs; analyses by day on virtual hosts."""
    kinds = {filesystem.partition('"')[2].partition('"')[0] for filesystem, _ in MATRIX.values()}
    by_day = {MATRIX[name][0].partition('"')[2].partition('"')[0] for name in DAYS}
    assert kinds - by_day == {"cephfs", "rados", "glusterfs", "seaweedfs", "local", "device"}
    not_installed = ("orangefs", "beegfs", "nfs")
    installed = {name: loads for name, loads in DAYS.items() if name not in not_installed}
    loads = {load for found in installed.values() for load in found}
    assert loads | {"hep", "hep in parts"} == FILES.keys() | RANDOM.keys() | MPI.keys()


@pytest.mark.parametrize(("name", "kind", "workloads"), ROWS)
def test_what_runs_on_virtual_hosts_runs_on_hosts_with_networks_and_files_of_their_own(
    name: str, kind: str, workloads: Loads, open_folder: Path, record_property: Callable[[str, object], None]
) -> None:
    filesystem, _ = MATRIX[name]
    row = name if kind == "cluster" else f"{name} (virtual)"
    record_property(OVER_SSH, [row, dict.fromkeys(workloads, "failed")])
    user = USER if "without root" in name else SUDOER if "sudo" in name else "root"
    if user == SUDOER and not shutil.which("sudo"):
        pytest.skip("sudo is missing: apt install sudo")
    (open_folder / "mounted").mkdir()
    (open_folder / "mounted").chmod(0o1777)
    filesystem = filesystem.replace("FOLDER", str(open_folder))
    clients_count = 1 if "local" in name else 2
    job = "rw=write\nsize=16m\nbs=1m\nend_fsync=1\n"
    (open_folder / "load.fio").write_text(f"[one]\n{job}numjobs=2\n[two]\nstonewall\n{job}")

    def lack_of(*loads: str) -> str:
        return lacking(asked_for(open_folder, filesystem, *loads, clients=clients_count))

    missing = {one: "missing" for one, load in workloads.items() if lack_of(load)}
    if missing:
        record_property("lacks", lack_of(*workloads.values()))
    if len(missing) == len(workloads):
        record_property(OVER_SSH, [row, missing])
        pytest.skip(lack_of(*workloads.values()))
    workloads = {one: load for one, load in workloads.items() if one not in missing}
    grows = "grows" in name

    def measure(host: Host, testbed: Mapping[str, object]) -> None:
        header = "servers = [1, 2]" if grows else ""
        text = toml(testbed, filesystem, *workloads.values(), clients=clients_count, header=header)
        (open_folder / "lab.toml").write_text(text)
        command = [PERJOULE, "run", open_folder / "lab.toml", "--into", open_folder / "results"]
        done = host.run(command, env={"XDG_STATE_HOME": str(open_folder)}, timeout_s=800, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        failed = [line for line in (done.stdout + done.stderr).splitlines() if "failed: " in line]
        # On a busy machine something may stand still: then a trial is measured again, and says so.
        assert [line for line in failed if "perjoule stood still" not in line] == []

    if kind == "virtual":
        few = {} if grows else {"servers": 2}
        measure(LocalHost(open_folder), {"kind": "virtual", "disk": "directory", "cpu_cap": False, **few})
    else:
        lab = Lab(open_folder)
        with hosts_of(servers=2).hold(clients_count) as hosts:
            measure(hosts.management, lab.options(lab.serve(hosts.all), 22, user=user))
    records = open_results(open_folder / "results").latest()
    assert len(records) >= len(workloads) * (2 if grows else 1)
    for record in records:
        assert record.outcome is not None
        assert kind == "virtual" or value_at(record.facts, "filesystem", "changed", "emulation") is None
        moved_mib = {moved.moved_bytes / MIB for moved in record.outcome.results}
        timed = record.outcome.note == "ended by duration"
        assert timed is ("duration" in record.trial.workload.options)
        assert (
            timed
            or record.outcome.sustained
            or moved_mib <= MOVED_MIB.get(record.trial.workload.kind, moved_mib)
        ), moved_mib
    runs = {path.parent: json.loads(path.read_text()) for path in (open_folder / "results").rglob("run.json")}
    elsewise = (
        "ior.json",
        "ranks.csv",
        "received.json",
    )  # of IOR, mdtest and hep, which start at a barrier, or by tasks
    alone = [
        raw
        for raw, run in runs.items()
        if not (run["start_utc_s"] or any((raw / left).exists() for left in elsewise))
    ]
    assert not alone, "a load waited for no common start"
    bricks = [path.stat().st_size for path in (open_folder / "results").rglob("logs/*brick-1.log")]
    assert bricks or "glusterfs" not in name, "no log of a brick came back from its host"
    assert all(bricks)
    analyses = [path.read_text().splitlines() for path in (open_folder / "results").rglob("tasks.jsonl")]
    tasks = [[json.loads(line) for line in lines] for lines in analyses]
    shared = [
        Counter(task["worker"] for task in of) for of in tasks if len({task["file"] for task in of}) == 1
    ]
    # how many each does is up to the speed of its host
    everybody = {f"client-{n + 1}" for n in range(clients_count)}
    parts = [(everybody, 4)] if "hep in parts" in workloads else []
    assert [({*of}, of.total()) for of in shared] == parts, "one file did not give work to all workers"
    assert (open_folder / "results" / "report.html").stat().st_size > 100_000
    verified = subprocess.run(
        [PERJOULE, "verify", open_folder / "results"], capture_output=True, text=True, check=False
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr
    record_property(OVER_SSH, [row, dict.fromkeys(workloads, "valid") | missing])


@pytest.mark.slow  # by day: made-up meters of servers and clients: tests/pipeline/test_oracle.py
@NEEDS_SSHFS
def test_a_mounted_file_system_has_the_energy_of_servers_that_only_meters_know_and_none_if_nobody_names_them(
    open_folder: Path,
) -> None:
    """As in docs/how-to/mounted.md, by a user without rights."""
    served, place, lab = open_folder / "served", open_folder / "mounted", Lab(open_folder)
    for folder in (served, place):
        folder.mkdir()
        folder.chmod(0o777)
    load = 'kind = "fio"\noperation = "write"\nsize = "32 MiB"\ntransfer = "1 MiB"\nduration = "4 s"'

    def measured(
        controller: Host, name: str, hosts: list[dict[str, Any]], meters: Mapping[str, Mapping[str, object]]
    ) -> Any:
        text = toml(
            lab.options(hosts, 22, user=USER), f'kind = "directory"\npath = "{place}"', load, clients=2
        )
        for side, options in meters.items():
            lines = [
                f"{key} = {json.dumps(value)}"
                for key, value in {**options, "label": side, "covers": [side]}.items()
            ]
            text += "[[meter]]\n" + "\n".join(lines) + "\n"
        (open_folder / f"{name}.toml").write_text(text)
        command = [PERJOULE, "run", open_folder / f"{name}.toml", "--into", open_folder / name]
        done = controller.run(command, env={"XDG_STATE_HOME": str(open_folder)}, timeout_s=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        for look in (["verify"], ["show", "--json"]):
            done = subprocess.run(
                [PERJOULE, *look, open_folder / name], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout + done.stderr
        (row,) = json.loads(done.stdout)["rows"]
        return row, {key: metric["mean"] for key, metric in row["metrics"].items()}

    subprocess.run(sshfs(served, place), check=True)
    try:
        with contextlib.ExitStack() as stack:
            hosts = stack.enter_context(hosts_of(servers=1).hold(2))
            powers = {
                side: Behaviour(Waveform("constant", high_w=w))
                for side, w in (("servers", 300.0), ("clients", 80.0))
            }
            meters = {side: stack.enter_context(csv.serve(power)) for side, power in powers.items()}
            clients: list[dict[str, Any]] = [*lab.serve(hosts.clients)]
            outside = [{"name": f"oss-{n}", "role": "storage", "login": False} for n in (1, 2)]
            row, both = measured(hosts.management, "named", [*outside, *clients], meters)
            elsewhere, alone = measured(hosts.management, "unnamed", clients, {"clients": meters["clients"]})
    finally:
        subprocess.run(["umount", place], check=True)
    assert (row["servers_count"], row["grade"]) == (2, "wall"), row
    assert both["mean_w"] == pytest.approx(300, rel=0.01)
    assert both["clients_mean_w"] == alone["clients_mean_w"] == pytest.approx(80, rel=0.01)
    assert both["all_energy_j"] == pytest.approx(both["energy_j"] + both["clients_energy_j"], rel=1e-6)
    moved_bytes = both["throughput_bytes_per_s"] * both["duration_s"]
    assert both["efficiency_bytes_per_j"] == pytest.approx(moved_bytes / both["energy_j"], rel=0.01)
    assert not {"mean_w", "energy_j", "efficiency_bytes_per_j", "all_energy_j"} & alone.keys()
    assert any(doubt["id"] == METERS.outside.id for doubt in elsewhere["doubts"])
