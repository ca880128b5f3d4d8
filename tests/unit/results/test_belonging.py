"""Kept trials, and the campaign beside them: `verify` finds where one does not belong to the other."""

import json
import shutil
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest

from measured import measured
from perjoule import campaign, store
from perjoule.execution import runner
from perjoule.model.errors import CampaignError
from perjoule.results.verification import verify
from perjoule.store.journal import sha256
from perjoule.store.results import digest_of
from perjoule.summary import summary

pc: Any = pyarrow.compute  # which ships no types
MODELLED = 'kind = "system"\nrate = "50 Hz"\n[[meter]]\nkind = "modelled"\nrate = "50 Hz"'
TESTBED = '[testbed]\nkind = "simulated"\ncluster = "odroid-hc4"\n'


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("belonging") / "results"
    small = measured(folder.with_name("small"), 'settle = "30 ms"', size="2 MiB")
    text = small.campaign_text.replace('[testbed]\nkind = "simulated"\n', TESTBED).replace(
        'kind = "system"', MODELLED
    )
    asked = campaign.parse(text)
    results = store.create(folder, asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda event: None)
    results.keep_table(summary(results).cells)
    shutil.rmtree(folder / "summary", ignore_errors=True)
    return results


@pytest.fixture
def results(whole, tmp_path):
    shutil.copytree(whole.folder, tmp_path / "results")
    return store.open_results(tmp_path / "results")


def edited(results, old, new):
    """The folder after somebody changed its campaign.toml, and the campaign that it has now."""
    path = results.folder / "campaign.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    again = store.open_results(results.folder)
    return again, campaign.parse(again.campaign_text, overrides=again.overrides, folder=again.folder)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'throughput = "80 MiB/s"',
            'throughput = "800 MiB/s"',
            "kept trials? .* would be none of this campaign",
        ),
        ('settle = "30 ms"', 'settle = "40 ms"', r"settle_s was 0\.03 and is now 0\.04"),
    ],
)
def test_a_changed_campaign_does_not_continue_in_the_same_folder(results, old, new, words):
    before = results.entries()
    again, asked = edited(results, old, new)
    with pytest.raises(CampaignError, match=words) as caught:
        runner.run(asked, again, lambda event: None)
    assert "put campaign.toml back" in str(caught.value.next)
    assert again.entries() == before


def test_more_repetitions_continue_and_verify(results):
    again, asked = edited(results, "seed = 1", "seed = 1\nrepetitions = 5")
    assert any(
        "campaign.toml: it, or a file that it names, is not the one that was run" in d
        for d in verify(again).differences
    )
    runner.run(asked, again, lambda event: None)
    again = store.open_results(results.folder)
    assert (len(results.entries()), len(again.done())) == (5, 5)
    again.keep_table(summary(again).cells)
    assert verify(again).differences == ()


def test_a_campaign_whose_trials_were_not_these_differs_also_with_a_digest_of_its_own(results):
    again, asked = edited(results, 'throughput = "80 MiB/s"', 'throughput = "500 MiB/s"')
    again.keep_campaign(digest_of(again.campaign_text, again.overrides, asked.files), again.conditions)
    differences = verify(store.open_results(results.folder)).differences
    assert len(differences) == len(results.done())
    assert all("the campaign in campaign.toml has no such trial" in d for d in differences)


def test_a_folder_without_a_digest_verifies_and_its_trials_are_compared(results):
    head = json.loads((results.folder / "results.json").read_text())
    del head["campaign"], head["conditions"]
    (results.folder / "results.json").write_text(json.dumps({**head, "version": 1}))
    assert verify(store.open_results(results.folder)).differences == ()
    again, _ = edited(results, 'throughput = "80 MiB/s"', 'throughput = "500 MiB/s"')
    assert verify(again).differences


def forge(results, condition, change):
    """Change modelled samples of one kind in every attempt, with all checksums."""
    lines = []
    for line in map(json.loads, results.journal.read_text().splitlines()):
        path = results.folder_of_attempt(line["trial"], line["attempt"]) / "series.parquet"
        table = pq.read_table(path)
        chosen = pc.equal(table["meter"].cast(pa.string()), "modelled")
        if condition:
            chosen = pc.and_(chosen, pc.equal(table["component"].cast(pa.string()), condition))
        values = pc.if_else(chosen, change(table["value"]), table["value"])
        pq.write_table(table.set_column(table.column_names.index("value"), "value", values), path)
        line["files"]["series.parquet"] = sha256(path)
        lines.append(json.dumps(line) + "\n")
    results.journal.write_text("".join(lines))
    shutil.rmtree(results.folder / "summary", ignore_errors=True)
    again = store.open_results(results.folder)
    again.keep_table(summary(again).cells)
    return verify(again).differences


@pytest.mark.parametrize("component", ["board", "disks", "supply", "switch", ""])
@pytest.mark.parametrize("factor", [0.1, 0.999, 1.001])
def test_modelled_watts_that_do_not_follow_from_counters_are_found(results, component, factor):
    assert verify(results).differences == ()
    differences = forge(results, component, lambda watts: pc.multiply(watts, factor))
    assert any("modelled:" in d and "recomputed from counters" in d for d in differences)
    assert all("modelled:" in d for d in differences)


def test_modelled_watts_without_counters_are_at_least_those_of_idle_hosts(results):
    assert forge(results, "", lambda watts: watts) == ()
    for path in results.folder.glob("trials/*/*/series.parquet"):
        table = pq.read_table(path)
        pq.write_table(table.filter(pc.not_equal(table["meter"].cast(pa.string()), "system")), path)
    assert forge(results, "", lambda watts: watts) == ()
    assert any(
        "only the bounds were checked" in note for note in verify(store.open_results(results.folder)).notes
    )
    assert forge(results, "", lambda watts: pc.multiply(watts, 0.1))
