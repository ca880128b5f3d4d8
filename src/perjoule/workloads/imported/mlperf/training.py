"""A training run of MLPerf Storage as its files state it: DLIO's summary, the times of its epochs, and its
configuration.

DLIO counts steps, not bytes: an epoch is as many whole batches as every accelerator gets, a sample has the mean size
of the configuration, and "MB" are MiB. Its samples/s are the sum of the accelerators' own rates, the mean of the
epochs; those that end early count as if they went on.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from perjoule.machine.untrusted import json_from
from perjoule.workloads.imported.mlperf.values import count, is_table, number, numbers, table, yaml_from
from perjoule.workloads.imported.run import Texts, moment_s

SUMMARY, CONFIG = "summary.json", "config.yaml"
EPOCHS = ("per_epoch_stats.json", "0_per_epoch_stats.json")  # of v0.5 and v1.0; of rank 0 since v2.0
OVERRIDES = "overrides.yaml"
DATE = "%Y-%m-%dT%H:%M:%S.%f"
_RATE = "train_throughput_samples_per_second"
_MEAN_RATE = "train_throughput_mean_samples_per_second"
_SECRET = re.compile(r"secret|access_key|password|token", re.IGNORECASE)
_NOT_LOAD = {  # of the configuration: places, and what the summary states
    "dataset": ("data_folder", "num_files_train", "num_samples_per_file"),
    "storage": ("storage_root",),
    "checkpoint": None,
    "metric": None,
    "output": None,
    "profiling": None,
    "evaluation": None,
}


@dataclass(frozen=True)
class Epoch:
    """What one epoch took, seconds of UTC."""

    utilisation_ratio: float
    samples_per_s: float
    began_s: float
    ended_s: float
    block_s: float  # in which its batches were read


@dataclass(frozen=True)
class TrainingRun:
    """One run. `means` are the summary's own means, by the names that it gives them."""

    model: str
    workload: str  # with the accelerator: "unet3d_h100"; the model where it is not stated
    host: str
    hosts_count: int  # 0: it does not say
    accelerators_count: int
    files_count: int
    samples_per_file: int
    sample_bytes: float
    deviation_bytes: float
    batch_count: int
    compute_s: float
    least_ratio: float | None  # of utilisation, that the configuration asks for
    epochs: tuple[Epoch, ...]
    means: Mapping[str, float]
    memory_bytes: float | None  # of all hosts
    may_be_cached: bool
    details: tuple[str, ...]
    folder: str

    @property
    def steps_count(self) -> int:
        """Whole batches of each accelerator in an epoch."""
        return self.files_count * self.samples_per_file // self.batch_count // self.accelerators_count

    @property
    def samples_count(self) -> int:
        """Samples that all accelerators read in an epoch."""
        return self.steps_count * self.batch_count * self.accelerators_count

    @property
    def samples_per_s(self) -> float:
        """The mean over the epochs, which MLPerf publishes."""
        return self.means[_MEAN_RATE]


def is_training(text: str) -> bool:
    """Return whether a summary is of a training run, by its head."""
    return '"num_accelerators"' in text and f'"{_RATE}"' in text


def training_run(texts: Texts, zone: str) -> TrainingRun:
    """Read a run. Raises ValueError, LookupError: a file is absent, damaged, or does not say enough."""
    epochs_name = next((name for name in EPOCHS if name in texts), "")
    for name, meaning in (
        (CONFIG, "the size of a sample and of a batch (configs/, dlio_config/ or .hydra/)"),
        (epochs_name, "when its epochs were (per_epoch_stats.json)"),
    ):
        if name not in texts:
            raise ValueError(f"a file is absent that says {meaning}: import the whole folder of the run")
    if any(_SECRET.search(texts.get(name, "")) for name in (CONFIG, OVERRIDES)):
        raise ValueError(
            "its configuration may hold the key of an object store, and results are made to be published: take it out"
        )
    summary = table(json_from(texts[SUMMARY]), "in summary.json")
    workload = table(table(yaml_from(texts[CONFIG]), CONFIG).get("workload"), "workload")
    dataset, reader, train = (
        table(workload.get(key), f"workload.{key}") for key in ("dataset", "reader", "train")
    )
    metric = table(summary.get("metric"), "metric")
    if count(summary, "num_files_eval") or "eval_au_percentage" in metric:
        raise ValueError("it also evaluated, and does not say what that read: import a run that only trains")
    if train.get("total_training_steps", -1) not in (None, -1):
        raise ValueError("total_training_steps ends its epochs early, whose samples it does not state")
    model = workload.get("model")
    model = table(model, "model").get("name") if is_table(model) else model
    size = "record_length_bytes" if "record_length_bytes" in dataset else "record_length"
    least = table(workload.get("metric") or {}, "metric")
    memory = summary.get("host_memory_GB")
    if _MEAN_RATE not in metric:
        raise ValueError(f"metric has no {_MEAN_RATE}")
    run = TrainingRun(
        model=str(model or summary["model"]),
        workload=_workload(texts.get(OVERRIDES, "")) or str(model or summary["model"]),
        host=str(summary["hostname"]),
        hosts_count=count(summary, "num_hosts") if "num_hosts" in summary else 0,
        accelerators_count=count(summary, "num_accelerators"),
        files_count=count(summary, "num_files_train"),
        samples_per_file=count(summary, "num_samples_per_file"),
        sample_bytes=number(dataset, size, "dataset."),
        deviation_bytes=number({f"{size}_stdev": 0.0, **dataset}, f"{size}_stdev", "dataset."),
        batch_count=count(reader, "batch_size", "reader."),
        compute_s=number(train, "computation_time", "train."),
        least_ratio=number(least, "au", "metric.") if "au" in least else None,
        epochs=tuple(_epochs(metric, table(json_from(texts[epochs_name]), epochs_name), zone)),
        means={key: number(metric, key) for key, value in metric.items() if isinstance(value, float | int)},
        memory_bytes=sum(numbers(summary, "host_memory_GB")) * 1024**3 if memory else None,
        may_be_cached=any(numbers(summary, "potential_caching"))
        if summary.get("potential_caching")
        else False,
        details=tuple(_details(workload)),
        folder=str(dataset.get("data_folder", "")),
    )
    if not run.accelerators_count or not run.batch_count or not run.steps_count:
        raise ValueError("no accelerator read a whole batch of samples")
    return run


def _workload(overrides: str) -> str:
    """Return the benchmark's configuration that was chosen; "" if the options do not say."""
    match = re.search(r"^- workload=([\w.-]+)$", overrides, re.MULTILINE)
    return match[1] if match else ""


def _epochs(metric: Mapping[str, Any], times: Mapping[str, Any], zone: str) -> Iterator[Epoch]:
    """Return the epochs in order. Raises ValueError: they contradict each other."""
    ratios, rates = numbers(metric, "train_au_percentage"), numbers(metric, _RATE)
    if not len(ratios) == len(rates) == len(times):
        raise ValueError(
            f"it has utilisations of {len(ratios)}, rates of {len(rates)} and times of {len(times)} epochs"
        )
    before_s = 0.0
    for key, ratio, rate in zip(sorted(times, key=int), ratios, rates, strict=True):
        epoch = table(times[key], f"epoch {key}")
        blocks = [_span(table(epoch[name], name), zone) for name in epoch if name.startswith("block")]
        if not blocks:
            raise ValueError(f"epoch {key} has no block that says when it read")
        moments = [before_s, _moment(epoch["start"], zone), *(t_s for span in sorted(blocks) for t_s in span)]
        if moments != sorted(moments):
            raise ValueError(
                f"the times of epoch {key} are not in order, as in a night when clocks change: state an offset, "
                "--timezone +0100"
            )
        if any(moment_s < moments[-1] for moment_s in _checkpoints(epoch, zone)):
            raise ValueError("it wrote checkpoints while it read, and does not say how much")
        before_s = moments[-1]
        yield Epoch(ratio / 100, rate, moments[1], moments[-1], sum(end - begin for begin, end in blocks))


def _checkpoints(epoch: Mapping[str, Any], zone: str) -> Iterator[float]:
    for name, value in epoch.items():
        if name.startswith("ckpt"):
            yield _span(table(value, name), zone)[0]


def _span(of: Mapping[str, Any], zone: str) -> tuple[float, float]:
    return _moment(of["start"], zone), _moment(of["end"], zone)


def _moment(text: object, zone: str) -> float:
    try:
        return moment_s(str(text), DATE, zone)
    except ValueError as error:
        raise ValueError(f'"{text}" is no time of day as DLIO writes it ({error})') from None


def _details(workload: Mapping[str, Any]) -> Iterator[str]:
    """Return what makes runs differ: all that the configuration states but places and what is stated elsewhere."""
    for group in sorted(workload):
        value, left_out = workload[group], _NOT_LOAD.get(group, ())
        if group == "model" or left_out is None:
            continue
        if not is_table(value):
            yield f"{group} {value}"
            continue
        options: Mapping[str, object] = value
        for name in sorted(options.keys() - set(left_out)):
            yield f"{name} {options[name]}"
