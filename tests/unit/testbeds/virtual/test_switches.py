"""Context switches of a host, from a folder that stands in for /proc."""

from pathlib import Path

from perjoule.testbeds.virtual.switches import ContextSwitches


def task(proc: Path, pid: int, number: int, waited: int, preempted: int = 0) -> None:
    folder = proc / str(pid) / "task" / str(number)
    folder.mkdir(parents=True, exist_ok=True)
    lines = ("Name:\td", f"voluntary_ctxt_switches:\t{waited}", f"nonvoluntary_ctxt_switches:\t{preempted}")
    (folder / "status").write_text("\n".join(lines) + "\n")


def test_switches_of_all_tasks_are_added_up_from_the_first_look_on(tmp_path: Path) -> None:
    task(tmp_path, 10, 10, 5, 1)
    task(tmp_path, 10, 11, 100)
    switches = ContextSwitches(lambda: (10,), str(tmp_path))
    assert switches.count(50.0) == 0
    task(tmp_path, 10, 10, 7, 2)
    task(tmp_path, 10, 12, 4)  # a new one
    assert switches.count(51.0) == 3 + 4


def test_a_task_that_ends_takes_nothing_with_it_and_its_number_may_come_back(tmp_path: Path) -> None:
    task(tmp_path, 10, 10, 50)
    switches = ContextSwitches(lambda: [int(path.name) for path in tmp_path.iterdir()], str(tmp_path))
    assert switches.count(0.5) == 0
    task(tmp_path, 10, 10, 60)
    assert switches.count(2.0) == 10
    task(tmp_path, 10, 10, 3)  # another task with this number
    assert switches.count(4.0) == 13


def test_processes_are_looked_at_twice_a_second(tmp_path: Path) -> None:
    task(tmp_path, 10, 10, 50)
    switches = ContextSwitches(lambda: (10,), str(tmp_path))
    assert [switches.count(t_s) for t_s in (1.0, 1.2, 1.4, 1.5)] == [0, None, None, 0]


def test_what_can_not_be_read_is_not_a_zero(tmp_path: Path) -> None:
    switches = ContextSwitches(lambda: (10,), str(tmp_path))
    assert switches.count(1.0) is None
