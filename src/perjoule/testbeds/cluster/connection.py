"""The connection to a host: programs under our mark, and archives of folders."""

import re
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from perjoule.machine.scripts import BASH
from perjoule.model.errors import WorkloadError
from perjoule.model.units import bytes_text
from perjoule.testbeds import _process
from perjoule.testbeds.cluster.archive import MOST_BYTES as MOST_ARCHIVE_BYTES
from perjoule.testbeds.cluster.keeping.keeper import Keeper
from perjoule.testbeds.cluster.scripts import LAUNCH, MOST_BYTES
from perjoule.testbeds.cluster.verbs import verb

_LONG_S = 600.0
_PIECE_BYTES = MOST_BYTES // 2
_SIZE = re.compile(r"\d{1,18}", re.ASCII)


class KeeperLine:
    """The connection of a keeper, for one run's folder on the host; `together` are the keepers of all
    hosts of the run.
    """

    def __init__(self, keeper: Keeper, folder: Path, together: Sequence[Keeper] = ()) -> None:
        self.keeper, self.folder, self._together = keeper, folder, together
        self._mark = folder.name
        self.brought: set[Path] = set()  # files of this machine that came from the host

    def require_all(self) -> None:
        """Require the connections to all hosts of the run. Raises TransientError: one was lost."""
        for keeper in self._together:
            if not keeper.alive:
                raise keeper.lost()

    def lead(self, number: int, env: Mapping[str, str] | None) -> _process.Lead:
        """Return the prefix with which the host starts a long-running program under our mark."""
        marks = [f"PERJOULE_HOST={self._mark}", f"PERJOULE_PROGRAM={self._mark}/{number}"]
        launch = [
            "env",
            *marks,
            *BASH,
            LAUNCH,
            "perjoule-program",
            str(self.folder / "programs" / str(number)),
        ]
        if self.keeper.probe.helper:  # which hears the words: `input_of`
            return lambda _: self.keeper.command((), verb=self.keeper.verb("launch"))
        return lambda arguments: self.keeper.command([*launch, *with_env(env), *arguments])

    def input_of(
        self, number: int, argv: Sequence[str], env: Mapping[str, str] | None, text: str | None
    ) -> str | None:
        """Return the input of a long-running program; a helper hears first what to run, so sudoers can
        name its verb.
        """
        if not self.keeper.probe.helper:
            return text
        arguments = [str(number), *with_env(env), *argv]
        return "".join(
            f"{argument}\0" for argument in (self._mark.partition("-")[0], str(len(arguments)), *arguments)
        ) + (text or "")

    def raw(self, argv: Sequence[str], content: bytes = b"") -> bytes:
        """Run one of our commands on the host; return its output.

        Raises WorkloadError with its message, TransientError.
        """
        answer, late = self.keeper.run(argv, content, timeout_s=_LONG_S)
        if late or answer.code != 0:
            how = "did not end in time" if late else f"ended with exit code {answer.code} and no message"
            message_lines = answer.err.decode(errors="replace").strip().splitlines() or [f"{argv[0]} {how}"]
            raise WorkloadError(message_lines[-1].removeprefix("perjoule: "), where=self.keeper.login.name)
        if len(answer.out) >= MOST_BYTES:
            raise WorkloadError(f"more than {bytes_text(MOST_BYTES)}", where=self.keeper.login.name)
        return answer.out

    def send(self, tar: bytes, folder: Path) -> None:
        """Make a folder with the content of an archive."""
        self.raw(verb("perjoule-send", str(folder)), tar)

    def fetch(self, folder: Path, archive: IO[bytes]) -> None:
        """Write an archive of a folder, from as many answers as it takes.

        Raises tarfile.ReadError: it did not come whole.
        """
        piece = str(_PIECE_BYTES)
        first, _, came = self.raw(verb("perjoule-fetch", str(folder), piece)).partition(b"\n")
        if not (size := _SIZE.fullmatch(first.decode(errors="replace"))):
            raise tarfile.ReadError(f"a size of {first[:40].decode(errors='replace')}")
        if (size_bytes := int(size[0])) > MOST_ARCHIVE_BYTES:
            raise tarfile.ReadError(f"{bytes_text(size_bytes)}, more than {bytes_text(MOST_ARCHIVE_BYTES)}")
        came_bytes = archive.write(came)
        while came and came_bytes < size_bytes:
            came = self.raw(verb("perjoule-piece", str(folder), piece, str(came_bytes + 1)))
            came_bytes += archive.write(came)
        if came_bytes != size_bytes:
            raise tarfile.ReadError(f"{came_bytes} of {size_bytes} bytes")
        archive.seek(0)

    def remove(self, folder: Path) -> None:
        """Remove a folder that was fetched."""
        self.raw(verb("perjoule-remove", str(folder)))


def with_env(env: Mapping[str, str] | None) -> list[str]:
    """Return the prefix of a command that has these variables, too."""
    return ["env", *(f"{name}={value}" for name, value in env.items())] if env else []
