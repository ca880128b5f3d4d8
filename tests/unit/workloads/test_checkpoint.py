"""Checkpoints: what their records add up to, computed apart, and what is refused."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.drivers.protocols import Process, Workload
from perjoule.model import Json
from perjoule.model.errors import MountLost, MovedTooLittle, ProgramFailed, WorkloadError
from perjoule.workloads._ranks.program import TRANSIENT
from places import TRANSCRIPTS
from scripted import ScriptedHost, ScriptedMount, ScriptedProcess

MIB = 1024**2
# by client and rank: when each call returned and how long it took, of 1 MiB each, and the rank's end
RANKS: Mapping[str, Sequence[tuple[Sequence[tuple[float, float]], float]]] = {
    "client-1": [([(0.2, 0.2), (0.4, 0.1)], 1.5), ([(0.3, 0.3), (0.9, 0.5)], 1.0)],
    "client-2": [([(0.1, 0.1), (0.2, 0.1)], 0.6), ([(0.2, 0.2), (0.6, 0.4)], 2.25)],
}


def checkpoint(**options: Json) -> Workload:
    size: dict[str, Json] = {} if "model" in options else {"size": "2 MiB"}
    made = drivers.build("workloads", "checkpoint", {"ranks": 2, **size, **options})
    assert isinstance(made, Workload)
    return made


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """What two ranks in each of two clients left; client-2's clock is 0.5 s ahead, and it began 0.01 s later."""
    clocks = [{"monotonic_s": t_s, "utc_s": 1000.0 + t_s} for t_s in (99.0, 105.0)]
    ahead_s = {"client-1": [0.0, 0.0], "client-2": [0.5, 0.5]}
    run: dict[str, Any] = {"clients": [*RANKS], "clocks": clocks, "ahead_s": ahead_s, "start_utc_s": 1100.0}
    texts = {"run.json": json.dumps(run), "prepared.json": '{"doubts": []}'}
    texts |= {"client-1.began.txt": "1100.000\n", "client-2.began.txt": "1100.510\n"}
    for client, ranks in RANKS.items():
        for number, (calls, ended_s) in enumerate(ranks):
            rows = [f"{returned_s},{took_s},{MIB}" for returned_s, took_s in calls]
            texts[f"{client}.{number}.csv"] = "\n".join(["returned_s,took_s,bytes", *rows, ""])
            texts[f"{client}.{number}.json"] = json.dumps({"ended_s": ended_s, "cpu_s": 0.125})
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_raw_folder_gives_what_all_ranks_of_each_client_wrote(raw: Path) -> None:
    outcome = checkpoint().outcome(raw)
    assert [(r.host, r.direction, r.moved_bytes, r.operations_count) for r in outcome.results] == [
        ("client-1", "write", 4 * MIB, 4),
        ("client-2", "write", 4 * MIB, 4),
    ]
    first, second = outcome.results
    assert (first.began_s, first.ended_s) == pytest.approx((100.0, 101.5))
    assert (second.began_s, second.ended_s) == pytest.approx((100.01, 102.26))
    assert dict(first.latency_s) == pytest.approx(
        {"mean": 0.275, "p50": 0.2, "p95": 0.5, "p99": 0.5, "p99.9": 0.5, "max": 0.5}
    )
    assert dict(outcome.measured) == {"checkpoints_count": 1.0, "load_cpu_s": 0.5}
    assert outcome.doubts == ()
    assert checkpoint(operation="read").outcome(raw).results[0].direction == "read"


def test_goodput_over_time_adds_up_to_what_each_client_moved(raw: Path) -> None:
    first, second = checkpoint().outcome(raw).series
    assert first.t_s == pytest.approx([100.5, 101.0, 101.5])
    assert first.value * first.duration_s == pytest.approx([3 * MIB, MIB, 0])
    assert second.t_s[-1] == pytest.approx(102.26)
    assert np.sum(second.value * second.duration_s) == pytest.approx(4 * MIB)


def test_a_client_that_began_late_is_a_doubt(raw: Path) -> None:
    (raw / "client-2.began.txt").write_text("1100.6\n")
    assert [doubt.id for doubt in checkpoint().outcome(raw).doubts] == ["times.began_late"]


def test_a_rank_that_moved_less_is_an_error(raw: Path) -> None:
    path = raw / "client-2.1.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]))
    with pytest.raises(MovedTooLittle, match=r"client-2: rank 1 .*1 MiB of 2 MiB"):
        checkpoint().outcome(raw)


@pytest.mark.parametrize(
    ("file", "text", "error"),
    [
        ("client-1.0.csv", "", "can't be read"),
        ("client-1.0.csv", f"returned_s,took_s,bytes\n9.0,0.1,{2 * MIB}", "has a call that is impossible"),
        ("client-1.0.csv", f"returned_s,took_s,bytes\n0.1,-0.1,{2 * MIB}", "has a call that is impossible"),
        ("client-1.0.csv", f"returned_s,took_s,bytes\nnan,0.1,{2 * MIB}", "has a call that is impossible"),
        ("client-1.0.csv", "returned_s,took_s,bytes\n", "has no calls"),
        ("client-1.0.csv", "returned_s,took_s\n0.1,0.1", "has no calls"),
        ("client-1.0.json", '{"ended_s": 1.5}', "it has no 'cpu_s'"),
        ("client-1.0.json", '{"ended_s": 1.5, "cpu_s": -1}', "impossible"),
        (
            "client-1.0.json",
            '{"ended_s": 1e12, "cpu_s": 1}',
            "impossible",
        ),  # windows of which fill the memory
        ("client-1.began.txt", "soon", "can't be read"),
    ],
)
def test_damaged_records_are_one_error(raw: Path, file: str, text: str, error: str) -> None:
    (raw / file).write_text(text)
    with pytest.raises(WorkloadError, match=error):
        checkpoint().outcome(raw)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"size": "100 KiB", "model": "llama3-8b"}, "state the bytes of a rank once"),
        ({"share": "10 %"}, "share is of a model"),
        ({"model": "llama3-8b", "share": "0 %"}, "share is above 0"),
        ({"transfer": "100 KiB"}, 'write transfer = "128 KiB"'),
        ({"size": "1001 B", "direct": True}, "size is a multiple of 4 KiB"),
    ],
)
def test_what_can_not_be_is_refused(options: dict[str, Json], error: str) -> None:
    with pytest.raises((ValidationError, ValueError), match=error):
        checkpoint(**options)


def test_a_rank_of_a_model_has_its_share_of_the_weights_and_the_optimizer() -> None:
    """105 GiB by eight ranks, as MLPerf Storage has it."""
    whole = checkpoint(model="llama3-8b", ranks=8)
    assert whole.moved_bytes(1) / 1024**3 == pytest.approx(104.7, abs=0.1)
    assert checkpoint(model="llama3-8b", ranks=1, share="1 %").moved_bytes(2) == pytest.approx(
        whole.moved_bytes(1) / 8 / 100 * 2, rel=1e-3
    )


class Client(ScriptedHost):
    """A client whose ranks end at once with this code and these words."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__("client-1")
        self.code, self.said = code, said

    def starts(self, words: Sequence[str], log: Path) -> Process:
        return ScriptedProcess(self.code, self.said)

    def clock_offset(self) -> Any:
        return type("Offset", (), {"offset_s": 0.0})()


@pytest.mark.parametrize(("code", "error"), [(1, ProgramFailed), (TRANSIENT, MountLost)])
def test_a_rank_that_fails_fails_the_load_with_its_words(
    tmp_path: Path, code: int, error: type[WorkloadError]
) -> None:
    client = Client(code, "rank 1: /mnt/client-1/client-1.rank-1: no space left on device\n")
    with pytest.raises(error, match=r"client-1: rank 1: /mnt/.* no space left on device"):
        checkpoint().run([client], ScriptedMount(client), tmp_path)


@pytest.mark.parametrize("operation", ["write", "read"])
def test_what_a_real_checkpoint_left_gives_its_numbers(operation: str) -> None:
    folder = TRANSCRIPTS / "checkpoint" / operation
    outcome = checkpoint(operation=operation, size="4 MiB").outcome(folder)
    (result,) = outcome.results
    assert (result.direction, result.moved_bytes, result.operations_count) == (operation, 8 * MIB, 8)
    ends_s = [json.loads((folder / f"local.{rank}.json").read_text())["ended_s"] for rank in (0, 1)]
    assert result.ended_s - result.began_s == pytest.approx(max(ends_s))
