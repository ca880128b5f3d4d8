"""Nodes of a Slurm cluster: Debian's slurmctld, slurmd and munge in virtual hosts; perjoule runs there
without root.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import drawing
from day import by_day
from on_hosts import NEEDS_SSHFS, hosts_of, sshfs
from perjoule import drivers
from perjoule.model import Spec
from perjoule.model.units import MIB
from perjoule.workloads.hep import LIBRARIES
from places import ROOT
from slurm_lab import NOBODY, READING, SlurmLab, missing
from sshd import until

pytestmark = [pytest.mark.live, pytest.mark.skipif(bool(missing()), reason="; ".join(missing()))]

PERJOULE = str(Path(sys.executable).with_name("perjoule"))
TESTS = Path(__file__).parents[1]
USER = (*NOBODY, *READING)
FIO = 'kind = "fio"\noperation = ["write", "read"]\nsize = "8 MiB"\ntransfer = "1 MiB"'
LONG = 'kind = "fio"\noperation = "write"\nsize = "512 MiB"\ntransfer = "1 MiB"\nrate = "16 MiB/s"\nduration = "4 s"'


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    with (
        tempfile.TemporaryDirectory(prefix="pj-slurm-", dir="/mnt") as folder,
        hosts_of(servers=2).hold(2) as hosts,
    ):
        Path(folder).chmod(0o755)
        chosen = [host for host in hosts.all if host.role in ("storage", "client")]
        yield SlurmLab(Path(folder), [hosts.management, *chosen])


@pytest.fixture
def home(lab: SlurmLab) -> Iterator[Path]:
    """A folder of the unprivileged user, the same on all nodes."""
    with tempfile.TemporaryDirectory(prefix="home-", dir=lab.folder) as folder:
        os.chown(folder, 65534, 65534)
        drawing.prepare(Path(folder))
        yield Path(folder)
    assert lab.processes("perjoule", "fio") == []


def campaign(home: Path, testbed: str, workload: str, header: str = "", settle: str = "100 ms") -> Path:
    (home / "shared").mkdir(exist_ok=True)
    os.chown(home / "shared", 65534, 65534)
    text = (
        f'name = "batch"\nsettle = "{settle}"\nquiet = "0 s"\n{header}\n[testbed]\nkind = '
        f'"slurm"\n{testbed}\n'
    )
    text += f'[[filesystem]]\nkind = "directory"\npath = "{home / "shared"}"\n[[workload]]\n{workload}\n'
    (home / "batch.toml").write_text(text)
    return home / "batch.toml"


def environment(home: Path) -> list[str]:
    return [
        "env",
        "-C",
        str(home),
        f"HOME={home}",
        f"XDG_STATE_HOME={home}",
        f"TMPDIR={home}",
        f"PERJOULE_WORK={home}/work",
    ]


def perjoule(
    lab: SlurmLab, home: Path, *words: str | Path, node: str = "ctl"
) -> subprocess.CompletedProcess[str]:
    return lab.run(*environment(home), PERJOULE, *words, node=node, user=USER)


def started(lab: SlurmLab, home: Path, *words: str | Path) -> subprocess.Popen[str]:
    """A perjoule that runs, in the middle of its first trial."""
    command = lab.command(*environment(home), PERJOULE, *words, user=USER)
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    until(lambda: bool(lab.processes("^fio")) or running.poll() is not None, 60)
    return running


def test_a_job_is_requested_measured_in_and_ended(lab: SlurmLab, home: Path) -> None:
    roles = 'nodes = 4\nhosts = [{role = "storage", count = 2}, {role = "client"}]'
    file = campaign(home, roles, FIO, "clients = [1, 2]\nrepetitions = 1")
    checked = perjoule(lab, home, "doctor", file)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "4 nodes; perjoule will ask for 4" in checked.stdout
    done = perjoule(lab, home, "run", file, "--into", home / "results")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "directory is up on 2 servers" in done.stderr
    until(lambda: lab.jobs() == "")  # it shows a job while it completes
    records = [json.loads(path.read_text()) for path in (home / "results").rglob("record.json")]
    assert {record["facts"]["testbed"]["slurm"]["nodes"] for record in records} == {"n[1-4]"}
    assert {host["name"] for record in records for host in record["hosts"]} == {"n1", "n2", "n3", "n4"}
    verified = perjoule(lab, home, "verify", home / "results")
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_a_cancelled_job_is_a_sentence_and_the_next_allocation_continues(lab: SlurmLab, home: Path) -> None:
    file = campaign(home, "nodes = 2", LONG, "clients = [2]\nrepetitions = 2")
    running = started(lab, home, "run", file, "--into", home / "results")
    (job,) = lab.jobs().splitlines()
    began_s = time.monotonic()
    lab.run("scancel", job.split()[0])
    said, _ = running.communicate(timeout=30)
    assert running.returncode == 5, said
    assert re.search(
        rf"Slurm job {job.split()[0]} (was cancelled|is ending).*; continue in the next allocation with", said
    ), said
    assert list((home / "results").rglob("record.json")) == []
    until(lambda: lab.processes("perjoule", "^fio") == [] and lab.jobs() == "")

    def folders(node: str) -> tuple[int, str]:
        listed = lab.run("find", "/var/tmp/perjoule-nobody", "-mindepth", "1", "-type", "d", node=node)
        return listed.returncode, listed.stdout

    until(lambda: [folders(node) for node in ("n1", "n2")] == [(0, ""), (0, "")])
    assert time.monotonic() - began_s < 20  # after 30 s Slurm kills what is left

    # By env: salloc looks for its program by access(2), which ignores the capability that opens this checkout
    # to the user.
    shell = ["salloc", "--nodes=2", "--exclusive", "env", PERJOULE, "resume", "results"]
    resumed = lab.run(*environment(home), *shell, user=USER)
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert "2 trials" in resumed.stderr
    assert len(list((home / "results").rglob("record.json"))) == 2


def documented(page: str, begins: str) -> str:
    """The block of a page that is for a shell and begins like this, for the programs of this checkout."""
    block = (ROOT / "docs" / "how-to" / page).read_text().partition(f"```sh\n{begins}")[2].partition("```")[0]
    assert block, f"{page} has no such block"
    return re.sub(
        r"\b(perjoule|dask)(?= )", lambda found: str(Path(PERJOULE).with_name(found[1])), begins + block
    )


@pytest.mark.slow  # by day: a job that perjoule asked for is cancelled, above
def test_a_batch_script_that_is_cancelled_leaves_nothing_and_the_next_one_continues(
    lab: SlurmLab, home: Path
) -> None:
    """As root: a script for sbatch has only its user's rights, and this checkout may lie in root's home."""
    campaign(home, "", LONG, "clients = [2]\nrepetitions = 3")
    os.chown(home, 0, 0)  # root writes no results where another user could swap them
    job_text = documented("slurm.md", "#!/bin/sh\n").replace("scratch.toml", "batch.toml")
    (home / "job.sh").write_text(job_text.replace("--nodes=4 ", "--nodes=2 --output=said "))
    submit = [*environment(home), "sbatch", "--parsable"]
    job = lab.run(*submit, "job.sh").stdout.strip()
    until(lambda: len(list((home / "results").rglob("record.json"))) == 1 and bool(lab.processes("^fio")), 60)
    lab.run("scancel", job)
    until(lambda: lab.processes("perjoule", "^fio") == [] and lab.jobs() == "")
    for name in ("n1", "n2"):
        found = lab.run("find", "/var/tmp/perjoule-root", "-mindepth", "1", "-type", "d", node=name)
        assert (found.returncode, found.stdout) == (0, ""), name
    kept = list((home / "results").rglob("record.json"))
    assert len(kept) == 1
    before = kept[0].read_bytes()

    next_job = lab.run(*submit, "--wait", "job.sh")
    said = (home / "said").read_text()
    assert next_job.returncode == 0, said
    assert "2 trials" in said
    assert len(list((home / "results").rglob("record.json"))) == 3
    assert kept[0].read_bytes() == before
    verified = lab.run(*environment(home), PERJOULE, "verify", "results/scratch")
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.slow  # by day: a job that is cancelled, above, and a lost node, below
def test_a_time_limit_in_the_middle_of_a_trial_costs_that_trial_only(lab: SlurmLab, home: Path) -> None:
    """Slurm looks at limits twice a minute; the trial lasts until then, as its loads stand still."""
    file = campaign(home, "nodes = 2", LONG, "clients = [2]\nrepetitions = 1")
    running = started(lab, home, "run", file, "--into", home / "results")
    for name in ("n1", "n2"):
        lab.run("pkill", "-STOP", "-x", "fio", node=name)
    (job,) = lab.jobs().splitlines()
    assert lab.run("scontrol", "update", f"JobId={job.split()[0]}", "EndTime=now+1").returncode == 0
    said, _ = running.communicate(timeout=90)
    assert running.returncode == 5, said
    assert re.search(
        rf"Slurm job {job.split()[0]} (reached its time limit|is ending).*; continue in the next allocation",
        said,
    ), said
    assert list((home / "results").rglob("record.json")) == []
    until(lambda: lab.processes("perjoule", "^fio") == [] and lab.jobs() == "")
    resumed = perjoule(lab, home, "resume", home / "results")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert len(list((home / "results").rglob("record.json"))) == 1


ENDS = {
    "lost a node": ["scontrol", "update", "NodeName=n2", "State=DOWN", "Reason=test"],
    "was preempted": ["salloc", "--no-shell", "--nodes=4", "--partition=short", "--job-name=urgent"],
}


@pytest.mark.parametrize("how", by_day(ENDS, "lost a node"))
def test_a_lost_node_or_preemption_in_the_middle_of_a_trial_costs_that_trial_only(
    lab: SlurmLab, home: Path, how: str
) -> None:
    running = started(
        lab, home, "run", campaign(home, "nodes = 2", LONG, "clients = [2]"), "--into", home / "results"
    )
    try:
        assert lab.run(*ENDS[how]).returncode == 0
        said, _ = running.communicate(timeout=60)
    finally:
        lab.run("scancel", "--name=urgent")
        lab.run("scontrol", "update", "NodeName=n2", "State=RESUME")
        # it reports to the controller, which else asks it after minutes
        lab.run("pkill", "-HUP", "-x", "slurmd", node="n2")
        lab.rest()
    assert running.returncode == 5, said
    assert re.search(rf"Slurm job \d+ ({how}|is ending).*; continue in the next allocation with", said), said
    assert list((home / "results").rglob("record.json")) == []


@pytest.mark.slow  # by day: tests/unit/testbeds/test_slurm.py; test_pauses.py
def test_a_trial_in_which_the_job_was_suspended_is_not_kept(lab: SlurmLab, home: Path) -> None:
    """Its load stands still for a while, and nothing fails."""
    running = started(
        lab, home, "run", campaign(home, "nodes = 2", LONG, "clients = [2]"), "--into", home / "results"
    )
    job = lab.jobs().split()[0]
    assert lab.run("scontrol", "suspend", job).returncode == 0
    time.sleep(4)
    assert lab.run("scontrol", "resume", job).returncode == 0
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 5, said
    assert re.search(
        rf"Slurm job {job} was suspended for [345] s; continue in the next allocation with", said
    ), said
    assert list((home / "results").rglob("record.json")) == []


@pytest.mark.slow  # by day: a job that ends in the middle of a trial, above
def test_a_run_ends_before_a_trial_that_its_job_has_no_time_for(lab: SlurmLab, home: Path) -> None:
    limits = 'nodes = 1\ntime = "1 min"\npartition = "short"'
    file = campaign(
        home, limits, FIO.replace('["write", "read"]', '"write"'), "repetitions = 4", settle="14 s"
    )
    assert (
        "the allocation lasts 1 min 0 s: about 1 of 4 trials fit" in perjoule(lab, home, "check", file).stdout
    )
    done = perjoule(lab, home, "run", file, "--into", home / "results")
    assert done.returncode == 5, done.stdout + done.stderr
    assert re.search(
        r"Slurm job \d+ ends in \d+ s, and the next trial takes about \d+ s: 3 trials are left; continue",
        done.stderr,
    )
    assert len(list((home / "results").rglob("record.json"))) == 1
    until(lambda: lab.jobs() == "")


@pytest.mark.usefixtures("cleaning")
def test_the_job_of_a_killed_perjoule_is_cancelled_by_the_next_command(lab: SlurmLab, home: Path) -> None:
    file = campaign(home, "nodes = 2", LONG, "clients = [2]\nrepetitions = 1")
    running = started(lab, home, "run", file, "--into", home / "results")
    pids = subprocess.run(
        ["pgrep", "-f", f"{PERJOULE} run {file}"], capture_output=True, text=True, check=True
    ).stdout
    for pid in pids.split():
        os.kill(int(pid), signal.SIGKILL)
    running.communicate()
    until(lambda: lab.processes("perjoule", "^fio") == [])  # by the keepers
    (job,) = lab.jobs().splitlines()
    down = perjoule(lab, home, "down")
    assert f"removed Slurm job {job.split()[0]}\n" in down.stdout, down.stdout + down.stderr
    until(lambda: lab.jobs() == "")
    assert "Slurm" not in perjoule(lab, home, "down").stdout


# It needs no headers of MPI: these names and types are those of Open MPI's library.
HELLO = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int MPI_Init(int *, char ***), MPI_Comm_rank(void *, int *), MPI_Comm_size(void *, int *);
int MPI_Barrier(void *), MPI_Finalize(void);
extern char ompi_mpi_comm_world;
int main(void)
{
    int rank, size;
    char node[256];
    gethostname(node, sizeof node);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(&ompi_mpi_comm_world, &rank);
    MPI_Comm_size(&ompi_mpi_comm_world, &size);
    MPI_Barrier(&ompi_mpi_comm_world);
    printf("rank %d of %d on %s for %s\\n", rank, size, node, getenv("PERJOULE_CLIENT"));
    return MPI_Finalize();
}
"""
MPI = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from perjoule import drivers
from perjoule.workloads import _mpi
from perjoule.workloads._mpi import preflight
from scripted import ScriptedMount
folder = Path(sys.argv[2])
preflight.LIMIT_S = 8
with drivers.build("testbeds", "slurm", {"nodes": 2, "hosts": json.loads(sys.argv[3])}).hold(2) as hosts:
    mounted = ScriptedMount(*hosts.clients)
    mounted.directories = {client.name: folder for client in hosts.clients}
    _mpi.ready(hosts.clients, mounted, str(folder / "hello"), folder)
    _mpi.run(hosts.clients, mounted, [str(folder / "hello")], ranks_count=2, log=folder / "log", time_limit_s=60)
    print(json.dumps(hosts.facts["slurm"]["mpi"]))
"""
# An srun whose PMIx hangs, as of versions that don't match.
HANGS = """#!/bin/sh
for word; do case $word in --mpi=pmix*) exec sleep 1000 ;; --mpi=pmi2) echo "no PMI-2 here" >&2; exit 1 ;; esac; done
exec {srun} "$@"
"""


def hello(home: Path) -> None:
    """Build the program, or skip and say what is missing."""
    wanted = {"mpirun": "openmpi-bin", "cc": "gcc", "ldd": "libc-bin"}
    if lacking := [
        f"{tool} is missing: apt-get install {package}"
        for tool, package in wanted.items()
        if not shutil.which(tool)
    ]:
        pytest.skip("; ".join(lacking))
    (home / "hello.c").write_text(HELLO)
    subprocess.run(["cc", "-o", home / "hello", home / "hello.c", "-l:libmpi.so.40"], check=True)


def ranks(lab: SlurmLab, home: Path, hosts: str, *env: str) -> tuple[dict[str, Any], list[str]]:
    """Run the program with two ranks on each of two nodes; return what the facts say of it, and what its
    ranks say.
    """
    hello(home)
    done = lab.run(*environment(home), *env, sys.executable, "-c", MPI, TESTS, home, hosts, user=USER)
    assert done.returncode == 0, done.stdout + done.stderr
    until(lambda: lab.jobs() == "")
    facts = json.loads(done.stdout.splitlines()[-1])
    assert list(facts) == [f"{home}/hello on several hosts"]
    return facts[f"{home}/hello on several hosts"], sorted(
        line for line in (home / "log").read_text().splitlines() if line.startswith("rank")
    )


def test_ranks_of_mpi_are_started_by_srun_in_the_order_of_the_clients(lab: SlurmLab, home: Path) -> None:
    facts, said = ranks(lab, home, '[{"name": "n3", "role": "client"}, {"name": "n2", "role": "client"}]')
    assert facts["launcher"] == "srun --mpi=pmix", facts
    assert said == [
        f"rank {rank} of 4 on {node} for {node}" for rank, node in enumerate(("n3", "n3", "n2", "n2"))
    ]


@pytest.mark.slow  # by day: srun starts them, above; tests/unit/workloads/test_mpi.py
def test_a_launcher_that_hangs_is_ended_in_time_and_the_next_that_works_starts_the_ranks(
    lab: SlurmLab, home: Path
) -> None:
    (home / "bin").mkdir()
    (home / "bin" / "srun").write_text(HANGS.format(srun=shutil.which("srun")))
    (home / "bin" / "srun").chmod(0o755)
    facts, said = ranks(lab, home, '[{"role": "client"}]', f"PATH={home / 'bin'}:{os.environ['PATH']}")
    assert facts["launcher"] == "mpirun"
    assert "not finished within 8 s" in facts["failed"]["srun --mpi=pmix"]
    assert "no PMI-2 here" in facts["failed"]["srun --mpi=pmi2"]
    assert said == [
        f"rank {rank} of 4 on {node} for {node}" for rank, node in enumerate(("n1", "n1", "n2", "n2"))
    ]


BENCHMARKS = """kind = "ior"
operation = ["write", "read"]
size = "8 MiB"
transfer = "1 MiB"
ranks = 2
[[workload]]
kind = "mdtest"
operation = ["create", "stat"]
files = 50
ranks = 2"""
MOVED = {"ior": 8 * MIB, "mdtest": 2 * 50}  # bytes or operations of each client


def test_ior_and_mdtest_are_started_by_srun(lab: SlurmLab, home: Path) -> None:
    checks = [check for kind in ("ior", "mdtest") for check in drivers.workload(Spec(kind)).checks()]
    if lacking := [f"{check.name} is missing: {check.fix}" for check in checks if not check.ok]:
        pytest.skip("; ".join(lacking))
    file = campaign(home, "nodes = 2", BENCHMARKS, "clients = [2]\nrepetitions = 1")
    done = perjoule(lab, home, "run", file, "--into", home / "results")
    assert done.returncode == 0, done.stdout + done.stderr
    records = [json.loads(path.read_text()) for path in (home / "results").rglob("record.json")]
    found = {(record["status"], record["trial"]["workload"]["kind"]) for record in records}
    assert found == {("valid", "ior"), ("valid", "mdtest")}
    for record in records:
        ways = record["facts"]["testbed"]["slurm"]["mpi"].values()
        assert {way["launcher"] for way in ways} == {"srun --mpi=pmix"}, ways
        results = record["outcome"]["results"]
        assert {one["host"] for one in results} == {"n1", "n2"}
        assert {one["moved_bytes"] or one["operations_count"] for one in results} == {
            MOVED[record["trial"]["workload"]["kind"]]
        }
    until(lambda: lab.jobs() == "")
    verified = perjoule(lab, home, "verify", home / "results")
    assert verified.returncode == 0, verified.stdout + verified.stderr


METERS = """
[[meter]]
kind = "slurm"
rate = "5 Hz"
"""
LOG = """
[[meter]]
kind = "csv"
label = "log of {node}"
path = "{log}"
covers = ["{node}"]
time = ["time"]
clock = "unix"
value = "joules"
unit = "J"
semantics = "counter"
grade = "wall"
"""


@contextmanager
def watts(lab: SlurmLab, home: Path, *, nodes: Mapping[str, int], logs: Mapping[str, int]) -> Generator[str]:
    """Have sensors of nodes and logs of hosts show these watts during the block; yields the tables of the
    logs' meters.

    Debian's plugin for Crays reads the files that this writes.
    """
    ended, files = threading.Event(), {host: home / f"{host}.csv" for host in logs}
    for file in files.values():
        file.write_text("time,joules\n")
        file.chmod(0o644)

    def feed() -> None:
        began_s = time.monotonic()
        while not ended.wait(0.1):
            ran_s = time.monotonic() - began_s
            for node, power_w in nodes.items():
                lab.sense(node, int(5000 + power_w * ran_s), power_w)
            for host, power_w in logs.items():
                with files[host].open("a") as file:
                    file.write(f"{time.time():.3f},{power_w * ran_s:.1f}\n")

    writer = threading.Thread(target=feed)
    writer.start()
    try:
        yield "".join(LOG.format(node=host, log=file) for host, file in files.items())
    finally:
        ended.set()
        writer.join()


@pytest.mark.slow  # by day: Slurm's energy of nodes beside that of servers, below
def test_slurms_own_energy_lies_beside_that_of_another_meter_with_the_difference(
    lab: SlurmLab, home: Path
) -> None:
    nodes = {"n1": 200, "n2": 120}
    file = campaign(
        home,
        'nodes = 2\nhosts = [{name = "n[1-2]", role = "client"}]',
        LONG,
        "clients = [2]\nrepetitions = 1",
    )
    with watts(lab, home, nodes=nodes, logs={"n1": 300, "n2": 180}) as logs:
        file.write_text(file.read_text() + METERS + logs)
        done = perjoule(lab, home, "run", file, "--into", home / "results")
    assert done.returncode == 0, done.stdout + done.stderr
    shown = perjoule(lab, home, "show", home / "results", "--budget").stdout
    for node, power_w in nodes.items():
        assert f"slurm:{node}/all/energy" in shown, shown + done.stderr
        row = next(line for line in shown.splitlines() if f"slurm:{node}/all/energy" in line)
        wall_w, slurm_w, difference_w, percent, _ = map(float, row.split()[-5:])
        assert wall_w == pytest.approx(1.5 * power_w, rel=0.1)
        assert slurm_w == pytest.approx(power_w, rel=0.1)
        assert difference_w == pytest.approx(wall_w - slurm_w, abs=0.1)
        assert percent == pytest.approx(100 * difference_w / wall_w, abs=0.1)


@pytest.fixture
def mounted(lab: SlurmLab, home: Path) -> Iterator[Path]:
    """A file system of two nodes that a server outside of Slurm seems to serve."""
    place, served = home / "mounted", home / "shared"
    for folder in (place, served):
        folder.mkdir()
        os.chown(folder, 65534, 65534)
    with ExitStack() as stack:
        for node in ("n1", "n2"):
            done = lab.run(*sshfs(served, place), node=node)
            assert done.returncode == 0, done.stderr
            stack.callback(lab.run, "umount", place, node=node)
        yield place


@NEEDS_SSHFS
def test_servers_outside_of_the_allocation_and_nodes_have_an_energy_each_and_one_of_all(
    lab: SlurmLab, home: Path, mounted: Path
) -> None:
    hosts = (
        'nodes = 2\nhosts = [{name = "oss-1", role = "storage", login = false}, {name = "n[1-2]", role = '
        '"client"}]'
    )
    # Slurm counts the nodes' energy once a second: the load takes ten of them, however fast this machine is.
    load = (
        'kind = "fio"\noperation = "write"\nsize = "1 GiB"\ntransfer = "1 MiB"\nrate = "40 MiB/s"\nduration '
        '= "10 s"'
    )
    file = campaign(home, hosts, load, "clients = [2]\nrepetitions = 1")
    with watts(lab, home, nodes={"n1": 200, "n2": 120}, logs={"oss-1": 300}) as log:
        file.write_text(file.read_text().replace(str(home / "shared"), str(mounted)) + METERS + log)
        done = perjoule(lab, home, "run", file, "--into", home / "results")
    assert done.returncode == 0, done.stdout + done.stderr
    until(lambda: lab.jobs() == "")
    (row,) = json.loads(perjoule(lab, home, "show", home / "results", "--json").stdout)["rows"]
    assert (row["clients_count"], row["servers_count"]) == (2, 1)
    found = {key: metric["mean"] for key, metric in row["metrics"].items()}
    assert found["mean_w"] == pytest.approx(300, rel=0.1), row
    assert found["clients_mean_w"] == pytest.approx(320, rel=0.1)
    assert found["all_energy_j"] == pytest.approx(found["energy_j"] + found["clients_energy_j"], rel=1e-6)
    moved_bytes = found["throughput_bytes_per_s"] * found["duration_s"]
    for side in ("", "clients_", "all_"):
        assert found[f"{side}efficiency_bytes_per_j"] == pytest.approx(
            moved_bytes / found[f"{side}energy_j"], rel=0.01
        )
    grades = [(side, row["metrics"][f"{side}energy_j"]["grade"]) for side in ("", "clients_", "all_")]
    assert grades == [("", "wall"), ("clients_", "BMC"), ("all_", "BMC")]
    (record,) = [json.loads(path.read_text()) for path in (home / "results").rglob("record.json")]
    assert record["facts"]["testbed"]["slurm"]["outside"] == ["oss-1"]
    assert not [doubt for doubt in record["doubts"] if "oss-1" in str(doubt)]
    verified = perjoule(lab, home, "verify", home / "results")
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.slow  # by day: tests/unit/workloads/hep/test_dask.py
def test_an_analysis_runs_on_workers_that_slurm_started(lab: SlurmLab, home: Path) -> None:
    """As root, as any script for sbatch here."""
    for library in LIBRARIES:
        pytest.importorskip(library, reason=f"{library} is missing: .venv/bin/pip install 'perjoule[hep]'")
    load = (
        'kind = "hep"\nsize = "8 MiB"\nfiles = 4\nworkers = "clients"\nscheduler_file = '
        f'"{home}/scheduler.json"'
    )
    campaign(home, "", load, "clients = [2]\nrepetitions = 1")
    os.chown(home, 0, 0)  # root writes no results where another user could swap them
    dask = (
        documented("hep.md", "dask scheduler")
        .replace("/scratch/me", str(home))
        .replace("--no-nanny", "--no-nanny &")
    )
    # Nodes here have no default route, by which Dask finds its own address.
    dask = dask.replace("scheduler --", 'scheduler --no-dashboard --host "$(hostname)" --', 1)
    # linuxproc would leave what a script leaves running
    head = "#!/bin/bash\n#SBATCH --nodes=2 --exclusive --output=said\ntrap 'kill $(jobs -p); wait' EXIT\n"
    script = f"{head}{dask}\n{PERJOULE} run batch.toml --into results\n"
    (home / "job.sh").write_text(script)
    done = lab.run(*environment(home), "sbatch", "--wait", "job.sh")
    said = (home / "said").read_text()
    assert done.returncode == 0, said
    (tasks,) = (home / "results").rglob("tasks.jsonl")
    assert {json.loads(line)["worker"] for line in tasks.read_text().splitlines()} == {"n1", "n2"}
    assert not list((home / "results").rglob("worker-*.log"))
    until(lambda: lab.processes("dask") == [] and lab.jobs() == "")


@pytest.mark.parametrize(
    ("testbed", "what"),
    [
        ("", "not inside an allocation, and nodes is not set; set nodes, or start perjoule by sbatch"),
        ('nodes = 1\npartition = "none"', 'no partition "none"; set partition to one of: all, short'),
        (
            'nodes = 1\nconstraint = "fast"',
            "Slurm refuses the job: Invalid feature specification; set constraint",
        ),
        ('nodes = 1\nhosts = [{role = "storage", count = 2}]', "2 hosts of the allocation requested, 1 left"),
    ],
)
def test_what_slurm_can_not_give_is_one_sentence(lab: SlurmLab, home: Path, testbed: str, what: str) -> None:
    done = perjoule(lab, home, "run", campaign(home, testbed, FIO))
    assert done.returncode in (2, 3), done.stdout + done.stderr
    assert what in done.stderr
    assert "Traceback" not in done.stderr
    until(lambda: lab.jobs() == "")


@pytest.mark.slow  # by day: tests/unit/testbeds/test_slurm.py
def test_a_job_that_waits_too_long_is_given_up(lab: SlurmLab, home: Path) -> None:
    lab.run("salloc", "--no-shell", "--nodes=4", "--exclusive", "--job-name=another")
    try:
        done = perjoule(lab, home, "run", campaign(home, 'nodes = 1\nwait = "3 s"', FIO))
    finally:
        lab.run("scancel", "--name=another")
    assert done.returncode == 3, done.stdout + done.stderr
    pending = re.findall(r"Slurm job \d+ is pending \((?:Resources|None|Priority)\)", done.stderr)
    assert len(pending) >= 2, done.stderr  # while it waits, and at the end
    assert "for 3 s now; ask for fewer nodes or less time, or raise wait" in done.stderr
    until(lambda: lab.jobs() == "")
