"""The CPUs of this machine, which all hosts share with other programs:
https://docs.kernel.org/filesystems/proc.html
"""

import contextlib
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from perjoule.drivers.protocols import Machine
from perjoule.testbeds._kernel import OpenText, read_once

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
# PF_KTHREAD, https://github.com/torvalds/linux/blob/v6.1/include/linux/sched.h#L1736
_KERNEL_THREAD = 0x00200000
_WORKING_FIELDS = (0, 1, 2, 7)  # user, nice, system and steal of the line "cpu" in /proc/stat


def working_s(stat: str) -> float:
    """Read the CPU time of programs and kernel threads, and of other virtual machines (steal), from the text
    of /proc/stat.

    Interrupts are left out: they are charged to the groups of processes that they interrupt.
    """
    numbers = stat.partition("\n")[0].split()[1:]
    return sum(int(numbers[n]) for n in _WORKING_FIELDS) / _TICKS_PER_S


def kernel_thread_s(stat: str) -> float:
    """Read the CPU time of a kernel thread from the text of /proc/PID/stat; 0 for a program."""
    fields = stat.rpartition(")")[2].split()
    return int(fields[12]) / _TICKS_PER_S if int(fields[6]) & _KERNEL_THREAD else 0.0


@dataclass(frozen=True)
class ThisMachine(Machine):
    """The machine that perjoule runs on; `covers` are the hosts that are the whole machine."""

    covers: tuple[str, ...] = ()
    stat: OpenText = field(default_factory=lambda: OpenText(Path("/proc/stat")), repr=False, compare=False)

    def cpu_s(self) -> float:
        """Return the CPU time of all programs and kernel threads."""
        return working_s(self.stat.text())

    def own_cpu_s(self) -> float:
        """Return the CPU time of perjoule; on a host that is the whole machine also of its ended children."""
        started = os.times() if self.covers else None
        return time.process_time() + (started.children_user + started.children_system if started else 0.0)

    def kernel_cpu_s(self) -> float:
        """Return the CPU time of kernel threads."""
        total_s = 0.0
        for name in os.listdir("/proc"):  # noqa: PTH208  # only names are needed
            if name.isdigit():
                with contextlib.suppress(OSError, IndexError):  # it ended meanwhile
                    total_s += kernel_thread_s(read_once(f"/proc/{name}/stat"))
        return total_s
