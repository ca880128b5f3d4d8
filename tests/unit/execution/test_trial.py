"""A trial on a deployment that is up."""

from pathlib import Path

from perjoule.drivers.protocols import Hosts
from perjoule.execution.trial import keep_logs, starved
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
    alone = starved(Hosts((starving,)), None)  # the load went on without the program
    assert alone is not None
    assert alone.what == "storage-2: the kernel killed one of its programs"
