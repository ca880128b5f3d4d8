import tomllib
from pathlib import Path

import jsonschema
import pytest

from perjoule import campaign, drivers, store
from perjoule.campaign.tables import NAMES
from perjoule.execution import runner
from perjoule.model import StopRule
from perjoule.summary import summary
from perjoule.testbeds.simulated import SimulatedTestbed
from places import EXAMPLES

FILES = sorted(EXAMPLES.glob("*.toml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_is_a_campaign_with_a_plan(path: Path) -> None:
    asked = campaign.read(path)
    assert asked.name == path.stem
    assert asked.description
    assert campaign.plan(asked).duration_s > 0


@pytest.fixture(scope="module")
def editor() -> jsonschema.Draft202012Validator:
    """What checks a campaign as editors do, made once."""
    return jsonschema.Draft202012Validator(campaign.schema())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_is_valid_for_an_editor(path: Path, editor: jsonschema.Draft202012Validator) -> None:
    assert not list(editor.iter_errors(tomllib.loads(path.read_text())))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_example_says_what_it_is_before_it_begins(path: Path) -> None:
    schema, *said = path.read_text().splitlines()
    assert schema.startswith("#:schema ")
    assert said[0] == "#"
    assert said[1].startswith("# ")


def test_there_is_an_example_for_each_kind_of_table() -> None:
    written = "".join(path.read_text() for path in FILES)
    assert all(f"[{name}]" in written for name in NAMES)


def test_the_demo_is_the_paper_in_small_and_repeats_until_its_intervals_are_narrow() -> None:
    asked = campaign.read(EXAMPLES / "demo.toml")
    assert {t.filesystem.kind for t in asked.trials} == {"moosefs", "glusterfs", "cephfs"}
    assert {t.clients_count for t in asked.trials} == {1, 4}
    assert asked.until == StopRule("MiB/J", 0.1, 5)
    assert asked.least_count == 3
    # most combinations need no more
    least = [step for step in campaign.plan(asked).steps if step.trial.repetition <= 3]
    assert sum(step.duration_s for step in least) < 6 * 60


def test_the_demo_compares_file_systems_of_which_each_survives_the_loss_of_a_storage_host() -> None:
    asked = campaign.read(EXAMPLES / "demo.toml")
    with SimulatedTestbed().hold(1) as hosts:
        redundancies = {
            trial.filesystem.label: drivers.filesystem(trial.filesystem).redundancy(hosts)
            for trial in asked.trials
        }
    assert len(redundancies) == 3
    for label, redundancy in redundancies.items():
        assert redundancy and "1 storage host may fail" in redundancy.sentence, label


def test_the_papers_campaign_moves_36_gib_in_every_trial_five_times_with_one_to_four_clients() -> None:
    asked = campaign.read(EXAMPLES / "green-storage.toml")
    steps = campaign.plan(asked).steps
    assert {step.moved_bytes for step in steps} == {36 * 1024**3}
    assert {step.trial.clients_count for step in steps} == {1, 2, 3, 4}
    assert {step.trial.repetition for step in steps} == {1, 2, 3, 4, 5}
    assert len(steps) == 4 * 2 * 4 * 5


def test_the_papers_campaign_is_scaled_down_by_one_option() -> None:
    asked = campaign.read(EXAMPLES / "green-storage.toml", ["shrink=1000"])
    assert all(24 * 1024**2 <= step.moved_bytes <= 40 * 1024**2 for step in campaign.plan(asked).steps)


def test_the_simulated_example_runs_anywhere(tmp_path: Path) -> None:
    asked = campaign.read(EXAMPLES / "simulated.toml", ["settle=5 ms"])
    results = store.create(tmp_path / "results", asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda event: None)
    assert [(record.status, record.reason) for record in results.latest()] == [("valid", "")] * 16


def test_the_power_states_run_in_simulation_with_a_row_for_each_policy_and_load(tmp_path: Path) -> None:
    asked = campaign.read(EXAMPLES / "power-states.toml", ["simulate=true", "settle=5 ms", "repetitions=1"])
    results = store.create(tmp_path / "results", asked.text, asked.name, asked.overrides)
    runner.run(asked, results, lambda event: None)
    assert [(record.status, record.reason) for record in results.latest()] == [("valid", "")] * 6
    cells = summary(results).cells
    assert len({cell.filesystem for cell in cells}) == 3
    assert {cell.workload for cell in cells} == {"idle", "fio"}


def test_the_access_patterns_are_all_of_the_papers_on_all_that_lies_beneath() -> None:
    asked = campaign.read(EXAMPLES / "access-patterns.toml")
    assert {t.filesystem.kind for t in asked.trials} == {"cephfs", "moosefs", "glusterfs"}
    cephfs = [t for t in asked.trials if t.filesystem.kind == "cephfs"]
    ext4, xfs = ([f"CephFS beneath {kind} {n} KiB" for n in (1, 2, 4)] for kind in ("ext4", "xfs"))
    assert {t.filesystem.label for t in cephfs} == {*ext4, *xfs, "CephFS beneath btrfs"}
    patterns = {(t.workload.options["operation"], t.workload.options["transfer"]) for t in cephfs}
    operations, transfers = ("write", "read", "randwrite", "randread"), ("16 MiB", "1 MiB", "64 KiB")
    assert patterns == {(operation, transfer) for operation in operations for transfer in transfers}
    assert {t.clients_count for t in asked.trials} == {2}
    assert {step.moved_bytes for step in campaign.plan(asked).steps} == {6 * 1024**3}
