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
