"""Runs on hosts that a batch system lends, and takes back."""

import math
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perjoule import campaign, store
from perjoule.drivers.protocols import Hosts, Lease
from perjoule.execution import runner, time_limit
from perjoule.filesystems.simulated import SimulatedFileSystem as Files
from perjoule.model.errors import Interrupted, MachineError, TransientError
from perjoule.testbeds.simulated import SimulatedTestbed

TEXT = """
repetitions = 4
settle = "1 ms"
quiet = "0 s"
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
[[workload]]
kind = "simulated"
"""
FAILING = TEXT.replace("[[workload]]\n", "[[workload]]\nfail_at = 1\n")


def lent(monkeypatch: pytest.MonkeyPatch, loan: Lease) -> None:
    """Have the simulated testbed lend its hosts."""
    hold = SimulatedTestbed.hold

    @contextmanager
    def hold_lent(self: SimulatedTestbed, clients_count: int) -> Generator[Hosts]:
        with hold(self, clients_count) as hosts:
            yield replace(hosts, lease=loan)

    monkeypatch.setattr(SimulatedTestbed, "hold", hold_lent)
    monkeypatch.setattr(runner, "Awaits", SimulatedTestbed)
    monkeypatch.setattr(
        SimulatedTestbed, "awaited", lambda _: iter(["Slurm job 7 is pending (Priority)"]), raising=False
    )


def measured(tmp_path: Path, text: str = TEXT) -> tuple[store.Results, list[str], Interrupted]:
    asked = campaign.parse(text)
    results = store.create(tmp_path / "results", asked.text, asked.name, asked.overrides, asked.files)
    events: list[str] = []
    with pytest.raises(Interrupted) as stopped:
        runner.run(asked, results, lambda event: events.append(event.text))
    return results, events, stopped.value


def test_a_run_stops_before_a_trial_that_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent(monkeypatch, Lease("Slurm job 7", time.monotonic() + time_limit.TAKE_DOWN_S, lambda: ""))
    results, events, stopped = measured(tmp_path)
    assert "Slurm job 7 is pending (Priority)" in events
    assert len(results.records()) == 1
    assert (
        f"3 trials are left; continue in the next allocation with: perjoule resume {results.folder}"
        in str(stopped)
    )


def test_what_fails_as_a_job_ends_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lent(monkeypatch, Lease("Slurm job 7", math.inf, lambda: "was cancelled"))
    results, _, stopped = measured(tmp_path, FAILING)
    assert results.records() == ()
    assert str(stopped).startswith(
        "Slurm job 7 was cancelled; continue in the next allocation with: perjoule resume"
    )


def test_a_trial_during_which_the_job_was_suspended_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent(monkeypatch, Lease("Slurm job 7", math.inf, lambda: "was suspended for 4 s"))
    results, _, stopped = measured(tmp_path)
    assert results.records() == ()
    assert stopped.what == "Slurm job 7 was suspended for 4 s"


def silent() -> str:
    raise MachineError("squeue did not answer within 20 s")


def test_what_fails_while_the_batch_system_does_not_answer_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent(monkeypatch, Lease("Slurm job 7", math.inf, silent))
    asked = campaign.parse(FAILING)
    results = store.create(tmp_path / "results", asked.text, asked.name, asked.overrides, asked.files)
    with pytest.raises(MachineError, match="squeue did not answer"):
        runner.run(asked, results, lambda _: None)
    assert results.records() == ()


def test_what_is_well_while_the_batch_system_does_not_answer_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lent(monkeypatch, Lease("Slurm job 7", time.monotonic() + time_limit.TAKE_DOWN_S, silent))
    results, _, _ = measured(tmp_path)
    assert [record.status for record in results.records()] == ["valid"]


def test_a_deployment_that_fails_as_a_job_ends_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mount(*_: Any) -> None:
        raise TransientError("the connection was lost")

    lent(monkeypatch, Lease("Slurm job 7", math.inf, lambda: "was cancelled"))
    monkeypatch.setattr(Files, "mount", mount)
    results, _, stopped = measured(tmp_path)
    assert results.records() == ()
    assert stopped.what == "Slurm job 7 was cancelled"
