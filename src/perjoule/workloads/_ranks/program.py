"""Ranks that save or load a checkpoint, keep a key-value cache, or read a data set in epochs (`dataset`, which
lies beside), as a separate program on a client.

It runs under the system's Python and uses only the standard library. Standard input is JSON: `do`, `ranks`
(the parameters of each), `out` and `gate`, the command that waits for the common start and prints its time.
All ranks are ready before it waits, and it ends once all have; if one fails, the others are ended.

`OUT.began.txt` is when they began (UTC), `OUT.N.json` what rank N did, `OUT.N.csv` its calls. Their times are
seconds since then, by a clock that nothing sets. `OUT.N.batches.csv` are the batches of an epoch; of a cache,
`OUT.N.writes.csv` are its writes, and `OUT.N.requests.csv` the requests served.
"""

import ctypes
import json
import mmap
import os
import runpy
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

# Of content: no two are equal, since each begins with its number, against deduplication; and random bytes come
# again only after many, against compression.
BLOCK_BYTES = 64 * 1024
REPEATED_BYTES = 1024**2
PAGE_BYTES = 4096  # what direct I/O is aligned to
# EIO, ENODEV, ENOTCONN, ECONNREFUSED, ESTALE, ETIMEDOUT, ECONNABORTED: a mount whose daemon went away
TRANSIENT_ERRNOS = (5, 19, 103, 107, 110, 111, 116)
FAILED, TRANSIENT = 1, 75  # exit codes; the second where another attempt may succeed (EX_TEMPFAIL)
DIES_WITH_PARENT = 1  # PR_SET_PDEATHSIG
C = ctypes.CDLL(None)
Job = dict[str, Any]
Clock = Callable[[], float]
Done = Iterator[dict[str, Any]]  # yields once it is ready, and then what it did


class CallTimes:
    """What a rank's calls moved and took, a line each."""

    def __init__(self, since: Clock) -> None:
        self.lines = ["returned_s,took_s,bytes"]
        self._since = since

    @contextmanager
    def one(self, length: int) -> Generator[None]:
        """Take the time of a call that moves this many bytes."""
        begun_s = self._since()
        yield
        returned_s = self._since()
        self.lines.append(f"{returned_s:.6f},{returned_s - begun_s:.6f},{length}")


class Pseudorandom:
    """The bytes of a file, from its seed: the same whatever the size of the calls that write or read it."""

    def __init__(self, seed: str, most_bytes: int) -> None:
        random = Random(seed).getrandbits(8 * REPEATED_BYTES).to_bytes(REPEATED_BYTES, "little")
        # memory of whole pages, which direct I/O needs; any call fits in wherever it begins
        self.buffer = mmap.mmap(-1, (-(-most_bytes // REPEATED_BYTES) + 1) * REPEATED_BYTES)
        self.buffer[:] = random * (len(self.buffer) // REPEATED_BYTES)

    def at(self, offset: int, length: int) -> memoryview:
        """Return the content at an offset, a multiple of BLOCK_BYTES; it holds until the next call."""
        first = offset % REPEATED_BYTES
        for begin in range(0, length, BLOCK_BYTES):
            number = (offset + begin) // BLOCK_BYTES
            self.buffer[first + begin : first + begin + 8] = number.to_bytes(8, "little")
        return memoryview(self.buffer)[first : first + length]

    def differs(self, buffer: mmap.mmap, offset: int, length: int) -> bool:
        """Return whether a buffer has something else, without a copy of either."""
        self.at(offset, length)
        mine, other = address(self.buffer, offset % REPEATED_BYTES), address(buffer, 0)
        return bool(C.memcmp(mine, other, ctypes.c_size_t(length)))


def write(job: Job, since: Clock) -> Done:
    """Write a rank's file, and have it durable."""
    content, calls = Pseudorandom(job["content_seed"], job["transfer"]), CallTimes(since)
    yield {}
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
    descriptor = os.open(job["path"], flags | (os.O_DIRECT if job["direct"] else 0), 0o644)
    try:
        for offset in range(0, job["bytes"], job["transfer"]):
            piece = content.at(offset, min(job["transfer"], job["bytes"] - offset))
            with calls.one(len(piece)):
                write_whole(descriptor, piece)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    yield {"ended_s": since(), "calls": calls}


def write_whole(descriptor: int, piece: memoryview) -> None:
    """Write all of it."""
    while piece:
        piece = piece[os.write(descriptor, piece) :]


def read(job: Job, since: Clock) -> Done:
    """Read a rank's file and compare it with what was written.

    Raises ValueError: it is shorter, or differs.
    """
    calls = CallTimes(since)
    reader = Reader(job, calls)
    yield {}
    reader.read(job["path"], job["bytes"])
    yield {"ended_s": since(), "calls": calls}


class Reader:
    """Reads whole files, and compares them with what was written."""

    def __init__(self, job: Job, calls: CallTimes) -> None:
        self.content = Pseudorandom(job["content_seed"], job["transfer"])
        self._calls, self._transfer, self._drop = calls, job["transfer"], job.get("drop", False)
        self._buffer = mmap.mmap(-1, job["transfer"])
        self._flags = os.O_RDONLY | os.O_CLOEXEC | (os.O_DIRECT if job["direct"] else 0)

    def read(self, path: str, file_bytes: int, first: int = 0) -> None:
        """Read a file of this length, whose content begins at `first`. Raises ValueError: it is shorter, or
        differs.
        """
        descriptor = os.open(path, self._flags)
        try:
            if self._drop:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            for offset in range(0, file_bytes, self._transfer):
                length = min(self._transfer, file_bytes - offset)
                with self._calls.one(length):
                    read_whole(descriptor, self._buffer, offset, length, path)
                if self.content.differs(self._buffer, first + offset, length):
                    raise ValueError(f"{path}: what was read at byte {offset} is not what was written")
        finally:
            os.close(descriptor)


def address(buffer: mmap.mmap, offset: int) -> ctypes.c_void_p:
    """Return where a byte of a buffer is."""
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(buffer, offset)))


def read_whole(descriptor: int, buffer: mmap.mmap, offset: int, length: int, path: str) -> None:
    """Read this much at an offset. Raises ValueError: the file ends before."""
    read_bytes = 0
    while read_bytes < length:
        count = os.preadv(descriptor, [memoryview(buffer)[read_bytes:length]], offset + read_bytes)
        if not count:
            raise ValueError(f"{path} ends before byte {offset + length}")
        read_bytes += count


class InferenceRequest(NamedTuple):
    """A request to an inference server: tokens of its prompt, tokens generated, and whose entries of the cache it
    begins with, the earlier turns of its conversation.
    """

    context: int
    generated: int
    earlier: tuple[int, ...]


def inference_requests(job: Job) -> list[InferenceRequest]:
    """Return the requests of a rank in order; each writes the entry of its own number.

    Each user has a profile, and from its ranges the most tokens of a prompt and of an answer. A request has at
    least a quarter of them, and continues the conversation of its user by chance.
    """
    random = Random(f"{job['seed']} requests")
    users = [[random.randint(*ends) for ends in random.choice(job["profiles"])] for _ in range(job["users"])]
    popularity = list(accumulate(1 / (1 + place) ** job["zipf"] for place in range(len(users))))
    conversations: list[list[int]] = [[] for _ in users]
    requests: list[InferenceRequest] = []
    for number in range(job["requests"]):
        (user,) = random.choices(range(len(users)), cum_weights=popularity)
        if random.random() >= job["continues"]:
            conversations[user] = []
        context, generated = (random.randint(max(1, most // 4), most) for most in users[user])
        requests.append(InferenceRequest(context, generated, tuple(conversations[user])))
        conversations[user].append(number)
    return requests


def own_reads(job: Job, request: InferenceRequest) -> int:
    """Return how often a request reads its own entry: once, and for each batch of generated tokens; never after
    a prompt so long that its server does nothing but prefill.
    """
    return 0 if request.context >= job["prefill"] else 1 + -(-request.generated // job["batch"])


def serve(job: Job, since: Clock) -> Done:
    """Serve requests, one after the other: read the entries of earlier turns, write an own one, durable, and read
    it as tokens are generated.

    Raises ValueError: what was read is not what was written.
    """
    reads, writes = CallTimes(since), CallTimes(since)
    reader, requests = Reader(job, reads), inference_requests(job)
    served = ["ended_s,context,generated,own_reads,earlier"]
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | (os.O_DIRECT if job["direct"] else 0)
    yield {}

    def read_entry(number: int) -> None:
        reader.read(f"{job['path']}-{number}", requests[number].context * job["token"], number << 40)

    for number, request in enumerate(requests):
        for entry in request.earlier:
            read_entry(entry)
        entry_bytes = request.context * job["token"]
        with writes.one(entry_bytes):
            descriptor = os.open(f"{job['path']}-{number}", flags, 0o644)
            try:
                for offset in range(0, entry_bytes, job["transfer"]):
                    length = min(job["transfer"], entry_bytes - offset)
                    write_whole(descriptor, reader.content.at((number << 40) + offset, length))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        for _ in range(own_reads(job, request)):
            read_entry(number)
        row = (f"{since():.6f}", request.context, request.generated, own_reads(job, request))
        served.append(",".join(map(str, row)) + "," + " ".join(map(str, request.earlier)))
    yield {"ended_s": since(), "calls": reads, "writes": writes.lines, "requests": served}


DO = {"write": write, "read": read, "serve": serve}
TABLES = ("batches", "writes", "requests")  # what a rank may leave besides its calls


def part(name: str, lent: dict[str, Any]) -> dict[str, Any]:
    """Return what a file beside this one defines, which uses what it is lent."""
    return runpy.run_path(str(Path(__file__).with_name(f"{name}.py")), init_globals=lent)


def main() -> int:
    """Run the job of standard input; return the exit code."""
    job: Job = json.load(sys.stdin)
    ranks: dict[int, int] = {}  # by process
    ready: list[int] = []
    waits, go = os.pipe()
    try:
        for number, rank in enumerate(job["ranks"]):
            heard, tells = os.pipe()  # its own, so that it ends with its rank
            process = os.fork()
            if not process:
                os.close(go)
                os._exit(run_rank(job, number, rank, tells, waits))
            os.close(tells)
            ready.append(heard)
            ranks[process] = number
        if not all(os.read(heard, 1) for heard in ready):
            return wait(ranks) or FAILED
        if job["gate"]:
            gate = subprocess.run(shlex.split(job["gate"]), check=True, stdout=subprocess.PIPE)
            Path(job["out"] + ".began.txt").write_bytes(gate.stdout)
        os.write(go, b"g" * len(ranks))
        return wait(ranks)
    finally:
        end(ranks)


def wait(ranks: dict[int, int]) -> int:
    """Wait for all ranks, or for the first that fails, and return its exit code."""
    while ranks:
        process, status = os.wait()
        number = ranks.pop(process)
        if os.WIFSIGNALED(status):
            print(f"rank {number} was ended by {signal.Signals(os.WTERMSIG(status)).name}", file=sys.stderr)
            return FAILED
        if os.WEXITSTATUS(status):
            return os.WEXITSTATUS(status)
    return 0


def end(ranks: dict[int, int]) -> None:
    """End the ranks that still run."""
    for process in ranks:
        os.kill(process, signal.SIGKILL)
    for process in ranks:
        os.waitpid(process, 0)


def run_rank(job: Job, number: int, rank: Job, tells: int, waits: int) -> int:
    """Prepare a rank, wait until all may begin, and leave its record; return its exit code."""
    try:
        C.prctl(DIES_WITH_PARENT, signal.SIGKILL)
        begun_s = 0.0
        does = DO.get(job["do"]) or part("dataset", globals())[job["do"]]
        doing = does(rank, lambda: time.monotonic() - begun_s)
        next(doing)
        os.write(tells, b"r")
        if not os.read(waits, 1):
            return FAILED  # the program was ended
        begun_s, before_s = time.monotonic(), time.process_time()
        done = next(doing)
        done["cpu_s"] = time.process_time() - before_s
        out = f"{job['out']}.{number}"
        Path(out + ".csv").write_text("\n".join([*done.pop("calls").lines, ""]))
        for table in [name for name in TABLES if name in done]:
            Path(f"{out}.{table}.csv").write_text("\n".join([*done.pop(table), ""]))
        Path(out + ".json").write_text(json.dumps(done))
    except OSError as error:
        problem = error.strerror or str(error)
        reason = f"{error.filename or rank['path']}: {problem[:1].lower()}{problem[1:]}"
        print(f"rank {number}: {reason}", file=sys.stderr)
        return TRANSIENT if error.errno in TRANSIENT_ERRNOS else FAILED
    except ValueError as error:
        print(f"rank {number}: {error}", file=sys.stderr)
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
