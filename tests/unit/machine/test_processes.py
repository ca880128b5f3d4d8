"""A process is known again, and so is that it is gone, also when its number is another one's."""

import subprocess
from dataclasses import replace

from perjoule.machine import processes


def test_this_process_is_alive_and_its_number_at_another_time_is_not() -> None:
    own = processes.own()
    assert processes.alive(own) is True
    assert processes.alive(replace(own, birth_ticks=own.birth_ticks - 1)) is False


def test_a_process_that_ended_is_gone_even_before_its_parent_asks() -> None:
    child = subprocess.Popen(["sleep", "60"])
    found = replace(processes.own(), pid=child.pid, birth_ticks=processes._birth_ticks(child.pid) or 0)
    assert processes.alive(found) is True
    child.kill()
    for _ in range(500):
        if processes.alive(found) is False:
            break
        subprocess.run(["sleep", "0.01"], check=True)
    assert processes.alive(found) is False
    child.wait()
    assert processes.alive(found) is False


def test_nothing_is_stated_about_another_machine() -> None:
    assert processes.alive(replace(processes.own(), boot="another")) is None
    assert processes.alive(replace(processes.own(), pids="pid:[1]")) is None
