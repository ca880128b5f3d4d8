"""MooseFS: what the daemons say (recorded from 3.0.117), what they are told, and layouts that can't be."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from perjoule.errors import CampaignError
from perjoule.filesystems import _moosefs_words as words
from perjoule.filesystems.moosefs import MooseFS
from perjoule.model import Flow
from perjoule.protocols import Hosts

SAID = Path(__file__).parents[1] / "transcripts" / "moosefs"


def said(name: str) -> str:
    return (SAID / name).read_text()


def test_copies_of_all_chunks_give_the_hosts_that_hold_a_file() -> None:
    assert words.copies(said("fileinfo.txt")) == {"10.98.0.1", "10.98.0.2"}


def test_a_copy_that_is_not_valid_holds_nothing() -> None:
    assert words.copies("\t\tcopy 1: 10.98.0.1:9422 (status:WRONG VERSION)\n\t\tno valid copies !!!\n") == set()


def test_chunk_servers_tell_their_version_and_space() -> None:
    first, second = words.chunkserver_rows(said("scs.txt"))
    assert first == {"address": "10.98.0.1", "version": "3.0.117", "used_bytes": 14928113664, "total_bytes": 97793294336}
    assert second["address"] == "10.98.0.2"


def test_before_any_chunk_server_is_there_the_list_is_empty() -> None:
    assert words.chunkserver_rows("\n") == []


def test_the_master_tells_version_and_space_of_all() -> None:
    assert words.summary(said("sig.txt")) == {
        "version": "3.0.117",
        "total_bytes": 195586588672,
        "available_bytes": 165730361344,
    }


def test_goal_and_trash_time_are_the_last_number_even_when_the_path_has_a_colon() -> None:
    assert words.last_number(said("getgoal.txt")) == 2
    assert words.last_number("/mnt/a:b: 86400\n") == 86400


def test_only_the_clients_may_mount_and_only_with_the_password() -> None:
    text = words.exports_text(["10.98.0.7", "10.98.0.8"], "secret")
    assert [line.split()[0] for line in text.splitlines()] == ["10.98.0.7", "10.98.0.8"]
    assert all(line.endswith("password=secret") for line in text.splitlines())


def test_a_client_on_a_chunk_servers_host_prefers_that_one_and_others_none() -> None:
    assert words.mount_text("10.98.0.1", "secret", "auto", "B").splitlines()[-1] == "mfspreflabels=B"
    assert "mfspreflabels" not in words.mount_text("10.98.0.1", "secret", "auto")


def test_options_are_read_as_people_write_them() -> None:
    options = MooseFS(**{"goal": 2, "trash": "24 h", "metalogger": True})
    assert (options.goal, options.trash_s, options.metalogger) == (2, 86400.0, True)
    assert MooseFS(**{"trash": "0 s"}).trash_s == 0


@pytest.mark.parametrize("wrong", [{"goal": 0}, {"goal": 10}, {"trash": 24}, {"trash": "-1 h"}, {"goals": 2}])
def test_wrong_options_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        MooseFS(**wrong)


def test_more_copies_than_chunk_servers_are_refused_before_anything_is_started() -> None:
    with (
        pytest.raises(CampaignError, match="goal = 2 wants 2 chunk servers, but the testbed has 0 storage hosts"),
        MooseFS(goal=2).mount(Hosts(())),
    ):
        pass


def test_chunks_with_too_few_copies_are_background_work() -> None:
    assert words.chunk_work(said("sic-undergoal.txt")) == "chunks with too few copies: 3"
    assert words.chunk_work("all chunks matrix:\tchunkclass stable:\t4\nall chunks matrix:\tchunkclass undergoal:\t0\n") == ""


def test_a_chain_of_chunk_servers_passes_on_all_copies_but_the_first() -> None:
    explained = MooseFS(goal=3).amplification(Hosts(()))
    assert explained.write == Flow(client_sent_ratio=1, storage_received_ratio=3, storage_sent_ratio=2, disk_written_ratio=3)
    assert explained.read == Flow(client_received_ratio=1, storage_sent_ratio=1, disk_read_ratio=1)
