"""Where a keeper is in no unit of systemd: it says why, and limits that nothing sets are refused."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from perjoule.model.errors import MachineError
from perjoule.testbeds.cluster.keeping.keeper import Keeper
from perjoule.testbeds.cluster.openssh import Ssh
from perjoule.testbeds.cluster.units import UnitLimits
from perjoule.testbeds.slurm.srun import Srun

RUN = "unitless"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of hosts that are this machine, in a process namespace of their own: its first process is
    not systemd.
    """
    apart = ["unshare", "--map-root-user", "--pid", "--fork", "--mount-proc"]

    def command(_self: object, argv: Sequence[str], **_ways: object) -> list[str]:
        return [*apart, *argv]

    for login in (Ssh, Srun):
        monkeypatch.setattr(login, "command", command)
    yield tmp_path / "work"
    assert list((tmp_path / "work").iterdir()) == []


def test_a_keeper_without_a_unit_says_why_and_works(work: Path) -> None:
    keeper = Keeper(Ssh("h1", "h1"), str(work))
    keeper.keep(RUN, (), UnitLimits())
    answer, _ = keeper.run(["echo", "works"], timeout_s=9)
    assert (keeper.unit, answer.out) == ("none: its first process is not systemd", b"works\n")
    assert keeper.close()


@pytest.mark.parametrize("limits", [UnitLimits(tasks_count=100), UnitLimits(memory_bytes=2**30)])
def test_a_limit_without_a_unit_is_refused(work: Path, limits: UnitLimits) -> None:
    with pytest.raises(
        MachineError,
        match="only a unit of systemd has limits, and systemd starts none: its first process is not",
    ):
        Keeper(Ssh("h1", "h1"), str(work)).keep(RUN, (), limits)


def test_a_step_of_a_batch_job_asks_for_no_unit(work: Path) -> None:
    keeper = Keeper(Srun("h1", "7"), str(work))
    keeper.keep(RUN, (), UnitLimits(tasks_count=100))  # which would be refused
    assert keeper.unit == ""
    assert keeper.close()
