"""Real hosts that fail in the middle of a campaign: each fault is one sentence that names the host, within
its time limit.

No finished trial is lost or measured twice, `resume` measures the rest, and nothing of ours stays on the
hosts. The table in docs/how-to/real-hosts.md states what these tests check.
"""

import contextlib
import json
import random
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from day import by_day
from perjoule.drivers.protocols import Process
from sshd import LOAD, NEEDS_SSHD, Site, site_of, until

pytestmark = [
    pytest.mark.live,
    NEEDS_SSHD,
]

# what holds a run's programs together there
WITH_UNITS = pytest.mark.parametrize("hosts", ["sessions", "units"], indirect=True)
UNITS_BY_NIGHT = pytest.mark.parametrize("hosts", by_day(["sessions", "units"], "sessions"), indirect=True)
STRUCK, SERVER = "client-2", "storage-1"
TRIALS_COUNT = 3  # of campaigns whose perjoule is killed
# What perjoule says, as the how-to has it.
LOST = "the connection was lost"
COMING = "; waiting up to 3 min 0 s for it to come back"
SILENT = "it does not answer; check that it is on, its address, and firewalls"
# once the kernel has looked for it in vain
UNROUTED = "there is no route to it; check that it is on, and check its address"
SET = "the clock of client-2 was set by +5 s during the run: its times are uncertain by as much"
FULL = "client-2: no space left below "
CHANGED = "its host key has changed; find out why, then"
TAKEN = "another perjoule uses this host; set work, or wait for the other run"
APART = "all clients ran together for only "
# after which a lost connection has failed its trial, on a busy machine; ssh takes 30 s to 35 s
NOTICED_S = 45.0
FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
FILLED = 'mount -o remount,size=$(($(df --output=used -k "$1" | tail -n 1)))k "$1"'
PULSED = "while :; do pkill -STOP -x fio; sleep 0.3; pkill -CONT -x fio; sleep 0.01; done"


def unreachable(named: str, shown: str) -> bool:
    """Whether perjoule says that a host can't be reached, in one of the two ways in which a link that is
    down shows.
    """
    return any(f"perjoule: {named}: {words}" in shown for words in (SILENT, UNROUTED))


@pytest.fixture(scope="module")
def hosts(request: pytest.FixtureRequest) -> Iterator[Site]:
    with site_of(units=getattr(request, "param", "") == "units") as site:
        yield site


@pytest.fixture
def site(hosts: Site) -> Iterator[Site]:
    """The same hosts with results of its own; in the end nothing of ours is on them, nor in the notes for
    `perjoule down`.
    """
    hosts.load = LOAD
    hosts.folder = Path(tempfile.mkdtemp(dir=hosts.lab.folder, prefix="test-"))
    yield hosts
    clean(hosts, 10)
    assert list(hosts.folder.glob("state/perjoule/cluster/*")) == []


def clean(site: Site, within_s: float) -> float:
    """Wait until nothing of ours is on the hosts; return how long that took."""
    began_s = time.monotonic()
    while left := site.left():
        assert time.monotonic() - began_s < within_s, left
        time.sleep(0.1)
    return time.monotonic() - began_s


def said(process: Process, code: int, within_s: float) -> str:
    """All that it printed, when it has ended with this exit code."""
    found = process.wait(timeout_s=within_s)
    assert found == code, process.output()
    return process.output()


def in_load(site: Site, running: Process, trial: int) -> None:
    """Wait until the load of a trial (from 0) runs on both clients."""
    clients = [name for name in site.hosts if name.startswith("client")]
    until(
        lambda: (
            (len(site.records()) == trial and all(map(site.loads, clients))) or running.returncode is not None
        ),
        40,
    )
    assert running.returncode is None, running.output()
    time.sleep(0.5)


def restart(site: Site, name: str) -> None:
    """End the SSH server of a host with all its connections, and start it again after some seconds."""
    site.end(name, "sshd")
    time.sleep(6)
    site.boot(name)


def interrupt(site: Site, name: str) -> None:
    """Take the link of a host away until its lost connection has been noticed."""
    site.link(name, "down")
    time.sleep(NOTICED_S)
    site.link(name, "up")


STRIKES: dict[str, Callable[[Site, str], None]] = {
    "no keeper": lambda site, name: site.end(name, "perjoule-keeper"),
    "no server": restart,
    "reboot": Site.reboot,
    "no link": interrupt,
}


# By day its SSH server ends, and perjoule waits for it.
@pytest.mark.parametrize(
    ("hosts", "struck"),
    [
        ("sessions", ["no server"]),
        *(pytest.param(kind, [*STRIKES], marks=pytest.mark.slow) for kind in ("sessions", "units")),
    ],
    indirect=["hosts"],
    ids=lambda value: value if isinstance(value, str) else f"{len(value)} strikes",
)
def test_a_host_that_is_lost_and_comes_back_costs_one_trial(site: Site, struck: list[str]) -> None:
    strikes = [STRIKES[name] for name in struck]
    running = site.campaign(trials=len(strikes) + 1)
    for number, strike in enumerate(strikes):
        in_load(site, running, number)
        strike(site, STRUCK)
        until(lambda number=number: len(site.records()) > number, NOTICED_S)
    shown = said(running, 1, 40)
    named = f"{STRUCK} ({site.hosts[STRUCK].address})"
    assert site.records() == [("failed", f"{named}: {LOST}")] * len(strikes) + [("valid", "")]
    assert f"{named}: no SSH server is listening there{COMING}" in shown
    if "no link" in struck:
        assert any(f"{named}: {words.split(';')[0]}{COMING}" in shown for words in (SILENT, UNROUTED))
    said(site.perjoule("verify", site.folder / "lab"), 0, 60)


@pytest.mark.slow  # by day: one that comes back, above, and a node that Slurm loses: test_slurm.py
def test_a_host_that_is_lost_for_good_ends_the_campaign_and_resume_continues(site: Site) -> None:
    running = site.campaign(trials=2, patience="1 s")
    in_load(site, running, 0)
    site.link(STRUCK, "down")
    try:
        shown = said(running, 3, NOTICED_S + 30)
    finally:
        site.link(STRUCK, "up")
    assert unreachable(f"{STRUCK} ({site.hosts[STRUCK].address})", shown), shown
    assert [status for status, _ in site.records()] == ["failed"]
    said(site.perjoule("resume", site.folder / "lab"), 1, 60)
    assert [status for status, _ in site.records()] == ["failed", "valid"]


@pytest.mark.slow
@WITH_UNITS
def test_a_storage_host_that_is_lost_costs_a_trial_and_for_good_the_campaign_until_it_is_back(
    site: Site,
) -> None:
    """It has all data, so what clients mounted from it hangs."""
    if shutil.which("mfschunkserver") is None:
        pytest.skip(
            "mfschunkserver is missing: apt install moosefs-chunkserver moosefs-master moosefs-client"
        )
    named = f"{SERVER} ({site.hosts[SERVER].address})"
    strikes: list[Callable[[], None]] = [
        lambda: site.end(SERVER, "perjoule-keeper"),
        lambda: restart(site, SERVER),
        lambda: site.reboot(SERVER),
    ]
    running = site.campaign(trials=len(strikes) + 2, filesystem='kind = "moosefs"', patience="10 s")
    for number, strike in enumerate(strikes):
        in_load(site, running, number)
        strike()
        until(lambda number=number: len(site.records()) > number, NOTICED_S)
    in_load(site, running, len(strikes))
    site.link(SERVER, "down")
    try:
        shown = said(running, 3, NOTICED_S + 60)
    finally:
        site.link(SERVER, "up")
    lost = [("failed", f"{named}: {LOST}")] * (len(strikes) + 1)
    assert unreachable(named, shown), shown
    assert site.records() == lost
    said(site.perjoule("resume", site.folder / "lab"), 1, 90)
    assert site.records() == [*lost, ("valid", "")]


@contextlib.contextmanager
def clocked(site: Site, *ways: str) -> Generator[None]:
    """Have who logs in to a host see another clock."""
    if FAKETIME is None:
        pytest.skip("libfaketime is missing: apt install libfaketime")
    config = site.lab.folder / f"{STRUCK}.sshd"
    plain, before = config.read_text(), _of_faketime()
    config.write_text(f"{plain}SetEnv LD_PRELOAD={FAKETIME} {' '.join(ways)}\n")
    try:
        site.reboot(STRUCK)
        yield
    finally:
        config.write_text(plain)
        site.reboot(STRUCK)
        for path in _of_faketime() - before:
            path.unlink(missing_ok=True)


def _of_faketime() -> set[Path]:
    """What libfaketime has in memory by numbers of processes: of one that was killed it stays, and a later one of that
    number has no clock.
    """
    return {*Path("/dev/shm").glob("*faketime_*")}


@pytest.mark.slow  # by day: tests/unit/testbeds/cluster/keeping/test_answers.py
def test_a_clock_that_is_set_during_a_trial_is_a_doubt(site: Site) -> None:
    clock = site.lab.folder / "clock"
    clock.write_text("+0")
    ways = [f"FAKETIME_TIMESTAMP_FILE={clock}", "FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"]
    with clocked(site, *ways, "FAKETIME_SKIP_CMDS=fio"):  # which would hang
        running = site.campaign(trials=1)
        in_load(site, running, 0)
        clock.write_text("+5")
        shown = said(running, 0, 40)
    assert SET in shown, shown


def test_loads_start_together_although_the_clock_of_a_host_is_behind(site: Site) -> None:
    with clocked(site, "FAKETIME=-5"):
        shown = said(site.campaign(trials=1), 0, 40)
    assert site.records() == [("valid", "")], shown
    (path,) = (site.folder / "lab").rglob("record.json")
    results, raw = json.loads(path.read_text())["outcome"]["results"], path.parent / "raw"
    ahead_s = json.loads((raw / "run.json").read_text())["ahead_s"]
    assert ahead_s == {"client-1": pytest.approx([0, 0], abs=0.1), STRUCK: pytest.approx([-5, -5], abs=0.1)}
    # By its own clock, each fio reports when it ended, which is after the same time.
    ended_s = {name: json.loads((raw / f"{name}.json").read_text())["timestamp_ms"] / 1e3 for name in ahead_s}
    assert ended_s[STRUCK] + 5 == pytest.approx(ended_s["client-1"], abs=1)
    for moment in ("began_s", "ended_s"):
        assert results[0][moment] == pytest.approx(results[1][moment], abs=1)
    assert "was set by" not in shown
    assert APART not in shown


@pytest.mark.slow  # by day: a server's disk: test_cluster.py
def test_a_disk_of_a_client_that_is_full_fails_the_trials_until_it_is_not(site: Site) -> None:
    running = site.campaign(trials=2)
    in_load(site, running, 0)
    host, work = site.hosts[STRUCK], site.lab.folder / "work"
    host.run(["bash", "-c", FILLED, "fill", work], timeout_s=10)
    try:
        said(running, 4, 60)
    finally:
        host.run(["mount", "-o", "remount,size=8G", work], timeout_s=10)
    assert [status for status, _ in site.records()] == ["failed"] * 2
    # of a program that was running, or of one that could not even be started
    named, full = FULL.split(": ")
    for _, reason in site.records():
        assert reason.startswith(f"{named}: ") and reason.endswith(f"{full}{work / 'cluster'}"), reason
    said(site.campaign(trials=1, name="after"), 0, 40)
    assert site.records("after") == [("valid", "")]


def test_a_host_key_that_has_changed_is_refused_before_anything_starts(site: Site) -> None:
    known = site.lab.folder / "known"
    address, plain, other = (
        site.hosts[STRUCK].address,
        known.read_text(),
        (site.lab.folder / "wrong.pub").read_text().split()[:2],
    )
    lines = [
        line if line.split()[0] != address else f"{address} {' '.join(other)}" for line in plain.splitlines()
    ]
    known.write_text("\n".join(lines) + "\n")
    try:
        shown = said(site.campaign(trials=1), 3, 30)
    finally:
        known.write_text(plain)
    assert f"{STRUCK}: {CHANGED} `ssh-keygen -R {address}`" in shown
    assert site.records() == []


@pytest.mark.slow  # by day: tests/unit/testbeds/test_cluster.py, and power states: test_power.py
def test_a_second_run_on_a_host_is_refused_and_the_first_continues(site: Site) -> None:
    running = site.campaign(trials=1, seconds=20)
    in_load(site, running, 0)
    shown = said(site.campaign(trials=1, name="second"), 3, 30)
    assert re.search(rf"perjoule: (storage-1|client-1|client-2): {TAKEN}", shown), shown
    said(running, 0, 60)
    assert (site.records(), site.records("second")) == ([("valid", "")], [])


@pytest.mark.slow  # by day: tests/unit/measures/test_overlap.py
def test_a_client_ten_times_slower_than_the_other_is_a_doubt(site: Site) -> None:
    site.load = "[load]\nrw=write\nbs=64k\nsize=1m\nthinktime=30ms\n"
    slowing = site.hosts[STRUCK].spawn(["bash", "-c", PULSED], log=site.folder / "slowing.log")
    try:
        shown = said(site.campaign(trials=1), 0, 40)
    finally:
        slowing.stop()
    assert site.records() == [("valid", "")]
    assert re.search(rf"{APART}\d+ % of the time.*: {STRUCK} ended \S+ s after client-1", shown), shown


@UNITS_BY_NIGHT
@pytest.mark.usefixtures("cleaning")
@pytest.mark.parametrize("kills_count", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_perjoule_killed_at_any_moment_leaves_hosts_clean_and_no_trial_lost_or_doubled(
    kills_count: int, site: Site
) -> None:
    dice, name, kept_count, longest_s = random.Random(kills_count), "lab-0", 0, 0.0

    def go_on() -> Process:
        results = site.folder / name
        there = (results / "results.json").exists()
        return (
            site.perjoule("resume", results)
            if there
            else site.campaign(trials=TRIALS_COUNT, seconds=2, name=name)
        )

    for number in range(kills_count):
        running = go_on()
        if number % 2 == 0:  # in a load, or soon after
            until(lambda running=running: site.loads(STRUCK) or running.returncode is not None)
        time.sleep(dice.uniform(0, 3))
        site.controller.run(["pkill", "-KILL", "-f", "perjoule (run|resume)"], timeout_s=10, check=False)
        running.wait(timeout_s=10)
        longest_s = max(longest_s, clean(site, 120))
        assert site.records(name).count(("valid", "")) >= kept_count, "a finished trial was lost"
        kept_count = site.records(name).count(("valid", ""))
        if kept_count == TRIALS_COUNT or number == kills_count - 1:
            said(go_on(), 0, 90)
            assert site.records(name) == [("valid", "")] * TRIALS_COUNT
            name, kept_count = f"lab-{number + 1}", 0
    print(f"{kills_count} kills, hosts clean after {longest_s:.1f} s at most")
    said(site.perjoule("down"), 0, 60)
