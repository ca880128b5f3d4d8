"""Bash scripts that run on a host over SSH: constants, so only an argument list must be quoted for a remote shell.

A mark is NAME=VALUE in the environment of every program that we start, which its children inherit. A program that cleans its own
environment is found by its session, which sshd made for it alone. Folders contain no blanks: `cluster.Work` checks that.
"""

BASH = ("bash", "--norc", "-c")  # which would read ~/.bashrc once more, as a child of sshd
# Without the file `perjoule-made-this` (perjoule.machine.removal.MARK) nothing below a folder is ever removed.

_SWEEP = r"""
marked() { grep -lzxF -e "$1" /proc/[0-9]*/environ 2> /dev/null | cut -d / -f 3; }
sweep() { # end all that bear the mark $1, and their sessions
  for _ in {1..50}; do
    pids=$(marked "$1")
    [ -n "$pids" ] || return 0
    for session in $(ps -o sess= -p "${pids//$'\n'/,}" | sort -u); do
      [ "$session" -le 1 ] || [ "$session" = "$$" ] || pkill -KILL -s "$session"
    done
    kill -KILL $pids 2> /dev/null
    sleep 0.1
  done
  return 1
}
remove() { # a folder of ours with all that is mounted and attached below
  [ -f "$1/perjoule-made-this" ] && [ -O "$1" ] || return 0
  findmnt --raw --noheadings --output TARGET | grep -F "$1/" | sort -r | while read -r place; do
    umount "$place" 2> /dev/null || umount --lazy "$place" 2> /dev/null
  done
  losetup --noheadings --output NAME,BACK-FILE 2> /dev/null | while read -r loop file _; do
    case "$file" in "$1"/*) losetup --detach "$loop" ;; esac
  done
  rm -rf --one-file-system -- "$1"
}
"""

# $1 the work folder, $2 the host's name, $3 the run. It lives as long as its perjoule: its end, or two minutes without a word
# from it, end everything. Words it hears: "alive", "counters N", and "tell GATE LINE" (see Host.tell).
KEEP = (
    _SWEEP
    + r"""
trap '' TERM INT HUP PIPE # it may be answering when we go
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
refuse() { echo "refused $*"; exit 3; }
root=$1/cluster folder=$1/cluster/$3-$2
mkdir -p "$1" 2> /dev/null
if mkdir "$root" 2> /dev/null; then echo "folders of runs by perjoule" > "$root/perjoule-made-this"; fi
[ -d "$root" ] || refuse "$root can't be made"
for _ in {1..20}; do [ -f "$root/perjoule-made-this" ] && break; sleep 0.05; done
[ -f "$root/perjoule-made-this" ] && [ -O "$root" ] || refuse "$root is not ours"
(umask 077; : >> "$root/$2.lock") && chmod 600 "$root/$2.lock" && exec 9> "$root/$2.lock" || refuse "$root can't be written to"
flock -w 20 9 || refuse "another perjoule uses this host"
for old in "$root"/????????-"$2"; do # a run has eight letters
  [ -d "$old" ] || continue
  sweep "PERJOULE_HOST=${old##*/}" && remove "$old" && echo "removed $old"
done
mkdir "$folder" "$folder/programs" && touch "$folder/perjoule-made-this" || refuse "$folder can't be made"
echo ready
while read -r -t 120 word number line; do
  case "$word $number" in "tell $folder"/*)
    echo "$line" > "$number.told"
    if [ -p "$number" ]; then echo "$line" 1<> "$number"; fi ;;
  esac
  [ "$word" = counters ] || continue
  read -r stat < /proc/stat
  echo "begin $number"
  echo "$EPOCHREALTIME $stat"
  cat /proc/net/dev - /proc/diskstats <<< disks
  echo "end $number"
done
exec > /dev/null 2>&1
sweep "PERJOULE_HOST=$3-$2" && remove "$folder" && [ ! -e "$folder" ]
"""
)

# $1 the base name of the program's files, $2 "run" (its outputs wait in files, so that a daemon that it leaves behind can't
# hold the connection) or "spawn"; then the program. It bears the marks itself, as what it is started with.
LAUNCH = r"""
export LC_ALL=C.UTF-8 PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
own=$1 mode=$2
shift 2
cd /
type -P -- "$1" > /dev/null || { echo "perjoule: $1 is not installed on this host" >&2; exit 127; }
if [ "$mode" = run ]; then
  [ -d "${own%/*}" ] || { echo "perjoule: $own can't be written to" >&2; exit 125; }
  exec 5>&1 6>&2 > "$own.out" 2> "$own.err"
fi
exec 4>&2 2> /dev/null
(echo "$BASHPID" > "$own.pid"; exec "$@" 2>&4 4>&- 5>&- 6>&-)
code=$?
if [ "$mode" = run ]; then
  cat "$own.out" >&5
  cat "$own.err" >&6
fi
rm -f "$own".*
[ $code != 255 ] || code=254 # 255 is ssh's own failure
exit $code
"""

# $1 the program's mark, $2 the file with its number: ask it to end.
ASK = 'kill -TERM "$(cat "$2")" 2> /dev/null'

# $1 the program's mark: end it with all that it started.
END = _SWEEP + 'sweep "$1"'

# $1 the work folder; changes nothing.
PROBE = r"""
export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
echo "user $(id -un)"
echo "cores $(nproc)"
echo "ticks_hz $(getconf CLK_TCK)"
there=$1
until [ -d "$there" ]; do there=$(dirname "$there"); done
echo "free_bytes $(df --output=avail --block-size=1 "$there" | tail -n 1)"
[ -w "$there" ] || echo "readonly $there"
for tool in flock findmnt losetup pkill ps tar setsid; do type -P "$tool" > /dev/null || echo "missing $tool"; done
for disk in /sys/block/*/device; do [ -e "$disk" ] && echo "disk $(basename "$(dirname "$disk")")"; done
echo "kernel $(uname -srm)"
echo "chronyc $(chronyc -c tracking 2> /dev/null)"
echo "timedatectl $(timedatectl show --property=NTPSynchronized 2> /dev/null)"
"""
