"""Mounts an NFS export through FUSE and libnfs, where the kernel has no NFS client:
https://github.com/sahlberg/libnfs

A program of its own, without imports of perjoule: `python -P mount.py SERVER EXPORT FOLDER`, as root, until
it is unmounted. It speaks version 3 over TCP, asynchronous as the kernel's client: a write returns when the
server has it, and fsync and close send a COMMIT. All requests are root's. A few connections serve all threads
of FUSE, because one of libnfs serves one thread. A server that is gone is an I/O error, not a wait.
"""

import ctypes
import errno
import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager
from queue import LifoQueue
from typing import Any

os.environ.setdefault("FUSE_LIBRARY_NAME", "fuse3")  # of version 2, a request is at most 128 KiB

from mfusepy import FUSE, Operations

# of Debian 12 and 13; later ones take arguments in another order
LIBRARIES = ("libnfs.so.13", "libnfs.so.14")
CONNECTIONS_COUNT = 4
TIMEOUT_MS = 60_000
_STAT = (
    "st_dev",
    "st_ino",
    "st_mode",
    "st_nlink",
    "st_uid",
    "st_gid",
    "st_rdev",
    "st_size",
    "st_blksize",
    "st_blocks",
)
_TIMES = ("st_atime", "st_mtime", "st_ctime")  # seconds follow the above, then nanoseconds
_STATVFS = ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree", "f_favail")
_P, _S, _I, _N, _V = (
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_int,
    ctypes.c_uint64,
    ctypes.POINTER(ctypes.c_void_p),
)
_CALLS: dict[str, tuple[Any, ...]] = {  # arguments after the context
    "nfs_mount": (_S, _S),
    "nfs_stat64": (_S, _P),
    "nfs_lstat64": (_S, _P),
    "nfs_fstat64": (_P, _P),
    "nfs_statvfs64": (_S, _P),
    "nfs_open": (_S, _I, _V),
    "nfs_create": (_S, _I, _I, _V),
    "nfs_close": (_P,),
    "nfs_pread": (_P, _N, _N, _P),
    "nfs_pwrite": (_P, _N, _N, _P),
    "nfs_fsync": (_P,),
    "nfs_truncate": (_S, _N),
    "nfs_ftruncate": (_P, _N),
    "nfs_mkdir2": (_S, _I),
    "nfs_rmdir": (_S,),
    "nfs_unlink": (_S,),
    "nfs_rename": (_S, _S),
    "nfs_link": (_S, _S),
    "nfs_symlink": (_S, _S),
    "nfs_readlink": (_S, _P, _I),
    "nfs_chmod": (_S, _I),
    "nfs_chown": (_S, _I, _I),
    "nfs_utimes": (_S, _P),
    "nfs_opendir": (_S, _V),
}


class _Entry(ctypes.Structure):
    """The beginning of an entry of a folder."""


_Entry._fields_ = [
    ("next", ctypes.POINTER(_Entry)),
    ("name", ctypes.c_char_p),
    ("inode", ctypes.c_uint64),
    ("type", ctypes.c_uint32),
    ("mode", ctypes.c_uint32),
]
# Of an entry, by the number of its type in NFS version 3. Without it, `find` asks for each, and fails if one
# is gone by then.
_TYPES = (
    0,
    stat.S_IFREG,
    stat.S_IFDIR,
    stat.S_IFBLK,
    stat.S_IFCHR,
    stat.S_IFLNK,
    stat.S_IFSOCK,
    stat.S_IFIFO,
)


class Export:
    """An NFS export over some connections. Its calls raise OSError with the server's reason."""

    def __init__(self, server: str, export: str) -> None:
        self._library = _library()
        self._free: LifoQueue[int] = LifoQueue()
        for _ in range(CONNECTIONS_COUNT):
            connection = self._library.nfs_init_context()
            self._library.nfs_set_version(connection, 3)
            self._library.nfs_set_timeout(connection, TIMEOUT_MS)
            self._library.nfs_set_autoreconnect(connection, 0)
            self._free.put(connection)
            if self._library.nfs_mount(connection, server.encode(), export.encode()) < 0:
                raise OSError(errno.EIO, self._library.nfs_get_error(connection).decode(errors="replace"))

    @contextmanager
    def connection(self) -> Generator[int]:
        """Lend a free connection."""
        lent = self._free.get()
        try:
            yield lent
        finally:
            self._free.put(lent)

    def call(self, name: str, *arguments: Any) -> int:
        """Call a function of libnfs, with texts as paths, and return its result."""
        encoded = [os.fsencode(argument) if isinstance(argument, str) else argument for argument in arguments]
        with self.connection() as connection:
            result: int = getattr(self._library, name)(connection, *encoded)
        if result < 0:
            raise OSError(-result, os.strerror(-result))
        return result

    def opened(self, name: str, path: str, *arguments: Any) -> int:
        """Call a function that opens something and return its handle."""
        handle = ctypes.c_void_p()
        self.call(name, path, *arguments, ctypes.byref(handle))
        return handle.value or 0

    def listed(self, path: str) -> list[tuple[str, int, int]]:
        """List a folder: names and modes, with 0 for an offset that there is not."""
        entries: list[tuple[str, int, int]] = []
        with self.connection() as connection:
            handle = ctypes.c_void_p()
            if (result := self._library.nfs_opendir(connection, os.fsencode(path), ctypes.byref(handle))) < 0:
                raise OSError(-result, os.strerror(-result))
            while entry := self._library.nfs_readdir(connection, handle):
                kind = int(entry.contents.type)
                mode = (_TYPES[kind] if kind < len(_TYPES) else 0) | stat.S_IMODE(entry.contents.mode)
                entries.append((os.fsdecode(entry.contents.name), mode, 0))
            self._library.nfs_closedir(connection, handle)
        return entries


def _library() -> Any:
    for name in LIBRARIES:
        try:
            library = ctypes.CDLL(name)
            break
        except OSError:
            continue
    else:
        raise SystemExit(f"none of {', '.join(LIBRARIES)} is installed")
    library.nfs_init_context.restype = _P
    library.nfs_get_error.argtypes, library.nfs_get_error.restype = (_P,), _S
    library.nfs_readdir.argtypes, library.nfs_readdir.restype = (_P, _P), ctypes.POINTER(_Entry)
    library.nfs_closedir.argtypes = (_P, _P)
    for name in ("nfs_set_version", "nfs_set_timeout", "nfs_set_autoreconnect"):
        getattr(library, name).argtypes = (_P, _I)
    for name, arguments in _CALLS.items():
        getattr(library, name).argtypes = (_P, *arguments)
    return library


class Client(Operations):
    """What FUSE asks, as calls of libnfs; a file's handle is libnfs's own."""

    use_ns = True

    def __init__(self, export: Export) -> None:
        self._export = export

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        """Return a file's attributes."""
        fields = (ctypes.c_uint64 * 32)()
        if fh is None:
            self._export.call("nfs_lstat64", path, fields)
        else:
            self._export.call("nfs_fstat64", fh, fields)
        attributes: dict[str, Any] = dict(zip(_STAT, fields, strict=False))
        first = len(_STAT)
        for number, name in enumerate(_TIMES, start=first):
            attributes[name] = fields[number] * 10**9 + fields[number + len(_TIMES)]
        return attributes

    def statfs(self, path: str) -> dict[str, int]:
        """Return the space."""
        fields = (ctypes.c_uint64 * 32)()
        self._export.call("nfs_statvfs64", path, fields)
        return dict(zip(_STATVFS, fields, strict=False))

    def readdir(self, path: str, fh: int) -> list[tuple[str, int, int]]:
        """List a folder."""
        return self._export.listed(path)

    def open(self, path: str, flags: int) -> int:
        """Open a file."""
        return self._export.opened("nfs_open", path, flags & (os.O_ACCMODE | os.O_TRUNC | os.O_SYNC))

    def create(self, path: str, mode: int, fi: Any = None) -> int:
        """Make a file and open it."""
        return self._export.opened("nfs_create", path, os.O_RDWR, stat.S_IMODE(mode))

    def read(self, path: str, size: int, offset: int, fh: int) -> Any:
        """Read."""
        buffer = bytearray(size)
        count = self._export.call("nfs_pread", fh, offset, size, (ctypes.c_char * size).from_buffer(buffer))
        return (ctypes.c_char * count).from_buffer(buffer)

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        """Write; the server may keep it in memory until a COMMIT."""
        return self._export.call("nfs_pwrite", fh, offset, len(data), data)

    def flush(self, path: str, fh: int) -> int:
        """Commit at each close, as the kernel's client does."""
        return self._export.call("nfs_fsync", fh)

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        """Commit."""
        return self._export.call("nfs_fsync", fh)

    def release(self, path: str, fh: int) -> int:
        """Forget a file's handle."""
        return self._export.call("nfs_close", fh)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:
        """Set a file's size."""
        return (
            self._export.call("nfs_truncate", path, length)
            if fh is None
            else self._export.call("nfs_ftruncate", fh, length)
        )

    def mkdir(self, path: str, mode: int) -> int:
        """Make a folder."""
        return self._export.call("nfs_mkdir2", path, stat.S_IMODE(mode))

    def rmdir(self, path: str) -> int:
        """Remove a folder."""
        return self._export.call("nfs_rmdir", path)

    def unlink(self, path: str) -> int:
        """Remove a file."""
        return self._export.call("nfs_unlink", path)

    def rename(self, old: str, new: str) -> int:
        """Rename a file."""
        return self._export.call("nfs_rename", old, new)

    def link(self, target: str, source: str) -> int:
        """Make another name of a file."""
        return self._export.call("nfs_link", source, target)

    def symlink(self, target: str, source: str) -> int:
        """Make a symbolic link."""
        return self._export.call("nfs_symlink", source, target)

    def readlink(self, path: str) -> str:
        """Read a symbolic link."""
        text = ctypes.create_string_buffer(4097)
        self._export.call("nfs_readlink", path, text, len(text))
        return os.fsdecode(text.value)

    def chmod(self, path: str, mode: int) -> int:
        """Set permissions."""
        return self._export.call("nfs_chmod", path, stat.S_IMODE(mode))

    def chown(self, path: str, uid: int, gid: int) -> int:
        """Set the owner."""
        return self._export.call("nfs_chown", path, uid, gid)

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
        """Set times; libnfs takes microseconds."""
        fields = (ctypes.c_long * 4)()
        for at, t_ns in enumerate(times or ()):
            fields[2 * at], fields[2 * at + 1] = t_ns // 10**9, t_ns % 10**9 // 1000
        return self._export.call("nfs_utimes", path, fields if times else None)


def main() -> None:
    """Mount and serve until it is unmounted."""
    server, export, folder = sys.argv[1:]
    client = Client(Export(server, export))
    options: dict[str, Any] = {"fsname": f"{server}:{export}", "subtype": "nfs"}
    FUSE(client, folder, foreground=True, allow_other=True, max_threads=2 * CONNECTIONS_COUNT, **options)


if __name__ == "__main__":
    main()
