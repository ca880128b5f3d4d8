"""What a program prints that reads a meter: bounded in time and in bytes, because the program trusts what
the meter sends.
"""

import os
import resource
import subprocess
from collections.abc import Mapping, Sequence

from perjoule.model.errors import NoAnswer, TransientError
from perjoule.model.units import MIB, bytes_text

MOST_BYTES = MIB  # of a reading: a page of text at most


def printed(
    argv: Sequence[str], *, timeout_s: float, place: str = "", env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[bytes]":
    """Run a program to its end and return its exit code, stdout and stderr.

    Raises:
        OSError: it could not be started.
        TransientError: it did not end in time, or printed more than `MOST_BYTES`; it is ended.
    """
    streams = [os.memfd_create(name) for name in ("stdout", "stderr")]
    try:
        with subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=streams[0], stderr=streams[1], env=env
        ) as child:
            try:
                # Where it prints more, the kernel ends it by SIGXFSZ.
                resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (MOST_BYTES, MOST_BYTES))
                code = child.wait(timeout_s)
            except subprocess.TimeoutExpired:
                raise NoAnswer(f"{argv[0]} did not answer within {timeout_s:g} s", where=place) from None
            finally:
                child.kill()  # whatever interrupts us: leaving the block waits for its end
        if any(os.fstat(stream).st_size >= MOST_BYTES for stream in streams):
            raise TransientError(f"{argv[0]} printed more than {bytes_text(MOST_BYTES)}", where=place)
        stdout, stderr = (os.pread(stream, MOST_BYTES, 0) for stream in streams)
    finally:
        for stream in streams:
            os.close(stream)
    return subprocess.CompletedProcess(argv, code, stdout, stderr)
