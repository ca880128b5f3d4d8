"""A common start for loads on many hosts: each waits on its own host until a moment in that host's own clock.

A load that is ready waits at its gate, a pipe on its host. Once all are, each gate gets the same moment, by
its host's clock; if a load is late, the delay is its own host's. Precedent: elbencho's `--start`,
https://github.com/breuner/elbencho
"""

import secrets
import shlex
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from perjoule.drivers.protocols import Host, Process
from perjoule.machine.each import each
from perjoule.machine.scripts import BASH, LOOK

# $1 is the gate. A pipe opened for reading and writing never blocks, and `read -t` sleeps without a separate
# program. Of several who wait at one gate, the first holds the lock until it has read the moment; later ones
# don't wait.
WAIT = """
exec 3<> <(:) 4> "$1.lock" || exit 1
if [ ! -s "$1.told" ]; then
  if flock -n 4; then
    mkfifo -m 600 "$1.new" && exec 3<> "$1.new" && mv "$1.new" "$1" || exit 1
    if [ ! -s "$1.told" ]; then read -r <&3; fi
    rm -f "$1"
  else
    flock -s 4
  fi
fi
exec 4>&-
read -r moment < "$1.told" || exit 1
# A timer may end a few microseconds before the clock says so.
while left_us=$((${moment/./} - ${EPOCHREALTIME/[.,]/})); [ "$left_us" -gt 0 ]; do
  printf -v left_s %d.%06d $((left_us / 1000000)) $((left_us % 1000000))
  read -r -t "$left_s" <&3
done
"""
BEGUN = 'echo "${EPOCHREALTIME/,/.}"\n'
AHEAD_S, AHEAD_S_PER_HOST = 0.1, 0.005  # how far ahead the moment is: until then it must reach all gates
SHORT_S = 30.0


class Gates:
    """The gates of loads (by name: the host). Scripts on a host wait at theirs by `WAIT`."""

    def __init__(self, hosts: Mapping[str, Host]) -> None:
        self._hosts, self._folder = hosts, f"start-{secrets.token_hex(4)}"
        each(
            dict.fromkeys(hosts.values()), lambda host: host.put(WAIT + BEGUN, self._place(host) / "wait.sh")
        )

    def _place(self, host: Host) -> Path:
        return host.directory / self._folder

    def path(self, name: str) -> Path:
        """Return the gate of a load."""
        return self._place(self._hosts[name]) / name

    def command(self, name: str) -> str:
        """Return a shell command that waits at a load's gate and then prints its host's time (UTC, in s).

        Several parts of a load may wait at its gate at once, and later ones run it again: it waits for no
        second moment.
        """
        return shlex.join(self.argv(name))

    def argv(self, name: str) -> list[str]:
        """Return the same as arguments."""
        return ["bash", "--norc", str(self._place(self._hosts[name]) / "wait.sh"), str(self.path(name))]

    def open(self, running: Mapping[str, Process], ahead_s: Mapping[str, float], *, until_s: float) -> float:
        """Wait until all loads are at their gates, or one has ended; then send all the start time.

        Args:
            running: the loads' programs by name: one that has ended is not awaited; its caller judges it.
            ahead_s: by how much the clock of each host is ahead of this machine's.
            until_s: how long to wait, in the monotonic clock.

        Returns:
            The start time, in this machine's UTC.

        Raises:
            WorkloadError: a host did not answer.
        """
        each(running, partial(self._wait, running=running, until_s=until_s))
        moment_s = time.time() + AHEAD_S + AHEAD_S_PER_HOST * len(running)
        for name, host in self._hosts.items():
            host.tell(self.path(name), f"{moment_s + ahead_s[host.name]:.6f}")
        return moment_s

    def _wait(self, name: str, running: Mapping[str, Process], until_s: float) -> None:
        argv = [*BASH, LOOK, "perjoule-look", self.path(name)]
        while time.monotonic() < until_s and not any(map(_ended, running.values())):
            if self._hosts[name].run(argv, timeout_s=SHORT_S, check=False).returncode == 0:
                return


def _ended(process: Process) -> bool:
    try:
        process.wait(timeout_s=0)
    except TimeoutError:
        return False
    return True


def clock_offsets_s(hosts: Sequence[Host]) -> dict[str, float]:
    """Return by how much the clock of each host is ahead of this machine's (UTC), in s.

    Raises TransientError.
    """

    return dict(each(hosts, lambda host: (host.name, host.clock_offset().offset_s)))
