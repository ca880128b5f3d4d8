"""What a fio job asks for: two jobs are equal loads if every option that may change the load is.

The options left out are listed here, so that one that is new, or forgotten, distinguishes loads.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

SIZES = ("", "k", "m", "g", "t")
ALIASES = {
    "readwrite": "rw",
    "blocksize": "bs",
    "blocksize_range": "bsrange",
    "start_delay": "startdelay",
    "io_limit": "io_size",
    "iodepth_batch_submit": "iodepth_batch",
    "file_size": "filesize",
}
# Names and places, what is reported, and what ends with the load: they change no I/O.
NOT_LOAD = frozenset(
    (
        "name", "description", "directory", "filename", "filename_format", "unique_filename", "hostname", "rw", "bs", "bssplit",
        "bsrange", "numjobs", "startdelay", "wait_for", "stonewall", "wait_for_previous", "new_group", "group_reporting",
        "unified_rw_reporting", "per_job_logs", "significant_figures", "percentile_list", "clat_percentiles", "lat_percentiles",
        "slat_percentiles", "disable_lat", "disable_clat", "disable_slat", "disable_bw", "disable_bw_measurement", "bwavgtime",
        "iopsavgtime", "write_bw_log", "write_lat_log", "write_iops_log", "write_hist_log", "log_avg_msec", "log_hist_msec",
        "log_hist_coarseness", "log_max_value", "log_offset", "log_prio", "log_issue_time", "log_entries", "log_compression",
        "log_compression_cpus", "log_store_compressed", "log_unix_epoch", "log_alternate_epoch", "log_alternate_epoch_clock_id",
        "log_window_value", "job_start_clock_id", "disk_util", "kb_base", "unit_base", "error_dump", "exitall",
        "exitall_on_error", "exit_what", "unlink", "randseed",
    )
)  # fmt: skip
DEFAULTS = {
    "iodepth": {"1"},
    "direct": {"0"},
    "buffered": {"1"},
    "sync": {"0", "none"},
    "verify": {"0", "none"},
    "rwmixread": {"50"},
    "rwmixwrite": {"50"},
    "random_distribution": {"random"},
    "nrfiles": {"1"},
    "loops": {"1"},
    **{
        name: {"0"}
        for name in (
            "end_fsync",
            "fsync",
            "fdatasync",
            "rate",
            "rate_iops",
            "thinktime",
            "ramp_time",
            "time_based",
        )
    },
}
# Engines whose writes end in the page cache, and options by which they, or their end, reach the disks.
CACHED_ENGINES = frozenset(
    ("psync", "sync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "mmap", "splice")
)
FLUSHING = (
    "direct",
    "atomic",
    "sync",
    "end_fsync",
    "fsync_on_close",
    "fsync",
    "fdatasync",
    "sync_file_range",
)
WORDS = {"iodepth": "{} in flight", "ioengine": "{}", "size": "size {}", "runtime": "for {}"}


@dataclass(frozen=True)
class ReportedJob:
    """A job of one client as fio reports it: one process, or the sum of several."""

    host: str
    entry: Mapping[str, Any]
    options: Mapping[str, str]

    @classmethod
    def of(cls, host: str, entry: Mapping[str, Any], common: Mapping[str, str]) -> Self:
        """Return a job with all its options."""
        written = {**common, **entry.get("job options", {})}
        return cls(
            host, entry, {ALIASES.get(name, name): str(value).strip() for name, value in written.items()}
        )

    @property
    def operation(self) -> str:
        """In fio's words; without options, the direction in which it moved anything."""
        default = (
            "write" if self.entry["write"]["io_bytes"] and not self.entry["read"]["io_bytes"] else "read"
        )
        return self.options.get("rw", default).partition(":")[0]

    @property
    def size(self) -> str:
        """The size of its calls, in the notation of fio's options."""
        default = "4096" if self.options.get("kb_base") == "1000" else "4k"
        return next(
            (self.options[key] for key in ("bssplit", "bsrange", "bs") if self.options.get(key)), default
        )

    @property
    def clones_count(self) -> int:
        """How many equal processes its options request."""
        clones = self.options.get("numjobs", "1")
        return int(clones) if clones.isdigit() else 1

    def words(self) -> tuple[str, ...]:
        """Return what else distinguishes its load."""
        options = {name: value for name, value in self.options.items() if name not in NOT_LOAD}
        options = {name: value for name, value in options.items() if value not in DEFAULTS.get(name, ())}
        known_texts = [
            _words(name, options.pop(name)) for name in (*WORDS, "direct", "end_fsync") if name in options
        ]
        pattern = self.options.get("rw", "")
        return (
            *known_texts,
            *((f"rw={pattern}",) if ":" in pattern else ()),
            *(f"{name}={options[name]}" for name in sorted(options)),
        )


def _words(name: str, value: str) -> str:
    if name not in WORDS:
        return name if value in ("1", "", "true") else f"{name}={value}"
    return WORDS[name].format(value) + (" s" if name == "runtime" and value.isdigit() else "")


def sizes(jobs: Sequence[ReportedJob]) -> tuple[str, int | None]:
    """Return the sizes of the calls as text, and in bytes if they are equal."""
    text = "+".join(dict.fromkeys(job.size for job in jobs))
    bases = {job.options.get("kb_base", "1024") for job in jobs}
    match = re.fullmatch(r"(\d+)(?:([kmgt]?)(i?)b?)", text.lower())
    if match is None or len(bases) > 1 or (match[3] and not match[0].endswith("ib")):
        return text, None
    # fio's units are those of the standards only with kb_base=1000, and the opposite without (parse.c)
    base = 1000 if (bases == {"1000"}) != bool(match[3]) else 1024
    size_bytes = int(match[1]) * base ** SIZES.index(match[2])
    return (text, size_bytes) if _called_with(size_bytes, jobs) else (f"not only {text}", None)


def _called_with(size_bytes: int, jobs: Sequence[ReportedJob]) -> bool:
    """Return whether the calls of jobs can have this size. Of jobs that fio sums up, it states the options of one."""
    entries = [job.entry for job in jobs if not job.entry["error"] and not job.entry.get("total_err")]
    counted = [entry[direction] for entry in entries for direction in ("read", "write")]
    return all(
        abs(counts["io_bytes"] - size_bytes * counts["total_ios"]) <= MOST_REST_RATIO * counts["io_bytes"]
        for counts in counted
        if not counts.get("short_ios")
    )


def details(jobs: Sequence[ReportedJob]) -> tuple[str, ...]:
    """Return what distinguishes one load from another, besides operation and transfer size."""
    text, transfer_bytes = sizes(jobs)
    per_host: dict[str, Counter[tuple[str, str, tuple[str, ...]]]] = {}
    for job in jobs:
        count = processes_count(job, jobs)
        per_host.setdefault(job.host, Counter())[job.operation, job.size, job.words()] += count
    kinds: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    for loads in per_host.values():
        kinds |= loads
    count = max(sum(loads.values()) for loads in per_host.values())
    first = next(iter(kinds))[2]
    common = tuple(label for label in first if all(label in labels for _, _, labels in kinds))
    lines = [] if transfer_bytes else [text]
    lines += [f"{count} jobs"] if count > 1 else []
    lines += common
    if len(kinds) > 1:
        lines += [
            " ".join([f"{times} x {operation} {size}", *(label for label in labels if label not in common)])
            for (operation, size, labels), times in kinds.items()
        ]
    return tuple(lines)


def processes_count(job: ReportedJob, jobs: Sequence[ReportedJob]) -> int:
    """Return how many processes an entry sums up.

    Its options request a number, which is of all entries of its name; more are known from the sum of their
    times.
    """
    alike = sum(
        other_job.host == job.host and other_job.entry["jobname"] == job.entry["jobname"]
        for other_job in jobs
    )
    return 1 if alike > 1 else max(job.clones_count, hidden_count(job))


def hidden_count(job: ReportedJob) -> int:
    """Return how many processes ran at least, from the sum of their times."""
    longest_s, sum_s = took_s(job), job.entry.get("job_runtime", 0) / 1e3
    return (
        max(1, round(sum_s / longest_s + SHARE_OF_ONE))
        if longest_s and sum_s > longest_s * 1.02 + UNSURE_S
        else 1
    )


MOST_REST_RATIO = 0.05  # of the bytes, by which last calls of files may be shorter
UNSURE_S = 0.05  # between a job's own time and that of its I/O
SHARE_OF_ONE = 0.3  # of the longest one's time, from which a process that ended early counts


def unflushed(job: ReportedJob) -> bool:
    """Return whether a job's options leave what it wrote in the page cache."""
    return (
        bool(job.options)
        and job.entry["write"]["io_bytes"] > 0
        and job.options.get("ioengine", "psync") in CACHED_ENGINES
        and job.options.get("buffered", "1") != "0"
        and all(job.options.get(name, "0") in ("0", "none") for name in FLUSHING)
    )


def took_s(job: ReportedJob) -> float:
    """Return how long a job ran: in all directions at once, or until what it wrote was verified."""
    ways = [job.entry.get(direction, {}).get("runtime", 0) / 1e3 for direction in ("read", "write", "trim")]
    return sum(ways[:2]) if verifies_after(job) else max(ways)


def verifies(job: ReportedJob) -> bool:
    """Return whether a job reads back what it wrote."""
    verify = job.options.get("verify", "0") not in DEFAULTS["verify"]
    return (
        verify and job.options.get("do_verify", "1") != "0" and job.operation.removeprefix("rand") != "read"
    )


def verifies_after(job: ReportedJob) -> bool:
    """Return whether a job first wrote, and then read to verify."""
    return (
        verifies(job)
        and job.operation.removeprefix("rand") == "write"
        and "verify_backlog" not in job.options
    )
