"""A name in a campaign to the driver in the file of that name, or in a module of another package: no
registry, no list.

A driver is the one public frozen dataclass in the module or package `perjoule.<part>.<kind>` that inherits
the part's protocol. A module whose name begins with an underscore is shared by drivers, not a driver. Other
packages name theirs by entry points (`model/families.py`).
"""

import dataclasses
import inspect
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from perjoule.drivers import protocols
from perjoule.model import (
    TO_RUN,
    Json,
    Reality,
    Spec,
    Traits,
    Trial,
    TrialEvent,
    families,
    least_real,
    option_name,
)
from perjoule.model.events import option_text

T = TypeVar("T")

PROTOCOLS: dict[str, type] = {
    "testbeds": protocols.Testbed,
    "filesystems": protocols.FileSystem,
    "workloads": protocols.Workload,
    "meters": protocols.Meter,
    "events": protocols.Event,
}


@cache
def kinds(part: str) -> tuple[str, ...]:
    """List the drivers of a part ("testbeds", "filesystems", "workloads", "meters", "events"), importing
    none of them.
    """
    return tuple(families.members(part))


def usable(part: str) -> tuple[str, ...]:
    """List those whose class can be had. Warns (LeftOut) of those of other packages that can't."""
    return tuple(families.usable(part, lambda member: _class_of(member) and member.name))


def module_of(part: str, kind: str) -> ModuleType:
    """Return the module, or package, of a driver. Raises KeyError: there is no such driver; PackageError."""
    return families.members(part)[kind].load()


def package_of(part: str, kind: str) -> str:
    """Return the package that has a driver, with its version; "" for perjoule's own, and for one that is
    not here.
    """
    member = families.members(part).get(kind)
    return member.package if member else ""


def of_others(trials: Iterable[Trial]) -> Mapping[str, Json]:
    """Return which packages have the drivers of trials, and measures, that are not perjoule's:
    "meters/wattbox" -> package.
    """
    used = dict.fromkeys(pair for trial in trials for pair in _used(trial))
    used |= dict.fromkeys(
        (families.MEASURES, member.name) for member in families.from_packages(families.MEASURES)
    )
    packages = ((f"{family}/{name}", package_of(family, name)) for family, name in used)
    return {name: package for name, package in packages if package}


def _used(trial: Trial) -> Iterator[tuple[str, str]]:
    yield from (
        ("testbeds", trial.testbed.kind),
        ("filesystems", trial.filesystem.kind),
        ("workloads", trial.workload.kind),
    )
    yield from (("workloads", kind) for kind in _inside(list(trial.workload.options.values())))
    yield from (("meters", meter.kind) for meter in trial.meters)
    yield from (("events", event.kind) for event in trial.events)


def _inside(value: Json) -> Iterator[str]:
    """Yield the kinds in the options of a workload: of the users of a mix."""
    if isinstance(value, Mapping):
        if isinstance(kind := value.get("kind"), str):
            yield kind
        yield from _inside(list(value.values()))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            yield from _inside(item)


def example_of(part: str, kind: str) -> str:
    """Return a driver's own example, in TOML. Raises KeyError: there is no such driver."""
    return str(module_of(part, kind).EXAMPLE).strip()


@cache
def driver_class(part: str, kind: str) -> type:
    """Find the driver class of a kind.

    Raises:
        KeyError: there is no such driver.
        PackageError: it is another package's, and can't be used.
    """
    return _class_of(families.members(part)[kind])


@cache
def _class_of(member: families.Member) -> type:
    module, protocol = member.load(), PROTOCOLS[member.family]
    begun = [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and value.__module__ == module.__name__ and issubclass(value, protocol)
    ]
    classes = [cls for cls in begun if not inspect.isabstract(cls)]
    lacking = [
        f"; {cls.__name__} lacks {', '.join(sorted(getattr(cls, '__abstractmethods__', ())))}"
        for cls in (() if classes else begun)
    ]
    member.require(
        len(classes) == 1,
        f"it has {len(classes)} classes that are a complete {protocol.__name__}, not one{''.join(lacking)}",
    )
    if member.package:  # of ours, tests hold it
        member.require(
            dataclasses.is_dataclass(classes[0]), f"{classes[0].__name__} is not a dataclass of options"
        )
        member.require(
            bool((module.__doc__ or "").strip()), "its module has no docstring that says what it is"
        )
        kinds_shown = member.guarded(_kinds_in)(vars(module).get("EXAMPLE", ""))
        member.require(member.name in kinds_shown, f'EXAMPLE has no table with kind = "{member.name}"')
    return classes[0]


def _kinds_in(example: str) -> list[str]:
    tables = cast("Iterable[dict[str, Any] | list[dict[str, Any]]]", tomllib.loads(example).values())
    return [
        str(table.get("kind"))
        for listed in tables
        for table in ([listed] if isinstance(listed, dict) else listed)
    ]


def options(cls: type) -> Mapping[str, FieldInfo]:
    """Return the fields of a driver, or of a table that is one of its options; none for any other class."""
    return getattr(cls, "__pydantic_fields__", {})  # pydantic's, also where a driver inherits them


def implied(part: str, table: Mapping[str, Any]) -> str | None:
    """Return the kind of a table without one: that with an option of its own name.

    One that can't be used is not meant.
    """
    for kind in kinds(part):
        with suppress(families.PackageError):
            if kind in table and kind in map(option_name, options(driver_class(part, kind))):
                return kind
    return None


def build(part: str, kind: str, options: Mapping[str, Json], *, to_run: bool = False) -> object:
    """Build a driver from options as written in a campaign (`{"transfer": "4 MiB"}`).

    Only `to_run` checks what they pass on to programs: who reads results starts nothing.

    Raises:
        KeyError: there is no such driver.
        pydantic.ValidationError: an option is unknown or wrong, or would pass on what is not permitted.
    """
    driver = driver_class(part, kind)
    return TypeAdapter(driver).validate_python(dict(options), context=TO_RUN) if to_run else driver(**options)


def _built(part: str, spec: Spec, protocol: type[T]) -> T:
    driver = build(part, spec.kind, spec.options)
    assert isinstance(driver, protocol)
    return driver


def testbed(spec: Spec) -> protocols.Testbed:
    """Build the testbed of a trial."""
    return _built("testbeds", spec, protocols.Testbed)


def filesystem(spec: Spec) -> protocols.FileSystem:
    """Build the file system of a trial."""
    return _built("filesystems", spec, protocols.FileSystem)


def workload(spec: Spec) -> protocols.Workload:
    """Build the workload of a trial."""
    return _built("workloads", spec, protocols.Workload)


def testbed_class(kind: str) -> type[protocols.Testbed]:
    """Find the class of a kind of testbed. Raises KeyError."""
    driver = driver_class("testbeds", kind)
    assert issubclass(driver, protocols.Testbed)
    return driver


def meter_class(kind: str) -> type[protocols.Meter]:
    """Find the class of a kind of meter. Raises KeyError."""
    driver = driver_class("meters", kind)
    assert issubclass(driver, protocols.Meter)
    return driver


def meter(spec: Spec) -> protocols.Meter:
    """Build a meter of a trial."""
    return _built("meters", spec, protocols.Meter)


def event(trial_event: TrialEvent) -> protocols.Event:
    """Build an event of a trial."""
    options = {option_name(name): option_text(name, value) for name, value in trial_event.options.items()}
    return _built("events", Spec(trial_event.kind, options), protocols.Event)


def event_class(kind: str) -> type[protocols.Event]:
    """Find the class of a kind of event. Raises KeyError."""
    driver = driver_class("events", kind)
    assert issubclass(driver, protocols.Event)
    return driver


def joining(events: Sequence[TrialEvent]) -> frozenset[str]:
    """Name the hosts without which a file system begins, because they join it later."""
    return frozenset(
        trial_event.host for trial_event in events if event_class(trial_event.kind).brings == "new"
    )


def reality(trial: Trial) -> Reality:
    """Return what a trial's hosts and file system are: the least real of both. Raises CampaignError."""
    return least_real((testbed(trial.testbed).reality, filesystem(trial.filesystem).reality))


def traits(
    testbed: protocols.Testbed | None,
    filesystem: protocols.FileSystem | None,
    workload: protocols.Workload | None,
) -> Traits:
    """Return what a trial's drivers declare of themselves, for its record; defaults for a driver that is
    missing.
    """
    default = Traits()
    beneath = filesystem.beneath if filesystem else None
    return Traits(
        reality=least_real(part.reality for part in (testbed, filesystem) if part),
        directions=workload.directions if workload else default.directions,
        pattern=workload.pattern if workload else default.pattern,
        beneath=beneath.kind if beneath else "",
        beneath_block_bytes=beneath.block_bytes if beneath else None,
    )
