"""Differences between two campaigns, by the names in campaign files and records.

`filesystem.goal`, `workload.size`, `testbed.scale`, `meter.<label>.rate` are options as written, `settle` and
the like those of the campaign; `environment.kernel` and `facts.filesystem.version` come from records. Values
that a daemon counts or draws at random (bytes in use, ids, addresses) do not count, nor does the run's own id
in a path.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from perjoule.model import HOPS, Campaign, Json, Record, Spec, value_at

ROOTS = (
    "filesystem",
    "workload",
    "testbed",
    "meter",
    "environment",
    "facts",
    "settle",
    "quiet",
    "align",
    "edp_weight",
    "until",
)
_STATES = (
    "run",
    "job",
    "address",
    "fsid",
    "uuid",
    "pid",
    "port",
    "used_bytes",
    "available_bytes",
    "free_bytes",
    "total_bytes",
)
_NO_CIRCUMSTANCE = (
    "environment.clock",
    "environment.git",
    "facts.aged",  # what `filesystem.aged` came to
    "facts.testbed.cpu_cap_cores",  # follow from the hosts and from machine_mips_per_core, which is listed
    "facts.testbed.cpu_demand_ratio",
    f"facts.filesystem.{HOPS}",  # as chance placed what is stored, and so are those
    "facts.filesystem.volumes",
)
Values = dict[str, set[str]]


@dataclass(frozen=True)
class Difference:
    """A difference; "" is missing. A consequence of a declared change counts as declared."""

    name: str
    before: str
    after: str
    declared: bool = False
    follows: bool = False


def changes(
    pairs: Sequence[tuple[Record, Record]],
    campaigns: tuple[Campaign | None, Campaign | None],
    declared: Sequence[str],
) -> tuple[Difference, ...]:
    """List the differences between records that are compared.

    Args:
        pairs: records of either side, of the same combination.
        campaigns: of either side; an unreadable one is not compared.
        declared: names that may differ, each with all below it; "filesystem.kind" is the whole file system.
    """
    before: Values = {}
    after: Values = {}
    for before_record, after_record in pairs:
        kinds_differ = before_record.trial.filesystem.kind != after_record.trial.filesystem.kind
        options = dict(_options(before_record)), dict(_options(after_record))
        for name in options[0].keys() | options[1].keys():
            if options[0].get(name) != options[1].get(name):
                _note(before, name, options[0].get(name, ""))
                _note(after, name, options[1].get(name, ""))
        for record, values in ((before_record, before), (after_record, after)):
            for name, value in _circumstances(record):
                if not (kinds_differ and name.startswith("facts.filesystem.")):
                    _note(values, name, value)
    readable = [campaign for campaign in campaigns if campaign is not None]
    if len(readable) == 2:
        for campaign, values in zip(readable, (before, after), strict=True):
            for name, value in _header(campaign):
                _note(values, name, value)
    different = [name for name in sorted(before.keys() | after.keys()) if _differ(name, before, after)]
    wholly = ["filesystem"] if "filesystem.kind" in declared else []
    options_changed = [
        name for name in different if not name.startswith("facts.") and _covered(name, [*declared, *wholly])
    ]
    return tuple(
        Difference(
            name,
            ", ".join(sorted(before.get(name, ()))),
            ", ".join(sorted(after.get(name, ()))),
            _covered(name, [*declared, *wholly]),
            _follows(name, options_changed),
        )
        for name in different
    )


def undeclared(differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """List the changes that were not declared and follow from no declared one."""
    return tuple(change for change in differences if not (change.declared or change.follows))


def _note(values: Values, name: str, value: str) -> None:
    values.setdefault(name, set()).add(value)


def _differ(name: str, before: Values, after: Values) -> bool:
    before_values, after_values = before.get(name, set()), after.get(name, set())
    if name.startswith("facts.") and max(len(before_values), len(after_values)) > 1:
        return False  # it differs from trial to trial by itself
    return before_values != after_values


def _covered(name: str, declared: Iterable[str]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in declared)


def _follows(name: str, options: Sequence[str]) -> bool:
    """Return whether a daemon's report follows from a changed option; another version never does."""
    parts = name.split(".")
    return (
        parts[0] == "facts"
        and "version" not in parts[-1]
        and any(option.startswith(f"{parts[1]}.") for option in options)
    )


def _options(record: Record) -> Iterator[tuple[str, str]]:
    trial = record.trial
    yield from _of_spec("filesystem", trial.filesystem)
    yield from _of_spec("workload", trial.workload)
    yield from _of_spec("testbed", trial.testbed)
    for meter in trial.meters:
        yield from _of_spec(f"meter.{meter.label}", meter)
    for number, event in enumerate(trial.events, start=1):
        yield f"event.{number}", f"{event.text} at {event.at_s:g} s"


def _of_spec(name: str, spec: Spec) -> Iterator[tuple[str, str]]:
    yield f"{name}.kind", spec.kind
    yield from _flat(spec.options, name)


def _circumstances(record: Record) -> Iterator[tuple[str, str]]:
    run = _run(record)
    for root, facts in (("environment", record.environment), ("facts", record.facts)):
        for name, value in _flat(facts, root):
            if not _covered(name, _NO_CIRCUMSTANCE) and name.rpartition(".")[2] not in _STATES:
                yield name, value.replace(run, "RUN") if run else value


def _run(record: Record) -> str:
    """Return the id that a testbed drew for its run: mount points and folders bear it."""
    return str(value_at(record.facts, "testbed", "run") or "")


def _header(campaign: Campaign) -> Iterator[tuple[str, str]]:
    yield "settle", f"{campaign.settle_s:g} s"
    yield "quiet", f"{campaign.quiet_s:g} s"
    yield "align", f"{campaign.align_s:g} s"
    yield "edp_weight", str(campaign.edp_weight)
    yield "until", f"{campaign.until.metric} {campaign.until.interval_ratio:g}" if campaign.until else ""


def _flat(value: Json, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f"{name}.{key}")
    elif isinstance(value, list):
        for n, item in enumerate(value, start=1):
            yield from _flat(item, f"{name}.{n}")
    else:
        yield name, "" if value is None else str(value)
