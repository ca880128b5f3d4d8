"""Runs in a unit of systemd: what leaves its session and cleans its environment ends, too; without a unit,
facts say why.

Each host has a systemd of its own as first process (tests/booted.py).
"""

import json
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from day import by_day
from perjoule.drivers.protocols import Process
from perjoule.machine.scripts import BASH
from perjoule.testbeds.cluster.openssh import Ssh
from perjoule.testbeds.cluster.scripts import KEEP
from sshd import NEEDS_SSHD, USER, USER_NUMBER, Site, site_of, until

pytestmark = [
    pytest.mark.live,
    NEEDS_SSHD,
]

RUN = f"{os.getpid() % 10**8:08}"
NAME = "client-1"
UNIT = f"perjoule-{RUN}-{NAME}.scope"
# By the system's systemd, and by the user's own: by day each of them is left by one kill.
BOTH = pytest.mark.parametrize("user", ["root", USER])
CONTROLLER = pytest.mark.parametrize("user", by_day(["root", USER], USER))
KEEPER = pytest.mark.parametrize("user", by_day(["root", USER], "root"))
SLEEP = "86397"  # found in argument lists
# Daemons by each way onto a host, one that keeps what it is started with, and three that keep nothing of it.
HOLD = f"""
import json, sys, time
from perjoule.testbeds.cluster import SshCluster
away = ["env", "-i", "setsid", "--fork", "sh", "-c", "(setsid sleep {SLEEP} < /dev/null > /dev/null 2>&1 &)"]
with SshCluster(**json.loads(sys.argv[1])).hold(1) as hosts:
    host = hosts.clients[0]
    print(*hosts.facts["units"].values())
    host.run(away, timeout_s=9)
    host.spawn([*away], log=host.directory / "log").wait(timeout_s=9)
    host.spawn(["sleep", "{SLEEP}"], log=host.directory / "log")
    try:
        host.run(["sh", "-c", '"$@"; sleep 600', "sh", *away], timeout_s=1)
    except Exception as error:
        print(error)
    print("up", flush=True)
    time.sleep(600 if sys.argv[2] == "wait" else 0)
"""
# Runs a command on the client.
ASK = """
import json, sys
from perjoule.testbeds.cluster import SshCluster
with SshCluster(**json.loads(sys.argv[1])).hold(1) as hosts:
    print(hosts.clients[0].run(sys.argv[2:], timeout_s=9).stdout)
"""
ENTER = (
    "bash",
    "-c",
    'exec nsenter -t "$(pgrep -f "^/lib/systemd/systemd .*unit=lab.target")" -m -p -C -- "$@"',
    "enter",
)


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    with site_of(units=getattr(request, "param", "units") == "units") as there:
        yield there


def work(site: Site, user: str = "root") -> Path:
    """The folder of a user's runs on each host: what is left of one user's run refuses no other user's."""
    return site.lab.folder / "work" / user


def inside(site: Site, *argv: str) -> str:
    """Run a command beside the host's systemd."""
    return site.hosts[NAME].run([*ENTER, *argv], timeout_s=30, check=False).stdout


def first(site: Site, signal: str, pattern: str = "^/lib/systemd/systemd .*unit=lab.target") -> None:
    site.hosts[NAME].run(["pkill", f"-{signal}", "-f", pattern], timeout_s=10)


def sleepers(site: Site) -> list[str]:
    return site.hosts[NAME].run(["pgrep", "-xf", f"sleep {SLEEP}"], timeout_s=10, check=False).stdout.split()


def folders(site: Site) -> list[str]:
    return [line for line in site.left() if line.startswith(NAME)]


def said(site: Site, *words: str, before: tuple[str, ...] = (), user: str = "root") -> list[str]:
    """What a keeper answers to these words, after it has looked; then its connection ends."""
    login = Ssh(
        NAME,
        site.hosts[NAME].address,
        user=user,
        identity=str(site.lab.folder / "key"),
        config=str(site.lab.config),
    )
    argv = login.command([*before, *BASH, KEEP, "perjoule-keeper", str(work(site, user)), NAME])
    done = site.controller.run(argv, text="\n".join((*words, "")), timeout_s=90, check=False)
    lines = done.stdout.splitlines()
    return lines[lines.index("probed") + 1 :]


def kept(site: Site, limits: str = "- -", before: tuple[str, ...] = (), user: str = "root") -> list[str]:
    return said(site, f"unit {limits}", f"keep {RUN}", before=before, user=user)


def started(
    site: Site, script: str, *words: str, user: str = "root", limits: Mapping[str, object] | None = None
) -> Process:
    """Start a program of ours beside perjoule, with the options of a testbed as its first argument."""
    hosts = [{"name": n, "address": h.address, "role": h.role} for n, h in site.hosts.items()]
    options = site.lab.options(hosts, 22, user=user) | {"work": str(work(site, user)), **(limits or {})}
    env = {"XDG_STATE_HOME": str(site.folder / "state"), "PERJOULE_SSH_CONFIG": str(site.lab.config)}
    log = site.folder / f"started-{time.monotonic_ns()}.log"
    return site.controller.spawn(
        [sys.executable, "-c", script, json.dumps(options), *words], log=log, env=env
    )


def held(site: Site, how: str, user: str = "root") -> Process:
    """Start a run with daemons on the client; they run when this returns."""
    until(lambda: site.left() == [], 30)  # on all hosts: who ran before may still end there
    running = started(site, HOLD, how, user=user)
    until(lambda: "up\n" in running.output() or running.returncode is not None)
    assert "up\n" in running.output(), running.output()
    assert running.output().count(".scope") == (2 if site.units else 0), running.output()
    return running


def asked(site: Site, *argv: str, **limits: object) -> list[str]:
    """What a command on the client prints, or how that fails."""
    running = started(site, ASK, *argv, limits=limits)
    running.wait(timeout_s=60)
    return running.output().splitlines()


def cleaned(site: Site) -> None:
    until(lambda: folders(site) == [] and sleepers(site) == [], 30)


@pytest.mark.parametrize(
    ("site", "user", "left_count"),
    [
        ("sessions", "root", 3),
        pytest.param("units", "root", 0, marks=pytest.mark.slow),
        ("units", USER, 0),
    ],
    indirect=["site"],
)
def test_only_a_unit_ends_what_has_left_its_session_and_cleaned_its_environment(
    site: Site, user: str, left_count: int
) -> None:
    held(site, "end", user).wait(timeout_s=30)
    until(lambda: folders(site) == [])
    survivors = sleepers(site)
    site.hosts[NAME].run(["bash", "-c", 'kill -KILL "$@"; true', "kill", *survivors], timeout_s=10)
    assert len(survivors) == left_count


@pytest.mark.parametrize("times_count", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_a_bus_that_starts_with_its_first_user_is_waited_for(times_count: int, site: Site) -> None:
    for _ in range(times_count):
        inside(site, "systemctl", "kill", "--signal=KILL", f"user@{USER_NUMBER}.service")
        until(lambda: "failed" in inside(site, "systemctl", "is-active", f"user@{USER_NUMBER}.service"))
        inside(site, "systemctl", "start", f"user@{USER_NUMBER}.service")
        assert kept(site, user=USER) == [f"unit {UNIT}", *READY]


@BOTH
def test_a_program_that_is_ended_ends_with_all_that_it_started_and_nothing_else_does(
    site: Site, user: str
) -> None:
    running = held(site, "wait", user)
    assert len(sleepers(site)) == 3  # of the fourth, which was ended at its time limit, nothing is left
    running.kill()
    cleaned(site)


@pytest.mark.usefixtures("cleaning")
@CONTROLLER
def test_a_killed_controller_leaves_nothing(site: Site, user: str) -> None:
    running = held(site, "wait", user)
    site.controller.run(["pkill", "-KILL", "-f", "perjoule.testbeds.cluster"], timeout_s=10)
    running.wait(timeout_s=10)
    cleaned(site)
    shown = site.perjoule("down")
    assert shown.wait(timeout_s=60) == 0, shown.output()


@pytest.mark.usefixtures("cleaning")
@KEEPER
def test_a_killed_keeper_leaves_a_unit_that_the_next_one_ends(site: Site, user: str) -> None:
    running = held(site, "wait", user)
    site.hosts[NAME].run(["pkill", "-KILL", "-f", "perjoule-keeper"], timeout_s=10)
    assert len(sleepers(site)) == 3
    running.kill()
    shown = site.perjoule("down")
    assert shown.wait(timeout_s=60) == 0, shown.output()
    assert (sleepers(site), folders(site)) == ([], [])
    until(lambda: "perjoule-" not in inside(site, "systemctl", "list-units", "--all", "perjoule-*"))


def test_an_administrator_ends_a_run_by_its_unit(site: Site) -> None:
    running = held(site, "wait")
    inside(site, "systemctl", "stop", f"perjoule-*-{NAME}.scope")
    cleaned(site)
    running.kill()


def test_the_journal_keeps_who_started_what(site: Site) -> None:
    running = held(site, "end")
    running.wait(timeout_s=30)
    lines = inside(site, "journalctl", "--identifier=perjoule", "--output=cat").splitlines()
    by = f"uid 0 from {site.controller.address} starts program"
    assert [line for line in lines if f"-{NAME}: {by}" in line and line.endswith(f": sleep {SLEEP}")]
    assert all(line.startswith("perjoule-") for line in lines)  # no argument begins a line


def test_programs_have_a_temporary_folder_that_nobody_else_can_enter_and_goes_with_the_run(
    site: Site,
) -> None:
    mode, file, *_ = asked(site, "sh", "-c", "f=$(mktemp) && stat -c '%A %U' -- \"${f%/*}\" && echo $f")
    assert (mode, file.rpartition("/")[0].endswith(f"-{NAME}/tmp")) == ("drwx------ root", True)
    assert folders(site) == []


READY, TAKEN = (
    ["ready"],
    f"refused {UNIT} is the name of another unit; see systemctl status {UNIT}, and stop it",
)


def test_a_unit_of_that_name_is_somebody_elses(site: Site) -> None:
    argv = [*ENTER, "systemd-run", "--scope", f"--unit={UNIT}", "sh", "-c", f"exec sleep {SLEEP}"]
    theirs = site.hosts[NAME].spawn(argv, log=site.folder / "theirs.log")
    until(lambda: len(sleepers(site)) == 1 or theirs.returncode is not None)
    assert kept(site) == [TAKEN]
    assert len(sleepers(site)) == 1
    assert folders(site) == []
    inside(site, "systemctl", "stop", UNIT)
    until(lambda: sleepers(site) == [])


LEFT = """
umask 022
mkdir -p "$0" && cd "$0" && touch perjoule-made-this ../perjoule-made-this && echo "$1" > unit
"""


def test_a_note_that_names_another_unit_ends_nothing(site: Site) -> None:
    for named in (
        "/sys/fs/cgroup/system.slice/lab.service",
        f"/sys/fs/cgroup/../cgroup/init.scope/{UNIT}/..",
    ):
        folder = work(site) / f"cluster/{RUN}-{NAME}"
        site.hosts[NAME].run(["bash", "-c", LEFT, folder, named], timeout_s=10)
        assert said(site, f"keep {RUN[::-1]}")[0] == f"left {folder}"
        site.hosts[NAME].run(["rm", "-rf", folder.parent], timeout_s=10)
    assert "active" in inside(site, "systemctl", "is-active", "lab.service")


@contextmanager
def dead_bus(site: Site) -> Generator[None]:
    inside(site, "systemctl", "stop", "dbus.socket", "dbus.service")
    yield
    inside(site, "systemctl", "start", "dbus.socket")


@contextmanager
def stopped_bus(site: Site) -> Generator[None]:
    inside(site, "busctl", "status")  # starts it
    first(site, "STOP", "^/usr/bin/dbus-daemon --system")
    yield
    first(site, "CONT", "^/usr/bin/dbus-daemon --system")


@contextmanager
def stopped_systemd(site: Site) -> Generator[None]:
    first(site, "STOP")
    yield
    first(site, "CONT")


@contextmanager
def old_groups(site: Site) -> Generator[None]:
    inside(site, "mount", "-t", "tmpfs", "none", "/sys/fs/cgroup")
    yield
    inside(site, "umount", "/sys/fs/cgroup")


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (dead_bus, "its systemd starts none ("),
        pytest.param(stopped_bus, "its systemd does not answer", marks=pytest.mark.slow),
        (stopped_systemd, "its systemd does not answer"),
        (old_groups, "its control groups are not those of version 2 with cgroup.kill (Linux 5.14)"),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_where_systemd_gives_no_unit_the_keeper_is_as_it_is_elsewhere_and_says_why(
    site: Site, broken: Callable[[Site], AbstractContextManager[None]], why: str
) -> None:
    with broken(site):
        began_s = time.monotonic()
        unit, *rest = kept(site)
        refused = kept(site, "100 -")
        took_s = time.monotonic() - began_s
    assert unit.startswith(f"unitless {why}")
    assert rest == READY
    assert refused[0].startswith(f"refused only a unit of systemd has limits, and systemd starts none: {why}")
    assert took_s < 45  # on a busy machine, too; the first that waits for the journal would wait for good
    assert folders(site) == []
    until(lambda: kept(site) == [f"unit {UNIT}", *READY])


JOB = 'mkdir -p /sys/fs/cgroup/job_1/step_0 && echo 0 > /sys/fs/cgroup/job_1/step_0/cgroup.procs && exec "$@"'


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (("unshare", "--pid", "--fork", "--mount-proc"), "its first process is not systemd"),
        (("sh", "-c", JOB, "sh"), "/job_1/step_0 holds its programs, which is neither a login nor a service"),
    ],
    ids=["container", "batch"],
)
def test_programs_that_something_else_holds_together_stay_there(
    site: Site, before: tuple[str, ...], why: str
) -> None:
    assert kept(site, before=before) == [f"unitless {why}", *READY]
    assert folders(site) == []


@pytest.mark.parametrize(
    ("limit", "controller", "file", "most"),
    [
        ({"tasks_limit": 100}, "pids", "pids.max", "100"),
        ({"memory_limit": "100 MB"}, "memory", "memory.max", "99999744"),  # whole pages
    ],
    ids=["tasks", "memory"],
)
def test_a_limit_holds_or_the_run_is_refused(
    site: Site, limit: dict[str, int], controller: str, file: str, most: str
) -> None:
    controllers = inside(site, "cat", "/sys/fs/cgroup/cgroup.controllers").split()
    lines = asked(
        site, "sh", "-c", f"cat /sys/fs/cgroup/system.slice/perjoule-*-{NAME}.scope/programs/{file}", **limit
    )
    if controller in controllers:
        assert most in lines
    else:
        word = {"pids": "tasks", "memory": "memory"}[controller]
        assert lines[-1].endswith(f": its systemd does not let us limit {word}; remove {word}_limit")
    assert folders(site) == []


def test_a_program_that_starts_others_without_end_is_held_by_the_limit_and_ends_with_the_run(
    site: Site,
) -> None:
    if "pids" not in inside(site, "cat", "/sys/fs/cgroup/cgroup.controllers").split():
        pytest.skip(
            "the control groups of version 2 have no controller pids here: make kernels KERNELS=units"
        )
    bomb = f"for i in $(seq 300); do sleep {SLEEP} & done; wait"
    lines = asked(site, "sh", "-c", bomb, tasks_limit=100)
    assert any("fork" in line for line in lines), lines
    cleaned(site)


def test_a_journal_that_is_stuck_delays_no_program_and_no_end(site: Site) -> None:
    many = ASK.replace(
        "    print",
        "    for _ in range(300): hosts.clients[0].run(['true', 'x' * 800], timeout_s=9)\n    print",
    )
    first(site, "STOP", "^/lib/systemd/systemd-journald")
    began_s = time.monotonic()
    running = started(site, many, "echo", "all ran")
    assert running.wait(timeout_s=60) == 0, running.output()
    took_s = time.monotonic() - began_s
    until(lambda: "perjoule-" not in inside(site, "systemctl", "list-units", "--all", "perjoule-*"))
    first(site, "CONT", "^/lib/systemd/systemd-journald")
    assert "all ran" in running.output()
    assert took_s < 30
    assert folders(site) == []
