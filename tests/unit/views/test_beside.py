"""Folders beside another: what their machines have in common."""

from dataclasses import dataclass, replace
from math import hypot, log
from pathlib import Path
from typing import Any

import pytest

from perjoule.model import Cell, HostFact, Record, Spec
from perjoule.statistics.intervals import interval
from perjoule.summary import Summary
from perjoule.views.content import Content
from typed import present


@dataclass(frozen=True)
class Folder:
    """A results folder, as far as machines are compared."""

    folder: Path
    records: tuple[Record, ...]
    cells: tuple[Cell, ...]

    def latest(self) -> tuple[Record, ...]:
        return self.records


def measured(made: Any, node: str, address: str, watts: float) -> Any:
    """A machine whose plug may be wrong by 1 %."""
    meters = (Spec("shelly", {"address": address}, "shelly"),)
    record = made.record(replace(made.trial(), meters=meters))
    numbers = {"throughput_bytes_per_s": 1e8, "mean_w": watts, "efficiency_bytes_per_j": 1e8 / watts}
    cell = Cell(
        record.trial.filesystem.label,
        "fio",
        "write",
        1,
        {key: interval([value] * 3) for key, value in numbers.items()},
        shared={"efficiency_bytes_per_j": {"shelly: gain": -0.01}},
    )
    return Folder(Path(node), (replace(record, hosts=(HostFact("client-1", "client", node),)),), (cell,))


@pytest.mark.parametrize(("address", "error"), [("10.0.0.1", 0.0), ("10.0.0.2", hypot(0.01, 0.01))])
def test_a_plug_of_each_folder_errs_by_itself(
    made: Any, monkeypatch: pytest.MonkeyPatch, address: str, error: float
) -> None:
    monkeypatch.setattr("perjoule.views.content.summary", lambda results, _: Summary(results.cells))
    monkeypatch.setattr("perjoule.summary.campaign.campaign_of", lambda _: None)
    pc, board = measured(made, "PC", "10.0.0.1", 20.0), measured(made, "MPSoC", address, 5.0)
    (replacement,) = Content(pc, (board,)).replacements
    power = present(replacement.power_ratio)
    assert log(power.high / power.low) / 2 == pytest.approx(1.959964 * error)
