"""The contract of every kind of event found on disk: on virtual hosts its example happens and is undone,
in a valid trial. All kinds that can happen to a file system do so in one trial of it, one after another.
"""

import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import pytest
import tomlkit

from lacking import lacking
from perjoule import campaign, drivers
from perjoule.drivers.protocols import Command, Event, FileSystem
from perjoule.execution import readiness, runner
from perjoule.model import Campaign, Record, healthy_since
from perjoule.results.verification import verify
from perjoule.store import create, open_results

pytestmark = pytest.mark.live

FILESYSTEMS = {  # the first one that a kind can happen to is taken
    "moosefs": {"kind": "moosefs", "goal": 2},
    "cephfs": {
        "kind": "cephfs",
        "placement_groups": 4,
        "osd_size": "1 GiB",
        "conf": {"osd_scrub_backoff_ratio": "0"},
    },
}
CAMPAIGN: dict[str, Any] = {
    "name": "contract",
    "repetitions": 1,
    "seed": 1,
    "settle": "200 ms",
    "quiet": "60 s",
    "testbed": {"kind": "virtual", "scale": 0.5, "servers": 3, "disk": "xfs", "disk_size": "4 GiB"},
}
LOAD = {"kind": "duty", "operation": "write", "load": "50 %", "full": "2 MiB/s", "transfer": "64 KiB"}
BACK = "back"  # undoes all others
HURT, NEW = "storage-2", "storage-3"


def able(kind: str) -> str:
    """The file system to which it can happen."""
    classes = {name: drivers.driver_class("filesystems", name) for name in FILESYSTEMS}
    return next(
        name for name, cls in classes.items() if issubclass(cls, FileSystem) and kind not in cls.unable
    )


def lasts(cls: type[Event]) -> bool:
    """Whether the file system goes on working on it."""
    return cls.takes == "disk" or bool(cls.single)


def events(kinds: Sequence[str]) -> list[dict[str, Any]]:
    """The tables of these kinds, a second apart: a host joins first, as no other can be hurt before; what has the
    file system work on for a while comes last; a host that is hurt is back before it is hurt again.
    """
    classes = {kind: drivers.event_class(kind) for kind in kinds if kind != BACK}
    in_order = sorted(classes, key=lambda kind: (classes[kind].brings != "new", lasts(classes[kind])))
    tables: list[dict[str, Any]] = []
    for kind in in_order:
        example = tomllib.loads(campaign.example_text("event", kind))["event"][0]
        if issubclass(classes[kind], Command):
            tables.append(example)
        elif classes[kind].brings:
            tables.append(example | {"host": NEW})
        else:
            tables += [example | {"host": HURT}, {"kind": BACK, "host": HURT}]
    return [table | {"at": f"{at_s} s"} for at_s, table in enumerate(tables, start=1)]


def asked(name: str, tables: Sequence[dict[str, Any]]) -> Campaign:
    load = LOAD | {"duration": f"{len(tables) + 2} s"}
    return campaign.parse(
        tomlkit.dumps(CAMPAIGN | {"filesystem": [FILESYSTEMS[name]], "workload": [load], "event": tables})
    )


@cache
def lack(kind: str) -> str:
    """What this machine lacks for it."""
    return lacking(readiness.checks(asked(able(kind), events([kind if kind != BACK else "kill"]))))


class Happened(NamedTuple):
    """What came of a trial."""

    record: Record
    kinds: Sequence[str]
    """Of the events that it was to have, in the order of time."""
    differences: Sequence[object]


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Happened]:
    """Measure the trial of a file system, once."""

    @cache
    def measured(name: str) -> Happened:
        kinds = [kind for kind in drivers.kinds("events") if able(kind) == name and not lack(kind)]
        wanted, folder = asked(name, events(kinds)), tmp_path_factory.mktemp(name) / "results"
        runner.run(wanted, create(folder, wanted.text, wanted.name, wanted.overrides), lambda notice: None)
        stored = open_results(folder)
        (record,) = stored.latest()
        return Happened(record, [table["kind"] for table in events(kinds)], verify(stored).differences)

    return measured


@pytest.mark.parametrize("kind", drivers.kinds("events"))
def test_an_event_happens_is_undone_and_leaves_a_valid_trial(
    kind: str, trial: Callable[[str], Happened]
) -> None:
    if missing := lack(kind):
        pytest.skip(missing)
    record, kinds, differences = trial(able(kind))
    assert record.reason == ""
    assert kind in kinds
    assert [happened.event.kind for happened in record.events] == kinds
    assert healthy_since(record.events, record.health) is not None, record.health
    assert differences == ()
