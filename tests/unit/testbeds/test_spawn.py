"""How programs are started: alone in a session, without our signals, and without keeping our other threads
waiting.
"""

import fcntl
import os
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from perjoule.testbeds._process import captured


def test_other_threads_go_on_while_a_program_is_started(tmp_path: Path) -> None:
    """Whoever opens a file with a lease waits, at most 45 s, until its holder has given it up: here a
    thread of ours.
    """
    program, given_up_s = Path(shutil.copy("/bin/true", tmp_path)), list[float]()
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)  # by which the kernel asks the holder
    lease = os.open(program, os.O_RDONLY)

    def give_up() -> None:
        time.sleep(0.1)
        fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        given_up_s.append(time.monotonic())

    try:
        fcntl.fcntl(lease, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        began_s = time.monotonic()
        holder = threading.Thread(target=give_up)
        holder.start()
        assert captured([str(program)], timeout_s=10) == (0, b"", b"")
        holder.join()
    finally:
        os.close(lease)
        signal.signal(signal.SIGIO, before)
    assert given_up_s[0] - began_s < 20


def test_a_program_gets_a_session_of_its_own_and_no_signal_is_blocked_or_ignored_in_it() -> None:
    said_of = "open('/proc/self/status').read().split(f'{name}:\\t')[1][:16]"
    status = f"import os; print(os.getsid(0) == os.getpid(), *({said_of} for name in ('SigBlk', 'SigIgn')))"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        code, said, _ = captured(["python3", "-S", "-c", status], timeout_s=20)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        signal.signal(signal.SIGINT, before)
    alone, blocked, ignored = said.decode().split()
    assert (code, alone, int(blocked, 16)) == (0, "True", 0)
    assert not int(ignored, 16) & 1 << signal.SIGINT - 1


def test_what_cant_be_started_is_an_error_as_of_the_standard_library() -> None:
    with pytest.raises(FileNotFoundError, match="No such file or directory: 'no-such-program'"):
        captured(["no-such-program"], timeout_s=5)
    with pytest.raises(ValueError, match="embedded null byte"):
        captured(["echo", "a\0b"], timeout_s=5)
