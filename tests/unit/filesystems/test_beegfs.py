"""BeeGFS: what its tools say (recorded from 7.4.6 and 8.3.1), what its daemons get, and what is refused."""

import os
import re
import subprocess
import tomllib
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from pydantic import ValidationError

from perjoule.drivers.protocols import Hosts
from perjoule.filesystems import _beegfs
from perjoule.filesystems.beegfs import BeeGFS
from perjoule.filesystems.beegfs import client as clients
from perjoule.filesystems.beegfs import parse as words
from perjoule.filesystems.beegfs.cluster import BeegfsCluster
from perjoule.filesystems.beegfs.versions import ALL, EIGHT, SEVEN, ReleaseSeries
from perjoule.model.errors import CampaignError, MachineError, UnexpectedOutput
from places import transcript
from scripted import ScriptedHost

ROOM, SECRET = Path("/srv/beegfs"), Path("/srv/beegfs/auth")

# As `beegfs entry info --raw --retro` of 8 writes it in ctl/internal/cmd/entry/info.go; not recorded.
RETRO = """\
Entry type: file
EntryID: 0-6B018A20-1
Metadata node: node_meta_1 [ID: 1]
Stripe pattern details:
+ Type: RAID0
+ Chunksize: 1048576
+ Number of storage targets: desired: 4; actual: 2
+ Storage targets:
+ 3 @ node_storage_3 [ID: 3]
+ 1 @ node_storage_1 [ID: 1]
Remote Storage Target Details:
+ CoolDown: 0
"""


def beegfs(**options: Any) -> BeeGFS:
    return BeeGFS(**options)


def said(name: str) -> str:
    return transcript("beegfs", name)


class Machine(ScriptedHost):
    """A host that has files and can be given a module; nothing else is needed of it."""

    def __init__(
        self,
        name: str,
        role: str,
        *,
        kernel: str = "one",
        module: bool = False,
        loads: bool = False,
        first_network: bool = False,
        tool: str = "",
        uuids: str = "",
    ):
        super().__init__(name)
        self.role, self.address = role, name
        self._answers = {
            "modprobe": (0 if loads else 1, ""),
            "test": (0 if first_network else 1, ""),
            "bash": (0, f"/opt/beegfs/sbin/{tool}\n" if tool else ""),
            "env": (0, uuids),
        }
        self._files = {"boot_id": kernel, "filesystems": "nodev\tproc\n" + "nodev\tbeegfs\n" * module}

    def read(self, path: Path) -> bytes:
        return self._files[path.name].encode()

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        return self._answers.get(words[0], (1, ""))


def machines(storage_count: int, *, metadata: bool = True) -> Hosts:
    storage = [Machine(f"storage-{n}", "storage") for n in range(1, storage_count + 1)]
    return Hosts((*storage, *([Machine("metadata-1", "metadata")] if metadata else [])))


def test_targets_of_7_come_with_their_states_and_sizes() -> None:
    found = _beegfs.targets(said("7-targets-storage.txt"))
    assert [(target.number, target.well) for target in found] == [(n, True) for n in (1, 2, 3, 4)]
    assert found[0].total_bytes == round(7.8 * 1024**3)
    assert [target.number for target in _beegfs.targets(said("7-targets-meta.txt"))] == [1]


def test_a_target_that_the_management_has_not_heard_of_is_not_well() -> None:
    found = _beegfs.targets(said("7-targets-starting.txt"))
    assert [target.reachability for target in found] == ["Probably-offline"] * 4
    assert not any(target.well for target in found)


def test_targets_of_8_of_both_kinds_are_read_by_their_numbers() -> None:
    found = _beegfs.targets(said("8-targets-capacity.txt"))
    assert [target.number for target in found] == [1, 1, 2, 3]
    assert {target.total_bytes for target in found} == {252 * 1024**3}
    assert not any(target.well for target in found)  # that listing says nothing of it


def test_cells_of_8_may_have_spaces_in_them() -> None:
    table = """\
ID   TYPE     ALIAS             NODE  STORAGE_POOL  REACHABILITY  LAST_CONTACT  CONSISTENCY  SYNC_STATE  CAP_POOL  SPACE
s:7  storage  target_storage_7  s:3   s:1           Online        5s ago        Good         Healthy     Low       270582939648
"""
    (target,) = _beegfs.targets(table)
    assert (target.number, target.well, target.total_bytes) == (7, True, 270582939648)


WIDER = """\
TargetID     Reachability  Consistency   NodeID
       1           Online   Needs resync      1
"""


@pytest.mark.parametrize("wrong", ["", "Management node communication failed: 10.99.0.7\n", WIDER])
def test_what_is_not_a_table_of_targets_is_an_error(wrong: str) -> None:
    with pytest.raises(UnexpectedOutput, match=r"^list of targets"):
        _beegfs.targets(wrong)


def test_a_file_states_its_stripes_in_their_order() -> None:
    assert _beegfs.entry(said("7-entry-file.txt")) == _beegfs.BeegfsEntry(
        "RAID0", 512 * 1024, (1, 2, 3, 4), 1
    )
    assert _beegfs.entry(RETRO) == _beegfs.BeegfsEntry("RAID0", 1024**2, (3, 1), 1)


def test_a_folder_has_a_pattern_but_no_targets() -> None:
    assert _beegfs.entry(said("7-entry-folder.txt")) == _beegfs.BeegfsEntry("RAID0", 512 * 1024, (), 1)


def test_a_mirrored_file_tells_the_groups_of_its_targets() -> None:
    entry = _beegfs.entry(said("7-entry-mirrored.txt"))
    assert entry == _beegfs.BeegfsEntry("Buddy Mirror", 512 * 1024, (101,), 1)
    assert entry.mirrored


@pytest.mark.parametrize(("pattern", "mirrored"), [("raid0", False), ("buddy-mirror", True)])
def test_later_releases_of_8_write_patterns_in_lower_case(pattern: str, mirrored: bool) -> None:
    assert _beegfs.entry(RETRO.replace("RAID0", pattern)).mirrored is mirrored


def test_an_entry_without_a_pattern_is_an_error() -> None:
    with pytest.raises(UnexpectedOutput, match=r"^entry info: .*Unable to find"):
        _beegfs.entry("Unable to find metadata node for path: /nothing\n")


@pytest.mark.parametrize(
    ("name", "count"), [("7-bench-running.txt", 2), ("7-bench-finished.txt", 4), ("8-bench-finished.txt", 3)]
)
def test_the_benchmark_tells_how_far_it_is(name: str, count: int) -> None:
    assert words.finished_count(said(name)) == count


def test_a_benchmark_of_which_nothing_has_ended_is_not_an_error() -> None:
    assert words.finished_count("Server benchmark status:\nRunning:      2\n") == 0
    with pytest.raises(UnexpectedOutput, match=r"^benchmark status"):
        words.finished_count("Storage server storage-1 [ID: 1] not found or not active.\n")


def test_a_server_says_its_version_if_its_build_has_one() -> None:
    assert words.version(said("7-storage.log")) is None  # a build from source
    assert words.version(said("7-storage.log").replace("Version: ", "Version: 7.4.6")) == "7.4.6"


def test_pairs_take_the_owner_of_the_root_directory_as_primary() -> None:
    assert words.groups(4) == {101: (1, 2), 102: (3, 4)}
    assert words.groups(4, first=4) == {101: (1, 2), 102: (4, 3)}


def test_one_metadata_server_has_nobody_to_mirror_it() -> None:
    assert words.groups(1) == {}


@pytest.mark.parametrize("kind", words.KINDS)
def test_a_server_stays_in_the_foreground_and_wants_the_secret(kind: words.Kind) -> None:
    told = words.server(
        kind, store=Path("/srv/store"), authentication=SECRET, management="10.0.0.9"
    ).splitlines()
    assert {
        "runDaemonized = false",
        f"connAuthFile = {SECRET}",
        "sysMgmtdHost = 10.0.0.9",
        "logStdFile = ",
    } <= set(told)


def test_numbers_are_given_before_the_first_start() -> None:
    assert words.identity("storage", 3) == {"nodeNumID": "3\n", "targetNumID": "3\n"}
    assert words.identity("meta", 1) == {"nodeNumID": "1\n"}


def test_the_management_of_8_has_a_database_made_before_it_starts() -> None:
    told = tomllib.loads(EIGHT.management(ROOM / "management", SECRET))
    assert (told["auth-file"], told["db-file"]) == (str(SECRET), str(ROOM / "management" / "mgmtd.sqlite"))
    assert told["tls-disable"]
    start = EIGHT.command("manage", configuration=ROOM)
    assert EIGHT.command("prepare", configuration=ROOM) == (*start, "--init")
    assert SEVEN.command("prepare", configuration=ROOM) == ()


def test_no_target_is_spared_for_lack_of_space() -> None:
    seven = SEVEN.management(ROOM, SECRET)
    eight = tomllib.loads(EIGHT.management(ROOM, SECRET))
    assert (
        len(
            re.findall(
                r"^tune(?:Meta|Storage)(?:Space|Inodes)(?:Low|Emergency)Limit = 0$", seven, re.MULTILINE
            )
        )
        == 8
    )
    limits = {"space-low": "0", "space-emergency": "0", "inodes-low": "0", "inodes-emergency": "0"}
    assert [eight[f"cap-pool-{kind}-limits"] for kind in words.KINDS] == [limits, limits]


def test_both_series_get_the_same_stripes_in_their_own_format() -> None:
    seven, eight = (
        series.command("stripe", chunk_bytes=65536, targets_count=2, pattern=series.mirrored)
        for series in (SEVEN, EIGHT)
    )
    assert seven[2:] == ("--chunksize=65536", "--numtargets=2", "--pattern=buddymirror", "/")
    assert eight[2:] == ("--chunk-size", "65536", "--num-targets", "2", "--pattern", "mirrored", "/")


@pytest.mark.parametrize("name", [name for name in SEVEN.words if name not in ("prepare", "manage", "call")])
def test_both_series_get_every_command_alike(name: str) -> None:
    fields = [set(re.findall(r"\{(\w+)\}", series.words[name])) for series in (SEVEN, EIGHT)]
    assert fields[0] == fields[1]


@pytest.mark.parametrize("series", ALL, ids=lambda series: series.name)
def test_the_secret_itself_is_in_no_argument_list(series: ReleaseSeries) -> None:
    command = series.command(
        "call", management="10.0.0.9", authentication=SECRET, client=ROOM / "client.conf"
    )
    assert command[0] == series.tool
    assert any(str(word) in " ".join(command) for word in (SECRET, ROOM / "client.conf"))
    assert f"connAuthFile = {SECRET}" in series.client("10.0.0.9", SECRET, "native").splitlines()
    assert "tuneFileCacheType = native" in series.client("10.0.0.9", SECRET, "native").splitlines()


def test_a_client_of_7_needs_no_helper_daemon() -> None:
    assert {"logType = syslog", "sysMountSanityCheckMS = 0"} <= set(
        SEVEN.client("10.0.0.9", SECRET, "buffered").splitlines()
    )


def test_a_mounted_file_system_is_empty_and_its_facts_are_those_of_the_file_that_was_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = Machine("client-1", "client")
    cluster = BeegfsCluster(beegfs(), Hosts((*machines(4).all, client)))
    for step in ("_furnish", "_manage", "_prepare", "_wait_well", "wait_listening", "targets"):
        monkeypatch.setattr(cluster, step, lambda *_: ())
    monkeypatch.setattr(cluster, "_serve", lambda _: Mock(process=Mock(output=lambda: said("7-storage.log"))))
    monkeypatch.setattr(cluster.daemons, "retry", lambda _, action, **__: action())
    cluster.series = SEVEN
    entries = [said("7-entry-file.txt")]  # of a file that is there once
    monkeypatch.setattr(cluster, "ask", lambda command, **_: entries.pop() if command == "entry" else "")
    cluster.serve()
    cluster.configure()
    facts = cluster.report()
    assert (facts["pattern"], facts["chunk_bytes"], facts["stripe_targets_count"]) == ("RAID0", 512 * 1024, 4)
    assert client.ran == [["rm", "--", "/of/client-1/beegfs/closed/mnt/.perjoule"]]


def test_options_are_read_as_people_write_them() -> None:
    options = beegfs(
        **{"chunk": "1 MiB", "targets": 2, "roles": "both", "beneath": {"kind": "xfs", "block": "4 KiB"}}
    )
    assert (options.chunk_bytes, options.targets_count, options.roles) == (1024**2, 2, "both")
    assert options.beneath is not None
    assert options.beneath.block_bytes == 4096
    assert BeeGFS().chunk_bytes == 512 * 1024


@pytest.mark.parametrize(
    "wrong", [{"chunk": 65536}, {"targets": 0}, {"roles": "metadata"}, {"cache": "none"}]
)
def test_wrong_options_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        beegfs(**wrong)


def test_data_is_on_the_storage_hosts_or_on_all_with_disks() -> None:
    separate, both = BeeGFS().deployment(machines(4)), beegfs(roles="both").deployment(machines(3))
    assert [host.name for host in separate.servers["meta"]] == ["metadata-1"]
    assert separate.data_hosts == ("storage-1", "storage-2", "storage-3", "storage-4")
    assert both.servers["meta"] == both.servers["storage"]
    assert both.data_hosts == ("storage-1", "storage-2", "storage-3", "metadata-1")


@pytest.mark.parametrize(
    ("options", "hosts", "said_of_it"),
    [
        ({}, Hosts(()), "no host to store data on; use a testbed with storage hosts"),
        ({"chunk": "96 KiB"}, machines(2), 'not a power of two of 64 KiB at least; set chunk to "64 KiB"'),
        ({"chunk": "4 KiB"}, machines(2), "chunk = 4096 B is not a power of two of 64 KiB at least"),
        (
            {"mirror": True},
            machines(3),
            "needs pairs of hosts, but data would be on 3; use an even number of storage hosts, or try",
        ),
    ],
)
def test_what_can_not_be_is_refused_before_anything_is_started(
    options: dict[str, Any], hosts: Hosts, said_of_it: str
) -> None:
    with pytest.raises(CampaignError, match=re.escape(said_of_it)), beegfs(**options).mount(hosts):
        pass


def test_without_a_tool_of_either_series_nothing_is_started(tmp_path: Path) -> None:
    with (
        pytest.raises(MachineError, match="neither beegfs-ctl nor beegfs is installed; install BeeGFS"),
        beegfs(prefix=str(tmp_path)).mount(machines(2)),
    ):
        pass


def test_what_is_no_path_of_a_tool_names_no_series() -> None:
    hosts = Hosts(tuple(Machine(f"{role}-1", role, tool="motd") for role in ("storage", "metadata")))
    with (
        pytest.raises(MachineError, match="neither beegfs-ctl nor beegfs is installed"),
        beegfs().mount(hosts),
    ):
        pass


def test_mirrors_double_what_servers_receive_and_write() -> None:
    assert BeeGFS().amplification(machines(2)).write.disk_written_ratio == 1
    mirrored = beegfs(mirror=True).amplification(machines(2)).write
    assert (mirrored.client_sent_ratio, mirrored.storage_received_ratio, mirrored.disk_written_ratio) == (
        1,
        2,
        2,
    )


@pytest.mark.parametrize("tool", ["beegfs-ctl", "beegfs"])
def test_a_program_that_is_missing_is_named_and_the_tool_tells_the_series(
    tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (tmp_path / "bin" / tool, tmp_path / "sbin" / "beegfs-meta"):
        place.parent.mkdir()
        place.touch(mode=0o755)
    monkeypatch.setenv(BeeGFS.variable, str(tmp_path))
    checks = {check.name: check for check in BeeGFS().checks()}
    assert checks[tool].ok
    assert checks["beegfs-meta"].detail == str(tmp_path / "sbin" / "beegfs-meta")
    assert not checks["beegfs-storage"].ok
    assert "set PERJOULE_BEEGFS_PREFIX to its prefix" in checks["beegfs-storage"].fix


def test_without_any_tool_both_are_named(tmp_path: Path) -> None:
    assert "beegfs-ctl or beegfs" in {check.name for check in beegfs(prefix=str(tmp_path)).checks()}


def test_the_lack_of_the_module_does_not_keep_the_servers_from_being_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Path, "rglob", lambda *_: iter(()))  # of the folders of the kernel's modules
    (module,) = [check for check in BeeGFS().checks() if check.name == "BeeGFS in the kernel"]
    assert (module.ok, module.needed) == (False, False)
    assert "servers can run, but not be mounted" in module.detail


def test_a_client_without_the_module_is_named_with_what_fixes_it() -> None:
    server, client = Machine("storage-1", "storage", kernel="other"), Machine("client-1", "client")
    assert clients.obstacle(Hosts((server, client))) == (
        "the kernel of client-1 has no module beegfs",
        clients.FIX,
    )
    assert client.ran == [["modprobe", "--dry-run", "--quiet", "beegfs"]]  # nothing is loaded to find out


def test_virtual_hosts_are_refused_because_a_module_would_not_help() -> None:
    hosts = Hosts((Machine("storage-1", "storage"), Machine("client-1", "client")))
    assert clients.obstacle(hosts) == ("the kernel of client-1 has no module beegfs", clients.OWN_KERNEL)
    hosts = Hosts((Machine("storage-1", "storage", module=True), Machine("client-1", "client", module=True)))
    assert clients.obstacle(hosts) == (
        "its clients share a kernel with other hosts, but not an address",
        clients.OWN_KERNEL,
    )


def test_a_client_with_a_kernel_of_its_own_and_the_module_can_mount() -> None:
    server = Machine("storage-1", "storage", kernel="other")
    for client in (Machine("client-1", "client", module=True), Machine("client-1", "client", loads=True)):
        assert clients.obstacle(Hosts((server, client))) == ("", "")


def test_a_client_in_the_first_network_reaches_servers_in_others_of_its_kernel() -> None:
    server = Machine("storage-1", "storage")
    client = Machine("client-1", "client", module=True, first_network=True)
    assert clients.obstacle(Hosts((server, client))) == ("", "")
    assert client.ran == [["test", "-e", "/proc/sys/net/core/netdev_max_backlog"]]
    apart = Machine("client-2", "client", module=True)
    assert clients.obstacle(Hosts((server, client, apart)))[1] == clients.OWN_KERNEL
    without = Machine("client-1", "client", first_network=True)
    assert clients.obstacle(Hosts((server, without)))[1] == clients.FIX


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a network namespace")
def test_only_the_first_network_has_what_tells_it() -> None:
    networks = Path("/proc/sys/net/core")
    listed = subprocess.run(["unshare", "--net", "ls", networks], capture_output=True, text=True, check=True)
    assert clients.FIRST_NETWORK.parent == networks
    assert "somaxconn" in listed.stdout
    assert clients.FIRST_NETWORK.name not in listed.stdout


@pytest.mark.parametrize(
    ("tool", "uuids", "is_refused"),
    [("beegfs", "", True), ("beegfs", "1122-3344\n", False), ("beegfs-ctl", "", False)],
)
def test_servers_of_8_are_refused_where_they_would_find_no_uuid(
    tool: str, uuids: str, is_refused: bool
) -> None:
    servers = [Machine(name, name[:-2], tool=tool, uuids=uuids) for name in ("storage-1", "metadata-1")]
    cluster = BeegfsCluster(beegfs(), Hosts(tuple(servers)))
    refusal = pytest.raises(MachineError, match=r"shows user nobody no UUID.*run blkid")
    with refusal if is_refused else nullcontext():
        cluster.require()
    looks = [words for server in servers for words in server.ran if "blkid" in words]
    assert all("--reuid=nobody" in words for words in looks)  # root would also find what the servers can't
    assert bool(looks) is (tool == "beegfs")
