"""Bash scripts that run on a host over SSH: constants, so only an argument list must be quoted for a remote
shell.

A mark is NAME=VALUE in the environment of every program that we start, which its children inherit. A program
that cleans its own environment is found by its session, which sshd made for it alone. Folders contain no
blanks: `cluster.Work` checks that.
"""

from perjoule.machine.mapped import UNMAP
from perjoule.machine.ports import DAEMONS_USERS, LISTENERS
from perjoule.machine.scripts import GUARDED
from perjoule.testbeds._power.scripts import STATES
from perjoule.testbeds.cluster.folders import FOLDERS, LOCKS
from perjoule.testbeds.cluster.units import JOINED, UNITS

MOST_BYTES = 64 * 1024**2  # of a command's output, which the keeper cuts there
MOST_ERRORS_BYTES = 1024**2  # and of its errors
HELPER = "/usr/local/sbin/perjoule-host"  # which a host's administrator may have installed (`cluster.judge`)
# Without the file `perjoule-made-this` (perjoule.machine.removal.MARK) nothing below a folder is ever
# removed.

_SWEEP = (
    UNMAP
    + DAEMONS_USERS
    + r"""
sweep() { # end all that bear the mark $1, and their sessions but for ours
  local pids pid user session ours marked users sessions readable
  for _ in {1..50}; do
    users=() sessions=() readable=() marked=()
    # Of who logs in here, nothing is ours (see `bears`), and the environment may have no end, or never come.
    while read -r pid user session; do
      [ "$user" = "$EUID" ] || { [ "$EUID" = 0 ] && is_daemons "$user"; } || continue
      users[pid]=$user sessions[pid]=$session readable+=("/proc/$pid/environ")
    done < <(ps -e -o pid= -o ruid= -o sess=)
    pids=$(grep -lzxF -e "$1" -- "${readable[@]}" < /dev/null 2> /dev/null)
    pids=${pids//[!0-9$'\n']/} # of /proc/NUMBER/environ
    [ -n "$pids" ] || return 0
    ours=${sessions[$$]}
    # Any user can write our mark, for a program too that is root whoever calls it: that ends, but no session that others lead.
    for pid in $pids; do
      user=${users[pid]} session=${sessions[pid]}
      marked+=("$pid")
      [ "$session" -gt 1 ] && [ "$session" != "$ours" ] || continue
      [ "$pid" = "$session" ] || { [ "$user" = "$EUID" ] && [ ! -u "/proc/$pid/exe" ]; } || continue
      marked+=($(ps -o pid= -s "$session"))
    done
    kill -KILL "${marked[@]}" 2> /dev/null
    sleep 0.1
  done
  return 1
}
alone() { # whether $1 is a file that nobody but us can have written
  local owner mode
  read -r owner mode < <(stat -c '%u %f' -- "$1") && [ "$owner" = "$EUID" ] &&
    (((16#$mode & 8#170000) == 8#100000 && !(16#$mode & 8#22)))
}
withdraw() { # end what the kernel's NFS server exports below $1: it would keep that, and the disks that it lies on
  local folder client stays=
  [ -r /var/lib/nfs/etab ] || return 0
  while read -r folder client; do
    case "$folder" in "$1"/*) exportfs -u -- "${client%%(*}:$folder" < /dev/null > /dev/null || stays=1 ;; esac
  done < /var/lib/nfs/etab
  [ -z "$stays" ]
}
outermost() { # prints where something is mounted in the folder $1 itself, once for each that lies there; whoever may write to
  local mounts mount key own above place places= # a disk could lead a path in it elsewhere. The last mount comes first
  local -A outer=()
  mapfile -t mounts < /proc/self/mountinfo
  [[ ${mounts[*]} = *" $1/"* ]] || return 0
  { while read -r key own && [ "$key" != mnt_id: ]; do :; done; } 5< "$1" < /proc/self/fdinfo/5
  for mount in "${mounts[@]}"; do
    read -r _ above _ _ place _ <<< "$mount"
    printf -v place %b "${place//\\/\\0}"
    case "$above $place" in "$own $1"/*) ! (cd -P -- "${place%/*}" && guarded "${place%/*}") || outer[$place]=1 ;; esac
    [ -z "${outer[$place]}" ] || places=$place$'\n'$places
  done
  printf %s "$places"
} 2> /dev/null
remove() { # a folder of ours with all that is mounted and attached below; what could not undo stays, for the next one who tries
  local loop file place stays=
  [ -f "$1/perjoule-made-this" ] && [ -O "$1" ] && [ ! -L "$1" ] || return 1
  if [ -e "$1/power.end" ]; then # power states as they were
    alone "$1/power.end" && "$BASH" --norc -- "$1/power.end" && rm -f -- "$1/power.end" || return 1
  fi
  withdraw "$1" || stays=1
  unmap "$1"
  outermost "$1" | while IFS= read -r place; do
    umount "$place" || umount --force --lazy "$place" # with all that lies in it
    rmdir "$place" # with it go the copies of the mount in namespaces that somebody made meanwhile
  done 2> /dev/null
  for end in "$1"/*.end; do # what unmounting leaves: an array, a file system on somebody's device
    [ ! -e "$end" ] || { alone "$end" && "$BASH" --norc -- "$end"; } || stays=1
  done
  for loop in /sys/block/loop*/loop/backing_file; do
    { read -r file < "$loop"; } 2> /dev/null || continue
    loop=${loop%/loop/*}
    case "$file" in "$1"/*) ;; *) continue ;; esac
    losetup --detach "/dev/${loop##*/}"
    for _ in {1..20}; do [ -e "$loop/loop/backing_file" ] && sleep 0.05 || break; done
    { read -r place < "$loop/loop/backing_file"; } 2> /dev/null && [ "$place" = "$file" ] && stays=1 # an array has it yet
  done
  for file in "$1"/made/perjoule-??????????; do # notes of folders that the run made elsewhere (`protocols.MADE`)
    alone "$file" && IFS= read -r place < "$file" && [ "${place##*/}" = "${file##*/}" ] || continue
    rm -rf --one-file-system -- "$place" || stays=1
  done
  [ -z "$stays" ] || return 1
  rm -rf --one-file-system -- "$1"
}
"""
)

IS_NUMBER = r"""
is_number() { [[ $1 =~ ^[0-9]{1,15}$ ]]; } # no expression that arithmetic would evaluate
"""
# Whoever starts the keeper may have anything run; an installed helper has a judge in the place of these.
UNJUDGED = f"""{IS_NUMBER}
helper={HELPER}
permit() {{ argv=("$@"); }}
permit_look() {{ :; }}
permit_tell() {{ :; }}
"""
# $1 the work folder, $2 the host's name. It says what the host has, and changes nothing there until "keep RUN
# DEAD...": before, it answers "look ..." (see `Testbed.lacking`) by "has" or "lacks WHY", and "states ..." by
# the host's power states and "stated". From then on it lives as long as its perjoule: its end, or two minutes
# without a word from it, end everything. The keeper of a DEAD run, which may still wait for its own, is
# ended. Words that it hears: "alive", "tell GATE LINE" (see Host.tell), "clock N", "counters N", "run N COUNT
# BYTES" with as many words after it, each with a NUL at its end, and the bytes of its input, "ask N" (SIGTERM
# for program N), "end M N" (SIGKILL for it and its children). Nothing that it hears is parsed as a shell's
# text or an expression. It answers "answer N CODE BYTES BYTES" with the bytes of output and of errors.
# Whoever answers holds the token, a line in a pipe. Outputs wait in files, so a daemon left behind can't hold
# the connection. The lock (9) is the keeper's alone: what outlives a killed keeper can't hold it. A program's
# marks are in its environment before it has a session of its own.
KEEPING = (
    _SWEEP
    + STATES
    + LOCKS
    + LISTENERS
    + UNITS
    + f"meddled() ({GUARDED})\n"
    + r"""
[ -n "$EPOCHREALTIME" ] || { echo "it has bash $BASH_VERSION; perjoule needs bash 5.0 or later" >&2; exit 3; }
trap '' INT HUP PIPE # it may be answering when we go
ended=
# A batch system or an administrator ends us: nothing more will come, and what we start to clean up gets the signal, too.
trap 'ended=1; trap "" TERM; exec < /dev/null' TERM
export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
[ "$EUID" = 0 ] && user=root || user=$(id -un)
there=$1/cluster
! lent "$there" || there=/ # it may never answer
until [ -d "$there" ]; do there=${there%/*}; there=${there:-/}; done
read -r free_blocks blocks block_bytes < <(stat -f -c '%a %b %S' "$there")
read -r system < /proc/sys/kernel/ostype
read -r release < /proc/sys/kernel/osrelease
echo "user $user"
[ "$EUID" = 0 ] || [ ! -e "$helper" ] || ! sudo -n -l "$helper" drop-caches > /dev/null 2>&1 < /dev/null || echo "drops by sudo"
# What nproc and getconf say, without starting them: a tenth of the host's work for a login.
IFS= read -r -d '' status < /proc/self/status
cpus=${status##*Cpus_allowed_list:} cores=0
cpus=${cpus%%$'\n'*}
for range in ${cpus//,/ }; do ((cores += ${range#*-} - ${range%-*} + 1)); done
case $HOSTTYPE in
  x86_64 | i?86 | aarch64 | arm* | riscv* | powerpc* | s390*) ticks_hz=100 ;; # USER_HZ, linux/include/asm-generic/param.h
  *) ticks_hz=$(getconf CLK_TCK) ;;
esac
echo "cores $cores"
echo "ticks_hz $ticks_hz"
echo "free_bytes $((free_blocks * block_bytes))"
echo "total_bytes $((blocks * block_bytes))"
echo "kernel $system $release $HOSTTYPE"
[ -w "$there" ] || echo "readonly $there"
(approach "$1/cluster" || echo "unsafe $why") 2> /dev/null
for tool in flock findmnt losetup ps tar setsid; do type -P "$tool" > /dev/null || echo "missing $tool"; done
for disk in /sys/block/*/device; do [ ! -e "$disk" ] || { disk=${disk%/device}; echo "disk ${disk##*/}"; }; done
for net in /sys/class/net/*/device; do # a port of a switch on a board is linked to the interface that counts for it
  net=${net%/device} iflink="" ifindex=""
  [ -e "$net/device" ] || continue
  { read -r iflink < "$net/iflink" && read -r ifindex < "$net/ifindex"; } 2> /dev/null
  [ "$iflink" != "$ifindex" ] || echo "interface ${net##*/}"
done
tracking="" synchronized=""
if type -P chronyc > /dev/null; then tracking=$(chronyc -c tracking 2> /dev/null); fi
if [ -d /run/systemd/system ]; then synchronized=$(timeout 3 timedatectl show --property=NTPSynchronized 2> /dev/null); fi
echo "chronyc $tracking"
echo "timedatectl $synchronized"
echo probed
tasks_limit= memory_limit= # "-" for none; a keeper that hears of neither takes no unit
hear_words() { # $1 words into `words`; false if they don't come whole, after which nothing that comes is a word
  local word count=$1
  words=()
  is_number "$count" || return 1
  while ((${#words[@]} < count)); do # a word of a command has at most 128 KiB, its end included (MAX_ARG_STRLEN)
    IFS= read -r -d '' -n 131072 -t 120 word && ((${#word} < 131072)) || return 1
    words+=("$word")
  done
}
library="import sys, importlib.util as u; sys.exit(u.find_spec(sys.argv[1]) is None)"
exports() { # print the folders that the kernel's NFS server exports, but those below $1, by its tools' list and by its own
  local file folder
  for file in /var/lib/nfs/etab /proc/fs/nfsd/exports; do
    [ ! -e "$file" ] || [ -r "$file" ] || echo "those in $file, which can't be read"
    { while read -r folder _; do
      case "$folder" in "" | "#"* | "$1"/*) ;; *) echo "$folder" ;; esac
    done < "$file"; } 2> /dev/null
  done | sort -u
}
hear() { # a line of at most 120 s, in turns: bash does not see a signal that comes just before it waits
  local part line='' code
  for _ in {1..60}; do
    IFS= read -r -n 65536 -t 2 part
    code=$? line+=$part
    ((${#line} < 65536)) || return 1
    ((code <= 128)) || continue
    word=${line%% *} rest=${line#"$word"} rest=${rest# } number=${rest%% *} rest=${rest#"$number"} rest=${rest# }
    return "$code"
  done
  return 1
}
while hear; do
  run="$number${rest:+ $rest}"
  case "$word" in
    look)
      read -ra words <<< "$run"
      set -- "$1" "$2" "${words[@]}"
      why=
      permit_look "${words[@]}" && case "$3" in
        program) [ -n "$(set -f; [ $# = 4 ] || PATH=${*:5}; type -P -- ${4//|/ })" ] ;;
        library) (cd / && "${*:5}" -c "$library" "$4") < /dev/null 2> /dev/null ;;
        path) [ -e "$4" ] ;;
        guarded) [ ! -e "$4" ] || why=$(meddled "$4" 2>&1) ;;
        kernel) grep -qw -- "$4" /proc/filesystems || modprobe --dry-run --quiet -- "$4" 2> /dev/null ;;
        setting) [ ! -e "$4" ] || [ "$(< "$4")" = "$5" ] ;;
        root) [ "$EUID" = 0 ] ;;
        port) why=$(listeners "${@:4}" | strange) && [ -z "$why" ] ;;
        without) why=$(others "${@:4}" | strange) && [ -z "$why" ] ;;
        unexported) why=$(exports "$1/cluster") && [ -z "$why" ] ;;
        *) true ;;
      esac && echo has || echo "lacks ${why//$'\n'/, }" ;;
    unit) [[ $run =~ ^([0-9]{1,15}|-)\ ([0-9]{1,15}|-)$ ]] && read -r tasks_limit memory_limit <<< "$run" || exit 1 ;;
    states)
      hear_words "$run" || exit 1
      permit_look states "${words[@]}" && echo "$(states "${words[@]}" < /dev/null 2> /dev/null)"
      echo stated ;;
    *) break ;;
  esac
done
[ "$word" = keep ] || exit 0
entered=
refuse() { # and leave nothing that we have made
  [ -z "$entered" ] || { rmdir -- "$folder/programs" "$folder"; exec 6<&-; given_back "$host"; } 2> /dev/null
  echo "refused $*"
  exit 3
}
read -r run dead <<< "$run"
[[ $run =~ ^[0-9a-z]{1,32}$ ]] || refuse "$run is not the name of a run"
umask go-w # whatever the login's is: nobody else writes to what is ours
host=$2 mark=$run-$2 root=$1/cluster folder=$1/cluster/$run-$2
read -r boot < /proc/sys/kernel/random/boot_id
read -r id 2> /dev/null < /etc/machine-id
machine=@${id:-unknown}.$boot-$(stat -L -c %i /proc/self/ns/net)
tries_count=20 asked=
until claimed "$host" "$run"; do
  sleep 0.1
  ((tries_count-- > 0)) && continue
  [ -z "$asked" ] || refuse "what another perjoule left on this host is still being removed; wait for it"
  [[ " $dead ending " = *" $holder "* ]] || refuse "another perjoule uses this host; set work, or wait for the other run"
  asked=1 tries_count=200
  [ "$kernel" = "$machine" ] || continue
  for pid in $holders; do # its number may be another user's by now, whose words may never come
    [ -O "/proc/$pid" ] && grep -qzxF -e perjoule-keeper -e "$helper" "/proc/$pid/cmdline" && kill -TERM "$pid"
  done
done
for old in "$root"/????????-"$2"; do # a run has eight letters
  [ -d "$old" ] || continue
  all_ended "$old" && remove "$old"
  [ -e "$old" ] || { echo "removed $old"; continue; }
  [ ! -e "$old/power.end" ] ||
    refuse "a killed run changed power states of this host, and $old/power.end can't put them back; see why: bash $old/power.end"
  echo "left $old"
done
if [ -n "$tasks_limit" ] && confined "$mark" "$tasks_limit" "$memory_limit"; then
  echo "unit ${unit##*/}"
elif [ -n "$tasks_limit" ]; then
  [ "$tasks_limit$memory_limit" = -- ] ||
    refuse "only a unit of systemd has limits, and systemd starts none: $why; remove tasks_limit and memory_limit"
  echo "unitless $why"
fi
own=$folder/programs
apart() { # notes our unit, before there is a program, and makes its temporary folder
  [ -z "$unit" ] || { mkdir -m 700 "$folder/tmp" && export TMPDIR=$folder/tmp && echo "$unit" > "$folder/unit"; } ||
    { rm -f -- "$folder/unit"; rmdir -- "$folder/tmp"; false; }
}
# the input and output of programs may hold keys: no other user reads them
mkdir -m 711 "$folder" && mkdir -m 700 "$own" && apart && : > "$folder/perjoule-made-this" && exec 7<> <(:) 2> /dev/null ||
  refuse "$folder can't be made; set work"
echo >&7
take() { read -r -u 7; }
give() { echo >&7; }
full() { # answers instead of program $1
  local text="perjoule: no space left below $root"
  take
  printf 'answer %s 125 0 %s\n%s' "$1" "${#text}" "$text"
  give
}
launch() { # the number, then the program
  local number=$1 own=$own/$1 code sizes=(0 0) input=/dev/null most=67108864 most_errors=1048576
  shift
  cd /
  if ! : > "$own.out" > "$own.err"; then
    full "$number"
    return
  fi
  [ ! -e "$own.in" ] || input=$own.in
  if ! permit "$@"; then
    code=126
    echo "perjoule: $why" > "$own.err"
  elif type -P -- "$1" > /dev/null; then
    noted "$mark" "$number" "$@"
    (
      trap - TERM INT HUP PIPE QUIT
      joined "$number" || { echo "perjoule: the run is ending" >&2; exit 125; }
      echo "$BASHPID" > "$own.pid"
      exec env LC_ALL=C.UTF-8 "PERJOULE_HOST=$mark" "PERJOULE_PROGRAM=$mark/$number" setsid "${argv[@]}" 4>&- 7>&-
    ) < "$input" > "$own.out" 2> "$own.err"
    code=$?
    : > "$own.pid" # by now another process may have its number
    program_left "$number"
  else
    code=127
    echo "perjoule: $1 is not installed on this host" > "$own.err"
  fi
  if [ "$code" != 0 ] && [ ! -s "$own.err" ] && ! echo > "$own.full"; then # its message did not fit either
    full "$number"
    rm -f "$own".*
    return
  fi
  if [ -s "$own.out" ] || [ -s "$own.err" ]; then
    sizes=($(stat -c %s "$own.out" "$own.err"))
    ((sizes[0] = sizes[0] < most ? sizes[0] : most, sizes[1] = sizes[1] < most_errors ? sizes[1] : most_errors))
  fi
  take
  echo "answer $number $code ${sizes[*]}"
  [ "${sizes[0]}" = 0 ] || head -c "${sizes[0]}" "$own.out"
  [ "${sizes[1]}" = 0 ] || head -c "${sizes[1]}" "$own.err"
  give
  rm -f "$own".*
}
echo ready
while hear; do
  [ "$word" = tell ] || [ "$word" = alive ] || is_number "$number" || break # it names files
  case "$word" in
    alive) take; echo "answer 0 0 0 0"; give ;;
    tell) case "$number" in */..*) ;; "$folder"/*)
      permit_tell "$number" || continue
      echo "$rest" > "$number.told"
      if [ -p "$number" ]; then echo "$rest" 1<> "$number"; fi ;;
    esac ;;
    clock) # with a line's end: srun passes on whole lines
      text="$EPOCHREALTIME"$'\n'
      take; printf 'answer %s 0 %s 0\n%s' "$number" "${#text}" "$text"; give ;;
    counters)
      mapfile -t stat < /proc/stat
      text="$EPOCHREALTIME ${stat[0]}"$'\n'
      for line in "${stat[@]}"; do case "$line" in ctxt*) text+="$line"$'\n'; break ;; esac; done
      IFS= read -r -d '' more < /proc/net/dev
      text+=$more$'disks\n'
      IFS= read -r -d '' more < /proc/diskstats
      text+=$more
      take
      printf 'answer %s 0 %s 0\n%s' "$number" "${#text}" "$text"
      give ;;
    run)
      bytes=${rest#* }
      is_number "$bytes" && hear_words "${rest% *}" || break
      [ "$bytes" = 0 ] || head -c "$bytes" | { cat > "$own/$number.in" || { cat > /dev/null; false; }; } || words=(false)
      launch "$number" "${words[@]}" < /dev/null 8>&- 9>&- & ;;
    ask) read -r pid < "$own/$number.pid" && kill -TERM "$pid" ;;
    end)
      is_number "$rest" || break
      { program_ended "$rest"; code=$?; take; echo "answer $number $code 0 0"; give; } < /dev/null 8>&- 9>&- & ;;
  esac 2> /dev/null
done
exec 4>&-
[ -n "$ended" ] || exec > /dev/null # whoever still listens takes an end of output for our death, and kills the connection
trap '' TERM
exec 2> /dev/null
echo "ending $machine $$" > /proc/self/fd/9
SECONDS=0
for _ in {1..50}; do # what was just being started is not marked yet, but is waited for
  ((SECONDS < 60)) || break
  all_ended "$folder" || exit 1
  [ -z "$(jobs -pr)" ] && remove "$folder" && [ ! -e "$folder" ] && { given_back "$host"; exit 0; }
  sleep 0.05
done
exit 1
"""
)

# $1 the base name of a long-running program's files, then the program. It bears the marks itself, as what it
# is started with.
LAUNCHING = (
    JOINED
    + r"""
export LC_ALL=C.UTF-8 PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
own=$1
shift
umask go-w
cd /
permit "$@" || { echo "perjoule: $why" >&2; exit 126; }
type -P -- "$1" > /dev/null || { echo "perjoule: $1 is not installed on this host" >&2; exit 127; }
run=${own%/programs/*} unit=
[ ! -e "$run/unit" ] || { read -r unit < "$run/unit" && export TMPDIR=$run/tmp; }
noted "${run##*/}" "${own##*/}" "$@"
[ -d "${own%/*}" ] && joined "${own##*/}" || { echo "perjoule: the run is ending" >&2; exit 125; }
exec 4>&2 2> /dev/null
(echo "$BASHPID" > "$own.pid"; exec "${argv[@]}" 2>&4 4>&-)
code=$?
rm -f "$own".*
[ $code != 255 ] || code=254 # 255 is ssh's own failure
exit $code
"""
)
KEEP = UNJUDGED + FOLDERS + KEEPING
LAUNCH = UNJUDGED + LAUNCHING
