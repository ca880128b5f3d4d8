"""Clusters that others run, by what their tools printed: whole, degraded, unknown."""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from documents import TABLES
from perjoule import drivers
from perjoule.drivers.protocols import Host
from perjoule.filesystems._attached import MOST_STATE_BYTES, NamedCluster, ceph, glusterfs, moosefs
from perjoule.filesystems._attached.ceph import CephTable
from perjoule.filesystems.directory import Directory
from perjoule.model import ClusterState, Redundancy
from perjoule.model.cluster_state import changes
from perjoule.model.errors import UnexpectedOutput, WorkloadError
from perjoule.testbeds.local import LocalHost
from places import ROOT, TESTS
from scripted import ScriptedHost

PRINTED = TESTS / "transcripts" / "attached"


def answers(name: str) -> list[Any]:
    """What Ceph 16.2.15 printed to each question."""
    return [json.loads(line) for line in (PRINTED / f"ceph-{name}.txt").read_text().splitlines()]


def state_of(documents: Sequence[Any], pool: str = "cephfs_data") -> ClusterState:
    return ceph.state([json.dumps(document) for document in documents], pool, 1.0)


def changed(change: Callable[[Any, Any], object]) -> ClusterState:
    """The state of a whole cluster after a change of the answers to `status` and `osd dump`."""
    documents = answers("healthy")
    change(documents[0], documents[1])
    return state_of(documents)


def test_a_whole_ceph_lacks_nothing_and_states_version_redundancy_servers_and_bytes() -> None:
    state = state_of(answers("healthy"))
    assert (state.health, state.lacks, state.work) == ("HEALTH_OK", "", "")
    assert state.version.startswith("ceph version 16.2.15 ")
    assert state.redundancy == Redundancy(copies_count=2)
    assert state.parts["osd.0"] == "storage-1, up since map 12, in"
    assert state.parts["monitors"] == "a"
    assert (state.written_bytes, state.read_bytes) == (1024, 0)  # of the pool with files' data alone


def test_an_osd_that_is_down_is_lacking_by_name_and_has_changed() -> None:
    before, after = state_of(answers("healthy")), state_of(answers("osd-down"))
    assert after.lacks == (
        "osd.0 of 6 OSDs down; 7 PGs active+undersized; OSD_DOWN: 1 osds down; "
        "OSD_HOST_DOWN: 1 host (1 osds) down; PG_DEGRADED: Degraded data redundancy: 7 pgs undersized"
    )
    assert "osd.0: storage-1, up since map 12, in; later: storage-1, down, in" in changes(before, after)


def test_what_came_and_went_in_between_is_told_by_the_maps_epoch() -> None:
    """The balancer moved placement groups, or somebody set a flag, and all of it is as before."""
    before = state_of(answers("healthy"))
    after = changed(lambda status, dump: dump.update(epoch=dump["epoch"] + 2))
    assert changes(before, after) == ["osd map: epoch 21; later: epoch 23"]


def test_an_osd_that_went_and_came_back_in_between_is_told_by_name() -> None:
    def bounced(_: Any, dump: Any) -> None:
        dump["osds"][0].update(up_from=24, down_at=22)
        dump.update(epoch=24)

    first, *_ = changes(state_of(answers("healthy")), changed(bounced))
    assert first == "osd.0: storage-1, up since map 12, in; later: storage-1, up since map 24, in"


def warns(code: str, severity: str = "HEALTH_WARN") -> Callable[[Any, Any], object]:
    def change(status: Any, _: Any) -> None:
        status["health"]["status"] = severity
        status["health"]["checks"][code] = {"severity": severity, "summary": {"message": "so it is"}}

    return change


def in_states(**states: int) -> Callable[[Any, Any], object]:
    listed = [{"state_name": name, "count": count} for name, count in states.items()]
    return lambda status, dump: status["pgmap"].update(pgs_by_state=listed)


@pytest.mark.parametrize(
    ("change", "lacks"),
    [
        (warns("TELEMETRY_CHANGED"), ""),
        (warns("OSDMAP_FLAGS"), ""),
        (warns("OF_A_LATER_RELEASE"), "OF_A_LATER_RELEASE: so it is"),
        (warns("MON_DOWN"), "MON_DOWN: so it is"),
        (warns("TELEMETRY_CHANGED", "HEALTH_ERR"), "TELEMETRY_CHANGED: so it is"),
        (lambda status, dump: status["health"].update(status="HEALTH_WARN"), "HEALTH_WARN without a reason"),
        (in_states(**{"active+clean": 31}), "only 31 of 32 PGs report"),
        (
            in_states(**{"active+clean": 30, "active+clean+inconsistent": 2}),
            "2 PGs active+clean+inconsistent",
        ),
        (in_states(**{"active+clean": 31, "unknown": 1}), "1 PGs unknown"),
        (in_states(**{"active+clean": 31, "active+clean+new_to_us": 1}), "1 PGs active+clean+new_to_us"),
        (lambda status, dump: status["pgmap"].pop("pgs_by_state"), "only 0 of 32 PGs report"),
        (lambda status, dump: status["monmap"].update(num_mons=3), "1 of 3 monitors in quorum"),
        (lambda status, dump: status.update(monmap={"mons": [{}, {}]}), "1 of 2 monitors in quorum"),
        (lambda status, dump: dump.update(flags="sortbitwise,pauserd,pausewr"), "flag pauserd; flag pausewr"),
        (lambda status, dump: dump["osds"][3].update({"up": 0, "in": 0}), ""),  # taken out of service
        (lambda status, dump: status.update(of_a_later_release=[{}]), ""),
    ],
)
def test_what_is_not_known_as_harmless_is_lacking(change: Callable[[Any, Any], object], lacks: str) -> None:
    assert changed(change).lacks == lacks


def test_a_scrub_is_work_of_its_own() -> None:
    state = changed(in_states(**{"active+clean": 31, "active+clean+scrubbing+deep": 1}))
    assert (state.lacks, state.work) == ("", "1 PGs active+clean+scrubbing+deep")


def test_an_erasure_coded_pool_has_its_profiles_parts() -> None:
    def coded(_: Any, dump: Any) -> None:
        dump["erasure_code_profiles"]["wide"] = {"k": "8", "m": "3", "plugin": "isa"}
        dump["pools"][1].update(type=3, size=11, erasure_code_profile="wide")

    assert changed(coded).redundancy == Redundancy(data_count=8, parity_count=3)


@pytest.mark.parametrize(
    "change",
    [
        lambda status, dump: status["health"].update(status="HEALTH_FINE"),
        lambda status, dump: dump.pop("epoch"),
        lambda status, dump: status.pop("health"),
        lambda status, dump: status.update(health=None),
        lambda status, dump: status.pop("pgmap"),
        lambda status, dump: dump.update(osds="none"),
        lambda status, dump: dump["osds"][0].pop("up"),
        lambda status, dump: dump["pools"][1].update(type=7),
    ],
)
def test_answers_that_are_not_cephs_are_an_error_and_never_health(
    change: Callable[[Any, Any], object],
) -> None:
    with pytest.raises(UnexpectedOutput):
        changed(change)


def test_a_pool_that_is_not_there_is_named() -> None:
    with pytest.raises(WorkloadError, match='there is no pool "mine"'):
        state_of(answers("healthy"), "mine")


class Client(ScriptedHost):
    """A client with a `ceph` that prints this."""

    def __init__(self, code: int, printed: str, pool: str = "cephfs_data") -> None:
        super().__init__()
        self.code, self.printed, self.pool = code, printed, pool

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        if words[0] == "python3":
            return 0, f"{self.pool}\n"
        return (self.code, self.printed) if words[0] == "ceph" else (0, "")


TABLE = CephTable(keyring="/home/me/keyring", user="client.me")


def test_the_pool_is_that_of_the_folder_and_only_questions_are_asked() -> None:
    client = Client(0, (PRINTED / "ceph-healthy.txt").read_text(), "cephfs_metadata")
    state = TABLE.state(client, Path("/mnt/me"), [])
    assert state.facts["pool"] == {
        "name": "cephfs_metadata",
        "acknowledged_count": 1,
        "placement_groups_count": 16,
        "options": {"pg_autoscale_bias": 4, "pg_num_min": 16, "recovery_priority": 5},
    }
    (asked,) = (words for words in client.ran if words[0] == "ceph")
    assert asked[1:7] == [
        *("--conf", "/etc/ceph/ceph.conf", "--keyring", "/home/me/keyring", "--name", "client.me")
    ]
    assert not {word for command in ceph.COMMANDS for word in command.split()} & {
        "set",
        "add",
        "rm",
        "create",
    }


def test_a_path_that_is_in_no_cephfs_is_an_error_unless_the_campaign_names_a_pool() -> None:
    client = Client(0, (PRINTED / "ceph-healthy.txt").read_text(), "")
    with pytest.raises(WorkloadError, match=r"/mnt/me does not tell its pool; correct path, or name"):
        TABLE.state(client, Path("/mnt/me"), [])
    assert replace(TABLE, pool="cephfs_data").state(client, Path("/mnt/me"), []).lacks == ""


def test_the_layout_of_a_folder_is_looked_for_up_to_the_mount(tmp_path: Path) -> None:
    """On this machine's own file system, which has none."""
    (tmp_path / "below").mkdir()
    printed = subprocess.run(
        [sys.executable, "-c", ceph.POOL_OF, tmp_path / "below"], capture_output=True, text=True, check=True
    )
    assert printed.stdout == ""


@pytest.mark.parametrize(
    ("code", "printed"), [(1, ""), (0, ""), (0, '{"health": {}}\n'), (0, "garbage\n" * 5)]
)
def test_a_ceph_that_does_not_answer_is_an_error(code: int, printed: str) -> None:
    with pytest.raises(WorkloadError, match="ceph"):
        TABLE.state(Client(code, printed), Path("/mnt/me"), [])


def test_a_ceph_conf_that_others_could_write_is_not_given_to_programs(tmp_path: Path) -> None:
    """It says where they write logs, and which libraries they load."""
    folder, host = tmp_path / "of", LocalHost(tmp_path)
    folder.mkdir(mode=0o755)
    conf, link = folder / "ceph.conf", tmp_path / "link"
    conf.touch(mode=0o644)
    link.symlink_to(conf)
    ours, by_link = (replace(TABLE, conf=str(path)) for path in (conf, link))
    for path, mode in ((conf, 0o664), (conf, 0o1666), (folder, 0o775), (folder, 0o757)):
        before = path.stat().st_mode
        path.chmod(mode)
        for table in (ours, by_link):
            with pytest.raises(
                WorkloadError, match=f"not safe to use: {path} can be written to by other users"
            ):
                table.state(host, Path("/mnt/me"), [])
        path.chmod(before)
    folder.chmod(0o1777)  # where others can't replace what is ours
    for table in (ours, by_link):
        table.require_guarded(host)
    conf.unlink()
    with pytest.raises(WorkloadError, match="No such file"):
        ours.require_guarded(host)


@pytest.mark.parametrize("path", ["ceph.conf", "/etc/../home/me/ceph.conf"])
def test_a_ceph_conf_is_named_wherever_a_program_runs(path: str) -> None:
    with pytest.raises(ValidationError, match="write an absolute path"):
        CephTable(keyring="/home/me/keyring", conf=path)


@pytest.mark.parametrize("kind", ["pool", "image", "bucket", "directory"])
def test_a_campaign_names_no_ceph_conf_that_could_lie_beside_it(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names libraries that Ceph's programs load."""
    further = {
        "directory": {"path": "/mnt"},
        "bucket": {"endpoint": "http://a:1", "bucket": "lab", "credentials": "/k"},
    }

    def built(conf: str) -> None:
        table = {"conf": conf, "keyring": "/home/me/keyring", "pool": "lab"}
        drivers.build("filesystems", kind, {**further.get(kind, {}), "ceph": table}, to_run=True)

    monkeypatch.delenv("PERJOULE_PROGRAMS", raising=False)
    for conf in ("/home/me/campaign/ceph.conf", "/tmp/ceph.conf", "/proc/self/cwd/ceph.conf"):
        with pytest.raises(ValidationError, match="a campaign may name only one below /etc"):
            built(conf)
    built("/etc/ceph/lab.conf")
    monkeypatch.setenv("PERJOULE_PROGRAMS", "/home/me")
    built("/home/me/campaign/ceph.conf")


def gluster_answers(**changed: str) -> dict[str, str]:
    """What GlusterFS 10.3 printed to a client without root; of pending heals it says nothing."""
    files = {name: f"gluster-{name}.xml" for name in ("info", "status", "clients", "peers")}
    return {
        name: (PRINTED / file).read_text()
        for name, file in {**files, "heal": "gluster-heal-refused.xml", **changed}.items()
    }


def gluster_state(
    answered: Mapping[str, str] | None = None,
    *,
    heal_unknown: bool = True,
    loading: Sequence[str] = ("10.99.0.8",),
) -> ClusterState:
    """The state by these answers, and by those of a whole volume."""
    printed = {**gluster_answers(), **(answered or {})}
    return glusterfs.state(
        "glusterfs 10.3", **printed, loading=loading, heal_unknown=heal_unknown, asked_s=1.0
    )


HEALS = """<cliOutput><healInfo><bricks>
<brick><name>a:/1</name><status>Connected</status><totalNumberOfEntries>{}</totalNumberOfEntries></brick>
<brick><name>a:/2</name><status>Connected</status><totalNumberOfEntries>0</totalNumberOfEntries></brick>
</bricks></healInfo><opRet>0</opRet><opErrno>0</opErrno><opErrstr/></cliOutput>"""


def test_a_whole_gluster_lacks_nothing_but_the_word_on_heals_that_only_root_may_ask() -> None:
    state = gluster_state()
    assert (state.lacks, state.work) == ("", "heals that are pending are unknown")
    assert gluster_state(heal_unknown=False).lacks == "heals that are pending are unknown"
    assert (
        gluster_state({"heal": HEALS.format(0)}).lacks,
        gluster_state({"heal": HEALS.format(0)}).work,
    ) == ("", "")
    assert gluster_state({"heal": HEALS.format(5)}).lacks == "5 files to heal"
    assert gluster_state({"heal": HEALS.format("-")}, heal_unknown=False).lacks == state.work
    assert state.redundancy == Redundancy(data_count=4, parity_count=1)
    assert state.parts["brick 10.99.0.2:/data/storage-1/glusterfs/brick-1"] == "up"
    assert state.parts["option nfs.disable"] == "on"


def test_connections_of_others_are_counted_without_parity_and_those_that_load_are_not() -> None:
    """8 MiB lie in four data parts and one of parity, of 2 MiB each; bricks count headers, too."""
    ours, theirs = gluster_state(), gluster_state(loading=())
    assert ours.written_bytes is not None
    assert theirs.written_bytes is not None
    assert ours.of_others
    assert ours.written_bytes < 64 * 1024
    assert theirs.written_bytes - ours.written_bytes == pytest.approx(8 * 1024**2, rel=0.02)


def test_a_brick_that_is_down_is_lacking_by_name_and_so_is_its_peer() -> None:
    names = {"status": "gluster-status-down.xml", "peers": "gluster-peers-down.xml"}
    down = {name: (PRINTED / file).read_text() for name, file in names.items()}
    state = gluster_state(down)
    brick = "10.99.0.3:/data/storage-2/glusterfs/brick-1"
    assert state.lacks == f"brick {brick} down; peer 10.99.0.3 disconnected"
    assert f"brick {brick}: up; later: down" in changes(gluster_state(), state)


def replaced(name: str, old: str, new: str) -> dict[str, str]:
    answered = gluster_answers()
    assert old in answered[name]
    return {name: answered[name].replace(old, new, 1)}


@pytest.mark.parametrize(
    ("name", "old", "new", "lacks"),
    [
        ("info", "<statusStr>Started", "<statusStr>Stopped", "volume Stopped"),
        (
            "status",
            "<tasks/>",
            "<tasks><task><type>Rebalance</type><statusStr>in progress</statusStr></task></tasks>",
            "Rebalance in progress",
        ),
        (
            "status",
            "<tasks/>",
            "<tasks><task><type>Rebalance</type><statusStr>completed</statusStr></task></tasks>",
            "",
        ),
        (
            "status",
            "<tasks/>",
            "<tasks><task><type>Rebalance</type><statusStr>what</statusStr></task></tasks>",
            "Rebalance what",
        ),
    ],
)
def test_what_a_volume_does_or_is_else_is_lacking(name: str, old: str, new: str, lacks: str) -> None:
    assert gluster_state(replaced(name, old, new)).lacks == lacks


def test_an_arbiter_is_no_copy() -> None:
    info = gluster_answers()["info"]
    for tag, old, new in (("replica", 1, 3), ("arbiter", 0, 1), ("disperse", 5, 0)):
        info = info.replace(f"<{tag}Count>{old}<", f"<{tag}Count>{new}<")
    assert gluster_state({"info": info}).redundancy == Redundancy(copies_count=2)


@pytest.mark.parametrize("name", ["info", "status", "clients", "peers"])
@pytest.mark.parametrize(
    "printed", ["", "garbage", "<cliOutput/>", "<cliOutput><opRet>-1</opRet></cliOutput>"]
)
def test_answers_that_are_not_glusters_are_an_error(name: str, printed: str) -> None:
    with pytest.raises(WorkloadError, match="gluster"):
        gluster_state({name: printed})


def moosefs_state(name: str = "moosefs", loading: Sequence[str] = ("10.99.0.8",)) -> ClusterState:
    return moosefs.state((PRINTED / f"{name}.txt").read_text(), "/mnt/me: 2\n", loading, 1.0)


def test_a_whole_moosefs_has_its_goal_servers_and_nobody_else() -> None:
    state = moosefs_state()
    assert (state.version, state.lacks, state.work) == ("MooseFS 3.0.117", "", "")
    assert state.redundancy == Redundancy(copies_count=2)
    assert state.parts["chunk server 10.99.0.2:9422"] == "version 3.0.117, maintenance_off"
    assert (state.written_bytes, state.read_bytes, state.of_others) == (0, 0, True)


def test_a_moosefs_that_others_have_mounted_does_not_tell_what_they_move() -> None:
    state = moosefs_state(loading=["10.99.0.7"])
    assert (state.written_bytes, state.facts["hosts_of_others"]) == (None, ["10.99.0.8"])


def test_a_chunk_server_that_is_gone_is_lacking_by_address() -> None:
    """Printed by MooseFS 3.0.117 after one of four, with one of two chunks of goal 1, was killed."""
    state = moosefs_state("moosefs-down")
    assert state.lacks == "chunk server 10.99.0.2:9422 disconnected; 1 chunks missing"
    assert any(
        change.startswith("chunk server 10.99.0.2:9422: ") for change in changes(moosefs_state(), state)
    )


@pytest.mark.parametrize(
    ("old", "new", "lacks", "work"),
    [
        ("chunkclass undergoal:|0", "chunkclass undergoal:|3", "3 chunks undergoal", ""),
        ("chunkclass endangered:|0", "chunkclass endangered:|3", "3 chunks endangered", ""),
        ("chunkclass overgoal:|0", "chunkclass overgoal:|3", "", "3 chunks overgoal"),
        ("|1|no errors|ok|", "|1|no errors|damaged|", "disk {disk}: no errors, damaged", ""),
        ("|1|no errors|ok|", "|1|12:00|ok|", "disk {disk}: 12:00, ok", ""),
    ],
)
def test_what_moosefs_says_of_chunks_and_disks_is_told(old: str, new: str, lacks: str, work: str) -> None:
    printed = (PRINTED / "moosefs.txt").read_text()
    assert old in printed
    state = moosefs.state(printed.replace(old, new, 1), "/mnt/me: 2\n", ["10.99.0.8"], 1.0)
    disk = "10.99.0.2:9422:/data/storage-1/moosefs/chunks/"
    assert (state.lacks, state.work) == (lacks.format(disk=disk), work)


@pytest.mark.parametrize(
    "title", ["master info:|master version", "all chunks matrix:|chunkclass", "disks:", "chunk servers:"]
)
def test_answers_that_are_not_moosefss_are_an_error(title: str) -> None:
    printed = (PRINTED / "moosefs.txt").read_text().replace(f"\n{title}", "\nother")
    with pytest.raises(UnexpectedOutput):
        moosefs.state(printed, "/mnt/me: 2\n", [], 1.0)


def test_a_storage_class_without_a_number_is_no_known_redundancy() -> None:
    printed = (PRINTED / "moosefs.txt").read_text()
    assert moosefs.state(printed, "/mnt/me: archive\n", [], 1.0).redundancy is None
    with pytest.raises(WorkloadError, match="mfsgetgoal"):
        moosefs.state(printed, "", [], 1.0)


ENTITIES = '<!DOCTYPE cliOutput [<!ENTITY a "Started">]>\n<cliOutput>'


@pytest.mark.parametrize(
    "ask",
    [
        lambda: gluster_state(
            {"clients": re.sub("bytesRead>.*?<", "bytesRead>much<", gluster_answers()["clients"])}
        ),
        lambda: gluster_state(
            {"clients": re.sub("bytesRead>.*?<", f"bytesRead>{'9' * 5000}<", gluster_answers()["clients"])}
        ),
        lambda: gluster_state(replaced("info", "<cliOutput>", ENTITIES)),
        lambda: moosefs.state((PRINTED / "moosefs.txt").read_text() + "disks:|x\n", "/mnt/me: 2\n", [], 1.0),
    ],
    ids=["no number", "a long number", "entities", "a short row"],
)
def test_an_answer_that_trips_its_reader_is_an_error_about_the_cluster(
    ask: Callable[[], ClusterState],
) -> None:
    with pytest.raises(UnexpectedOutput):
        ask()


@pytest.mark.parametrize(
    "more",
    [{"written_bytes": 10**30}, {"lacks": "x" * MOST_STATE_BYTES}, {"facts": {"ratio": float("nan")}}],
    ids=["a number of no record", "as much as it likes", "NaN"],
)
def test_a_state_that_no_record_could_be_read_with_again_is_refused(more: dict[str, Any]) -> None:
    class Table(CephTable):
        def state(self, host: Host, folder: Path, loading: Sequence[str] = ()) -> ClusterState:
            return replace(state_of(answers("healthy")), **more)

    cluster = NamedCluster(ScriptedHost(), Path("/mnt/me"), Table(keyring="/home/me/keyring"))
    with pytest.raises(UnexpectedOutput, match=r"^client-1: what the cluster says of itself can't be kept"):
        cluster.state()


def test_the_tables_of_the_how_to_name_one_cluster_each() -> None:
    document = (ROOT / "docs" / "how-to" / "production.md").read_text()
    tables = [table for text in TABLES.findall(document) for table in tomllib.loads(text)["filesystem"]]
    named: list[str] = []
    for table in tables:
        options = {key: value for key, value in table.items() if key not in ("kind", "label")}
        assert isinstance(drivers.build("filesystems", table["kind"], options), Directory)
        named += options.keys() - {"path"}
    assert named == ["ceph", "glusterfs", "moosefs", "lustre", "beegfs"]
