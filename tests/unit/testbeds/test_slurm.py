"""What Slurm gets, and what its answers mean; recorded from Slurm 22.05.

A lab of real daemons is in tests/live.
"""

import math
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import Check, Cleaned
from perjoule.model.errors import CampaignError, MachineError
from perjoule.testbeds import _reserved, slurm
from perjoule.testbeds.slurm import commands, ranks
from perjoule.testbeds.slurm.allocated import allocated
from perjoule.testbeds.slurm.srun import Srun
from places import TRANSCRIPTS, transcript
from typed import as_written

SAID = TRANSCRIPTS / "slurm"
TWO = {"hosts": [{"role": "storage", "count": 1}, {"role": "client"}]}
# Slurm's commands, as small programs: a job is a file that bears its name; what they were asked is in the
# file `asked`.
FAKES = {
    "salloc": 'for w; do case $w in --job-name=*) echo 7 > "$JOBS/${w#*=}" ;; esac; done; [ ! -e "$JOBS/refuse" ] || '
    '{ rm -f "$JOBS"/perjoule-*; echo "salloc: error: Job submit/allocate failed: Invalid account" >&2; '
    "exit 1; }; "
    '[ ! -e "$JOBS/wait" ] || sleep 0.5',
    "scancel": 'for w; do rm -f "$JOBS/$w"; done',
    "squeue": 'state=RUNNING; [ ! -e "$JOBS/wait" ] || state=PENDING; [ ! -e "$JOBS/cancelled" ] || state=CANCELLED; '
    'for w; do case $w in perjoule-*) [ -e "$JOBS/$w" ] || exit 0 ;; esac; done; '
    'ran=0:05; [ ! -e "$JOBS/ran" ] || ran=$(cat "$JOBS/ran"); echo '
    '"7|$state|1:00:00|$ran|(Priority)|n[1-2]"',
    "sinfo": f"cat {SAID / 'sinfo.txt'}",
    "scontrol": 'case "$*" in *hostnames*) printf "n1\\nn2\\n" ;; *node*) echo NodeName=n1 NodeAddr=127.0.0.1; '
    "echo NodeName=n2 NodeAddr=127.0.0.2 ;; esac",
    "srun": f'[ "$*" != --mpi=list ] || exec cat {SAID / "mpi.txt"}; while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
}


def said(name: str) -> str:
    return transcript("slurm", f"{name}.txt")


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the jobs of a Slurm that is not there."""
    programs, folder = tmp_path / "bin", tmp_path / "jobs"
    programs.mkdir()
    folder.mkdir()
    for name, text in FAKES.items():
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >> "$JOBS/asked"\n{text}\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("JOBS", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    yield folder
    assert not list(folder.glob("perjoule-*"))
    assert not list((tmp_path / "state").rglob("slurm/*"))


def bed(tmp_path: Path, **options: object) -> slurm.Slurm:
    return as_written(slurm.Slurm, work=str(tmp_path / "work"), **{"nodes": 2, **TWO, **options})


def test_jobs_are_read_with_their_state_time_and_reason() -> None:
    waiting, running = commands.parsed_jobs(said("squeue"))
    assert (waiting.id, waiting.waits, waiting.reason, waiting.nodes, waiting.end) == (
        "6",
        True,
        "PartitionConfig",
        "",
        "",
    )
    assert (running.id, running.waits, running.left_s, running.ran_s, running.nodes) == (
        "4",
        False,
        298.0,
        2.0,
        "n1",
    )
    assert running.end == ""


@pytest.mark.parametrize(
    ("text", "left_s"),
    [
        ("4:58", 298),
        ("1:00:00", 3600),
        ("2-01:00:00", 176400),
        ("UNLIMITED", math.inf),
        ("NOT_SET", math.inf),
        ("INVALID", 0),
    ],
)
def test_a_time_of_slurm_is_a_number_of_seconds(text: str, left_s: float) -> None:
    assert commands.limit_s(text) == left_s


@pytest.mark.parametrize(
    ("state", "end"),
    [
        ("RUNNING", ""),
        ("CONFIGURING", ""),
        ("CANCELLED", "was cancelled"),
        ("COMPLETING", "is ending: it was cancelled or preempted, or its time is over"),
        ("NODE_FAIL", "lost a node"),
        ("PREEMPTED", "was preempted"),
        ("TIMEOUT", "reached its time limit"),
        ("OUT_OF_MEMORY", "has ended (out of memory)"),
    ],
)
def test_the_end_of_a_job_is_reported(state: str, end: str) -> None:
    assert commands.SlurmJob("7", state, 0.0, 0.0, "", "n1").end == end


def test_a_job_that_was_suspended_says_for_how_long(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(commands.time, "time", lambda: now[0])
    over = commands.over("7")
    now[0] += 101.9
    (jobs / "ran").write_text("1:45")  # 100 s more, and less than 1 s that is not shown
    assert over() == ""
    now[0] += 30
    assert over() == "was suspended for 32 s"
    (jobs / "cancelled").touch()
    assert over() == "was cancelled"


def test_partitions_and_addresses_are_read() -> None:
    assert commands.parsed_partitions(said("sinfo") + "all|1:00:00|2\n") == [
        commands.Partition("all", 3600.0, 6),
        commands.Partition("short", 60.0, 4),
    ]
    assert commands.parsed_addresses(said("nodes")) == {"n1": "10.99.0.2"}


def test_ways_to_start_ranks_are_read_the_best_first_and_none_that_starts_strangers() -> None:
    assert ranks.kinds(said("mpi")) == ["pmix", "pmix_v4", "cray_shasta", "pmi2"]
    assert ranks.kinds("MPI plugin types are...\n\tnone\n\tpmi2\n") == ["pmi2"]


def test_a_rank_bears_its_nodes_mark_and_runs_in_its_clients_folder(tmp_path: Path) -> None:
    prefixes = {name: ["env", "-C", str(tmp_path), f"CLIENT=it's {name}"] for name in ("n1", "n2")}
    words = ranks.ranked(
        "0a1b2c3d", prefixes, ["sh", "-c", 'echo "$CLIENT $PERJOULE_HOST $1"; pwd', "sh", "a b"]
    )
    done = subprocess.run(
        words, env={**os.environ, "SLURMD_NODENAME": "n2"}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["it's n2 0a1b2c3d-n2 a b", str(tmp_path)]
    assert subprocess.run(words, env={**os.environ, "SLURMD_NODENAME": "n3"}, check=False).returncode == 125


def test_ranks_start_on_thousands_of_nodes(tmp_path: Path) -> None:
    prefixes = {
        f"n{n:04}": ["env", "-C", str(tmp_path / ("x" * 100)), f"TMPDIR={tmp_path}"] for n in range(1, 4000)
    }
    words = ranks.ranked(
        "0a1b2c3d", {**prefixes, "last": ["env", "CLIENT=last"]}, ["sh", "-c", 'echo "$CLIENT $#"']
    )
    done = subprocess.run(
        words, env={**os.environ, "SLURMD_NODENAME": "last"}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "last 0\n"


def test_a_lone_colon_reaches_a_node_as_it_is() -> None:
    """Else srun takes it, as between programs of mpirun, for the next part of a heterogeneous job."""
    argv = ["printf", "%s|", ":", "a b", "$HOME", "it's"]
    words = Srun("n1", "7").command(argv)
    assert words[words.index("--") + 1 :][:2] == ["sh", "-c"]
    assert ":" not in words
    assert (
        subprocess.run(words[-3:], capture_output=True, text=True, check=True).stdout == ":|a b|$HOME|it's|"
    )


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (
            "srun: error: Slurm job 7 has expired\nsrun: Check SLURM_JOB_ID environment variable.",
            "the job has ended",
        ),
        (
            "slurmstepd-n1: error: *** STEP 7.1 ON n1 CANCELLED AT 2026-11-23T01:24:40 ***",
            "the job was cancelled",
        ),
        ("it timed out", "its step did not start"),
        (
            "srun: error: Unable to create step for job 7",
            "srun can't start a step: srun: error: Unable to create step for job 7",
        ),
    ],
)
def test_what_srun_says_becomes_one_sentence_with_what_next(text: str, what: str) -> None:
    error = Srun("n1", "7").refusal(text)
    assert str(error).startswith(f"n1 (Slurm job 7): {what}; ")


def test_nodes_get_their_roles_in_order(tmp_path: Path) -> None:
    nodes = {f"n{n}": f"10.0.0.{n}" for n in range(1, 5)}
    roles = [
        {"name": "n3", "role": "metadata"},
        {"name": "@all", "role": "storage", "count": 2},
        {"name": "@all", "role": "client"},
    ]
    found = allocated(nodes, roles, "7", work=str(tmp_path))
    assert [(one.name, one.address, one.role) for one in found.hosts] == [
        ("n3", "10.0.0.3", "metadata"),
        ("n1", "10.0.0.1", "storage"),
        ("n2", "10.0.0.2", "storage"),
        ("n4", "10.0.0.4", "client"),
    ]
    with pytest.raises(CampaignError, match="5 hosts of the allocation requested, 4 left"):
        allocated(nodes, [{"name": "@all", "role": "client", "count": 5}], "7")


def test_a_job_is_requested_with_everything_that_was_set(jobs: Path, tmp_path: Path) -> None:
    asked = bed(
        tmp_path,
        partition="all",
        account="lab",
        constraint="fast",
        time="90 s",
        hosts=[{"role": "client", "name": "n[1-2]"}],
    )
    with asked.hold(2) as hosts:
        assert [host.name for host in hosts.clients] == ["n1", "n2"]
    salloc = next(line for line in (jobs / "asked").read_text().splitlines() if line.startswith("salloc"))
    options = (
        "--nodes=2 --partition=all --account=lab --constraint=fast --nodelist=n[1-2] --time=2 --exclusive"
    )
    assert salloc.endswith(options), salloc


OUTSIDE = {
    "hosts": [
        {"name": "oss-[1-2]", "role": "storage", "node": "odroid-hc4/A", "login": False},
        {"role": "client"},
    ]
}
EVERYBODY = [("oss-1", "storage"), ("oss-2", "storage"), ("n1", "client"), ("n2", "client")]


def test_servers_outside_of_the_allocation_are_not_requested_and_run_nothing(
    jobs: Path, tmp_path: Path
) -> None:
    mounted = bed(tmp_path, **OUTSIDE)
    assert [host.role for host in mounted.planned(2).all] == [role for _, role in EVERYBODY]
    with mounted.hold(2) as hosts:
        assert [(host.name, host.role) for host in hosts.all] == EVERYBODY
        assert [host.node and host.node.name for host in hosts.all] == ["A", "A", None, None]
        assert hosts.servers[0].counters().cpu_s is None
        with pytest.raises(MachineError, match="oss-1: nothing can run on this host: only meters know it"):
            hosts.servers[0].run(["true"], timeout_s=1)
        facts = hosts.facts["slurm"]
        assert isinstance(facts, dict)
        assert facts["outside"] == ["oss-1", "oss-2"]
    asked = (jobs / "asked").read_text()
    assert re.search("^salloc .*--nodes=2 --exclusive$", asked, re.MULTILINE), asked
    assert "oss-" not in asked
    with pytest.raises(ValidationError, match="login = false needs a name"):
        bed(tmp_path, hosts=[{"role": "storage", "login": False}, {"role": "client"}])


def test_inside_an_allocation_servers_outside_of_it_are_not_looked_at(
    jobs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    mounted = bed(tmp_path, **OUTSIDE, nodes=None)
    assert {check.name: check.detail for check in mounted.checks()}[
        "hosts oss-[1-2]"
    ] == "login = false, skipped"
    look = Check("no-such", True, "", "apt install no-such", look="program no-such", on="servers")
    assert [check.detail for check in mounted.lacking(2, [look]) if check.needed] == []
    with mounted.hold(2) as hosts:
        assert [(host.name, host.role) for host in hosts.all] == EVERYBODY
    assert "oss-" not in (jobs / "asked").read_text()


def test_a_job_is_held_and_cancelled_and_its_lease_says_how_it_ended(jobs: Path, tmp_path: Path) -> None:
    with bed(tmp_path).hold(1) as hosts:
        assert [(host.name, host.role, host.address) for host in hosts.all] == [
            ("n1", "storage", "127.0.0.1"),
            ("n2", "client", "127.0.0.2"),
        ]
        assert hosts.clients[0].run(["echo", "there"], timeout_s=5).stdout == "there\n"
        assert hosts.lease
        assert hosts.lease.over() == ""
        assert hosts.facts["slurm"] == {
            "job": "7",
            "nodes": "n[1-2]",
            "ours": True,
            "outside": [],
            "energy_accounting": "not configured",
            "mpi": {},
        }
        (jobs / "cancelled").touch()
        assert hosts.lease.over() == "was cancelled"
    assert "scancel" in (jobs / "asked").read_text()


def test_a_job_is_cancelled_when_the_command_exits_as_other_reservations_are(
    jobs: Path, tmp_path: Path
) -> None:
    with bed(tmp_path).hold(1):
        assert "scancel" not in (jobs / "asked").read_text()
        _reserved.give_all_back()
        assert "scancel" in (jobs / "asked").read_text()
    assert (jobs / "asked").read_text().count("scancel") == 1


def test_inside_an_allocation_nothing_is_requested_and_nothing_is_cancelled(
    jobs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "2")
    asked = bed(tmp_path, nodes=None)
    assert asked.lease_s == 3600
    assert [check.detail for check in asked.checks()][:1] == ["job 7 on n[1-2], 1 h 0 min left"]
    look = Check("no-such", True, "", "apt install no-such", look="program no-such", on="client")
    assert [check.detail for check in asked.lacking(1, [look]) if check.needed] == ["no no-such"]
    with asked.hold(1) as hosts:
        assert [host.name for host in hosts.all] == ["n1", "n2"]
    assert not re.search("^(salloc|scancel)", (jobs / "asked").read_text(), re.MULTILINE)


def test_a_job_that_waits_is_reported_and_given_up_in_the_end(jobs: Path, tmp_path: Path) -> None:
    (jobs / "wait").touch()
    waiting = bed(tmp_path, wait="0.1 s").awaited()
    assert next(waiting) == "Slurm job 7 is pending (Priority)"
    with pytest.raises(
        MachineError, match=r"job 7 is pending \(Priority\), for 0.1 s now; ask for fewer nodes"
    ):
        list(waiting)


def test_a_refused_job_is_one_sentence_with_what_to_set(jobs: Path, tmp_path: Path) -> None:
    (jobs / "refuse").touch()
    with (
        pytest.raises(MachineError, match="Slurm refuses the job: Invalid account; set account"),
        bed(tmp_path).hold(1),
    ):
        pass


def test_the_job_of_a_dead_perjoule_is_cancelled_and_that_of_a_living_one_is_not(
    jobs: Path, tmp_path: Path
) -> None:
    with bed(tmp_path).hold(1):
        dead = tmp_path / "state" / "perjoule" / "slurm" / "00000001"
        dead.touch(mode=0o600)
        (jobs / "perjoule-00000001").write_text("7\n")
        assert slurm.clean() == Cleaned(removed=("Slurm job 7",))
        assert len(list(jobs.glob("perjoule-*"))) == 1
    assert slurm.clean() == Cleaned()


@pytest.mark.parametrize(
    ("options", "detail", "fix"),
    [
        (
            {"nodes": None},
            "not inside an allocation, and nodes is not set",
            "set nodes, or start perjoule by sbatch",
        ),
        ({"partition": "batch"}, 'no partition "batch"', "set partition to one of: all, short"),
        ({"nodes": 5}, "5 nodes requested, 4 in the partition", "ask for fewer nodes"),
        (
            {"partition": "short", "time": "2 min"},
            "2 min 0 s requested, the partition allows 1 min 0 s",
            "ask for less time",
        ),
        ({}, "4 nodes; perjoule will ask for 2, and look at them then", ""),
    ],
)
def test_what_can_not_be_had_is_found_before(
    jobs: Path, tmp_path: Path, options: dict[str, object], detail: str, fix: str
) -> None:
    (check,) = bed(tmp_path, **options).checks()
    assert (check.ok, check.detail) == (not fix, detail)
    assert check.fix.startswith(fix)
    assert jobs.exists()


def test_without_slurm_its_commands_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (check,) = bed(tmp_path).checks()
    assert check.detail == "no salloc, scancel, scontrol, sinfo, squeue, srun"


def test_a_command_that_fails_is_named_as_a_shell_takes_it(jobs: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "sinfo").write_text("#!/bin/sh\necho 'sinfo: fatal: no configuration' >&2\nexit 1\n")
    with pytest.raises(MachineError) as refused:
        commands.ask("sinfo", "--noheader", "--format=%R|%l|%D")
    told = "run perjoule where `sinfo --noheader '--format=%R|%l|%D'` works, such as on a login node"
    assert refused.value.next == told


def test_roles_are_planned_before_there_are_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    monkeypatch.delenv("SLURM_JOB_NUM_NODES", raising=False)
    assert [host.role for host in bed(tmp_path, nodes=3).planned(2).all] == ["storage", "client", "client"]
    with pytest.raises(CampaignError, match="not inside an allocation"):
        bed(tmp_path, nodes=None).planned(1)


@pytest.mark.parametrize(
    "argument",
    [
        "sh",
        "-cid",
        "--job-name=theirs",
        "--chdir=/",
        "--uid=0",
        "--get-user-env",
        "--container=/x",
        "--bbf=/etc/shadow",
        "--qos=a\nb",
        "--",
    ],
)
def test_a_campaign_gives_salloc_only_what_a_job_is(argument: str) -> None:
    with pytest.raises(ValidationError, match="not permitted as an argument of salloc"):
        drivers.build("testbeds", "slurm", {"nodes": 2, "arguments": [argument]}, to_run=True)
    assert as_written(slurm.Slurm, nodes=2, arguments=["--qos=high", "--contiguous"]).arguments == (
        "--qos=high",
        "--contiguous",
    )
