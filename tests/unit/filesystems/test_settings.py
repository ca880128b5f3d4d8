"""What is changed from each file system's own settings: on which hosts, with which reason, and that it is
what it gets.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perjoule.drivers.protocols import Hosts, Process
from perjoule.filesystems import nfs
from perjoule.filesystems._deployment import Deployment
from perjoule.filesystems._options import Deployed
from perjoule.filesystems._settings import Setting, as_facts, in_force
from perjoule.filesystems.beegfs import BeeGFS
from perjoule.filesystems.beegfs import parse as beegfs
from perjoule.filesystems.beegfs.versions import ALL
from perjoule.filesystems.cephfs import CephFs
from perjoule.filesystems.glusterfs import GlusterFS
from perjoule.filesystems.moosefs import MooseFS
from perjoule.filesystems.nfs import Nfs
from perjoule.filesystems.orangefs import OrangeFS
from perjoule.filesystems.orangefs import parse as orangefs
from perjoule.filesystems.rados import Rados
from perjoule.filesystems.rbd import Rbd
from perjoule.filesystems.rgw import Rgw
from perjoule.model import Json, Reality
from places import ROOT, transcript
from scripted import ScriptedHost, ScriptedProcess
from typed import as_written

BOARD = {"MASTER_RECONNECTION_DELAY": "1", "DISABLE_OOM_KILLER": "0"}


class MooseHost(ScriptedHost):
    """A host of MooseFS 3.0.117, all of whose programs answer as they were recorded."""

    def __init__(self, name: str, address: str = "") -> None:
        super().__init__(name)
        self.address = address

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        recorded = {
            "mfsmaster": ("version.txt",),
            "mfscli": ("sig.txt", "scs.txt", "sic.txt"),
            "mfsgetsclass": ("getsclass.txt",),
            "mfsgettrashtime": ("gettrashtime.txt",),
        }
        return 0, "mfs" if words[0] == "stat" else "".join(
            transcript("moosefs", name) for name in recorded.get(words[0], ())
        )

    def starts(self, words: Sequence[str], log: Path) -> Process:
        return ScriptedProcess(None, "mfsmaster daemon initialized properly")

    def text(self, name: str) -> str:
        (content,) = (str(content) for path, content in self.files.items() if path.name == name)
        return content


def moose(reality: Reality, **options: Any) -> tuple[Any, Hosts]:
    """Bring MooseFS up, and return its facts and its hosts."""
    storage = (MooseHost("storage-1", "10.98.0.1"), MooseHost("storage-2", "10.98.0.2"))
    hosts = Hosts((*storage, MooseHost("metadata-1"), MooseHost("client-1")), reality=reality)
    with as_written(MooseFS, **options).mount(hosts) as mounted:
        return mounted.facts["changed"], hosts


def test_daemons_of_moosefs_have_its_own_settings_on_real_hosts_and_those_of_a_shared_machine_on_emulated_ones() -> (
    None
):
    realities: dict[Reality, dict[str, str]] = {"real": {}, "emulated": BOARD}
    for reality, wanted in realities.items():
        facts, hosts = moose(reality)
        server, client = hosts.all[0], hosts.clients[0]
        assert isinstance(server, MooseHost) and isinstance(client, MooseHost)
        lines = dict(line.split(" = ") for line in server.text("mfschunkserver.cfg").splitlines())
        assert {name: lines[name] for name in BOARD if name in lines} == wanted
        assert ("mfsallowoomkiller" in client.text("mfsmount.cfg").splitlines()) == bool(wanted)
        assert facts.get("emulation", {}) == ({**BOARD, "mfsallowoomkiller": "set"} if wanted else {})


def test_a_master_that_may_rebalance_and_keep_trash_has_no_setting_for_comparability() -> None:
    facts, hosts = moose("real")
    assert facts == {
        "start": {"REPLICATIONS_DELAY_INIT": "0"},
        "comparability": {
            "CHUNKS_WRITE_REP_LIMIT": "2,1,0,0",
            "CHUNKS_READ_REP_LIMIT": "10,5,0,0",
            "trash time": "0 s",
        },
    }
    master = hosts.metadata
    assert isinstance(master, MooseHost)
    for name in (
        "REPLICATIONS_DELAY_INIT = 0",
        "CHUNKS_WRITE_REP_LIMIT = 2,1,0,0",
        "CHUNKS_READ_REP_LIMIT = 10,5,0,0",
    ):
        assert name in master.text("mfsmaster.cfg").splitlines()
    assert moose("real", rebalance=True, trash="1 h")[0] == {"start": {"REPLICATIONS_DELAY_INIT": "0"}}


def of(filesystem: Deployed, reality: Reality = "real") -> Deployment[Any]:
    roles = ("storage-1", "storage-2", "metadata-1", "client-1")
    return filesystem.deployment(Hosts(tuple(map(ScriptedHost, roles)), reality=reality))


@pytest.mark.parametrize(
    ("filesystem", "changed"),
    [
        (GlusterFS(layout="distributed"), {"start": {"gsyncd": "none"}}),
        (
            OrangeFS(),
            {
                "start": {"ClientRetryLimit": "50", "ClientRetryDelayMilliSecs": "200"},
                "comparability": {"big_writes": "set"},
            },
        ),
        (
            OrangeFS(client="kernel"),
            {"start": {"ClientRetryLimit": "50", "ClientRetryDelayMilliSecs": "200"}},
        ),
        (BeeGFS(), {"comparability": {"connUseRDMA": "false"}}),
        (
            Nfs(),
            {
                "comparability": {"noatime": "set", "Only_Numeric_Owners": "true"},
                "start": {"Graceless": "true"},
            },
        ),
        (
            Nfs(client="fuse"),
            {"comparability": {"Only_Numeric_Owners": "true"}, "start": {"Graceless": "true"}},
        ),
        (Nfs(server="kernel"), {"comparability": {"noatime": "set"}}),
        (Nfs(server="kernel", client="fuse"), {}),
    ],
)
def test_file_systems_that_fit_any_host_have_the_same_settings_on_emulated_ones(
    filesystem: Deployed, changed: dict[str, Json]
) -> None:
    assert as_facts(of(filesystem).changed) == changed
    assert of(filesystem, "emulated").changed == of(filesystem).changed


@pytest.mark.parametrize("filesystem", [CephFs(), Rados(), Rbd(), Rgw()])
def test_no_cluster_of_ceph_on_real_hosts_has_the_settings_of_a_board(filesystem: Deployed) -> None:
    assert "emulation" not in as_facts(of(filesystem).changed)
    board: Any = as_facts(of(filesystem, "emulated").changed)["emulation"]
    assert board.items() >= {"osd_memory_target": "896M", "osd_op_num_shards": "2"}.items()
    assert any(name.startswith("mds_") for name in board) == isinstance(filesystem, CephFs)


def test_the_kernels_client_of_cephfs_has_none_of_the_caches_of_ceph_fuse() -> None:
    for client, cached in (("fuse", True), ("kernel", False)):
        board: Any = as_facts(of(as_written(CephFs, client=client), "emulated").changed)
        assert ("client_oc_size" in board["emulation"]) == cached
        assert ("noatime" in board["comparability"]) != cached


def test_what_the_facts_say_is_what_configurations_and_commands_have() -> None:
    text = nfs.ganesha_text(Path("/srv/export"), Path("/srv/recovery"), ["10.98.0.7"], "4.2")
    assert all(f"{setting.name} = {setting.value};" in text for setting in nfs.GANESHA)
    assert "noatime" in nfs.mount_options("4.2", 2**20, ()).split(",")
    server = orangefs.OrangefsServer(
        "storage-1", "10.98.0.1", Path("/srv"), ("metadata", "data"), Path("/srv")
    )
    lines = [line.strip() for line in orangefs.configuration(OrangeFS(), [server]).splitlines()]
    assert {"ClientRetryLimit 50", "ClientRetryDelayMilliSecs 200"} < set(lines)
    servers = [
        beegfs.server(kind, store=Path("/a"), authentication=Path("/b"), management="10.98.0.1")
        for kind in beegfs.KINDS
    ]
    for text in (*servers, *(series.client("10.98.0.1", Path("/b"), "native") for series in ALL)):
        assert "connUseRDMA = false" in text.splitlines()


def test_a_setting_for_emulation_is_in_force_on_emulated_hosts_alone() -> None:
    settings = (Setting("small", "1", "emulation"), Setting("same", "2", "comparability"))
    hosts = Hosts(())
    for reality, names in (("real", ["same"]), ("simulated", ["same"]), ("emulated", ["small", "same"])):
        assert [setting.name for setting in in_force(settings, replace(hosts, reality=reality))] == names
    assert hosts.reality == "real"


@pytest.mark.parametrize(
    "filesystem",
    [
        CephFs(),
        CephFs(client="kernel"),
        Rbd(),
        Rgw(),
        GlusterFS(layout="distributed"),
        OrangeFS(),
        BeeGFS(),
        Nfs(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_the_reference_lists_every_setting_that_is_changed(filesystem: Deployed) -> None:
    text = (ROOT / "docs" / "reference" / "settings.md").read_text()
    assert [
        one.name for one in of(filesystem, "emulated").changed if one.name.removeprefix("image ") not in text
    ] == []
    assert [
        one.value
        for one in of(filesystem, "emulated").changed
        if one.value not in text and one.place != "client"
    ] == []


def test_the_reference_lists_what_moosefs_has() -> None:
    text = (ROOT / "docs" / "reference" / "settings.md").read_text()
    assert [name for names in moose("emulated")[0].values() for name in names if name not in text] == []
