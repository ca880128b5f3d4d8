"""The progress of a run: it stays small, a reader sees all of it, and damage is reported and does nothing
else.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from perjoule.machine import processes
from perjoule.model import Channel
from perjoule.store import progress
from perjoule.store.progress import Line, LoadHost, ProgressFile, RunningLoad, RunProcess, State

RUN = RunProcess(progress.VERSION, processes.own(), "tried", 1.0)
LOAD = RunningLoad("tried", "t-1", hosts=(LoadHost("a", "client", 2.0),), clients=("a",), servers=("b",))
POWER = Channel("m", "b", "all", "power", "W", "instantaneous", "wall")


@pytest.fixture
def file(tmp_path: Path) -> Iterator[ProgressFile]:
    with closing(ProgressFile(tmp_path)) as opened:
        yield opened


def state(t_s: float, *, samples: tuple[tuple[int, float, float], ...] = ()) -> State:
    return State(t_s, t_s + 1e9, "measure", 0.0, 1, 5, 60.0, samples)


def test_what_is_written_is_read_again(tmp_path: Path, file: ProgressFile) -> None:
    lines = [
        Line(run=RUN),
        Line(load=LOAD),
        Line(channels=(POWER,)),
        Line(state=state(2.0, samples=((0, 1.5, 42.0),))),
    ]
    for line in (*lines, Line(note="up"), Line(ended="done")):
        file.append(line)
    found = progress.read(tmp_path)
    assert (found.run, found.channels, found.notes, found.ended) == (RUN, (POWER,), ("up",), "done")
    assert found.states == ((LOAD, state(2.0, samples=((0, 1.5, 42.0),))),)
    assert list(tmp_path.iterdir()) == [tmp_path / progress.NAME]


def test_the_file_stays_small_and_keeps_what_the_last_states_need(
    tmp_path: Path, file: ProgressFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "MOST_BYTES", 20_000)
    for line in (Line(run=RUN), Line(load=LOAD), Line(channels=(POWER,))):
        file.append(line)
    largest = 0
    for t_s in range(2000):
        if t_s % 300 == 0:
            file.append(Line(load=replace(LOAD, trial=f"t-{t_s}")))
        file.append(Line(state=state(float(t_s), samples=((0, float(t_s), 1.0),)), note=""))
        largest = max(largest, (tmp_path / progress.NAME).stat().st_size)
        if t_s % 100 == 99:
            found = progress.read(tmp_path)
            assert [at.t_s for _, at in found.states] == [
                float(t) for t in range(t_s + 1 - len(found.states), t_s + 1)
            ]
            assert all(load.trial == f"t-{int(at.t_s) // 300 * 300}" for load, at in found.states)
    assert largest < 25_000
    assert len(progress.read(tmp_path).states) > 40


def test_a_line_that_is_being_written_is_not_read(tmp_path: Path, file: ProgressFile) -> None:
    for line in (Line(run=RUN), Line(load=LOAD), Line(state=state(1.0))):
        file.append(line)
    whole = (tmp_path / progress.NAME).read_bytes()
    (tmp_path / progress.NAME).write_bytes(whole[:-5])
    assert progress.read(tmp_path).states == ()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "does not say which run"),
        (b"\x00\xff\n", "line 1 of progress.jsonl is damaged"),
        (b'{"run": 7}\n', "line 1"),
        (progress.written(Line(run=replace(RUN, version=2))), "version 2"),
        (
            progress.written(Line(run=RUN))
            + progress.written(Line(state=state(1.0, samples=((3, 1.0, 1.0),)))),
            "does not state",
        ),
        (progress.written(Line(run=RUN)) + progress.written(Line(state=state(1e300))), "impossible number"),
        (
            progress.written(Line(run=RUN)) + progress.written(Line(state=state(float("inf")))),
            "impossible number",
        ),
        (b"[" * 100_000 + b"\n", "nested"),
        (b"x" * (progress.READ_BYTES + 1), "longer than any run"),
    ],
    ids=["empty", "no text", "no run", "version", "channels", "moment", "infinite", "nested", "long"],
)
def test_damage_is_reported(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / progress.NAME).write_bytes(content)
    with pytest.raises(ValueError, match=said):
        progress.read(tmp_path)


def test_what_is_not_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / progress.NAME)
    with pytest.raises(ValueError, match="not a file"):
        progress.read(tmp_path)


def test_a_link_is_neither_read_nor_written_through(tmp_path: Path, file: ProgressFile) -> None:
    (tmp_path / "other").write_text("precious")
    (tmp_path / progress.NAME).symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic links"):
        progress.read(tmp_path)
    file.append(Line(run=RUN))
    assert (tmp_path / "other").read_text() == "precious"
    assert progress.read(tmp_path).run == RUN


def test_a_disk_that_fails_costs_no_more_than_the_view(tmp_path: Path) -> None:
    with closing(ProgressFile(tmp_path / "missing")) as file:
        file.append(Line(run=RUN))
        file.append(Line(state=state(1.0)))
        (tmp_path / "missing").mkdir()
        file.append(Line(state=state(2.0)))  # the disk is back, and nothing is missing
    assert [at.t_s for _, at in progress.read(tmp_path / "missing").states] == [1.0, 2.0]
