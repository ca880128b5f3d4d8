"""Differences between two campaigns, by the names in campaign files and records.

`filesystem.goal`, `workload.size`, `testbed.scale`, `meter.<label>.rate` are options as written, `settle` and the like those of
the campaign; `environment.kernel` and `facts.filesystem.version` come from records. Values that a daemon counts or draws at
random (bytes in use, ids, addresses) do not count, nor does the run's own id in a path.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from perjoule.model import Campaign, Json, Record, Spec, value_at

ROOTS = ("filesystem", "workload", "testbed", "meter", "environment", "facts", "settle", "quiet", "align", "edp_weight", "until")
_STATES = ("run", "job", "address", "fsid", "uuid", "pid", "port", "used_bytes", "available_bytes", "free_bytes", "total_bytes")
_NO_CIRCUMSTANCE = (
    "environment.clock",
    "environment.git",
    "facts.aged",  # what `filesystem.aged` came to
    "facts.testbed.cpu_cap_cores",  # follow from the hosts and from machine_mips_per_core, which is listed
    "facts.testbed.cpu_demand_ratio",
)
Values = dict[str, set[str]]


@dataclass(frozen=True)
class Change:
    """A difference; "" is missing. A consequence of a declared change counts as declared."""

    name: str
    before: str
    after: str
    declared: bool = False
    follows: bool = False


def changes(
    pairs: Sequence[tuple[Record, Record]], campaigns: tuple[Campaign | None, Campaign | None], declared: Sequence[str]
) -> tuple[Change, ...]:
    """List the differences between records that are compared.

    Args:
        pairs: records of either side, of the same combination.
        campaigns: of either side; an unreadable one is not compared.
        declared: names that may differ, each with all below it; "filesystem.kind" is the whole file system.
    """
    before: Values = {}
    after: Values = {}
    for one, other in pairs:
        kinds_differ = one.trial.filesystem.kind != other.trial.filesystem.kind
        options = dict(_options(one)), dict(_options(other))
        for name in options[0].keys() | options[1].keys():
            if options[0].get(name) != options[1].get(name):
                _note(before, name, options[0].get(name, ""))
                _note(after, name, options[1].get(name, ""))
        for record, values in ((one, before), (other, after)):
            for name, value in _circumstances(record):
                if not (kinds_differ and name.startswith("facts.filesystem.")):
                    _note(values, name, value)
    readable = [campaign for campaign in campaigns if campaign is not None]
    if len(readable) == 2:
        for campaign, values in zip(readable, (before, after), strict=True):
            for name, value in _header(campaign):
                _note(values, name, value)
    different = [name for name in sorted(before.keys() | after.keys()) if _differ(name, before, after)]
    whole = ["filesystem"] if "filesystem.kind" in declared else []
    own = [name for name in different if not name.startswith("facts.") and _covered(name, [*declared, *whole])]
    return tuple(
        Change(
            name,
            ", ".join(sorted(before.get(name, ()))),
            ", ".join(sorted(after.get(name, ()))),
            _covered(name, [*declared, *whole]),
            _follows(name, own),
        )
        for name in different
    )


def undeclared(found: Sequence[Change]) -> tuple[Change, ...]:
    """List the changes that were not declared and follow from no declared one."""
    return tuple(one for one in found if not (one.declared or one.follows))


def _note(values: Values, name: str, value: str) -> None:
    values.setdefault(name, set()).add(value)


def _differ(name: str, before: Values, after: Values) -> bool:
    there, here = before.get(name, set()), after.get(name, set())
    if name.startswith("facts.") and max(len(there), len(here)) > 1:
        return False  # it differs from trial to trial by itself
    return there != here


def _covered(name: str, declared: Iterable[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in declared)


def _follows(name: str, own: Sequence[str]) -> bool:
    """Return whether a daemon's report follows from a changed option; another version never does."""
    parts = name.split(".")
    return parts[0] == "facts" and "version" not in parts[-1] and any(one.startswith(f"{parts[1]}.") for one in own)


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
    for root, told in (("environment", record.environment), ("facts", record.facts)):
        for name, value in _flat(told, root):
            if not _covered(name, _NO_CIRCUMSTANCE) and name.rpartition(".")[2] not in _STATES:
                yield name, value.replace(run, "RUN") if run else value


def _run(record: Record) -> str:
    """Return the id that a testbed drew for its run: mount points and folders bear it."""
    return str(value_at(record.facts, "testbed", "run") or "")


def _header(asked: Campaign) -> Iterator[tuple[str, str]]:
    yield "settle", f"{asked.settle_s:g} s"
    yield "quiet", f"{asked.quiet_s:g} s"
    yield "align", f"{asked.align_s:g} s"
    yield "edp_weight", str(asked.edp_weight)
    yield "until", f"{asked.until.metric} {asked.until.interval_ratio:g}" if asked.until else ""


def _flat(value: Json, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, one in value.items():
            yield from _flat(one, f"{name}.{key}")
    elif isinstance(value, list):
        for n, one in enumerate(value, start=1):
            yield from _flat(one, f"{name}.{n}")
    else:
        yield name, "" if value is None else str(value)
