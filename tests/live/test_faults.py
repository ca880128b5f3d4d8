"""Servers that die or hang in the middle of a trial: the trial fails in time with a reason, the campaign
continues.
"""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from day import by_day
from perjoule import campaign
from perjoule.drivers.protocols import Hosts
from perjoule.execution import runner
from perjoule.execution.notices import Notice
from perjoule.model import Record
from perjoule.model.errors import WorkloadError
from perjoule.store import create, open_results

pytestmark = pytest.mark.live

TIME_LIMIT_S = 10.0
# to end a load that hangs and to ask the file system for a better reason; the machine may be busy
MARGIN_S = 15.0
INTO_LOAD_S = 0.7  # of about 3 s
CAMPAIGN = """
name = "faults"
seed = 1
repetitions = {repetitions}
settle = "0.2 s"
quiet = 0
[testbed]
kind = "virtual"
disk = "directory"
servers = {servers}
scale = 0.1
cpu_cap = false
[[filesystem]]
{filesystem}
[[workload]]
kind = "fio"
size = "32 MiB"
time_limit = "10 s"
[[meter]]
kind = "system"
"""
Strike = Callable[[Hosts], None]


def send(signal: str, program: str, hosts_count: int) -> Strike:
    """Signal the program on the first storage hosts: by number, inside the host's own process namespace,
    where all is ours.
    """

    def strike(hosts: Hosts) -> None:
        for host in hosts.by_role("storage")[:hosts_count]:
            pids = host.run(["pgrep", "-x", program], timeout_s=10).stdout.split()
            host.run(["kill", f"-{signal}", *pids], timeout_s=10)

    return strike


def struck(
    folder: Path, filesystem: str, strikes: Sequence[Strike | None], *, servers: int = 4
) -> tuple[tuple[Record, ...], list[Notice]]:
    """Run a campaign of as many trials as strikes, each struck in the middle of its load; give the records
    in order.
    """
    wanted = campaign.parse(CAMPAIGN.format(repetitions=len(strikes), filesystem=filesystem, servers=servers))
    results = create(folder / "results", wanted.text, wanted.name)
    notices: list[Notice] = []
    running: list[Hosts] = []
    left = list(strikes)
    timers: list[threading.Timer] = []

    def observe(notice: Notice) -> None:
        notices.append(notice)
        if notice.kind == "deployed" and notice.hosts:
            running.append(notice.hosts)
        if notice.kind == "phase" and notice.text == "measure" and (strike := left.pop(0)):
            timers.append(threading.Timer(INTO_LOAD_S, strike, [running[-1]]))
            timers[-1].start()

    runner.run(wanted, results, observe)
    for timer in timers:
        timer.join()
    assert_gone(running)
    return open_results(folder / "results").records(), notices


def assert_gone(deployments: Sequence[Hosts]) -> None:
    for host in (host for hosts in deployments for host in hosts.all):
        assert not host.directory.exists()
        with pytest.raises(WorkloadError):
            host.run(["true"], timeout_s=10)


def measured_s(record: Record) -> float:
    return next(phase.ended_s - phase.began_s for phase in record.phases if phase.name == "measure")


def deployments_count(notices: Sequence[Notice]) -> int:
    return sum(notice.kind == "deployed" for notice in notices)


@pytest.mark.slow  # by day: a server that dies, below
def test_after_a_trial_that_died_and_one_that_hung_the_next_ones_are_measured_on_fresh_deployments(
    tmp_path: Path,
) -> None:
    strikes = [send("KILL", "mfschunkserver", 1), send("STOP", "mfschunkserver", 1), None, None]
    (killed, hung, *others), notices = struck(tmp_path, 'kind = "moosefs"', strikes, servers=1)
    assert [record.status for record in (killed, hung, *others)] == ["failed", "failed", "valid", "valid"]
    assert "storage-1: mfschunkserver ended with exit code -9" in killed.reason
    assert "fio not finished within 10 s on client-1" in hung.reason or "redundancy was lost" in hung.reason
    assert all(TIME_LIMIT_S < measured_s(record) < TIME_LIMIT_S + MARGIN_S for record in (killed, hung))
    assert deployments_count(notices) == 3
    assert [notice.kind for notice in notices].count("kept") == 4


DYING = {
    "moosefs": ('kind = "moosefs"\ngoal = 2', "mfschunkserver", "storage-1: mfschunkserver ended"),
    "glusterfs": ('kind = "glusterfs"', "glusterfsd", "storage-1: the brick is offline"),
    "cephfs": ('kind = "cephfs"\nplacement_groups = 16', "ceph-osd", "storage-1: osd.0 ended"),
}


# By day test_filesystem_contract.py has the last words of each file system's daemon.
@pytest.mark.parametrize("name", by_day(DYING, "moosefs"))
def test_a_server_that_dies_makes_a_trial_invalid_even_where_copies_carry_the_load_to_its_end(
    name: str, tmp_path: Path
) -> None:
    filesystem, program, reason = DYING[name]
    (struck_one, other), notices = struck(tmp_path, filesystem, [send("KILL", program, 1), None])
    assert (struck_one.status, other.status) == ("failed", "valid")
    assert reason in struck_one.reason
    assert deployments_count(notices) == 2
