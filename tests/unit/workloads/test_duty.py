"""Shares of what a file system can: profiles, what fio gets, and what steps leave."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from perjoule import drivers
from perjoule.drivers.protocols import Workload
from perjoule.model import Channel, ClientResult, Json, Outcome, Series, Spec
from perjoule.model.errors import UnexpectedOutput, WorkloadError
from perjoule.model.units import MIB
from perjoule.workloads.duty import Duty, Paced
from perjoule.workloads.duty.profile import LoadStep, profile_steps
from perjoule.workloads.duty.room import found_room_bytes
from scripted import ScriptedHost, ScriptedMount

DAY = """hour,load
0,5 %
8,60 %
18,0.25
22,0
"""


def duty(**options: Json) -> Duty:
    made = drivers.workload(Spec("duty", options, "duty"))
    assert isinstance(made, Duty)
    return made


def test_a_profile_has_a_step_for_each_line_until_the_day_is_over() -> None:
    assert profile_steps(DAY, 2.0) == (
        LoadStep(0.05, 16.0),
        LoadStep(0.6, 20.0),
        LoadStep(0.25, 8.0),
        LoadStep(0.0, 4.0),
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "line 1"),
        ("load,hour\n5 %,0\n", "line 1"),
        ("hour,load\n0,5 %\n8\n", "line 3"),
        ("hour,load\n0,much\n", "line 2"),
        ("hour,load\n8,5 %\n7,5 %\n", "line 3"),
        ("hour,load\n0,5 %\n24,5 %\n", "line 3"),
        ("hour,load\n0,101 %\n", "line 2"),
        ("hour,load\n0,nan\n", "line 2"),
        ("hour,load\n0,0 %\n", "no line with a load"),
    ],
)
def test_a_profile_that_is_none_says_in_which_line(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        profile_steps(text, 1.0)


def fio_at(share: Json, **options: Json) -> Workload:
    made = duty(load=share, duration="10 s", transfer="1 MiB", **options)
    return made.step(0, Paced(80.0 * MIB, 2, 1))


def test_clients_share_the_load_and_their_files_outlast_it() -> None:
    found = vars(fio_at("25 %"))
    assert found["rate_bytes_per_s"] == 10 * MIB  # each
    assert found["duration_s"] == 10
    assert found["size_bytes"] == 2 * 10 * 10 * MIB


def test_at_full_load_nothing_is_held_back() -> None:
    found = vars(fio_at("100 %"))
    assert found["rate_bytes_per_s"] is None
    assert found["burst_bytes"] is None


def test_bursts_are_as_fast_as_can_be_and_pauses_give_the_share() -> None:
    found = vars(fio_at("25 %", burst="500 ms"))
    assert found["rate_bytes_per_s"] is None
    assert found["burst_bytes"] == 20 * MIB  # of half a second at 40 MiB/s
    assert found["pause_s"] == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("df", "du"),
    [("", "1"), ("Avail Size", "1"), ("7\n", "1"), ("7 8", ""), ("7 8", "much"), ("7 8", "9" * 5000)],
)
def test_what_a_client_says_of_its_room_is_a_number_or_an_error_about_it(df: str, du: str) -> None:
    class Filled(ScriptedHost):
        def answers(self, words: Sequence[str]) -> tuple[int, str]:
            return 0, {"df": df, "du": du}[words[0]]

    client = Filled()
    with pytest.raises(UnexpectedOutput, match=r"d[fu] on client-1: unexpected output: "):
        found_room_bytes(client, ScriptedMount(client))


def test_no_load_is_idle() -> None:
    made = duty(load="0 %", duration="10 s")
    assert made.directions == ("idle",)
    assert made.step(0, Paced(80.0 * MIB, 2, 1)).directions == ("idle",)


@pytest.mark.parametrize("left", ['{"full_bytes_per_s": 0, "clients_count": 1, "steps_count": 1}', "{}", ""])
def test_a_damaged_file_is_named(left: str, tmp_path: Path) -> None:
    (tmp_path / "duty.json").write_text(left)
    with pytest.raises(WorkloadError, match="paced load"):
        duty().outcome(tmp_path)


def claimed(folder: Path, number: int, began_s: float, ended_s: float, *moved_bytes: int) -> None:
    """What a simulated load leaves of a step."""
    results = [
        {"host": f"client-{n}", "direction": "write", "began_s": began_s, "ended_s": ended_s}
        | {"moved_bytes": moved, "operations_count": moved, "latency_s": {}}
        for n, moved in enumerate(moved_bytes, start=1)
    ]
    (folder / f"step-{number}").mkdir()
    (folder / f"step-{number}" / "simulated.json").write_text(json.dumps({"results": results, "doubts": []}))


def test_a_profile_counts_from_its_first_step_to_its_last(tmp_path: Path) -> None:
    made = duty(
        engine="simulated", profile={"name": "day.csv", "text": "hour,load\n0,50 %\n12,100 %\n"}, hour="1 s"
    )
    (tmp_path / "duty.json").write_text(
        json.dumps({"full_bytes_per_s": 200, "clients_count": 2, "steps_count": 2})
    )
    claimed(tmp_path, 0, 10.0, 22.0, 600, 600)
    claimed(tmp_path, 1, 22.1, 34.1, 1200, 1200)
    found = made.outcome(tmp_path)
    assert [(r.host, r.began_s, r.ended_s, r.moved_bytes) for r in found.results] == [
        ("client-1", 10.0, 34.1, 1800),
        ("client-2", 10.0, 34.1, 1800),
    ]
    assert found.measured == pytest.approx({"asked_load_ratio": 0.75, "load_ratio": 0.75})
    assert not found.doubts


def test_a_step_without_results_is_named(tmp_path: Path) -> None:
    made = duty(
        engine="simulated", profile={"name": "day.csv", "text": "hour,load\n0,50 %\n12,100 %\n"}, hour="1 s"
    )
    (tmp_path / "duty.json").write_text(
        json.dumps({"full_bytes_per_s": 200, "clients_count": 1, "steps_count": 2})
    )
    claimed(tmp_path, 0, 10.0, 22.0)
    claimed(tmp_path, 1, 22.1, 34.1, 1200)
    with pytest.raises(UnexpectedOutput):
        made.outcome(tmp_path)


def test_errors_are_tolerated_by_the_steps_and_added_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def said(_: object, folder: Path) -> Outcome:
        number = int(folder.name.removeprefix("step-"))
        moved = ClientResult("client-1", "write", 10.0 + number, 11.0 + number, 100, 1)
        return Outcome("fio", (moved,), measured={"event_errors_count": 2.0 + number})

    options = {"profile": {"name": "day.csv", "text": "hour,load\n0,50 %\n12,100 %\n"}, "hour": "1 s"}
    made = duty(tolerate_errors=True, **options)
    paced = Paced(80.0 * MIB, 1, 2)
    assert [made.step(number, paced).tolerate_errors for number in range(2)] == [True, True]
    assert not duty(**options).step(0, paced).tolerate_errors
    monkeypatch.setattr(type(made.step(0, paced)), "outcome", said)
    (tmp_path / "duty.json").write_text(
        json.dumps({"full_bytes_per_s": 200, "clients_count": 1, "steps_count": 2})
    )
    assert made.outcome(tmp_path).measured["event_errors_count"] == 5.0
    assert "event_errors_count" not in duty(**options).outcome(tmp_path).measured
    idle = duty(tolerate_errors=True, engine="simulated", load="50 %")
    (tmp_path / "duty.json").write_text(
        json.dumps({"full_bytes_per_s": 200, "clients_count": 2, "steps_count": 1})
    )
    claimed(tmp_path, 0, 10.0, 22.0, 600, 600)
    assert idle.outcome(tmp_path).measured["event_errors_count"] == 0.0


def test_a_client_has_one_series_over_all_steps_as_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`perjoule verify` reads the raw outputs again, and holds the whole series of a channel against what
    was kept.
    """

    class Said:
        def outcome(self, folder: Path) -> Outcome:
            began_s = 10.0 + float(folder.name.removeprefix("step-"))
            moved = ClientResult("client-1", "read", began_s, began_s + 1, 100, 1)
            channel = Channel("fio", "client-1", "all", "goodput", "B/s", "window mean", "counter")
            return Outcome(
                "fio",
                (moved,),
                series=(Series(channel, *(np.array([x]) for x in (began_s + 1, 1.0, began_s))),),
            )

    monkeypatch.setattr(Duty, "step", lambda *_: Said())
    made = duty(profile={"name": "day.csv", "text": "hour,load\n0,50 %\n12,100 %\n"}, hour="1 s")
    (tmp_path / "duty.json").write_text(
        json.dumps({"full_bytes_per_s": 200, "clients_count": 1, "steps_count": 2})
    )
    (series,) = made.outcome(tmp_path).series
    assert [list(column) for column in (series.t_s, series.duration_s, series.value)] == [
        [11, 12],
        [1, 1],
        [10, 11],
    ]


def test_a_load_that_falls_short_and_time_between_steps_are_doubts(tmp_path: Path) -> None:
    made = duty(
        engine="simulated", profile={"name": "day.csv", "text": "hour,load\n0,50 %\n12,90 %\n"}, hour="1 s"
    )
    (tmp_path / "duty.json").write_text(
        json.dumps({"full_bytes_per_s": 200, "clients_count": 1, "steps_count": 2})
    )
    claimed(tmp_path, 0, 10.0, 22.0, 900)
    claimed(tmp_path, 1, 25.0, 37.0, 1800)
    found = made.outcome(tmp_path)
    assert any("56.2 % of the maximum, instead of 70.0 %" in doubt for doubt in found.doubts)
    assert any("11 % of the window lie between the steps" in doubt for doubt in found.doubts)


@pytest.mark.parametrize(("reached_bytes", "doubted"), [(1990, False), (1200, True)])
def test_a_maximum_that_did_not_last_is_a_doubt(reached_bytes: int, doubted: bool, tmp_path: Path) -> None:
    made = duty(engine="simulated", load="100 %", duration="10 s")
    (tmp_path / "duty.json").write_text(
        json.dumps({"full_bytes_per_s": 200, "clients_count": 1, "steps_count": 1})
    )
    claimed(tmp_path, 0, 10.0, 20.0, reached_bytes)
    assert any("60.0 % of the maximum" in doubt for doubt in made.outcome(tmp_path).doubts) == doubted


class Room(ScriptedHost):
    """A client that sees a file system with this space, in which files of an earlier trial lie."""

    def __init__(self, free_bytes: int, own_bytes: int = 0) -> None:
        super().__init__()
        self.free_bytes, self.own_bytes = free_bytes, own_bytes

    def answers(self, words: Sequence[str]) -> tuple[int, str]:
        said = {
            "df": f"  Avail 1B-blocks\n {self.free_bytes} {20 * self.free_bytes}\n",
            "du": f"{self.own_bytes}\t/mnt/client-1\n",
        }
        return 0, said[words[0]]


def asked_bytes(monkeypatch: pytest.MonkeyPatch, client: Room, folder: Path, **options: Json) -> list[int]:
    """The sizes of the files. The first 100 MB come from a cache, at 1 GB/s; the rest at 20 MB/s."""

    class Load:
        def __init__(self, size_bytes: int) -> None:
            self.size_bytes = size_bytes

        def prepare(self, *_: object) -> None:
            pass

        def run(self, *_: object) -> Outcome:
            cached, rest = min(self.size_bytes, 10**8), max(0, self.size_bytes - 10**8)
            ended_s = min(10.0, cached / 1e9 + rest / 2e7)
            moved = cached + min(rest, round((ended_s - cached / 1e9) * 2e7))
            return Outcome("fio", (ClientResult("client-1", "read", 0.0, ended_s, moved, 1),))

    asked: list[int] = []

    def load(
        _: Duty, share: float, rate: float, size_bytes: int, duration_s: float, *, tolerant: bool = False
    ) -> Load:
        assert not tolerant
        asked.append(size_bytes)
        return Load(size_bytes)

    monkeypatch.setattr(Duty, "_load", load)
    made = duty(operation="read", size="50 MB", duration="10 s", load="100 %", **options)
    made.prepare([client], ScriptedMount(client), folder)
    return asked


def full_bytes_per_s(folder: Path) -> float:
    return json.loads((folder / "duty.json").read_text())["full_bytes_per_s"]


def test_a_maximum_is_measured_with_more_bytes_until_it_lasts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = asked_bytes(monkeypatch, Room(10**9, own_bytes=10**10), tmp_path)
    assert asked[:2] == [50_000_000, 200_000_000]  # the latter takes 5.1 s
    assert full_bytes_per_s(tmp_path) == pytest.approx(200e6 / 5.1, rel=0.01)


def test_bytes_grow_no_further_than_there_is_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All that is free is the reserve of 5 %, so there is room for what lies there already; a quarter of
    it may be taken.
    """
    asked = asked_bytes(monkeypatch, Room(10**9, own_bytes=8 * 10**8), tmp_path)
    assert asked == [50_000_000, 200_000_000, round(2 * 10 * full_bytes_per_s(tmp_path))]  # 784 MB
    with pytest.raises(
        WorkloadError, match=r"files need 2.032 GiB at 104 MiB/s, and there is room for 457.8 MiB; free space"
    ):
        asked_bytes(monkeypatch, Room(10**9, own_bytes=48 * 10**7), tmp_path)


def test_files_of_a_stated_maximum_that_do_not_fit_are_refused_before_they_are_made(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert asked_bytes(monkeypatch, Room(10**8, own_bytes=10**9), tmp_path, full="50 MB/s") == [10**9]
    with pytest.raises(WorkloadError, match="there is room for"):
        asked_bytes(monkeypatch, Room(10**8, own_bytes=10**9 - 1), tmp_path, full="50 MB/s")
