"""Clusters that others run, by what their tools printed: whole, degraded, unknown."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perjoule.filesystems._attached import ceph
from perjoule.filesystems._attached.ceph import CephTable
from perjoule.model import ClusterState, Redundancy
from perjoule.model.cluster_state import changes
from perjoule.model.errors import WorkloadError
from places import TESTS
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
    with pytest.raises(WorkloadError, match="unexpected output"):
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


TABLE = CephTable(kind="ceph", keyring="/home/me/keyring", user="client.me")


def test_the_pool_is_that_of_the_folder_and_only_questions_are_asked() -> None:
    client = Client(0, (PRINTED / "ceph-healthy.txt").read_text(), "cephfs_metadata")
    state = TABLE.state(client, Path("/mnt/me"))
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
        TABLE.state(client, Path("/mnt/me"))
    assert replace(TABLE, pool="cephfs_data").state(client, Path("/mnt/me")).lacks == ""


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
        TABLE.state(Client(code, printed), Path("/mnt/me"))
