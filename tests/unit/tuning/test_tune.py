"""A tuning between its rounds: settings that fail, and the default that must not."""

import pytest

from perjoule.model.errors import CampaignError
from perjoule.tuning.request import Request
from perjoule.tuning.space import Setting
from perjoule.tuning.study import Study, study
from perjoule.tuning.surface import Block
from perjoule.tuning.tune import _Race
from places import EXAMPLES


@pytest.fixture
def tiny() -> Study:
    return study(Request("MiB/J", 20), (EXAMPLES / "tune.toml").read_text(), (), "tune.toml", EXAMPLES)


def test_a_setting_that_failed_and_a_value_with_which_all_failed_are_given_up(tiny: Study) -> None:
    race = _Race(tiny)
    default = tiny.declared.space.default
    worked: Setting = (2, 1)
    race.blocks = [Block(default, 1, 1.0), Block(worked, 1, 1.0)]
    race.failed = {(4, 0): "a daemon ended"}
    assert not race.allowed((4, 0))
    assert race.allowed((4, 1))  # one failure may have another cause
    race.failed[4, 2] = "a daemon ended"
    assert not race.allowed((4, 1))
    race.failed |= {(0, 1): "again", (1, 1): "again"}
    assert race.allowed((3, 1))  # (2, 1) worked


def test_labels_stay_the_same_in_all_rounds(tiny: Study) -> None:
    race = _Race(tiny)
    default = tiny.declared.space.default
    first = race.labelled((default, (0, 1), (1, 2)))
    assert list(first) == ["default", "setting 1", "setting 2"]
    assert race.labelled(((1, 2), (3, 0))) == {"setting 2": (1, 2), "setting 3": (3, 0)}
    written = tiny.round(2, race.labelled(((1, 2), (3, 0))))
    assert tiny.labels(written) == {"setting 2": (1, 2), "setting 3": (3, 0)}
    assert [len(group) for group in written.groups] == [1, 1]  # each on a deployment of its own
    assert written.overrides == ()


def test_a_round_of_other_values_belongs_to_another_version(tiny: Study) -> None:
    written = tiny.round(1, {"setting 1": (0, 0)})
    narrow = study(
        Request("MiB/J", 20, only=("threads",)),
        written.text.replace("threads = 1", "threads = 3"),
        (),
        "",
        EXAMPLES,
    )
    with pytest.raises(CampaignError, match="no longer declares"):
        tiny.labels(narrow.tuned_campaign)
