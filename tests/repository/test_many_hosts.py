"""The benchmark of many hosts and trials: it misses its goal where the cost grows faster than either."""

import importlib
import sys
from typing import Any

import pytest

from places import ROOT


@pytest.fixture
def many_hosts(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.setattr(sys, "argv", ["many_hosts.py"])
    return importlib.import_module("many_hosts")


@pytest.mark.parametrize(
    ("hosts_power", "trials_power", "missed"),
    [(1.0, 1.0, []), (1.3, 1.0, ["hosts"]), (1.0, 1.3, ["trials"]), (1.3, 1.3, ["hosts", "trials"])],
)
def test_a_cost_that_grows_faster_than_hosts_or_trials_misses_the_goal(
    hosts_power: float,
    trials_power: float,
    missed: list[str],
    many_hosts: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def campaign(hosts_count: int, trials_count: int) -> dict[str, Any]:
        cpu_s = 1 + (hosts_count - 10) ** hosts_power / 100 + (trials_count - 2) ** trials_power
        return dict.fromkeys(many_hosts.COMMANDS, many_hosts.Used(cpu_s, 50 * 2**20))

    monkeypatch.setattr(many_hosts, "campaign", campaign)
    with pytest.raises(SystemExit) as ended:
        many_hosts.main()
    assert bool(ended.value.code) == bool(missed)
    by_hosts, by_trials = capsys.readouterr().out.split("\n\n")
    assert [name for name, said in (("hosts", by_hosts), ("trials", by_trials)) if "missed" in said] == missed
    assert "10 hosts    300 hosts   1000 hosts" in by_hosts
    assert "2 trials     8 trials    32 trials" in by_trials
