"""Sentences on what was not measured, or is damaged, and is therefore missing in an import."""

from collections.abc import Iterator

from perjoule.importing import Brought
from perjoule.model import Record, Series
from perjoule.model.doubts import WORK
from perjoule.model.errors import PartDamaged
from perjoule.workloads.imported import DAMAGED

DAMAGED_IDS = frozenset({WORK.output_missing.id, WORK.output_truncated.id})
WITHOUT = {
    "mdtest": "mdtest",
    "ior": "IOR",
    "io500": "IO500",
    "mlperf": "MLPerf Storage",
}  # tools that report no latencies
WITHOUT_PERCENTILES = {"rados": "rados bench", "elbencho": "elbencho"}


def damaged(brought: Brought) -> tuple[str, ...]:
    """List the parts of files that are damaged or missing, and why trials failed for it."""
    sentences = [
        (record.trial.workload.label, sentence)
        for record in brought.records
        for sentence in (
            *((record.reason,) if record.reason_id == PartDamaged.id else ()),
            *(doubt for doubt in record.doubts if doubt.id in DAMAGED_IDS),
        )
    ]
    return tuple(dict.fromkeys(f"{label}: {sentence.removeprefix(DAMAGED)}" for label, sentence in sentences))


def missing(brought: Brought) -> Iterator[str]:
    """List what is missing, most important first."""
    valid = [record for record in brought.records if record.outcome]
    if not valid:
        return
    yield from brought.elsewhen
    bare = sum(not _powered(record, brought.series[record.trial.id]) for record in valid)
    if bare:
        yield f"no power in {bare} of {len(valid)} trials: name logs with --power"
    elif any(s.channel.component == "total" for s in _all(brought)):
        yield (
            "power is taken to cover the servers and the switch: use --covers servers if it covers the "
            "servers alone"
        )
    if brought.nodes:
        example = f"--role {brought.nodes[0]}=storage"
        yield (
            f"counters of {', '.join(brought.nodes)} were left out because their role is unknown: state it "
            f"({example})"
        )
    counted = {s.channel.host for s in _all(brought) if s.channel.meter == "sadf"}
    storage = [name for name, role in brought.hosts.items() if role != "client"]
    if not storage:
        yield "no storage hosts are known: name them with --role NODE=storage"
    elif lacking := [name for name in storage if name not in counted]:
        yield f"no counters of {', '.join(lacking)}: the servers' overhead is unknown"
    formats = {str(record.trial.workload.options["format"]) for record in valid}
    if silent := [name for tool, name in WITHOUT.items() if tool in formats]:
        yield f"no latencies in {', '.join(silent)}"
    if coarse := [name for tool, name in WITHOUT_PERCENTILES.items() if tool in formats]:
        yield f"no latency percentiles in {', '.join(coarse)}"
    yield "no idle time before the loads is known: energies include idle power"


def _all(brought: Brought) -> Iterator[Series]:
    for series in brought.series.values():
        yield from series


def _powered(record: Record, series: tuple[Series, ...]) -> bool:
    assert record.outcome is not None
    began_s, ended_s = record.outcome.began_s, record.outcome.ended_s
    return any(
        s.channel.quantity in ("power", "energy")
        and float((s.t_s - s.duration_s)[0]) <= began_s
        and float(s.t_s[-1]) >= ended_s
        for s in series
    )
