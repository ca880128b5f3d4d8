"""What is said to OpenSSH, and what its answers and those of hosts mean; recorded from OpenSSH 9.2."""

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tomlkit
from pydantic import ValidationError

from perjoule import campaign, drivers
from perjoule.drivers.protocols import Check, ClockOffset
from perjoule.drivers.protocols.networks import cluster_address
from perjoule.machine.scripts import BASH
from perjoule.model import Campaign
from perjoule.model.errors import (
    CampaignError,
    HostLost,
    HostUnreachable,
    MachineError,
    TransientError,
    WorkloadError,
)
from perjoule.testbeds import cluster
from perjoule.testbeds._kernel import cpu_ticks
from perjoule.testbeds._process import children
from perjoule.testbeds.cluster import notes, pool, program
from perjoule.testbeds.cluster.connection import KeeperLine
from perjoule.testbeds.cluster.facts import clock_doubt, clock_s, counters, probe
from perjoule.testbeds.cluster.host import SshHost
from perjoule.testbeds.cluster.keeping import hearing, keeper
from perjoule.testbeds.cluster.keeping.keeper import Keeper, ProgramAnswer
from perjoule.testbeds.cluster.login import Login
from perjoule.testbeds.cluster.openssh import Ssh, configuration
from perjoule.testbeds.cluster.program import signalled
from perjoule.testbeds.cluster.scripts import KEEP, LAUNCH, MOST_BYTES, MOST_ERRORS_BYTES
from perjoule.workloads._running import rooms
from places import EXAMPLES, transcript
from typed import as_written

LOGIN = Ssh("storage-1", "10.0.0.11", user="root", port=2222, identity="/home/user/.ssh/lab")
HOST = {"name": "storage-1", "address": "192.0.2.11", "role": "storage"}
WITHIN = {**HOST, "cluster_address": "198.51.100.11"}  # of the servers' own network
CLIENT = {"name": "client-1", "address": "192.0.2.21", "role": "client"}
# a keeper ends all that bears its run's mark on this machine, where other tests run, too
RUN = f"{os.getpid() % 10**8:08}"
JUMP = "its ProxyJump or ProxyCommand failed"
# It gives up on a lock, or on a folder that another keeper makes, after a moment.
HASTY = KEEP.replace("tries_count=20 ", "tries_count=2 ").replace(
    "for _ in {1..20}; do [ -f", "for _ in 1; do [ -f"
)


def said(name: str) -> str:
    return transcript("cluster", f"{name}.txt")


def bed(*hosts: Mapping[str, object], **options: object) -> cluster.SshCluster:
    return as_written(cluster.SshCluster, hosts=hosts or (HOST, CLIENT), **options)


def test_an_argument_list_is_quoted_exactly_once() -> None:
    argv = ["printf", "%s|", "a b", "$HOME", "it's", '"q"', "x\ny", ""]
    remote = LOGIN.command(argv)[-1]
    assert remote.startswith("exec ")
    assert shlex.split(remote)[1:] == argv
    assert (
        subprocess.run(["sh", "-c", remote], capture_output=True, text=True, check=True).stdout
        == 'a b|$HOME|it\'s|"q"|x\ny||'
    )


def test_nobody_is_prompted_and_a_destination_is_never_an_option() -> None:
    words = LOGIN.command(["true"], socket="/tmp/s")
    assert "BatchMode=yes" in words
    assert not [word for word in words if "StrictHostKeyChecking" in word or "UserKnownHostsFile" in word]
    assert words[-3:-1] == ["--", "10.0.0.11"]
    assert "-k" in words  # no Kerberos tickets
    assert {"ForwardAgent=no", "ForwardX11=no", "ClearAllForwardings=yes", "PermitLocalCommand=no"} <= set(
        words
    )


@pytest.mark.parametrize("key", ["address", "ssh", "name"])
@pytest.mark.parametrize(
    "destination",
    [
        "-oProxyCommand=touch",
        "--",
        "-F/tmp/x",
        "root@10.0.0.1",
        "ssh://10.0.0.1",
        "10.0.0.1 -oProxyCommand=touch",
        "10.0.0.1\n",
        "a;touch x",
        "$(touch x)",
        "`touch x`",
        "a'b",
        "%h/../x",
    ],
)
def test_what_names_a_host_is_never_an_option_nor_words_for_a_shell(key: str, destination: str) -> None:
    with pytest.raises(ValidationError):
        bed({**HOST, key: destination})
    with pytest.raises(ValidationError):
        bed({**HOST, "user": destination})


@pytest.mark.parametrize("mode", [0o666, 0o664, 0o602])
def test_a_configuration_of_ssh_that_others_can_change_is_refused(
    mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text("")
    (tmp_path / "config").chmod(mode)
    monkeypatch.setenv("PERJOULE_SSH_CONFIG", str(tmp_path / "config"))
    with pytest.raises(CampaignError, match="other users can change this configuration of ssh"):
        configuration()
    (tmp_path / "config").chmod(0o600)
    assert configuration() == str(tmp_path / "config")
    if os.geteuid() == 0:
        os.chown(tmp_path / "config", 65534, 65534)
        with pytest.raises(CampaignError, match="other users"):
            configuration()
        monkeypatch.setenv("SUDO_UID", "65534")
        assert configuration() == str(tmp_path / "config")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be attacked by another user")
def test_a_configuration_of_ssh_that_others_can_put_another_in_the_place_of_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shared := tmp_path / "shared").mkdir()
    (config := shared / "config").touch(mode=0o600)
    (link := tmp_path / "link").symlink_to(config)
    for mode, owner in ((0o777, 0), (0o775, 0), (0o755, 65534)):
        os.chown(shared, owner, 100)
        shared.chmod(mode)
        for path in (config, link):
            monkeypatch.setenv("PERJOULE_SSH_CONFIG", str(path))
            with pytest.raises(CampaignError, match=rf"other users can change this .* \(.*{shared}"):
                configuration()
    os.chown(shared, 0, 0)
    assert configuration() == str(link)


def test_a_host_without_an_address_has_that_of_the_ssh_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text("""
Host storage-*
    HostName 192.0.2.11
Host alias
    HostName localhost
Host six
    HostName 2001:db8::1
Match host moved user bench
    HostName 192.0.2.13
""")
    monkeypatch.setenv("PERJOULE_SSH_CONFIG", str(config))
    named = bed(
        {"name": "storage-1", "role": "storage"},
        {"name": "client-1", "role": "client", "ssh": "alias"},
        {"name": "six", "role": "client"},
        {"name": "moved", "role": "client", "user": "bench"},
        {"name": "given", "role": "client", "address": "192.0.2.14", "ssh": "storage-1"},
        {"name": "not.known.invalid", "role": "client"},
        {"name": "metered", "role": "storage", "login": False},
    )
    found = ["192.0.2.11", "127.0.0.1", "2001:db8::1", "192.0.2.13", "192.0.2.14", "not.known.invalid", ""]
    assert [named._address(machine) for machine in named.hosts] == found
    login = named._login(named.hosts[0])
    assert isinstance(login, Ssh)
    assert login.destination == "storage-1"  # with all that its configuration says
    config.write_text("Hos storage-1")
    with pytest.raises(
        MachineError, match=r"storage-1 \(storage-1\): no connection: .*1 bad configuration options"
    ):
        named._address(named.hosts[0])


def test_sudo_never_asks() -> None:
    assert Ssh("a", "b", sudo=True).command(["id"])[-1] == "exec sudo -n -- id"


@pytest.mark.parametrize(
    ("transcript", "what", "advice"),
    [
        ("denied", "it accepts none of our keys", "ssh-copy-id 10.0.0.11"),
        ("unknown-key", "its host key is not known", "accept it once with `ssh 10.0.0.11`"),
        ("changed-key", "its host key has changed", r"ssh-keygen -R \[10.0.0.11\]:2222"),
        ("open-key", "ssh rejects the key", "chmod 600 /home/user/.ssh/lab"),
        ("refused", "no SSH server is listening there", "start sshd"),
        ("silent", "it does not answer", "firewalls"),
        ("no-route", "there is no route to it", "network"),
        (
            "crowded",
            "no connection: kex_exchange_identification: read: Connection reset by peer",
            "raise MaxStartups",
        ),
        ("no-name", "its host name can't be resolved", "set its address, or HostName"),
        ("jump-denied", f"{JUMP}: root@10.0.0.1: Permission denied", "try `ssh 10.0.0.11`$"),
        ("jump-unknown-key", f"{JUMP}: Host key verification failed", "try `ssh 10.0.0.11`$"),
        (
            "jump-no-route",
            f"{JUMP}: ssh: connect to host 10.0.0.1 port 22: No route to host",
            "try `ssh 10.0.0.11`$",
        ),
        (
            "jump-crowded",
            "no connection: kex_exchange_identification: Connection closed",
            "or of the jump host's",
        ),
        (
            "jump-forbids",
            "no connection: channel 0: open failed: administratively prohibited",
            "try `ssh 10.0.0.11`$",
        ),
        ("behind-refused", "no SSH server is listening there", "start sshd"),
        ("sudo-password", "sudo wants a password", "allow sudo without a password"),
        (
            "sudo-terminal",
            r"sudo was refused \(sorry, you must have a tty to run sudo\)",
            "change its sudoers",
        ),
    ],
)
def test_what_ssh_says_becomes_one_sentence_with_what_next(transcript: str, what: str, advice: str) -> None:
    error = LOGIN.refusal(said(transcript))
    assert isinstance(error, MachineError)
    assert error.exit_code == 3
    assert "\n" not in str(error)
    with pytest.raises(MachineError, match=rf"storage-1 \(10.0.0.11\): {what}.*; .*{advice}"):
        raise error


def test_what_else_ssh_says_is_passed_on() -> None:
    assert LOGIN.refusal("something else\n").next == "try `ssh 10.0.0.11`"
    assert "ssh printed nothing" in str(LOGIN.refusal(""))


def test_a_host_says_what_it_has() -> None:
    found = probe(said("probe"), "storage-1")
    assert (found.user, found.cores_count, found.ticks_hz, found.free_bytes) == ("root", 2, 100, 80167010304)
    assert found.total_bytes == 270553174016
    assert found.disks == ("vda",)
    assert found.interfaces == ()
    assert probe(said("probe").replace("disk vda", "disk vda\ninterface eth0"), "storage-1").interfaces == (
        "eth0",
    )
    assert not found.missing
    assert found.chronyc == "506 Cannot talk to daemon"
    assert probe(said("probe") + "missing pkill\n", "storage-1").missing == ("pkill",)
    with pytest.raises(MachineError, match="storage-1: unexpected output from the login shell: Welcome"):
        probe("Welcome to RouterOS\n", "storage-1")


def test_what_fits_on_a_host_leaves_the_reserve_of_its_disk() -> None:
    found = replace(probe(said("probe"), "storage-1"), free_bytes=30 * 2**30, total_bytes=100 * 2**30)
    assert found.has(25 * 2**30)
    assert not found.has(25 * 2**30 + 1)


def test_a_keepers_answer_holds_all_counters_and_its_clock() -> None:
    text, of = said("counters"), probe(said("probe"), "storage-1")
    found = counters(text, 17.0, of)
    assert found.t_s == 17.0
    assert found.cpu_s == pytest.approx((1135796 + 153732 + 482922 + 68521 + 3670) / 100)
    assert (found.network_received_bytes, found.network_sent_bytes) == (1798225245, 2245639)
    row = next(line.split() for line in text.splitlines() if " vda " in line)
    assert (found.disk_read_bytes, found.disk_written_bytes) == (int(row[5]) * 512, int(row[9]) * 512)
    assert clock_s(text) == 1795273233.372095
    assert found.switches_count is None  # of a keeper that did not say
    clock, _, rest = text.partition("\n")
    more = counters(f"{clock}\nctxt 8668353\n{rest}", 17.0, of)
    assert more == replace(found, switches_count=8668353)


def test_a_bond_on_a_hosts_hardware_is_not_counted_again() -> None:
    text, of = said("counters"), replace(probe(said("probe"), "storage-1"), interfaces=("eth0",))
    bonded = text.replace("  eth0:", " bond0: 5000 9 0 0 0 0 0 0 6000 9 0 0 0 0 0 0\n  eth0:")
    assert bonded != text
    assert counters(bonded, 17.0, of) == counters(text, 17.0, of)


def test_a_clock_is_doubted_where_it_is_known_badly_and_not_where_it_is_only_ahead() -> None:
    assert clock_doubt("h", ClockOffset(-40.0, 0.0099)) is None
    assert (
        clock_doubt("h", ClockOffset(0.0, 0.025))
        == "the clock of h is known to ± 25 ms only: its loads are timed by it"
    )


def test_exit_codes_of_a_shell_are_those_of_a_child() -> None:
    assert [signalled(code) for code in (0, 1, 127, 143, 137, 254, 255)] == [0, 1, 127, -15, -9, 254, 255]


def test_a_program_that_a_host_does_not_have_is_reported(tmp_path: Path) -> None:
    (tmp_path / "programs").mkdir()
    argv = [*BASH, LAUNCH, "perjoule-program", str(tmp_path / "programs" / "1")]
    done = subprocess.run([*argv, "no-such-program"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        127,
        "perjoule: no-such-program is not installed on this host\n",
    )
    both = subprocess.run(
        [*argv, "sh", "-c", "echo out; echo err >&2; exit 7"], capture_output=True, text=True, check=False
    )
    assert (both.returncode, both.stdout, both.stderr) == (7, "out\n", "err\n")
    assert list((tmp_path / "programs").iterdir()) == []


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keeper]:
    """A keeper on this machine, instead of behind ssh."""
    monkeypatch.setattr(Ssh, "command", lambda _self, argv, **_ways: list(argv))
    keeper = Keeper(Ssh("h1", "here"), str(tmp_path / "work"))
    keeper.keep(RUN)
    try:
        yield keeper
    finally:
        alive = keeper.alive
        assert keeper.close() is alive
        assert (tmp_path / f"work/cluster/{RUN}-h1").exists() is not alive


def test_a_keeper_that_is_ended_removes_what_is_ours_first(tmp_path: Path) -> None:
    """As a batch system does with all processes of a job, while their connection stays open."""
    argv = [*BASH, KEEP, "perjoule-keeper", str(tmp_path / "work"), "h1"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as keeper:
        assert keeper.stdin
        assert keeper.stdout
        keeper.stdin.write(f"keep {RUN}\n")
        keeper.stdin.flush()
        assert "ready\n" in keeper.stdout
        assert (tmp_path / f"work/cluster/{RUN}-h1").exists()
        keeper.terminate()
        assert keeper.wait(timeout=30) == 0  # however close to the moment at which it began to listen
        assert not (tmp_path / f"work/cluster/{RUN}-h1").exists()


def test_a_keeper_runs_commands_side_by_side_and_starts_no_process_here(kept: Keeper) -> None:
    words, data = ["a b", "$HOME", "it's", '"q"', "x\ny", "*", "", "\udcff\n\n"], bytes(range(256)) * 500
    with ThreadPoolExecutor(3) as pool:
        slow = pool.submit(
            kept.run, ["sh", "-c", "read -r line; echo $line; echo err >&2; exit 7"], b"in\n", timeout_s=20
        )
        copied = pool.submit(kept.run, ["cat"], data, timeout_s=20)
        said = kept.run(["printf", "%s|", *words], timeout_s=20)[0]
    assert said[:3] == (0, b"".join(os.fsencode(word) + b"|" for word in words), b"")
    assert copied.result()[0][:3] == (0, data, b"")
    assert slow.result()[0][:3] == (7, b"in\n", b"err\n")
    assert children(os.getpid()).count(kept._child.pid) == 1
    cpu, switches, *_ = kept.ask_counters()()[2].split(" ", 1)[1].splitlines()
    assert cpu_ticks(cpu) > 0
    assert switches.startswith("ctxt ")
    assert set(kept.probe.interfaces) == {
        path.parent.name for path in Path("/sys/class/net").glob("*/device")
    }


def test_a_program_that_takes_too_long_is_ended_with_its_children(kept: Keeper) -> None:
    nap = f"sleep {2 * 10**6 + os.getpid()}"  # of no other process on this machine
    answer, late = kept.run(["sh", "-c", f"trap '' TERM; echo begun; {nap} & wait; {nap}"], timeout_s=0.2)
    assert (late, answer.code, answer.out) == (True, 137, b"begun\n")
    assert subprocess.run(["pgrep", "-xf", nap], capture_output=True, check=False).stdout == b""


def test_a_killed_program_ends_on_its_host_with_all_that_it_started_or_that_is_not_known(
    kept: Keeper, tmp_path: Path
) -> None:
    host = SshHost("h1", "client", "here", None, tmp_path / f"work/cluster/{RUN}-h1", kept, None)
    nap = f"sleep {3 * 10**6 + os.getpid()}"  # of no other process on this machine
    naps = ["pgrep", "-xf", nap]
    program = host.spawn(["sh", "-c", f"trap '' TERM; setsid {nap} & {nap}"], log=tmp_path / "log")
    while len(subprocess.run(naps, capture_output=True, check=False).stdout.split()) < 2:
        assert program.returncode is None
    program.kill()
    assert program.returncode == -signal.SIGKILL
    assert subprocess.run(naps, capture_output=True, check=False).stdout == b""
    program.kill()
    kept._child.kill()
    with pytest.raises(HostLost, match=r"^h1"):
        program.kill()


def test_who_waits_for_a_program_learns_that_another_host_of_the_run_was_lost(
    kept: Keeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "LOOK_S", 0.01)
    other: Any = SimpleNamespace(alive=True, lost=lambda: HostLost("the connection was lost", where="h2"))
    folder = tmp_path / f"work/cluster/{RUN}-h1"
    host = SshHost("h1", "client", "here", None, folder, kept, None, (kept, other))
    hanging = host.spawn(["sleep", "1000"], log=tmp_path / "log")
    with pytest.raises(TimeoutError):
        hanging.wait(timeout_s=0.05)
    other.alive = False
    with pytest.raises(HostLost, match=r"^h2"):
        hanging.wait(timeout_s=1000)
    hanging.stop()


def test_who_asks_after_the_end_is_answered_at_once_even_if_the_words_could_still_be_sent(
    kept: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while a child of the connection's process dies: it still holds the pipe."""
    with monkeypatch.context() as patch:
        patch.setattr(kept._child, "kill", lambda: None)
        kept.gone("a fault")
        with pytest.raises(HostLost, match=r"^h1 \(here\): .*\(a fault\)"):
            kept.run(["true"], timeout_s=0.1)
    hearing._talkers.pop(kept._words)
    kept._child.kill()


def test_a_command_whose_connection_ends_is_answered_at_once(kept: Keeper) -> None:
    seconds = str(10**6 + os.getpid())  # of no other process on this machine
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(kept.run, ["sleep", seconds], timeout_s=60)
        while kept.run(["pgrep", "-xf", f"sleep {seconds}"], timeout_s=9)[0].code:
            pass
        kept._child.kill()
        with pytest.raises(HostLost):
            running.result(9)
    with pytest.raises(HostLost):
        kept.run(["true"], timeout_s=9)
    while subprocess.run(["pgrep", "-xf", f"sleep {seconds}"], capture_output=True, check=False).stdout:
        pass  # the other end hears of it a moment later


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (r"printf 'answer 1 0 -40 -40\n'", "unexpected answer: answer 1 0 -40 -40"),
        (r"printf 'answer 1 0 99999999999 0\n'", "unexpected answer: answer 1 0 99999999999 0"),
        (r"printf 'Last login: Monday\n'", "unexpected answer: Last login: Monday"),
        ("printf '%01000d' 0", "unexpected answer: 0000"),
    ],
    ids=["negative", "huge", "words", "endless"],
)
def test_a_host_that_sends_no_answers_is_lost_with_the_reason_and_no_other_is(
    kept: Keeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: str, why: str
) -> None:
    (tmp_path / "probe").write_text(said("probe"))
    script = (
        f"cat {tmp_path / 'probe'}; echo probed; read -r line; echo ready; read -r line; {sent}; cat > "
        "/dev/null"
    )
    monkeypatch.setattr(Ssh, "command", lambda *_argv, **_ways: ["bash", "-c", script])
    strange = Keeper(Ssh("h2", "there"), str(tmp_path))
    strange.keep(RUN)
    with pytest.raises(HostLost, match=rf"^h2 \(there\): .*\({why}"):
        strange.run(["true"], timeout_s=2.0)
    with pytest.raises(HostLost, match=rf"^h2 \(there\): .*\({why}"):
        strange.run(["true"], timeout_s=2.0)
    assert not strange.alive
    strange.close()
    assert kept.run(["echo", "heard"], timeout_s=9)[0].out == b"heard\n"


def test_an_answer_that_nobody_waits_for_any_more_ends_no_thread(
    kept: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Taken(dict[int, Future[ProgramAnswer]]):
        """A question that another thread takes back between the look and the answer."""

        def __iter__(self) -> Iterator[int]:
            return iter((7,))

    monkeypatch.setattr(kept, "_asked", Taken())
    kept._child.kill()
    while kept in hearing._talkers.values():
        pass
    time.sleep(0.1)  # what is heard last
    assert hearing._threads[0].is_alive()


class Faulty:
    """One whose code fails wherever it can."""

    def __init__(self) -> None:
        self.words, self.sent = os.pipe()
        self.why = list[str]()

    def hear(self) -> bool:
        raise ZeroDivisionError("no reason at all")

    def beat(self) -> None:
        raise KeyError(7)

    def gone(self, why: str) -> None:
        self.why.append(why)
        os.close(self.words)
        raise KeyError(7)


def test_a_fault_with_one_host_leaves_the_others_heard(kept: Keeper) -> None:
    faulty = Faulty()
    hearing.listen(faulty.words, faulty)
    os.write(faulty.sent, b"x")
    while not faulty.why:
        pass
    assert faulty.why == ["no reason at all"]
    assert kept.run(["echo", "heard"], timeout_s=9)[0].out == b"heard\n"
    os.close(faulty.sent)


def keep(work: Path, text: str = "", script: str = KEEP) -> list[str]:
    argv = [*BASH, script, "perjoule-keeper", str(work), "h1"]
    text = f"keep {RUN}\n{text}"
    said = subprocess.run(argv, input=text, capture_output=True, text=True, check=False, timeout=30).stdout
    return said.partition("probed\n")[2].splitlines()


def of_a_dead_run(work: Path, host: str) -> Path:
    """The folder that a keeper has left which was killed."""
    for folder in (work / "cluster", old := work / f"cluster/00000000-{host}"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "perjoule-made-this").touch()
    return old


def test_a_keeper_removes_what_dead_runs_left_and_its_own(tmp_path: Path) -> None:
    assert [line[:10] for line in keep(tmp_path / "work", "counters 3\n")[:2]] == ["ready", "answer 3 0"]
    # its locks and the mark of the folder of runs are gone, too
    assert list((tmp_path / "work").iterdir()) == []
    old = of_a_dead_run(tmp_path / "work", "h1")
    of_a_dead_run(tmp_path / "work", "h2")
    assert keep(tmp_path / "work") == [f"removed {old}", "ready"]
    assert sorted(path.name for path in (tmp_path / "work/cluster").iterdir()) == [
        "00000000-h2",
        "perjoule-made-this",
    ]


def test_a_keeper_removes_the_folders_that_a_dead_run_noted_and_no_others(tmp_path: Path) -> None:
    old = of_a_dead_run(tmp_path / "work", "h1")
    (old / "made").mkdir()
    places = {
        name: tmp_path / "shared" / name
        for name in ("perjoule-0123456789", "perjoule-abcdefghij", "data", "perjoule-1")
    }
    for place in places.values():
        place.mkdir(parents=True)
        (place / "file").write_text("of a client")
    for name, noted in (("0123456789", "0123456789"), ("abcdefghij", "0123456789"), ("1", "1")):
        (old / "made" / f"perjoule-{name}").write_text(f"{tmp_path}/shared/perjoule-{noted}\n")
    assert keep(tmp_path / "work") == [f"removed {old}", "ready"]
    assert sorted(path.name for path in (tmp_path / "shared").iterdir()) == [
        "data",
        "perjoule-1",
        "perjoule-abcdefghij",
    ]


def test_a_host_is_taken_from_a_dead_run_whose_keeper_still_waits_and_from_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a lost network: it waits for two minutes."""
    monkeypatch.setattr(Ssh, "command", lambda _self, argv, **_ways: list(argv))
    monkeypatch.setattr(keeper, "KEEP", HASTY)
    first, second, third = (Keeper(Ssh("h1", "here"), str(tmp_path / "work")) for _ in range(3))
    first.keep(RUN)
    with pytest.raises(MachineError, match="h1: another perjoule uses this host"):
        second.keep("00000002", ["00000003"])
    assert (first.alive, (tmp_path / f"work/cluster/{RUN}-h1").exists()) == (True, True)
    third.keep("00000002", ["00000003", RUN])
    assert not (tmp_path / f"work/cluster/{RUN}-h1").exists()
    assert (tmp_path / "work/cluster/00000002-h1").exists()
    assert third.close()
    first.close()


def test_a_host_whose_connection_was_lost_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    failures, made = list[MachineError](), list[str]()

    def keeper(login: Login, _work: str) -> object:
        if failures:
            raise failures.pop()
        made.append(login.name)
        return login

    kept = dict[pool.Place, object]()
    monkeypatch.setattr(pool, "Keeper", keeper)
    monkeypatch.setattr(pool, "_kept", kept)
    monkeypatch.setattr(pool, "_AGAIN_S", 0.0)
    places = [(Ssh(name, "10.0.0.1"), "/work") for name in ("n1", "n2", "n3")]
    assert list(pool.regained(places, 0.0)) == []  # none was lost
    for place in places[:2]:
        pool.lose(place)
    failures += [HostUnreachable("it does not answer")] * 3
    assert list(pool.regained(places, 60.0)) == [
        "n1 (10.0.0.1): it does not answer; waiting up to 1 min 0 s for it to come back"
    ]
    assert (made, list(kept)) == (["n1", "n2"], places[:2])
    pool.lose(places[2])
    failures += [HostUnreachable("it does not answer")] * 1000
    with pytest.raises(HostUnreachable):
        list(pool.regained(places, 0.0))
    failures.clear()
    assert list(pool.regained(places, 0.0)) == []
    assert list(kept) == places

    for seen in (kept, made):  # as new hosts, none of which was lost
        seen.clear()
    failures += [HostUnreachable("it does not answer")]
    assert len(list(pool.regained(places, 60.0, booting=True))) == 1
    assert (made, list(kept)) == (["n1", "n2", "n3"], places)


def test_the_note_of_a_dead_run_goes_once_all_its_hosts_are_held_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    hosts = [(Ssh(name, "10.0.0.1"), "/work") for name in ("n1", "n2")]
    with notes.noted("00000001", hosts), notes.noted("00000002", hosts[:1]):
        assert notes.dead() == {}
    dead = notes.dead()
    assert sorted(dead) == ["00000001", "00000002"]
    notes.superseded(dead, hosts[:1])
    assert sorted(notes.dead()) == ["00000001"]
    notes.superseded(dead, hosts)
    assert notes.dead() == {}


def test_a_folder_that_is_not_ours_is_never_touched(tmp_path: Path) -> None:
    (tmp_path / "cluster" / "00000000-h1").mkdir(parents=True)
    assert keep(tmp_path, script=HASTY) == [f"refused {tmp_path}/cluster is not ours; set work"]
    assert (tmp_path / "cluster" / "00000000-h1").is_dir()


def test_addresses_of_documents_are_never_asked() -> None:
    assert [check.needed for check in bed().checks()[1:]] == [False]
    assert bed().checks()[1].name == "hosts storage-1, client-1"


@pytest.mark.parametrize(
    ("hosts", "count", "what"),
    [
        ((HOST, CLIENT), 2, "2 client hosts requested, 1"),
        ((HOST, HOST, CLIENT), 1, 'two hosts are called "storage-1"'),
    ],
)
def test_impossible_hosts_are_refused_before_any_is_reached(
    hosts: tuple[dict[str, str], ...], count: int, what: str
) -> None:
    with pytest.raises(CampaignError, match=what), bed(*hosts).hold(count):
        pass


@pytest.mark.parametrize(
    ("hosts", "what"),
    [
        ((WITHIN, {**HOST, "name": "storage-2"}), "storage-2 has no cluster_address, but storage-1 has"),
        ((WITHIN, {**HOST, "name": "meta", "role": "metadata"}), "meta has no cluster_address"),
        ((WITHIN, {**CLIENT, "cluster_address": "198.51.100.21"}), "client-1 is a client"),
        (({**HOST, "cluster_address": "198.51.100.300"},), '"198.51.100.300" is not an IPv4 address'),
    ],
)
def test_hosts_with_data_have_a_network_of_their_own_together_or_not_at_all(
    hosts: tuple[dict[str, str], ...], what: str
) -> None:
    with pytest.raises((ValidationError, ValueError), match=what):
        bed(*hosts, CLIENT)


def test_addresses_in_the_servers_own_network_may_be_a_pattern_and_others_need_none() -> None:
    racked = {**WITHIN, "name": "s[1-3]", "address": "192.0.2.[1-3]", "cluster_address": "198.51.100.[1-3]"}
    held = bed(racked, {**HOST, "name": "monitor", "role": "management"}, CLIENT)
    assert [(host.name, host.cluster_address) for host in held.hosts if host.cluster_address] == [
        ("s1", "198.51.100.1"),
        ("s2", "198.51.100.2"),
        ("s3", "198.51.100.3"),
    ]
    assert {host.cluster_address for host in bed().hosts} == {""}


def test_a_held_server_has_its_address_in_the_servers_own_network_and_the_record_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keepers run on this machine, instead of behind ssh."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(Ssh, "command", lambda _self, argv, **_ways: list(argv))
    with bed(WITHIN, CLIENT, work=str(tmp_path / "work")).hold(1) as hosts:
        assert [cluster_address(host) for host in hosts.all] == ["198.51.100.11", ""]
        assert [host.address for host in hosts.all] == ["192.0.2.11", "192.0.2.21"]
        assert hosts.facts["cluster_network"] == {"storage-1": "198.51.100.11"}


def test_a_planned_host_has_its_own_name() -> None:
    assert [host.name for host in bed({**HOST, "name": "alpha"}, CLIENT).planned(1).all] == [
        "alpha",
        "client-1",
    ]


def test_the_first_storage_hosts_serve_if_their_number_is_set() -> None:
    hosts = [HOST, {**HOST, "name": "storage-2"}, {**HOST, "name": "meta", "role": "metadata"}, CLIENT]
    assert [host.role for host in bed(*hosts).planned(1).all] == ["storage", "storage", "metadata", "client"]
    assert [host.role for host in bed(*hosts, servers=1).planned(1).all] == ["storage", "metadata", "client"]
    with pytest.raises(
        CampaignError, match='3 storage hosts requested, 2 available; add hosts with role = "storage"'
    ):
        bed(*hosts, servers=3).planned(1)


# Examples that real hosts refuse, and why: perjoule erases data, and fills disks, only where it made them.
ONLY_VIRTUAL = {
    "aged": "aged fills only disks that are made for the file system",
    "failed-disk": "fail storage-2 can't happen on this testbed cluster: its disks are real; use testbed virtual",
}


@pytest.mark.heavy
@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_each_example_runs_on_real_hosts_by_its_testbed_table_alone(path: Path) -> None:
    """The same trials are planned, and their layouts fit; on the paper's hosts, and with as many as the
    example asks for.
    """
    document = tomlkit.parse(path.read_text())
    many = {"storage": 8, "metadata": 1, "management": 3, "client": 8}
    hosts = [
        {"name": f"{role}-[1-{n}]", "address": f"{role}-[1-{n}].lab", "role": role}
        for role, n in many.items()
    ]
    document["testbed"] = {"kind": "cluster", "hosts": hosts}
    # which change the virtual testbed for some file systems: `reproduce --testbed`
    if path.stem in ("green-storage", "hep-pc", "cubieboard"):
        tables = document["filesystem"].unwrap()
        alike = [table for table in tables if "cluster" not in table.get("testbed", {})]
        document["filesystem"] = [{key: table[key] for key in table if key != "testbed"} for table in alike]
    if path.stem == "cubieboard":
        del document["workload"][1:]  # of the NAS
    before = campaign.parse(path.read_text(), folder=path.parent)
    if refusal := ONLY_VIRTUAL.get(path.stem):
        with pytest.raises(CampaignError, match=refusal):
            require_fit(campaign.parse(tomlkit.dumps(document), folder=path.parent))
        return
    after = campaign.parse(tomlkit.dumps(document), folder=path.parent)
    what = [
        {
            (t.workload.label, t.filesystem.label.partition(" on ")[0], t.clients_count, t.repetition)
            for t in one.trials
            if t.filesystem.label not in ("Reference 2", "desktop PC", "NAS")  # on other hosts
        }
        for one in (before, after)
    ]
    assert what[0] == what[1]
    require_fit(after)


def require_fit(planned: Campaign) -> None:
    for trial in planned.trials:
        drivers.filesystem(trial.filesystem).require_fit(
            drivers.testbed(trial.testbed).planned(trial.clients_count)
        )


@pytest.mark.parametrize("work", ["/", "relative", "/with blank", "/a/../$HOME"])
def test_a_work_folder_needs_no_quoting(work: str) -> None:
    with pytest.raises(ValidationError):
        bed(work=work)


@pytest.mark.parametrize(
    ("host", "what"),
    [
        ('{name = "b", adress = "192.0.2.2", role = "client"}', 'did you mean "address"'),
        ('{name = "b", address = "192.0.2.2", role = "clinet"}', 'did you mean "client"'),
        ('{name = "b", address = "192.0.2.2", role = "client", nod = "x"}', 'did you mean "node"'),
        ('"192.0.2.2"', r'hosts \(number 2\) = "192.0.2.2" is not a table'),
    ],
)
def test_a_slip_in_a_host_is_named_by_its_number(host: str, what: str) -> None:
    hosts = f'hosts = [{{name = "a", address = "192.0.2.1", role = "client"}}, {host}]'
    rest = '[[filesystem]]\nkind = "simulated"\n[[workload]]\nkind = "simulated"\n'
    with pytest.raises(CampaignError, match=what):
        campaign.parse(f'[testbed]\nkind = "cluster"\n{hosts}\n{rest}', source="lab.toml")


def test_a_room_gets_the_files_it_asks_for_and_no_others(kept: Keeper, tmp_path: Path) -> None:
    """The outputs of all other hosts would go to each host."""
    here = tmp_path / "trial"
    here.mkdir()
    for name in ("job.fio", "other-host.json"):
        (here / name).write_text(name)
    host = SshHost("h1", "client", "here", None, tmp_path / f"work/cluster/{RUN}-h1", kept, None)
    with rooms([host], here, "job.fio") as there:
        assert host.run(["ls", there["h1"]], timeout_s=9).stdout == "job.fio\n"
        host.run(["cp", there["h1"] / "job.fio", there["h1"] / "out.json"], timeout_s=9)
    assert sorted(path.name for path in here.iterdir()) == ["job.fio", "other-host.json", "out.json"]
    with pytest.raises(KeyError, match="broken"), rooms([host], here) as there:
        host.run(["touch", there["h1"] / "late.json"], timeout_s=9)
        raise KeyError("broken")
    assert (here / "late.json").exists()


def test_counters_of_a_lost_host_are_a_gap(kept: Keeper, tmp_path: Path) -> None:
    host = SshHost("h1", "client", "here", None, tmp_path / f"work/cluster/{RUN}-h1", kept, None)
    assert host.counters().cpu_s is not None
    kept._child.kill()
    assert host.counters().cpu_s is None


@pytest.mark.parametrize(
    ("code", "err", "late", "sentence"),
    [
        (3, b"", False, "storage-1: bash ended with exit code 3 and no message"),
        (-1, b"", True, "storage-1: bash did not end in time"),
        (1, b"tar: full\nperjoule: no space left below /srv\n", False, "storage-1: no space left below /srv"),
    ],
)
def test_a_command_that_failed_is_said_to_be_late_only_if_it_was(
    code: int, err: bytes, late: bool, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = Keeper.__new__(Keeper)
    keeper.login = LOGIN
    monkeypatch.setattr(keeper, "run", lambda *_, **__: (ProgramAnswer(code, b"", err, 0.0), late))
    with pytest.raises(WorkloadError, match=f"^{sentence}$"):
        KeeperLine(keeper, Path("/srv/run")).raw(["bash", "-c", "tar"])


def test_outputs_of_more_than_one_answer_holds_come_back_whole(kept: Keeper, tmp_path: Path) -> None:
    host = SshHost("h1", "client", "here", None, tmp_path / f"work/cluster/{RUN}-h1", kept, None)
    here = tmp_path / "here"
    here.mkdir()
    with rooms([host], here) as there:
        kept.run(["truncate", "--size=70M", str(there["h1"] / "big.log")], timeout_s=20)
        kept.run(
            ["sh", "-c", f"echo end >> {there['h1']}/big.log; echo more > {there['h1']}/small.log"],
            timeout_s=20,
        )
    assert (here / "small.log").read_text() == "more\n"
    assert (here / "big.log").stat().st_size == 70 * 2**20 + 4
    assert (here / "big.log").read_bytes().endswith(b"\0end\n")
    assert list((tmp_path / f"work/cluster/{RUN}-h1/programs").iterdir()) == []


@pytest.mark.parametrize(
    "come",
    [lambda said: said[:700], lambda said: said[:1542], lambda _: b"5\nwords"],
    ids=["cut", "block", "words"],
)
def test_outputs_that_do_not_come_back_whole_stay_on_the_host(
    kept: Keeper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, come: Callable[[bytes], bytes]
) -> None:
    host = SshHost("h1", "client", "here", None, tmp_path / f"work/cluster/{RUN}-h1", kept, None)
    raw = KeeperLine.raw

    def cut(line: KeeperLine, argv: Sequence[str], content: bytes = b"") -> bytes:
        said = raw(line, argv, content)
        return come(said) if "perjoule-fetch" in argv else b"" if "perjoule-piece" in argv else said

    monkeypatch.setattr(KeeperLine, "raw", cut)
    (tmp_path / "here").mkdir()
    room = host.directory / "programs" / "1.room"
    why = (
        rf"h1: what a program wrote did not come back whole .*; it is in {room} on the host until the run "
        "ends"
    )
    with pytest.raises(WorkloadError, match=why) as caught, rooms([host], tmp_path / "here"):
        kept.run(["dd", "if=/dev/urandom", "bs=9000", "count=1", f"of={room}/log"], timeout_s=20)
    assert not isinstance(caught.value, TransientError)
    assert (room / "log").stat().st_size == 9000


def test_the_keeper_cuts_outputs_where_we_take_them_for_cut() -> None:
    assert f" most={MOST_BYTES} most_errors={MOST_ERRORS_BYTES}\n" in KEEP


def test_an_output_that_was_cut_is_not_content_of_a_file(kept: Keeper, tmp_path: Path) -> None:
    host = SshHost("h1", "client", "here", None, tmp_path / f"work/cluster/{RUN}-h1", kept, None)
    kept.run(["truncate", "--size=65M", str(tmp_path / "big")], timeout_s=20)
    with pytest.raises(WorkloadError, match=r"can't read .*big \(more than 64 MiB\)"):
        host.read(tmp_path / "big")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_a_note_that_another_user_wrote_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder, ran = tmp_path / "perjoule" / "cluster", tmp_path / "ran"
    folder.mkdir(parents=True)
    (tmp_path / "theirs").write_text(f"Host *\n  ProxyCommand touch {ran}\n")
    note = folder / "01234567.json"
    host = {
        "name": "c",
        "destination": "127.0.0.9",
        "config": str(tmp_path / "theirs"),
        "work": str(tmp_path / "work"),
    }
    note.write_text(json.dumps([host]))
    os.chown(note, 65534, 65534)
    assert notes.clean() == ([], [])
    assert notes.dead() == {}
    assert not ran.exists()
    os.chown(note, 0, 0)
    assert notes.clean()[1]  # ours leads there
    assert ran.exists()
    ran.unlink()
    (tmp_path / "theirs").chmod(0o666)  # by now others can change it
    assert "other users can change this configuration of ssh" in notes.clean()[1][0]
    assert not ran.exists()


class Answered:
    """A connection that was made."""

    probe = None

    def close(self) -> None:
        """Nobody is there."""


@pytest.fixture
def contacted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Names of hosts in the order in which they were contacted; those with a 9 can't be reached."""
    names: list[str] = []

    def contact(login: Login, _work: str) -> Answered:
        names.append(name := login.name)
        if "9" in name:
            raise MachineError("it does not answer", where=name, next="check that it is on")
        return Answered()

    monkeypatch.setattr(cluster, "Keeper", contact)
    monkeypatch.setattr(pool, "keep", lambda *_: None)
    monkeypatch.setattr(cluster.findings, "readiness", lambda name, _: Check(name, True, "root on Linux"))
    cluster._missing.clear()
    yield names
    cluster._missing.clear()


def spare(*names: str, role: str = "client", **options: object) -> cluster.SshCluster:
    hosts = [{"name": name, "address": f"10.0.0.{n}", "role": role} for n, name in enumerate(names, 1)]
    return as_written(cluster.SshCluster, hosts=hosts, **options)


def test_no_other_host_is_contacted_if_one_that_is_tried_first_fails(contacted: list[str]) -> None:
    found = spare("n9", "n1", "n2", first=1).reached()
    assert contacted == ["n9"]
    assert [(one.name, one.ok) for one in found] == [("host n9", False), ("hosts n[1-2]", False)]
    assert found[1].detail == "not contacted, because n9, which is tried first, can't be used"
    contacted.clear()
    assert [one.ok for one in spare("n1", "n9", "n2", first=1).reached()] == [True, False]
    assert contacted[0] == "n1"
    assert set(contacted) == {"n1", "n9", "n2"}


def test_hosts_that_may_be_missing_are_left_out_and_others_take_their_place(contacted: list[str]) -> None:
    there = spare("n1", "n9", "n2", "n3", missing=1)
    assert [host.name for host in there.planned(2).all] == ["n1", "n9"]
    found = there.reached()
    assert [(one.needed, one.detail) for one in found if not one.ok] == [
        (False, "left out: it does not answer")
    ]
    assert [host.name for host in there.planned(3).all] == ["n1", "n2", "n3"]
    assert there._facts("run", [], [])["missing"] == {"n9": "it does not answer"}
    with pytest.raises(CampaignError, match="4 client hosts requested, 3 available"):
        there.planned(4)


def test_more_than_may_be_missing_is_refused_as_without_the_option(contacted: list[str]) -> None:
    found = spare("n1", "n9", "m9", "n2", missing=1).reached()
    assert [(one.name, one.needed) for one in found if not one.ok] == [("hosts n9, m9", True)]


def test_a_server_is_left_out_only_if_the_campaign_says_how_many_there_are(contacted: list[str]) -> None:
    assert [one.needed for one in spare("s9", "s1", role="storage", missing=1).reached() if not one.ok] == [
        True
    ]
    chosen = spare("s9", "s1", "s2", role="storage", missing=1, servers=1)
    assert [one.needed for one in chosen.reached() if not one.ok] == [False]
    assert [host.name for host in chosen.planned(0).all] == ["s1"]
    assert [
        one.needed for one in spare("m9", "m1", role="management", missing=1).reached() if not one.ok
    ] == [True]
