"""MooseFS: what the daemons say (recorded from 3.0.117 and 4.57.5), what they get, and layouts that can't
be.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule.drivers.protocols import Hosts, Process, WorksInBackground, able
from perjoule.filesystems.moosefs import MooseFS
from perjoule.filesystems.moosefs import parse as words
from perjoule.model import Flow
from perjoule.model.errors import (
    CampaignError,
    MachineError,
    NoAnswer,
    RedundancyLost,
    TransientError,
    UnexpectedOutput,
)
from places import transcript
from scripted import ScriptedHost, ScriptedProcess
from typed import as_written

# of the chunk servers in the transcripts
ADDRESSES = {3: ("10.98.0.1", "10.98.0.2"), 4: ("10.99.0.2", "10.99.0.3")}
BROKEN_OFF = """
-------------------------------- error ---------------------------------
Traceback (most recent call last):
  File "/usr/bin/mfscli", line 2132, in myrecv
TimeoutError: timed out
------------------------------------------------------------------------
"""


def said(name: str, release: int = 3) -> str:
    return transcript("moosefs", "" if release == 3 else "4", name)


@dataclass
class Cluster:
    """Two chunk servers, a master and a client, all of which answer as they were recorded."""

    release: int = 3
    mute: str = ""  # what mfscli says in the place of an answer
    files: dict[str, str] = field(default_factory=dict[str, str])
    told: list[str] = field(default_factory=list[str])
    owner: str = "mfs"  # of the master's data folder

    @property
    def hosts(self) -> Hosts:
        addresses = {"storage-1": ADDRESSES[self.release][0], "storage-2": ADDRESSES[self.release][1]}
        return Hosts(
            tuple(
                Machine(self, name, addresses.get(name, ""))
                for name in (*addresses, "metadata-1", "client-1")
            )
        )


class Machine(ScriptedHost):
    def __init__(self, cluster: Cluster, name: str, address: str) -> None:
        super().__init__(name)
        self.cluster, self.address = cluster, address

    def put(self, content: str | bytes, path: Path, **_: Any) -> None:
        self.cluster.files[path.name] = str(content)

    def starts(self, words: Sequence[str], log: Path) -> Process:
        return ScriptedProcess(None, "mfsmaster daemon initialized properly")

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        self.cluster.told.append(" ".join(words))
        release = self.cluster.release
        match words[0]:
            case "stat":
                return 0, self.cluster.owner
            case "mfsmaster":
                return 0, said("version.txt", release)
            case "mfscli":
                return 0, self.cluster.mute or said("sig.txt", release) + said("scs.txt", release) + said(
                    "sic.txt", release
                )
            case "mfsgetsclass":
                return 0, said("getsclass.txt", release)
            case "mfsgettrashtime":
                return 0, said("gettrashtime.txt", release)
            case "mfsfileinfo":
                return 0, said("fileinfo.txt", release)
            case _:
                return 0, ""


def test_copies_of_all_chunks_give_the_hosts_that_hold_a_file() -> None:
    assert words.copies(said("fileinfo.txt")) == {"10.98.0.1", "10.98.0.2"}


def test_a_copy_that_is_not_valid_holds_nothing() -> None:
    assert (
        words.copies("\t\tcopy 1: 10.98.0.1:9422 (status:WRONG VERSION)\n\t\tno valid copies !!!\n") == set()
    )


def test_chunk_servers_tell_their_version_and_space() -> None:
    first, second = words.chunkserver_rows(said("scs.txt"))
    assert first == {
        "address": "10.98.0.1",
        "version": "3.0.117",
        "used_bytes": 14928113664,
        "total_bytes": 97793294336,
    }
    assert second["address"] == "10.98.0.2"


def test_before_any_chunk_server_is_there_the_list_is_empty() -> None:
    assert words.chunkserver_rows("\n") == []


@pytest.mark.parametrize("release", [3, 4])
def test_the_space_that_clients_see_includes_all_chunk_servers_a_moment_after_they_connect(
    release: int,
) -> None:
    master, servers = said("sig.txt", release), said("scs.txt", release)
    assert words.counts_all(master + servers)
    for earlier in ("97793294336", "0"):  # of one of them, of none
        assert not words.counts_all(re.sub(r"(?<=total space\t)\d+", earlier, master) + servers)


def test_the_master_tells_version_and_space_of_all() -> None:
    assert words.summary(said("sig.txt")) == {
        "version": "3.0.117",
        "total_bytes": 195586588672,
        "available_bytes": 165730361344,
    }


def test_goal_and_trash_time_are_the_last_number_even_when_the_path_has_a_colon() -> None:
    assert words.last_number(said("getgoal.txt")) == 2
    assert words.last_number("/mnt/a:b: 86400\n") == 86400
    assert words.last_number(said("getgoal.txt", 4)) == 2


def test_only_the_clients_may_mount_and_only_with_the_password() -> None:
    text = words.exports_text(["10.98.0.7", "10.98.0.8"], "secret")
    assert [line.split()[0] for line in text.splitlines()] == ["10.98.0.7", "10.98.0.8"]
    assert all(line.endswith("password=secret") for line in text.splitlines())


def test_a_client_on_a_chunk_servers_host_prefers_that_one_and_others_none() -> None:
    assert words.mount_text("10.98.0.1", "secret", "auto", "B").splitlines()[-1] == "mfspreflabels=B"
    assert "mfspreflabels" not in words.mount_text("10.98.0.1", "secret", "auto")


def test_options_are_read_as_people_write_them() -> None:
    options = as_written(MooseFS, **{"goal": 2, "trash": "24 h", "metalogger": True})
    assert (options.goal, options.trash_s, options.metalogger) == (2, 86400.0, True)
    assert "mfsmetalogger" in {check.name for check in options.checks()}
    assert "mfsmetalogger" not in {check.name for check in MooseFS().checks()}
    assert as_written(MooseFS, **{"trash": "0 s"}).trash_s == 0


@pytest.mark.parametrize("wrong", [{"goal": 0}, {"goal": 10}, {"trash": 24}, {"trash": "-1 h"}, {"goals": 2}])
def test_wrong_options_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        as_written(MooseFS, **wrong)


def test_more_copies_than_chunk_servers_are_refused_before_anything_is_started() -> None:
    with (
        pytest.raises(
            CampaignError, match="goal = 2 needs 2 chunk servers, but the testbed has 0 storage hosts"
        ),
        MooseFS(goal=2).mount(Hosts(())),
    ):
        pass


def test_chunks_with_too_few_copies_are_background_work() -> None:
    assert words.chunk_work(said("sic-undergoal.txt")) == "chunks with too few copies: 3"
    assert words.chunk_work(said("sic.txt")) == ""
    surplus = (
        said("sic-undergoal.txt")
        .replace("endangered:\t3", "endangered:\t0")
        .replace("overgoal:\t0", "overgoal:\t3")
    )
    assert words.chunk_work(surplus) == "chunks with too many: 3"
    assert words.chunk_work(surplus, ("missing", "undergoal", "endangered")) == ""  # harms nobody
    lost = said("sic.txt").replace("missing:\t0", "missing:\t2")
    assert words.chunk_work(lost, ("missing", "undergoal", "endangered")) == "chunks with no copy: 2"


def test_chunk_servers_are_uneven_if_more_than_a_percent_and_a_chunk_is_between_them() -> None:
    servers = said("scs.txt")
    first, second = words.chunkserver_rows(servers)
    total_bytes = int(str(first["total_bytes"]))
    allowed_bytes = round(total_bytes * 0.01 + 64 * 1024**2)
    for more_bytes, uneven in ((allowed_bytes - 2**20, False), (allowed_bytes + 2**20, True)):
        used = int(str(second["used_bytes"]))
        lines = [line for line in servers.splitlines() if line.startswith("chunk servers:")]
        fuller = lines[0].replace(
            f"\t{first['used_bytes']}\t{total_bytes}", f"\t{used + more_bytes}\t{second['total_bytes']}"
        )
        assert fuller != lines[0]
        assert bool(words.uneven("\n".join([fuller, *lines[1:]]))) == uneven
    assert words.uneven("") == ""


def test_a_chain_of_chunk_servers_passes_on_all_copies_but_the_first() -> None:
    explained = MooseFS(goal=3).amplification(Hosts(()))
    assert explained.write == Flow(
        client_sent_ratio=1, storage_received_ratio=3, storage_sent_ratio=2, disk_written_ratio=3
    )
    assert explained.read == Flow(client_received_ratio=1, storage_sent_ratio=1, disk_read_ratio=1)


@pytest.mark.parametrize("release", [3, 4])
def test_both_releases_are_brought_up_and_read_alike(release: int) -> None:
    cluster = Cluster(release)
    with MooseFS(goal=2).mount(cluster.hosts) as mounted:
        mounted.alive()
        assert (mounted.facts["goal"], mounted.facts["trash_s"]) == (2, 0)
        assert str(mounted.facts["version"]).startswith(f"{release}.")
        assert mounted.locate(Path("/any")) == ("storage-1", "storage-2")
        assert able(mounted, WorksInBackground).busy() == ""
    assert "mount -o remount,bind,nosymfollow /of/client-1/moosefs/closed/mnt" in cluster.told


@pytest.mark.parametrize(
    ("release", "classes", "limits"),
    [
        (3, ["mfssetsclass 2 MNT"], "2,1,0,0\n"),
        (4, ["mfscreatesclass -M MNT -K 2 goal2", "mfssetsclass goal2 MNT"], "2,1,0,0,4\n"),
    ],
)
def test_each_release_gets_copies_and_limits_in_its_own_format(
    release: int, classes: list[str], limits: str
) -> None:
    cluster = Cluster(release)
    with MooseFS(goal=2).mount(cluster.hosts):
        told = [line.replace("/of/client-1/moosefs/closed/mnt", "MNT") for line in cluster.told]
        assert [line for line in told if "setsclass" in line or "createsclass" in line] == classes
    assert f"CHUNKS_WRITE_REP_LIMIT = {limits}" in cluster.files["mfsmaster.cfg"]


@pytest.mark.parametrize("release", [3, 4])
def test_a_master_that_does_not_answer_has_lost_nothing(release: int) -> None:
    cluster = Cluster(release)
    with MooseFS().mount(cluster.hosts) as mounted:
        halfway = said("sig.txt", release) + said("scs.txt", release).splitlines()[0] + BROKEN_OFF
        for cluster.mute in (said("mute.txt", release), halfway, "\n"):
            with pytest.raises(
                TransientError, match=r"^mfsmaster on metadata-1: did not answer client-1: mfscli last said: "
            ):
                mounted.alive()
            with pytest.raises(NoAnswer, match="client-1"):
                able(mounted, WorksInBackground).busy()


def test_a_number_without_end_is_refused() -> None:
    with pytest.raises(UnexpectedOutput, match="mfsmaster -v: unexpected output: version: 999"):
        words.release(f"version: {'9' * 5000}.0")


@pytest.mark.parametrize(
    "owner", ["root", "UNKNOWN", "", "0", "mfs\nWORKING_USER = root", "mfs WORKING_GROUP", "-x"]
)
def test_what_the_master_calls_its_user_goes_into_no_other_hosts_configuration_unless_it_is_a_name(
    owner: str,
) -> None:
    cluster = Cluster(owner=owner)
    with (
        pytest.raises(MachineError, match="metadata-1: no unprivileged user for MooseFS"),
        MooseFS().mount(cluster.hosts),
    ):
        pass
    assert cluster.files == {}


def test_a_chunk_server_that_the_master_does_not_name_is_lost() -> None:
    cluster = Cluster()
    with MooseFS().mount(cluster.hosts) as mounted:
        cluster.mute = said("sig.txt") + said("scs.txt").splitlines()[0]
        with pytest.raises(RedundancyLost, match="storage-2"):
            mounted.alive()


@pytest.mark.parametrize(
    ("read", "name", "old", "new"),
    [
        (words.chunkserver_rows, "scs.txt", "maintenance_off", "?"),
        (words.chunkserver_rows, "scs.txt", "maintenance_off\t0", "maintenance_off\t0\tnew"),
        (words.chunkserver_rows, "scs.txt", "maintenance_off\t0", "maintenance_off"),
        (words.summary, "sig.txt", "total space", "space"),
        (words.summary, "sig.txt", "avail space\t", "avail space\tsome "),
        (words.chunk_work, "sic-undergoal.txt", "undergoal", "under"),
        (words.copies, "fileinfo.txt", "(status:VALID)", "is VALID"),
        (words.copies, "fileinfo.txt", "copy 2", "EC part 8_0"),
        (words.last_number, "getgoal.txt", "2", "none"),
        (words.release, "version.txt", "version", "release"),
    ],
)
def test_what_is_not_understood_is_refused(read: Any, name: str, old: str, new: str) -> None:
    assert read(said(name)) is not None
    with pytest.raises(UnexpectedOutput):
        read(said(name).replace(old, new))
