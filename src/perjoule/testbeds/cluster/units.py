"""A run's unit of systemd on a host, for bash: a control group that holds the keeper and all programs, and
ends as a whole.

https://www.freedesktop.org/software/systemd/man/org.freedesktop.systemd1.html (StartTransientUnit,
AttachProcessesToUnit) https://docs.kernel.org/admin-guide/cgroup-v2.html (cgroup.kill, since Linux 5.14)

No program that leaves its session or cleans its environment leaves its control group. Each program has one of
its own, below that for all programs: who removes that has ended them all, and nothing more can begin. The
keeper is beside them, without limits.
"""

from typing import NamedTuple


class UnitLimits(NamedTuple):
    """What all programs of a run may use together on one host; None is what the host has."""

    tasks_count: int | None = None
    memory_bytes: int | None = None

    @property
    def request(self) -> str:
        """The word by which a keeper hears of them; before `keep`."""
        return f"unit {self.tasks_count or '-'} {self.memory_bytes or '-'}"


# For who starts a program: $unit is the control group of the unit, "" without one.
JOINED = r"""
journal= # whether 4 leads there
group_of() { # prints the control group of the process $1, where systemd mounts version 2
  local line
  while IFS= read -r line; do case "$line" in 0::/*) echo "/sys/fs/cgroup${line#0::}" ;; esac; done < "/proc/$1/cgroup"
} 2> /dev/null
manager() ( # calls a method of the systemd that is the host's first process, or of the user's
  whose=--system
  [ "$EUID" = 0 ] || whose=--user
  export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/run/user/$EUID}
  name=org.freedesktop.systemd1
  exec timeout --kill-after=1 6 busctl "$whose" --timeout=5 --auto-start=no --allow-interactive-authorization=no \
    call "$name" /org/freedesktop/systemd1 "$name.Manager" "$@" < /dev/null 2>&1
)
moved() { # whether this process gets into the control group $1, into which systemd moves it
  local _
  for _ in {1..50}; do [ "$(group_of "$BASHPID")" != "$1" ] || return 0; sleep 0.1; done
  return 1
}
joined() { # whether this process is in the control group of program $1 now
  local _ group=$unit/programs/$1
  [ -n "$unit" ] || return 0
  for _ in {1..3}; do # an empty one may be removed by the keeper
    { [ -d "$group" ] || mkdir -- "$group"; } && { echo 0 > "$group/cgroup.procs"; } && return
  done
  # Without root, a login may not leave its session; the user's systemd has it moved.
  [ -d "$group" ] && manager AttachProcessesToUnit ssau "${unit##*/}" "/programs/$1" 1 "$BASHPID" > /dev/null && moved "$group"
} 2> /dev/null
noted() { # has the journal keep that somebody starts program $2 of the run $1
  local from=${SSH_CONNECTION:+ from ${SSH_CONNECTION%% *}} text
  [ -n "$unit" ] || return 0
  text="perjoule-$1: uid $EUID${SUDO_USER:+ by sudo of $SUDO_USER}$from starts program $2: ${*:3}"
  text=${text//[[:cntrl:]]/ } # one line, whatever it says
  if [ -n "$journal" ]; then
    echo "${text:0:900}" >&4 &
  else
    timeout --kill-after=1 2 logger --tag perjoule -- "${text:0:900}" < /dev/null > /dev/null 2>&1 &
  fi
}
"""

# For a keeper.
UNITS = (
    JOINED
    + r"""
unit=
confined() { # whether we are in a unit of the run's folder $1 now, with at most $2 tasks and $3 bytes ("-": any); else `why` not
  local name=perjoule-$1.scope first group said tool
  why="its first process is not systemd"
  [ -d /run/systemd/system ] && read -r first < /proc/1/comm && [ "$first" = systemd ] || return 1
  for tool in busctl logger timeout; do why="it lacks $tool"; type -P "$tool" > /dev/null || return 1; done
  group=$(group_of $$)
  why="its control groups are not those of version 2 with cgroup.kill (Linux 5.14)"
  [ -e "$group/cgroup.kill" ] || return 1
  # Who put us elsewhere, as a batch system does, holds us together itself, and accounts for us.
  why="${group#/sys/fs/cgroup} holds its programs, which is neither a login nor a service"
  case "${group##*/}" in session-*.scope | *.service) ;; *) return 1 ;; esac
  for _ in {1..10}; do # a user's bus starts with the first who uses it, and systemd comes to it after that
    said=$(manager StartTransientUnit 'ssa(sv)a(sa(sv))' "$name" fail 5 Description s "perjoule, run $1" PIDs au 1 $$ \
      Delegate b true CollectMode s inactive-or-failed TimeoutStopUSec t 180000000 0)
    said=$?:$said
    case "$said" in 1:*"does not exist"* | 1:*"not provided"*) sleep 0.2 ;; *) break ;; esac
  done
  case "$said" in
    0:*) ;;
    *"already loaded"*) refuse "$name is the name of another unit; see systemctl status $name, and stop it" ;;
    124:* | 137:* | *timed?out*) why="its systemd does not answer"; return 1 ;;
    *) said=${said#*:} said=${said##*$'\n'} why="its systemd starts none (${said:0:200})"; return 1 ;;
  esac
  why="its systemd has not started $name"
  for _ in {1..50}; do
    group=$(group_of $$)
    [ "${group##*/}" != "$name" ] || break
    sleep 0.1
  done
  [ "${group##*/}" = "$name" ] || return 1
  why="$group can't be seen" # in a container that sees the host's paths
  grep -qx -- $$ "$group/cgroup.procs" || return 1
  why="$group can't be divided"
  mkdir -- "$group/journal" "$group/keeper" "$group/programs" && { echo $$ > "$group/keeper/cgroup.procs"; } || return 1
  unit=$group
  limited pids "$2" || refuse "its systemd does not let us limit tasks; remove tasks_limit"
  limited memory "$3" || refuse "its systemd does not let us limit memory; remove memory_limit"
  # A journal that is stuck keeps neither programs nor the unit waiting, nor the run's locks.
  exec 4> >(exec 8>&- 9>&-; echo 0 > "$unit/journal/cgroup.procs"; exec logger --tag perjoule > /dev/null 2>&1) && journal=1
  trap 'echo 1 > "$unit/journal/cgroup.kill"' EXIT
} 2> /dev/null
program_left() { # program $1 has ended; now and then the groups go that have nothing in them
  [ -z "$unit" ] || (($1 % 50)) || rmdir -- "$unit"/programs/*
} 2> /dev/null
limited() { # whether programs have the limit $2 by the controller $1; the kernel rounds bytes down to pages
  local most
  [ "$2" = - ] && return
  { echo "+$1" > "$unit/cgroup.subtree_control" && echo "$2" > "$unit/programs/$1.max"; } &&
    read -r most < "$unit/programs/$1.max" && [ "$most" != max ] && ((most <= $2))
}
emptied() { # ends all that is in the control group $1 and below, and removes it
  local _
  for _ in {1..100}; do
    [ -d "$1" ] || return 0
    echo 1 > "$1/cgroup.kill"
    find "$1" -depth -type d -exec rmdir -- {} +
    [ ! -d "$1" ] || sleep 0.05
  done
  return 1
} 2> /dev/null
all_ended() { # ends all programs of the run whose folder is $1, by its unit or by its mark
  local group parts=(programs) part
  [ -e "$1/unit" ] || { sweep "PERJOULE_HOST=${1##*/}"; return; }
  alone "$1/unit" || return 1
  read -r group < "$1/unit" || return 0 # it was killed before it had started anything
  [[ "$group" = /sys/fs/cgroup/*"/perjoule-${1##*/}.scope" ]] || return 1
  [ "$group" = "$unit" ] || parts+=(keeper journal) # the scope's own goes by systemd, which must see that nothing is in it
  for part in "${parts[@]}"; do emptied "$group/$part" || return 1; done
}
program_ended() { # ends program $1 of the run $mark with all that it started
  if [ -n "$unit" ]; then emptied "$unit/programs/$1"; else sweep "PERJOULE_PROGRAM=$mark/$1"; fi
}
"""
)
