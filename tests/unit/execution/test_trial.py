"""A trial on a deployment that is up."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perjoule import campaign
from perjoule.drivers.protocols import Hosts, PassesOn, planned
from perjoule.execution import trial
from perjoule.execution.happening import LATE_OUTSIDE_S, LATE_S, Course
from perjoule.execution.trial import Ended, UnderWay, Up, keep_logs, starved
from perjoule.model import Amplification, ClientResult, Flow, Outcome
from perjoule.model.errors import WorkloadError
from scripted import ScriptedHost, ScriptedMount


def test_a_log_that_can_not_be_kept_does_not_cost_the_trial(tmp_path: Path) -> None:
    host = ScriptedHost()
    mounted = ScriptedMount(host)
    mounted.logs, mounted.logs_there = (tmp_path / "absent",), [(host, Path("/there/brick.log"))]
    keep_logs(mounted, tmp_path / "no such folder")
    assert [argv[0] for argv in host.ran] == ["tail"]
    keep_logs(mounted, tmp_path)
    assert (tmp_path / "client-1-brick.log").exists()


class Starved(ScriptedHost):
    """A host of which the kernel has killed a program."""

    def out_of_memory(self) -> str:
        return "the kernel killed one of its programs"


def test_a_lack_of_memory_is_the_failure_and_explains_what_failed_by_it() -> None:
    failure = WorkloadError("mfschunkserver ended", where="storage-2")
    failure.logs = {"a.log": "last words"}
    fine, starving = ScriptedHost("client-1"), Starved("storage-2")
    assert starved(Hosts((fine,)), failure) is None
    found = starved(Hosts((fine, starving)), failure)
    assert found is not None
    assert found.what == "storage-2: the kernel killed one of its programs; storage-2: mfschunkserver ended"
    assert (found.logs, found.transient) == (failure.logs, True)
    alone = starved(Hosts((starving,)), None)  # the load continued without the program
    assert alone is not None
    assert alone.what == "storage-2: the kernel killed one of its programs"


CLUSTER = """kind = "cluster"
hosts = [
    {name = "storage-1", address = "192.0.2.1", role = "storage"},
    {name = "client-1", address = "192.0.2.2", role = "client"},
]"""
HIT = """
name = "hit"
repetitions = 1
[testbed]
{testbed}
[[filesystem]]
kind = "moosefs"
[[workload]]
kind = "fio"
size = "1 GiB"
duration = "30 s"
[[event]]
at = "10 s"
kind = "kill"
host = "storage-1"
"""


class Reached(Exception):
    """The events of a trial are about to happen."""


@pytest.mark.parametrize(("testbed", "late_s"), [('kind = "virtual"', LATE_S), (CLUSTER, LATE_OUTSIDE_S)])
def test_events_may_be_later_on_hosts_over_ssh(
    testbed: str, late_s: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 ms instead of 50 ms: docs/how-to/events.md."""
    made: list[float] = []

    class Begun(Course):
        def __init__(self, *args: Any, late_s: float) -> None:
            made.append(late_s)
            raise Reached

    monkeypatch.setattr(trial, "Course", Begun)
    asked = campaign.parse(HIT.format(testbed=testbed))
    host = ScriptedHost("client-1")
    attempt: Any = SimpleNamespace(trial=asked.trials[0], raw=tmp_path)
    with pytest.raises(Reached):
        UnderWay(asked, Up(Hosts((host,)), ScriptedMount(host)), attempt, lambda _: None)
    assert made == [late_s]
    assert (LATE_S, LATE_OUTSIDE_S) == (0.05, 0.2)


STORE = """
name = "store"
[testbed]
kind = "virtual"
[[filesystem]]
kind = "rgw"
[[workload]]
kind = "s3"
"""
FLOWS = Amplification(Flow(client_sent_ratio=1.0, storage_sent_ratio=0.4), Flow())


class Placed(ScriptedMount, PassesOn):
    """A store that knows where its objects are."""

    asked: Mapping[str, int]

    def amplification(self, moved_bytes: Mapping[str, int]) -> Amplification:
        self.asked = moved_bytes
        return FLOWS


def test_a_record_explains_bytes_by_where_its_store_has_put_them() -> None:
    hosts, mounted = planned(["storage", "storage", "metadata", "client", "client"]), Placed()
    attempt: Any = SimpleNamespace(trial=campaign.parse(STORE).trials[0], number=1)
    results = tuple(
        ClientResult(name, "write", 1.0, 2.0, size, 1) for name, size in [("client-1", 5), ("client-2", 7)]
    )
    kept = trial.record(attempt, Ended(None, Outcome("s3", results)), {}, Up(hosts, mounted))
    assert mounted.asked == {"client-1": 5, "client-2": 7}
    assert kept.amplification == FLOWS
    plain = trial.record(attempt, Ended(None, Outcome("s3", results)), {}, Up(hosts, ScriptedMount()))
    assert plain.amplification is not None
    assert plain.amplification.write.storage_sent_ratio == 2  # by its options: a hop, and a second copy
