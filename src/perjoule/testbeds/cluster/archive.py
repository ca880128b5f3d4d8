"""The archive of a folder that comes back from a host: nobody trusts its members, nor that it ends."""

import contextlib
import tarfile
from collections.abc import Generator
from pathlib import Path
from typing import IO

from perjoule.machine import portable
from perjoule.machine.untrusted import UNEXPECTED, words
from perjoule.model.units import MIB, bytes_text

MOST_BYTES = 4096 * MIB  # of an archive: fio's logs of a day are a tenth
MOST_MEMBERS = 10_000
_MOST_TEXT_BYTES = MIB // 16  # of a long name, or of a header's extension
_EXTENSIONS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)


class _Member(tarfile.TarInfo):
    """A member whose header is judged before what follows it is read into memory."""

    def _proc_member(self, tarfile_: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _EXTENSIONS and not 0 <= self.size <= _MOST_TEXT_BYTES:
            raise tarfile.ReadError(f"a name of {bytes_text(self.size)}")
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise tarfile.ReadError("a file with holes")
        return super()._proc_member(tarfile_)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]  # tarfile's hook for subclasses


def files(archive: IO[bytes]) -> Generator[tuple[str, IO[bytes]]]:
    """Yield the files of the archive's own folder: their names, and what they hold.

    Raises tarfile.ReadError: it is not an archive that tar made of a run's folder.
    """
    with contextlib.ExitStack() as stack:
        try:
            tar = stack.enter_context(tarfile.open(fileobj=archive, mode="r:", tarinfo=_Member))
            for number, member in enumerate(tar, start=1):
                if number > MOST_MEMBERS:
                    raise tarfile.ReadError(f"more than {MOST_MEMBERS} files")
                if member.issparse():
                    raise tarfile.ReadError("a file with holes")
                name = member.name.removeprefix("./")
                if not member.isfile() or "/" in name:
                    continue
                if portable.fault(name):  # with which no bundle could be made of the results, for one
                    raise tarfile.ReadError(f"a file called {name[:60]!r}")
                content = tar.extractfile(member)
                assert content is not None
                yield name, content
        except tarfile.TarError:
            raise
        except UNEXPECTED as error:
            raise tarfile.ReadError(words(error)) from None


def write(content: IO[bytes], path: Path) -> None:
    """Write what a file of an archive holds. Raises tarfile.ReadError: the archive ends before; OSError."""
    with path.open("wb") as file:
        while piece := _piece(content):
            file.write(piece)


def _piece(content: IO[bytes]) -> bytes:
    try:
        return content.read(MIB)
    except UNEXPECTED as error:
        raise tarfile.ReadError(words(error)) from None
