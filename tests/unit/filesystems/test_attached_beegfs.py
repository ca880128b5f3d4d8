"""A BeeGFS that others run, by what its tools print: whole, without a target, resyncing, refused."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from perjoule.filesystems._attached import beegfs
from perjoule.filesystems._attached.beegfs import BeegfsTable
from perjoule.model import ClusterState, Redundancy
from perjoule.model.cluster_state import changes
from perjoule.model.errors import UnexpectedOutput, WorkloadError
from places import transcript
from scripted import ScriptedHost

FOLDER = Path("/mnt/beegfs/me")


def printed(name: str) -> str:
    return transcript("attached", f"beegfs-{name}.txt")


def seven(meta: str = "whole", storage: str = "whole", **answers: Any) -> ClusterState:
    """The state by what 7 prints of targets, of a folder whose files lie on four without copies."""
    targets = {"meta": printed(f"7-targets-{meta}"), "storage": printed(f"7-targets-{storage}")}
    given: dict[str, Any] = {
        "version": printed("7-help"),
        "targets": targets,
        "entry": transcript("beegfs", "7-entry-folder.txt"),
        "clients": printed("7-clients"),
        "loading": ["23.174.134.23"],
        "asked_s": 1.0,
    }
    return beegfs.state(**{**given, **answers})


def eight(targets: Mapping[str, str] | None = None, **answers: Any) -> ClusterState:
    """The state by what 8 prints, with all targets well unless others are given."""
    storage = printed("8-targets-storage")
    for lacking, well in (("Needs-resync  Running", "Good          Healthy"), ("Probably-offline", "Online")):
        storage = storage.replace(lacking, well.ljust(len(lacking)))
    given: dict[str, Any] = {
        "version": printed("8-version"),
        "targets": targets or {"meta": printed("8-targets-meta"), "storage": storage},
        "entry": printed("8-entry"),
        "clients": printed("8-clients"),
        "loading": ["10.0.0.8"],
        "asked_s": 1.0,
    }
    return beegfs.state(**{**given, **answers})


def test_a_whole_beegfs_of_7_lacks_nothing_and_states_version_stripes_and_targets() -> None:
    state = seven()
    assert (state.version, state.health, state.lacks, state.work) == ("BeeGFS 7.3.2", "whole", "", "")
    assert state.redundancy == Redundancy(copies_count=1)
    assert state.facts == {"pattern": "RAID0", "chunk_bytes": 512 * 1024, "targets_count": 4}
    assert state.parts == {
        "meta target 201": "Online, Good",
        "meta target 202": "Online, Good",
        "storage target 201": "Online, Good",
        "storage target 202": "Online, Good",
        "layout": "RAID0, chunks of 512 KiB, 4 targets",
    }


def test_a_whole_beegfs_of_8_says_the_same() -> None:
    state = eight()
    assert (state.version, state.health, state.lacks) == ("BeeGFS 8.2.0", "whole", "")
    assert [name for name in state.parts if "target" in name] == [
        *("meta target 1", "storage target 101", "storage target 201", "storage target 301")
    ]
    assert state.facts == {"pattern": "RAID0", "chunk_bytes": 512 * 1024, "targets_count": 4}


@pytest.mark.parametrize(
    ("name", "lacks"),
    [
        ("lost", "meta target 201: Probably-offline, Good"),
        ("offline", "meta target 201: Offline, Needs-resync"),
    ],
)
def test_a_server_that_is_gone_is_lacking_from_when_its_management_notices(name: str, lacks: str) -> None:
    state = seven(meta=name)
    assert (state.health, state.lacks) == ("degraded", lacks)
    assert f"meta target 201: Online, Good; later: {lacks.partition(': ')[2]}" in changes(seven(), state)


def test_targets_that_have_not_reported_yet_are_lacking() -> None:
    """Recorded from 7.4.6 while its servers started, with sizes."""
    targets = {"meta": "7-targets-meta.txt", "storage": "7-targets-starting.txt"}
    state = seven(targets={kind: transcript("beegfs", name) for kind, name in targets.items()})
    assert state.lacks == "; ".join(f"storage target {n}: Probably-offline, Good" for n in (1, 2, 3, 4))


def test_a_target_hides_no_other_of_its_number() -> None:
    both = printed("8-targets-storage").replace("s:301", "s:201") + printed("8-targets-meta")
    assert eight({"meta": printed("8-targets-meta"), "storage": both}).lacks == (
        "storage target 201: Online, Needs-resync; storage target 201: Probably-offline, Good"
    )


@pytest.mark.parametrize("consistency", ["Needs-resync", "resyncing", "Bad", "Some-later-word"])
def test_a_target_that_is_online_but_not_good_is_lacking(consistency: str) -> None:
    """ModeListTargets writes "resyncing" while a resync runs."""
    listed = printed("7-targets-whole").replace("  Good      202", f"  {consistency}      202")
    state = seven(targets={"meta": printed("7-targets-whole"), "storage": listed})
    assert state.lacks == f"storage target 202: Online, {consistency}"


def test_targets_of_8_that_resync_or_may_be_gone_are_lacking() -> None:
    targets = {kind: printed(f"8-targets-{kind}") for kind in ("meta", "storage")}
    assert eight(targets).lacks == (
        "storage target 201: Online, Needs-resync; storage target 301: Probably-offline, Good"
    )


def test_a_kind_without_targets_is_lacking() -> None:
    heads = "\n".join(printed("7-targets-whole").splitlines()[:2])
    assert seven(targets={"meta": printed("7-targets-whole"), "storage": heads}).lacks == "no storage target"


def test_mirrored_files_have_two_copies_and_their_traffic_is_not_told_apart() -> None:
    """The first of two servers sends the second its copy, and counts there as a client."""
    entry = transcript("beegfs", "7-entry-mirrored.txt")
    state = seven(entry=entry)
    assert state.redundancy == Redundancy(copies_count=2)
    assert (state.written_bytes, state.read_bytes) == (None, None)


def test_a_pattern_that_is_not_known_is_no_known_redundancy() -> None:
    assert (
        seven(entry=transcript("beegfs", "7-entry-folder.txt").replace("RAID0", "RAID10")).redundancy is None
    )


def test_clients_that_do_not_load_are_counted() -> None:
    """7 prints six digits of 65 MiB and 627 MiB; 8 prints bytes."""
    of_7, of_8 = seven(), eight()
    assert (of_7.written_bytes, of_7.read_bytes) == (68_157_400, 657_457_000)
    assert (of_8.written_bytes, of_8.read_bytes) == (20 * 1024**2, 10 * 1024**2)
    assert of_7.of_others and of_8.of_others
    nobody = seven(loading=["23.174.134.23", "23.174.134.24"])
    assert (nobody.written_bytes, nobody.read_bytes) == (0, 0)


@pytest.mark.parametrize(("count", "written_bytes"), [("9.99999e+11", 999_999_000_000), ("1e+12", None)])
def test_counts_of_7_that_are_rounded_too_much_are_unknown(count: str, written_bytes: int | None) -> None:
    """Six digits of a terabyte are a megabyte, from which on others are doubted."""
    clients = printed("7-clients").replace("6.81574e+07 [B-wr]", f"{count} [B-wr]")
    state = seven(clients=clients)
    assert state.written_bytes == written_bytes
    assert (state.read_bytes is None) is (written_bytes is None)


def test_clients_that_are_not_told_are_unknown_and_never_none() -> None:
    assert (seven(clients="").written_bytes, eight(clients="").read_bytes) == (None, None)
    assert seven(clients="Communication with storage-1 failed\n").written_bytes is None


def test_an_address_of_ipv6_is_told_from_its_counts() -> None:
    clients = "fd00::1: 9 [sum] 4096 [wr] \nfd00::2: 9 [sum] 8192 [wr] \n"
    assert eight(clients=clients, loading=["fd00::2"]).written_bytes == 4096


@pytest.mark.parametrize("answer", ["version", "entry"])
@pytest.mark.parametrize("garbage", ["", "Unable to connect to management\n"])
def test_answers_that_are_not_beegfss_are_an_error(answer: str, garbage: str) -> None:
    with pytest.raises(UnexpectedOutput):
        seven(**{answer: garbage})
    with pytest.raises(UnexpectedOutput, match="list of targets"):
        seven(targets={"meta": printed("7-targets-whole"), "storage": garbage})


def test_a_target_without_a_state_is_an_error() -> None:
    """ModeListTargets writes one word for both states of a target that the management does not know."""
    listed = printed("7-targets-whole").replace(
        "          Online         Good      202", "  <invalid_value>  202"
    )
    with pytest.raises(UnexpectedOutput, match="list of targets"):
        seven(targets={"meta": listed, "storage": printed("7-targets-whole")})


class Client(ScriptedHost):
    """A client with the tool of a series; clients' bytes are refused unless they are given."""

    def __init__(self, series: int, clients: str = "") -> None:
        super().__init__()
        self.series, self.clients = series, clients

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        match words:
            case ["beegfs-ctl", "--help"]:
                return 0, printed("7-help")
            case ["beegfs", "version"]:
                return 0, printed("8-version")
            case ["beegfs-ctl", "--mount=/mnt/beegfs/me", "--getentryinfo", "/mnt/beegfs/me"]:
                return 0, transcript("beegfs", "7-entry-folder.txt")
            case ["beegfs-ctl", "--mount=/mnt/beegfs/me", "--listtargets", "--state", "--nodetype=meta"]:
                return 0, printed("7-targets-whole")
            case ["beegfs-ctl", "--mount=/mnt/beegfs/me", "--listtargets", "--state", "--nodetype=storage"]:
                return 0, printed("7-targets-offline")
            case ["beegfs", *_, "entry", "info", "--raw", "--retro", "/mnt/beegfs/me"]:
                return 0, printed("8-entry")
            case ["beegfs", *_, "target", "list", "--state", "--node-type=meta"]:
                return 0, printed("8-targets-meta")
            case ["beegfs", *_, "target", "list", "--state", "--node-type=storage"]:
                return 0, printed("8-targets-storage")
            case ["beegfs-ctl", _, "--clientstats", *_] | [
                "beegfs",
                *_,
                "stats",
                "client",
                _,
                _,
                "--raw",
                "--retro",
            ]:
                return (0, self.clients) if self.clients else (1, "")
            case _:
                raise AssertionError(words)


def test_7_is_asked_about_the_mount_of_the_folder() -> None:
    client = Client(7, printed("7-clients"))
    state = BeegfsTable(series=7).state(client, FOLDER, ["23.174.134.23"])
    assert (state.lacks, state.written_bytes) == ("storage target 201: Offline, Needs-resync", 68_157_400)
    assert {words[0] for words in client.ran} == {"beegfs-ctl"}


def test_8_is_asked_at_its_management_and_may_refuse_to_count_clients() -> None:
    client = Client(8)
    table = BeegfsTable(management="10.0.1.1:8010", secret="/home/me/conn.auth", tls=False)
    state = table.state(client, FOLDER, [])
    assert state.lacks.startswith("storage target 201: ")
    assert state.written_bytes is None
    (listed, *_) = (words for words in client.ran if "list" in words)
    assert listed[:6] == [
        *("beegfs", "--mgmtd-addr", "10.0.1.1:8010", "--auth-file", "/home/me/conn.auth", "--tls-disable")
    ]


def test_8_is_asked_as_its_user_has_set_it_up_if_the_campaign_says_nothing() -> None:
    client = Client(8)
    BeegfsTable().state(client, FOLDER, [])
    assert {words[1] for words in client.ran} == {"version", "entry", "target", "stats"}


def test_counts_of_a_tool_that_failed_are_unknown() -> None:
    class Failing(Client):
        """Its tool ends with an error after the clients of some servers."""

        def answers(self, words: Sequence[str]) -> tuple[int, str]:
            code, stdout = super().answers(words)
            return (1 if "stats" in words else code), stdout

    assert BeegfsTable().state(Failing(8, printed("8-clients")), FOLDER, []).written_bytes is None


@pytest.mark.parametrize("options", [{"management": "10.0.1.1:8010"}, {"secret": "/a"}, {"tls": False}])
def test_7_takes_no_options_of_8(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="series = 7 takes management and secret from the mount"):
        BeegfsTable(series=7, **options)


@pytest.mark.parametrize("series", [7, 8])
def test_a_tool_that_cannot_be_asked_is_an_error(series: Any) -> None:
    class Elsewhere(ScriptedHost):
        """A tool that prints nothing."""

    with pytest.raises(WorkloadError):
        BeegfsTable(series=series).state(Elsewhere(), FOLDER, [])


def test_a_count_that_is_no_number_is_an_error() -> None:
    with pytest.raises(UnexpectedOutput):
        seven(clients="10.0.0.8 1.2.3 [B-wr] 0 [sum]\n")
