"""A Lustre that others run, by what its tools print: whole, without a target, rebuilding, unknown."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from perjoule.filesystems._attached import lustre
from perjoule.filesystems._attached.lustre import LustreTable
from perjoule.model import ClusterState, Redundancy
from perjoule.model.cluster_state import changes
from perjoule.model.errors import UnexpectedOutput, WorkloadError
from places import transcript
from scripted import ScriptedHost

FOLDER = Path("/lustre/storeA/me")
# as lov_tgt_seq_show and `lfs` print them, lustre/lov/lproc_lov.c
OSTS = "OBDS:\n1: DIAS-OST0001_UUID ACTIVE\n2: DIAS-OST0002_UUID ACTIVE\n3: DIAS-OST0003_UUID ACTIVE\n"
MDTS = "MDTS:\n0: DIAS-MDT0000_UUID ACTIVE\n"
PLAIN = "stripe_count:  -1 stripe_size:   4194304 pattern:       raid0 stripe_offset: -1\n"


def printed(name: str) -> str:
    return transcript("attached", f"lustre-{name}.txt")


def state(
    listed: str = OSTS + MDTS,
    answered: str = "",
    *,
    stripes: str = PLAIN,
    readable: str = "",
    retired: Sequence[str] = (),
) -> ClusterState:
    """The state by these answers, and by those of a whole file system of three OSTs."""
    answered = answered or printed("df")
    return lustre.state("lfs 2.15.3\n", listed, answered, stripes, readable, retired=retired, asked_s=1.0)


def test_a_whole_lustre_lacks_nothing_and_counts_nobody() -> None:
    whole = state()
    assert (whole.version, whole.health, whole.lacks, whole.work) == ("Lustre 2.15.3", "whole", "", "")
    assert whole.redundancy == Redundancy(copies_count=1)
    assert whole.parts["DIAS-OST0003"] == "ACTIVE"
    assert whole.facts["stripes"] == [{"count": -1, "bytes": 4194304}]
    assert (whole.written_bytes, whole.read_bytes) == (None, None)


def without(*names: str) -> str:
    """What `lfs df --lazy` prints when targets do not answer: it leaves them out, by its manual."""
    lines = printed("df").splitlines(keepends=True)
    return "".join(line for line in lines if not any(name in line for name in names))


def test_targets_of_a_server_that_is_gone_are_lacking_by_name() -> None:
    lost = state(answered=without("OST0001", "OST0002"))
    assert lost.lacks == "DIAS-OST0001: no answer; DIAS-OST0002: no answer"
    assert lost.health == "degraded"


@pytest.mark.parametrize(
    ("row", "lacks"),
    [
        # as showdf prints them, lustre/utils/lfs.c; the second is of a target that was never reached
        ("DIAS-OST0002_UUID   : Resource temporarily unavailable", "Resource temporarily unavailable"),
        ("OST0002             : Input/output error", "Input/output error"),
    ],
)
def test_a_target_that_fails_says_why(row: str, lacks: str) -> None:
    answered = without("OST0002").replace("DIAS-OST0003_UUID", f"{row}\nDIAS-OST0003_UUID")
    assert state(answered=answered).lacks == f"DIAS-OST0002: {lacks}"


def test_marks_of_targets_are_lacking_if_they_are_about_what_is_stored() -> None:
    """By lfs-df(1), which explains this example: OST0001 rebuilds, OST0002 is read-only besides."""
    listed = "".join(f"{n}: testfs-OST{n:04x}_UUID ACTIVE\n" for n in (0, 1, 2, 6))
    listed += "3: testfs-OST0003_UUID INACTIVE\n0: testfs-MDT0000_UUID ACTIVE\n"
    marked = state(listed, printed("df-marks"))
    assert marked.lacks == (
        "testfs-OST0001: degraded; testfs-OST0002: degraded, read-only; testfs-OST0003: inactive"
    )
    assert marked.parts["testfs-OST0002"] == "ACTIVE, DR"


@pytest.mark.parametrize(
    ("marks", "lacks"),
    [
        (" f", ""),
        (" NSI", ""),
        (" a", ""),
        (" ", ""),  # a state that is only shown with -v
        (" Sf", ""),
        (" D", "DIAS-OST0002: degraded"),
        (" fR", "DIAS-OST0002: read-only"),
        (" ?", "DIAS-OST0002: mark ?"),
        (" n", "DIAS-OST0002: mark n"),
    ],
)
def test_a_mark_that_is_not_known_as_harmless_is_lacking(marks: str, lacks: str) -> None:
    answered = printed("df").replace("storeA[OST:2]", f"storeA[OST:2]{marks}")
    assert state(answered=answered).lacks == lacks


def test_a_deactivated_target_is_lacking_unless_the_campaign_says_that_it_is_for_good() -> None:
    listed, answered = OSTS.replace("OST0002_UUID ACTIVE", "OST0002_UUID INACTIVE") + MDTS, without("OST0002")
    assert state(listed, answered).lacks == "DIAS-OST0002: inactive"
    assert state(listed, answered, retired=["DIAS-OST0002"]).lacks == ""
    assert state(answered=answered, retired=["DIAS-OST0002"]).lacks == "DIAS-OST0002: no answer"


def test_old_releases_title_the_summary_otherwise() -> None:
    listed = "OBDS::\n" + "".join(f"{n}: lustre-OST{n:04x}_UUID ACTIVE\n" for n in range(6))
    listed += "MDTS:\n0: lustre-MDT0000_UUID ACTIVE\n"
    assert state(listed, printed("df-old")).lacks == ""


def test_connections_are_told_where_lctl_may_read_them() -> None:
    readable = printed("imports")
    connected = state(readable=readable)
    assert connected.lacks == ""  # one is idle
    assert connected.parts["DIAS-OST0001"] == "ACTIVE, 192.168.14.178@tcp"
    assert connected.facts["servers"] == ["2.15.3.0"]
    assert state(readable=readable.replace("state: FULL", "state: REPLAY_WAIT")).lacks == (
        "DIAS-OST0001: REPLAY_WAIT"
    )
    twice = readable + readable.replace("state: FULL", "state: DISCONN")
    assert state(readable=twice).lacks == "DIAS-OST0001: DISCONN"  # mounted twice


def test_a_target_that_has_moved_to_another_server_has_changed() -> None:
    readable = printed("imports")
    moved = readable.replace("current_connection: 192.168.14.178", "current_connection: 192.168.14.179", 1)
    assert changes(state(readable=readable), state(readable=moved)) == [
        "DIAS-OST0001: ACTIVE, 192.168.14.178@tcp; later: ACTIVE, 192.168.14.179@tcp"
    ]


def test_what_a_client_has_moved_to_and_from_servers_is_kept() -> None:
    twice = printed("osc-stats") + printed("osc-stats").replace("OST0003", "OST0002")
    assert state(readable=twice).facts["client_bytes"] == {
        "read": 2 * 16_640_163_840,
        "write": 2 * 35_515_823_333,
    }
    assert state().facts["client_bytes"] == {}


def test_a_layout_of_components_keeps_the_stripes_of_each() -> None:
    components = state(stripes=printed("stripes"))
    assert components.facts["stripes"] == [{"count": 0, "bytes": 1048576}, {"count": 1, "bytes": 1048576}]
    assert components.facts["mirrors_count"] == 1


def test_mirrors_of_a_layout_are_no_copies_of_what_is_written_meanwhile() -> None:
    """Lustre's manual on file level redundancy: a write leaves all mirrors but one stale until a resync."""
    mirrored = state(stripes=printed("stripes").replace("lcm_mirror_count: 1", "lcm_mirror_count: 2"))
    assert (mirrored.facts["mirrors_count"], mirrored.redundancy) == (2, Redundancy(copies_count=1))


@pytest.mark.parametrize(
    "answers",
    [
        {"listed": ""},
        {"listed": OSTS},
        {"listed": MDTS},
        {"answered": "lfs: not found\n"},
        {"answered": without("filesystem_summary")},
        {"stripes": "/lustre/storeA/me has no stripe info\n"},
    ],
)
def test_answers_that_are_not_lustres_are_an_error(answers: dict[str, str]) -> None:
    with pytest.raises(UnexpectedOutput, match="lfs"):
        state(**answers)


class Client(ScriptedHost):
    """A client on which a user may run `lfs`, and root also `lctl`."""

    def __init__(self, *, root: bool) -> None:
        super().__init__()
        self.root = root

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        match words:
            case ["lfs", "osts" | "mdts" as what, "/lustre/storeA/me"]:
                return 0, {"osts": OSTS, "mdts": MDTS}[what]
            case ["lfs", "df", "--lazy", "/lustre/storeA/me"]:
                return 5, without("OST0002")  # it ends with the first error of a target
            case ["lfs", "getstripe", "-d", "/lustre/storeA/me"]:
                return 0, PLAIN
            case ["lfs", "--version"]:
                return 0, "lfs 2.15.3\n"
            case ["env", _, "lctl", "get_param", *parameters]:
                assert all(".DIAS-" in parameter for parameter in parameters)
                return (0, printed("imports")) if self.root else (13, "")
            case _:
                raise AssertionError(words)


@pytest.mark.parametrize("root", [False, True])
def test_only_questions_are_asked_and_those_of_root_may_be_refused(root: bool) -> None:
    client = Client(root=root)
    asked = LustreTable().state(client, FOLDER, [])
    assert asked.lacks == "DIAS-OST0002: no answer"
    assert ("192.168.14.178@tcp" in asked.parts["DIAS-OST0001"]) is root
    assert {word for words in client.ran for word in words} & {
        "set_param",
        "setstripe",
        "conf_param",
    } == set()


def test_a_folder_of_no_lustre_is_an_error() -> None:
    class Elsewhere(ScriptedHost):
        """`lfs` that finds nothing."""

    with pytest.raises(WorkloadError, match="lfs osts"):
        LustreTable().state(Elsewhere(), FOLDER, [])


def test_a_long_answer_is_read_in_a_time_that_grows_as_it_does() -> None:
    """Whoever has a host may have its tools print this; with the square of its length it would take hours."""
    assert state(readable=" target: DIAS-OST0001_UUID\n state: FULL\n" * 100_000).lacks == ""
    with pytest.raises(UnexpectedOutput):
        state(stripes="stripe_count: 1 \n" * 100_000)
