"""A fio job file as it is: its permitted options, and the directions in which it moves bytes.

It starts in a folder of its own in the file system. Its options are those of a positive list, and a value
that would reach outside the folder is refused, too: other paths, devices, commands, jobs of other files.
https://fio.readthedocs.io/en/latest/fio_doc.html#job-file-format
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from perjoule.model import Direction
from perjoule.model.permitted import control_character, flags

# of files
ENGINES = ("sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "mmap", "splice")
# Of fio 3.28 to 3.41, with their other names: none runs or loads a program, opens a device or a file by a
# name from elsewhere, or acts as another user. What only one of the engines above has is at the end.
OPTIONS = frozenset(
    flags(
        "allow_file_create allrandrepeat atomic ba blockalign block_error_percentiles bs blocksize "
        "bs_unaligned blocksize_unaligned bsrange blocksize_range bssplit buffer_compress_chunk "
        "buffer_compress_percentage buffer_pattern buffered bwavgtime clat_percentiles clocksource "
        "continue_on_error cpumask cpus_allowed cpus_allowed_policy create_fsync create_on_open "
        "create_only create_serialize dedupe_global dedupe_mode dedupe_percentage "
        "dedupe_working_set_percentage description direct directory disable_bw disable_bw_measurement "
        "disable_clat disable_lat disable_slat disk_util do_verify end_fsync error_dump exit_what exitall "
        "exitall_on_error experimental_verify fadvise_hint fallocate fdatasync fdp fdp_pli file_append "
        "file_service_type filename filename_format fileoffset filesize flow flow_id flow_sleep fsync "
        "fsync_on_close group_reporting gtod_cpu gtod_reduce hugepage-size ignore_error invalidate "
        "io_limit io_size io_submit_mode iodepth iodepth_batch iodepth_batch_complete "
        "iodepth_batch_complete_max iodepth_batch_complete_min iodepth_batch_submit iodepth_low ioengine "
        "iomem iomem_align iopsavgtime kb_base lat_percentiles latency_percentile latency_run "
        "latency_target latency_window lockfile lockmem log_alternate_epoch log_alternate_epoch_clock_id "
        "log_avg_msec log_compression log_compression_cpus log_entries log_hist_coarseness log_hist_msec "
        "log_issue_time log_max_value log_offset log_prio log_store_compressed log_unix_epoch "
        "log_window_value loops max_latency mem mem_align new_group nice norandommap nr_files nrfiles "
        "num_range number_ios numa_cpu_nodes numa_mem_policy numjobs offset offset_align offset_increment "
        "openfiles overwrite per_job_logs percentage_random percentile_list pre_read prio prioclass "
        "priohint ramp_size ramp_time random_distribution random_generator randrepeat randseed rate "
        "rate_cycle rate_ignore_thinktime rate_iops rate_iops_min rate_min rate_process ratecycle ratemin "
        "readwrite refill_buffers runtime rw rw_sequencer rwmixread rwmixwrite scramble_buffers "
        "serialize_overlap significant_figures size slat_percentiles softrandommap ss ss_dur ss_ramp "
        "startdelay stats steadystate steadystate_check_interval steadystate_duration steadystate_ramp_time"
        " stonewall sync sync_file_range thinkcycles thinktime thinktime_blocks thinktime_blocks_type "
        "thinktime_iotime thinktime_spin thread time_based timeout unified_rw_reporting unique_filename "
        "unit_base unlink unlink_each_loop verify verify_async verify_async_cpus verify_backlog "
        "verify_backlog_batch verify_dump verify_fatal verify_header_seed verify_interval verify_offset "
        "verify_only verify_pattern verify_pattern_interval verify_write_sequence wait_for "
        "wait_for_previous write_barrier write_bw_log write_hint write_hist_log write_iops_log "
        "write_lat_log zero_buffers cmdprio cmdprio_bssplit cmdprio_class cmdprio_hint cmdprio_percentage "
        "fixedbufs force_async hipri hipri_percentage nonvectored nowait registerfiles sqthread_poll "
        "sqthread_poll_cpu thp uncached userspace_reap"
    )
)
OUTSIDE = {  # what people ask for beside those, and why it can't be
    "exec_prerun": "runs a command",
    "exec_postrun": "runs a command",
    "read_iolog": "replays files by any name",
    "write_iolog": "writes a file beside those that are measured",
    "opendir": "takes files by names that are not in this file",
    "fill_device": "fills the whole file system (set size)",
    "fill_fs": "fills the whole file system (set size)",
    "name": "renames a job (write it as [name])",
    "replay_redirect": "names a device",
    "merge_blktrace_file": "writes elsewhere",
    "ioscheduler": "changes a disk's scheduler",
    "cgroup": "changes control groups",
    "uid": "changes the user",
    "gid": "changes the group",
    "allow_mounted_write": "is for devices",
    "zonemode": "is for devices",
}
# all that a `$` may begin: others fio hands to a shell
KEYWORDS = ("$jobname", "$jobnum", "$filenum", "$clientuid")
SIZES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}
MOVES = {
    **dict.fromkeys(("read", "randread"), ("read",)),
    **dict.fromkeys(("write", "randwrite"), ("write",)),
    **dict.fromkeys(("rw", "readwrite", "randrw"), ("write", "read")),
}


class JobLine(NamedTuple):
    """One option of a job file."""

    number: int
    section: str
    key: str
    value: str
    whole: str  # the value with what may be a comment behind it, or may not


def lines(text: str) -> Iterator[JobLine]:
    """Parse the options of a job file. Raises ValueError, with the line, for anything else."""
    section = ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = re.split(r"[;#]", raw, maxsplit=1)[0].strip()
        if not line:
            continue
        if heading := re.fullmatch(r"\[(.*)\]", line):
            section = heading[1].strip()
            if "/" in section:
                raise ValueError(
                    f'line {number}: the job "{section}" would put its files outside the client\'s folder'
                )
        elif not section or line.split()[0] == "include" or line.startswith("["):
            raise ValueError(f'line {number}: "{line}" is in no section of this file')
        else:
            key, _, value = line.partition("=")
            yield JobLine(number, section, key.strip().lower(), value.strip(), raw.partition("=")[2])


def check(text: str, *, to_run: bool) -> None:
    """Check that a job file moves bytes and, if it is `to_run`, that it stays in its folder.

    Raises ValueError with the line.
    """
    if to_run:
        _require_inside(text)
    if not moves(text):
        raise ValueError("it has no job that reads or writes")


def _require_inside(text: str) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if character := control_character(line.rstrip("\r").replace("\t", " ")):
            raise ValueError(
                f"line {number}: has a control character ({character}), which fio reads in another way than "
                "it looks"
            )
    for line in lines(text):
        if reason := _outside(line):
            raise ValueError(f"line {line.number}: {line.key} {reason}")


def _outside(line: JobLine) -> str:
    if line.key in OUTSIDE:
        return OUTSIDE[line.key]
    if line.key not in OPTIONS:
        return "is not an option of fio that a job file here may have"
    if line.key == "ioengine" and line.value not in ENGINES:
        return f"= {line.value} may access more than files (engines for files: {', '.join(ENGINES)})"
    if re.sub("|".join(map(re.escape, KEYWORDS)), "", line.value).count("$") or "`" in line.whole:
        return f"= {line.value} is computed by the machine, not stated in the file"
    if line.key in ("rw", "readwrite") and line.value.split(":")[0] not in MOVES:
        return f"= {line.value} neither reads nor writes"
    # quotes, too: of a pattern, several pieces of which may be files
    parts = [part.strip(" \t\\") for part in re.split(r"[:,|'\"]", line.whole)]
    if any(part.startswith(("/", "~")) for part in parts):
        return f"= {line.value} is an absolute path, and the job may only use the client's folder"
    if any(".." in part.split("/") for part in parts):
        return f"= {line.value} points outside the client's folder"
    if line.key == "filename" and "-" in parts:
        return "= - is not a file"
    return ""


def _jobs(text: str) -> dict[str, dict[str, str]]:
    """Return the options of each job, including those of [global]."""
    sections: dict[str, dict[str, str]] = {}
    common: dict[str, str] = {}
    for heading in re.findall(r"^[ \t]*\[([^\]\n]*)\]", text, re.MULTILINE):
        if heading != "global":
            sections.setdefault(heading.strip(), {})
    for line in lines(text):
        if line.section == "global":
            common[line.key] = line.value
        else:
            sections[line.section][line.key] = line.value
    return {name: {**common, **options} for name, options in sections.items()}


def directions(text: str) -> tuple[Direction, ...]:
    """Return how its points are reported: several jobs that read and write are users whose load is
    "mixed".
    """
    return ("mixed",) if len(_jobs(text)) > 1 and len(moves(text)) > 1 else moves(text)


def moves(text: str) -> tuple[Literal["write", "read"], ...]:
    """Return the directions in which a job file moves bytes, "write" first."""
    patterns = [
        options.get("rw", options.get("readwrite", "read")).split(":")[0] for options in _jobs(text).values()
    ]
    directions = {direction for pattern in patterns for direction in MOVES.get(pattern, ())}
    return tuple(direction for direction in ("write", "read") if direction in directions)


def delayed(text: str) -> bool:
    """Return whether a job starts some time after fio: a wait for a common moment would shorten its delay."""
    return any(line.key == "startdelay" for line in lines(text))


def waiting(text: str) -> frozenset[str]:
    """Return the jobs that start only when those before them in the file have ended."""
    options_waiting = ("stonewall", "wait_for_previous")
    return frozenset(
        name
        for name, options in _jobs(text).items()
        if any(options.get(option, "0") != "0" for option in options_waiting)
    )


def moved_bytes(text: str) -> int:
    """Return the bytes of its jobs by their sizes, as far as known without fio; for plans only."""
    total = 0
    for options in _jobs(text).values():
        size = re.fullmatch(
            r"(\d+)([kmgt]?)(?:i?b)?", options.get("io_size", options.get("size", "")).lower()
        )
        count = options.get("numjobs", "1")
        total += int(size[1]) * SIZES[size[2]] * (int(count) if count.isdigit() else 1) if size else 0
    return total
