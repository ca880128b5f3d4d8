"""A name in a campaign to the driver in the file of that name: no registry, no list.

A driver is the one public frozen dataclass in the module or package `perjoule.<part>.<kind>` that inherits the part's protocol. A
module whose name begins with an underscore is shared by drivers, not a driver.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import TypeVar

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo

from perjoule.drivers import protocols
from perjoule.model import TO_RUN, Json, Reality, Spec, Traits, Trial, TrialEvent, least_real, option_name
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
    """List the drivers found on disk for a part ("testbeds", "filesystems", "workloads", "meters", "events")."""
    package = importlib.import_module(f"perjoule.{part}")
    return tuple(sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")))


def module_of(part: str, kind: str) -> ModuleType:
    """Return the module, or package, of a driver. Raises KeyError: there is no such driver."""
    if kind not in kinds(part):
        raise KeyError(kind)
    return importlib.import_module(f"perjoule.{part}.{kind}")


def example_of(part: str, kind: str) -> str:
    """Return a driver's own example, in TOML. Raises KeyError: there is no such driver."""
    return str(module_of(part, kind).EXAMPLE).strip()


@cache
def driver_class(part: str, kind: str) -> type:
    """Find the driver class of a kind.

    Raises:
        KeyError: there is no such driver.
    """
    module = module_of(part, kind)
    members: dict[str, object] = vars(module)
    found = [
        member
        for member in members.values()
        if inspect.isclass(member)
        and member.__module__ == module.__name__
        and issubclass(member, PROTOCOLS[part])
        and not inspect.isabstract(member)
    ]
    if len(found) != 1:
        raise TypeError(f"{module.__name__} has {len(found)} drivers, not one")
    return found[0]


def options(cls: type) -> Mapping[str, FieldInfo]:
    """Return the fields of a driver, or of a table that is one of its options; none for any other class."""
    return getattr(cls, "__pydantic_fields__", {})  # pydantic's, also where a driver inherits them


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
    found = driver_class("testbeds", kind)
    assert issubclass(found, protocols.Testbed)
    return found


def meter_class(kind: str) -> type[protocols.Meter]:
    """Find the class of a kind of meter. Raises KeyError."""
    found = driver_class("meters", kind)
    assert issubclass(found, protocols.Meter)
    return found


def meter(spec: Spec) -> protocols.Meter:
    """Build a meter of a trial."""
    return _built("meters", spec, protocols.Meter)


def event(asked: TrialEvent) -> protocols.Event:
    """Build an event of a trial."""
    options = {option_name(name): option_text(name, value) for name, value in asked.options.items()}
    return _built("events", Spec(asked.kind, options), protocols.Event)


def event_class(kind: str) -> type[protocols.Event]:
    """Find the class of a kind of event. Raises KeyError."""
    found = driver_class("events", kind)
    assert issubclass(found, protocols.Event)
    return found


def joining(events: Sequence[TrialEvent]) -> frozenset[str]:
    """Name the hosts without which a file system begins, because they join it later."""
    return frozenset(asked.host for asked in events if event_class(asked.kind).brings == "new")


def reality(trial: Trial) -> Reality:
    """Return what a trial's hosts and file system are: the least real of both. Raises CampaignError."""
    return least_real((testbed(trial.testbed).reality, filesystem(trial.filesystem).reality))


def traits(
    testbed: protocols.Testbed | None, filesystem: protocols.FileSystem | None, workload: protocols.Workload | None
) -> Traits:
    """Return what a trial's drivers declare of themselves, for its record; defaults for a driver that is missing."""
    known = Traits()
    beneath = filesystem.beneath if filesystem else None
    return Traits(
        reality=least_real(part.reality for part in (testbed, filesystem) if part),
        directions=workload.directions if workload else known.directions,
        pattern=workload.pattern if workload else known.pattern,
        beneath=beneath.kind if beneath else "",
        beneath_block_bytes=beneath.block_bytes if beneath else None,
    )
