"""Bash scripts that run on a host: they read attributes and drives, and bring them to values."""

import shlex
from collections.abc import Sequence

# A function of bash. $1 the root of sysfs, $2 where device files are, then the IDs of drives; it needs a
# shell of its own. Each line of the answer: what, a tab, its value; for a drive: what, a tab, its ID, a tab,
# its value.
STATES = r"""
states() {
  local root=$1 dev=$2 boot cpu file value id path name folder files
  shift 2
  shopt -s nullglob
  read -r boot < /proc/sys/kernel/random/boot_id
  printf 'boot\t%s\n' "$boot"
  cd "$root" || return
  cpu=devices/system/cpu
  for file in $cpu/cpuidle/current_driver module/pcie_aspm/parameters/policy $cpu/cpu[0-9]*/cpuidle/state*/{name,disable} \
    $cpu/cpufreq/policy*/{scaling_{driver,governor,available_{governors,frequencies},min_freq,max_freq},cpuinfo_{min,max}_freq} \
    $cpu/cpufreq/policy*/energy_performance_{preference,available_preferences}; do
    { IFS= read -r value < "$file"; } 2> /dev/null && printf '%s\t%s\n' "$file" "$value"
  done
  for id; do
    path=$(readlink -e -- "$dev${id#/dev}") || continue
    name=${path##*/}
    folder=$(readlink -e "class/block/$name") || continue
    printf 'drive\t%s\t%s\n' "$id" "$folder"
    if [ -e "$folder/partition" ]; then
      printf 'partition\t%s\tyes\n' "$id"
      continue
    fi
    files=("class/block/$name/device/power/control" "class/block/$name/device/power/autosuspend_delay_ms")
    if [[ $folder =~ /nvme/(nvme[0-9]+)/ ]]; then
      files=("class/nvme/${BASH_REMATCH[1]}/power/pm_qos_latency_tolerance_us")
      if type -P nvme > /dev/null; then
        printf 'nvme\t%s\t%s\n' "$id" "$(nvme get-feature "$dev/${BASH_REMATCH[1]}" --feature-id=2 2> /dev/null |
          sed -n 's/.*value: *\(0x\)\{0,1\}//Ip')"
        printf 'npss\t%s\t%s\n' "$id" "$(nvme id-ctrl "$dev/${BASH_REMATCH[1]}" 2> /dev/null | sed -n 's/^npss *: *//p')"
      fi
    elif type -P hdparm > /dev/null; then
      printf 'apm\t%s\t%s\n' "$id" "$(hdparm -B "$path" 2> /dev/null | sed -n 's/.*APM_level[[:space:]]*= *//p')"
    fi
    if [[ $folder =~ /(host[0-9]+)/ ]]; then
      files+=("class/scsi_host/${BASH_REMATCH[1]}/link_power_management_policy")
    fi
    for file in "${files[@]}"; do
      { IFS= read -r value < "$file"; } 2> /dev/null && printf '%s\t%s\t%s\n' "$file" "$id" "$value"
    done
  done
}
"""
READ = f'export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"\n{STATES}states "$@"\nexit 0\n'

_GET = r"""
export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
root=$1 dev=$2 boot=$3
shift 3
controller() { # of the drive $1
  local path folder
  path=$(readlink -e -- "$dev${1#/dev}") && folder=$(readlink -e "$root/class/block/${path##*/}") &&
    [[ $folder =~ /nvme/(nvme[0-9]+)/ ]] && there=$dev/${BASH_REMATCH[1]}
}
get() { # how, where
  said=
  case "$1" in
    file) { IFS= read -r said < "$root/$2"; } 2> /dev/null
      case "$said" in *\[*\]*) said=${said#*\[} said=${said%%\]*} ;; esac ;;
    apm) said=$(hdparm -B "$dev${2#/dev}" 2> /dev/null | sed -n 's/.*APM_level[[:space:]]*= *//p') ;;
    nvme) controller "$2" && said=$(nvme get-feature "$there" --feature-id=2 2> /dev/null |
        sed -n 's/.*value: *\(0x\)\{0,1\}//Ip') && [ -n "$said" ] && said=$((16#$said)) ;;
  esac
  [ -n "$said" ]
}
"""
# $1 to $3 as below, then pairs: how, where. Prints each value in a line.
LOOK = _GET + 'while [ $# -gt 0 ]; do get "$1" "$2"; printf "%s\\n" "$said"; shift 2; done\n'
# $1 the root of sysfs, $2 where device files are, $3 the boot, then fours: how, where, the value that it must
# have for us to change it ("": any), and the value that it gets. An attribute of another boot is not ours; a
# drive may remember. Three times, since a limit may have to wait for the other one.
_BRING = (
    _GET
    + r"""
read -r now < /proc/sys/kernel/random/boot_id
there=
put() { # how, where, value
  case "$1" in
    file) printf '%s\n' "$3" > "$root/$2" ;;
    apm) hdparm -B "${3/#off/255}" "$dev${2#/dev}" > /dev/null ;;
    nvme) controller "$2" && nvme set-feature "$there" --feature-id=2 --value="$3" > /dev/null ;;
  esac
}
gone() { # how, where
  case "$1" in file) [ ! -e "$root/$2" ] ;; *) [ ! -e "$dev${2#/dev}" ] ;; esac
}
words=("$@")
for _ in 1 2 3; do
  left=
  for ((n = 0; n < ${#words[@]}; n += 4)); do
    how=${words[n]} place=${words[n + 1]} ours=${words[n + 2]} value=${words[n + 3]}
    [ "$how" != file ] || [ "$now" = "$boot" ] || continue
    gone "$how" "$place" && continue
    get "$how" "$place" || { left="$place can't be read"; continue; }
    [ "$said" != "$value" ] || continue
    [ -z "$ours" ] || [ "$said" = "$ours" ] || continue # somebody else's by now
    message=$(put "$how" "$place" "$value" 2>&1)
    get "$how" "$place"
    [ "$said" = "$value" ] || left="$place is ${said:-unreadable}, not $value${message:+ (${message##*: })}"
  done
  [ -n "$left" ] || exit 0
done
echo "$left" >&2
exit 1
"""
)
# $1 the new record of former values, which is durable before anything is written; then as above.
SET = 'sync -- "$1" && mv -- "$1" "${1%.new}" && sync -- "${1%/*}" || exit 1\nshift\n' + _BRING
# $1 the record. Its own text brings everything back.
PUT_BACK = 'if [ -e "$1" ]; then bash --norc -- "$1" && rm -f -- "$1"; fi'
# $1 the root of sysfs, $2 the record, $3 not empty if somebody else runs the record when we are killed. Holds
# the host's states: a lock on sysfs itself, which no file has to be written for. Otherwise it waits for the
# end of perjoule, and puts back.
GUARD = r"""
exec 8< "$1" && flock -n 8 || { echo busy; exit 1; }
echo held
[ -z "$3" ] || exec sleep infinity
trap '' TERM INT HUP
read -r _
if [ -e "$2" ]; then bash --norc -- "$2" && rm -f -- "$2"; fi
"""


def record(arguments: Sequence[str]) -> str:
    """Return the record of former values: a script that brings them back with `arguments`."""
    return f"set -- {shlex.join(arguments)}\n{_BRING}"
