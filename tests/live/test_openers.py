"""Who has a device open is found although a user's file system, in which some process has a file, never answers."""

import ctypes
import os
import struct
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fuse import lent
from perjoule.testbeds._device.view import BTRFS_COUNT, COLUMNS, HERE, look
from perjoule.testbeds.cluster.verbs import verb

pytestmark = pytest.mark.live
LIMIT_S = 20.0
LOOKUP, FORGET, GETATTR, OPEN, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 26, 36, 42
ENOSYS, MNT_FORCE, MNT_DETACH = 38, 1, 2
# https://github.com/torvalds/linux/blob/master/include/uapi/linux/fuse.h
_HEAD, _REPLY, _ATTR = struct.Struct("=IIQQIIIHH"), struct.Struct("=IiQ"), struct.Struct("=6Q10I")


def attributes(node: int) -> bytes:
    mode = 0o40755 if node == 1 else 0o100644
    return _ATTR.pack(node, 1, 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 512, 0)


def answer(operation: int, node: int) -> bytes | None:
    """Answer as a file system of one file; None: never."""
    if operation == INIT:
        return struct.pack("=IIIIHHIIHHI28x", 7, 31, 65536, 0, 12, 10, 65536, 1, 0, 0, 0)
    if operation == LOOKUP:
        return struct.pack("=QQQQII", 2, 0, 3600, 0, 0, 0) + attributes(2)
    if operation == GETATTR:
        return struct.pack("=QII", 0, 0, 0) + attributes(1) if node == 1 else None
    return struct.pack("=QII", 1, 0, 0) if operation == OPEN else b""


def serve(line: int) -> None:
    with suppress(OSError):
        while True:
            _, operation, unique, node, *_ = _HEAD.unpack_from(os.read(line, 1 << 20))
            content = None if operation in (FORGET, INTERRUPT, BATCH_FORGET) else answer(operation, node)
            if content is not None:
                error = 0 if content else -ENOSYS
                os.write(line, _REPLY.pack(_REPLY.size + len(content), error, unique) + content)


@pytest.fixture
def mute(tmp_path: Path) -> Iterator[int]:
    """A process with a file open in a file system that says nothing of it; yields its pid."""
    folder = tmp_path / "mute"
    folder.mkdir()
    line = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={line},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"mute", os.fsencode(folder), b"fuse", 6, options):
        os.close(line)
        pytest.fail(f"no FUSE: {os.strerror(ctypes.get_errno())}")
    threading.Thread(target=serve, args=[line], daemon=True).start()
    try:
        with subprocess.Popen(["sh", "-c", 'exec 3< "$0"; exec sleep 60', folder / "file"]) as process:
            try:
                while not Path(f"/proc/{process.pid}/fd/3").is_symlink():
                    assert process.poll() is None
                yield process.pid
            finally:
                libc.umount2(os.fsencode(folder), MNT_FORCE)  # ends all that waits for an answer
                process.kill()
    finally:
        libc.umount2(os.fsencode(folder), MNT_DETACH)
        os.close(line)


def test_no_file_system_of_a_users_holds_up_the_search_for_who_has_a_device_open(mute: int) -> None:
    openers = list[str]()
    search = threading.Thread(target=lambda: openers.extend(HERE.openers({"1:3", "7:99"})), daemon=True)
    search.start()
    search.join(LIMIT_S)
    assert not search.is_alive()
    assert openers == []  # /dev/null, which all have open, is no block device


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Path]:
    """A block device."""
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(2**20)
    find = ["losetup", "--find", "--show", image]
    device = subprocess.run(find, check=True, capture_output=True, text=True).stdout.strip()
    try:
        yield Path(device)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


@pytest.fixture
def lost(tmp_path: Path) -> Iterator[None]:
    """What a user has mounted, which never answers and says that it comes from a file within itself."""
    (place := tmp_path / "lost").mkdir()
    with lent(place, source=place / "itself"):
        yield


@pytest.mark.usefixtures("lost")
def test_no_source_that_a_user_names_holds_up_a_look_at_a_device(node: Path) -> None:
    mounts = list[str]()
    search = threading.Thread(target=lambda: mounts.extend(look(HERE, node).mounts), daemon=True)
    search.start()
    search.join(LIMIT_S)
    assert not search.is_alive()


@pytest.mark.usefixtures("lost")
def test_no_file_system_of_a_users_holds_up_the_report_of_a_host(
    mute: int, tmp_path: Path, node: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(node)
    held = os.open(node, os.O_RDONLY)
    try:
        argv = verb("perjoule-report", str(link), COLUMNS, BTRFS_COUNT)
        completed = subprocess.run(argv, capture_output=True, timeout=LIMIT_S, check=True)
    finally:
        os.close(held)
    entries = completed.stdout.decode().split("\0")
    openers = [name for kind, name in zip(entries[::3], entries[1::3], strict=False) if kind == "opener"]
    assert any(name.endswith(f"({os.getpid()})") for name in openers)
    assert entries[-4] == "end"
