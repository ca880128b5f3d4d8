"""`perjoule.read`: tables of a results folder for a notebook, held against the trials that they summarize."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import special  # not stats, whose import takes a second in each process

import perjoule
from perjoule import campaign
from perjoule.execution import runner
from perjoule.exporting.frames import Measurements
from perjoule.model.errors import CampaignError, MachineError
from perjoule.store import create
from places import EXAMPLES

CELL = ["filesystem", "workload", "direction", "clients_count"]
METRICS = ["throughput_bytes_per_s", "energy_j", "efficiency_bytes_per_j"]


@pytest.fixture(scope="module")
def measurements(tmp_path_factory: pytest.TempPathFactory) -> Measurements:
    folder = tmp_path_factory.mktemp("frames") / "results"
    asked = campaign.read(EXAMPLES / "simulated.toml", overrides=["repetitions=3"])
    runner.run(asked, create(folder, asked.text, asked.name, asked.overrides), lambda event: None)
    return perjoule.read(folder)


def test_cells_are_the_means_of_their_trials_with_student_s_interval(measurements: Measurements) -> None:
    trials: pd.DataFrame = measurements.trials().to_pandas()
    cells: pd.DataFrame = measurements.cells().to_pandas()
    groups = dict(iter(trials.groupby(CELL)))
    assert len(groups) == len(cells) == 8
    for cell in cells.to_dict("records"):
        group = groups[tuple(cell[key] for key in CELL)]
        for metric in METRICS:
            values = group[metric].to_numpy()
            half = special.stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values))
            assert cell[f"{metric}_n"] == len(values) == 3
            assert cell[metric] == pytest.approx(values.mean(), rel=1e-12)
            assert cell[f"{metric}_low"] == pytest.approx(values.mean() - half, rel=1e-9)
            assert cell[f"{metric}_high"] == pytest.approx(values.mean() + half, rel=1e-9)


def test_numbers_are_those_of_trials_and_cells(measurements: Measurements) -> None:
    numbers: pd.DataFrame = measurements.numbers().to_pandas()
    trials: pd.DataFrame = measurements.trials().to_pandas()
    narrow = numbers[numbers["of"] == "trial"].pivot(index="trial", columns="metric", values="value")
    by_trial = trials.groupby("trial").first()
    pd.testing.assert_frame_equal(by_trial[sorted(narrow.columns)].astype(float), narrow, check_names=False)
    assert set(numbers["of"]) == {"trial", "cell"}


def test_series_are_the_samples_of_one_trial(measurements: Measurements) -> None:
    trial = measurements.trials()["trial"][0].as_py()
    series: pd.DataFrame = measurements.series(trial).to_pandas()
    record = next(record for record in measurements.results.latest() if record.trial.id == trial)
    expected: dict[tuple[str, str], float] = {}
    for channel in measurements.results.series(record):
        key = (channel.channel.host, channel.channel.quantity)
        expected[key] = expected.get(key, 0.0) + float(channel.value.sum())
    assert series.groupby(["host", "quantity"])["value"].sum().to_dict() == pytest.approx(expected)
    with pytest.raises(CampaignError, match='no trial has the id "t0"'):
        measurements.series("t0")


def test_samples_of_a_stranger_are_bounded(measurements: Measurements, tmp_path: Path) -> None:
    shutil.copytree(measurements.results.folder, tmp_path / "results")
    copied = perjoule.read(tmp_path / "results")
    record = copied.results.latest()[0]
    samples = copied.results.folder_of(record) / "series.parquet"
    samples.unlink()
    os.mkfifo(samples)
    with pytest.raises(MachineError, match="a pipe or a device"):
        copied.series(record.trial.id)
    samples.unlink()
    pq.write_table(pa.table({"meter": ["x" * 2**25]}), samples, compression="zstd")
    with pytest.raises(MachineError, match="not a series file"):
        copied.series(record.trial.id)


def test_a_link_of_a_stranger_is_not_followed_without_end(
    measurements: Measurements, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one to / is, with all network file systems."""
    monkeypatch.setattr("perjoule.summary._kept.MOST_FILES_COUNT", 40)
    shutil.copytree(measurements.results.folder, tmp_path / "results")
    perjoule.read(tmp_path / "results").cells()
    (tmp_path / "large").mkdir()
    for number in range(40):
        (tmp_path / "large" / f"{number}").touch()
    (tmp_path / "results" / "notes").symlink_to(tmp_path / "large")
    with pytest.raises(MachineError, match="beside its trials there are more than 40 files"):
        perjoule.read(tmp_path / "results").cells()


def test_what_is_no_results_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="this is not a results folder"):
        perjoule.read(tmp_path)


def test_the_package_begins_without_what_reading_needs() -> None:
    program = "import sys, perjoule; print(callable(perjoule.read), 'pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "True False\n"
