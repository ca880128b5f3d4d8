"""Scripts that loads and trials have a host run, for bash.

An installed helper knows them by their text and name.
"""

BASH = ("bash", "--norc", "-c")  # which would read ~/.bashrc once more, as a child of sshd
# Its words are a command. Prints the host's time (UTC, in s) before and after it.
STAMPED = 'echo "${EPOCHREALTIME/,/.}"; "$@"; code=$?; echo "${EPOCHREALTIME/,/.}"; exit $code'
# $1 a gate. Waits a second for who waits there, at a pipe that nobody writes to: that costs the host no
# process.
LOOK = 'exec 3<> <(:); for _ in {1..50}; do [ -p "$1" ] && exit 0; read -r -t 0.02 <&3; done; exit 1'
# $1 a folder, $2 a pattern. Removes the files that it names.
REMOVE_OLD = """
cd -- "$1" && ls -U > /dev/null || exit
for old in $2; do
    if [ -f "$old" ] && [ ! -L "$old" ]; then rm -f -- "$old" || exit; fi
done
"""
# Whether another user, but for those in $lenders (uid), has mounted $1, or what is above it: by FUSE they say whose all is
# in it.
LENT = r"""
lent() {
  local mounts mount place
  mapfile -t mounts < /proc/self/mountinfo
  for mount in "${mounts[@]}"; do
    [[ ,${mount##* }, =~ ,user_id=([0-9]+), ]] && [[ " 0 $EUID $lenders " != *" ${BASH_REMATCH[1]} "* ]] || continue
    read -r _ _ _ _ place _ <<< "$mount"
    printf -v place %b "${place//\\/\\0}" # three digits are an escape, and a fourth one is none of it
    case "$1/" in "$place"/*) return 0 ;; esac
  done
  return 1
}
"""
# `way` prints owner, mode (hexadecimal) and path of all that an absolute path leads through: folders, links, and what
# those lead through. Whoever may change one of these may lead the path elsewhere.
WAY = (
    LENT
    + r"""
way() {
  local ahead=$1/ at= part target links_count=0
  stat -c '%u %f /' / || return
  while ahead=${ahead#"${ahead%%[!/]*}"} && [ -n "$ahead" ]; do
    part=${ahead%%/*} ahead=${ahead#"${ahead%%/*}"}
    case "$part" in
      .) continue ;;
      ..) at=${at%/*}; continue ;;
      *[[:cntrl:]]*) echo "$at has a folder with a control character in its name" >&2; return 1 ;;
    esac
    ! lent "$at/$part" || { echo "$at/$part is what another user has mounted" >&2; return 1; }
    stat -c '%u %f %n' -- "$at/$part" || return
    if [ -L "$at/$part" ]; then
      ((++links_count <= 40)) || { echo "$1 has too many links" >&2; return 1; } # as many as the kernel follows
      target=$(readlink -- "$at/$part") || return
      [[ $target != /* ]] || at=
      ahead=$target$ahead
    else
      at=$at/$part
    fi
  done
}
"""
)
# $1 an absolute path, $2 "always", or nothing: only as root. Names what on its way another user could change. Whoever
# has called us by sudo is no other user.
GUARDED = (
    WAY
    + r"""
[ "$EUID" = 0 ] || [ "$2" = always ] || exit 0
lenders=$SUDO_UID
steps=$(way "$1") || exit
while read -r owner mode place; do
  mode=$((16#$mode)) why=
  [ "$owner" = 0 ] || [ "$owner" = "$EUID" ] || [ "$owner" = "$SUDO_UID" ] || why="belongs to another user (uid $owner)"
  if (((mode & 8#22) && (mode & 8#170000) != 8#120000 && (mode & 8#171000) != 8#41000)); then
    why="can be written to by other users, and is not sticky"
  fi
  [ -z "$why" ] || { echo "$place $why" >&2; exit 1; }
done <<< "$steps"
"""
)
