"""A data set for ranks on a client: files below a folder, or what `store` says, objects.

`program` runs this file, and lends it what that program defines, as a client has no package of ours.
"""

import mmap
import os
import re
import time
from array import array
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perjoule.workloads._ranks.program import (
        CallTimes,
        Clock,
        Done,
        Job,
        Pseudorandom,
        part,
        read_whole,
        write_whole,
    )

# EIO, ERANGE, ECONNABORTED, ECONNRESET, ENOTCONN, ETIMEDOUT, ECONNREFUSED, EHOSTDOWN, EHOSTUNREACH, ESTALE: of a
# server that is gone, for reads that go on
TOLERATED = (5, 34, 103, 104, 107, 110, 111, 112, 113, 116)
PREFETCHED = 2  # batches of a thread that are read ahead


def file_sizes(job: "Job") -> list[int]:
    """Return the bytes of a sample in each file of a data set: normal, but none below a hundredth of the mean.

    They are whole pages where `page` says so. All samples of a file have the same size.
    """
    random = Random(f"{job['seed']} sizes")
    page, mean, deviation = job["page"], job["sample"], job["deviation"]

    def size() -> int:
        while (drawn := random.gauss(mean, deviation) if deviation else mean) < mean / 100:
            pass
        return max(1, -(-round(drawn) // page)) * page

    return [size() for _ in range(job["files"])]


def file_path(job: "Job", number: int) -> str:
    """Return the path of a file of a data set."""
    return f"{job['folder']}/{number:09d}"


def lay_out(job: "Job", since: "Clock") -> "Done":
    """Write the files of a data set that this rank has, and that are missing or of another size; the first rank
    removes those of a larger data set.
    """
    sizes, calls = file_sizes(job), CallTimes(since)
    content = Pseudorandom(job["seed"], job["transfer"])
    yield {}
    if not job["rank"]:
        for old in Path(job["folder"]).iterdir():
            if re.fullmatch("[0-9]{9}", old.name) and int(old.name) >= job["files"]:
                old.unlink()
    for number in range(job["rank"], job["files"], job["ranks"]):
        path, length = Path(file_path(job, number)), sizes[number] * job["samples_per_file"]
        if path.exists() and path.stat().st_size == length:
            continue
        with calls.one(length), path.open("wb", buffering=0) as file:
            for offset in range(0, length, job["transfer"]):
                piece = content.at((number << 40) + offset, min(job["transfer"], length - offset))
                write_whole(file.fileno(), piece)
            os.fsync(file.fileno())
    yield {"ended_s": since(), "calls": calls}


def object_connection() -> Any:
    """Return the class of connections to a store, which lies beside, too."""
    return part("objects", {})["ObjectConnection"]


def put(job: "Job", since: "Clock") -> "Done":
    """Put the objects of a data set that this rank has."""
    lengths = [size * job["samples_per_file"] for size in file_sizes(job)]
    store, calls = object_connection()(job), CallTimes(since)
    content = Pseudorandom(job["store"]["seed"], max(lengths))
    yield {}
    for number in range(job["rank"], job["files"], job["ranks"]):
        with calls.one(lengths[number]):
            store.put(number, content.at(number << 40, lengths[number]))
    yield {"ended_s": since(), "calls": calls}


def epoch_samples(job: "Job", epoch: int) -> "array[int]":
    """Return the numbers of the samples that this rank reads in an epoch, in order.

    Each epoch shuffles all samples, or all files, anew, and deals them to the ranks of all clients in turns.
    """
    random, per_file = Random(f"{job['seed']} epoch {epoch}"), job["samples_per_file"]
    if job["shuffle"] == "samples":
        every = list(range(job["files"] * per_file))
        random.shuffle(every)
        return array("Q", every[job["rank"] :: job["ranks"]])
    files = list(range(job["files"]))
    random.shuffle(files)
    dealt = files[job["rank"] :: job["ranks"]]
    return array("Q", (number * per_file + index for number in dealt for index in range(per_file)))


class FileReader:
    """The files of a data set, read by one thread; the last one stays open for the rest of its batch."""

    def __init__(self, job: "Job") -> None:
        self._job, self._number, self._descriptor = job, -1, -1
        self._buffer = mmap.mmap(-1, job["transfer"])
        self._flags = os.O_RDONLY | os.O_CLOEXEC | (os.O_DIRECT if job["direct"] else 0)

    def get(self, number: int, first: int, length: int) -> None:
        """Read so many bytes of a file. Raises OSError, ValueError."""
        path = file_path(self._job, number)
        if number != self._number:
            self.end_batch()
            self._descriptor = os.open(path, self._flags)
            self._number = number
        for offset in range(0, length, self._job["transfer"]):
            piece_bytes = min(self._job["transfer"], length - offset)
            read_whole(self._descriptor, self._buffer, first + offset, piece_bytes, path)

    def end_batch(self) -> None:
        """Leave no file open."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._number, self._descriptor = -1, -1


class Loader:
    """Reads batches of samples, in several threads, each from a source that is there before the start."""

    def __init__(self, job: "Job", since: "Clock") -> None:
        self._job, self._since, self._sizes = job, since, file_sizes(job)
        source = object_connection() if job["store"] else FileReader
        self._idle = [source(job) for _ in range(job["workers"])]

    def read(self, samples: Sequence[int]) -> "tuple[CallTimes, int]":
        """Read a batch: a call for each sample that was read, and how many failed as they may."""
        calls, errors_count, source = CallTimes(self._since), 0, self._idle.pop()
        try:
            for sample in samples:
                number, index = divmod(sample, self._job["samples_per_file"])
                length = self._sizes[number]
                try:
                    with calls.one(length):
                        source.get(number, index * length, length)
                except OSError as error:
                    if error.errno not in self._job["tolerated"]:
                        raise
                    errors_count += 1
        finally:
            source.end_batch()
            self._idle.append(source)
        return calls, errors_count


def train(job: "Job", since: "Clock") -> "Done":
    """Read all samples of this rank in each epoch, batch by batch, while an accelerator computes for a time.

    Threads read whole batches, at most PREFETCHED for each thread ahead of the one that is computed; none of the
    next epoch.
    """
    loader, calls = Loader(job, since), CallTimes(since)
    epochs = [epoch_samples(job, epoch) for epoch in range(job["epochs"])]
    batches = ["epoch,samples,errors,ready_s,ended_s"]
    yield {}
    with ThreadPoolExecutor(job["workers"]) as threads:
        for epoch, samples in enumerate(epochs):
            begins = iter(range(0, len(samples), job["batch"]))
            asked = deque(
                threads.submit(loader.read, samples[begin : begin + job["batch"]])
                for begin in islice(begins, PREFETCHED * job["workers"])
            )
            while asked:
                read, errors_count = asked.popleft().result()
                ready_s = since()
                for begin in islice(begins, 1):
                    asked.append(threads.submit(loader.read, samples[begin : begin + job["batch"]]))
                count = len(read.lines) - 1
                time.sleep(job["compute_s"] * (count + errors_count) / job["batch"])
                batches.append(f"{epoch},{count},{errors_count},{ready_s:.6f},{since():.6f}")
                calls.lines += read.lines[1:]
    yield {"ended_s": since(), "calls": calls, "batches": batches}
