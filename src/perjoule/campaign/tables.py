"""A campaign's table to drivers: a list for an option that takes one value spans the matrix."""

import itertools
import json
import math
import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from perjoule import catalogue, drivers
from perjoule.campaign.attachments import attached, takes_file
from perjoule.campaign.header import TOP_KEYS
from perjoule.campaign.lines import Path
from perjoule.campaign.of_hosts import of_hosts
from perjoule.campaign.passed import require_one_line
from perjoule.campaign.source import CampaignSource, Table, is_list, is_table
from perjoule.drivers.protocols import ListsUsers, Testbed, Tunable, Workload
from perjoule.model import option_name
from perjoule.model.errors import CampaignError
from perjoule.model.units import BYTES, exact_text
from perjoule.model.validation import explained, instead, line, written

NAMES = ("testbed", "filesystem", "workload", "meter")  # of tables; the parts of perjoule are their plurals
OWN_TESTBED = "testbed"  # of a file system: the options of [testbed] that it changes for itself
MOST_ROWS = 10_000
# which no campaign deploys
MOUNTED = ("lustre", "gpfs", "spectrumscale", "storagescale", "weka", "panfs", "vast", "daos", "zfs")


@dataclass(frozen=True)
class TableRow:
    """One driver of a table, with one value per option."""

    name: str  # "filesystem"
    path: Path  # of its table
    kind: str
    label: str  # as written; "" when it is still to be made
    options: Mapping[str, Any]
    driver: object


@cache
def fields_of(name: str, kind: str) -> Mapping[str, tuple[str, FieldInfo]]:
    """Return the options of a driver: name in the campaign -> its field's name and type.

    Raises KeyError: no such driver.
    """
    driver = drivers.driver_class(f"{name}s", kind)
    fields = drivers.options(driver)
    # pydantic reads a docstring below an option only in the class that declares it
    for field, info in fields.items():
        inherited = (drivers.options(base).get(field) for base in driver.__mro__)
        info.description = next(
            (base_info.description for base_info in inherited if base_info and base_info.description), None
        )
    inherited_last = sorted(
        fields.items(), key=lambda item: item[0] not in vars(driver).get("__annotations__", {})
    )
    return {option_name(field): (field, info) for field, info in inherited_last if info.init is not False}


def tunables(name: str, kind: str) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], Tunable]]:
    """Yield what a driver marks tunable, in its options and their tables: its path in a campaign's table, its
    fields, the mark.

    Raises KeyError: no such driver.
    """
    for option, (field, info) in fields_of(name, kind).items():
        marks = (mark for mark in info.metadata if isinstance(mark, Tunable))
        yield from (((option, mark.key) if mark.key else (option,), (field,), mark) for mark in marks)
        inner = table_class(info.annotation)
        for key, inner_info in drivers.options(inner).items() if inner else ():
            marks = (mark for mark in inner_info.metadata if isinstance(mark, Tunable))
            yield from (((option, option_name(key)), (field, key), mark) for mark in marks)


def lists_users(name: str, kind: str) -> tuple[str, ListsUsers] | None:
    """Return the option that lists users, if a driver has one. Raises KeyError: no such driver."""
    metadata = ((option, m) for option, (_, info) in fields_of(name, kind).items() for m in info.metadata)
    return next(((option, mark) for option, mark in metadata if isinstance(mark, ListsUsers)), None)


def takes_list(annotation: object) -> bool:
    """Return whether an option's own value is a list, so a flat list does not span the matrix."""
    if get_origin(annotation) in (Union, types.UnionType):
        return any(map(takes_list, get_args(annotation)))
    origin = get_origin(annotation) or annotation
    return (
        isinstance(origin, type)
        and issubclass(origin, Sequence | set | frozenset)
        and not issubclass(origin, str | bytes)
    )


def table_class(annotation: object) -> type | None:
    """Return the dataclass of an option that takes a table (`beneath = {kind = "xfs"}`), or None."""
    classes = (
        member
        for member in (annotation, *get_args(annotation))
        if isinstance(member, type) and is_dataclass(member)
    )
    return next(classes, None)


def known_options(name: str, path: Path, table: Table, source: CampaignSource) -> tuple[str, ...]:
    """Return the valid keys of a table. Raises CampaignError if its kind is unknown."""
    return (*common_keys(name), *fields_of(name, kind_of(name, path, table, source)))


def common_keys(name: str) -> tuple[str, ...]:
    """Return the keys of a table that are not options of its driver."""
    return ("kind", "label", OWN_TESTBED) if name == "filesystem" else ("kind", "label")


def rows(
    name: str, path: Path, table: Table, source: CampaignSource, shrink_ratio: float = 1.0
) -> tuple[TableRow, ...]:
    """Build every driver of a table. Raises CampaignError."""
    if name == "meter" and (tables := of_hosts(path, table, source)) != [table]:
        return tuple(
            row for host_table in tables for row in rows(name, path, host_table, source, shrink_ratio)
        )
    kind, label = kind_of(name, path, table, source), table.get("label", "")
    fields = fields_of(name, kind)
    options = {option: value for option, value in table.items() if option not in common_keys(name)}
    for option, value in options.items():
        if option not in fields:
            fault = f'{name} {kind} has no option "{option}"'
            advice = (
                "write it above the first table"
                if option in TOP_KEYS
                else _advice(name, kind, option, value, fields)
            )
            raise source.error((*path, option), fault, advice)
        _plain((*path, option), option, value, fields[option][1].annotation, source)
    if not source.of_results:
        require_one_line(path, options, source)
    choices = [_choices(value, fields[option][1].annotation) for option, value in options.items()]
    if math.prod(map(len, choices)) > MOST_ROWS:
        raise source.error(
            path, f"{name} {kind} spans more than {MOST_ROWS} combinations", "shorten its lists"
        )
    built_rows: list[TableRow] = []
    for values in itertools.product(*choices):
        row_options = dict(zip(options, values, strict=True))
        for option in options:
            if takes_file(fields[option][1].annotation):
                row_options[option] = attached(path, option, row_options[option], source)
        driver = _build(name, path, kind, row_options, source)
        if shrink_ratio != 1:
            row_options = _shrunk(path, kind, row_options, driver, source, shrink_ratio)
            driver = _build(name, path, kind, row_options, source)
        if isinstance(driver, Testbed) and driver.cluster not in ("", *catalogue.choices()):
            fault = f'the catalogue has no cluster "{driver.cluster}"'
            raise source.error((*path, "cluster"), fault, instead(driver.cluster, catalogue.choices()))
        built_rows.append(TableRow(name, path, kind, label, row_options, driver))
    return tuple(built_rows)


def _advice(name: str, kind: str, option: str, value: object, fields: Collection[str]) -> str:
    """Return what to write for an option that a driver lacks: named as in another tool, or misspelt."""
    driver = drivers.driver_class(f"{name}s", kind)
    near = (
        driver.also_called.get(option.lower().lstrip("-")) if issubclass(driver, Workload | Testbed) else None
    )
    return f"write {line(near, value)}" if near else instead(option, fields)


def where_mounted(kind: str) -> tuple[str, str] | None:
    """Say of a file system that no campaign deploys how it is measured: what, and what to write."""
    if kind.lower() not in MOUNTED:
        return None
    return (
        f"{kind} is measured where it is mounted, not deployed",
        'write kind = "directory"; see `perjoule docs mounted`',
    )


def kind_of(name: str, path: Path, table: Table, source: CampaignSource) -> str:
    """Return the kind of a table, written or implied by an option of that name. Raises CampaignError."""
    kinds = drivers.kinds(f"{name}s")
    kind, label = table.get("kind"), table.get("label", "")
    kind = drivers.implied(f"{name}s", table) if kind is None else kind  # `together = [...]`
    if kind is None:
        raise source.error(path, f"this {name} has no kind", f'write kind = "..."; known: {", ".join(kinds)}')
    if not isinstance(kind, str):
        raise source.error(
            (*path, "kind"),
            f"kind = {written(kind)} is not a single name",
            f"write one table for each {name}",
        )
    if name == "filesystem" and (mounted := where_mounted(kind)):
        raise source.error((*path, "kind"), *mounted)
    if kind not in kinds:
        from perjoule.campaign.describe import suggested  # which builds examples with what is here

        raise source.error((*path, "kind"), f'unknown {name} "{kind}"', suggested(kind, [name]))
    if not isinstance(label, str) or ("label" in table and not any(map(str.isalnum, label))):
        raise source.error(
            (*path, "label"), f"label = {written(label)} is not a name", "write a word or two in quotes"
        )
    return kind


def _plain(path: Path, option: str, value: object, annotation: object, source: CampaignSource) -> None:
    """Refuse values that TOML has but no option takes: dates, infinities, true for a number, an empty
    list.
    """
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise source.error(
            path, f"{option} = {written(value)} is not a valid value", "write a number or a text in quotes"
        ) from None
    if value == [] and not takes_list(annotation):
        raise source.error(path, f"{option} = [] is empty", "name at least one value")
    accepted = get_args(annotation) or (annotation,)
    if isinstance(value, bool) and bool not in accepted and {int, float} & set(accepted):
        raise source.error(path, f"{option} = {written(value)} is not a number")


def _choices(value: object, annotation: object) -> list[Any]:
    """Return the values that an option takes in turn; lists in an option's own table span the matrix, too."""
    values = value if is_list(value) and (not takes_list(annotation) or any(map(is_list, value))) else [value]
    inner = table_class(annotation)
    return [
        choice
        for value in values
        for choice in (_spanned(value, inner) if inner and is_table(value) else [value])
    ]


def _spanned(table: Table, inner: type) -> list[Table]:
    fields = {option_name(name): info.annotation for name, info in drivers.options(inner).items()}
    choices = [
        _choices(value, fields[key]) if key in fields and value != [] else [value]
        for key, value in table.items()
    ]
    combinations = itertools.islice(itertools.product(*choices), MOST_ROWS + 1)  # more are refused
    return [dict(zip(table, values, strict=True)) for values in combinations]


def _build(name: str, path: Path, kind: str, options: Mapping[str, Any], source: CampaignSource) -> object:
    try:
        return drivers.build(f"{name}s", kind, options, to_run=not source.of_results)
    except CampaignError as error:  # a driver's own word on options that do not go together
        raise source.error(path, f"{name} {kind}: {error.what}", error.next) from None
    except ValidationError as error:
        addition = 'add {} = "..."' if source.name else "add --set {}=..."
        driver = drivers.driver_class(f"{name}s", kind)
        explanation = explained(error, driver, f"{name} {kind}", noun="option", add=addition.format)
        raise source.error((*path, *explanation.path), explanation.what, explanation.advice) from None


def _shrunk(
    path: Path,
    kind: str,
    options: Mapping[str, Any],
    driver: object,
    source: CampaignSource,
    shrink_ratio: float,
) -> dict[str, Any]:
    size = fields_of("workload", kind).get("size")
    if size is None:
        raise source.error(path, f"workload {kind} has no size to shrink", "remove shrink")
    assert isinstance(driver, Workload)
    step_bytes = driver.pattern.transfer_bytes or 1
    return {
        **options,
        "size": exact_text(math.ceil(vars(driver)[size[0]] / shrink_ratio / step_bytes) * step_bytes, BYTES),
    }
