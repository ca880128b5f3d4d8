"""How long a job stalls for a checkpoint, and what that takes in joules, against sums by hand."""

from dataclasses import replace

import pytest

from perjoule.measures.points import points
from perjoule.model.metrics import CHECKPOINTS

KEYS = {"stall_s", "energy_per_checkpoint_j"}


def written(made, count, scale=1.0):
    """From 10 to 20 s; disks are done at 22 s."""
    record = made.record(scale=scale, write_back_s=2.0)
    record = replace(record, outcome=replace(record.outcome, measured={CHECKPOINTS: count} if count else {}))
    grade = "wall" if scale == 1 else "simulated"
    power = [made.steady(host, 2.5, grade=grade) for host in ("storage-1", "storage-2", "metadata-1")]
    (point,) = points(record, power)
    return point.metrics


@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("count", [1.0, 4.0])
def test_a_checkpoint_stalls_until_its_last_file_is_durable_and_takes_its_share_of_all_joules(
    made, count, scale
):
    found = written(made, count, scale)
    assert {key: found[key] for key in KEYS} == pytest.approx(
        {"stall_s": 10 * scale / count, "energy_per_checkpoint_j": 7.5 * 12 * scale / count}
    )


def test_a_load_that_is_no_checkpoint_has_neither(made):
    assert not KEYS & written(made, 0.0).keys()
