"""Who listens on a host's TCP ports, and which storage daemons of the site's own run there.

A daemon that we did not start is never spoken to. https://man7.org/linux/man-pages/man5/proc_pid_net.5.html
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from perjoule.drivers.protocols import Host
from perjoule.machine.processes import FIRST_UID, SERVICES_UIDS
from perjoule.machine.untrusted import UNEXPECTED
from perjoule.model.errors import MachineError, PortTaken

SHORT_S = 20.0
# Whether user $1 is one as whom nobody logs in.
DAEMONS_USERS = (
    f"is_daemons() {{ (($1 < {FIRST_UID} || ($1 >= {SERVICES_UIDS[0]} && $1 <= {SERVICES_UIDS[-1]}))); }}\n"
)
# For bash, in a shell of their own. `listeners` prints "PORT PID NAME" of whoever listens on the ports $@, on
# any address; "0 ?" is the kernel, or somebody whose descriptors only root sees. `others` prints "PID NAME"
# of processes with the names $@ in the network of this host: those of virtual hosts have one of their own.
# `started` is whether grep $2... finds a mark in the environment of process $1 or of its session: a daemon
# may have cleaned its own or written its title over it, but not left its session. Daemons run as root, as us or as
# users of the system's own; anybody else could have written the mark, also for a program that is root whoever
# calls it.
LISTENERS = (
    DAEMONS_USERS
    + r"""
listeners() {
  local port place state inode fd pid name line
  { cat /proc/net/tcp /proc/net/tcp6 || true; } 2> /dev/null | while read -r _ place _ state _ _ _ _ _ inode _; do
    [ "$state" = 0A ] || continue
    port=$((16#${place##*:}))
    case " $* " in *" $port "*) ;; *) continue ;; esac
    fd=$(find /proc/[0-9]*/fd -maxdepth 1 -lname "socket:\[$inode\]" -print -quit 2> /dev/null)
    pid=${fd#/proc/} pid=${pid%%/*} name=?
    [ -z "$pid" ] || { read -r name < "/proc/$pid/comm"; } 2> /dev/null
    echo "$port ${pid:-0} ${name//[[:space:][:cntrl:]]/_}"
  done | sort -u
}
bears() { # whether grep $2... finds a mark in the environment of process $1, which no other user who logs in here has started
  local owner
  owner=$(ps -o ruid= -p "$1") && owner=$((owner)) && { [ "$owner" = "$EUID" ] || is_daemons "$owner"; } &&
    [ ! -u "/proc/$1/exe" ] && grep -qz "${@:2}" "/proc/$1/environ" 2> /dev/null
}
started() {
  local pid=$1 session
  shift
  bears "$pid" "$@" && return
  session=$(($(ps -o sess= -p "$pid")))
  [ "$session" -gt 1 ] || return # of all that nobody gave a session of its own
  for pid in $(ps -o pid= -s "$session"); do bears "$pid" "$@" && return; done
  return 1
}
strange() { # pass on lines that end in PID NAME, but not of processes that a run has started, dead or alive
  local line pid
  while read -r line; do
    pid=${line% *} pid=${pid##* }
    started "$pid" -e '^PERJOULE_HOST=' || echo "$line"
  done
}
others() {
  local file name ours theirs pid
  ours=$(readlink /proc/self/ns/net)
  for file in /proc/[0-9]*/comm; do
    { read -r name < "$file"; } 2> /dev/null || continue
    case " $* " in *" $name "*) ;; *) continue ;; esac
    pid=${file#/proc/} pid=${pid%/comm}
    theirs=$(readlink "/proc/$pid/ns/net" 2> /dev/null) || theirs=$ours
    [ "$theirs" != "$ours" ] || echo "$pid $name"
  done
}
"""
)
# $1 the entry in the environment of all that we start, then ports. Prints what `listeners` does, and "ours"
# or "theirs".
WHOSE = (
    LISTENERS
    + r"""
mark=$1
shift
listeners "$@" | while read -r port pid name; do
  whose=theirs
  [ "$pid" = 0 ] || { [ -n "$mark" ] && ! started "$pid" -xF -e "$mark"; } || whose=ours
  echo "$port $pid $name $whose"
done
"""
)


@dataclass(frozen=True)
class Listener:
    """Who listens on a port."""

    port: int
    pid: int  # 0: it can't be seen
    name: str
    ours: bool

    @property
    def text(self) -> str:
        """What is in the way, as a clause."""
        return f"port {self.port} is taken by {listener_text(str(self.pid), self.name)}"

    def require_ours(self, host: Host) -> None:
        """Raises MachineError: it is somebody else, whom nothing of ours may speak to."""
        if not self.ours:
            fault = f"{self.text}, which perjoule has not started, and so does not speak to"
            raise PortTaken(
                fault, where=host.name, next="measure on hosts where nothing listens there, or end it"
            )


def listener_text(pid: str, name: str) -> str:
    """Name a process: "glusterd (process 812)"."""
    return f"{name} (process {pid})" if pid != "0" else "its kernel or another user's program"


def listeners(host: Host, ports: Collection[int]) -> Sequence[Listener]:
    """Ask a host who listens on these ports, on any address."""
    argv = ["bash", "--norc", "-c", WHOSE, "perjoule-ports", host.mark, *map(str, ports)]
    answer = host.run(argv, timeout_s=SHORT_S).stdout
    try:
        rows = [line.split(" ") for line in answer.split("\n") if line]
        return [Listener(int(port), int(pid), name, whose == "ours") for port, pid, name, whose in rows]
    except UNEXPECTED:
        fault = f"what it says of who listens there has another form: {answer[:60]!r}"
        raise MachineError(fault, where=host.name) from None


def require_free(host: Host, ports: Collection[int]) -> None:
    """Raises MachineError: somebody listens on one of these ports, whom our programs would meet there."""
    if taken := listeners(host, ports):
        fault = "; ".join(listener.text for listener in taken)
        raise PortTaken(
            fault, where=host.name, next="measure on hosts where nothing listens there, or end it"
        )


def listens(host: Host, port: int) -> bool:
    """Return whether a program of ours listens there. Raises MachineError: it is somebody else's."""
    listening = listeners(host, [port])
    for listener in listening:
        listener.require_ours(host)
    return bool(listening)
