"""The folder of all runs on a host, for bash: entered and judged from inside, locked, and removed again.

Others watch while root works there. So nothing depends on a look at a name: the script goes into the folder,
has the kernel say where it is, and looks at it and at all that is above it. What passes can't be led
elsewhere by anybody but its owner and root.
"""

from perjoule.machine.scripts import LENT

# `guarded` and `enter` leave in `why` what is wrong, then "; ", then what to do.
FOLDERS = (
    LENT
    + r"""
guarded() { # whether . is $1, and nobody but us and root can write to it, rename it, or rename what is above it
  local place=$1 above=. pairs=() owner mode file named
  until pairs+=("$above" "$place"); [ "$place" = / ]; do above+=/.. place=${place%/*} place=${place:-/}; done
  place=$1
  while read -r owner mode file && read -r _ _ named; do
    why="$place is a link, or . is not there; set work to a path without links (see realpath)" # a link has a number of its own
    [ "$file" = "$named" ] || return 1
    why="$place belongs to another user (uid $owner); set work to a folder that only you and root can write to"
    [ "$owner" = 0 ] || [ "$owner" = "$EUID" ] || return 1
    why="users other than its owner can write to $place, and it is not sticky; set work to another folder, or chmod go-w $place"
    ((16#$mode & 8#1000 || !(16#$mode & 8#22))) || return 1
    place=${place%/*} place=${place:-/} pairs=("${pairs[@]:2}")
  done < <(stat -c '%u %f %d:%i' -- "${pairs[@]}")
  why="what is above $1 can't be examined; set work"
  [ ${#pairs[@]} = 0 ]
}
ours() { # whether . is the folder of runs $1: guarded, ours alone, and all in it too
  local owner mode links name
  guarded "$1" || return 1
  why="$1 belongs to another user; set work to another folder"
  [ -O . ] || return 1
  while read -r owner mode links name; do
    case "$name" in .) name=$1 links=1 ;; *) name=$1/${name#./} ;; esac
    why="$name is a link, or no file; find out who made it, and remove it"
    (((16#$mode & 8#170000) == 8#100000 || (16#$mode & 8#170000) == 8#40000)) || return 1
    why="$name belongs to another user (uid $owner); find out why, and remove it, or set work to another folder"
    [ "$owner" = "$EUID" ] || return 1
    why="users other than its owner can write to $name; find out whether somebody did, then chmod go-w $name"
    ((!(16#$mode & 8#22))) || return 1
    why="$name has a second name; find out who gave it that, and remove it"
    (((16#$mode & 8#170000) == 8#40000 || links == 1)) || return 1
  done < <(shopt -s nullglob dotglob; stat -c '%u %f %h %n' -- . ./*)
}
approach() { # goes to $1, or to what is there of the way to it, and judges it; `missing` is the rest of the way
  local above=$1
  missing=()
  why="$above is what another user has mounted; set work to another folder"
  ! lent "$above" || return 1
  until [ -e "$above" ] || [ -L "$above" ]; do missing=("${above##*/}" "${missing[@]}") above=${above%/*} above=${above:-/}; done
  why="$above can't be entered; set work" # nor can root enter by another user's link, where the kernel protects links
  [ ! -L "$above" ] || why="$above is a link; set work to a path without links (see realpath)"
  cd -P -- "$above" 2> /dev/null || return 1
  if [ ${#missing[@]} = 0 ]; then ours "$above"; else guarded "$above"; fi
}
enter() { # goes to $1, and makes it if it is missing, with what is above it
  local missing name
  approach "$1" || return 1
  for name in "${missing[@]}"; do
    why="$1 can't be made; set work"
    { mkdir -m 711 -- "$name" || [ -d "$name" ]; } 2> /dev/null && cd -P -- "$name" 2> /dev/null || return 1
  done
  [ ${#missing[@]} = 0 ] || ours "$1"
}
"""
)

# `machine` is a kernel since its start and a network namespace: one for all names of a machine, another for a
# virtual host or a container with a network of its own. A host's name can't begin with "@".
LOCKS = r"""
all() ( shopt -s nullglob dotglob; echo * ) # that is in .
claimed() { # $1 the host's name, $2 the run: whether both locks are ours, 9 by name and 8 by machine
  local old
  enter "$root" || { sleep 0.1; enter "$root"; } || refuse "$why" # another keeper may have removed it under our feet
  # Who holds the folder's lock makes, removes and takes locks, in a moment. Others can't open the folder, so they can't hold it.
  entered=1
  chmod 711 . && exec 6< . && flock -w 20 6 || refuse "$root can't be locked; set work"
  [ . -ef "$root" ] || { exec 6<&-; return 1; } # removed meanwhile
  for _ in {1..20}; do [ -f perjoule-made-this ] || [ -z "$(all)" ] && break; sleep 0.05; done
  if [ ! -f perjoule-made-this ]; then
    [ -z "$(all)" ] || refuse "$root is not ours; set work"
    echo "folders of runs by perjoule" > perjoule-made-this || refuse "$root can't be written to; set work"
  fi
  { [ -e "$1.lock" ] || (umask 077; : >> "$1.lock"); } && exec 9<> "$1.lock" &&
    { [ -e "$machine.lock" ] || (umask 077; : >> "$machine.lock"); } && exec 8<> "$machine.lock" ||
    refuse "$root can't be written to; set work"
  if flock -n 9; then
    if flock -n 8; then
      holders=
    else
      read -r holder kernel holders < /proc/self/fd/8
      flock -n -s 8 && [ "$holder" = "$2" ]
    fi && {
      for old in "${machine%%.*}".*.lock; do # of an earlier start
        [ ! -f "$old" ] || [ "$old" = "$machine.lock" ] || (exec 5<> "$old" && flock -n 5 && rm -f -- "$old")
      done
      echo "$2 $machine $holders $$" > /proc/self/fd/8 && echo "$2 $machine $$" > /proc/self/fd/9 ||
        refuse "$root can't be written to; set work"
      flock -s 8 # other keepers of this run may be on this machine
      exec 6<&-
      return 0
    }
  else
    read -r holder kernel holders < /proc/self/fd/9
  fi
  exec 6<&- 8<&- 9<&-
  return 1
} 2> /dev/null
given_back() { # removes the locks of the host $1, and the folder of runs if nothing else is in it
  local lock
  cd -P -- "$root" && exec 6< . && flock -w 20 6 || return
  exec 8<&- 9<&- # ours, as whoever else wants one has to have the folder's
  for lock in "$1.lock" "$machine.lock"; do
    [ ! -f "$lock" ] || (exec 5<> "$lock" && flock -n 5 && rm -f -- "$lock")
  done
  case "$(all)" in perjoule-made-this) rm -f perjoule-made-this ;; "") ;; *) return ;; esac
  rmdir -- "$root" || echo "folders of runs by perjoule" > perjoule-made-this # of a host that shares this folder
} 2> /dev/null
"""
