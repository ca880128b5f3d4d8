"""The order of events and of what is measured before them."""

from perjoule.execution.steps import steps
from perjoule.model import TrialEvent

ASKED: tuple[tuple[float, str], ...] = ((1.0, "slow"), (2.0, "kill"), (8.0, "back"), (9.0, "fail"))


def test_a_disk_is_weighed_when_its_host_last_changed_but_no_earlier_than_needed() -> None:
    slow, kill, back, fail = (TrialEvent(at_s, kind, "storage-1") for at_s, kind in ASKED)
    later = TrialEvent(13.5, "fail", "storage-2")
    assert steps((slow, kill, back, fail, later)) == [
        (1.0, (), (slow,)),
        (2.0, (), (kill,)),
        (8.0, (), (back,)),
        (8.0, (fail,), ()),
        (9.0, (), (fail,)),
        (10.5, (later,), ()),
        (13.5, (), (later,)),
    ]
    assert [step[0] for step in steps([TrialEvent(1.0, "fail", "storage-1")])] == [0.0, 1.0]
