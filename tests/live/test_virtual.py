"""Virtual hosts, for real: namespaces, caps, counters, and that nothing is ever left behind."""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack
from math import nan
from pathlib import Path

import pytest

from perjoule import drivers
from perjoule.drivers.protocols import Host, Hosts, Meter, Sink
from perjoule.drivers.protocols.disks import disk_folder, disks_count
from perjoule.drivers.protocols.networks import cluster_address
from perjoule.model import Channel, Json
from perjoule.model.errors import MachineError, TransientError, WorkloadError
from perjoule.testbeds import _format
from perjoule.testbeds.virtual import Virtual, cgroup, clean, kept, mark, runs
from perjoule.testbeds.virtual.holder import joining
from typed import as_written, present

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("work")]

OWNER = """
import sys
from perjoule.testbeds.virtual import Virtual
with Virtual(disk=sys.argv[1], servers=2, cpu_cap=False).hold(1, keep=sys.argv[2] == "keep") as hosts:
    hosts.clients[0].spawn(["sleep", "600"], log=hosts.clients[0].directory / "log")
    print("up", flush=True)
    sys.stdin.read()
"""


def bed(**options: Json) -> Virtual:
    return as_written(Virtual, **{"servers": 2, "cpu_cap": False, "disk": "directory", **options})


@pytest.fixture(scope="module")
def hosts() -> Generator[Hosts]:
    with bed(disk="xfs", disk_size="400 MiB", scale=0.1).hold(1) as held:
        yield held


@pytest.fixture
def client(hosts: Hosts) -> Host:
    return hosts.clients[0]


@pytest.fixture
def server(hosts: Hosts) -> Host:
    return hosts.by_role("storage")[0]


def leftovers(run: str) -> list[str]:
    """Everything on this machine that bears the name of a run, found by other means than `clean` uses."""
    found = [
        f"{folder}/{name}"
        for root in ("/sys/fs/cgroup", "/run/perjoule")
        for folder, folders, files in os.walk(root)  # which passes over what other tests remove meanwhile
        for name in (*folders, *files)
        if run in name
    ]
    found += [str(path) for path in mark.work_root().glob(f"*{run}*")]
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if f"pj-{run}" in text:
            found.append(text.replace("\0", " "))
    found += [line for line in Path("/proc/mounts").read_text().splitlines() if run in line]
    loops = subprocess.run(["losetup", "-l", "-n"], capture_output=True, text=True, check=True).stdout
    return found + [line for line in loops.splitlines() if run in line]


def run_of(host: Host) -> str:
    return host.directory.parent.name.removeprefix("pj-")


def owner(disk: str, mode: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen([sys.executable, "-c", OWNER, disk, mode], stdin=-1, stdout=-1, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def kill(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


def run_of_owner(process: "subprocess.Popen[str]") -> str:
    return next(run.id for run in runs.runs() if run.alive() and run.lock.read_text() == str(process.pid))


def test_a_process_that_joins_a_host_while_it_is_taken_down_is_ended_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between its start and its program's, a process bears neither our mark nor a group."""
    seen = cgroup.Groups.pids
    before = iter([set[int]()])  # it has not joined when they are first counted
    monkeypatch.setattr(cgroup.Groups, "pids", lambda groups: next(before, seen(groups)))
    with bed().hold(1) as hosts:
        run = run_of(hosts.clients[0])
        late = subprocess.Popen(
            [*joining(cgroup.groups(run), "client-1"), "sh", "-c", "echo; exec sleep 600"], stdout=-1
        )
        assert late.stdout is not None
        late.stdout.readline()  # it has joined
        late.stdout.close()
    assert late.wait(timeout=5) == -signal.SIGKILL
    assert leftovers(run) == []


def test_a_host_has_its_own_name_network_and_processes(client: Host) -> None:
    assert client.run(["hostname"], timeout_s=5).stdout == "client-1\n"
    assert client.address in client.run(["ip", "-4", "addr", "show", "dev", "eth0"], timeout_s=5).stdout
    assert int(client.run(["sh", "-c", "echo $$"], timeout_s=5).stdout) < 1000


def test_hosts_of_the_catalogue_have_their_roles(hosts: Hosts) -> None:
    assert [host.name for host in hosts.all] == [
        "storage-1",
        "storage-2",
        "metadata-1",
        "management-1",
        "client-1",
    ]
    assert hosts.metadata.name == "metadata-1"
    assert all(host.node is not None and host.node.role == host.role for host in hosts.all)


def test_a_command_gets_its_input_and_environment_and_gives_its_output(client: Host) -> None:
    done = client.run(
        ["sh", "-c", 'cat; echo "$WORD" >&2; exit 3'],
        text="hello",
        env={"WORD": "you"},
        timeout_s=5,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("hello", "you\n", 3)


def test_a_failed_command_is_reported_with_its_message(client: Host) -> None:
    with pytest.raises(WorkloadError, match=r"client-1: .* ended with 2: no such thing"):
        client.run(["sh", "-c", "echo no such thing >&2; exit 2"], timeout_s=5)


def test_a_missing_program_is_reported_even_unchecked(client: Host) -> None:
    with pytest.raises(WorkloadError, match="could not be started"):
        client.run(["no-such-program"], timeout_s=5, check=False)


def running(host: Host, argv: str) -> list[str]:
    """Processes of a host with this argument list."""
    script = 'for f in /proc/[0-9]*/cmdline; do tr "\\0" " " < $f 2> /dev/null; echo; done'
    return [
        line
        for line in host.run(["sh", "-c", script], timeout_s=60).stdout.splitlines()
        if line.strip() == argv
    ]


def test_a_command_that_takes_too_long_is_killed_with_its_children(client: Host) -> None:
    began_s = time.monotonic()
    with pytest.raises(TransientError, match=r"did not end within 0\.3 s: waiting"):
        client.run(["sh", "-c", "echo waiting; setsid sleep 71 & sleep 71"], timeout_s=0.3)
    assert time.monotonic() - began_s < 60
    assert running(client, "sleep 71") == []


def test_a_command_that_leaves_a_daemon_behind_does_not_wait_for_it(client: Host) -> None:
    pid = client.run(["sh", "-c", "setsid sleep 3600 & echo $!"], timeout_s=60).stdout.strip()
    deadline_s = time.monotonic() + 60
    while running(client, "sleep 3600") != ["sleep 3600 "]:  # until then it is still setsid, or sh
        assert time.monotonic() < deadline_s
    client.run(["kill", pid], timeout_s=60)


def test_what_a_command_leaves_behind_is_reaped_by_the_host(client: Host) -> None:
    client.run(["sh", "-c", "sleep 0.01 & sleep 0.01 & exit 0"], timeout_s=5)
    deadline_s = time.monotonic() + 2
    while (
        "Z"
        in client.run(["sh", "-c", "cat /proc/[0-9]*/stat"], timeout_s=5, check=False)
        .stdout.replace("(", " ")
        .split()
    ):
        assert time.monotonic() < deadline_s
    assert client.run(["hostname"], timeout_s=5).stdout == "client-1\n"


def test_a_program_that_continues_is_logged_and_stopped(client: Host) -> None:
    log = client.directory / "logs" / "loop.log"
    program = client.spawn(
        ["sh", "-c", "trap 'echo bye; exit 4' TERM; echo hello; while :; do sleep 0.01; done"], log=log
    )
    while program.output() != "hello\n":
        assert program.returncode is None
    with pytest.raises(TimeoutError):
        program.wait(timeout_s=0.05)
    program.stop()
    assert program.returncode == 4
    assert log.read_text() == "hello\nbye\n"


def test_a_program_that_ignores_sigterm_is_killed(client: Host) -> None:
    program = client.spawn(
        ["sh", "-c", "trap '' TERM; echo on; while :; do sleep 0.01; done"], log=client.directory / "deaf.log"
    )
    while not program.output():
        pass
    program.stop(timeout_s=0.2)
    assert program.returncode == -signal.SIGKILL


def test_files_are_the_same_inside_and_outside(server: Host) -> None:
    server.put("secret", server.directory / "a" / "b", mode=0o600, owner="nobody")
    assert (
        server.run(["stat", "-c", "%a %U", server.directory / "a" / "b"], timeout_s=5).stdout
        == "600 nobody\n"
    )
    assert (server.directory / "a" / "b").read_text() == "secret"
    assert server.read(server.directory / "a" / "b") == b"secret"
    with pytest.raises(WorkloadError, match="No such file"):
        server.read(Path("/no/such/file"))


def test_a_mount_of_one_host_is_seen_by_this_host_alone(server: Host, client: Host) -> None:
    place = client.directory / "mount"
    place.mkdir()
    client.run(["mount", "-t", "tmpfs", "tmpfs", place], timeout_s=5)
    client.put("x", place / "file")
    assert client.read(place / "file") == b"x"
    assert not (place / "file").exists()
    assert server.run(["ls", place], timeout_s=5).stdout == ""


def test_counters_count_what_the_host_does(server: Host, client: Host) -> None:
    before = server.counters(), client.counters()
    server.run(
        ["dd", "if=/dev/zero", f"of={server.directory}/zeros", "bs=1M", "count=4", "oflag=direct"],
        timeout_s=20,
    )
    receiver = server.spawn([sys.executable, "-c", RECEIVE], log=server.directory / "receive.log")
    while receiver.output() != "listening\n":
        assert receiver.returncode is None
    client.run([sys.executable, "-c", SEND, server.address], timeout_s=20)
    receiver.wait(timeout_s=20)
    after = server.counters(), client.counters()
    assert 4 << 20 <= (after[0].disk_written_bytes or 0) - (before[0].disk_written_bytes or 0) < 6 << 20
    assert (
        1 << 20
        <= (after[0].network_received_bytes or 0) - (before[0].network_received_bytes or 0)
        < 1.2 * (1 << 20)
    )
    assert (
        1 << 20 <= (after[1].network_sent_bytes or 0) - (before[1].network_sent_bytes or 0) < 1.2 * (1 << 20)
    )
    assert 0.005 < (after[1].cpu_s or 0) - (before[1].cpu_s or 0) < after[1].t_s - before[1].t_s


RECEIVE = """
import socket
with socket.create_server(("", 5001)) as server:
    print("listening", flush=True)
    s, _ = server.accept()
    while s.recv(65536): pass
"""
SEND = (
    "import socket, sys; s = socket.create_connection((sys.argv[1], 5001)); s.sendall(bytes(1 << 20)); "
    "s.close()"
)


@pytest.mark.alone
def test_reading_counters_is_cheap(hosts: Hosts) -> None:
    best_s = 1.0
    for _ in range(20):
        began_s = time.perf_counter()
        for host in hosts.all:
            host.counters()
        best_s = min(best_s, (time.perf_counter() - began_s) / len(hosts.all))
    assert best_s < 0.0005


@pytest.mark.alone
def test_the_network_is_as_fast_as_the_catalogue_says(server: Host, client: Host) -> None:
    receiver = server.spawn([sys.executable, "-c", RECEIVE], log=server.directory / "rate.log")
    while receiver.output() != "listening\n":
        assert receiver.returncode is None
    assert client.node is not None
    goodput_bytes_per_s = client.node.board.nic_bytes_per_s.value * 0.1
    began_s = time.monotonic()
    client.run([sys.executable, "-c", SEND.replace("1 << 20", "20 << 20"), server.address], timeout_s=30)
    receiver.wait(timeout_s=20)
    assert (20 << 20) / (time.monotonic() - began_s) == pytest.approx(goodput_bytes_per_s, rel=0.15)


@pytest.mark.alone
def test_servers_reach_each_other_in_a_network_of_their_own_at_its_speed_and_count_its_bytes() -> None:
    with bed(scale=0.1, cluster_network=0.5).hold(1) as held:
        first, second = held.by_role("storage")
        assert first.node is not None
        receiver = second.spawn([sys.executable, "-c", RECEIVE], log=second.directory / "rate.log")
        while receiver.output() != "listening\n":
            assert receiver.returncode is None
        before, began_s = second.counters(), time.monotonic()
        send = SEND.replace("1 << 20", "20 << 20")
        first.run([sys.executable, "-c", send, cluster_address(second)], timeout_s=60)
        receiver.wait(timeout_s=20)
        rate = (20 << 20) / (time.monotonic() - began_s)
        received = present(second.counters().network_received_bytes) - present(before.network_received_bytes)
    assert rate == pytest.approx(first.node.board.nic_bytes_per_s.value * 0.1 * 0.5, rel=0.15)
    assert received > 20 << 20


@pytest.mark.parametrize(
    "how", [["oflag=direct"], ["conv=fsync"], []], ids=["direct", "synced", "written back by the kernel"]
)
def test_a_disk_is_no_faster_than_the_catalogue_says(server: Host, how: list[str]) -> None:
    assert server.node is not None
    cap_bytes_per_s = sum(disk.write_bytes_per_s.value for disk in server.node.disks) * 0.1
    began_s = time.monotonic()
    server.run(
        ["dd", "if=/dev/zero", f"of={server.directory}/zeros", "bs=1M", "count=40", *how], timeout_s=30
    )
    server.drop_caches()
    assert (40 << 20) / (time.monotonic() - began_s) < cap_bytes_per_s * 1.1


def test_a_cpu_is_no_faster_than_the_catalogue_says() -> None:
    with bed(cpu_cap=True, scale=0.2, servers=1).hold(1) as held:
        host = held.by_role("storage")[0]
        caps = held.facts["cpu_cap_cores"]
        assert isinstance(caps, dict)
        loop = host.spawn(["sh", "-c", "while :; do :; done"], log=host.directory / "log")
        began = host.counters()
        time.sleep(2)
        ended = host.counters()
        loop.stop()
        used = ((ended.cpu_s or 0) - (began.cpu_s or 0)) / (ended.t_s - began.t_s)
        cap = caps["storage-1"]
        assert isinstance(cap, int | float)
        assert used <= cap * 1.06


class _Board(Sink):
    """Joules and seconds of one host's board, as the meter says them."""

    def __init__(self, host: str) -> None:
        self._host, self.energy_j, self.duration_s = host, 0.0, 0.0

    def append(
        self,
        channel: Channel,
        t_s: float,
        value: float,
        duration_s: float = 0.0,
        asked_s: float = nan,
        arrived_s: float = nan,
    ) -> None:
        if (channel.host, channel.component) == (self._host, "board"):
            self.energy_j += value * duration_s
            self.duration_s += duration_s


@pytest.mark.alone
def test_a_busy_virtual_board_draws_what_the_catalogue_says_of_the_cpu_time_that_it_used() -> None:
    half = ["sh", "-c", "while :; do timeout 0.1 sh -c 'while :; do :; done'; sleep 0.1; done"]
    meter = drivers.build("meters", "modelled", {"rate": "5 Hz"})
    assert isinstance(meter, Meter)
    with bed(cpu_cap=True, scale=0.2, servers=1).hold(1) as held:
        host, seen = held.by_role("storage")[0], _Board("storage-1")
        assert host.node is not None
        board, machine_mips = host.node.board, held.facts["machine_mips_per_core"]
        assert isinstance(machine_mips, float)
        load = host.spawn(half, log=host.directory / "log")
        time.sleep(0.5)
        began = host.counters()
        with meter.record(held, seen):
            time.sleep(3)
        ended = host.counters()
        load.stop()
    use_ratio = (
        ((ended.cpu_s or 0) - (began.cpu_s or 0))
        / (ended.t_s - began.t_s)
        / (board.mips.value * 0.2 / machine_mips)
    )
    assert 0.2 < use_ratio < 0.9  # neither idle nor at its cap, where a wrong capacity would not show
    dynamic_w = seen.energy_j / seen.duration_s - board.idle_w.value
    assert dynamic_w == pytest.approx(board.dynamic_w.value * use_ratio, rel=0.1)


@pytest.mark.parametrize("disk", ["directory", "ext4", "xfs", "btrfs"])
def test_nothing_is_left_when_the_block_ends(disk: str) -> None:
    with bed(disk=disk).hold(2) as held:
        name = run_of(held.all[0])
        server, client = held.bricks[0], held.clients[0]
        client.spawn(["sh", "-c", "trap '' TERM; sleep 600"], log=client.directory / "log")
        server.run(["dd", "if=/dev/zero", f"of={server.directory}/dirty", "bs=1M", "count=20"], timeout_s=30)
        assert leftovers(name)
        began_s = time.monotonic()
    # what is dirty is dropped, nobody waits for programs that do not end
    assert time.monotonic() - began_s < 30
    assert leftovers(name) == []


def test_nothing_is_left_when_the_block_fails() -> None:
    name = ""
    with pytest.raises(ZeroDivisionError), bed(disk="ext4").hold(1) as held:
        name = run_of(held.all[0])
        _ = 1 / 0
    assert leftovers(name) == []


@pytest.mark.usefixtures("cleaning")
def test_two_clusters_side_by_side_do_not_see_each_other() -> None:
    with ExitStack() as stack:
        stack.enter_context(bed(disk="xfs").hold(1))
        first = stack.enter_context(ExitStack())
        one = first.enter_context(bed(disk="xfs").hold(1))
        two = stack.enter_context(bed(disk="xfs").hold(1))
        assert one.all[0].address == two.all[0].address
        name = run_of(one.all[0])
        first.close()  # the second one's namespaces hold copies of the first one's mounts
        assert leftovers(name) == []
        assert two.all[0].run(["hostname"], timeout_s=5).stdout == "storage-1\n"
        assert not any(run_of(two.all[0]) in words for words in clean())
        assert two.all[0].run(["hostname"], timeout_s=5).stdout == "storage-1\n"


@pytest.mark.alone  # any other run would clean what it leaves
@pytest.mark.parametrize("disk", ["directory", "xfs"])
def test_hosts_end_with_a_killed_owner_and_the_rest_is_cleaned(disk: str) -> None:
    process = owner(disk, "run")
    name = run_of_owner(process)
    assert not any(name in words for words in clean())
    kill(process)
    deadline_s = time.monotonic() + 30
    while any(one.mark.run.id == name for one in mark.marked()):
        assert time.monotonic() < deadline_s
    assert any(name in words for words in clean())
    assert leftovers(name) == []


@pytest.mark.usefixtures("cleaning")
def test_a_kept_cluster_survives_its_owner_until_asked() -> None:
    process = owner("xfs", "keep")
    name = run_of_owner(process)
    kill(process)
    try:
        assert not any(name in words for words in clean())
        (found,) = [pids for run, pids in kept().items() if run.id == name]
        assert set(found) == {"switch", "storage-1", "storage-2", "metadata-1", "management-1", "client-1"}
        asked = subprocess.run(
            ["nsenter", "-t", str(found["client-1"]), "-a", "hostname"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert asked.stdout == "client-1\n"
    finally:
        clean(everything=True, run=name)
    assert leftovers(name) == []


@pytest.mark.usefixtures("cleaning")
def test_what_is_not_ours_is_left_alone(tmp_path: Path) -> None:
    run = secrets.token_hex(4)
    folder = tmp_path / f"pj-{run}"  # named like a run's, but where nobody says that a run is
    folder.mkdir()
    words = ["perjoule-host", run, str(folder), f"{folder}/lock", "storage-1", "run"]
    lookalike = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", *words])
    try:
        assert not any(run in words for words in clean())
        assert lookalike.poll() is None
        assert folder.exists()
    finally:
        lookalike.kill()
        lookalike.wait()


@pytest.mark.alone  # no other run may begin meanwhile
def test_a_disk_that_is_too_small_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_format.MAKE, "xfs", ("mkfs.xfs", "-q", "-b", "size=3"))
    before = set(cgroup.runs())
    with pytest.raises(MachineError, match=r"mkfs\.xfs"), bed(disk="xfs").hold(1):
        pass
    assert cgroup.runs() <= before


def test_a_work_folder_that_cannot_be_made_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERJOULE_WORK", "/proc/nowhere")
    with pytest.raises(MachineError, match="PERJOULE_WORK"), bed().hold(1):
        pass


def test_open_files_are_given_back() -> None:
    with bed().hold(1):
        pass
    before = len(list(Path("/proc/self/fd").iterdir()))
    with bed().hold(1) as held:
        held.clients[0].run(["true"], timeout_s=5)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


IN_ANOTHER_ROOT = """
[ "$6" = here ] || mount -t tmpfs tmpfs "${2%/*}"
mkdir -p "$2" && exec 9>"$3" && echo ready && read _
"""


@pytest.mark.alone  # any other run would clean what it leaves
@pytest.mark.parametrize("where", ["elsewhere", "here"])
def test_a_run_whose_files_only_another_root_has_is_left_alone(where: str, tmp_path: Path) -> None:
    """Perjoule in a container or a chroot can share processes with us: its lock can't be seen from here,
    but its marks can.
    """
    name = secrets.token_hex(4)
    folder = tmp_path / f"pj-{name}"
    words = [mark.MARK, name, str(folder), f"{folder}/lock", "storage-1", "run", where]
    argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", IN_ANOTHER_ROOT, *words]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        cleaned = runs.clean(run=name)
        if where == "here":
            assert [words for words in cleaned if name in words]
            assert process.wait(5) == -9
        else:
            assert cleaned == ()
            assert process.poll() is None
            (words,) = [words for words in runs.strangers() if name in words]
            assert "a root of its own" in words
    finally:
        process.kill()
        process.communicate()


def test_each_disk_of_a_host_is_mounted_and_capped_by_itself() -> None:
    testbed = bed(servers=1, disk="xfs", disk_size="400 MiB", disks_apart=True, scale=0.05)
    with testbed.hold(1) as held:
        (server,) = held.by_role("storage")
        places = [disk_folder(server.directory, number) for number in range(disks_count(server))]
        argvs = [["findmnt", "-no", "SOURCE", place] for place in places]
        assert len({server.run(argv, timeout_s=10).stdout for argv in argvs}) == len(places) == 2
        drive = testbed.hardware.nodes[0].disks[0].write_bytes_per_s.value * 0.05 / 2**20  # 7 MiB/s
        for place in places:
            began_s = time.monotonic()
            argv = ["dd", "if=/dev/zero", f"of={place}/file", "bs=1M", "count=24", "oflag=direct"]
            server.run(argv, timeout_s=60)
            assert 24 / (time.monotonic() - began_s) < 1.3 * drive
        before = server.counters().disk_written_bytes
        assert before is not None
        assert before >= 48 * 2**20
    assert not any(place.exists() for place in places)
