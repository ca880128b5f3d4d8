"""Training runs of MLPerf Storage (v0.5, v1.0, v2.0, v3.0), from the folder of each run. https://github.com/mlcommons/storage

A run is one trial: from the start of its first epoch to the end of its last batch, by the clock of rank 0's host. Its
bytes are the samples that its accelerators read, times the size that the configuration states. The power that the
system's description of v3.0 states is kept beside it, as what it is: a rating.
"""

from perjoule.model import ClientResult, Outcome
from perjoule.model.doubts import DERIVED
from perjoule.model.metrics import (
    ACCELERATOR,
    ACCELERATORS,
    BENCHMARK_RATE,
    DESIGN_W,
    EPOCHS,
    NAMEPLATE_W,
    SAMPLES,
)
from perjoule.workloads.imported.mlperf.system import (
    Component,
    SystemPower,
    is_system,
    system_power,
)
from perjoule.workloads.imported.mlperf.training import (
    CONFIG,
    OVERRIDES,
    SUMMARY,
    TrainingRun,
    is_training,
    training_run,
)
from perjoule.workloads.imported.mlperf.training import EPOCHS as EPOCH_FILES
from perjoule.workloads.imported.run import ImportedRun, Texts, Told

__all__ = [
    "CONFIG",
    "EPOCH_FILES",
    "OVERRIDES",
    "SUMMARY",
    "Component",
    "SystemPower",
    "TrainingRun",
    "is_system",
    "is_training",
    "runs",
    "system_power",
    "training_run",
]

# What a rate of DLIO may be more or less than samples / time: accelerators that end early, a first batch that is late.
LEAST_RATIO, MOST_RATIO = 0.9, 1.25


def runs(texts: Texts, hints: Told) -> tuple[ImportedRun, ...]:
    """Read the one run of a folder. Raises ValueError, LookupError: it does not say what it did."""
    run = training_run(texts, hints.zone)
    work = (f"read {run.accelerators_count} x {run.workload}", run.details, None, run.folder)
    try:
        return (ImportedRun(*work, _outcome(run, texts, hints)),)
    except ValueError as error:
        return (ImportedRun(*work, None, str(error)),)


def _outcome(run: TrainingRun, texts: Texts, hints: Told) -> Outcome:
    """Return what a run did. Raises ValueError: its numbers contradict each other, or it does not name its hosts."""
    counted_rate = run.samples_count * len(run.epochs) / sum(epoch.block_s for epoch in run.epochs)
    if not LEAST_RATIO <= run.samples_per_s / counted_rate <= MOST_RATIO:
        raise ValueError(
            f"it states {run.samples_per_s:.6g} samples/s, and its epochs' samples and times make "
            f"{counted_rate:.6g}: see `perjoule audit`"
        )
    if not run.hosts_count and not hints.clients:
        raise ValueError("it does not say how many hosts ran (v0.5): name them, CLIENT,CLIENT=FOLDER")
    hosts = hints.hosts(run.host, run.hosts_count or len(hints.clients))
    samples_count = run.samples_count * len(run.epochs)
    doubts = [DERIVED.nominal_samples(deviating=run.deviation_bytes > 0)]
    if len(hosts) > 1:
        doubts.append(DERIVED.equal_shares(program="DLIO"))
    if run.may_be_cached:
        doubts.append(DERIVED.fits_in_memory())
    measured = {
        SAMPLES: float(samples_count),
        EPOCHS: float(len(run.epochs)),
        ACCELERATOR: sum(epoch.utilisation_ratio for epoch in run.epochs) / len(run.epochs),
        ACCELERATORS: float(run.accelerators_count),
        BENCHMARK_RATE: run.samples_per_s,
    }
    return Outcome(
        "MLPerf Storage (DLIO)",
        tuple(_shares(run, hosts, samples_count)),
        tuple(doubts),
        measured=measured | _ratings_w(texts),
    )


def _shares(run: TrainingRun, hosts: tuple[str, ...], samples_count: int) -> list[ClientResult]:
    """Give each host an equal share of the samples and of their bytes."""
    share_count, rest_count = divmod(samples_count, len(hosts))
    counts = [share_count + (number_of < rest_count) for number_of in range(len(hosts))]
    return [
        ClientResult(
            host,
            "read",
            run.epochs[0].began_s,
            run.epochs[-1].ended_s,
            round(share * run.sample_bytes),
            share,
        )
        for host, share in zip(hosts, counts, strict=True)
    ]


def _ratings_w(texts: Texts) -> dict[str, float]:
    """Return what the system's description states of power, if it does."""
    text = next((text for text in texts.values() if is_system(text)), "")
    power = system_power(text) if text else None
    if power is None or power.nameplate_w is None:
        return {}
    least_w, most_w = power.design_w()
    return {NAMEPLATE_W: power.nameplate_w, **({DESIGN_W: least_w} if least_w == most_w else {})}
