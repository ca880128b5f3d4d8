"""Starts programs while all other threads go on: https://man7.org/linux/man-pages/man3/posix_spawn.3.html

`os.posix_spawnp` holds Python's lock until the new program has a core and runs: on a busy machine for up to
1.8 s, with 64 loads. Meanwhile no meter was read, and answers of hosts seemed to come late.
"""

import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence

_libc = ctypes.CDLL(None)  # whose functions ctypes calls without that lock
_MOST_BYTES = 1024  # of a structure that only libc knows: three times the largest of glibc and musl
_FLAGS = 0x04 | 0x08 | 0x80  # POSIX_SPAWN_SETSIGDEF, POSIX_SPAWN_SETSIGMASK, POSIX_SPAWN_SETSID


def spawn(
    argv: Sequence[str],
    env: Mapping[str, str],
    files: Sequence[int],
    defaulted: Iterable[int],
    folder: str = "",
) -> int:
    """Start a program, found on PATH, in a session of its own and return its pid.

    Args:
        argv: its name and arguments.
        env: its environment.
        files: become its standard input, output and errors.
        defaulted: signals that end it as usual, whatever they do here. None is blocked.
        folder: where it starts; ours by default.

    Raises:
        OSError: it can't be started.
    """
    actions, attributes, blocked, usual = (ctypes.create_string_buffer(_MOST_BYTES) for _ in range(4))
    pid = ctypes.c_int()
    _libc.sigemptyset(blocked)
    _libc.sigemptyset(usual)
    for number in defaulted:
        _libc.sigaddset(usual, int(number))
    _check(_libc.posix_spawnattr_init(attributes), argv)
    try:
        _check(_libc.posix_spawnattr_setflags(attributes, ctypes.c_short(_FLAGS)), argv)
        _check(_libc.posix_spawnattr_setsigmask(attributes, blocked), argv)
        _check(_libc.posix_spawnattr_setsigdefault(attributes, usual), argv)
        _check(_libc.posix_spawn_file_actions_init(actions), argv)
        try:
            for target, file in enumerate(files):
                _check(_libc.posix_spawn_file_actions_adddup2(actions, file, target), argv)
            if folder:
                _check(_libc.posix_spawn_file_actions_addchdir_np(actions, os.fsencode(folder)), argv)
            arguments, variables = _texts(argv), _texts(f"{name}={value}" for name, value in env.items())
            _check(
                _libc.posix_spawnp(
                    ctypes.byref(pid), arguments[0], actions, attributes, arguments, variables
                ),
                argv,
            )
        finally:
            _libc.posix_spawn_file_actions_destroy(actions)
    finally:
        _libc.posix_spawnattr_destroy(attributes)
    return pid.value


def _texts(texts: Iterable[str]) -> ctypes.Array[ctypes.c_char_p]:
    """Return a list of texts as C has it.

    Raises ValueError: a text has a zero byte, at which C would end it.
    """
    encoded = [os.fsencode(text) for text in texts]
    if any(b"\0" in text for text in encoded):
        raise ValueError("embedded null byte")
    return (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)


def _check(error: int, argv: Sequence[str]) -> None:
    if error:
        raise OSError(error, os.strerror(error), argv[0])
