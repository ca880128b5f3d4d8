"""The helper that an administrator installs on a host, root-owned, for sudoers to name: the keeper's own text
behind a judge.

It runs as root, for a user who is not, only what its judge lets pass: tools with checked arguments on paths
of the run's folder and on devices that root permits, perjoule's own scripts word by word, and programs that
root permits by name. Who starts it decides nothing else: not the environment, a path, a version or a file's
content. https://man7.org/linux/man-pages/man5/sudoers.5.html
"""

import hashlib
import re
import shlex
from collections.abc import Mapping
from functools import cache

from perjoule import __version__
from perjoule.machine.scripts import WAY
from perjoule.model.disk_words import MAKE, MOUNT
from perjoule.model.permitted import Forms
from perjoule.testbeds._device.view import BTRFS_COUNT
from perjoule.testbeds.cluster.folders import FOLDERS
from perjoule.testbeds.cluster.scripts import HELPER, IS_NUMBER, KEEPING, LAUNCHING
from perjoule.testbeds.cluster.verbs import HOLD, SCRIPTS, SIGNAL

PERMITTED = "/etc/perjoule/permitted"
# numbers of the system's own users, to whom a file may be given; login.defs(5), SYS_UID_MAX
_USERS_BELOW = 1000

# What it begins with. With -p bash takes neither functions nor BASH_ENV, SHELLOPTS and CDPATH from its
# environment, of which nothing is left that a program would heed.
_HEAD = (
    WAY
    + r"""
for name in $(compgen -e); do
  case "$name" in SUDO_USER | SUDO_UID | SSH_CONNECTION) ;; *) unset -v "$name" ;; esac
done 2> /dev/null
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C
set +o posix
umask 022
ulimit -f unlimited -v unlimited -t unlimited -d unlimited -n 4096 -c 0 2> /dev/null # whatever its caller has set
cd /
declare -A may=() # what root permits: "WORD VALUE"
logged() { # has the system's log keep a line, whatever is in it
  local text="${SUDO_USER:-root}${verb:+ by $verb}${mark:+, run $mark}: $*"
  text=${text//[[:cntrl:]]/?}
  logger -t perjoule -p authpriv.notice -- "${text:0:900}" < /dev/null > /dev/null 2>&1
}
die() {
  logged "refused: $*"
  echo "perjoule-host: $*" >&2
  exit 4
}
roots() { # whether all that $1 leads through belongs to root, and nobody else can write there; `why` says what does not
  local place owner mode steps
  why="$1 can't be examined"
  steps=$(way "$1" 2> /dev/null) || return 1
  while read -r owner mode place; do
    why="$place does not belong to root alone"
    [ "$owner" = 0 ] && (((16#$mode & 8#170000) == 8#120000 || !(16#$mode & 8#22))) || return 1
  done <<< "$steps"
}
permissions() { # reads what root permits, from one descriptor
  local owner mode word value number=0
  roots "${permitted%/*}" && why= && { exec 3< "$permitted"; } 2> /dev/null ||
    die "$permitted can't be read${why:+ ($why)}; perjoule doctor CAMPAIGN --permitted prints it"
  read -r owner mode < <(stat -L -c '%u %f' /dev/fd/3)
  [ "$owner" = 0 ] && (((16#$mode & 8#170000) == 8#100000 && !(16#$mode & 8#22))) ||
    die "$permitted is not a file that only root can write to"
  while read -r word value || [ -n "$word" ]; do
    ((++number))
    value=${value%%[[:blank:]]#*} value=${value%%+([[:blank:]])}
    case "$word" in
      "" | "#"*) ;;
      user | work | device | over | program)
        [ -n "$value" ] || die "line $number of $permitted has no value"
        may[$word $value]=1 ;;
      *) die "line $number of $permitted is not understood: $word" ;;
    esac
  done <&3
  exec 3<&-
}
"""
)

# Before anything runs, `permit` judges it. Path after path is judged by the kernel's own view of it: nothing
# but root, and users of daemons in folders of theirs, can change what lies in a run's folder.
_JUDGE = r"""
within() { # whether $1 is a path below $2, and no link leads it elsewhere
  case "$1" in "$2"/?*) ;; *) return 1 ;; esac
  case "$1/" in */../* | */./* | *//*) return 1 ;; esac
  [ "$(realpath -m -- "$1" && echo .)" = "$1"$'\n.' ]
}
in_run() { # whether $1 is in the run's folder, but not what the run itself keeps there, and runs or heeds at its end
  [ -n "$folder" ] && within "$1" "$folder" || return 1
  case "${1#"$folder/"}" in
    programs/+([0-9]).room | programs/+([0-9]).room/*) ;;
    perjoule-made-this | unit | tmp | tmp/* | made | made/* | programs | programs/* | *.end | *.end.new) return 1 ;;
  esac
}
is_over() { # glusterd's own program for replication is elsewhere on each system
  [ -n "${may[over $1]}" ] ||
    { [ -n "${may[program glusterd]}" ] && [[ $1 = /usr/lib@(|64|exec)/*(+([a-z0-9_-])/)glusterfs/gsyncd ]] && roots "$1"; }
}
is_bound() { # whether a folder of the run is mounted over $1 now
  local root place mounted=
  is_over "$1" || return 1
  while read -r _ _ _ root place _; do [ "$place" != "$1" ] || mounted=$root; done < /proc/self/mountinfo
  [[ $mounted = */"cluster/$mark"/* ]]
}
is_mine() { in_run "$1" || is_bound "$1"; }
is_place() { in_run "$1" || is_over "$1"; } # of a mount
is_mount() { # whether something is mounted at $1, and nobody can lead that path elsewhere
  is_bound "$1" || { in_run "$1" && [[ $'\n'$(outermost "$folder")$'\n' = *$'\n'"$1"$'\n'* ]]; }
}
anywhere() { :; }
readable() {
  case "$1" in
    /proc/sys/kernel/random/boot_id | /proc/self/mountinfo | /proc/self/net/tcp | /proc/fs/nfsd/threads | /proc/filesystems) ;;
    /sys/block/+([a-z0-9])/+([a-z_/])) ;;
    *) is_mine "$1" ;;
  esac
}
is_image() { # of a disk of the run: no user's bytes come into it but by the file system on it, so root may mount that
  [[ $1 = "$folder/"?(disks/)+([A-Za-z0-9._-]).img ]] && in_run "$1"
}
is_device() { # a device that root permits, by its own name or as root has written it, or a loop device on an image of the run
  local device node file
  node=$(realpath -e -- "$1") && [ -b "$node" ] || return 1
  [ "$1" = "$node" ] || [ -n "${may[device $1]}" ] || return 1 # a link of the user's could lead elsewhere once it is judged
  for device in "${!may[@]}"; do
    case "$device" in "device "*) [ "$node" != "$(realpath -e -- "${device#device }")" ] || return 0 ;; esac
  done
  case "$1" in /dev/loop*([0-9])) ;; *) return 1 ;; esac
  # another user's may only seem to have its file there, in a mount namespace of theirs; losetup goes by a missing file's name
  { IFS= read -r file < "/sys/block/${1#/dev/}/loop/backing_file"; } 2> /dev/null && is_image "$file" && [ -f "$file" ] &&
    losetup --noheadings --raw --output NAME --associated "$file" 2> /dev/null | grep -qxF -- "$1"
}
is_system() { # a user or group of the system's own, who is not the one who calls us
  local number
  number=$(id -u -- "$1" 2> /dev/null) && [ "$number" -lt "$users_below" ] && [ "$number" != "${SUDO_UID:-none}" ]
}
is_mode() { [[ $1 = ?(0)[0-7][0145][0145] ]]; } # nobody but the owner writes, and no program runs as another
fits() { # $1 patterns of options, $2 a judge of paths, then words
  local patterns judge=$2 word pattern
  read -ra patterns <<< "$1"
  shift 2
  for word; do
    case "$word" in
      /*) "$judge" "$word" || { why="$program may not use $word as root"; return 1; } ;;
      *)
        for pattern in "${patterns[@]}"; do [[ $word = $pattern ]] && continue 2; done
        why="$program may not have $word as root"
        return 1 ;;
    esac
  done
}
listed() { # whether $1 contains only words of the table $2 between its commas
  local word words
  IFS=, read -ra words <<< "$1"
  [[ $1 != *[!A-Za-z0-9,._=:^-]* ]] || return 1
  for word in "${words[@]}"; do [[ " ${!2} " = *" ${word%%=*} "* ]] || return 1; done
}
located() { # whether $1 is a program that root has installed
  local place
  why="$1 is a relative path"
  case "$1" in /*) place=$1 ;; */*) return 1 ;; *) place=$(type -P -- "$1") ;; esac
  [ -n "$place" ] || { why="$1 is not installed on this host"; return 1; }
  roots "$place"
}
judged() {
  local program=$1 word kind options=
  shift
  why="$program may not run as root here"
  case "$program" in
    bash | sh)
      [ "$1 $2" = "--norc -c" ] && [[ $4 = perjoule-+([a-z-]) ]] && [ -n "${scripts[$4]}" ] && [ "$3" = "${scripts[$4]}" ] ||
        { why="$program may run only perjoule's own scripts as root"; return 1; }
      script "${@:4}" ;;
    perl) [ $# = 3 ] && [ "$1" = -e ] && [ "$2" = "$hold" ] && { why="$3 is not a permitted device"; is_device "$3"; } ;;
    true | sync) fits "-f --" is_mine "$@" ;;
    cat) fits "--" readable "$@" ;;
    readlink) fits "-f -e -m --" anywhere "$@" ;;
    test) fits "-d -e -f -S -w -x !" anywhere "$@" ;;
    stat) fits "-c -f -L -- --file-system --format=%* %*" anywhere "$@" ;;
    df) fits "--output=+([a-z,]) --block-size=1 -B1" anywhere "$@" ;;
    findmnt) fits "--@(json|bytes|target|output|raw|noheadings|real|types) [A-Z]*([A-Z,-]) +([a-z0-9,])" anywhere "$@" ;;
    mountpoint) fits "-q" anywhere "$@" ;;
    du) fits "--summarize --block-size=1" is_mine "$@" ;;
    tail) fits "--bytes=+([0-9]) --" in_run "$@" ;;
    find) # first the folders, since any other word could be a relative one
      why="find may not have these words as root"
      [[ $1 = /* ]] || return 1
      while [[ $1 = /* ]]; do is_mine "$1" || return 1; shift; done
      while [ $# != 0 ]; do
        case "$1" in
          -not | "!" | -o | "(" | ")" | -delete | -quit | -print) shift ;;
          -type) [[ $2 = [dfs] ]] && shift 2 || return 1 ;;
          -name | -printf) shift 2 || return 1 ;;
          -mindepth | -maxdepth | -size) [[ $2 = ?(+)+([0-9]) ]] && shift 2 || return 1 ;;
          *) return 1 ;;
        esac
      done ;;
    mkdir) fits "-p -m ?(0)[0-7][0145][0145] --" in_run "$@" ;;
    mkfifo) fits "-m 600 --" in_run "$@" ;;
    rm) fits "-r -f -rf --one-file-system --" in_run "$@" ;;
    rmdir | touch) fits "--" in_run "$@" ;;
    truncate) fits "--size=+([0-9])" in_run "$@" ;;
    install)
      [ "$1" = -d ] || return 1
      shift
      while [[ $1 = -[ogm] ]]; do
        why="$1 $2 is not permitted for $program"
        case "$1" in -m) is_mode "$2" ;; *) is_system "$2" ;; esac || return 1
        shift 2
      done
      fits "" is_place "$@" ;;
    dd)
      for word; do
        why="dd may not have $word as root"
        case "$word" in # onto a device no bytes of the user's, which root could mount
          of=/*.img) false ;;
          of=/dev/*) [[ " $* " = *" if=/dev/"@(zero|urandom)" "* ]] && is_device "${word#of=}" ;;
          of=/*) in_run "${word#of=}" ;;
          if=/dev/zero | if=/dev/urandom | status=none | iflag=fullblock) ;;
          conv=*) [[ $word =~ ^conv=(fsync|notrunc|,)+$ ]] ;;
          *) [[ $word =~ ^(bs|count)=[0-9]+$ ]] ;;
        esac || return 1
      done
      [[ " $*" = *" of=/"* ]] ;; # else to its output, of a relative path
    dumpe2fs) [ $# = 2 ] && [ "$1" = -h ] && is_device "$2" ;;
    xfs_info) [ $# = 1 ] && in_run "$1" ;;
    btrfs) [ $# = 3 ] && [ "$1 $2" = "inspect-internal dump-super" ] && is_device "$3" ;;
    blockdev) [ $# = 2 ] && [ "$1" = --getsize64 ] && is_device "$2" ;;
    wipefs) fits "--all --force --quiet --types ext4 xfs btrfs f2fs" is_device "$@" ;;
    losetup)
      why="losetup may not do this as root"
      case "$*" in
        "--find --show --direct-io=on "*) [ $# = 4 ] && is_image "$4" ;;
        "--detach "*) [ $# = 2 ] && [[ $2 = /dev/loop+([0-9]) ]] && is_device "$2" ;;
        *) false ;;
      esac ;;
    mkfs.ext4 | mkfs.xfs | mkfs.btrfs | mkfs.f2fs)
      why="${*: -1} is not a permitted device"
      is_device "${*: -1}" || is_image "${*: -1}" || return 1
      for word in "${@:1:$#-1}"; do
        why="$program may not have $word as root"
        case "$word" in
          -q | -b | size=+([0-9]) | --sectorsize | single | dup | crc32c | xxhash | sha256 | blake2) ;;
          news | small | largefile | largefile4 | big | huge | none | utf8 | utf8:strict) ;;
          -*) kind=make_${program#mkfs.} && listed "$word" "$kind" || return 1 ;;
          *) kind=make_${program#mkfs.} && { [[ $word =~ ^[0-9.]+[kKmMgGtT]?$ ]] || listed "$word" "$kind"; } || return 1 ;;
        esac
      done ;;
    mount)
      if [ "$1" = --bind ]; then
        why="$3 is not a permitted place to mount over"
        [ $# = 3 ] && in_run "$2" && is_over "$3"
        return
      fi
      [ "$1 $2" != "-o remount,bind,nosymfollow" ] || { why="$3 is not a folder of the run"; [ $# = 3 ] && in_run "$3"; return; }
      [ "$1" = -t ] || return 1
      kind=$2
      shift 2
      [ "$1" != -o ] || { options=$2; shift 2; }
      [ $# = 2 ] || return 1
      why="$2 is not a folder of the run"
      in_run "$2" || return 1
      case "$kind" in
        ext4 | xfs | btrfs | f2fs)
          why="$1 is not a permitted device"
          is_device "$1" || return 1
          why="mount may not have $options as root"
          listed "$options" "mount_$kind" || return 1 ;;
        *)
          why="mount.$kind may not run as root here"
          [[ $kind = +([a-z0-9.]) ]] && [ -n "${may[program mount.$kind]}" ] && [[ $options != *[!A-Za-z0-9,._=:-]* ]] || return 1
          case ",$options," in *,suid,* | *,dev,* | *,exec,* | *,remount,* | *,*bind,* | *,move,* | *,loop*) return 1 ;; esac ;;
      esac
      argv=(mount -o nosuid,nodev -t "$kind" ${options:+-o "$options"} "$1" "$2") ;;
    umount) fits "--force --lazy --quiet" is_mount "$@" ;;
    modprobe)
      fits "--dry-run --quiet -- loop ext4 xfs btrfs f2fs fuse nfs nfsd ceph rbd raid1" false "$@" ;;
    kill)
      why="kill may signal only programs of the run"
      [ $# = 2 ] && [[ $1 = -@(USR1|TERM) && $2 = [1-9]*([0-9]) ]] || return 1
      grep -qzxF "PERJOULE_HOST=$mark" "/proc/$2/environ" || return 1 # and once more, where the signal is sent
      argv=(perl -e "$signal" "${1#-}" "$2" "PERJOULE_HOST=$mark") ;;
    env)
      while [[ $1 = +([A-Z_])=* ]]; do
        why="$1 may not be set for a program of root's"
        [[ $1 = @(LC_ALL|PERJOULE_CLIENT)=+([A-Za-z0-9._-]) ]] || return 1 # no path: of a locale, programs load files from there
        shift
      done
      if [ "$1" = -C ]; then # only of what root has named: to a tool, a relative word would be something else there
        why="env may not go to $2 for $3 as root"
        in_run "$2" && [ -n "${may[program ${3##*/}]}" ] || return 1
        shift 2
      fi
      [[ $1 != -* ]] && [ $# != 0 ] && judged "$@" ;;
    unshare) # of only what root has named
      why="unshare may not run this as root"
      [ "${*:1:4}" = "--pid --fork --kill-child --mount-proc" ] && [ -n "${may[program $5]}" ] && judged "${@:5}" ;;
    setpriv)
      [[ $1 = --reuid=* && $2 = --regid=* && $3 = --clear-groups ]] && is_system "${1#*=}" && is_system "${2#*=}" &&
        [ "$(id -u -- "${1#*=}")" != 0 ] || { why="setpriv may only become a user of the system's own"; return 1; }
      judged "${@:4}" ;;
    *)
      [ -n "${may[program ${program##*/}]}" ] || { why="$program may not run as root here; see $permitted on it"; return 1; }
      located "$program" ;;
  esac
}
script() { # whether a script of ours may have these words; $1 is its name
  local name=$1
  why="$name may not have these words as root"
  case "$name" in
    perjoule-put)
      why="$2 may not be written as root"
      [ $# = 5 ] && [[ $2 != *.img && $5 = "$folder" ]] && in_run "$2" && is_mode "$3" && { [ -z "$4" ] || is_system "$4"; } ;;
    perjoule-send | perjoule-remove) [ $# = 2 ] && [[ $2 = "$folder/programs/"+([0-9]).room ]] ;;
    perjoule-fetch) [ $# = 3 ] && [[ $2 = "$folder/programs/"+([0-9]).room ]] && is_number "$3" ;;
    perjoule-piece) [ $# = 4 ] && [[ $2 = "$folder/programs/"+([0-9]).room ]] && is_number "$3" && is_number "$4" ;;
    perjoule-rm) [ $# = 2 ] && in_run "$2" && [[ $2 = "$folder"/+([A-Za-z0-9_-]) ]] ;;
    perjoule-end) [ $# = 2 ] && [[ $2 = "$folder"/+([A-Za-z0-9_-]).end ]] ;;
    perjoule-ending)
      [[ $2 = "$folder"/+([A-Za-z0-9_-]).end && $3 = device && $4 = /dev/+([a-z0-9/-]) && $5 = +([0-9]):+([0-9]) ]] &&
        [[ $6 = @(-|+([0-9])) && $7 = +([a-f0-9-]) && $8 = wipefs && ${*: -1} = "$4" ]] && is_device "$4" && judged "${@:8}" ;;
    perjoule-report)
      why="$2 is not a permitted device"
      [ $# = 4 ] && [ -n "${may[device $2]}" ] && [[ $3 = +([A-Z,:_-]) && $4 = "$btrfs_count" ]] ;;
    perjoule-mirror) [[ $2 = +([a-z0-9]) && $3 = +([a-z0-9]) ]] ;;
    perjoule-ports) [ "$2" = "PERJOULE_HOST=$mark" ] ;;
    perjoule-unmap) [ $# = 2 ] && [ "$2" = "$folder" ] ;;
    perjoule-drop) [ $# = 1 ] ;;
    perjoule-look) [ $# = 2 ] && in_run "$2" ;;
    perjoule-remove-old) [ $# = 3 ] && in_run "$2" && [[ $3 = +([A-Za-z0-9._*-]) && $3 != .* ]] ;;
    perjoule-guarded) [[ $2 = /* ]] && { [ $# = 2 ] || [ "$#$3" = 3always ]; } ;;
    perjoule-sync) [ $# != 1 ] && judged "${@:2}" ;;
    *) false ;;
  esac
}
permit() { # whether this may run as root, as `argv`; else `why` not
  local words
  argv=("$@")
  if judged "$@"; then
    words="${argv[*]}"
    case "$1" in bash | sh | perl) words="$1 ${*:5}" ;; kill) words="$*" ;; esac # the texts are perjoule's own
    logged "$words" || [ ! -S /dev/log ] || { why="it can't be logged"; return 1; }
  else
    logged "refused: $*"
    return 1
  fi
}
permit_tell() { in_run "$1" && in_run "$1.told"; } # whether a line may be written to who waits at the gate $1
permit_look() { # the same for a question
  local word
  why="it may not be asked by who is not root"
  case "$1" in
    states) # of drives by names that only root makes: programs open them
      [[ $2 = /sys && $3 = /dev ]] || return 1
      for word in "${@:4}"; do [[ $word = /dev/disk/+([a-z-])/+([!/]) ]] || return 1; done ;;
    setting) [[ $2 = /proc/sys/* || $2 = /sys/* ]] && [[ $2 != *..* ]] ;;
    library) [[ $# = 3 && $3 = /usr/bin/python3*([0-9.]) ]] && located "$3" ;;
    program) [ $# = 2 ] || [[ ${*:3} = +([A-Za-z0-9/:._-]) ]] ;;
    *) ;;
  esac
}
"""

# The programs that the judge knows; any other runs only if root has named it.
JUDGED = frozenset(
    name
    for names in re.findall(r"^    ([a-z][a-z0-9. |]*)\)", _JUDGE.partition("\nscript() {")[0], re.M)
    for name in names.split(" | ")
)

_VERBS = r"""
verb=$1 mark= folder=
[ "$EUID" = 0 ] || { echo "perjoule-host: it is for root; sudoers names who may have it" >&2; exit 4; }
type -P logger > /dev/null || { echo "perjoule-host: no logger to keep a log with (apt install bsdutils)" >&2; exit 4; }
# Such a name stays in the environment, and of one that is a function's the shells below would have a command.
grep -qzvE '^[A-Za-z_][A-Za-z0-9_]*=' "/proc/$$/environ"
[ $? = 1 ] || die "its environment has names that no variable has; call it by sudo"
[ "$(ulimit -f)" = unlimited ] && (($(ulimit -n) >= 256)) || die "limits of files do not let it work (ulimit -f, -n)"
case "$verb" in
  drop-caches)
    [ $# = 1 ] || die "drop-caches has no arguments"
    logged "drops caches"
    trap '' INT HUP PIPE
    exec bash --norc -c "${scripts[perjoule-drop]}" perjoule-drop ;;
  keep | launch | report) ;;
  *) die "it has no verb ${verb:-without a name}" ;;
esac
permissions
[ $# = 3 ] || die "$verb needs a work folder and a name"
[ -z "$SUDO_USER" ] || [ -n "${may[user $SUDO_USER]}" ] || die "$SUDO_USER is not a user that $permitted names"
[ -n "${may[work $2]}" ] && [[ $2 = /* && $2/ != */../* && $2 != *[!A-Za-z0-9/._-]* ]] ||
  die "$2 is not a work folder that $permitted names"
[[ $3 = [A-Za-z0-9]*([A-Za-z0-9_.-]) ]] || die "$3 is not the name of a host"
set -- "$2" "$3"
folder= mark=
if [ "$verb" != keep ]; then
  received() { # a word of the input, of at most 128 KiB
    IFS= read -r -d '' -n 131072 -t 120 received && ((${#received} < 131072)) || die "its words did not come whole"
  }
  received
  run=$received
  [[ $run =~ ^[0-9a-z]{1,32}$ ]] || die "that is not the name of a run"
  mark=$run-$2 folder=$1/cluster/$mark
  received
  count=$received
  is_number "$count" && ((count <= 9999)) || die "that is not a number of words"
  words=()
  while ((${#words[@]} < count)); do received; words+=("$received"); done
fi
if [ "$verb" = report ]; then # before the host is kept
  folder= mark=
  permit bash --norc -c "${scripts[perjoule-report]}" perjoule-report "${words[@]}" || die "$why"
  exec "${argv[@]}"
elif [ "$verb" = launch ]; then
  own=$folder/programs
  ! lent "$own" && cd -P -- "$own" 2> /dev/null && [ -O . ] && guarded "$own" || die "there is no such run"
  cd /
  is_number "${words[0]}" || die "that is not the number of a program"
  export PERJOULE_HOST=$mark PERJOULE_PROGRAM=$mark/${words[0]}
  set -- "$folder/programs/${words[0]}" "${words[@]:1}"
"""


@cache
def _body() -> str:
    tables = {f"make_{kind}": " ".join(_names(MAKE[kind])) for kind in ("ext4", "xfs", "btrfs", "f2fs")}
    tables |= {f"mount_{kind}": " ".join(MOUNT[kind]) for kind in ("ext4", "xfs", "btrfs", "f2fs")}
    constants = {
        **tables,
        "btrfs_count": BTRFS_COUNT,
        "hold": HOLD,
        "signal": SIGNAL,
        "helper": HELPER,
        "permitted": PERMITTED,
        "users_below": str(_USERS_BELOW),
    }
    declared = "".join(f"{name}={shlex.quote(text)}\n" for name, text in constants.items())
    entries = "".join(f"  [{name}]={shlex.quote(text)}\n" for name, text in SCRIPTS.items())
    begin = f"{_HEAD}{FOLDERS}{IS_NUMBER}shopt -s extglob\n{declared}declare -A scripts=(\n{entries})\n{_JUDGE}{_VERBS}"
    return f'{begin}{LAUNCHING}\nfi\nlogged "looks, or keeps the host"\necho "helper $version"\n{KEEPING}'


def _names(table: Mapping[str, str | Forms]) -> list[str]:
    """Return the words of a table of mkfs, and those that they list."""
    return [
        name
        for heading, inner in table.items()
        for name in (heading, *(() if isinstance(inner, str) else inner))
    ]


@cache
def version() -> str:
    """Return its version: perjoule's, and a digest of all that it does."""
    return f"{__version__}-{hashlib.sha256(_body().encode()).hexdigest()[:12]}"


def text() -> str:
    """Return the file to install."""
    return f"""#!/bin/bash -p
# perjoule-host {version()}: what perjoule may do as root on this host for a user that sudoers lets start it.
# Read it, then, as root: install -o root -g root -m 755 perjoule-host {HELPER}
# What it permits beyond tools with checked arguments stands in {PERMITTED}. Each command is in the log: journalctl -t perjoule
version={version()}
{_body()}"""
