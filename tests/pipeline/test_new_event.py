"""A new kind of event is one file: put it where the others are, and it is read, listed, scheduled, done
and kept.
"""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

import perjoule.events
from perjoule import campaign, drivers
from perjoule.campaign import tables
from perjoule.execution import happening, runner
from perjoule.model.errors import CampaignError
from perjoule.results.verification import verify
from perjoule.store import create, open_results

STUTTER = '''"""A server's daemons end and start again at once."""

import time
from collections.abc import Sequence

from pydantic.dataclasses import dataclass

from perjoule.drivers.protocols import Host, Mounted, ServerEvent
from perjoule.model import OPTIONS
from perjoule.model.units import Seconds

EXAMPLE = '[[event]]\\nat = "20 s"\\nkind = "stutter"\\nhost = "storage-2"\\nrest = "1 s"\\n'


@dataclass(frozen=True, kw_only=True, config=OPTIONS)
class Stutter(ServerEvent):
    """A crash whose daemons a service manager starts again."""

    rest_s: Seconds
    """Time between their end and their start."""

    def do(self, host: Host, mounted: Mounted, standing: Sequence[ServerEvent]) -> None:
        """Do both."""
        mounted.kill(host)
        time.sleep(self.rest_s)
        mounted.revive(host)
'''
TEXT = """
name = "new"
repetitions = 1
seed = 1
settle = "50 ms"
quiet = "20 s"
[testbed]
kind = "simulated"
[[filesystem]]
kind = "simulated"
rebuild = "100 ms"
[[workload]]
kind = "simulated"
size = "1 GiB"
duration = "400 ms"
[[event]]
at = "100 ms"
kind = "stutter"
host = "storage-2"
rest = "20 ms"
"""


@pytest.fixture(autouse=True)
def stutter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "stutter.py").write_text(STUTTER)
    monkeypatch.setattr(perjoule.events, "__path__", [*perjoule.events.__path__, str(tmp_path / "more")])
    monkeypatch.setattr(happening, "LOOK_S", 0.05)
    caches = (drivers.kinds, drivers.driver_class, tables.fields_of)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def test_one_file_makes_a_kind_of_event_that_is_listed_with_its_options() -> None:
    lines = list(campaign.describe())
    assert any(
        "stutter" in line and "end and start again" in line for line in lines[lines.index("[[event]]") :]
    )
    assert any(line.strip().startswith("rest = ...") for line in campaign.describe("stutter"))
    definitions = json.loads(json.dumps(campaign.schema()))["$defs"]
    assert set(definitions["event-stutter"]["required"]) == {"at", "kind", "rest", "host"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (TEXT.replace('"20 ms"', '"20 kg"'), 'line 20: rest: unknown unit "kg"'),
        (TEXT.replace('rest = "20 ms"', ""), 'stutter lacks "rest"; rest = "1 s"'),
        (TEXT.replace("stutter", "kill"), '"kill" has no rest; only stutter has one'),
        (TEXT.replace("stutter", "stuter"), 'kind = "stuter" is not a valid value; did you mean "stutter"'),
        (TEXT.replace('100 ms"\nkind', '1 s"\nkind'), "stutter storage-2 20 ms would happen after the end"),
        (TEXT.replace("storage-2", "client-1"), "client-1 is a client, and events happen to servers"),
        (TEXT.replace('host = "storage-2"\nrest', "rest"), 'an event needs "host"'),
    ],
)
def test_a_campaign_is_validated_by_what_that_file_says(wrong: str, said: str) -> None:
    with pytest.raises(CampaignError, match=said):
        campaign.parse(wrong)


def test_it_is_done_at_its_time_and_kept_with_its_options(tmp_path: Path) -> None:
    asked = campaign.parse(TEXT)
    results = create(tmp_path / "results", asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda notice: None)
    stored = open_results(tmp_path / "results")
    (record,) = stored.latest()
    assert record.reason == ""
    (happened,) = record.events
    assert happened.event.text == "stutter storage-2 20 ms"
    assert happened.event.options == {"rest_s": 0.02}
    assert happened.ended_s - happened.began_s >= 0.02
    assert any("rebuilding" in health.words for health in record.health)
    assert verify(stored).differences == ()
    assert record.trial.id == asked.trials[0].id
