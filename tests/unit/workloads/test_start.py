"""A common start: every load begins at the same moment, by its own host's clock."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perjoule.drivers.protocols import ClockOffset, Process
from perjoule.machine.scripts import LOOK
from perjoule.model import Clock
from perjoule.testbeds.local import LocalHost
from perjoule.workloads._raw import RunClocks
from perjoule.workloads._start import Gates, clock_offsets_s


class Ahead(LocalHost):
    """This machine, as a host whose clock is said to be ahead; what is written to its gates is kept."""

    def __init__(self, directory: Path, name: str, ahead_s: float) -> None:
        super().__init__(directory)
        self.name, self.ahead_s, self.told = name, ahead_s, list[str]()

    def clock_offset(self) -> ClockOffset:
        return ClockOffset(self.ahead_s)

    def tell(self, gate: Path, line: str) -> None:
        self.told.append(line)
        super().tell(gate, line)


@pytest.fixture
def begun(tmp_path: Path) -> Callable[..., tuple[float, dict[str, float], dict[str, Ahead]]]:
    def start(**ahead_s: float) -> tuple[float, dict[str, float], dict[str, Ahead]]:
        """Have a load on each host wait, open the gates; gives the moment, when each began, and the hosts."""
        hosts = {name: Ahead(tmp_path, name, s) for name, s in ahead_s.items()}
        gates = Gates(hosts)
        running: dict[str, Process] = {
            name: host.spawn(["sh", "-c", gates.command(name)], log=tmp_path / f"{name}.log")
            for name, host in hosts.items()
        }
        moment_s = gates.open(running, clock_offsets_s(list(hosts.values())), until_s=time.monotonic() + 10)
        for process in running.values():
            assert process.wait(timeout_s=10) == 0
        return moment_s, {name: float((tmp_path / f"{name}.log").read_text()) for name in hosts}, hosts

    return start


def test_nobody_begins_before_the_common_moment(begun: Callable[..., Any], tmp_path: Path) -> None:
    moment_s, began_s, _ = begun(a=0.0, b=0.0)
    assert all(s >= moment_s - 1e-6 for s in began_s.values()), (moment_s, began_s)
    assert not [path for path in tmp_path.rglob("*") if path.is_fifo()]


def test_each_host_gets_the_moment_by_its_own_clock(begun: Callable[..., Any]) -> None:
    moment_s, _, hosts = begun(a=0.0, behind=-40.0)
    assert float(hosts["a"].told[0]) == pytest.approx(moment_s, abs=1e-5)
    assert float(hosts["behind"].told[0]) == pytest.approx(moment_s - 40, abs=1e-5)


def test_a_load_that_ended_keeps_nobody_waiting(tmp_path: Path) -> None:
    hosts = {name: Ahead(tmp_path, name, 0.0) for name in ("a", "b")}
    gates = Gates(hosts)
    waits = hosts["a"].spawn(["sh", "-c", gates.command("a")], log=tmp_path / "a.log")
    ended = hosts["b"].spawn(["false"], log=tmp_path / "b.log")
    gates.open({"a": waits, "b": ended}, {"a": 0.0, "b": 0.0}, until_s=time.monotonic() + 10)
    assert waits.wait(timeout_s=10) == 0


def test_a_host_starts_no_program_while_it_waits_for_its_load(tmp_path: Path) -> None:
    """A `sleep` every 20 ms took a tenth of a core, just before the start."""
    look = ["/bin/bash", "--norc", "-c", LOOK, "perjoule-look", str(tmp_path / "gate")]
    done = subprocess.run(look, env={"PATH": ""}, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")
    os.mkfifo(tmp_path / "gate")
    assert subprocess.run(look, env={"PATH": ""}, check=False).returncode == 0


def test_who_begins_late_is_named() -> None:
    ran = RunClocks(
        ("a", "b"), (Clock(100.0, 1000.0), Clock(110.0, 1010.0)), {"a": (0.0, 0.0)}, start_utc_s=1002.0
    )
    assert ran.doubts({"a": 102.019, "b": 102.035}) == ("b began 35 ms late",)


def test_a_clock_that_was_set_meanwhile_is_named() -> None:
    ran = RunClocks(
        ("a", "b"), (Clock(100.0, 1000.0), Clock(110.0, 1010.0)), {"a": (0.0, 5.0), "b": (0.2, 0.2)}
    )
    (said,) = ran.doubts({})
    assert "the clock of a was set by +5 s during the run" in said
    assert (ran.offset_of_s("a"), ran.offset_of_s("b")) == (-900.0, -900.2)
    (said,) = RunClocks(("a",), (Clock(100.0, 1000.0), Clock(110.0, 1008.5))).doubts({})
    assert said.startswith("the clock was set by +1.5 s during the run")


def test_who_comes_to_its_gate_late_gets_the_moment_of_the_others(tmp_path: Path) -> None:
    host = LocalHost(tmp_path)
    gates = Gates({"late": host})
    host.tell(gates.path("late"), f"{time.time() - 5:.6f}")
    assert host.run(["sh", "-c", gates.command("late")], timeout_s=10).returncode == 0


def test_all_who_wait_at_one_gate_begin_together_and_those_who_come_later_at_once(tmp_path: Path) -> None:
    host = LocalHost(tmp_path)
    gates = Gates({"jobs": host})
    parts = [host.spawn(["sh", "-c", gates.command("jobs")], log=tmp_path / f"{n}.log") for n in range(5)]
    moment_s = gates.open({"jobs": parts[0]}, {host.name: 0.5}, until_s=time.monotonic() + 10) + 0.5
    assert [process.wait(timeout_s=10) for process in parts] == [0] * 5
    began_s = [float((tmp_path / f"{n}.log").read_text()) for n in range(5)]
    assert all(s >= moment_s - 1e-6 for s in began_s), (moment_s, began_s)
    later = host.run(["sh", "-c", gates.command("jobs")], timeout_s=10)
    assert float(later.stdout) >= max(began_s)
    assert not [path for path in tmp_path.rglob("*") if path.is_fifo()]


def test_a_line_for_a_gate_at_which_nobody_waits_is_kept_and_one_who_waits_gets_it_at_once(
    tmp_path: Path,
) -> None:
    host, gate = LocalHost(tmp_path), tmp_path / "gate"
    host.tell(gate, "12.5")  # nobody is there, and nobody is waited for
    assert (tmp_path / "gate.told").read_text() == "12.5\n"
    host.run(["mkfifo", gate], timeout_s=10)
    waiting = host.spawn(
        ["bash", "-c", 'exec 3<> "$1"; echo up; read -r said <&3; echo "$said"', "x", gate],
        log=tmp_path / "log",
    )
    while "up" not in waiting.output():
        time.sleep(0.005)
    host.tell(gate, "12.5")
    assert waiting.wait(timeout_s=10) == 0
    assert waiting.output() == "up\n12.5\n"
