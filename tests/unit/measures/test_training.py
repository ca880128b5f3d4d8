"""Samples by the second, joules by the epoch, and how long accelerators computed, against sums by hand."""

from dataclasses import replace

import pytest

from perjoule.measures.points import points
from perjoule.model.doubts import UNDILATED
from perjoule.model.metrics import COMPUTE_WALL, EPOCHS, SAMPLES

KEYS = {"samples_per_s", "energy_per_epoch_j", "compute_s"}


def trained(made, measured, scale=1.0, **options):
    record = made.record(scale=scale)
    workload = replace(record.trial.workload, options={"preset": "unet3d", **options})
    outcome = replace(record.outcome, measured=measured)
    record = replace(record, trial=replace(record.trial, workload=workload), outcome=outcome)
    grade = "wall" if scale == 1 else "simulated"
    power = [made.steady(host, 2.5, grade=grade) for host in ("storage-1", "storage-2", "metadata-1")]
    (point,) = points(record, power)
    return point


@pytest.mark.parametrize(("scale", "compute_s"), [(1.0, 0.3), (0.5, 0.15)])
def test_a_job_has_a_rate_of_all_its_samples_and_joules_of_each_epoch(made, scale, compute_s):
    """Ten seconds of 7.5 W."""
    point = trained(made, {SAMPLES: 800.0, EPOCHS: 4.0, COMPUTE_WALL: 0.3}, scale)
    assert {key: point.metrics[key] for key in KEYS} == pytest.approx(
        {
            "samples_per_s": 800 / (10 * scale),
            "energy_per_epoch_j": 75 * scale / 4,
            "compute_s": compute_s,
        }
    )


@pytest.mark.parametrize(
    ("scale", "options", "doubted"),
    [(1.0, {}, False), (0.5, {}, True), (0.5, {"compute": "0.6 s"}, False)],
    ids=["as fast", "half as fast", "chosen"],
)
def test_an_accelerator_that_computes_in_wall_time_is_doubted_with_the_time_to_write(
    made, scale, options, doubted
):
    point = trained(made, {SAMPLES: 800.0, EPOCHS: 4.0, COMPUTE_WALL: 0.3}, scale, **options)
    told = [dict(doubt.values) for doubt in point.doubts if doubt.id == UNDILATED.compute.id]
    expected = {"preset": "unet3d", "wall_s": 0.3, "emulated_s": 0.15, "meant_s": pytest.approx(0.6)}
    assert told == [expected] * doubted


def test_what_is_not_told_of_a_job_is_left_out(made):
    assert KEYS & trained(made, {SAMPLES: 800.0, EPOCHS: 4.0}).metrics.keys() == KEYS - {"compute_s"}
    assert not KEYS & trained(made, {SAMPLES: 800.0, EPOCHS: 0.0}).metrics.keys()
