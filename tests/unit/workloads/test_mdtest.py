"""mdtest: its table of ranks is read rightly, and what lacks in it is missed."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import Workload
from perjoule.model import Json
from perjoule.model.errors import MovedTooLittle, UnexpectedOutput, WorkloadError
from perjoule.workloads import mdtest as driver
from places import TRANSCRIPTS

SAID = TRANSCRIPTS / "mdtest"


def mdtest(**options: Json) -> Workload:
    made = drivers.build("workloads", "mdtest", {"files": 50, "ranks": 2, **options})
    assert isinstance(made, Workload)
    return made


@pytest.mark.parametrize(
    ("operation", "direction"), [("create", "write"), ("stat", "read"), ("remove", "write")]
)
def test_a_raw_folder_gives_the_operations_of_each_client(operation: str, direction: str) -> None:
    load = mdtest(operation=operation)
    outcome = load.outcome(SAID / operation)
    assert outcome.engine == "mdtest-4.1.0+dev"
    assert load.directions == (direction,)
    assert [(r.host, r.direction, r.operations_count, r.moved_bytes) for r in outcome.results] == [
        ("client-1", direction, 100, 0),
        ("client-2", direction, 100, 0),
    ]
    assert all(r.ended_s > r.began_s for r in outcome.results)


def test_the_window_is_from_the_last_rank_ready_to_the_last_operation() -> None:
    outcome = mdtest().outcome(SAID / "create")
    clock = json.loads((SAID / "create" / "run.json").read_text())["clock"]
    moments = [line for line in (SAID / "create" / "mdtest.log").read_text().splitlines() if line[:1] == "1"]
    assert len(moments) == 4
    assert outcome.began_s - clock["monotonic_s"] == pytest.approx(
        float(max(moments)) - clock["utc_s"], abs=1e-6
    )
    took_s = [
        took
        for _, took in driver.ranks((SAID / "create" / "ranks.csv").read_text(), "File creation").values()
    ]
    assert outcome.results[1].ended_s - outcome.began_s == pytest.approx(max(took_s[2:]))


def test_clocks_that_were_set_during_the_run_are_doubts(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(SAID / "create", raw)
    older = json.loads((raw / "run.json").read_text())
    clock, ahead_s = older["clock"], {"client-1": [0.0, 0.0], "client-2": [0.25, -0.75]}
    set_back = {**clock, "utc_s": clock["utc_s"] - 3.0}
    (raw / "run.json").write_text(
        json.dumps({"clients": older["clients"], "clocks": [clock, set_back], "ahead_s": ahead_s})
    )
    outcome = mdtest().outcome(raw)
    assert outcome.doubts[:2] == (
        "the clock of client-2 was set by -1 s during the run: its times are uncertain by as much",
        "the clock was set by +3 s during the run: starts and ends are uncertain by as much",
    )
    (raw / "run.json").write_text(json.dumps({**older, "ahead_s": {"client-1": 0.0, "client-2": 0.25}}))
    assert mdtest().outcome(raw).results == outcome.results


def test_a_brief_run_gives_a_doubt() -> None:
    (doubt,) = mdtest(operation="stat").outcome(SAID / "stat").doubts
    assert doubt.startswith("a client ran only ")


def test_fewer_operations_than_asked_are_a_failure() -> None:
    with pytest.raises(MovedTooLittle, match=r"client-1: rank 0 .*50 of 60"):
        mdtest(files=60).outcome(SAID / "create")


@pytest.mark.parametrize("name", ["mdtest.log", "ranks.csv", "run.json"])
def test_a_raw_folder_with_a_torn_file_is_refused(name: str, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    shutil.copytree(SAID / "create", raw)
    text = (raw / name).read_text()
    (raw / name).write_text(text[: len(text) // 3])
    with pytest.raises(WorkloadError):
        mdtest().outcome(raw)


def test_the_requested_phase_is_the_one_that_is_read() -> None:
    with pytest.raises(UnexpectedOutput):
        mdtest(operation="stat").outcome(SAID / "create")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [({"reorder": True}, 'reorder is for operation "stat"'), ({"files": 0}, "greater than or equal to 1")],
)
def test_the_impossible_is_refused_in_a_sentence(options: Mapping[str, Json], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        mdtest(**options)
