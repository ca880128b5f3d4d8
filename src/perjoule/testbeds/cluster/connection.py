"""The connection to a host: programs under our mark, and archives of folders."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from perjoule.model.errors import WorkloadError
from perjoule.testbeds import _process
from perjoule.testbeds.cluster.keeper import Keeper
from perjoule.testbeds.cluster.scripts import BASH, LAUNCH

_LONG_S = 600.0


class Line:
    """The connection of a keeper, for one run's folder on the host."""

    def __init__(self, keeper: Keeper, folder: Path) -> None:
        self.keeper, self.folder = keeper, folder
        self._mark = folder.name

    def lead(self, number: int, env: Mapping[str, str] | None) -> _process.Lead:
        """Return the prefix with which the host starts a long-running program under our mark."""
        marks = [f"PERJOULE_HOST={self._mark}", f"PERJOULE_PROGRAM={self._mark}/{number}"]
        launch = ["env", *marks, *BASH, LAUNCH, "perjoule-program", str(self.folder / "programs" / str(number))]
        return lambda words: self.keeper.command([*launch, *with_env(env), *words])

    def raw(self, argv: Sequence[str], content: bytes = b"") -> bytes:
        """Run one of our commands on the host; return its output. Raises WorkloadError with its message, TransientError."""
        answer, late = self.keeper.run(argv, content, timeout_s=_LONG_S)
        if late or answer.code != 0:
            how = "did not end in time" if late else f"ended with exit code {answer.code} and no message"
            words = answer.err.decode(errors="replace").strip().splitlines() or [f"{argv[0]} {how}"]
            raise WorkloadError(words[-1].removeprefix("perjoule: "), where=self.keeper.login.name)
        return answer.out

    def send(self, tar: bytes, folder: Path) -> None:
        """Make a folder with the content of an archive."""
        self.raw([*BASH, 'mkdir -m 755 "$1" && tar -x -C "$1"', "perjoule-send", str(folder)], tar)

    def fetch(self, folder: Path) -> bytes:
        """Return an archive of a folder, and remove the folder."""
        return self.raw([*BASH, 'tar -c -C "$1" . && rm -rf -- "$1"', "perjoule-fetch", str(folder)])


def with_env(env: Mapping[str, str] | None) -> list[str]:
    """Return the prefix of a command that has these variables, too."""
    return ["env", *(f"{name}={value}" for name, value in env.items())] if env else []
