"""The whole matrix of "Energy Consumption and Performance Analysis Between SSD and HDD", at 1/100 of size
and time.
"""

from collections import Counter
from pathlib import Path

import pytest

from perjoule import campaign, report, store
from perjoule.execution import readiness, runner
from perjoule.model.errors import MachineError
from perjoule.summary import summary
from perjoule.views.content import Content
from places import EXAMPLES
from typed import present

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.alone]

EXAMPLE = EXAMPLES / "ssd-vs-hdd.toml"
# 20 GiB / 102.4 are 200 MiB, whole transfers of either size, so that labels need no size
SMALL = (
    "shrink=102.4",
    "repetitions=1",
    "workload.duration=600 ms",
    "settle=50 ms",
    "quiet=0",
    "filesystem.size=200 MiB",
)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> store.Results:
    asked = campaign.read(EXAMPLE, SMALL)
    try:
        readiness.require(readiness.checks(asked))
    except MachineError as error:
        pytest.skip(str(error))
    results = store.create(
        tmp_path_factory.mktemp("study") / "results", asked.text, asked.name, asked.overrides
    )
    runner.run(asked, results, lambda event: None)
    return results


def test_all_96_experiments_are_valid_with_the_power_of_machine_and_device(measured: store.Results) -> None:
    records = measured.latest()
    assert [(record.trial.id, record.reason) for record in records if record.status != "valid"] == []
    assert len(records) == 96
    cells = summary(measured).cells
    assert Counter(cell.direction for cell in cells) == {"write": 64, "read": 32}
    for cell in cells:
        device_w, system_w = cell.metrics["device_mean_w"].mean, cell.metrics["mean_w"].mean
        assert 0 < device_w < system_w, cell
        assert (
            cell.metrics["device_efficiency_bytes_per_j"].mean
            > cell.metrics["efficiency_bytes_per_j"].mean
            > 0
        )


def test_each_trial_ended_by_what_came_first(measured: store.Results) -> None:
    notes = Counter(record.outcome.note for record in measured.latest() if record.outcome)
    assert set(notes) <= {"ended by size", "ended by duration"}
    assert notes["ended by duration"] > 0


def test_a_low_power_machine_is_slower_and_draws_less(measured: store.Results) -> None:
    cells = {(cell.filesystem, cell.workload): cell.metrics for cell in summary(measured).cells}
    large = "fio write transfer 4 MiB direct"
    pc, mpsoc = (cells[f"device on machine {machine}-ssd1", large] for machine in ("pc", "mpsoc"))
    assert pc["throughput_bytes_per_s"].mean > 2 * mpsoc["throughput_bytes_per_s"].mean
    assert pc["mean_w"].mean > 4 * mpsoc["mean_w"].mean


def test_the_replacement_table_has_every_pair_of_machines_for_every_workload(measured: store.Results) -> None:
    found = Content(measured).replacements
    assert len(found) == 4 * 4 * 12
    assert all(" pc-" in one.server and " mpsoc-" in one.low_power for one in found)
    assert all(one.machines_ratio.mean > 0 and present(one.power_ratio).mean > 0 for one in found)
    assert {one.verdict for one in found} == {"one repetition is not enough to tell"}


def test_the_report_shows_it(measured: store.Results, tmp_path: Path) -> None:
    page = report.write(measured, tmp_path / "report.html").read_text()
    assert '<figure id="replacement">' in page
