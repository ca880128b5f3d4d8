"""A holder: pid 1 of the namespaces that are a virtual host. When it ends, the kernel ends everything inside.

It reads from a pipe whose other end only its perjoule has: if perjoule is killed, its hosts end at once.
"""

import os
import select
import time
from collections.abc import Sequence

from perjoule.model.errors import MachineError
from perjoule.testbeds import _process
from perjoule.testbeds.virtual import network
from perjoule.testbeds.virtual.cgroup import Groups
from perjoule.testbeds.virtual.mark import Mark

# Joins control groups, then becomes the program: no Python runs between fork and exec.
_JOIN = """
while [ "$1" != -- ]; do
  { echo 0 > "$1"; } 2> /dev/null || { echo "perjoule: the host is gone" >&2; exit 125; }
  shift
done
shift
exec "$@"
"""
# For bash, as pid 1 has to reap what its children leave behind, and dash does not.
# $0 to $5 are the mark; then, of each of the host's networks (none for the switch), its address and what shapes
# what the host sends, for `tc -batch`.
_HOLD = f"""
set -e
hostname "$4"
shift 5
ip link set lo up
[ $# -gt 0 ] || {{ ip link add name br0 type bridge {network.BRIDGE}; ip link set br0 up; }}
echo ready
if [ $# -gt 0 ]; then
  read -r plugged
  for device in eth0 eth1; do
    [ $# -gt 0 ] || break
    [ ! -e /proc/sys/net/ipv6/conf/$device ] || echo 1 > /proc/sys/net/ipv6/conf/$device/disable_ipv6
    ip addr add "$1" dev $device
    ip link set $device up
    printf '%s\n' "$2" | tc -batch -
    shift 2
  done
  echo up
fi
exec > /dev/null
trap '' TERM INT HUP
while read -r word; do [ "$word" != keep ] || while :; do sleep 1000000 < /dev/null; done; done
"""
_NAMESPACES = (
    "--net",
    "--mount",
    "--uts",
    "--ipc",
    "--pid",
    "--fork",
    "--kill-child",
    "--mount-proc",
    "--propagation",
    "private",
)
START_S = 20.0


def joining(groups: Groups, host: str) -> list[str]:
    """Return the prefix with which a command joins a host's control groups."""
    return ["sh", "-c", _JOIN, "perjoule", *groups.doors(host), "--"]


class Holder:
    """A holder while it starts: of each of its networks it knows the address, and what shapes what it
    sends.
    """

    def __init__(self, mark: Mark, groups: Groups, links: Sequence[tuple[str, str]]) -> None:
        self.name = mark.host
        self._log = mark.run.folder / f"{mark.host}.holder.log"
        stdin, self.lifeline = os.pipe2(os.O_CLOEXEC)
        self._words, stdout = os.pipe2(os.O_CLOEXEC)
        stderr = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        argv = [*joining(groups, mark.host), "unshare", *_NAMESPACES, "bash", "-c", _HOLD, *mark.arguments()]
        for address, shape in links:
            argv += [f"{address}/{network.PREFIX}", shape]
        try:
            self.child = _process.Child(argv, stdin=stdin, stdout=stdout, stderr=stderr)
        finally:
            for fd in (stdin, stdout, stderr):
                os.close(fd)

    def expect(self, line: str) -> None:
        """Wait until the holder prints this word. Raises MachineError with its last output."""
        deadline_s = time.monotonic() + START_S
        output = b""
        while not output.endswith(b"\n"):
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or not select.select([self._words], [], [], left_s)[0]:
                break
            got = os.read(self._words, 1)
            if not got:
                break
            output += got
        if output.decode() != f"{line}\n":
            last = " | ".join(self._log.read_text(errors="replace").strip().splitlines()[-3:]) or "no output"
            raise MachineError(
                f"the virtual host did not start: {last}", where=self.name, next="see `perjoule doctor`"
            )

    def say(self, line: str) -> None:
        """Send the holder a word."""
        os.write(self.lifeline, f"{line}\n".encode())

    def close(self, *, reap: bool) -> None:
        """Close its pipe: it ends now, unless it was asked to keep running."""
        for fd in (self.lifeline, self._words):
            os.close(fd)
        if reap:
            self.child.ended(1.0)

    @property
    def pid(self) -> int:
        """The holder's process number, outside."""
        pids = _process.children(self.child.pid)
        if not pids:
            raise MachineError("the virtual host has ended", where=self.name, next="see `perjoule doctor`")
        return pids[0]
