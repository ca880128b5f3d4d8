"""What runs leave on this machine, by kind: processes, namespaces, mounts, loops and the rest, without
perjoule's own code.

Other runs may come and go at the same time, so only what is of these runs is counted: what has the path of
their folder or their IDs; processes that have that path in their command or environment, their namespaces,
and all processes in these. Devices, mounts and cgroups without such a mark, outside of these namespaces, look
like those of other runs.
"""

import time
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread

KINDS = ("processes", "namespaces", "mounts", "tmpfs", "loops", "device-mapper", "cgroups", "links", "files")
SPACES = {"net": "net", "mnt": "mnt", "pid": "pid", "pid_for_children": "pid"}  # and their kinds
MOUNTS = Path("/proc/self/mountinfo")
Process = tuple[int, int]  # its number, and when it was started: numbers come again
Space = tuple[str, int]  # its kind, and its number


class Machine:
    """This machine, as far as the runs in a folder have changed it."""

    def __init__(self, place: Path) -> None:
        self.place = place  # all that the runs have lies below it
        self.runs: set[str] = set()  # their IDs
        self.own = _spaces("self")
        self.table = set(map(_mount, _lines(MOUNTS)))
        self.processes: set[Process] = set()  # all that were seen, and so were
        self.spaces: set[Space] = set()
        self._looking = Lock()

    @contextmanager
    def watched(self) -> Generator[None]:
        """Look every half second during the block."""
        over = Event()

        def look() -> None:
            while not over.wait(0.5):
                self.look()

        thread = Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def look(self) -> dict[Process, set[Space]]:
        """Note runs, processes and namespaces that are there now, and return these processes with these
        namespaces.
        """
        with self._looking:
            self.runs |= {path.name.removeprefix("pj-") for path in (self.place / "work").glob("pj-*")}
            there = {
                process: (marked, found - self.own)
                for process, marked, found in _processes(f"{self.place}/".encode())
            }
            self.spaces |= set[Space]().union(*(found for marked, found in there.values() if marked))
            ours = {process for process, (marked, _) in there.items() if marked or process in self.processes}
            shared = set[Space]().union(*(there[process][1] for process in ours)) & self.spaces
            found = {
                process: one & shared
                for process, (_, one) in there.items()
                if process in ours or one & shared
            }
            self.processes |= set(found)
            return found

    def left(self, within_s: float = 0.0) -> list[tuple[str, str]]:
        """Return the kind and the name of all that is there, and still is after this time: what is killed
        ends a bit later.
        """
        until_s = time.monotonic() + within_s
        while (found := self._there()) and time.monotonic() < until_s:
            time.sleep(0.1)
        return found

    def _there(self) -> list[tuple[str, str]]:
        there = self.look()
        found = [("processes", f"{number} {_command(number)[:80]}") for number, _ in there]
        spaces = set[Space]().union(*there.values()) | (self.spaces & set(_held_spaces()))
        found += [("namespaces", f"{kind} {number}") for kind, number in sorted(spaces)]
        lines = _lines(MOUNTS)
        found += [(_kind(line), line) for line in lines if self._marked(line)]
        outside = self.table | set(map(_mount, lines))
        holders = {space: number for (number, _), own in there.items() for space in own if space[0] == "mnt"}
        for number in holders.values():
            lines = _lines(Path(f"/proc/{number}/mountinfo"))
            found += [(_kind(line), f"of {number}: {line}") for line in lines if _mount(line) not in outside]
        loops = {name: file for name, file in _loops() if self._marked(file)}
        found += [("loops", f"{name} {file}") for name, file in loops.items()]
        found += [
            ("device-mapper", name) for name, below in _mapped() if self._marked(name) or below & set(loops)
        ]
        groups = Path("/sys/fs/cgroup").glob("**/perjoule-*")
        found += [
            ("cgroups", str(path)) for path in groups if path.name.removeprefix("perjoule-") in self.runs
        ]
        links = (link for link in Path("/run/perjoule").glob("*") if link.is_symlink())
        found += [("links", str(link)) for link in links if self._marked(str(link.readlink()))]
        return found + [
            ("files", str(path)) for folder in ("work", "tmp") for path in (self.place / folder).glob("*")
        ]

    def _marked(self, text: str) -> bool:
        return any(mark in text for mark in (f"{self.place}/", *self.runs))


def told(counts: Counter[str]) -> str:
    """Say how many of each kind there are."""
    return ", ".join(f"{counts[kind]} {kind}" for kind in (*KINDS, "power settings"))


def _processes(mark: bytes) -> Iterator[tuple[Process, bool, set[Space]]]:
    """Each process, whether the mark is in its command or environment, and its namespaces."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # proc(5), from field 3 on
            state, *fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if state in "ZX":  # it has ended, whoever looks after it
                continue
            begun = int(fields[18])
            marked = mark in (folder / "cmdline").read_bytes() or mark in (folder / "environ").read_bytes()
            yield (int(folder.name), begun), marked, _spaces(folder.name)
        except OSError:  # it has ended
            continue


def _spaces(number: str) -> set[Space]:
    found = set[Space]()
    for name, kind in SPACES.items():
        with suppress(OSError):  # no child has been made yet
            found.add((kind, Path(f"/proc/{number}/ns/{name}").stat().st_ino))
    return found


def _held_spaces() -> Iterator[Space]:
    """Namespaces that a name keeps, as `ip netns add` does, though they may have no process."""
    for line in _lines(MOUNTS):
        if _type(line) == "nsfs":
            kind, _, number = line.split()[3].partition(":")
            yield kind, int(number.strip("[]"))


def _command(number: int) -> str:
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []


def _mount(line: str) -> tuple[str, ...]:
    """Return what distinguishes a mount from others, of a line of mountinfo, without its numbers."""
    return (*line.split()[3:5], line.partition(" - ")[2])


def _type(line: str) -> str:
    """Return the file system of a line of mountinfo."""
    return line.partition(" - ")[2].split()[0]


def _kind(line: str) -> str:
    return "tmpfs" if _type(line) == "tmpfs" else "mounts"


def _loops() -> Iterator[tuple[str, str]]:
    """Each loop device that has a file, and the file."""
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        yield path.parts[3], "".join(_lines(path))


def _mapped() -> Iterator[tuple[str, set[str]]]:
    """Each device of device-mapper by name, and the devices below it."""
    for path in Path("/sys/block").glob("dm-*"):
        yield "".join(_lines(path / "dm" / "name")), {one.name for one in (path / "slaves").glob("*")}
