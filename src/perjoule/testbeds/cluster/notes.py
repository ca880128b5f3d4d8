"""Notes on this machine of the hosts that a run uses, for `perjoule down` after a run was killed.

They only say where to look.
"""

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Collection, Generator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from perjoule.machine import locks, removal
from perjoule.machine.each import each
from perjoule.machine.untrusted import UNEXPECTED, json_from
from perjoule.model.errors import MachineError, PerjouleError
from perjoule.testbeds.cluster import logs
from perjoule.testbeds.cluster.keeping.keeper import Keeper
from perjoule.testbeds.cluster.openssh import Ssh, require_configuration


def _folder() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "perjoule" / "cluster"


def _opened(path: Path) -> int:
    """Open a note, with its lock.

    Raises OSError: it is somebody else's, who could have it name programs that lead to a host.
    """
    descriptor = locks.opened(path)
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise PermissionError(f"{path} belongs to another user")
    return descriptor


@contextlib.contextmanager
def noted(run: str, hosts: Sequence[tuple[Ssh, str]]) -> Generator[Path]:
    """Write a note, locked during the block, which removes it if nothing is left.

    Raises MachineError: it can't be written.
    """
    path = _folder() / f"{run}.json"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.chmod(0o700)  # an older perjoule made it for all to read, and so to lock
        note = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w")
    except OSError as error:
        raise MachineError(
            f"can't keep a note ({error.strerror})", where=str(path), next="set XDG_STATE_HOME"
        ) from None
    with note:
        fcntl.flock(note, fcntl.LOCK_EX)
        json.dump([{**asdict(login), "work": work} for login, work in hosts], note)
        note.flush()
        yield path


def remove(note: Path) -> None:
    """Remove a note, once nothing is left on its hosts."""
    removal.remove_file(note)


def dead() -> dict[str, str]:
    """Return the notes of dead runs, by run."""
    texts: dict[str, str] = {}
    for path in sorted(_folder().glob("*.json")):
        with contextlib.suppress(OSError), os.fdopen(_opened(path)) as note:
            if locks.taken(note.fileno()):
                texts[path.stem] = note.read()
    return texts


def superseded(notes: Mapping[str, str], held_hosts: Collection[tuple[Ssh, str]]) -> None:
    """Remove notes of dead runs whose hosts are all held now: their keepers have removed what was left."""
    for run, text in notes.items():
        with contextlib.suppress(*UNEXPECTED):
            hosts = _noted(text)
            if all(host in held_hosts for host in hosts):
                for login, work in hosts:
                    logs.remove(Path(work, "cluster", f"{run}-{login.name}"))
                remove(_folder() / f"{run}.json")


def _noted(text: str) -> list[tuple[Ssh, str]]:
    """Parse a note."""
    return [(Ssh(**login), work) for login in json_from(text) if (work := login.pop("work"))]


def clean() -> tuple[list[str], list[str]]:
    """Make the hosts of dead runs remove what is left there; return what was removed, and why hosts could
    not be cleaned.
    """
    removed: list[str] = []
    failures: list[str] = []
    for path in sorted(_folder().glob("*.json")):
        with contextlib.suppress(OSError), os.fdopen(_opened(path)) as note:
            if locks.taken(note.fileno()):  # else its perjoule lives
                cleaned = _clean(path, note.read())
                removed += [f"{removal_text} on {name}" for name, some, _ in cleaned for removal_text in some]
                failed = [failure for *_, failure in cleaned if failure]
                failures += failed
                if not failed:
                    removal.remove_file(path)
    return removed, failures


def _clean(path: Path, text: str) -> list[tuple[str, list[str], str]]:
    """Start a keeper on each host of a note: its first action is to remove what dead runs left.

    Return each host's name, what it removed, and "" or why it could not remove all.
    """
    try:
        hosts = _noted(text)
    except UNEXPECTED:  # it was killed before it had written it, and before it connected
        return []

    def clean_one(host: tuple[Ssh, str]) -> tuple[str, list[str], str]:
        login, work = host
        try:
            if login.config:  # others may have put theirs there since
                require_configuration(login.config)
            keeper = Keeper(login, work)
            keeper.keep(secrets.token_hex(4), [path.stem])
        except PerjouleError as error:
            return login.name, [], f"{error}; if it is gone for good, delete {path}"
        if not keeper.close():
            return login.name, keeper.removed, f"{login.name}: something is still busy"
        logs.remove(Path(work, "cluster", f"{path.stem}-{login.name}"))
        return (
            login.name,
            keeper.removed,
            f"{login.name}: {' and '.join(keeper.left)} can't be removed" if keeper.left else "",
        )

    return each(hosts, clean_one)
