"""What the authors of papers leave for later, as campaigns: each has a plan, and runs with simulated parts."""

import tomllib
from pathlib import Path

import jsonschema
import pytest

from day import by_day
from perjoule import campaign, store
from perjoule.execution import runner
from places import EXAMPLES, ROOT

FILES = sorted((EXAMPLES / "future-work").glob("*.toml"))
PAGE = (ROOT / "docs" / "how-to" / "reproduce.md").read_text()


@pytest.fixture(scope="module")
def editor() -> jsonschema.Draft202012Validator:
    """What checks a campaign as editors do, made once."""
    return jsonschema.Draft202012Validator(campaign.schema())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_is_a_campaign_with_a_plan_that_an_editor_knows_and_the_page_names(
    path: Path, editor: jsonschema.Draft202012Validator
) -> None:
    asked, text = campaign.read(path), path.read_text()
    assert asked.name == path.stem
    assert campaign.plan(asked).duration_s > 0
    assert text.startswith("#:schema ../campaign.schema.json\n#\n# ")
    assert f"sudo perjoule run examples/future-work/{path.name}\n" in text
    assert not list(editor.iter_errors(tomllib.loads(text)))
    assert f"`{path.stem}`" in PAGE


# By night all: they have many deployments or trials; what they are of runs by day in campaigns of its own.
@pytest.mark.parametrize("name", by_day((path.stem for path in FILES), "mirrors", "sd-cards"))
def test_each_runs_with_simulated_parts(name: str, tmp_path: Path) -> None:
    path = EXAMPLES / "future-work" / f"{name}.toml"
    asked = campaign.read(path, ["simulate=true", "settle=5 ms", "quiet=0", "repetitions=1"])
    results = store.create(tmp_path / "results", asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda event: None)
    records = results.latest()
    assert {record.reason for record in records} == {""}
    whole = campaign.read(path, ["repetitions=1"])
    assert len(records) == len(whole.trials)
    of_each = {(t.filesystem.label, t.workload.label, t.clients_count) for t in whole.trials}
    assert {
        (r.trial.filesystem.label, r.trial.workload.label, r.trial.clients_count) for r in records
    } == of_each
