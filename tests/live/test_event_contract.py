"""The contract of every kind of event found on disk: on virtual hosts its example happens and is undone,
in a valid trial.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from lacking import lacking
from perjoule import campaign, drivers
from perjoule.drivers.protocols import Command, FileSystem
from perjoule.execution import readiness, runner
from perjoule.model import healthy_since
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
    "workload": [
        {
            "kind": "duty",
            "operation": "write",
            "load": "50 %",
            "full": "2 MiB/s",
            "transfer": "64 KiB",
            "duration": "4 s",
        }
    ],
}


def able(kind: str) -> dict[str, Any]:
    """The table of a file system to which it can happen."""
    classes = {name: drivers.driver_class("filesystems", name) for name in FILESYSTEMS}
    name = next(
        name for name, cls in classes.items() if issubclass(cls, FileSystem) and kind not in cls.unable
    )
    return FILESYSTEMS[name]


@pytest.mark.parametrize("kind", drivers.kinds("events"))
def test_an_event_happens_is_undone_and_leaves_a_valid_trial(kind: str, tmp_path: Path) -> None:
    cls = drivers.event_class(kind)
    event: dict[str, Any] = tomllib.loads(campaign.example_text("event", kind))["event"][0]
    whole = issubclass(cls, Command)
    event |= {"at": "1 s", **({} if whole else {"host": "storage-3" if cls.brings == "new" else "storage-2"})}
    back = {"at": "2 s", "kind": "back", "host": event.get("host")}
    before = [{"at": "500 ms", "kind": "kill", "host": event["host"]}] if cls.brings == "back" else []
    events = [*before, event, *([] if whole or cls.brings else [back])]
    asked = campaign.parse(tomlkit.dumps(CAMPAIGN | {"filesystem": [able(kind)], "event": events}))
    if missing := lacking(readiness.checks(asked)):
        pytest.skip(missing)
    results = create(tmp_path / "results", asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda notice: None)
    stored = open_results(tmp_path / "results")
    (record,) = stored.latest()
    assert record.reason == ""
    assert [happened.event.kind for happened in record.events] == [table["kind"] for table in events]
    assert healthy_since(record.events, record.health) is not None, record.health
    assert verify(stored).differences == ()
