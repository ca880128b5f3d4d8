"""Events as records keep them: as the first ones were written, whatever options kinds have since."""

import json

import pytest

from perjoule.machine.untrusted import from_json
from perjoule.model import Happened, TrialEvent
from perjoule.store.records import to_json

# What records held before kinds had options of their own, byte for byte.
KEPT = {
    "kill storage-2": '{"at_s": 2.0, "kind": "kill", "host": "storage-2", "factor": 1.0, "loss_ratio": 0.0}',
    "slow storage-1 10 times": '{"at_s": 5.0, "kind": "slow", "host": "storage-1", "factor": 10.0, "loss_ratio": 0.0}',
    "lossy storage-3 2.5 %": '{"at_s": 7.0, "kind": "lossy", "host": "storage-3", "factor": 1.0, "loss_ratio": 0.025}',
    "scrub": '{"at_s": 6.0, "kind": "scrub", "host": "", "factor": 1.0, "loss_ratio": 0.0}',
}


@pytest.mark.parametrize(("text", "kept"), KEPT.items())
def test_a_record_keeps_an_event_in_the_same_words_as_ever(text: str, kept: str) -> None:
    event = from_json(TrialEvent, json.loads(kept))
    assert event.text == text
    assert json.dumps(to_json(event)) == kept
    happened = Happened(event, 1.0, 1.5, 2.0, lost_bytes=3)
    assert from_json(Happened, to_json(happened)) == happened


def test_a_loss_makes_another_trial_and_no_loss_the_one_that_it_was() -> None:
    identities = [
        TrialEvent(1.0, "lossy", "storage-1", {"loss_ratio": 0.1}),
        TrialEvent(1.0, "kill", "storage-1"),
    ]
    lossy, kill = (json.dumps(event.identity(), sort_keys=True) for event in identities)
    assert lossy == '{"at_s": 1.0, "factor": 1.0, "host": "storage-1", "kind": "lossy", "loss_ratio": 0.1}'
    assert kill == '{"at_s": 1.0, "factor": 1.0, "host": "storage-1", "kind": "kill"}'


def test_options_are_named_with_their_units() -> None:
    event = TrialEvent(
        1.0, "stutter", "storage-1", {"rest_s": 0.02, "held_bytes": 4194304, "rounds_count": 3, "way": "hard"}
    )
    assert event.text == "stutter storage-1 20 ms 4 MiB 3 hard"
    assert from_json(TrialEvent, to_json(event)) == event


@pytest.mark.parametrize(
    "damaged",
    [
        '{"kind": "kill", "host": "storage-2"}',
        '{"at_s": "1", "kind": "kill"}',
        '{"at_s": true, "kind": "kill"}',
        '{"at_s": 1.0, "kind": "Kill it", "host": ""}',
        '{"at_s": 1.0, "kind": "\\u001b[2J", "host": ""}',
        '{"at_s": 1.0, "kind": "kill", "host": 3}',
        '{"at_s": 1.0, "kind": "kill", "__class__": "x"}',
        '{"at_s": 1.0, "kind": "slow", "factor": {"a": 1}}',
        '{"at_s": 1.0, "kind": "slow", "factor": {"$float": "inf"}}',
        '["kill"]',
        '"kill"',
    ],
)
def test_what_is_not_an_event_is_refused(damaged: str) -> None:
    with pytest.raises(ValueError, match="event"):
        from_json(TrialEvent, json.loads(damaged))
