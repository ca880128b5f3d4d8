"""Perjoule's own scripts for a host, each by a name that stands in its command: the one place from which
hosts run them.

An installed helper (`cluster.judge`) has these texts, and runs no other text as root.
"""

import shlex
from collections.abc import Sequence

from perjoule.machine.caches import DROP, DROP_ZFS
from perjoule.machine.mapped import UNMAPPING
from perjoule.machine.ports import WHOSE
from perjoule.machine.scripts import BASH, GUARDED, LOOK, REMOVE_OLD, STAMPED

# $1 a kernel module, $2 a tool. Prints which of them are there; nothing is loaded.
_MIRROR = r"""
PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
if [ -d "/sys/module/$1" ] || grep -qsF "[$1]" /proc/mdstat || modprobe --dry-run --quiet -- "$1" 2> /dev/null; then
  echo module
fi
if type -P -- "$2" > /dev/null; then echo tool; fi
"""
# $1 a file, $2 its mode, $3 its owner or nothing, $4 the host's folder. Below $4 no link is followed, because
# daemons' users own folders there: the file is made in a folder of ours, and then takes the place of whatever
# has its name.
_PUT = r"""
umask 077
folder=${1%/*} name=${1##*/} here=$4
if [[ $1 != "$4"/* ]]; then # of the user's, and so are its links
  mkdir -p -m 755 -- "$folder" || exit
  here=$folder
fi
enter() { # the folder $1 of this one, if it is where it seems to be
  local above=$PWD
  cd -P -- "./$1" && [ "$PWD" = "${above%/}/$1" ] || { echo "$above/$1 is a link" >&2; exit 1; }
}
cd -P -- "$here" || exit
rest=${folder#"$here"}
IFS=/ read -r -a parts <<< "$rest"
for part in "${parts[@]}"; do
  [ -n "$part" ] || continue
  [ -d "$part" ] || mkdir -m 755 -- "$part" || [ -d "$part" ] || exit # somebody else may have made it meanwhile
  enter "$part"
done
new=.put-$$-$RANDOM$RANDOM
mkdir -m 700 -- "$new" || exit
enter "$new"
cat > content && { [ -z "$3" ] || chown -- "$3:" content; } && chmod -- "$2" content && mv -T -- content "../$name"
code=$?
rm -f -- content && cd .. && rmdir -- "$new"
exit "$code"
"""
# $1 the link to a device, $2 the columns of lsblk, $3 what counts the devices of a btrfs. Prints KIND, NAME
# and TEXT, each with a NUL at its end. What can't be read is left out or empty, and whoever judges misses it;
# "end" comes last.
_REPORT = r"""
shopt -s nullglob
export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
for tool in lsblk od readlink stat wipefs xargs; do
  type -P "$tool" > /dev/null || { echo "no $tool to examine devices with" >&2; exit 1; }
done
say() { printf '%s\0' "$1" "$2" "$3"; }
file() { [ ! -e "$1" ] || say file "$1" "$(cat -- "$1" 2> /dev/null)"; }
link=$1 node=
[ ! -L "$link" ] || node=$(readlink -f -- "$link")
[ -b "$node" ] || { say end "" ""; exit; }
say link "$link" "$node"
say number "$node" "$(stat -L -c %t:%T -- "$node")"
say tool "lsblk --json --output $2 $node" "$(lsblk --json --output "$2" "$node")"
kind= parts=()
while read -r name type; do
  kind=${kind:-$type}
  if [ "$type" = "$kind" ] || [ "$type" = part ]; then parts+=("$name"); fi
done < <(lsblk --noheadings --raw --output KNAME,TYPE "$node")
paths=("${parts[@]/#//dev/}")
text=$(wipefs --no-act --json "${paths[@]}") || text=
say tool "wipefs --no-act --json ${paths[*]}" "$text"
case "$text" in *'"btrfs"'*)
  for path in "${paths[@]}"; do say tool "$3 $path" "$($3 "$path")"; done ;;
esac
for name in "${parts[@]}"; do
  file "/sys/class/block/$name/dev"
  file "/sys/class/block/$name/diskseq"
  [ ! -d "/sys/class/block/$name/holders" ] || say folder "/sys/class/block/$name/holders" ""
  for holder in "/sys/class/block/$name/holders"/*; do say folder "$holder" ""; done
done
lent=(/sys/kernel/config/nvmet/subsystems/*/namespaces/*/device_path /sys/kernel/config/target/core/*/*/udev_path)
disks=(/sys/block/*/{hidden,size,wwid,device/wwid,loop/backing_file})
for path in "${disks[@]}" "${lent[@]}"; do file "$path"; done
file /proc/swaps
file /proc/self/mountinfo
{
  while read -r words; do
    case ",${words##* }," in *,user_id=[1-9]*) continue ;; esac # a user's may be a path in what they have mounted
    read -r _ source _ <<< "${words##* - }"
    printf '%b\n' "${source//\\/\\0}"
  done < /proc/self/mountinfo
  while read -r source _; do printf '%b\n' "${source//\\/\\0}"; done < /proc/swaps
  for path in "${lent[@]}"; do cat -- "$path"; done
} | sort -u | while IFS= read -r source; do
  case "$source" in /*) say real "$source" "$(readlink -m -- "$source")" ;; esac
done
[ "$EUID" != 0 ] || say root "" ""
cached= # no file system is asked: a user's own may never answer
! stat --cached=always / > /dev/null 2>&1 || cached=--cached=always
printf '%s\0' /proc/[0-9]*/fd/* | xargs -0 -r stat -L $cached -c '%f %t:%T %n' 2> /dev/null |
  while read -r mode number file; do
    (((0x$mode & 0xF000) == 0x6000)) || continue # a block device
    pid=${file#/proc/} pid=${pid%%/*}
    { read -r name < "/proc/$pid/comm"; } 2> /dev/null && say opener "$name ($pid)" "$number"
  done
say end "" ""
"""
# Its argument is a device. Perl, because it is part of every Debian, and no tool of util-linux just holds a
# device.
HOLD = r"""
use Fcntl;
$| = 1;
sysopen(my $device, $ARGV[0], O_RDWR | O_EXCL) or do { print "busy $!\n"; exit 1 };
$SIG{USR1} = sub { ioctl($device, 0x125F, 0) };
$SIG{TERM} = sub { exit 0 };
printf "held %d %x\n", $$, (stat $device)[6];
sleep 3600 while 1;
"""
# A signal, a process and the mark of a run. Its folder in /proc is open while it is asked for its mark and gets the
# signal, so both are of one process, whoever gets its number: https://man7.org/linux/man-pages/man2/pidfd_send_signal.2.html
SIGNAL = r"""
use Config;
use Fcntl;
my ($name, $pid, $mark) = @ARGV;
my @names = split ' ', $Config{sig_name};
my ($number) = grep { $names[$_] eq $name } 0 .. $#names;
sysopen(my $process, "/proc/$pid", O_RDONLY | O_DIRECTORY) or exit 1;
my $descriptor = fileno $process;
open(my $environment, '<', "/proc/self/fd/$descriptor/environ") or exit 1;
local $/ = "\0";
exit 1 if !grep { $_ eq "$mark\0" } <$environment>;
exit(syscall(424, $descriptor, $number, 0, 0) == 0 ? 0 : 1);
"""
# $1 a folder, $2 most bytes. Makes an archive beside it, and says its size and how it begins.
_ARCHIVE = 'tar -c -f "$1.tar" -C "$1" . && stat -c %s -- "$1.tar" && head -c "$2" -- "$1.tar"'
_PIECE = 'tail -c "+$3" -- "$1.tar" | head -c "$2"'
# $1 a new folder, which gets the files of an archive, and nothing else that an archive can have.
_SEND = r"""
umask 022
mkdir -m 755 -- "$1" && cat > "$1.tar" && tar -t -v -f "$1.tar" > "$1.list" || exit
if grep -v '^-' "$1.list" >&2; then echo "an archive has more than files" >&2; exit 1; fi
tar -x --no-same-owner --no-same-permissions -f "$1.tar" -C "$1" && rm -f -- "$1.tar" "$1.list"
"""
# A script that whoever removes a run's folder runs: `_ENDING` fills in its arguments before it. Busy while
# the kernel takes the last mount down.
_PATIENTLY = r"""
for _ in {1..50}; do "$@" 2> /dev/null && exit; sleep 0.1; done
"""
# $1 a device, $2 its number, $3 its sequence number or "-", $4 the host's start, then what removes our file
# system from it.
_SAME_DEVICE = r"""
name=${1##*/} sequence=-
read -r boot < /proc/sys/kernel/random/boot_id
{ read -r number < "/sys/class/block/$name/dev"; read -r sequence < "/sys/class/block/$name/diskseq"; } 2> /dev/null
[ "$number $sequence $boot" = "$2 $3 $4" ] || exit 0
shift 4
"""
_ELSE_STAYS = "exit 1\n"  # an array that is not stopped shows by its loop devices
# $1 the file for the script, $2 "device" or "array", then as above. It undoes what unmounting leaves, and
# nothing if the device is another by then.
_ENDING = f"""
file=$1 what=$2
shift 2
umask 077
{{
  printf set
  printf ' %q' -- "$@"
  echo
  [ "$what" != device ] || printf %s {shlex.quote(_SAME_DEVICE)}
  printf %s {shlex.quote(_PATIENTLY)}
  [ "$what" != device ] || printf %s {shlex.quote(_ELSE_STAYS)}
}} > "$file"
"""
SCRIPTS = {
    "perjoule-put": _PUT,
    "perjoule-send": _SEND,
    "perjoule-fetch": _ARCHIVE,
    "perjoule-piece": _PIECE,
    "perjoule-remove": 'rm -rf -- "$1" "$1.tar"',
    "perjoule-rm": 'rm -f -- "$1.img" "$1.end" "${1%/*}/disks/${1##*/}".*',
    "perjoule-mirror": _MIRROR,
    "perjoule-ending": _ENDING,
    "perjoule-end": 'if [ -f "$1" ]; then bash --norc "$1"; fi',
    "perjoule-report": _REPORT,
    "perjoule-drop": f"{DROP} || exit\n{DROP_ZFS}",
    "perjoule-ports": WHOSE,
    "perjoule-unmap": UNMAPPING,
    "perjoule-sync": STAMPED,
    "perjoule-look": LOOK,
    "perjoule-remove-old": REMOVE_OLD,
    "perjoule-guarded": GUARDED,
}


def verb(name: str, *arguments: str) -> Sequence[str]:
    """Return the command that runs a script by its name."""
    return (*BASH, SCRIPTS[name], name, *arguments)
