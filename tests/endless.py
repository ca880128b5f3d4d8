"""A process of another user whose words and environment have next to no end, as any user's may have."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

# Points the kernel to a mapping of 16 TiB of which nothing is in memory.
# https://man7.org/linux/man-pages/man2/PR_SET_MM.2const.html (PR_SET_MM_MAP needs no capability)
_SCRIPT = r"""
import ctypes, mmap, os, time
os.setgroups([])
os.setgid(4711)
os.setuid(4711) # of nobody who has a daemon
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.sbrk.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
MAP_NORESERVE, PR_SET_MM, PR_SET_MM_MAP, NO_FILE = 0x4000, 35, 14, 0xFFFFFFFF << 32
size = 1 << 44
begin = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
words = open("/proc/self/stat").read().rpartition(")")[2].split()
code, data, brk, stack = ([int(words[number - 3]) for number in numbers] for numbers in ((26, 27), (45, 46), (47,), (28,)))
places = [*code, *data, *brk, libc.sbrk(0), *stack, begin, begin + size, begin, begin + size]
map_of_kernel = (ctypes.c_uint64 * 13)(*places, 0, NO_FILE)
arguments = (ctypes.c_ulong(PR_SET_MM_MAP), map_of_kernel, ctypes.c_ulong(ctypes.sizeof(map_of_kernel)), ctypes.c_ulong(0))
if libc.prctl(PR_SET_MM, *arguments):
    raise OSError(ctypes.get_errno(), "PR_SET_MM_MAP")
print(flush=True)
time.sleep(600)
"""


@contextmanager
def endless() -> Generator[None]:
    """Have it while the block runs. Root starts it."""
    argv = [sys.executable, "-I", "-c", _SCRIPT]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd="/") as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "\n"
            yield
        finally:
            process.kill()
