"""Training jobs: data sets, shuffles and batches as clients read them, and what their records add up to."""

import csv
import json
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from perjoule import drivers
from perjoule.model import Json
from perjoule.model.errors import MovedTooLittle, WorkloadError
from perjoule.workloads._ranks import PROGRAM
from perjoule.workloads._ranks.dataset import epoch_samples, file_sizes
from perjoule.workloads.training import Training
from perjoule.workloads.training.presets import PRESETS
from places import TRANSCRIPTS

KIB = 1024
DATA: dict[str, Any] = {
    "seed": "a",
    "files": 12,
    "samples_per_file": 3,
    "sample": 100_000,
    "deviation": 30_000,
    "page": 1,
    "transfer": 64 * KIB,
    "direct": False,
    "shuffle": "samples",
    "batch": 5,
    "workers": 3,
    "compute_s": 0.0,
    "epochs": 2,
    "tolerated": [],
    "store": None,
}


def ran(folder: Path, do: str, *, ranks: int = 2, **changed: Any) -> tuple[int, str]:
    """Its exit code and what it said."""
    data = folder / "data"
    data.mkdir(exist_ok=True)
    common = DATA | {"folder": str(data), "path": str(data), "ranks": ranks} | changed
    job = {"do": do, "ranks": [{**common, "rank": number} for number in range(ranks)]}
    ended = subprocess.run(
        [sys.executable, "-I", PROGRAM],
        input=json.dumps({**job, "out": str(folder / do), "gate": "date +%s.%N" if do == "train" else ""}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    return ended.returncode, ended.stderr.strip()


def lines(path: Path) -> list[dict[str, float]]:
    with path.open() as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def test_sizes_are_normal_around_the_mean_and_follow_from_the_seed() -> None:
    many = DATA | {"files": 4000}
    sizes = file_sizes(many)
    assert sizes == file_sizes(many) != file_sizes(many | {"seed": "b"})
    assert statistics.fmean(sizes) == pytest.approx(100_000, rel=0.02)
    assert statistics.stdev(sizes) == pytest.approx(30_000, rel=0.05)
    assert min(sizes) >= 1000
    assert set(file_sizes(DATA | {"deviation": 0})) == {100_000}
    assert all(size % 4096 == 0 for size in file_sizes(DATA | {"page": 4096}))


@pytest.mark.parametrize("shuffle", ["samples", "files"])
def test_an_epoch_deals_each_sample_once_in_another_order(shuffle: str) -> None:
    job = DATA | {"shuffle": shuffle, "ranks": 5}
    epochs = [[list(epoch_samples(job | {"rank": rank}, epoch)) for rank in range(5)] for epoch in (0, 1)]
    for dealt in epochs:
        assert Counter(sample for samples in dealt for sample in samples) == Counter(range(36))
    assert epochs[0] != epochs[1]
    if shuffle == "files":
        first = epochs[0][0]
        assert [sample % 3 for sample in first] == [0, 1, 2] * (len(first) // 3)
    else:
        assert {len(samples) for samples in epochs[0]} == {7, 8}


def test_a_data_set_is_laid_out_once_and_mended(tmp_path: Path) -> None:
    assert ran(tmp_path, "lay_out") == (0, "")
    sizes = [3 * size for size in file_sizes(DATA)]
    paths = sorted((tmp_path / "data").iterdir())
    assert [path.stat().st_size for path in paths] == sizes
    assert len({path.read_bytes()[: 64 * KIB] for path in paths}) == 12
    written = [path.stat().st_mtime_ns for path in paths]
    paths[3].write_bytes(b"cut off")
    paths[7].unlink()
    (tmp_path / "data" / "000000012").write_bytes(b"of a larger data set")
    assert ran(tmp_path, "lay_out", ranks=3) == (0, "")
    assert sorted((tmp_path / "data").iterdir()) == paths
    assert [path.stat().st_size for path in paths] == sizes
    again = [path.stat().st_mtime_ns for path in paths]
    assert [number for number in range(12) if again[number] != written[number]] == [3, 7]


def test_every_sample_of_every_epoch_is_read_in_whole(tmp_path: Path) -> None:
    assert ran(tmp_path, "lay_out") == (0, "")
    assert ran(tmp_path, "train") == (0, "")
    on_disk = [path.stat().st_size // 3 for path in sorted((tmp_path / "data").iterdir()) for _ in range(3)]
    calls = [call for rank in (0, 1) for call in lines(tmp_path / f"train.{rank}.csv")]
    assert Counter(int(call["bytes"]) for call in calls) == Counter(2 * on_disk)
    for rank in (0, 1):
        batches = lines(tmp_path / f"train.{rank}.batches.csv")
        assert [(batch["epoch"], batch["samples"]) for batch in batches] == [
            (epoch, samples) for epoch in (0, 1) for samples in (5, 5, 5, 3)
        ]
        assert all(batch["errors"] == 0 for batch in batches)


def test_an_accelerator_computes_while_threads_read_ahead(tmp_path: Path) -> None:
    """18 samples in batches of 5, 50 ms each: 0.18 s an epoch, whatever the reads take."""
    assert ran(tmp_path, "lay_out") == (0, "")
    assert ran(tmp_path, "train", compute_s=0.05) == (0, "")
    for batch in lines(tmp_path / "train.0.batches.csv"):
        assert batch["ended_s"] - batch["ready_s"] >= 0.05 * batch["samples"] / 5 - 2e-6
    assert json.loads((tmp_path / "train.0.json").read_text())["ended_s"] >= 2 * 0.18


@pytest.mark.parametrize(("tolerated", "code"), [([], 1), ([2], 0)])
def test_a_file_that_vanishes_fails_the_job_or_is_counted(
    tmp_path: Path, tolerated: list[int], code: int
) -> None:
    assert ran(tmp_path, "lay_out") == (0, "")
    (tmp_path / "data" / "000000004").unlink()
    ended, reason = ran(tmp_path, "train", tolerated=tolerated)
    assert ended == code
    if code:
        assert reason.endswith("data/000000004: no such file or directory")
        return
    batches = [batch for rank in (0, 1) for batch in lines(tmp_path / f"train.{rank}.batches.csv")]
    assert sum(batch["errors"] for batch in batches) == 2 * 3
    assert sum(batch["samples"] for batch in batches) == 2 * 33


def test_a_file_that_is_too_short_and_a_full_disk_are_named(tmp_path: Path) -> None:
    assert ran(tmp_path, "lay_out") == (0, "")
    path = tmp_path / "data" / "000000004"
    path.write_bytes(b"short")
    code, reason = ran(tmp_path, "train", tolerated=[5])
    assert code == 1
    assert reason.startswith("rank ")
    assert f"{path} ends before byte " in reason
    path.unlink()
    path.symlink_to("/dev/full")
    code, reason = ran(tmp_path, "lay_out")
    assert (code, reason) == (1, f"rank 0: {path.parent}: no space left on device")


def training(**options: Json) -> Training:
    made = drivers.build("workloads", "training", options)
    assert isinstance(made, Training)
    return made


SMALL: dict[str, Json] = {"files": 6, "sample": "1 MiB", "batch": 2, "epochs": 2, "compute": "0.5 s"}
# of an accelerator: epoch, samples, errors, when it had the batch, and when it had computed it
BATCHES = [(0, 2, 0, 1.0, 1.5), (0, 2, 0, 1.6, 2.1), (0, 2, 0, 2.1, 2.7),
           (1, 2, 0, 3.0, 3.5), (1, 2, 0, 3.5, 4.0), (1, 2, 0, 4.0, 4.5)]  # fmt: skip


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """What one accelerator of one client left."""
    clocks = [{"monotonic_s": t_s, "utc_s": 1000.0 + t_s} for t_s in (99.0, 105.0)]
    run: dict[str, Any] = {"clients": ["client-1"], "clocks": clocks, "ahead_s": {"client-1": [0.0, 0.0]}}
    calls = ["returned_s,took_s,bytes", *(f"{n / 4},{0.1},{KIB**2}" for n in range(1, 13)), ""]
    batches = ["epoch,samples,errors,ready_s,ended_s", *(",".join(map(str, row)) for row in BATCHES), ""]
    texts = {"run.json": json.dumps(run), "prepared.json": '{"doubts": []}'}
    texts |= {"client-1.began.txt": "1100.0", "client-1.0.csv": "\n".join(calls)}
    texts |= {
        "client-1.0.json": '{"ended_s": 4.5, "cpu_s": 0.25}',
        "client-1.0.batches.csv": "\n".join(batches),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_utilisation_is_the_compute_time_by_the_time_after_the_first_batch(raw: Path) -> None:
    """Two batches of 0.5 s in 1.2 s, and in 1.0 s."""
    outcome = training(**SMALL).outcome(raw)
    assert outcome.measured["accelerator_ratio"] == pytest.approx((1.0 / 1.2 + 1.0 / 1.0) / 2)
    assert outcome.measured["samples_count"] == 12
    assert outcome.measured["epochs_count"] == 2
    (result,) = outcome.results
    assert (result.direction, result.moved_bytes, result.operations_count) == ("read", 12 * KIB**2, 12)
    assert result.ended_s - result.began_s == pytest.approx(4.5)


def test_without_a_compute_time_or_a_second_batch_there_is_no_utilisation(raw: Path) -> None:
    assert "accelerator_ratio" not in training(**SMALL | {"compute": "0 s"}).outcome(raw).measured
    rows = ["epoch,samples,errors,ready_s,ended_s", "0,6,0,1,2", "1,6,0,3,4"]
    (raw / "client-1.0.batches.csv").write_text("\n".join(rows))
    outcome = training(**SMALL).outcome(raw)
    assert "accelerator_ratio" not in outcome.measured
    assert outcome.note == "no AU: an epoch has but one batch"


def test_fewer_samples_than_asked_are_an_error_unless_errors_were_counted(raw: Path) -> None:
    with pytest.raises(MovedTooLittle, match="12 of 14"):
        training(**SMALL | {"files": 7}).outcome(raw)
    rows = (raw / "client-1.0.batches.csv").read_text().splitlines()
    rows[-1] = "1,2,2,4.0,4.5"
    (raw / "client-1.0.batches.csv").write_text("\n".join(rows))
    outcome = training(**SMALL | {"files": 7, "tolerate_errors": True}).outcome(raw)
    assert outcome.measured["event_errors_count"] == 2


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("1,2,0,4.2,4.1", "overlap"),
        ("1,2,0,4.0,4.6", "end after their rank"),
        ("1,3,0,4.0,4.5", "other samples than there were calls"),
        ("0,2,0,4.0,4.5", "overlap"),
    ],
)
def test_damaged_batches_are_one_error(raw: Path, row: str, error: str) -> None:
    rows = (raw / "client-1.0.batches.csv").read_text().splitlines()
    (raw / "client-1.0.batches.csv").write_text("\n".join([*rows[:-1], row]))
    with pytest.raises(WorkloadError, match=error):
        training(**SMALL).outcome(raw)


def test_a_preset_says_what_no_key_does_and_a_share_keeps_its_bytes_per_second() -> None:
    whole, small = training(preset="unet3d_h100").load, training(preset="unet3d_h100", share="1 %").load
    assert (whole.files_count, whole.batch_count, whole.workers_count) == (168, 7, 4)
    assert whole.batch_count * whole.sample_bytes / whole.compute_s == pytest.approx(3.18e9, rel=0.01)
    assert small.sample_bytes == pytest.approx(1466006.28)
    assert small.batch_count * small.sample_bytes / small.compute_s == pytest.approx(3.18e9, rel=0.01)
    assert training(preset="unet3d_h100", compute="1 s", files=7).load.compute_s == 1
    assert set(PRESETS) == set(Training.__annotations__["preset"].__args__[0].__args__)


def test_a_plan_knows_bytes_and_the_time_that_accelerators_take() -> None:
    load = training(files=10, sample="1 MiB", epochs=3, batch=2, compute="1 s", samples_per_file=4)
    assert load.stored_bytes(2) == 40 * KIB**2
    assert load.moved_bytes(2) == 120 * KIB**2
    assert load.loading_s(2, 1e12) == pytest.approx(3 * 40 / 2 / 2)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, "state files and sample"),
        ({"files": 4, "sample": "1 MiB", "share": "1 %"}, "share is of a preset"),
        ({"preset": "unet3d_h100", "share": "0 %"}, "share is above 0"),
        ({"files": 4, "sample": "1 MiB", "transfer": "1 KiB"}, "multiple of 64 KiB"),
        ({"files": 4, "sample": "1 MiB", "deviation": "2 MiB"}, "deviation is at most as large"),
    ],
)
def test_what_can_not_be_is_refused(options: dict[str, Json], error: str) -> None:
    with pytest.raises((ValidationError, ValueError), match=error):
        training(**options)


def test_what_a_real_job_left_gives_its_numbers() -> None:
    """Eight samples in two epochs; a batch of two computes 5 ms, and three of four in each epoch count."""
    options: dict[str, Json] = {"files": 8, "sample": "128 KiB", "deviation": "16 KiB", "batch": 2}
    job = training(**options, compute="5 ms", epochs=2, workers=2)
    outcome = job.outcome(TRANSCRIPTS / "training")
    (result,) = outcome.results
    with (TRANSCRIPTS / "training" / "local.0.csv").open() as calls:
        sizes_bytes = [int(row["bytes"]) for row in csv.DictReader(calls)]
    assert len(sizes_bytes) == outcome.measured["samples_count"] == 16
    assert result.moved_bytes == sum(sizes_bytes)
    ratios = (0.015 / (0.023556 - 0.008120), 0.015 / (0.045119 - 0.029633))
    assert outcome.measured["accelerator_ratio"] == pytest.approx(statistics.fmean(ratios))
