"""What all deployments have in common, on hosts that only pretend."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Host, Hosts, Process
from perjoule.filesystems import _deployment
from perjoule.filesystems._daemons import Daemon
from perjoule.filesystems._deployment import Deployment
from perjoule.filesystems._options import Deployed
from perjoule.model import OPTIONS, Json, Redundancy
from perjoule.model.errors import (
    CampaignError,
    DaemonEnded,
    MachineError,
    MountFailed,
    MountLost,
    NotAble,
    RedundancyLost,
    TransientError,
    WorkloadError,
)
from perjoule.testbeds._machine import ThisMachine
from scripted import ScriptedHost, ScriptedProcess
from typed import as_written


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Made(Deployed):
    """A made-up file system."""

    copied_by_client = True

    def redundancy(self, hosts: Hosts) -> Redundancy:
        return Redundancy()

    def deployment(self, hosts: Hosts) -> "Mounted":
        return Mounted(self, hosts)


class Mounted(Deployment[Made]):
    kind = "made"
    user = group = "nobody"

    def serve(self) -> None:
        for host in self.bearers:
            self.furnish(host)
            self.start(host, "served", ["served"])

    def attach(self, client: Host, place: Path) -> Daemon | None:
        return self.start(client, "client", ["client"])

    def report(self) -> dict[str, Json]:
        return {"version": "1"}

    def locate(self, path: Path) -> tuple[str, ...]:
        return self.data_hosts


class Machine(ScriptedHost):
    """Its client ends at once when it is `refused`, never when it is `stuck`; its user reaches nothing
    when it is `closed`.
    """

    def __init__(
        self, name: str, *, refused: bool = False, closed: bool = False, stuck: bool = False
    ) -> None:
        super().__init__(name)
        self.refused, self.closed, self.stuck = refused, closed, stuck
        self.processes: list[ScriptedProcess] = []

    def starts(self, words: Sequence[str], log: Path) -> Process:
        said = (
            "Permission denied" if words == ["client"] and self.refused else f"{words[0]}: account is locked"
        )
        self.processes.append(ScriptedProcess(1 if "denied" in said else None, said))
        return self.processes[-1]

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        if words[0] == "umount" and not self.stuck:
            for process in self.processes:
                process.code = 0
        return int((words[0] == "mountpoint" and self.refused) or (words[0] == "setpriv" and self.closed)), ""


def hosts(scale: float = 1.0, **options: Any) -> Hosts:
    return Hosts((Machine("storage-1"), Machine("storage-2"), Machine("client-1", **options)), scale)


class Growing(Mounted):
    def join(self, host: Host) -> None:
        assert host is self.bearers[-1]
        self.furnish(host)
        self.start(host, "served", ["served"])


def test_a_host_that_joins_is_cleaned_serves_is_logged_and_goes_with_the_others() -> None:
    all_hosts = hosts()
    one, further, client = all_hosts.all
    deployment = Growing(Made(), all_hosts.without({further.name}))
    assert deployment.data_hosts == (one.name,)
    deployment.up()
    deployment.attach_all()
    deployment.add(further)
    assert deployment.data_hosts == (one.name, further.name)
    assert deployment.hosts.all == (one, client, further)
    assert [log.name for log in deployment.logs] == [
        "storage-1-served.log",
        "client-1-client.log",
        "storage-2-served.log",
    ]
    assert isinstance(further, Machine)
    folder = str(deployment.folder(further))
    cleaned = [words for words in further.ran if words[0] == "rm"]
    assert cleaned == [["rm", "-rf", "--one-file-system", "--", folder]]
    deployment.down()
    assert further.processes[0].code is not None
    assert len([words for words in further.ran if words[0] == "rm"]) == 2


def test_a_file_system_that_can_not_grow_says_so() -> None:
    with pytest.raises(NotAble, match=r"^storage-3"):
        Mounted(Made(), hosts()).add(Machine("storage-3"))


def test_what_fails_to_come_up_has_the_last_words_and_logs_of_all_daemons() -> None:
    with pytest.raises(TransientError) as failure, Made().mount(hosts(refused=True)):
        pass
    told = str(failure.value)
    assert told.startswith("client-1: client ended with exit code 1; it last said: Permission denied; ")
    assert "served on storage-1, storage-2 last said: served: account is locked" in told
    assert failure.value.logs["storage-2-served.log"] == "served: account is locked"
    assert set(failure.value.logs) == {"storage-1-served.log", "storage-2-served.log", "client-1-client.log"}


def test_the_end_ends_all_daemons_and_removes_all_folders() -> None:
    held = hosts()
    with Made().mount(held) as mounted:
        mounted.alive()
        assert mounted.logs[0] == Path("/of/storage-1/made/storage-1-served.log")
        assert mounted.directories == {"client-1": Path("/of/client-1/made/closed/mnt")}
    for host in held.all:
        assert isinstance(host, Machine)
        assert all(process.stopped_count for process in host.processes)
        assert host.ran[-1] == ["rm", "-rf", "--one-file-system", "--", f"/of/{host.name}/made"]
    client = held.clients[0]
    assert isinstance(client, Machine)
    assert ["umount", "--force", "--lazy", "/of/client-1/made/closed/mnt"] in client.ran


def test_patience_grows_as_emulated_time_slows() -> None:
    assert as_written(Made, patience="2 s").deployment(hosts(0.1)).daemons.patience_s == 20


def test_hosts_without_a_place_for_data_are_refused_before_anything_is_touched() -> None:
    client = Machine("client-1")
    with pytest.raises(CampaignError, match="no host to store data on"), Made().mount(Hosts((client,))):
        pass
    assert client.ran == []


def test_a_user_who_can_not_reach_the_folders_is_named() -> None:
    held = Hosts((Machine("storage-1", closed=True), Machine("client-1")))
    unreachable = r"made runs as user nobody, which can't reach /of/storage-1; .*chmod o\+x"
    with pytest.raises(MachineError, match=unreachable), Made().mount(held):
        pass


def test_remounting_waits_for_the_end_of_clients_and_starts_others() -> None:
    held = hosts()
    client = held.clients[0]
    assert isinstance(client, Machine)
    with Made().mount(held) as mounted:
        mounted.remount()
        assert [process.code for process in client.processes] == [0, None]
        mounted.alive()


def test_a_mount_that_a_kernel_refuses_is_quoted_unless_a_daemon_has_died() -> None:
    class Kernel(Mounted):
        def attach(self, client: Host, place: Path) -> Daemon | None:
            self.mount(client, place, "made", "server:/", "ro")

    class Refusing(Machine):
        def answers(self, words: Sequence[str]) -> tuple[int, str]:
            return (32 if words[0] == "mount" else 0), ""

    server, client = Machine("storage-1"), Refusing("client-1")
    mounted = Kernel(Made(), Hosts((server, client)))
    mounted.up()
    with pytest.raises(MountFailed, match=r"^client-1"):
        mounted.attach_all()
    assert ["mount", "-t", "made", "-o", "ro", "server:/", "/of/client-1/made/closed/mnt"] in client.ran
    server.processes[0].code = 1
    with pytest.raises(DaemonEnded, match=r"storage-1: served .* 1"):
        mounted.attach_all()


def test_a_log_of_several_daemons_is_kept_once() -> None:
    class Twice(Mounted):
        def serve(self) -> None:
            for _ in range(2):
                self.start(self.bearers[0], "served", ["served"])

    mounted = Twice(Made(), hosts())
    mounted.up()
    mounted.note()
    assert mounted.logs == (Path("/of/storage-1/made/storage-1-served.log"),)


def test_remounting_in_vain_ends_with_the_last_words_of_all_daemons() -> None:
    lasts = (
        r"client-1: client did not end within 60 s; served on storage-1, storage-2 last said: .*; client on "
        r"client-1 last"
    )
    with Made().mount(hosts(stuck=True)) as mounted, pytest.raises(TransientError, match=lasts):
        mounted.remount()


def test_redundancy_that_was_lost_is_reported_although_all_daemons_run() -> None:
    class Degraded(Mounted):
        def lost(self) -> str:
            return "no server on storage-2"

    held = hosts()
    mounted = Degraded(Made(), held)
    mounted.up()
    with pytest.raises(RedundancyLost, match=r"^made: .*storage-2"):
        mounted.alive()


def test_a_mount_without_a_daemon_that_is_gone_is_seen() -> None:
    class Kernel(Mounted):
        def attach(self, client: Host, place: Path) -> Daemon | None:
            """Mount it."""

    held = hosts()
    mounted = Kernel(Made(), held)
    mounted.up()
    mounted.attach_all()
    mounted.alive()
    client = held.clients[0]
    assert isinstance(client, Machine)
    client.refused = True
    with pytest.raises(MountLost, match="client-1: /of/client-1/made/closed/mnt"):
        mounted.alive()


class Storing(Mounted):
    def stores(self, host: Host) -> tuple[Path, ...]:
        return (self.store(host) / "data",)


class Weighed(Machine):
    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        # the first file has two names
        return 0, "5:11 4000\n5:12 96\n5:11 4000\n" if words[0] == "find" else ""


def test_a_failed_disk_is_its_stores_alone_which_come_back_empty_with_their_owner() -> None:
    host = Weighed("storage-1")
    deployment = Storing(Made(), Hosts((host, Machine("client-1"))))
    deployment.serve()
    host.ran.clear()
    assert deployment.held_bytes(host) == 4096
    deployment.kill(host)
    deployment.erase(host)
    deployment.replace(host)
    data = "/of/storage-1/made/data"
    assert host.ran == [
        ["find", data, "-type", "f", "-printf", "%D:%i %s\\n"],
        ["rm", "-rf", "--one-file-system", "--", data],
        ["install", "-d", "-o", "nobody", "-g", "nobody", "-m", "750", data],
    ]
    assert [process.code for process in host.processes] == [-9, None]


def test_folders_that_we_write_run_and_mount_in_are_ours_and_servers_have_rooms_in_them() -> None:
    class Roomy(Mounted):
        def stores(self, host: Host) -> tuple[Path, ...]:
            return (Path("/disk-2/made/data"),)

        def serve(self) -> None:
            for host in self.bearers:
                self.furnish(host, self.folder(host) / "run", *self.stores(host))

    held = hosts()
    deployment = Roomy(Made(), held)
    deployment.up()
    server = held.all[0]
    assert isinstance(server, Machine)
    owners: dict[str, str] = {}
    for words in server.ran:
        if words[0] == "install":
            owners |= dict.fromkeys(words[words.index("750") + 1 :], words[words.index("-o") + 1])
    assert owners.pop("/of/storage-1/made/run") == owners.pop("/disk-2/made/data") == "nobody"
    assert owners == {"/of/storage-1/made": "root", "/disk-2/made": "root"}


def test_a_host_whose_stores_are_not_known_can_not_be_measured() -> None:
    host = Machine("storage-1")
    with pytest.raises(WorkloadError, match="storage-1: the file system has no data here"):
        Mounted(Made(), Hosts((host, Machine("client-1")))).held_bytes(host)


def test_the_kernels_of_servers_cache_data_of_their_own_unless_all_hosts_share_one() -> None:
    apart = Hosts((Machine("storage-1"), Machine("metadata-1"), Machine("client-1")))
    assert [host.name for host in Mounted(Made(), apart).caching] == ["storage-1", "metadata-1"]
    assert Mounted(Made(), dataclasses.replace(apart, machine=ThisMachine())).caching == ()


@pytest.mark.parametrize(
    ("copies_count", "lacks", "doubted"),
    [(2, "storage-2", True), (2, "client-1", False), (1, "storage-1", False)],
)
def test_the_cache_of_zfs_beneath_is_a_doubt_where_it_was_made_and_a_server_can_not_empty_it(
    copies_count: int, lacks: str, doubted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dropping page caches leaves most of it."""
    monkeypatch.setattr(_deployment, "facts", lambda host, place: {})
    monkeypatch.setattr(Machine, "copies_count", copies_count)
    monkeypatch.setattr(
        Machine, "answers", lambda host, words: (int(host.name == lacks and "zinject" in words[-1]), "")
    )
    made = Mounted(as_written(Made, beneath={"kind": "zfs", "mirror": "zfs", "size": "1 GiB"}), hosts())
    made.note()
    assert made.undropped.startswith("what ZFS caches (ARC; zinject") == bool(made.undropped) == doubted
