"""A trial on a deployment that is up."""

from pathlib import Path

from perjoule.execution.trial import keep_logs
from scripted import ScriptedHost, ScriptedMount


def test_a_log_that_can_not_be_kept_does_not_cost_the_trial(tmp_path: Path) -> None:
    host = ScriptedHost()
    mounted = ScriptedMount(host)
    mounted.logs, mounted.logs_there = (tmp_path / "absent",), [(host, Path("/there/brick.log"))]
    keep_logs(mounted, tmp_path / "no such folder")
    assert [argv[0] for argv in host.ran] == ["tail"]
    keep_logs(mounted, tmp_path)
    assert (tmp_path / "client-1-brick.log").exists()
