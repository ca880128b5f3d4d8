"""Raw devices of a host: it reports everything about one in a single answer, which is judged here by the rules for local ones.

A program on the host holds the device open exclusively (O_EXCL) while it is ours, and ends with all that bears our mark.
"""

import contextlib
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perjoule.drivers.protocols import Host, Process
from perjoule.machine import removal
from perjoule.model.errors import MachineError, WorkloadError
from perjoule.testbeds import _mounted, _process
from perjoule.testbeds._device.view import BTRFS_COUNT, COLUMNS, Held, View
from perjoule.testbeds.cluster.keeper import Keeper
from perjoule.testbeds.cluster.scripts import BASH

_SHORT_S = 30.0
_SEPARATOR = "\0"
# $1 the link to a device, $2 the columns of lsblk, $3 what counts the devices of a btrfs. Prints KIND, NAME and TEXT, each with a
# NUL at its end. What can't be read is left out or empty, and whoever judges misses it; "end" comes last.
_REPORT = r"""
shopt -s nullglob
export LC_ALL=C PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
for tool in find lsblk od readlink stat wipefs xargs; do
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
for backing in /sys/block/loop*/loop/backing_file; do file "$backing"; done
file /proc/swaps
file /proc/self/mountinfo
{
  while read -r words; do
    read -r _ source _ <<< "${words##* - }"
    printf '%b\n' "$source"
  done < /proc/self/mountinfo
  while read -r source _; do printf '%b\n' "$source"; done < /proc/swaps
} | sort -u | while IFS= read -r source; do
  case "$source" in /*) say real "$source" "$(readlink -m -- "$source")" ;; esac
done
[ "$EUID" != 0 ] || say root "" ""
find -L /proc/[0-9]*/fd -mindepth 1 -maxdepth 1 -type b -print0 2> /dev/null |
  xargs -0 -r stat -L -c '%t:%T %n' 2> /dev/null | while read -r number file; do
    pid=${file#/proc/} pid=${pid%%/*}
    { read -r name < "/proc/$pid/comm"; } 2> /dev/null && say opener "$name ($pid)" "$number"
  done
say end "" ""
"""
# Its argument is a device. Perl, because it is part of every Debian, and no tool of util-linux just holds a device.
_HOLD = r"""
use Fcntl;
$| = 1;
sysopen(my $device, $ARGV[0], O_RDWR | O_EXCL) or do { print "busy $!\n"; exit 1 };
$SIG{USR1} = sub { ioctl($device, 0x125F, 0) };
$SIG{TERM} = sub { exit 0 };
printf "held %d %x\n", $$, (stat $device)[6];
sleep 3600 while 1;
"""


@dataclass(frozen=True)
class Report(View):
    """What a host has said of a device, at one moment."""

    links_to: Mapping[str, str] = field(default_factory=dict[str, str])
    numbers: Mapping[str, str] = field(default_factory=dict[str, str])  # of devices, by their nodes
    reals: Mapping[str, str] = field(default_factory=dict[str, str])
    opened: Sequence[tuple[str, str]] = ()  # by whom ("fio (4711)"), and the device's number
    by_root: bool = False

    def node(self, link: Path) -> Path | None:
        """Return the device to which the link led."""
        return Path(self.links_to[str(link)]) if str(link) in self.links_to else None

    def number(self, node: Path) -> str:
        """Return its number; "" if it has become none."""
        return self.numbers.get(str(node), "")

    def real(self, path: str) -> str:
        """Return a path without the host's links."""
        return self.reals.get(path, path)

    def openers(self, numbers: set[str]) -> Iterator[str]:
        """Name who had it open. Raises PermissionError."""
        if not self.by_root:
            raise PermissionError("only root can examine all processes")
        yield from (who for who, number in self.opened if number in numbers)


def report(said: str, folder: Path, *, links: Path = Path("/dev/disk"), but: Sequence[str] = ()) -> Report:
    """Parse a host's report into a view; its files go below `folder`, and `but` are pids of ours. Raises MachineError."""
    words = said.split(_SEPARATOR)
    found = list(zip(words[::3], words[1::3], words[2::3], strict=False))
    if not found or found[-1][0] != "end":
        raise MachineError("its report about a device is cut short", next="nothing is touched before it can be read")
    of: dict[str, dict[str, str]] = {
        kind: {n: t for k, n, t in found if k == kind} for kind in ("link", "number", "real", "tool")
    }
    for kind, name, text in found:
        here = folder / name.lstrip("/")
        if kind in ("file", "folder") and ".." not in here.parts:
            (here.parent if kind == "file" else here).mkdir(parents=True, exist_ok=True)
            if kind == "file":
                here.write_text(text)

    def ask(argv: Sequence[str]) -> str:
        asked = sorted(argv)
        if text := next((text for words, text in of["tool"].items() if sorted(words.split(" ")) == asked), ""):
            return text
        raise ValueError(f"{argv[0]} failed, or the device has changed meanwhile")

    return Report(
        links=links,
        proc=folder / "proc",
        sys=folder / "sys",
        ask=ask,
        links_to=of["link"],
        numbers={node: _decimal(number) for node, number in of["number"].items()},
        reals=of["real"],
        opened=[(n, _decimal(t)) for k, n, t in found if k == "opener" and not n.endswith(tuple(f"({pid})" for pid in but))],
        by_root=any(kind == "root" for kind, *_ in found),
    )


@dataclass(frozen=True)
class There(View):
    """The devices of a host, reached by a function that runs a command there and returns its output."""

    holders: list[str] = field(default_factory=list[str])  # pids of ours that hold devices
    host: Host | None = None  # None: only to look, before the host is ours
    log: Path = Path()

    @contextlib.contextmanager
    def now(self, device: str) -> Generator[View]:
        """Have the host report on a device. Raises PerjouleError."""
        said = self.ask([*BASH, _REPORT, "perjoule-report", device, COLUMNS, BTRFS_COUNT])
        with removal.scratch("perjoule-device-") as folder:
            yield report(said, folder, links=self.links, but=self.holders)

    def hold(self, node: Path) -> Held:
        """Hold it open there. Raises OSError: somebody uses it; MachineError: the host has no Perl."""
        assert self.host is not None
        held = HeldThere(self.host, node, self.log)
        self.holders.append(held.pid)
        return held


class HeldThere(Held):
    """A device that a program on its host holds open."""

    def __init__(self, host: Host, node: Path, log: Path) -> None:
        """Start the program. Raises OSError, MachineError."""
        self._host, self.pid, self._number = host, "", ""
        removal.remove_file(log)
        self._program: Process = host.spawn(["perl", "-e", _HOLD, node], log=log)
        until_s = time.monotonic() + _SHORT_S
        while "\n" not in self._program.output() and self._program.returncode is None and time.monotonic() < until_s:
            time.sleep(0.02)
        word, _, rest = self._program.output().strip().partition(" ")
        if word != "held":
            self._program.stop()
            if word == "busy":
                raise OSError(0, rest)
            said = self._program.output().strip().removeprefix("perjoule: ") or "no answer"
            raise MachineError(f"{node} can't be held ({said})", where=host.name, next="apt install perl-base on it")
        self.pid, device = rest.split()
        packed = int(device, 16)  # as by glibc, which is the same on all Linux
        self._number = f"{os.major(packed)}:{os.minor(packed)}"

    def number(self) -> str:
        """Return the number of the device that is open; "" if the program has ended."""
        return self._number if self._program.returncode is None else ""

    def reread(self) -> None:
        """Have the program ask the kernel."""
        with contextlib.suppress(WorkloadError):
            self._host.run(["kill", "-USR1", self.pid], timeout_s=_SHORT_S)

    def release(self) -> None:
        """End the program."""
        self._program.stop()


def beforehand(keeper: Keeper) -> View:
    """Return a view of a host on which nothing is ours yet."""

    def ask(argv: Sequence[str]) -> str:
        code, out, err = _process.captured(keeper.command(argv), timeout_s=_SHORT_S)
        if code != 0:  # None: it took too long
            words = (err.decode(errors="replace").strip() or f"{argv[0]} ended with {code}").splitlines()[-1]
            raise MachineError(f"its devices can't be examined ({words})", where=keeper.login.name)
        return out.decode(errors="replace")

    return There(ask=ask)


def require_mounted(name: str, tool: Callable[..., str], place: Path, source: str, kind: str) -> None:
    """Check what a host has mounted on a place, and unmount what it should not be. Raises MachineError.

    Args:
        name: of the host.
        tool: runs a command there and returns its output.
        place, source, kind: see `_mounted.require_mounted`.
    """

    def number(device: str) -> str:
        return _decimal(tool("stat", "-L", "--format=%t:%T", device))

    try:
        mountinfo, real = tool("cat", "/proc/self/mountinfo"), tool("readlink", "-f", place)
        _mounted.require_mounted(mountinfo, real, source, kind, number)
    except MachineError as error:
        with contextlib.suppress(MachineError):
            tool("umount", place)
        raise MachineError(error.what, where=f"{name}: {error.where}", next=error.next) from None


def _decimal(number: str) -> str:
    """Return "8:16" of "8:10", as `stat` writes it."""
    return ":".join(str(int(word or "0", 16)) for word in number.split(":"))
